//! Where a step has a kink: a control, an activation or a force at the end of a range, a tendon at the end of its
//! spring's dead band, a muscle that turns from activation to deactivation, a damper or muscle at rest whose slope
//! enters the step. There the derivative depends on the side, and the column says so. Those of constraints are in
//! `rows`.

mod rows;

use dualstep::model::options::disable;
use dualstep::model::{BiasType, DynType, GainType, Integrator, TrnType};
use dualstep::smooth::actuation::{control, gain_bias, gain_input};
use dualstep::smooth::passive::tendon_stiffness;
use dualstep::smooth::poly;
use dualstep::{Data, Model, Scalar};

use crate::actuator::activation_span;
use crate::finite_diff::FdSteps;
use crate::matrices::{Column, Kink, Side};
use crate::tangent::ndx;

pub(crate) use rows::{RowKinks, Signature};

/// Marks the columns (2nv + na + nu) that have a kink within `eps` of the state. Columns that were not computed
/// are marked as well: the caller copies from those that were.
///
/// - reads  everything that `forward` writes
pub(crate) fn mark<T: Scalar>(m: &Model, d: &Data<T>, eps: &FdSteps, columns: &mut [Column]) {
    if !m.opt.disabled(disable::ACTUATION) {
        activations(m, d, eps.act, columns);
        muscles(m, d, eps.act, columns);
        forces(m, d, eps.ctrl, columns);
    }
    dead_bands(m, d, eps.qpos, columns);
    rest(m, d, eps.qvel, columns);
    // last: differences stay within the range of a control, so that other kinks of the column count more
    controls(m, d, eps.ctrl, columns);
}

/// True if x is at a limit to within eps, relative to the limit if that is large.
fn at(x: f64, limit: f64, eps: f64) -> bool {
    limit.is_finite() && (x - limit).abs() <= eps * limit.abs().max(1.0)
}

fn at_either(x: f64, [lo, hi]: [f64; 2], eps: f64) -> bool {
    at(x, lo, eps) || at(x, hi, eps)
}

fn controls<T: Scalar>(m: &Model, d: &Data<T>, eps: f64, columns: &mut [Column]) {
    if m.opt.disabled(disable::CLAMPCTRL) {
        return;
    }
    for i in (0..m.nu).filter(|&i| m.actuator_ctrllimited[i]) {
        let (u, [lo, hi]) = (d.ctrl[i].re(), m.actuator_ctrlrange[i]);
        let column = &mut columns[ndx(m) + i];
        if at_either(u, [lo, hi], eps) {
            mark_column(column, Kink::ControlRange);
        }
        // a method that nudges has set the side itself
        if column.side == Side::Both {
            column.side = match u {
                u if u < lo || u > hi => Side::Clamped,
                u if u == lo && u == hi => Side::Clamped,
                u if u == lo => Side::Above,
                u if u == hi => Side::Below,
                _ => Side::Both,
            };
        }
    }
}

fn activations<T: Scalar>(m: &Model, d: &Data<T>, eps: f64, columns: &mut [Column]) {
    for a in (0..m.nactuator).filter(|&a| m.actuator_actlimited[a]) {
        let Some(adr) = m.actuator_actadr[a] else { continue };
        let next = d.act[adr].re() + activation_span(m, a) * d.act_dot[adr].re();
        if at_either(next, m.actuator_actrange[a], eps) {
            mark_inputs(m, a, Kink::ActivationRange, columns);
        }
    }
}

/// Muscles whose activation equals their control, where the time constant jumps unless it is smoothed.
fn muscles<T: Scalar>(m: &Model, d: &Data<T>, eps: f64, columns: &mut [Column]) {
    for a in (0..m.nactuator).filter(|&a| m.actuator_dyntype[a] == DynType::Muscle) {
        let Some(adr) = m.actuator_actadr[a] else { continue };
        let [_, _, smoothing, ..] = m.actuator_dynprm[a];
        if smoothing < dualstep::MINVAL && at(d.act[adr].re(), control(m, d, a).re(), eps) {
            mark_inputs(m, a, Kink::MuscleTimeConstant, columns);
        }
        // beyond it a muscle's control changes nothing; a ctrlrange that ends there is a kink of its own
        let u = ndx(m) + m.actuator_ctrladr[a];
        let limited = !m.opt.disabled(disable::CLAMPCTRL) && m.actuator_ctrllimited[u - ndx(m)];
        let ends = m.actuator_ctrlrange[u - ndx(m)];
        for end in [0.0, 1.0] {
            let clamped = limited && ends.contains(&end);
            if !clamped && at(control(m, d, a).re(), end, eps) {
                mark_column(&mut columns[u], Kink::MuscleControl);
            }
        }
    }
}

/// Forces of actuators, and their sums at joints and tendons, before they are limited.
fn forces<T: Scalar>(m: &Model, d: &Data<T>, eps: f64, columns: &mut [Column]) {
    for a in (0..m.nactuator).filter(|&a| m.actuator_forcelimited[a] && !m.actuator_disabled(a)) {
        if at_either(raw_force(m, d, a), m.actuator_forcerange[a], eps) {
            mark_actuator(m, a, Kink::ForceRange, columns);
        }
    }
    for j in (0..m.njnt).filter(|&j| m.jnt_actfrclimited[j]) {
        let dof = m.jnt_dofadr[j];
        let force = |a: usize| moment(m, d, a, dof) * d.actuator_force[a].re();
        let mut sum: f64 = (0..m.nactuator).map(force).sum();
        if m.jnt_actgravcomp[j] {
            sum += d.qfrc_gravcomp[dof].re();
        }
        if at_either(sum, m.jnt_actfrcrange[j], eps) {
            for a in (0..m.nactuator).filter(|&a| moment(m, d, a, dof) != 0.0) {
                mark_actuator(m, a, Kink::JointForceRange, columns);
            }
        }
    }
    for t in (0..m.ntendon).filter(|&t| m.tendon_actfrclimited[t]) {
        let on = |a: &usize| {
            m.actuator_trntype[*a] == TrnType::Tendon && m.actuator_trnid[*a][0] == Some(t)
        };
        let sum: f64 = (0..m.nactuator).filter(on).map(|a| raw_force(m, d, a)).sum();
        if at_either(sum, m.tendon_actfrcrange[t], eps) {
            for a in (0..m.nactuator).filter(on) {
                mark_actuator(m, a, Kink::TendonForceRange, columns);
            }
        }
    }
}

/// Force of an actuator before any limit.
fn raw_force<T: Scalar>(m: &Model, d: &Data<T>, a: usize) -> f64 {
    if m.actuator_disabled(a) {
        return 0.0;
    }
    let [gain, bias] = gain_bias(m, d, a);
    (gain * gain_input(m, d, a) + bias).re()
}

/// Moment of an actuator on a degree of freedom.
fn moment<T: Scalar>(m: &Model, d: &Data<T>, a: usize, dof: usize) -> f64 {
    let row = m.moment_rowadr[a]..m.moment_rowadr[a] + m.moment_rownnz[a];
    let entry = row.clone().find(|&e| m.moment_colind[e] == dof);
    entry.map_or(0.0, |e| d.actuator_moment[e].re())
}

/// Adds a kink to a column; the first that was found is kept.
fn mark_column(column: &mut Column, kink: Kink) {
    column.kink = column.kink.or(Some(kink));
}

/// Control and activation of an actuator.
fn mark_inputs(m: &Model, a: usize, kink: Kink, columns: &mut [Column]) {
    if m.actuator_ctrlnum[a] > 0 {
        mark_column(&mut columns[ndx(m) + m.actuator_ctrladr[a]], kink);
    }
    if let Some(adr) = m.actuator_actadr[a] {
        mark_column(&mut columns[2 * m.nv + adr], kink);
    }
}

/// All columns on which the force of an actuator depends.
fn mark_actuator(m: &Model, a: usize, kink: Kink, columns: &mut [Column]) {
    mark_inputs(m, a, kink, columns);
    if m.actuator_gaintype[a] != GainType::Fixed || m.actuator_biastype[a] != BiasType::None {
        let row = m.moment_rowadr[a]..m.moment_rowadr[a] + m.moment_rownnz[a];
        for &dof in &m.moment_colind[row] {
            mark_column(&mut columns[dof], kink);
            mark_column(&mut columns[m.nv + dof], kink);
        }
    }
}

fn dead_bands<T: Scalar>(m: &Model, d: &Data<T>, eps: f64, columns: &mut [Column]) {
    if m.opt.disabled(disable::SPRING) {
        return;
    }
    for t in 0..m.ntendon {
        let [lo, hi] = m.tendon_lengthspring[t];
        // without a band the force is continuously differentiable
        let springy = !poly::is_zero(&tendon_stiffness(m, t));
        if springy && lo < hi && at_either(d.ten_length[t].re(), [lo, hi], eps) {
            let row = m.ten_J_rowadr[t]..m.ten_J_rowadr[t] + m.ten_J_rownnz[t];
            for &dof in &m.ten_J_colind[row] {
                mark_column(&mut columns[dof], Kink::SpringDeadBand);
            }
        }
    }
}

/// Velocities at zero, where the slope by velocity of quadratic damping and of a muscle's force turns. The force
/// itself is smooth there: only integrators that are implicit in the slope have a kink.
fn rest<T: Scalar>(m: &Model, d: &Data<T>, eps: f64, columns: &mut [Column]) {
    let joints = match m.opt.integrator {
        Integrator::RK4 => return,
        Integrator::Euler => !m.opt.disabled(disable::EULERDAMP),
        Integrator::Implicit | Integrator::ImplicitFast | Integrator::ImplicitSpringDamper => true,
    };
    let dampers = !m.opt.disabled(disable::DAMPER);
    for i in (0..m.nv).filter(|_| joints && dampers) {
        if m.dof_damping_eff[i][1] != 0.0 && at(d.qvel[i].re(), 0.0, eps) {
            mark_column(&mut columns[m.nv + i], Kink::Rest);
        }
    }
    if !m.opt.integrator.needs_qDeriv() {
        return;
    }
    let mut mark = |dofs: &[usize]| {
        for &dof in dofs {
            mark_column(&mut columns[m.nv + dof], Kink::Rest);
        }
    };
    for t in (0..m.ntendon).filter(|_| dampers) {
        if m.tendon_damping_eff[t][1] != 0.0 && at(d.ten_velocity[t].re(), 0.0, eps) {
            mark(&m.ten_J_colind[m.ten_J_rowadr[t]..m.ten_J_rowadr[t] + m.ten_J_rownnz[t]]);
        }
    }
    let acts = |a: &usize| !m.opt.disabled(disable::ACTUATION) && !m.actuator_disabled(*a);
    for a in (0..m.nactuator).filter(acts) {
        let turns = m.actuator_gaintype[a] == GainType::Muscle;
        if turns && at(d.actuator_velocity[a].re(), 0.0, eps) {
            mark(&m.moment_colind[m.moment_rowadr[a]..m.moment_rowadr[a] + m.moment_rownnz[a]]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finite_diff::FdConfig;
    use crate::matrices::Transition;
    use crate::transition::{DerivativeConfig, Method, mjd_transition};
    use dualstep::mjcf::load_model_str;

    const MODEL: &str = r#"
    <mujoco>
      <worldbody>
        <body><joint name="a" type="slide" actuatorfrcrange="-3 3"/><geom size=".1"/></body>
        <body pos="1 0 0"><joint name="b" type="slide"/><geom size=".1"/></body>
      </worldbody>
      <tendon>
        <fixed name="t" stiffness="5" springlength="-.2 .3" actuatorfrcrange="-4 4">
          <joint joint="b" coef="1"/>
        </fixed>
      </tendon>
      <actuator>
        <motor name="push" joint="a" ctrlrange="-1 1" forcerange="-2 2" gear="2"/>
        <general name="lag" joint="a" dyntype="integrator" actrange="-5 5" actlimited="true"/>
        <motor name="pull" tendon="t"/>
        <muscle name="flex" joint="b" lengthrange="-1 1" force="10"/>
      </actuator>
    </mujoco>"#;

    /// Columns that are marked at a state, with side and kink; the same by all methods.
    fn marked(set: impl Fn(&mut Data<f64>)) -> Vec<(String, Side, Option<Kink>)> {
        let m = load_model_str(MODEL, "test.xml", std::path::Path::new(".")).unwrap();
        let mut d = Data::new(&m);
        (d.act[1], d.ctrl[3]) = (0.5, 0.2);
        set(&mut d);
        let list = |t: &Transition| -> Vec<_> {
            t.one_sided().map(|(name, c)| (name.to_owned(), c.side, c.kink)).collect()
        };
        let by = |method| mjd_transition(&m, &d, &DerivativeConfig::by(method)).unwrap();
        let dual = list(&by(Method::Dual));
        for method in [Method::Fd, Method::Auto] {
            assert_eq!(list(&by(method)), dual, "{method:?}");
        }
        dual
    }

    fn names(found: &[(String, Side, Option<Kink>)], kink: Kink) -> Vec<&str> {
        found.iter().filter(|(_, _, k)| *k == Some(kink)).map(|(n, _, _)| n.as_str()).collect()
    }

    #[test]
    fn nothing_is_marked_where_all_is_smooth() {
        assert_eq!(marked(|_| {}), []);
    }

    #[test]
    fn ends_of_ranges_and_bands_are_marked() {
        let at_end = marked(|d| d.ctrl[0] = 1.0);
        assert_eq!(at_end, [("push".to_owned(), Side::Below, Some(Kink::ControlRange))]);
        let outside = marked(|d| d.ctrl[0] = 1.5);
        assert_eq!(outside, [("push".to_owned(), Side::Clamped, None)]);
        // at rest at the end, and on its way there
        let full = marked(|d| d.act[0] = 5.0);
        assert_eq!(names(&full, Kink::ActivationRange), ["lag.act", "lag"]);
        let next = marked(|d| (d.act[0], d.ctrl[1]) = (4.5, 250.0));
        assert_eq!(names(&next, Kink::ActivationRange), ["lag.act", "lag"]);
        let joint = marked(|d| (d.act[0], d.ctrl[0]) = (2.0, 0.5));
        assert_eq!(names(&joint, Kink::JointForceRange), ["lag.act", "push", "lag"]);
        let tendon = marked(|d| d.ctrl[2] = -4.0);
        assert_eq!(names(&tendon, Kink::TendonForceRange), ["pull"]);
        let band = marked(|d| d.qpos[1] = 0.3);
        assert_eq!(names(&band, Kink::SpringDeadBand), ["b.q"]);
        let muscle = marked(|d| d.ctrl[3] = 0.5);
        assert_eq!(names(&muscle, Kink::MuscleTimeConstant), ["flex.act", "flex"]);
        let rested = marked(|d| d.ctrl[3] = 1.0);
        assert_eq!(names(&rested, Kink::MuscleControl), ["flex"]);
        // the range is the lesser kink of a muscle's control
        let both = marked(|d| (d.act[1], d.ctrl[3]) = (0.0, 0.0));
        assert_eq!(names(&both, Kink::MuscleTimeConstant), ["flex.act", "flex"]);
        // just inside: nothing
        let beside = FdConfig::default().eps.ctrl * 3.0;
        assert_eq!(marked(|d| d.ctrl[0] = 1.0 - beside), []);
    }

    // d(M + hD(v))â/dv has a term ±2 b₁ h â, the side of which v = 0 decides; RK4 takes the force alone
    #[test]
    fn quadratic_dampers_at_rest_are_marked_where_their_slope_enters() {
        let xml = r#"
        <mujoco>
          <worldbody>
            <body><joint name="a" type="slide" damping="1 2"/><geom size=".1"/></body>
            <body><joint name="b" type="slide"/><geom size=".1"/></body>
          </worldbody>
          <tendon><fixed damping="1 .5"><joint joint="b" coef="1"/></fixed></tendon>
        </mujoco>"#;
        let mut m = load_model_str(xml, "test.xml", std::path::Path::new(".")).unwrap();
        let mut d = Data::new(&m);
        let marked = |m: &Model, d: &Data<f64>| -> Vec<String> {
            let t = mjd_transition(m, d, &DerivativeConfig::default()).unwrap();
            let rest = t.one_sided().filter(|(_, c)| c.kink == Some(Kink::Rest));
            rest.map(|(name, _)| name.to_owned()).collect()
        };
        assert_eq!(marked(&m, &d), ["a.v"]);
        m.opt.integrator = Integrator::ImplicitFast;
        assert_eq!(marked(&m, &d), ["a.v", "b.v"]);
        d.qvel.fill(0.1);
        assert!(marked(&m, &d).is_empty());
        d.qvel.fill(0.0);
        m.opt.integrator = Integrator::RK4;
        assert!(marked(&m, &d).is_empty());
    }
}
