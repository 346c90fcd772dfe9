//! The last act of every integrator.

use super::integrate_pos;
use crate::data::Data;
use crate::model::options::disable;
use crate::model::{DynType, Model};
use crate::scalar::Scalar;
use crate::smooth::{next_activation, wrap_period, wrap_setpoint};

/// Advances activations by `act_dot`, velocities by `qacc`, positions by `qvel` (or by the new velocities
/// if none is given: semi-implicit), and time, all over one timestep. Keeps `qacc` for the next warm start.
///
/// - reads  `actuator_length` (nactuator), for rotational servos with integrated activation
/// - writes `act` (na), `qvel` (nv), `qpos` (nq), `time`, `qacc_warmstart` (nv)
///
/// Source: MuJoCo `mj_advance`.
pub fn advance<T: Scalar>(
    m: &Model,
    d: &mut Data<T>,
    act_dot: &[T],
    qacc: &[T],
    qvel: Option<&[T]>,
) {
    let h = T::lift(m.opt.timestep);
    if !m.opt.disabled(disable::ACTUATION) {
        for a in 0..m.nactuator {
            let Some(adr) = m.actuator_actadr[a] else { continue };
            let rate = if m.actuator_disabled(a) { T::zero() } else { act_dot[adr] };
            d.act[adr] = next_activation(m, a, d.act[adr], rate);
            // an integrated angle stays near the angle that it commands
            if m.actuator_dyntype[a] == DynType::Integrator
                && let Some(period) = wrap_period(m, a)
            {
                d.act[adr] = wrap_setpoint(d.act[adr], d.actuator_length[a], period);
            }
        }
    }
    for (v, a) in d.qvel.iter_mut().zip(qacc) {
        *v += *a * h;
    }
    match qvel {
        Some(v) => integrate_pos(m, &mut d.qpos, v, h),
        None => integrate_pos(m, &mut d.qpos, &d.qvel, h),
    }
    d.time += h;
    d.qacc_warmstart.copy_from_slice(&d.qacc);
}

/// [`advance`] by `d.act_dot` and the acceleration in the first scratch vector, semi-implicitly.
pub(super) fn advance_by_scratch<T: Scalar>(m: &Model, d: &mut Data<T>) {
    let act_dot = std::mem::take(&mut d.act_dot);
    let qacc = std::mem::take(&mut d.scratch.v[0]);
    advance(m, d, &act_dot, &qacc, None);
    d.act_dot = act_dot;
    d.scratch.v[0] = qacc;
}
