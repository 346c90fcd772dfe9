//! Impedance: `solref` and `solimp` to stiffness, damping and softness of rows.

use crate::collision::Contact;
use crate::model::options::disable;
use crate::model::{EqType, Model};
use crate::scalar::Scalar;

use super::block_len;
use super::efc::{Efc, EfcType};

/// Smallest and largest impedance (`mjMINIMP`, `mjMAXIMP`).
pub const IMPEDANCE_RANGE: [f64; 2] = [0.0001, 0.9999];

/// `solref` where a time constant is given without a damping ratio, or a stiffness without damping.
const DEFAULT_SOLREF: [f64; 2] = [0.02, 1.0];

/// Writes `KBIP`, `R`, `D`, and what `diagA` must be for R = (1 − I)/I · diagA; and `mu` of contacts.
///
/// Contacts with friction: the first friction axis has R₁ = R₀/impratio, so that the regularized cone is of
/// μ = friction₀ √(R₁/R₀); the others Rⱼ frictionⱼ² = R₁ friction₀². All edges of a pyramid share
/// R = 2 μ² R₀, which matches the friction of the elliptic cone.
///
/// Source: MuJoCo manual, Computation, "Solver parameters"; `mj_makeImpedance`.
pub(super) fn make_impedance<T: Scalar>(m: &Model, contacts: &mut [Contact<T>], efc: &mut Efc<T>) {
    let mut start = 0;
    while start < efc.nefc {
        let len = block_len(m, contacts, efc, start);
        let (kind, id) = (efc.kind[start], efc.id[start]);
        let p = parameters(m, contacts, kind, id);
        let (imp, slope) = impedance(&p.solimp, residual(m, efc, start) - efc.margin[start]);
        for i in start..start + len {
            let [k, b] = p.stiffness_damping(kind, i - start);
            efc.KBIP[i] = [T::lift(k), T::lift(b), imp, slope];
            let softness = (T::one() - imp) / imp * efc.diagA[i];
            efc.R[i] = at_least_minval(softness);
        }
        match kind {
            EfcType::ContactElliptic | EfcType::ContactPyramidal => {
                let rows = &mut efc.R[start..start + len];
                contacts[id].mu =
                    soften_friction(kind, m.opt.impratio, &contacts[id].friction, rows);
            }
            _ => {}
        }
        for i in start..start + len {
            efc.D[i] = T::one() / efc.R[i];
            efc.diagA[i] = efc.R[i] * imp / (T::one() - imp);
        }
        start += len;
    }
}

/// R of the rows of a contact with friction, from that of its normal; returns μ of the regularized cone.
fn soften_friction<T: Scalar>(
    kind: EfcType,
    impratio: f64,
    friction: &[f64; 5],
    R: &mut [T],
) -> f64 {
    let ratio = 1.0 / impratio.max(crate::MINVAL);
    let mu = friction[0] * ratio.sqrt();
    if kind == EfcType::ContactElliptic {
        R[1] = R[0] * T::lift(ratio);
        for j in 1..R.len() - 1 {
            let scale = friction[0] * friction[0] / (friction[j] * friction[j]);
            R[j + 1] = R[1] * T::lift(scale);
        }
    } else {
        let edge = R[0] * T::lift(2.0 * mu * mu);
        R.fill(edge);
    }
    mu
}

/// The residual that the impedance of a constraint depends on: a connect or weld has one, the norm of all.
fn residual<T: Scalar>(m: &Model, efc: &Efc<T>, start: usize) -> T {
    let several = efc.kind[start] == EfcType::Equality
        && matches!(m.eq_type[efc.id[start]], EqType::Connect | EqType::Weld);
    if !several {
        return efc.pos[start];
    }
    let len = super::tie::rows(m.eq_type[efc.id[start]]);
    let square = efc.pos[start..start + len].iter().fold(T::zero(), |sum, x| sum + *x * *x);
    // the impedance is flat at zero residual, where the norm has no derivative
    if square.re() == 0.0 { T::zero() } else { square.sqrt() }
}

/// `solref`, `solreffriction` and `solimp` of a constraint, made safe.
struct Parameters {
    solref: [f64; 2],
    solreffriction: [f64; 2],
    solimp: [f64; 5],
}

/// Parameters of the element that a row belongs to.
///
/// Source: MuJoCo `getsolparam`.
fn parameters<T: Scalar>(
    m: &Model,
    contacts: &[Contact<T>],
    kind: EfcType,
    id: usize,
) -> Parameters {
    let mut solreffriction = [0.0; 2];
    let (solref, solimp) = match kind {
        EfcType::Equality => (m.eq_solref[id], m.eq_solimp[id]),
        EfcType::FrictionDof => (m.dof_solref[id], m.dof_solimp[id]),
        EfcType::FrictionTendon => (m.tendon_solref_fri[id], m.tendon_solimp_fri[id]),
        EfcType::LimitJoint => (m.jnt_solref[id], m.jnt_solimp[id]),
        EfcType::LimitTendon => (m.tendon_solref_lim[id], m.tendon_solimp_lim[id]),
        EfcType::ContactFrictionless | EfcType::ContactPyramidal | EfcType::ContactElliptic => {
            solreffriction = contacts[id].solreffriction;
            (contacts[id].solref, contacts[id].solimp)
        }
    };
    let [low, high] = IMPEDANCE_RANGE;
    Parameters {
        solref: safe_solref(m, solref, DEFAULT_SOLREF),
        solreffriction: safe_solref(m, solreffriction, [0.0; 2]),
        solimp: [
            solimp[0].clamp(low, high),
            solimp[1].clamp(low, high),
            solimp[2].max(0.0),
            solimp[3].clamp(low, high),
            solimp[4].max(1.0),
        ],
    }
}

/// Both numbers positive (time constant, damping ratio), or neither (−stiffness, −damping): anything else
/// becomes `default`. Unless `refsafe` is disabled, a time constant is at least two timesteps.
pub fn safe_solref(m: &Model, solref: [f64; 2], default: [f64; 2]) -> [f64; 2] {
    let mixed = (solref[0] > 0.0) != (solref[1] > 0.0);
    let [mut first, second] = if mixed { default } else { solref };
    if first > 0.0 && !m.opt.disabled(disable::REFSAFE) {
        first = first.max(2.0 * m.opt.timestep);
    }
    [first, second]
}

impl Parameters {
    /// Stiffness K and damping B of row `row` of a constraint of `kind`.
    ///
    /// With d the largest impedance: K = 1/(d τ ζ)², B = 2/(d τ); or K = −solref₀/d², B = −solref₁/d.
    /// Friction has no stiffness, and in elliptic cones its own `solreffriction`, if given.
    fn stiffness_damping(&self, kind: EfcType, row: usize) -> [f64; 2] {
        let friction_axis = kind == EfcType::ContactElliptic && row > 0;
        let own = friction_axis && self.solreffriction != [0.0; 2];
        let [first, second] = if own { self.solreffriction } else { self.solref };
        let slack = matches!(kind, EfcType::FrictionDof | EfcType::FrictionTendon) || friction_axis;
        let d = self.solimp[1];
        let min = crate::MINVAL;
        let stiffness = if slack {
            0.0
        } else if first > 0.0 {
            1.0 / (d * d * first * first * second * second).max(min)
        } else {
            -first / (d * d).max(min)
        };
        let damping = if second > 0.0 { 2.0 / (d * first).max(min) } else { -second / d.max(min) };
        [stiffness, damping]
    }
}

/// Impedance at the distance `x` from the margin, and its derivative along `x`.
///
/// `solimp` is (d₀, d, width, midpoint, power): from d₀ at x = 0 to d at |x| = width along a spline of two
/// powers that meet at the midpoint.
///
/// Source: MuJoCo manual, Modeling, "Impedance"; `getimpedance`.
pub fn impedance<T: Scalar>(solimp: &[f64; 5], x: T) -> (T, T) {
    let [d0, d, width, midpoint, power] = *solimp;
    if d0 == d || width <= crate::MINVAL {
        return (T::lift(0.5 * (d0 + d)), T::zero());
    }
    let sign = if x.re() < 0.0 { -1.0 } else { 1.0 };
    let u = x * T::lift(sign / width);
    if u.re() >= 1.0 || u.re() <= 0.0 {
        return (T::lift(if u.re() >= 1.0 { d } else { d0 }), T::zero());
    }
    let (y, slope) = if power == 1.0 {
        (u, T::one())
    } else if u.re() <= midpoint {
        // y = u^p / m^(p−1)
        let a = 1.0 / midpoint.powf(power - 1.0);
        (pow(u, power) * T::lift(a), pow(u, power - 1.0) * T::lift(power * a))
    } else {
        // y = 1 − (1 − u)^p / (1 − m)^(p−1)
        let a = 1.0 / (1.0 - midpoint).powf(power - 1.0);
        let v = T::one() - u;
        (T::one() - pow(v, power) * T::lift(a), pow(v, power - 1.0) * T::lift(power * a))
    };
    let range = d - d0;
    (T::lift(d0) + y * T::lift(range), slope * T::lift(sign * range / width))
}

/// xᵖ for x > 0; exact for the powers that are usual.
fn pow<T: Scalar>(x: T, p: f64) -> T {
    if p == 1.0 {
        x
    } else if p == 2.0 {
        x * x
    } else {
        x.powf(T::lift(p))
    }
}

/// max(x, `mjMINVAL`).
fn at_least_minval<T: Scalar>(x: T) -> T {
    if x.re() < crate::MINVAL { T::lift(crate::MINVAL) } else { x }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_dual::Dual64;

    const SOLIMP: [f64; 5] = [0.6, 0.9, 0.01, 0.3, 3.0];

    // by hand: halfway to a midpoint of 0.3 with power 3, y = 0.15³/0.3² = 0.0375
    #[test]
    fn impedance_by_hand() {
        let (imp, slope) = impedance(&SOLIMP, 0.0015);
        assert!((imp - (0.6 + 0.3 * 0.0375)).abs() < 1e-15);
        // dy/du = 3·0.15²/0.3² = 0.75, times the range 0.3 over the width 0.01
        assert!((slope - 22.5).abs() < 1e-12);
        // beyond the midpoint: u = 0.65, y = 1 − 0.35³/0.7² = 0.9125
        assert!((impedance(&SOLIMP, 0.0065).0 - (0.6 + 0.3 * 0.9125)).abs() < 1e-15);
        assert_eq!(impedance(&SOLIMP, 0.0), (0.6, 0.0));
        assert_eq!(impedance(&SOLIMP, -0.02), (0.9, 0.0));
        assert_eq!(impedance(&[0.6, 0.9, 0.0, 0.5, 2.0], 1.0), (0.75, 0.0));
    }

    #[test]
    fn impedance_is_even_smooth_and_has_its_slope() {
        for power in [1.0, 1.5, 2.0, 3.0] {
            let solimp = [0.6, 0.9, 0.01, 0.3, power];
            for x in [-0.008, -0.003_000_1, -0.001, 0.001, 0.002_999_9, 0.003_000_1, 0.008] {
                let (imp, slope) = impedance(&solimp, Dual64::new(x, 1.0));
                assert!((imp.eps - slope.re).abs() < 1e-11 * slope.re.abs());
                let (mirrored, back) = impedance(&solimp, -x);
                assert!((mirrored - imp.re).abs() < 1e-15);
                assert!((back + slope.re).abs() < 1e-12 * back.abs());
            }
            // value and slope meet at the midpoint
            let (below, above) =
                (impedance(&solimp, 0.003 - 1e-9), impedance(&solimp, 0.003 + 1e-9));
            assert!((below.0 - above.0).abs() < 1e-6 && (below.1 - above.1).abs() < 1e-3);
        }
    }

    #[test]
    fn solref_is_made_safe() {
        let mut m = Model::default();
        m.opt.timestep = 0.01;
        let safe = |m: &Model, solref| safe_solref(m, solref, DEFAULT_SOLREF);
        assert_eq!(safe(&m, [0.001, 0.5]), [0.02, 0.5]);
        assert_eq!(safe(&m, [-100.0, -3.0]), [-100.0, -3.0]);
        assert_eq!(safe(&m, [-100.0, 3.0]), DEFAULT_SOLREF);
        m.opt.disableflags |= disable::REFSAFE;
        assert_eq!(safe(&m, [0.001, 0.5]), [0.001, 0.5]);
    }
}
