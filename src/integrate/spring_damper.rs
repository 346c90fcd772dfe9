//! Implicit in joint springs and dampers: the named alternative for smooth-dynamics research.

use super::advance::advance_by_scratch;
use crate::data::Data;
use crate::model::options::disable;
use crate::model::{JointType, Model};
use crate::scalar::Scalar;
use crate::smooth::poly;

/// (M + hD + h²K) v⁺ = M v + h f − hK(q − q_ref), f without joint springs and dampers.
///
/// In terms of the acceleration and of all forces: (M + hD + h²K) a = qfrc_smooth + qfrc_constraint − hK v.
/// D and K are diagonal: the derivatives of joint damping and stiffness; tendons stay explicit.
///
/// - reads  `qfrc_smooth`, `qfrc_constraint`, `qvel` (nv), `qpos` (nq), `qM`, `act_dot` (na)
/// - writes the state; `singular` if the matrix is not positive definite
///
/// Source: linearly implicit Euler (Hairer, Wanner 1996, §IV.7). Order 1.
pub fn implicit_spring_damper<T: Scalar>(m: &Model, d: &mut Data<T>) {
    let h = m.opt.timestep;
    let dampers = !m.opt.disabled(disable::DAMPER);
    let springs = !m.opt.disabled(disable::SPRING);
    let Data { scratch, qvel, qpos, qM, qfrc_smooth, qfrc_constraint, singular, .. } = d;
    let H = &mut scratch.factor.H;
    let a = &mut scratch.v[0];
    H.copy_from_slice(qM);
    for i in 0..m.nv {
        a[i] = qfrc_smooth[i] + qfrc_constraint[i];
        let diagonal = &mut H[m.M_rowadr[i] + m.M_rownnz[i] - 1];
        if dampers {
            *diagonal += poly::derivative_odd(&m.dof_damping_eff[i], qvel[i]) * T::lift(h);
        }
        if springs {
            let [K, _] = stiffness(m, qpos, i);
            *diagonal += K * T::lift(h * h);
            a[i] -= K * qvel[i] * T::lift(h);
        }
    }
    *singular = scratch.factor.factor(m, "M + hD + h²K").or(*singular);
    scratch.factor.solve(m, a);
    advance_by_scratch(m, d);
}

/// Tangent stiffness of degree of freedom `i` as [`implicit_spring_damper`] takes it, and its derivative by the
/// joint's position; the constant linear part for ball and free joints.
pub fn stiffness<T: Scalar>(m: &Model, qpos: &[T], i: usize) -> [T; 2] {
    let j = m.dof_jntid[i];
    let ([k1, k2], q) = (m.jnt_stiffnesspoly[j], m.jnt_qposadr[j]);
    match m.jnt_type[j] {
        JointType::Slide | JointType::Hinge => {
            let x = qpos[q] - T::lift(m.qpos_spring[q]);
            [
                poly::coefficient(&[m.jnt_stiffness[j], 2.0 * k1, 3.0 * k2], x),
                poly::coefficient(&[2.0 * k1, 6.0 * k2, 0.0], x),
            ]
        }
        JointType::Ball | JointType::Free => [T::lift(m.jnt_stiffness[j]), T::zero()],
    }
}
