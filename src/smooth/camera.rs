//! Camera poses.

use nalgebra::{Matrix3, Vector3};

use super::kinematics::frame_mat;
use crate::data::Data;
use crate::model::{CamMode, Model, SameFrame};
use crate::scalar::{Scalar, lift3};

/// World poses of cameras, by their tracking mode.
///
/// - reads  `xpos`, `xmat`, `xquat`, `subtree_com` (nbody)
/// - writes `cam_xpos` \[m\], `cam_xmat` (ncam)
///
/// Source: MuJoCo `mj_camlight`.
pub fn camera<T: Scalar>(m: &Model, d: &mut Data<T>) {
    for c in 0..m.ncam {
        let b = m.cam_bodyid[c];
        d.cam_xpos[c] = d.xpos[b] + d.xmat[b] * lift3(&m.cam_pos[c]);
        d.cam_xmat[c] = frame_mat(d, b, SameFrame::None, &m.cam_quat[c]);

        match (m.cam_mode[c], m.cam_targetbodyid[c]) {
            (CamMode::Fixed, _) | (CamMode::TargetBody | CamMode::TargetBodyCom, None) => {}
            (CamMode::Track, _) => {
                d.cam_xpos[c] = d.xpos[b] + lift3(&m.cam_pos0[c]);
                d.cam_xmat[c] = constant_matrix(&m.cam_mat0[c]);
            }
            (CamMode::TrackCom, _) => {
                d.cam_xpos[c] = d.subtree_com[b] + lift3(&m.cam_poscom0[c]);
                d.cam_xmat[c] = constant_matrix(&m.cam_mat0[c]);
            }
            (CamMode::TargetBody, Some(target)) => look_at(d, c, d.xpos[target]),
            (CamMode::TargetBodyCom, Some(target)) => look_at(d, c, d.subtree_com[target]),
        }
    }
}

fn constant_matrix<T: Scalar>(row_major: &[f64; 9]) -> Matrix3<T> {
    Matrix3::from_fn(|i, j| T::lift(row_major[3 * i + j]))
}

/// Turns camera `c` so that it looks along −z at `target`, with x horizontal.
fn look_at<T: Scalar>(d: &mut Data<T>, c: usize, target: Vector3<T>) {
    let z = unit(d.cam_xpos[c] - target);
    let x = unit(Vector3::new(T::zero(), T::zero(), T::one()).cross(&z));
    let y = unit(z.cross(&x));
    d.cam_xmat[c] = Matrix3::from_columns(&[x, y, z]);
}

/// The unit vector along `v`; the x axis where `v` vanishes, as `mju_normalize3`.
fn unit<T: Scalar>(v: Vector3<T>) -> Vector3<T> {
    let n = v.norm_squared().sqrt();
    if n.re() < crate::MINVAL { Vector3::x() } else { v / n }
}
