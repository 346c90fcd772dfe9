//! Equality constraints: connect, weld, joint, tendon; and distance, ours.

use nalgebra::Vector3;

use crate::data::Data;
use crate::math::SpatialVec;
use crate::model::{EqType, JointType, Model};
use crate::scalar::Scalar;
use crate::smooth::jacobian::dof_point_velocity;

use super::efc::{Block, Efc, EfcType, Rows, is_sparse};
use super::friction::{add_tendon, tendon_dofs};
use super::tie::{Tie, bodies, rows};

/// Appends the rows of all active equality constraints, but of those that no degree of freedom affects.
///
/// Source: MuJoCo `mj_instantiateEquality`.
pub(super) fn instantiate<T: Scalar>(m: &Model, d: &Data<T>, efc: &mut Efc<T>) {
    for e in (0..m.neq).filter(|&e| d.eq_active[e]) {
        let start = efc.nefc;
        match m.eq_type[e] {
            EqType::Connect | EqType::Weld | EqType::Distance => tied(m, d, e, efc),
            EqType::Joint | EqType::Tendon => polynomial(m, d, e, efc),
        }
        efc.drop_if_empty(start, is_sparse(m) && has_dofs(m, e));
    }
}

/// True if the pattern of the constraint's Jacobian holds any degree of freedom.
fn has_dofs(m: &Model, e: usize) -> bool {
    match m.eq_type[e] {
        EqType::Joint => true,
        EqType::Tendon => {
            let tendons = [Some(m.eq_obj1id[e]), m.eq_obj2id[e]];
            tendons.into_iter().flatten().any(|t| m.ten_J_rownnz[t] > 0)
        }
        EqType::Connect | EqType::Weld | EqType::Distance => {
            bodies(m, e).into_iter().any(|b| m.body_lastdof(b).is_some())
        }
    }
}

/// Appends zero rows for constraint `e` with the columns that were set.
fn push<'a, T: Scalar>(m: &Model, e: usize, efc: &'a mut Efc<T>) -> Rows<'a, T> {
    efc.push(&Block {
        len: rows(m.eq_type[e]),
        kind: EfcType::Equality,
        id: e,
        pos: T::zero(),
        margin: 0.0,
        frictionloss: 0.0,
    })
}

/// Connect, weld and distance. A distance between points that coincide has no direction, and no row.
fn tied<T: Scalar>(m: &Model, d: &Data<T>, e: usize, efc: &mut Efc<T>) {
    let tie = Tie::new(m, d, e);
    if tie.is_degenerate() {
        return;
    }
    let [b1, b2] = tie.bodies;
    efc.set_columns(m.body_dofs_to_root(b1).chain(m.body_dofs_to_root(b2)));
    let mut rows = push(m, e, efc);
    let len = rows.pos.len();
    rows.pos.copy_from_slice(&tie.error()[..len]);
    let along = tie.velocity();
    for (body, point, sign) in [(b1, tie.points[0], T::one()), (b2, tie.points[1], -T::one())] {
        for dof in m.body_dofs_to_root(body) {
            let (rot, lin) = dof_point_velocity(d, dof, m.body_rootid[body], &point);
            for (k, value) in along(&rot, &lin)[..len].iter().enumerate() {
                rows.add(k, dof, sign * *value);
            }
        }
    }
}

/// Joint and tendon: y − y₀ = Σ dataₖ (x − x₀)ᵏ for the values y, x of the first and second; or = data₀.
fn polynomial<T: Scalar>(m: &Model, d: &Data<T>, e: usize, efc: &mut Efc<T>) {
    let on_joints = m.eq_type[e] == EqType::Joint;
    let displacement = |id: usize| {
        let (value, reference) = if on_joints {
            (d.qpos[m.jnt_qposadr[id]], m.qpos0[m.jnt_qposadr[id]])
        } else {
            (d.ten_length[id], m.tendon_length0[id])
        };
        value - T::lift(reference)
    };
    let c = m.eq_data[e];
    let (mut value, mut slope) = (T::lift(c[0]), T::zero());
    if let Some(second) = m.eq_obj2id[e] {
        // Horner, value and derivative
        let x = displacement(second);
        value = T::lift(c[4]);
        for k in (0..4).rev() {
            slope = slope * x + value;
            value = value * x + T::lift(c[k]);
        }
    }
    let error = displacement(m.eq_obj1id[e]) - value;

    let objects = [Some(m.eq_obj1id[e]), m.eq_obj2id[e]].into_iter().flatten();
    let mut rows = if on_joints {
        efc.set_columns(objects.map(|j| m.jnt_dofadr[j]));
        push(m, e, efc)
    } else {
        efc.set_columns(objects.flat_map(|t| tendon_dofs(m, t)));
        push(m, e, efc)
    };
    rows.pos[0] = error;
    let mut add = |id: usize, scale: T| {
        if on_joints {
            rows.add(0, m.jnt_dofadr[id], scale);
        } else {
            add_tendon(m, d, id, scale, &mut rows);
        }
    };
    add(m.eq_obj1id[e], T::one());
    if let Some(second) = m.eq_obj2id[e] {
        add(second, -slope);
    }
}

/// aref (ne) −= J̇ qvel for connects and welds: then the error of the constraint, not J·qacc, accelerates as
/// asked. (MuJoCo does so for these two kinds only.)
///
/// - reads `cvel`, `cdof`, `cdof_dot`, `qvel`, and what the rows were made from
///
/// Source: MuJoCo `mj_Jdotv`.
pub(super) fn subtract_bias<T: Scalar>(m: &Model, d: &Data<T>, efc: &mut Efc<T>) {
    let mut row = 0;
    while row < efc.ne {
        let e = efc.id[row];
        let len = rows(m.eq_type[e]);
        if matches!(m.eq_type[e], EqType::Connect | EqType::Weld) {
            let tie = Tie::new(m, d, e);
            let [b1, b2] = tie.bodies;
            let a1 = velocity_product(m, d, b1, &tie.points[0]);
            let a2 = velocity_product(m, d, b2, &tie.points[1]);
            let bias = tie.bias(&(a1 - a2), [&d.cvel[b1].rot, &d.cvel[b2].rot]);
            for (aref, bias) in efc.aref[row..row + len].iter_mut().zip(bias) {
                *aref -= bias;
            }
        }
        row += len;
    }
}

/// Acceleration of a point fixed in body `b` at zero `qacc`, J̇ qvel: (angular, linear), world axes.
///
/// The axes of ball and free joints turn with their own body.
///
/// Source: Featherstone 2008, §2.11; MuJoCo `mj_jacDot`.
fn velocity_product<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    b: usize,
    point: &Vector3<T>,
) -> SpatialVec<T> {
    let mut a = SpatialVec::zero();
    for dof in m.body_dofs_to_root(b) {
        let j = m.dof_jntid[dof];
        let turns = match m.jnt_type[j] {
            JointType::Ball => true,
            JointType::Free => dof >= m.jnt_dofadr[j] + 3,
            JointType::Slide | JointType::Hinge => false,
        };
        let axis_dot = if turns {
            d.cvel[m.dof_bodyid[dof]].cross_motion(&d.cdof[dof])
        } else {
            d.cdof_dot[dof]
        };
        a += axis_dot * d.qvel[dof];
    }
    let v = &d.cvel[b];
    let arm = point - d.subtree_com[m.body_rootid[b]];
    let point_velocity = v.lin + v.rot.cross(&arm);
    SpatialVec::new(a.rot, a.lin + a.rot.cross(&arm) + v.rot.cross(&point_velocity))
}
