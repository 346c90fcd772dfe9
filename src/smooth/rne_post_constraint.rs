//! Accelerations and internal forces of all bodies, once `qacc` is known.

use nalgebra::Vector3;

use super::object::shift_force;
use crate::data::Data;
use crate::math::SpatialVec;
use crate::model::options::disable;
use crate::model::{Model, WORLD};
use crate::scalar::{Scalar, lift3};

/// Acceleration of each body, external force on it, and force on it from its parent.
///
/// - reads  `qvel`, `qacc` (nv), `xfrc_applied`, `cinert`, `cvel`, `xipos`, `subtree_com` (nbody),
///   `cdof`, `cdof_dot` (nv)
/// - writes `cacc` (nbody) [rad/s², m/s²], `cfrc_ext`, `cfrc_int` (nbody) [N·m, N]; all rot:lin, world
///   axes, about the centre of mass of the kinematic tree
///
/// a_i = a_parent + Ṡ_i q̇_i + S_i q̈_i with a_world = −gravity; the force across the joints of body i is
/// what moves its subtree: f_i = I_i a_i + v_i ×f I_i v_i − f_ext_i + Σ_children f.
///
/// As in MuJoCo, forces of actuators, springs, gravity compensation and fluids count as part of the joint
/// force, not as external.
///
/// Source: Featherstone 2008, §5.3; MuJoCo `mj_rnePostConstraint`. Cost O(nbody + nv).
pub fn rne_post_constraint<T: Scalar>(m: &Model, d: &mut Data<T>) {
    external_applied(m, d);
    external_constraint(m, d);

    let Data { qvel, qacc, cdof, cdof_dot, cinert, cvel, cacc, cfrc_ext, cfrc_int, .. } = d;

    // the world accelerates upwards instead of gravity pulling down
    let g =
        if m.opt.disabled(disable::GRAVITY) { Vector3::zeros() } else { -lift3(&m.opt.gravity) };
    cacc[WORLD] = SpatialVec::new(Vector3::zeros(), g);
    cfrc_int[WORLD] = SpatialVec::zero();

    // base to tip: accelerations, and the force that each body by itself needs
    for b in m.bodies_base_to_tip() {
        let mut a = cacc[m.body_parentid[b]];
        for i in m.body_dofs(b) {
            a += cdof_dot[i] * qvel[i] + cdof[i] * qacc[i];
        }
        cacc[b] = a;
        let momentum = cinert[b].mul_vec(&cvel[b]);
        cfrc_int[b] = cinert[b].mul_vec(&a) + cvel[b].cross_force(&momentum) - cfrc_ext[b];
    }

    // tip to base: a parent carries its children
    for b in m.bodies_tip_to_base() {
        let f = cfrc_int[b];
        cfrc_int[m.body_parentid[b]] += f;
    }
}

/// `cfrc_ext` = the user's `xfrc_applied`, moved from each body's centre of mass to the tree's.
fn external_applied<T: Scalar>(m: &Model, d: &mut Data<T>) {
    let Data { xfrc_applied, xipos, subtree_com, cfrc_ext, .. } = d;
    cfrc_ext[WORLD] = SpatialVec::zero();
    for b in m.bodies_base_to_tip() {
        let [fx, fy, fz, tx, ty, tz] = xfrc_applied[b];
        let f = SpatialVec::new(Vector3::new(tx, ty, tz), Vector3::new(fx, fy, fz));
        cfrc_ext[b] = shift_force(&f, &(subtree_com[m.body_rootid[b]] - xipos[b]));
    }
}

/// `cfrc_ext` += wrenches of contacts, connect and weld constraints, and spatial tendons. The seam for
/// constraint forces: none are simulated yet, so there is nothing to add.
fn external_constraint<T: Scalar>(_m: &Model, _d: &mut Data<T>) {}
