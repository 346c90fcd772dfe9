//! Pose, velocity and acceleration of whatever has a frame: body, geom, site, camera.

use nalgebra::{Matrix3, Vector3};

use crate::data::Data;
use crate::math::{Quat, SpatialVec};
use crate::model::{Model, ObjType};
use crate::scalar::Scalar;

/// World pose of an object, and the body that carries it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ObjectFrame<T> {
    /// Body that carries the object.
    pub body: usize,
    /// Origin, world frame \[m\].
    pub pos: Vector3<T>,
    /// Axes as columns, world frame.
    pub rot: Matrix3<T>,
}

/// World pose of object `id`.
///
/// - reads `xpos`, `xipos`, `geom_xpos`, `site_xpos`, `cam_xpos` and their matrices
///
/// # Panics
/// If the kind is none of body, xbody, geom, site and camera, or `id` is out of range. (The loader refuses
/// such sensors.)
pub fn object_frame<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    objtype: ObjType,
    id: usize,
) -> ObjectFrame<T> {
    let (body, pos, rot) = match objtype {
        ObjType::Body => (id, d.xipos[id], d.ximat[id]),
        ObjType::XBody => (id, d.xpos[id], d.xmat[id]),
        ObjType::Geom => (m.geom_bodyid[id], d.geom_xpos[id], d.geom_xmat[id]),
        ObjType::Site => (m.site_bodyid[id], d.site_xpos[id], d.site_xmat[id]),
        ObjType::Camera => (m.cam_bodyid[id], d.cam_xpos[id], d.cam_xmat[id]),
        other => panic!("objects of kind {other:?} have no frame"),
    };
    ObjectFrame { body, pos, rot }
}

/// World orientation of object `id` as a quaternion, composed from the body's without passing through a
/// matrix, so that its sign is continuous.
///
/// A camera counts as fixed in its body here, whatever its mode; `cam_xmat` follows the mode.
///
/// - reads `xquat` (nbody)
///
/// # Panics
/// As [`object_frame`].
pub fn object_quat<T: Scalar>(m: &Model, d: &Data<T>, objtype: ObjType, id: usize) -> Quat<T> {
    match objtype {
        ObjType::Body => d.xquat[id] * Quat::lift(&m.body_iquat[id]),
        ObjType::XBody => d.xquat[id],
        ObjType::Geom => d.xquat[m.geom_bodyid[id]] * Quat::lift(&m.geom_quat[id]),
        ObjType::Site => d.xquat[m.site_bodyid[id]] * Quat::lift(&m.site_quat[id]),
        ObjType::Camera => d.xquat[m.cam_bodyid[id]] * Quat::lift(&m.cam_quat[id]),
        other => panic!("objects of kind {other:?} have no frame"),
    }
}

/// Velocity of object `id`, rot:lin [rad/s, m/s]: of its origin, in world axes or, if `local`, in its own.
///
/// - reads `cvel`, `subtree_com` (nbody), and the object's pose
///
/// With r from the tree's centre of mass to the object: ω = ω_c, v = v_c + ω × r.
///
/// Source: MuJoCo `mj_objectVelocity`.
///
/// # Panics
/// As [`object_frame`].
pub fn object_velocity<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    objtype: ObjType,
    id: usize,
    local: bool,
) -> SpatialVec<T> {
    let frame = object_frame(m, d, objtype, id);
    let arm = frame.pos - d.subtree_com[m.body_rootid[frame.body]];
    let v = shift_motion(&d.cvel[frame.body], &arm);
    if local { rotate_into(&frame.rot, &v) } else { v }
}

/// Acceleration of object `id`, rot:lin [rad/s², m/s²]: of its origin, in world axes or, if `local`, in
/// its own. Linear acceleration is *proper*: gravity is subtracted, so a body at rest reads +9.81 upwards,
/// and so does a static or mocap body.
///
/// - reads `cacc` of `rne_post_constraint`, `cvel`, `subtree_com` (nbody),
///   and the object's pose
///
/// Spatial acceleration is the rate of the velocity field at a point fixed in space; that of the material
/// point adds ω × v.
///
/// Source: Featherstone 2008, §2.11; MuJoCo `mj_objectAcceleration` (4.0: static and mocap bodies too).
///
/// # Panics
/// As [`object_frame`].
pub fn object_acceleration<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    objtype: ObjType,
    id: usize,
    local: bool,
) -> SpatialVec<T> {
    let frame = object_frame(m, d, objtype, id);
    let arm = frame.pos - d.subtree_com[m.body_rootid[frame.body]];
    let v = shift_motion(&d.cvel[frame.body], &arm);
    let mut a = shift_motion(&d.cacc[frame.body], &arm);
    a.lin += v.rot.cross(&v.lin);
    if local { rotate_into(&frame.rot, &a) } else { a }
}

/// The motion `v` seen from a point displaced by `arm`: v + ω × arm.
#[inline]
pub(crate) fn shift_motion<T: Scalar>(v: &SpatialVec<T>, arm: &Vector3<T>) -> SpatialVec<T> {
    SpatialVec::new(v.rot, v.lin + v.rot.cross(arm))
}

/// The wrench `f` about a point displaced by `arm`: τ − arm × f.
#[inline]
pub(crate) fn shift_force<T: Scalar>(f: &SpatialVec<T>, arm: &Vector3<T>) -> SpatialVec<T> {
    SpatialVec::new(f.rot - arm.cross(&f.lin), f.lin)
}

/// World components to components along the columns of `rot`.
#[inline]
pub(crate) fn rotate_into<T: Scalar>(rot: &Matrix3<T>, v: &SpatialVec<T>) -> SpatialVec<T> {
    SpatialVec::new(rot.tr_mul(&v.rot), rot.tr_mul(&v.lin))
}

#[cfg(test)]
mod tests {
    use super::*;

    // power is the same about any point: shifts of motions and forces are dual
    #[test]
    fn shifts_keep_power() {
        let v = SpatialVec::new(Vector3::new(1.0, -2.0, 0.5), Vector3::new(0.3, 0.0, 4.0));
        let f = SpatialVec::new(Vector3::new(0.2, 1.5, -1.0), Vector3::new(-3.0, 2.0, 0.7));
        let arm = Vector3::new(0.4, -0.6, 1.1);
        let (v2, f2) = (shift_motion(&v, &arm), shift_force(&f, &arm));
        assert!((v.dot(&f) - v2.dot(&f2)).abs() < 1e-14);
        // a point at `arm` on a body turning about z moves sideways
        let spin = SpatialVec::<f64>::new(Vector3::z(), Vector3::zeros());
        assert_eq!(shift_motion(&spin, &Vector3::x()).lin, Vector3::y());
    }
}
