//! Smooth forces and accelerations.

use nalgebra::Vector3;

use super::jacobian::apply_ft;
use crate::data::Data;
use crate::linalg::tree_ldl;
use crate::model::Model;
use crate::scalar::Scalar;

/// All forces but those of constraints: passive − bias + actuator + applied + Σ Jᵀ·xfrc.
///
/// - reads  `qfrc_passive`, `qfrc_bias`, `qfrc_actuator`, `qfrc_applied` (nv); `xfrc_applied` (nbody)
/// - writes `qfrc_smooth` (nv) [N, N·m]
///
/// Source: MuJoCo `mj_fwdAcceleration`. Cost O(nv).
pub fn smooth_force<T: Scalar>(m: &Model, d: &mut Data<T>) {
    for i in 0..m.nv {
        d.qfrc_smooth[i] =
            d.qfrc_passive[i] - d.qfrc_bias[i] + d.qfrc_applied[i] + d.qfrc_actuator[i];
    }
    let mut qfrc = std::mem::take(&mut d.qfrc_smooth);
    for b in m.bodies_base_to_tip() {
        let [fx, fy, fz, tx, ty, tz] = d.xfrc_applied[b];
        if d.xfrc_applied[b].iter().any(|x| *x != T::zero()) || T::ORDER > 0 {
            let (force, torque) = (Vector3::new(fx, fy, fz), Vector3::new(tx, ty, tz));
            apply_ft(m, d, &force, &torque, &d.xipos[b], b, &mut qfrc);
        }
    }
    d.qfrc_smooth = qfrc;
}

/// The acceleration that these forces cause: M a = qfrc_smooth.
///
/// - reads  `qfrc_smooth` (nv) from [`smooth_force`]; `qLD`, `qLDiagInv` from [`super::factor_m`]
/// - writes `qacc_smooth` (nv) [m/s², rad/s²]
///
/// Source: MuJoCo `mj_fwdAcceleration`. Cost O(nv · depth).
pub fn acceleration<T: Scalar>(m: &Model, d: &mut Data<T>) {
    d.qacc_smooth.copy_from_slice(&d.qfrc_smooth);
    tree_ldl::solve(m, &d.qLD, &d.qLDiagInv, &mut d.qacc_smooth);
}
