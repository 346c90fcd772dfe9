//! Equality constraints: connect, weld, joint, tendon; and distance, ours.

use nalgebra::{Matrix3, Vector3};

use crate::data::Data;
use crate::math::{Quat, SpatialVec};
use crate::model::{EqType, JointType, Model, ObjType, WORLD};
use crate::scalar::{Scalar, lift3};
use crate::smooth::jacobian::dof_point_velocity;
use crate::smooth::object_quat;

use super::efc::{Block, Efc, EfcType, Rows, is_sparse};
use super::friction::{add_tendon, tendon_dofs};
use super::limit::direction;

/// Where the numbers of a weld stand in `eq_data`: relative orientation, weight of rotations.
const RELPOSE_QUAT: std::ops::Range<usize> = 6..10;
const TORQUESCALE: usize = 10;

/// Rows of an equality constraint.
pub(super) fn rows(kind: EqType) -> usize {
    match kind {
        EqType::Connect => 3,
        EqType::Weld => 6,
        EqType::Joint | EqType::Tendon | EqType::Distance => 1,
    }
}

/// Appends the rows of all active equality constraints, but of those that no degree of freedom affects.
///
/// Source: MuJoCo `mj_instantiateEquality`.
pub(super) fn instantiate<T: Scalar>(m: &Model, d: &Data<T>, efc: &mut Efc<T>) {
    for e in (0..m.neq).filter(|&e| d.eq_active[e]) {
        let start = efc.nefc;
        match m.eq_type[e] {
            EqType::Connect => point(m, d, e, efc),
            EqType::Weld => weld(m, d, e, efc),
            EqType::Joint | EqType::Tendon => polynomial(m, d, e, efc),
            EqType::Distance => distance(m, d, e, efc),
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

/// Appends zero rows with the columns of all degrees of freedom that move one of the bodies.
fn push_bodies<'a, T: Scalar>(m: &Model, e: usize, efc: &'a mut Efc<T>) -> Rows<'a, T> {
    let [b1, b2] = bodies(m, e);
    efc.set_columns(m.body_dofs_to_root(b1).chain(m.body_dofs_to_root(b2)));
    push(m, e, efc)
}

/// Connect: p₁ − p₂ = 0 for the two anchors.
fn point<T: Scalar>(m: &Model, d: &Data<T>, e: usize, efc: &mut Efc<T>) {
    let mut rows = push_bodies(m, e, efc);
    let [p1, p2] = anchors(m, d, e);
    rows.pos.copy_from_slice((p1 - p2).as_slice());
    for (dof, _, lin) in relative_velocities(m, d, e, &[p1, p2]) {
        for k in 0..3 {
            rows.add(k, dof, lin[k]);
        }
    }
}

/// Weld: p₁ − p₂ = 0 and s · vec(q₂* q₁ r) = 0, with r the relative orientation and s the torque scale.
///
/// A relative angular velocity ω changes the second by s/2 · vec(q₂* ω q₁ r), ω as a quaternion.
fn weld<T: Scalar>(m: &Model, d: &Data<T>, e: usize, efc: &mut Efc<T>) {
    let mut rows = push_bodies(m, e, efc);
    let [p1, p2] = anchors(m, d, e);
    let [q1, q2] = orientations(m, d, e);
    let scale = T::lift(m.eq_data[e][TORQUESCALE]);
    let translation = p1 - p2;
    let rotation = (q2.conj() * q1).vec() * scale;
    for k in 0..3 {
        rows.pos[k] = translation[k];
        rows.pos[3 + k] = rotation[k];
    }
    let turn = weld_turn(m, e, &[q1, q2]);
    for (dof, rot, lin) in relative_velocities(m, d, e, &[p1, p2]) {
        let rot = turn * rot;
        for k in 0..3 {
            rows.add(k, dof, lin[k]);
            rows.add(3 + k, dof, rot[k]);
        }
    }
}

/// From a relative angular velocity to the rate of the rotational rows of a weld.
fn weld_turn<T: Scalar>(m: &Model, e: usize, [q1, q2]: &[Quat<T>; 2]) -> Matrix3<T> {
    let half = T::lift(0.5 * m.eq_data[e][TORQUESCALE]);
    let axis = |k: usize| (q2.conj() * pure(&Vector3::ith(k, T::one())) * *q1).vec() * half;
    Matrix3::from_columns(&[axis(0), axis(1), axis(2)])
}

/// Wrench of a connect, weld or distance constraint whose rows have these forces, rot:lin in world axes: on the first
/// body at its anchor; the second has the opposite at its own. None for joints and tendons, which act on degrees of
/// freedom.
pub(super) fn wrench<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    e: usize,
    force: &[T],
) -> Option<(SpatialVec<T>, [Vector3<T>; 2])> {
    let points = || anchors(m, d, e);
    let vector = |k: usize| Vector3::new(force[k], force[k + 1], force[k + 2]);
    match m.eq_type[e] {
        EqType::Connect => Some((SpatialVec::new(Vector3::zeros(), vector(0)), points())),
        EqType::Weld => {
            let turn = weld_turn(m, e, &orientations(m, d, e));
            Some((SpatialVec::new(turn.tr_mul(&vector(3)), vector(0)), points()))
        }
        EqType::Distance => {
            let [p1, p2] = points();
            let (normal, _) = direction(&(p1 - p2));
            Some((SpatialVec::new(Vector3::zeros(), normal * force[0]), [p1, p2]))
        }
        EqType::Joint | EqType::Tendon => None,
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

/// Distance: |p₁ − p₂| = data₀ for the centres of two geoms. Centres that coincide have no direction, and
/// then the constraint no row. Ours, not MuJoCo's.
fn distance<T: Scalar>(m: &Model, d: &Data<T>, e: usize, efc: &mut Efc<T>) {
    let [p1, p2] = anchors(m, d, e);
    let (normal, length) = direction(&(p1 - p2));
    if length.re() == 0.0 {
        return;
    }
    let mut rows = push_bodies(m, e, efc);
    rows.pos[0] = length - T::lift(m.eq_data[e][0]);
    for (dof, _, lin) in relative_velocities(m, d, e, &[p1, p2]) {
        rows.add(0, dof, normal.dot(&lin));
    }
}

/// The two bodies of a connect, weld or distance constraint. (A second body that is missing is the world.)
pub(super) fn bodies(m: &Model, e: usize) -> [usize; 2] {
    let of = |id: usize| match (m.eq_type[e], m.eq_objtype[e]) {
        (EqType::Distance, _) => m.geom_bodyid[id],
        (_, ObjType::Site) => m.site_bodyid[id],
        _ => id,
    };
    [of(m.eq_obj1id[e]), m.eq_obj2id[e].map_or(WORLD, of)]
}

/// World points that the constraint relates. A weld keeps the anchor of the second body first.
///
/// Source: MuJoCo `mj_equalityAnchors`.
fn anchors<T: Scalar>(m: &Model, d: &Data<T>, e: usize) -> [Vector3<T>; 2] {
    let (id1, id2) = (m.eq_obj1id[e], m.eq_obj2id[e].unwrap_or(WORLD));
    if m.eq_type[e] == EqType::Distance {
        return [d.geom_xpos[id1], d.geom_xpos[id2]];
    }
    if m.eq_objtype[e] == ObjType::Site {
        return [d.site_xpos[id1], d.site_xpos[id2]];
    }
    let data = &m.eq_data[e];
    let local = |k: usize| lift3::<T>(&Vector3::new(data[k], data[k + 1], data[k + 2]));
    let at = |b: usize, k: usize| d.xpos[b] + d.xmat[b] * local(k);
    let (adr1, adr2) = if m.eq_type[e] == EqType::Weld { (3, 0) } else { (0, 3) };
    [at(id1, adr1), at(id2, adr2)]
}

/// Orientations that a weld makes equal: that of the first with the relative orientation, and the second.
fn orientations<T: Scalar>(m: &Model, d: &Data<T>, e: usize) -> [Quat<T>; 2] {
    let (id1, id2) = (m.eq_obj1id[e], m.eq_obj2id[e].unwrap_or(WORLD));
    if m.eq_objtype[e] == ObjType::Site {
        return [id1, id2].map(|site| object_quat(m, d, ObjType::Site, site));
    }
    let relative = Quat::<f64>::from_slice(&m.eq_data[e][RELPOSE_QUAT]);
    [d.xquat[id1] * Quat::lift(&relative), d.xquat[id2]]
}

/// Velocity of the first body's point minus that of the second's, by a unit velocity of each degree of
/// freedom that moves one of them: (dof, angular, linear). A dof that moves both comes twice.
fn relative_velocities<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    e: usize,
    points: &[Vector3<T>; 2],
) -> impl Iterator<Item = (usize, Vector3<T>, Vector3<T>)> {
    let [b1, b2] = bodies(m, e);
    let [p1, p2] = *points;
    let velocities = move |b: usize, p: Vector3<T>| {
        let root = m.body_rootid[b];
        m.body_dofs_to_root(b).map(move |dof| {
            let (rot, lin) = dof_point_velocity(d, dof, root, &p);
            (dof, rot, lin)
        })
    };
    let second = velocities(b2, p2).map(|(dof, rot, lin)| (dof, -rot, -lin));
    velocities(b1, p1).chain(second)
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
        let kind = m.eq_type[e];
        if matches!(kind, EqType::Connect | EqType::Weld) {
            let points = anchors(m, d, e);
            let bodies = bodies(m, e);
            let a1 = velocity_product(m, d, bodies[0], &points[0]);
            let a2 = velocity_product(m, d, bodies[1], &points[1]);
            let a = a1 - a2;
            for k in 0..3 {
                efc.aref[row + k] -= a.lin[k];
            }
            if kind == EqType::Weld {
                let a = weld_rotation_bias(m, d, e, bodies, &a.rot);
                for k in 0..3 {
                    efc.aref[row + 3 + k] -= a[k];
                }
            }
        }
        row += rows(kind);
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

/// J̇ qvel of the rotation of a weld: the rate of s/2 · vec(q₂* ω q₁r) at ω̇ = `a`, ω = ω₁ − ω₂.
///
/// With q̇ = ½ ω q it is s/2 · vec(q₂* (a + ½ ω ω₁ − ½ ω₂ ω) q₁r), products of quaternions.
fn weld_rotation_bias<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    e: usize,
    [b1, b2]: [usize; 2],
    a: &Vector3<T>,
) -> Vector3<T> {
    let [q1, q2] = orientations(m, d, e);
    let (w1, w2) = (d.cvel[b1].rot, d.cvel[b2].rot);
    let half = T::lift(0.5);
    let w = w1 - w2;
    let (x, y) = (pure(&w) * pure(&w1), pure(&w2) * pure(&w));
    let middle = Quat::from_parts((x.w - y.w) * half, a + (x.vec() - y.vec()) * half);
    (q2.conj() * middle * q1).vec() * (half * T::lift(m.eq_data[e][TORQUESCALE]))
}

/// A vector as a quaternion.
fn pure<T: Scalar>(v: &Vector3<T>) -> Quat<T> {
    Quat::from_parts(T::zero(), *v)
}
