//! Values of velocity sensors.

use nalgebra::Vector3;

use super::{Values, nothing, object, per_output, scalar, vector};
use crate::constraint::{EfcType, limit_row};
use crate::data::Data;
use crate::math::SpatialVec;
use crate::model::{Model, ObjType, SensorType};
use crate::scalar::Scalar;
use crate::smooth::object::{object_frame, object_velocity, rotate_into};

/// Values of velocity sensor `i`. Source: MuJoCo XML reference, section sensor; `mj_sensorVel`.
pub(super) fn values<T: Scalar>(m: &Model, d: &Data<T>, i: usize) -> Values<T> {
    use SensorType as S;
    let id = object(m, i);
    match m.sensor_type[i] {
        S::Velocimeter => vector(&object_velocity(m, d, ObjType::Site, id, true).lin),
        S::Gyro => vector(&object_velocity(m, d, ObjType::Site, id, true).rot),
        S::JointVel => scalar(d.qvel[m.jnt_dofadr[id]]),
        S::TendonVel => scalar(d.ten_velocity[id]),
        S::ActuatorVel => per_output(m, i, &d.actuator_velocity),
        S::BallAngVel => {
            let adr = m.jnt_dofadr[id];
            vector(&Vector3::new(d.qvel[adr], d.qvel[adr + 1], d.qvel[adr + 2]))
        }
        S::FrameLinVel => vector(&frame_velocity(m, d, i).lin),
        S::FrameAngVel => vector(&frame_velocity(m, d, i).rot),
        S::SubtreeLinVel => vector(&d.subtree_linvel[id]),
        S::SubtreeAngMom => vector(&d.subtree_angmom[id]),
        S::JointLimitVel => limit(d, EfcType::LimitJoint, id),
        S::TendonLimitVel => limit(d, EfcType::LimitTendon, id),
        _ => nothing(),
    }
}

/// Velocity of an active limit, positive away from it; 0 if it is not active.
fn limit<T: Scalar>(d: &Data<T>, kind: EfcType, id: usize) -> Values<T> {
    scalar(limit_row(&d.efc, kind, id).map_or_else(T::zero, |row| d.efc.vel[row]))
}

/// Velocity of the object: in the world, or as an observer on the reference frame sees it, that is
/// relative to the point of the moving frame that it passes: v − v_ref − ω_ref × (p − p_ref).
fn frame_velocity<T: Scalar>(m: &Model, d: &Data<T>, i: usize) -> SpatialVec<T> {
    let (objtype, id) = (m.sensor_objtype[i], object(m, i));
    let v = object_velocity(m, d, objtype, id, false);
    let Some(refid) = m.sensor_refid[i] else { return v };

    let reference = object_frame(m, d, m.sensor_reftype[i], refid);
    let v_ref = object_velocity(m, d, m.sensor_reftype[i], refid, false);
    let arm = object_frame(m, d, objtype, id).pos - reference.pos;
    let mut relative = v - v_ref;
    relative.lin -= v_ref.rot.cross(&arm);
    rotate_into(&reference.rot, &relative)
}
