//! Inverse dynamics by the recursive Newton–Euler algorithm.

use nalgebra::Vector3;

use crate::data::Data;
use crate::math::SpatialVec;
use crate::model::options::disable;
use crate::model::{Model, WORLD};
use crate::scalar::{Scalar, lift3};

/// Bias force: what must be applied to keep the acceleration at zero, gravity included.
///
/// - reads  `cvel`, `cinert` (nbody); `cdof`, `cdof_dot`, `qvel` (nv)
/// - writes `qfrc_bias` (nv) [N, N·m]
///
/// Source: Featherstone 2008, §5.3; MuJoCo `mj_rne` without acceleration. Cost O(nv).
pub fn rne<T: Scalar>(m: &Model, d: &mut Data<T>) {
    accelerations(m, d, None);
    let mut bias = std::mem::take(&mut d.qfrc_bias);
    body_forces(m, d, &mut bias);
    d.qfrc_bias = bias;
}

/// M(q)·`qacc` + bias, without armature: writes `result` (nv).
///
/// - reads  what [`rne`] reads, and `qacc` (nv)
///
/// Source: Featherstone 2008, §5.3; MuJoCo `mj_rne` with acceleration. Cost O(nv).
pub fn rne_with_acceleration<T: Scalar>(m: &Model, d: &mut Data<T>, qacc: &[T], result: &mut [T]) {
    accelerations(m, d, Some(qacc));
    body_forces(m, d, result);
}

/// Base to tip: cacc = cacc_parent + ċdof·v + cdof·a. The world accelerates against gravity.
fn accelerations<T: Scalar>(m: &Model, d: &mut Data<T>, qacc: Option<&[T]>) {
    let gravity =
        if m.opt.disabled(disable::GRAVITY) { Vector3::zeros() } else { lift3(&m.opt.gravity) };
    let Data { scratch, cdof, cdof_dot, qvel, .. } = d;
    let cacc = &mut scratch.cacc;
    cacc[WORLD] = SpatialVec::new(Vector3::zeros(), -gravity);
    for b in m.bodies_base_to_tip() {
        let mut a = cacc[m.body_parentid[b]];
        for i in m.body_dofs(b) {
            a += cdof_dot[i] * qvel[i];
            if let Some(qacc) = qacc {
                a += cdof[i] * qacc[i];
            }
        }
        cacc[b] = a;
    }
}

/// f = I a + v ×f (I v) for each body, summed from tip to base, projected on the axes.
fn body_forces<T: Scalar>(m: &Model, d: &mut Data<T>, result: &mut [T]) {
    let Data { scratch, cinert, cvel, cdof, .. } = d;
    let (cacc, cfrc) = (&scratch.cacc, &mut scratch.cfrc);
    for b in m.bodies_base_to_tip() {
        let momentum = cinert[b].mul_vec(&cvel[b]);
        cfrc[b] = cinert[b].mul_vec(&cacc[b]) + cvel[b].cross_force(&momentum);
    }
    for b in m.bodies_tip_to_base() {
        let parent = m.body_parentid[b];
        if parent != WORLD {
            let f = cfrc[b];
            cfrc[parent] += f;
        }
    }
    for i in 0..m.nv {
        result[i] = cdof[i].dot(&cfrc[m.dof_bodyid[i]]);
    }
}
