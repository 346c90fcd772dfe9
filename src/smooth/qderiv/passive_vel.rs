//! Velocity derivative of passive forces.

use super::{QDeriv, add_jtbj};
use crate::data::Data;
use crate::model::options::disable;
use crate::model::{FrictionModel, Model};
use crate::scalar::Scalar;
use crate::smooth::TANH_GAIN;
use crate::smooth::poly;

/// qDeriv −= damping of degrees of freedom (diagonal) and tendons (Jᵀ b J).
///
/// - reads  `qvel` (nv), `ten_velocity` (ntendon), `ten_J`
/// - writes `out.qDeriv` (adds)
///
/// Source: MuJoCo `mjd_passive_vel`.
pub fn mjd_passive_vel<T: Scalar>(m: &Model, d: &Data<T>, out: &mut QDeriv<T>) {
    if !m.opt.disabled(disable::DAMPER) {
        for i in 0..m.nv {
            out.qDeriv[i * m.nv + i] -= poly::derivative_odd(&m.dof_damping_eff[i], d.qvel[i]);
        }
        for t in 0..m.ntendon {
            let b = &m.tendon_damping_eff[t];
            if !poly::is_zero(b) {
                add_tendon(m, d, out, t, -poly::derivative_odd(b, d.ten_velocity[t]));
            }
        }
    }
    let passive = !(m.opt.disabled(disable::DAMPER) && m.opt.disabled(disable::SPRING));
    let friction = m.opt.friction == FrictionModel::Tanh && !m.opt.disabled(disable::FRICTIONLOSS);
    if friction && passive {
        // d(−f tanh(kv))/dv = −f k (1 − tanh²(kv))
        let slope = |loss: f64, v: T| {
            let t = (v * T::lift(TANH_GAIN)).tanh();
            -(T::one() - t * t) * T::lift(loss * TANH_GAIN)
        };
        for i in (0..m.nv).filter(|&i| m.dof_frictionloss[i] != 0.0) {
            out.qDeriv[i * m.nv + i] += slope(m.dof_frictionloss[i], d.qvel[i]);
        }
        for t in (0..m.ntendon).filter(|&t| m.tendon_frictionloss[t] != 0.0) {
            add_tendon(m, d, out, t, slope(m.tendon_frictionloss[t], d.ten_velocity[t]));
        }
    }
}

fn add_tendon<T: Scalar>(m: &Model, d: &Data<T>, out: &mut QDeriv<T>, t: usize, b: T) {
    let row = m.ten_J_rowadr[t]..m.ten_J_rowadr[t] + m.ten_J_rownnz[t];
    add_jtbj(m, out, &m.ten_J_colind[row.clone()], &d.ten_J[row], b);
}
