//! Values of acceleration and force sensors.

use super::{Values, contact, nothing, object, per_output, scalar, vector};
use crate::constraint::{EfcType, limit_row};
use crate::data::Data;
use crate::math::SpatialVec;
use crate::model::{Model, ObjType, SensorType, TrnType};
use crate::scalar::Scalar;
use crate::smooth::object::{object_acceleration, rotate_into, shift_force};

/// Values of acceleration sensor `i`. Source: MuJoCo XML reference, section sensor; `mj_sensorAcc`.
pub(super) fn values<T: Scalar>(m: &Model, d: &Data<T>, i: usize) -> Values<T> {
    use SensorType as S;
    let (objtype, id) = (m.sensor_objtype[i], object(m, i));
    match m.sensor_type[i] {
        S::Accelerometer => vector(&object_acceleration(m, d, ObjType::Site, id, true).lin),
        S::Force => vector(&joint_wrench(m, d, id).lin),
        S::Torque => vector(&joint_wrench(m, d, id).rot),
        S::ActuatorFrc => per_output(m, i, &d.actuator_force),
        S::JointActFrc => scalar(d.qfrc_actuator[m.jnt_dofadr[id]]),
        S::TendonActFrc => scalar(tendon_actuator_force(m, d, id)),
        S::FrameLinAcc => vector(&object_acceleration(m, d, objtype, id, false).lin),
        S::FrameAngAcc => vector(&object_acceleration(m, d, objtype, id, false).rot),
        S::Touch => scalar(contact::touch(m, d, id)),
        S::JointLimitFrc => limit(d, EfcType::LimitJoint, id),
        S::TendonLimitFrc => limit(d, EfcType::LimitTendon, id),
        _ => nothing(),
    }
}

/// Force of an active limit; 0 if it is not active.
fn limit<T: Scalar>(d: &Data<T>, kind: EfcType, id: usize) -> Values<T> {
    scalar(limit_row(&d.efc, kind, id).map_or_else(T::zero, |row| d.efc.force[row]))
}

/// Force and torque that the parent exerts on the body of a site, about the site and in its axes.
fn joint_wrench<T: Scalar>(m: &Model, d: &Data<T>, site: usize) -> SpatialVec<T> {
    let body = m.site_bodyid[site];
    let arm = d.site_xpos[site] - d.subtree_com[m.body_rootid[body]];
    rotate_into(&d.site_xmat[site], &shift_force(&d.cfrc_int[body], &arm))
}

/// Sum of the forces of the actuators that pull on a tendon.
fn tendon_actuator_force<T: Scalar>(m: &Model, d: &Data<T>, tendon: usize) -> T {
    let pulls = |&a: &usize| {
        m.actuator_trntype[a] == TrnType::Tendon && m.actuator_trnid[a][0] == Some(tendon)
    };
    (0..m.nactuator)
        .filter(pulls)
        .fold(T::zero(), |sum, a| sum + d.actuator_force[m.actuator_outadr[a]])
}
