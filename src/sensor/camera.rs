//! What cameras see: pixels of points, and rays of pixels.

use nalgebra::{Vector2, Vector3};

use crate::MINVAL;
use crate::data::Data;
use crate::model::Model;
use crate::scalar::Scalar;

/// Pinhole, or parallel rays.
pub(super) struct Intrinsics {
    /// Focal lengths \[pixel\]; half the size of the image if orthographic.
    focal: [f64; 2],
    /// Principal point \[pixel\].
    principal: [f64; 2],
    /// Half height of the image \[m\], if orthographic.
    parallel: Option<f64>,
}

/// Width and height \[pixel\].
#[expect(clippy::cast_precision_loss, reason = "numbers of pixels")]
fn resolution(m: &Model, cam: usize) -> [f64; 2] {
    m.cam_resolution[cam].map(|n| n as f64)
}

/// Focal length \[pixel\] of a camera that is given by its field of view.
fn focal_of_fovy(m: &Model, cam: usize) -> f64 {
    0.5 / (0.5 * m.cam_fovy[cam].to_radians()).tan() * resolution(m, cam)[1]
}

/// Element `k` of the intrinsics in pixels, in single precision as in MuJoCo.
#[expect(clippy::cast_possible_truncation, reason = "single precision is the point")]
fn pixels(m: &Model, cam: usize, k: usize) -> f64 {
    let axis = k % 2;
    let (length, size) = (m.cam_intrinsic[cam][k] as f32, m.cam_sensorsize[cam][axis] as f32);
    f64::from(length / size * resolution(m, cam)[axis] as f32)
}

fn has_sensor(m: &Model, cam: usize) -> bool {
    m.cam_sensorsize[cam].iter().all(|&size| size != 0.0)
}

/// Of a camera.
///
/// Source: MuJoCo `mju_camIntrinsics`.
pub(super) fn intrinsics(m: &Model, cam: usize) -> Intrinsics {
    let half = resolution(m, cam).map(|n| 0.5 * n);
    if m.cam_orthographic[cam] {
        let parallel = Some(0.5 * m.cam_fovy[cam]);
        Intrinsics { focal: half, principal: half, parallel }
    } else if has_sensor(m, cam) {
        let [focal, principal] = [[0, 1], [2, 3]].map(|ks| ks.map(|k| pixels(m, cam, k)));
        Intrinsics { focal, principal, parallel: None }
    } else {
        Intrinsics { focal: [focal_of_fovy(m, cam); 2], principal: half, parallel: None }
    }
}

/// Origin and direction of the ray of a pixel, row 0 on top; world frame.
///
/// - reads `cam_xpos`, `cam_xmat`
///
/// Source: MuJoCo `mju_camPixelRay`.
#[expect(clippy::cast_precision_loss, reason = "numbers of pixels")]
pub(super) fn pixel_ray<T: Scalar>(
    d: &Data<T>,
    cam: usize,
    intrinsics: &Intrinsics,
    [col, row]: [usize; 2],
) -> (Vector3<T>, Vector3<T>) {
    let Intrinsics { focal, principal, parallel } = intrinsics;
    let (pos, mat) = (d.cam_xpos[cam], &d.cam_xmat[cam]);
    let x = (col as f64 + 0.5 - principal[0]) / focal[0];
    let y = -(row as f64 + 0.5 - principal[1]) / focal[1];
    match parallel {
        None => {
            let dir = Vector3::new(x, y, -1.0).normalize();
            (pos, mat * dir.map(T::lift))
        }
        Some(half) => {
            let offset = Vector3::new(x * half, y * half, 0.0);
            (pos + mat * offset.map(T::lift), -mat.column(2).into_owned())
        }
    }
}

/// Focal lengths \[pixel\] by which `camprojection` sensors divide: of orthographic cameras as well.
pub fn projection_focal(m: &Model, cam: usize) -> [f64; 2] {
    if has_sensor(m, cam) { [0, 1].map(|k| pixels(m, cam, k)) } else { [focal_of_fovy(m, cam); 2] }
}

/// Pixel of a site in the image of a camera, origin at the top left. Points behind the camera are projected too.
///
/// - reads `site_xpos`, `cam_xpos`, `cam_xmat`
///
/// Source: MuJoCo `mj_sensorPos`, camprojection.
pub(super) fn project<T: Scalar>(m: &Model, d: &Data<T>, site: usize, cam: usize) -> Vector2<T> {
    let p = d.cam_xmat[cam].tr_mul(&(d.site_xpos[site] - d.cam_xpos[cam]));
    let focal = projection_focal(m, cam);
    let depth = match p.z.re() {
        z if z.abs() >= MINVAL => p.z,
        z => T::lift(MINVAL.copysign(z)),
    };
    let half = resolution(m, cam).map(|n| T::lift(0.5 * n));
    Vector2::new(
        half[0] - T::lift(focal[0]) * p.x / depth,
        half[1] + T::lift(focal[1]) * p.y / depth,
    )
}
