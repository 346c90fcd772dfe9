//! Velocity derivative of actuator forces.

use super::{QDeriv, add_jtbj};
use crate::data::Data;
use crate::model::options::disable;
use crate::model::{BiasType, GainType, JointType, Model, TrnType};
use crate::scalar::Scalar;
use crate::smooth::{actuation, muscle};

/// qDeriv += Σ momentᵀ · ∂force/∂velocity · moment.
///
/// - reads  `actuator_length`, `actuator_velocity`, `actuator_force`, `actuator_moment`, `qfrc_actuator`,
///   `ctrl`, `act`, `act_dot`
/// - writes `out.qDeriv` (adds)
///
/// An actuator whose force, or whose joint's or tendon's total actuator force, is at its limit contributes
/// nothing.
///
/// Source: MuJoCo `mjd_actuator_vel`.
pub fn mjd_actuator_vel<T: Scalar>(m: &Model, d: &Data<T>, out: &mut QDeriv<T>) {
    if m.opt.disabled(disable::ACTUATION) {
        return;
    }
    for a in 0..m.nactuator {
        if m.actuator_disabled(a) || actuator_saturated(m, d, a) {
            continue;
        }
        let b = force_vel(m, d, a);
        // a slope that is zero now may have a tangent
        if !b.vanishes() {
            let row = m.moment_rowadr[a]..m.moment_rowadr[a] + m.moment_rownnz[a];
            add_jtbj(m, out, &m.moment_colind[row.clone()], &d.actuator_moment[row], b);
        }
    }
}

/// True if the force of actuator `a` is clamped: by its own range, its tendon's, or its scalar joint's. `qDeriv` then
/// has no part of it.
///
/// - reads  `actuator_force` (nactuator), `qfrc_actuator` (nv)
///
/// Source: MuJoCo `mjd_actuator_vel`.
pub fn actuator_saturated<T: Scalar>(m: &Model, d: &Data<T>, a: usize) -> bool {
    let outside = |x: f64, range: &[f64; 2]| x <= range[0] || x >= range[1];
    if m.actuator_forcelimited[a] && outside(d.actuator_force[a].re(), &m.actuator_forcerange[a]) {
        return true;
    }
    let Some(id) = m.actuator_trnid[a][0] else { return false };
    match m.actuator_trntype[a] {
        TrnType::Joint | TrnType::JointInParent => {
            let scalar = matches!(m.jnt_type[id], JointType::Slide | JointType::Hinge);
            let total = d.qfrc_actuator[m.jnt_dofadr[id]].re();
            scalar && m.jnt_actfrclimited[id] && outside(total, &m.jnt_actfrcrange[id])
        }
        TrnType::Tendon => {
            let acts = |k: &usize| {
                m.actuator_trntype[*k] == TrnType::Tendon && m.actuator_trnid[*k][0] == Some(id)
            };
            m.tendon_actfrclimited[id] && {
                let forces = (0..m.nactuator).filter(acts).map(|k| d.actuator_force[k].re());
                outside_scaled(forces.sum(), &m.tendon_actfrcrange[id])
            }
        }
        TrnType::Site | TrnType::SliderCrank | TrnType::Body | TrnType::So3 => false,
    }
}

/// True if a total that was scaled onto the end of its range is there. The scaling rounds, hence the slack.
fn outside_scaled(total: f64, range: &[f64; 2]) -> bool {
    let slack = 1e-12 * total.abs();
    total <= range[0] + slack || total >= range[1] - slack
}

/// ∂(gain·input + bias)/∂velocity.
fn force_vel<T: Scalar>(m: &Model, d: &Data<T>, a: usize) -> T {
    let gain_vel = match m.actuator_gaintype[a] {
        GainType::Fixed => T::zero(),
        GainType::Affine => T::lift(m.actuator_gainprm[a][2]),
        GainType::Muscle => {
            let [_, by_velocity] = muscle::gain_derivative(
                d.actuator_length[a],
                d.actuator_velocity[a],
                &m.actuator_lengthrange[a],
                m.actuator_acc0[a],
                &m.actuator_gainprm[a],
            );
            by_velocity
        }
    };
    let bias_vel = match m.actuator_biastype[a] {
        BiasType::Affine => T::lift(m.actuator_biasprm[a][2]),
        BiasType::None | BiasType::Muscle => T::zero(),
    };
    if gain_vel.vanishes() {
        bias_vel
    } else {
        bias_vel + gain_vel * actuation::gain_input(m, d, a)
    }
}
