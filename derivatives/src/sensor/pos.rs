//! Derivatives of position sensors.

use dualstep::math::Quat;
use dualstep::model::options::disable;
use dualstep::model::{ObjType, SensorType};
use dualstep::sensor::projection_focal;
use dualstep::smooth::jacobian::dof_point_velocity;
use dualstep::smooth::{object_frame, object_quat};
use dualstep::{Data, MINVAL, Model, Scalar, scalar};
use nalgebra::Vector3;

use super::object::{Subtrees, body_of, com_velocity, frame_motion, point_motion, reference_axes};
use super::{Rows, Scratch, actuator, range};

/// Adds ∂/∂q (and for kinetic energy ∂/∂v) of position sensor `i`.
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
        S::Magnetometer => magnetometer(m, d, id, rows),
        S::JointPos => rows.add(0, m.jnt_dofadr[id], T::one()),
        S::TendonPos => tendon(m, d, id, 0, rows),
        S::ActuatorPos => actuator::lengths(m, d, i, s, rows),
        S::BallQuat => ball_quat(m, d, id, rows),
        S::FramePos => frame_pos(m, d, i, &s.subtrees, rows),
        S::FrameXAxis => frame_axis(m, d, i, 0, &s.subtrees, rows),
        S::FrameYAxis => frame_axis(m, d, i, 1, &s.subtrees, rows),
        S::FrameZAxis => frame_axis(m, d, i, 2, &s.subtrees, rows),
        S::FrameQuat => frame_quat(m, d, i, rows),
        S::SubtreeCom => {
            for (k, part) in s.subtrees.dofs(m, id) {
                rows.add3(k, &com_velocity(m, d, id, (k, part)));
            }
        }
        S::Rangefinder => range::rows(m, d, i, &s.subtrees, rows),
        S::CamProjection => projection(m, d, i, &s.subtrees, rows),
        S::EPotential => potential(m, d, rows),
        S::EKinetic => kinetic(m, d, s, rows),
        // the clock; limits without rows, what is inside of a site, tactile sensors
        _ => {}
    }
}

/// The Jacobian of a fixed tendon, in the columns from `first` on.
pub(super) fn tendon<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    t: usize,
    first: usize,
    rows: &mut Rows<T>,
) {
    for e in m.ten_J_rowadr[t]..m.ten_J_rowadr[t] + m.ten_J_rownnz[t] {
        rows.add(0, first + m.ten_J_colind[e], d.ten_J[e]);
    }
}

/// Rᵀ B turns against the site.
fn magnetometer<T: Scalar>(m: &Model, d: &Data<T>, site: usize, rows: &mut Rows<T>) {
    let flux: Vector3<T> = scalar::lift3(&m.opt.magnetic);
    for k in m.body_dofs_to_root(m.site_bodyid[site]) {
        rows.add3(k, &d.site_xmat[site].tr_mul(&flux.cross(&d.cdof[k].rot)));
    }
}

/// q exp(δ) = q + ½ q (0, δ).
fn ball_quat<T: Scalar>(m: &Model, d: &Data<T>, j: usize, rows: &mut Rows<T>) {
    let (adr, dof) = (m.jnt_qposadr[j], m.jnt_dofadr[j]);
    let q = Quat::from_slice(&d.qpos[adr..adr + 4]).normalized();
    for k in 0..3 {
        let mut half = Vector3::zeros();
        half[k] = T::lift(0.5);
        let change = q * Quat::from_parts(T::zero(), half);
        add4(dof + k, change, rows);
    }
}

fn add4<T: Scalar>(column: usize, q: Quat<T>, rows: &mut Rows<T>) {
    for (row, x) in q.to_array().into_iter().enumerate() {
        rows.add(row, column, x);
    }
}

/// δ(R_refᵀ(p − p_ref)).
fn frame_pos<T: Scalar>(m: &Model, d: &Data<T>, i: usize, subtrees: &Subtrees, rows: &mut Rows<T>) {
    let object = object(m, i);
    let R = reference_axes(m, d, i);
    frame_motion(m, d, subtrees, object, |k, lin, _| rows.add3(k, &R.tr_mul(lin)));
    let Some(reference) = reference(m, i) else { return };
    let origin = object_frame(m, d, reference.0, reference.1).pos;
    let arm = object_frame(m, d, object.0, object.1).pos - origin;
    frame_motion(m, d, subtrees, reference, |k, lin, turn| {
        rows.add3(k, &(turn.transposed(&R, &arm) - R.tr_mul(lin)));
    });
}

/// Pixel (−f₀ x/z, f₁ y/z) of a site at Rᵀ(p − p_cam) = (x, y, z). In the plane of the camera z stays what it is
/// replaced by.
fn projection<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    i: usize,
    subtrees: &Subtrees,
    rows: &mut Rows<T>,
) {
    let (site, Some(camera)) = (object(m, i), m.sensor_refid[i]) else { return };
    let R = d.cam_xmat[camera];
    let arm = d.site_xpos[site.1] - d.cam_xpos[camera];
    let p = R.tr_mul(&arm);
    let (depth, turns) = match p.z.re() {
        z if z.abs() >= MINVAL => (p.z, T::one()),
        z => (T::lift(MINVAL.copysign(z)), T::zero()),
    };
    let [f0, f1] = projection_focal(m, camera).map(|f| T::lift(f) / depth);
    let mut add = |k: usize, dp: &Vector3<T>| {
        let by_depth = dp.z * turns / depth;
        rows.add(0, k, -f0 * (dp.x - p.x * by_depth));
        rows.add(1, k, f1 * (dp.y - p.y * by_depth));
    };
    frame_motion(m, d, subtrees, site, |k, lin, _| add(k, &R.tr_mul(lin)));
    frame_motion(m, d, subtrees, (ObjType::Camera, camera), |k, lin, turn| {
        add(k, &(turn.transposed(&R, &arm) - R.tr_mul(lin)));
    });
}

/// δ(R_refᵀ a) for axis `axis` of the object.
fn frame_axis<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    i: usize,
    axis: usize,
    subtrees: &Subtrees,
    rows: &mut Rows<T>,
) {
    let object = object(m, i);
    let R = reference_axes(m, d, i);
    let frame = object_frame(m, d, object.0, object.1);
    frame_motion(m, d, subtrees, object, |k, _, turn| {
        rows.add3(k, &R.tr_mul(&turn.column(&frame.rot, axis)));
    });
    if let Some(reference) = reference(m, i) {
        let a = frame.rot.column(axis).into_owned();
        frame_motion(m, d, subtrees, reference, |k, _, turn| {
            rows.add3(k, &turn.transposed(&R, &a));
        });
    }
}

/// δ(q_ref⁻¹ q) = ½ q_ref⁻¹ (0, ω − ω_ref) q.
fn frame_quat<T: Scalar>(m: &Model, d: &Data<T>, i: usize, rows: &mut Rows<T>) {
    let (objtype, id) = object(m, i);
    let q = object_quat(m, d, objtype, id);
    let reference = reference(m, i);
    let to_reference = reference
        .map_or_else(Quat::identity, |(objtype, id)| object_quat(m, d, objtype, id).conj());
    let mut turn = |body: usize, sign: f64| {
        for (k, rot, _) in point_motion(m, d, body, &Vector3::zeros()) {
            let half = Quat::from_parts(T::zero(), rot * T::lift(0.5 * sign));
            add4(k, to_reference * half * q, rows);
        }
    };
    turn(body_of(m, objtype, id), 1.0);
    if let Some((objtype, id)) = reference {
        turn(body_of(m, objtype, id), -1.0);
    }
}

/// Gravity lifts what is beyond a joint; springs push back.
fn potential<T: Scalar>(m: &Model, d: &Data<T>, rows: &mut Rows<T>) {
    let gravity = !m.opt.disabled(disable::GRAVITY);
    let g = scalar::lift3(&m.opt.gravity);
    for k in 0..m.nv {
        let b = m.dof_bodyid[k];
        rows.add(0, k, -d.qfrc_spring[k]);
        if gravity {
            let (_, lin) = dof_point_velocity(d, k, m.body_rootid[b], &d.subtree_com[b]);
            rows.add(0, k, -lin.dot(&g) * T::lift(m.body_subtreemass[b]));
        }
    }
}

/// ½ vᵀ M v: M v by velocity, H · Ṡ by position, as a rigid motion of bodies and velocities keeps the energy.
fn kinetic<T: Scalar>(m: &Model, d: &Data<T>, s: &Scratch<T>, rows: &mut Rows<T>) {
    for k in 0..m.nv {
        rows.add(0, k, s.momentum[m.dof_bodyid[k]].dot(&d.cdof_dot[k]));
        rows.add(0, m.nv + k, s.product[k]);
    }
}

/// Kind and index of the object of a sensor.
pub(super) fn object(m: &Model, i: usize) -> (ObjType, usize) {
    (m.sensor_objtype[i], m.sensor_objid[i].unwrap_or(0))
}

/// Kind and index of its reference frame; none for the world.
pub(super) fn reference(m: &Model, i: usize) -> Option<(ObjType, usize)> {
    m.sensor_refid[i].map(|id| (m.sensor_reftype[i], id))
}
