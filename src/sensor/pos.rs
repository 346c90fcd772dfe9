//! Values of position sensors.

use nalgebra::Vector3;

use super::{Values, camera, nothing, object, per_output, scalar, supported, vector};
use crate::MINVAL;
use crate::constraint::{EfcType, limit_row};
use crate::data::Data;
use crate::math::Quat;
use crate::model::{Model, ObjType, SensorType, WORLD};
use crate::ray::inside_site;
use crate::scalar::{Scalar, lift3};
use crate::smooth::object::{object_frame, object_quat};

/// Values of position sensor `i`. Source: MuJoCo XML reference, section sensor; `mj_sensorPos`.
pub(super) fn values<T: Scalar>(m: &Model, d: &Data<T>, i: usize) -> Values<T> {
    use SensorType as S;
    let id = object(m, i);
    match m.sensor_type[i] {
        S::Magnetometer => vector(&d.site_xmat[id].tr_mul(&lift3(&m.opt.magnetic))),
        S::JointPos => scalar(d.qpos[m.jnt_qposadr[id]]),
        S::TendonPos => scalar(d.ten_length[id]),
        S::ActuatorPos => per_output(m, i, &d.actuator_length),
        S::BallQuat => {
            let adr = m.jnt_qposadr[id];
            Quat::from_slice(&d.qpos[adr..adr + 4]).normalized().to_array()
        }
        S::FramePos => frame_pos(m, d, i),
        S::FrameXAxis => frame_axis(m, d, i, 0),
        S::FrameYAxis => frame_axis(m, d, i, 1),
        S::FrameZAxis => frame_axis(m, d, i, 2),
        S::FrameQuat => frame_quat(m, d, i),
        S::SubtreeCom => vector(&d.subtree_com[id]),
        S::EPotential => scalar(d.energy[0]),
        S::EKinetic => scalar(d.energy[1]),
        S::Clock => scalar(d.time),
        S::JointLimitPos => limit(d, EfcType::LimitJoint, id),
        S::TendonLimitPos => limit(d, EfcType::LimitTendon, id),
        S::CamProjection => {
            let pixel = camera::project(m, d, id, m.sensor_refid[i].unwrap_or(0));
            [pixel.x, pixel.y, T::zero(), T::zero()]
        }
        S::InsideSite if supported(m, i) => {
            let point = inside_point(m, d, m.sensor_objtype[i], id);
            let inside = inside_site(m, d, m.sensor_refid[i].unwrap_or(0), &point);
            scalar(T::lift(f64::from(u8::from(inside))))
        }
        _ => nothing(),
    }
}

/// Distance of an active limit beyond its margin; 0 if it is not active.
fn limit<T: Scalar>(d: &Data<T>, kind: EfcType, id: usize) -> Values<T> {
    let row = limit_row(&d.efc, kind, id);
    scalar(row.map_or_else(T::zero, |row| d.efc.pos[row] - d.efc.margin[row]))
}

/// The point of an object that is inside a site or not: of a body without mass whose subtree has some, the centre of mass
/// of that.
fn inside_point<T: Scalar>(m: &Model, d: &Data<T>, kind: ObjType, id: usize) -> Vector3<T> {
    let hollow =
        |b: usize| b != WORLD && m.body_mass[b] < MINVAL && m.body_subtreemass[b] >= MINVAL;
    if kind == ObjType::Body && hollow(id) {
        d.subtree_com[id]
    } else {
        object_frame(m, d, kind, id).pos
    }
}

/// Position of the object: in the world, or seen from the reference frame, R_refᵀ(p − p_ref).
fn frame_pos<T: Scalar>(m: &Model, d: &Data<T>, i: usize) -> Values<T> {
    let p = object_frame(m, d, m.sensor_objtype[i], object(m, i)).pos;
    vector(&match m.sensor_refid[i] {
        None => p,
        Some(id) => {
            let reference = object_frame(m, d, m.sensor_reftype[i], id);
            reference.rot.tr_mul(&(p - reference.pos))
        }
    })
}

/// Axis `k` of the object: in world components, or in those of the reference frame.
fn frame_axis<T: Scalar>(m: &Model, d: &Data<T>, i: usize, k: usize) -> Values<T> {
    let frame = object_frame(m, d, m.sensor_objtype[i], object(m, i));
    let axis = frame.rot.column(k).into_owned();
    vector(&match m.sensor_refid[i] {
        None => axis,
        Some(id) => object_frame(m, d, m.sensor_reftype[i], id).rot.tr_mul(&axis),
    })
}

/// Orientation of the object: in the world, or relative to the reference frame, q_ref⁻¹ q.
fn frame_quat<T: Scalar>(m: &Model, d: &Data<T>, i: usize) -> Values<T> {
    let q = object_quat(m, d, m.sensor_objtype[i], object(m, i));
    match m.sensor_refid[i] {
        None => q,
        Some(id) => object_quat(m, d, m.sensor_reftype[i], id).conj() * q,
    }
    .to_array()
}
