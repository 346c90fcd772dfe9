//! Limits of joints and tendons: a row for each side that is closer than its margin.

use nalgebra::Vector3;

use crate::data::Data;
use crate::math::Quat;
use crate::model::{JointType, Model};
use crate::scalar::Scalar;

use super::efc::{Block, Efc, EfcType, is_sparse};
use super::friction::{add_tendon, tendon_dofs};

/// Sides of a range: distance = side · (bound − value) is positive inside.
const SIDES: [f64; 2] = [-1.0, 1.0];

/// Appends the rows of joints, then of tendons, lower side first.
///
/// Source: MuJoCo `mj_instantiateLimit`.
pub(super) fn instantiate<T: Scalar>(m: &Model, d: &Data<T>, efc: &mut Efc<T>) {
    for j in (0..m.njnt).filter(|&j| m.jnt_limited[j]) {
        match m.jnt_type[j] {
            JointType::Slide | JointType::Hinge => scalar_joint(m, d, j, efc),
            JointType::Ball => ball_joint(m, d, j, efc),
            JointType::Free => {}
        }
    }
    for t in (0..m.ntendon).filter(|&t| m.tendon_limited[t]) {
        tendon(m, d, t, efc);
    }
}

/// The block of one limit.
fn block<T>(kind: EfcType, id: usize, pos: T, margin: f64) -> Block<T> {
    Block { len: 1, kind, id, pos, margin, frictionloss: 0.0 }
}

/// Slide and hinge: distances of the value to both ends of its range.
fn scalar_joint<T: Scalar>(m: &Model, d: &Data<T>, j: usize, efc: &mut Efc<T>) {
    let value = d.qpos[m.jnt_qposadr[j]];
    for (side, bound) in SIDES.into_iter().zip(m.jnt_range[j]) {
        let dist = T::lift(side) * (T::lift(bound) - value);
        if dist.re() < m.jnt_margin[j] {
            efc.set_columns(std::iter::once(m.jnt_dofadr[j]));
            let rows = efc.push(&block(EfcType::LimitJoint, j, dist, m.jnt_margin[j]));
            rows.J[0] = T::lift(-side);
        }
    }
}

/// Ball: distance of the rotation angle from its largest value, max(range). The angle changes by the angular
/// velocity along the axis of the rotation.
fn ball_joint<T: Scalar>(m: &Model, d: &Data<T>, j: usize, efc: &mut Efc<T>) {
    let adr = m.jnt_qposadr[j];
    let rotation = Quat::from_slice(&d.qpos[adr..adr + 4]).normalized().log();
    let (axis, angle) = direction(&rotation);
    let bound = m.jnt_range[j][0].max(m.jnt_range[j][1]);
    let dist = T::lift(bound) - angle;
    if dist.re() < m.jnt_margin[j] {
        let dof = m.jnt_dofadr[j];
        efc.set_columns(dof..dof + 3);
        let rows = efc.push(&block(EfcType::LimitJoint, j, dist, m.jnt_margin[j]));
        for k in 0..3 {
            rows.J[k] = -axis[k];
        }
    }
}

/// Tendon: distances of the length to both ends of its range.
fn tendon<T: Scalar>(m: &Model, d: &Data<T>, t: usize, efc: &mut Efc<T>) {
    for (side, bound) in SIDES.into_iter().zip(m.tendon_range[t]) {
        let dist = T::lift(side) * (T::lift(bound) - d.ten_length[t]);
        if dist.re() < m.tendon_margin[t] {
            let start = efc.nefc;
            efc.set_columns(tendon_dofs(m, t));
            let mut rows = efc.push(&block(EfcType::LimitTendon, t, dist, m.tendon_margin[t]));
            add_tendon(m, d, t, T::lift(-side), &mut rows);
            efc.drop_if_empty(start, is_sparse(m) && m.ten_J_rownnz[t] > 0);
        }
    }
}

/// Unit vector and length; the first axis and 0 where the length is below 1e-15, as `mju_normalize3`.
pub(super) fn direction<T: Scalar>(v: &Vector3<T>) -> (Vector3<T>, T) {
    let square = v.norm_squared();
    if square.re() < crate::MINVAL * crate::MINVAL {
        return (Vector3::x(), T::zero());
    }
    let length = square.sqrt();
    (v / length, length)
}
