//! Forward kinematics.

#![expect(clippy::inline_always, reason = "inner loop over geoms and sites")]

use nalgebra::{Matrix3, Vector3};

use crate::data::Data;
use crate::math::Quat;
use crate::model::{JointType, Model, SameFrame, WORLD};
use crate::scalar::{Scalar, lift3};

/// World poses of bodies, inertial frames, joints, geoms and sites.
///
/// - reads  `qpos` (nq), `mocap_pos`, `mocap_quat` (nmocap)
/// - writes `xpos` \[m\], `xquat`, `xmat`, `xipos` \[m\], `ximat` (nbody); `xanchor` \[m\], `xaxis` (njnt);
///   `geom_xpos`, `geom_xmat` (ngeom); `site_xpos`, `site_xmat` (nsite)
///
/// Each body starts from its parent's pose and takes its joints in order; a rotation about an anchor off
/// the body's origin moves the origin so that the anchor stays. Quaternions are normalized on the way, so
/// `qpos` need not be.
///
/// Source: Featherstone 2008, ch. 4; MuJoCo `mj_kinematics`. Cost O(nbody + njnt + ngeom + nsite).
pub fn kinematics<T: Scalar>(m: &Model, d: &mut Data<T>) {
    set_world(d);
    for b in m.bodies_base_to_tip() {
        let (xpos, xquat) = body_pose(m, d, b);
        let xquat = xquat.normalized();
        d.xpos[b] = xpos;
        d.xquat[b] = xquat;
        d.xmat[b] = xquat.to_matrix();
    }
    attached_frames(m, d);
}

fn set_world<T: Scalar>(d: &mut Data<T>) {
    d.xpos[WORLD] = Vector3::zeros();
    d.xquat[WORLD] = Quat::identity();
    d.xmat[WORLD] = Matrix3::identity();
    d.xipos[WORLD] = Vector3::zeros();
    d.ximat[WORLD] = Matrix3::identity();
}

/// Pose of body `b` after its joints; writes `xanchor`, `xaxis` of those joints on the way.
fn body_pose<T: Scalar>(m: &Model, d: &mut Data<T>, b: usize) -> (Vector3<T>, Quat<T>) {
    let joints = m.body_joints(b);

    // a free joint is the pose
    if joints.len() == 1 && m.jnt_type[joints.start] == JointType::Free {
        let (j, q) = (joints.start, m.jnt_qposadr[joints.start]);
        let xpos = Vector3::new(d.qpos[q], d.qpos[q + 1], d.qpos[q + 2]);
        d.xanchor[j] = xpos;
        d.xaxis[j] = lift3(&m.jnt_axis[j]);
        return (xpos, Quat::from_slice(&d.qpos[q + 3..q + 7]).normalized());
    }

    // fixed offset from the parent
    let (pos, quat) = match m.body_mocapid[b] {
        Some(id) => (d.mocap_pos[id], d.mocap_quat[id].normalized()),
        None => (lift3(&m.body_pos[b]), Quat::lift(&m.body_quat[b])),
    };
    let parent = m.body_parentid[b];
    let (mut xpos, mut xquat) = if parent == WORLD {
        (pos, quat)
    } else {
        (d.xpos[parent] + d.xmat[parent] * pos, d.xquat[parent] * quat)
    };

    for j in joints {
        let q = m.jnt_qposadr[j];
        let axis: Vector3<T> = lift3(&m.jnt_axis[j]);
        let anchor_local: Vector3<T> = lift3(&m.jnt_pos[j]);
        let xaxis = xquat.rotate(&axis);
        let xanchor = xquat.rotate(&anchor_local) + xpos;

        match m.jnt_type[j] {
            JointType::Slide => xpos += xaxis * (d.qpos[q] - T::lift(m.qpos0[q])),
            // a free joint is alone on its body and was handled above
            JointType::Ball | JointType::Hinge | JointType::Free => {
                let turn = if m.jnt_type[j] == JointType::Hinge {
                    Quat::from_axis_angle(&axis, d.qpos[q] - T::lift(m.qpos0[q]))
                } else {
                    Quat::from_slice(&d.qpos[q..q + 4]).normalized()
                };
                xquat = xquat * turn;
                // the anchor stays where it was
                xpos = xanchor - xquat.rotate(&anchor_local);
            }
        }
        d.xanchor[j] = xanchor;
        d.xaxis[j] = xaxis;
    }
    (xpos, xquat)
}

/// Inertial frames, geoms and sites: fixed in their bodies.
fn attached_frames<T: Scalar>(m: &Model, d: &mut Data<T>) {
    let Data { xpos, xquat, xmat, xipos, ximat, .. } = d;
    for b in m.bodies_base_to_tip() {
        let same = m.body_sameframe[b];
        xipos[b] = match same {
            SameFrame::Body => xpos[b],
            _ => xpos[b] + xmat[b] * lift3(&m.body_ipos[b]),
        };
        ximat[b] = match same {
            SameFrame::Body | SameFrame::BodyRot => xmat[b],
            _ => (xquat[b] * Quat::lift(&m.body_iquat[b])).to_matrix(),
        };
    }
    for g in 0..m.ngeom {
        let (b, same) = (m.geom_bodyid[g], m.geom_sameframe[g]);
        d.geom_xpos[g] = frame_pos(d, b, same, &m.geom_pos[g]);
        d.geom_xmat[g] = frame_mat(d, b, same, &m.geom_quat[g]);
    }
    for s in 0..m.nsite {
        let (b, same) = (m.site_bodyid[s], m.site_sameframe[s]);
        d.site_xpos[s] = frame_pos(d, b, same, &m.site_pos[s]);
        d.site_xmat[s] = frame_mat(d, b, same, &m.site_quat[s]);
    }
}

/// World position of a point fixed in body `b`.
#[inline(always)]
fn frame_pos<T: Scalar>(d: &Data<T>, b: usize, same: SameFrame, pos: &Vector3<f64>) -> Vector3<T> {
    match same {
        SameFrame::Body => d.xpos[b],
        SameFrame::Inertia => d.xipos[b],
        _ => d.xpos[b] + d.xmat[b] * lift3(pos),
    }
}

/// World orientation of a frame fixed in body `b`.
#[inline(always)]
pub(crate) fn frame_mat<T: Scalar>(
    d: &Data<T>,
    b: usize,
    same: SameFrame,
    quat: &Quat<f64>,
) -> Matrix3<T> {
    match same {
        SameFrame::Body | SameFrame::BodyRot => d.xmat[b],
        SameFrame::Inertia | SameFrame::InertiaRot => d.ximat[b],
        SameFrame::None => (d.xquat[b] * Quat::lift(quat)).to_matrix(),
    }
}
