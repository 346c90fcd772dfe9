//! Derivatives of velocity sensors.

use dualstep::math::SpatialVec;
use dualstep::model::SensorType;
use dualstep::smooth::{object_frame, object_velocity};
use dualstep::{Data, MINVAL, Model, Scalar};
use nalgebra::Vector3;

use super::object::{Subtrees, com_velocity, frame_motion, reference_axes, root};
use super::pos::{object, reference, tendon};
use super::{Rows, Scratch, actuator};

/// Adds ∂/∂q and ∂/∂v of velocity sensor `i`.
pub(super) fn rows<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    i: usize,
    s: &mut Scratch<T>,
    rows: &mut Rows<T>,
) {
    use SensorType as S;
    let id = m.sensor_objid[i].unwrap_or(0);
    match m.sensor_type[i] {
        S::Velocimeter => site_velocity(m, d, id, |v| v.lin, rows),
        S::Gyro => site_velocity(m, d, id, |v| v.rot, rows),
        S::JointVel => rows.add(0, m.nv + m.jnt_dofadr[id], T::one()),
        S::TendonVel => tendon(m, d, id, m.nv, rows),
        S::ActuatorVel => actuator::velocities(m, d, i, s, rows),
        S::BallAngVel => {
            for k in 0..3 {
                rows.add(k, m.nv + m.jnt_dofadr[id] + k, T::one());
            }
        }
        S::FrameLinVel => frame_linvel(m, d, i, &s.subtrees, rows),
        S::FrameAngVel => frame_angvel(m, d, i, &s.subtrees, rows),
        S::SubtreeLinVel => subtree_linvel(m, d, id, s, rows),
        S::SubtreeAngMom => subtree_angmom(m, d, id, s, rows),
        // limits: they read zero
        _ => {}
    }
}

/// The motion `v` at a point displaced by `arm`.
pub(super) fn shift<T: Scalar>(v: &SpatialVec<T>, arm: &Vector3<T>) -> SpatialVec<T> {
    SpatialVec::new(v.rot, v.lin + v.rot.cross(arm))
}

/// Velocity of a site in its own axes: what moves it rigidly does not show, Ṡ is left.
fn site_velocity<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    site: usize,
    part: impl Fn(&SpatialVec<T>) -> Vector3<T>,
    rows: &mut Rows<T>,
) {
    let (body, R) = (m.site_bodyid[site], &d.site_xmat[site]);
    let arm = d.site_xpos[site] - d.subtree_com[m.body_rootid[body]];
    for k in m.body_dofs_to_root(body) {
        rows.add3(k, &R.tr_mul(&part(&shift(&d.cdof_dot[k], &arm))));
        rows.add3(m.nv + k, &R.tr_mul(&part(&shift(&d.cdof[k], &arm))));
    }
}

/// Change of the velocity field of a body with each degree of freedom, at the world point `at`: (by q_k, by v_k).
fn field<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    body: usize,
    at: &Vector3<T>,
) -> impl Iterator<Item = (usize, SpatialVec<T>, SpatialVec<T>)> {
    let arm = at - d.subtree_com[m.body_rootid[body]];
    let V = d.cvel[body];
    m.body_dofs_to_root(body).map(move |k| {
        let S = &d.cdof[k];
        (k, shift(&(d.cdof_dot[k] + S.cross_motion(&V)), &arm), shift(S, &arm))
    })
}

/// R_refᵀ(v − v_ref − ω_ref × (p − p_ref)): the velocity field of the object less that of the reference, both at p.
fn frame_linvel<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    i: usize,
    subtrees: &Subtrees,
    rows: &mut Rows<T>,
) {
    let ((objtype, id), reference) = (object(m, i), reference(m, i));
    let R = reference_axes(m, d, i);
    let frame = object_frame(m, d, objtype, id);
    let velocity = object_velocity(m, d, objtype, id, false);
    let reference = reference.map(|(objtype, id)| {
        let frame_ref = object_frame(m, d, objtype, id);
        let v = object_velocity(m, d, objtype, id, false);
        ((objtype, id), frame_ref.body, shift(&v, &(frame.pos - frame_ref.pos)))
    });

    // the point moves within both fields
    let spin = velocity.rot - reference.map_or_else(Vector3::zeros, |(_, _, v)| v.rot);
    frame_motion(m, d, subtrees, (objtype, id), |k, lin, _| {
        rows.add3(k, &R.tr_mul(&spin.cross(lin)));
    });
    // the fields change
    for (k, by_q, by_v) in field(m, d, frame.body, &frame.pos) {
        rows.add3(k, &R.tr_mul(&by_q.lin));
        rows.add3(m.nv + k, &R.tr_mul(&by_v.lin));
    }
    let Some((reference, body, v_ref)) = reference else { return };
    for (k, by_q, by_v) in field(m, d, body, &frame.pos) {
        rows.add3(k, &-R.tr_mul(&by_q.lin));
        rows.add3(m.nv + k, &-R.tr_mul(&by_v.lin));
    }
    // the axes turn
    let relative = velocity.lin - v_ref.lin;
    frame_motion(m, d, subtrees, reference, |k, _, turn| {
        rows.add3(k, &turn.transposed(&R, &relative));
    });
}

/// R_refᵀ(ω − ω_ref).
fn frame_angvel<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    i: usize,
    subtrees: &Subtrees,
    rows: &mut Rows<T>,
) {
    let (objtype, id) = object(m, i);
    let R = reference_axes(m, d, i);
    let frame = object_frame(m, d, objtype, id);
    for (k, by_q, by_v) in field(m, d, frame.body, &frame.pos) {
        rows.add3(k, &R.tr_mul(&by_q.rot));
        rows.add3(m.nv + k, &R.tr_mul(&by_v.rot));
    }
    let Some(reference) = reference(m, i) else { return };
    let body = object_frame(m, d, reference.0, reference.1).body;
    for (k, by_q, by_v) in field(m, d, body, &frame.pos) {
        rows.add3(k, &-R.tr_mul(&by_q.rot));
        rows.add3(m.nv + k, &-R.tr_mul(&by_v.rot));
    }
    let relative = d.cvel[frame.body].rot - d.cvel[body].rot;
    frame_motion(m, d, subtrees, reference, |k, _, turn| {
        rows.add3(k, &turn.transposed(&R, &relative));
    });
}

/// Changes of the momentum of a subtree, of which `dof` moves the part with root `part`: (by q_k, by v_k).
fn momentum<T: Scalar>(
    d: &Data<T>,
    s: &Scratch<T>,
    (dof, part): (usize, usize),
) -> (SpatialVec<T>, SpatialVec<T>) {
    let (S, inertia) = (&d.cdof[dof], &d.crb[part]);
    let by_q = S.cross_force(&s.momentum[part]) + inertia.mul_vec(&d.cdof_dot[dof]);
    (by_q, inertia.mul_vec(S))
}

/// Linear momentum over mass.
fn subtree_linvel<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    body: usize,
    s: &Scratch<T>,
    rows: &mut Rows<T>,
) {
    let per_mass = T::lift(1.0 / m.body_subtreemass[body].max(MINVAL));
    for (k, part) in s.subtrees.dofs(m, body) {
        let (by_q, by_v) = momentum(d, s, (k, part));
        rows.add3(k, &(by_q.lin * per_mass));
        rows.add3(m.nv + k, &(by_v.lin * per_mass));
    }
}

/// Angular momentum about the centre of mass x of the subtree: that about the tree's, less (x − c) × linear momentum.
fn subtree_angmom<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    body: usize,
    s: &Scratch<T>,
    rows: &mut Rows<T>,
) {
    let linear = s.momentum[body].lin;
    for (k, part) in s.subtrees.dofs(m, body) {
        let arm = d.subtree_com[body] - d.subtree_com[root(m, k)];
        let (by_q, by_v) = momentum(d, s, (k, part));
        let moved = com_velocity(m, d, body, (k, part));
        rows.add3(k, &(by_q.rot - arm.cross(&by_q.lin) - moved.cross(&linear)));
        rows.add3(m.nv + k, &(by_v.rot - arm.cross(&by_v.lin)));
    }
}
