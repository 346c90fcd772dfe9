//! Accelerations and internal forces of all bodies, once `qacc` is known.

use nalgebra::Vector3;

use crate::data::Data;
use crate::math::SpatialVec;
use crate::model::options::disable;
use crate::model::{EqType, Model, WORLD};
use crate::scalar::{Scalar, lift3};
use crate::smooth::object::shift_force;

use super::force::contact_force;
use super::tie::{self, Tie};

/// Acceleration of each body, external force on it, and force on it from its parent.
///
/// - reads  `qvel`, `qacc` (nv), `xfrc_applied`, `cinert`, `cvel`, `xipos`, `subtree_com` (nbody),
///   `cdof`, `cdof_dot` (nv); the contacts, and the forces of the rows
/// - writes `cacc` (nbody) [rad/s², m/s²], `cfrc_ext`, `cfrc_int` (nbody) [N·m, N]; all rot:lin, world
///   axes, about the centre of mass of the kinematic tree
///
/// a_i = a_parent + Ṡ_i q̇_i + S_i q̈_i with a_world = −gravity; the force across the joints of body i is
/// what moves its subtree: f_i = I_i a_i + v_i ×f I_i v_i − f_ext_i + Σ_children f.
///
/// External are what the user applies, and contacts and the constraints between bodies: connects, welds, distances. As in
/// MuJoCo, forces of actuators, springs, gravity compensation and fluids, of friction loss and limits, and of constraints
/// of joints and fixed tendons count as part of the joint force.
///
/// Source: Featherstone 2008, §5.3; MuJoCo `mj_rnePostConstraint`. Cost O(nbody + nv).
pub fn rne_post_constraint<T: Scalar>(m: &Model, d: &mut Data<T>) {
    external_applied(m, d);
    external_contacts(m, d);
    external_equalities(m, d);

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

/// Adds a world wrench at a point of body `b` to its `cfrc_ext`. The world bears what it gets.
fn add_external<T: Scalar>(
    m: &Model,
    d: &mut Data<T>,
    b: usize,
    wrench: &SpatialVec<T>,
    point: &Vector3<T>,
) {
    if b != WORLD {
        let arm = d.subtree_com[m.body_rootid[b]] - point;
        d.cfrc_ext[b] += shift_force(wrench, &arm);
    }
}

/// `cfrc_ext` += forces of contacts: on the second body, and the opposite on the first.
fn external_contacts<T: Scalar>(m: &Model, d: &mut Data<T>) {
    for i in 0..d.contact.len() {
        let contact = &d.contact[i];
        if contact.efc_address.is_none() {
            continue;
        }
        let [fx, fy, fz, tx, ty, tz] = contact_force(m, contact, &d.efc);
        let [n, t1, t2] = &contact.frame;
        let world = |x: T, y: T, z: T| n * x + t1 * y + t2 * z;
        let wrench = SpatialVec::new(world(tx, ty, tz), world(fx, fy, fz));
        let (pos, [b1, b2]) = (contact.pos, contact.geom.map(|g| m.geom_bodyid[g]));
        add_external(m, d, b1, &(wrench * T::lift(-1.0)), &pos);
        add_external(m, d, b2, &wrench, &pos);
    }
}

/// `cfrc_ext` += forces of connects, welds and distances.
fn external_equalities<T: Scalar>(m: &Model, d: &mut Data<T>) {
    let mut row = 0;
    while row < d.efc.ne {
        let e = d.efc.id[row];
        let next = row + tie::rows(m.eq_type[e]);
        if !matches!(m.eq_type[e], EqType::Joint | EqType::Tendon) {
            let tie = Tie::new(m, d, e);
            let wrench = tie.wrench(&d.efc.force[row..next]);
            let ([b1, b2], [p1, p2]) = (tie.bodies, tie.points);
            add_external(m, d, b1, &wrench, &p1);
            add_external(m, d, b2, &(wrench * T::lift(-1.0)), &p2);
        }
        row = next;
    }
}
