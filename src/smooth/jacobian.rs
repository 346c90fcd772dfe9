//! Jacobians of points and directions fixed in bodies.

#![expect(clippy::inline_always, reason = "inner loop of every Jacobian")]

use nalgebra::Vector3;

use crate::data::Data;
use crate::model::Model;
use crate::scalar::Scalar;

/// Velocity of the world point `point`, fixed in a body of the tree with root body `root`, by a unit
/// velocity of degree of freedom `dof`: (angular, linear), world axes.
///
/// The axis `cdof` moves the tree's centre of mass c; the point moves by lin + rot × (point − c).
///
/// Source: Featherstone 2008, eq. 2.16; MuJoCo `mj_jac`.
#[inline(always)]
pub fn dof_point_velocity<T: Scalar>(
    d: &Data<T>,
    dof: usize,
    root: usize,
    point: &Vector3<T>,
) -> (Vector3<T>, Vector3<T>) {
    let axis = &d.cdof[dof];
    let lever = point - d.subtree_com[root];
    (axis.rot, axis.lin + axis.rot.cross(&lever))
}

/// Adds to `qfrc` (nv) the generalized force of a world force and torque acting on body `b` at `point`.
///
/// Source: MuJoCo `mj_applyFT`. Cost O(depth).
pub fn apply_ft<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    force: &Vector3<T>,
    torque: &Vector3<T>,
    point: &Vector3<T>,
    b: usize,
    qfrc: &mut [T],
) {
    let root = m.body_rootid[b];
    for dof in m.body_dofs_to_root(b) {
        let (rot, lin) = dof_point_velocity(d, dof, root, point);
        qfrc[dof] += rot.dot(torque) + lin.dot(force);
    }
}
