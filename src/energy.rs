//! Potential and kinetic energy.

use crate::data::Data;
use crate::math::Quat;
use crate::model::options::disable;
use crate::model::{JointType, Model};
use crate::scalar::{Scalar, lift3};

use nalgebra::Vector3;

/// Both energies of the current state: [`energy_pos`], then [`energy_vel`].
pub fn energy<T: Scalar>(m: &Model, d: &mut Data<T>) {
    energy_pos(m, d);
    energy_vel(m, d);
}

/// Potential energy: gravity, joint springs, tendon springs.
///
/// - reads  `qpos` (nq), `xipos` (nbody), `ten_length` (ntendon)
/// - writes `energy[0]` [J]
///
/// V = −Σ m_b g·x_b + Σ_springs ∫₀ˣ k(s) s ds, with k(s) = k₀ + k₁ s + k₂ s². x is the displacement of a
/// scalar joint, the distance or the angle from the rest pose of a free or ball joint, and for a tendon
/// how far its length is outside `tendon_lengthspring`. Gravity and springs count unless disabled; gravity
/// compensation does not enter.
///
/// Source: MuJoCo `mj_energyPos`.
pub fn energy_pos<T: Scalar>(m: &Model, d: &mut Data<T>) {
    let mut V = T::zero();
    if !m.opt.disabled(disable::GRAVITY) {
        let g = lift3(&m.opt.gravity);
        for b in m.bodies_base_to_tip() {
            V -= d.xipos[b].dot(&g) * T::lift(m.body_mass[b]);
        }
    }
    if !m.opt.disabled(disable::SPRING) {
        for j in 0..m.njnt {
            V += joint_spring(m, &d.qpos, j);
        }
        for t in 0..m.ntendon {
            V += tendon_spring(m, d.ten_length[t], t);
        }
    }
    d.energy[0] = V;
}

/// Kinetic energy, that of armature included.
///
/// - reads  `qM` (nM), `qvel` (nv)
/// - writes `energy[1]` [J]
///
/// T = ½ vᵀ M v, off-diagonal entries of the lower triangle counted twice.
///
/// Source: MuJoCo `mj_energyVel`.
pub fn energy_vel<T: Scalar>(m: &Model, d: &mut Data<T>) {
    let v = &d.qvel;
    let half = T::lift(0.5);
    let mut kinetic = T::zero();
    for i in 0..m.nv {
        let diag = m.M_rowadr[i] + m.M_rownnz[i] - 1;
        let mut row = d.qM[diag] * v[i] * half;
        for k in m.M_rowadr[i]..diag {
            row += d.qM[k] * v[m.M_colind[k]];
        }
        kinetic += row * v[i];
    }
    d.energy[1] = kinetic;
}

/// Energy in the springs of one joint [J].
fn joint_spring<T: Scalar>(m: &Model, qpos: &[T], j: usize) -> T {
    let (k, poly) = (m.jnt_stiffness[j], m.jnt_stiffnesspoly[j]);
    if k == 0.0 && poly == [0.0; 2] {
        return T::zero();
    }
    let adr = m.jnt_qposadr[j];
    let rest = |i: usize| T::lift(m.qpos_spring[adr + i]);

    let translation =
        || Vector3::new(qpos[adr] - rest(0), qpos[adr + 1] - rest(1), qpos[adr + 2] - rest(2));
    // the rotation vector from the rest orientation; `o` is where the quaternion starts
    let rotation = |o: usize| {
        let from = Quat::new(rest(o), rest(o + 1), rest(o + 2), rest(o + 3));
        Quat::from_slice(&qpos[adr + o..adr + o + 4]).difference(from)
    };

    match m.jnt_type[j] {
        JointType::Free => radial(k, poly, &translation()) + radial(k, poly, &rotation(3)),
        JointType::Ball => radial(k, poly, &rotation(0)),
        JointType::Slide | JointType::Hinge => spring(k, poly, qpos[adr] - rest(0)),
    }
}

/// Energy in the spring of one tendon [J]: at rest while its length is within `tendon_lengthspring`.
fn tendon_spring<T: Scalar>(m: &Model, length: T, t: usize) -> T {
    let [lower, upper] = m.tendon_lengthspring[t];
    let x = if length.re() > upper {
        length - T::lift(upper)
    } else if length.re() < lower {
        length - T::lift(lower)
    } else {
        return T::zero();
    };
    spring(m.tendon_stiffness[t], m.tendon_stiffnesspoly[t], x)
}

/// ∫₀ˣ (k + p₀ s + p₁ s²) s ds. Source: MuJoCo `mju_polyPotential`.
fn spring<T: Scalar>(k: f64, [p0, p1]: [f64; 2], x: T) -> T {
    x * x * (T::lift(k / 2.0) + x * (T::lift(p0 / 3.0) + x * T::lift(p1 / 4.0)))
}

/// The same for a displacement vector, x = |v|. Its square comes first: the norm itself has no derivative
/// at rest, but |v|³ has, and it is zero.
fn radial<T: Scalar>(k: f64, [p0, p1]: [f64; 2], v: &Vector3<T>) -> T {
    let s = v.norm_squared();
    let even = s * (T::lift(k / 2.0) + s * T::lift(p1 / 4.0));
    if p0 == 0.0 || s.re() == 0.0 { even } else { even + s * s.sqrt() * T::lift(p0 / 3.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_dual::{Dual2_64, Dual64};

    // dV/dx is the force (k + p₀ x + p₁ x²) x, on both sides of rest
    #[test]
    fn spring_energy_is_the_integral_of_the_force() {
        for x in [-0.7, 0.0, 0.4] {
            let force = (3.0 + 2.0 * x + x * x) * x;
            assert!((spring(3.0, [2.0, 1.0], Dual64::new(x, 1.0)).eps - force).abs() < 1e-15);
        }
    }

    // along a ray, the radial spring is the scalar one
    #[test]
    fn radial_spring_depends_on_the_distance() {
        let v = Vector3::new(0.6, 0.0, -0.8) * 0.5;
        let expected = spring(3.0, [2.0, 1.0], 0.5);
        assert!((radial(3.0, [2.0, 1.0], &v) - expected).abs() < 1e-15);
    }

    // at rest: value and gradient 0, curvature k, none of them NaN
    #[test]
    fn radial_spring_is_smooth_at_rest() {
        let x = Dual2_64::new(0.0, 1.0, 0.0);
        let V = radial(3.0, [2.0, 1.0], &Vector3::new(x, Dual2_64::lift(0.0), Dual2_64::lift(0.0)));
        assert_eq!((V.re, V.v1, V.v2), (0.0, 0.0, 3.0));
    }
}
