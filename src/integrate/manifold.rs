//! Positions as a manifold: moving along a velocity, and the velocity between two positions.

use nalgebra::Vector3;

use crate::math::Quat;
use crate::model::{JointType, Model};
use crate::scalar::Scalar;

/// `qpos` (nq) moved along the velocity `v` (nv) for the time `h` \[s\]: q ← q ⊕ h·v. Quaternions turn by
/// exp(h·ω), ω in the body frame, and are normalized.
///
/// Source: MuJoCo `mj_integratePos`.
pub fn integrate_pos<T: Scalar>(m: &Model, qpos: &mut [T], v: &[T], h: T) {
    for j in 0..m.njnt {
        let (q, dof) = (m.jnt_qposadr[j], m.jnt_dofadr[j]);
        match m.jnt_type[j] {
            JointType::Slide | JointType::Hinge => qpos[q] += v[dof] * h,
            JointType::Ball => turn(&mut qpos[q..q + 4], &v[dof..dof + 3], h),
            JointType::Free => {
                for k in 0..3 {
                    qpos[q + k] += v[dof + k] * h;
                }
                turn(&mut qpos[q + 3..q + 7], &v[dof + 3..dof + 6], h);
            }
        }
    }
}

fn turn<T: Scalar>(quat: &mut [T], w: &[T], h: T) {
    let next = Quat::from_slice(quat).integrate(&(Vector3::new(w[0], w[1], w[2]) * h));
    quat.copy_from_slice(&next.to_array());
}

/// The velocity `dv` (nv) that takes `q1` to `q2` (nq) in the time `h` \[s\]: h·dv = q2 ⊖ q1. Quaternions
/// need not be normalized.
///
/// Source: MuJoCo `mj_differentiatePos`.
pub fn differentiate_pos<T: Scalar>(m: &Model, dv: &mut [T], h: T, q1: &[T], q2: &[T]) {
    let inv = T::one() / h;
    for j in 0..m.njnt {
        let (q, dof) = (m.jnt_qposadr[j], m.jnt_dofadr[j]);
        match m.jnt_type[j] {
            JointType::Slide | JointType::Hinge => dv[dof] = (q2[q] - q1[q]) * inv,
            JointType::Ball => {
                between(&mut dv[dof..dof + 3], inv, &q1[q..q + 4], &q2[q..q + 4]);
            }
            JointType::Free => {
                for k in 0..3 {
                    dv[dof + k] = (q2[q + k] - q1[q + k]) * inv;
                }
                between(&mut dv[dof + 3..dof + 6], inv, &q1[q + 3..q + 7], &q2[q + 3..q + 7]);
            }
        }
    }
}

fn between<T: Scalar>(dv: &mut [T], inv: T, q1: &[T], q2: &[T]) {
    let (q1, q2) = (Quat::from_slice(q1).normalized(), Quat::from_slice(q2).normalized());
    dv.copy_from_slice((q2.difference(q1) * inv).as_slice());
}
