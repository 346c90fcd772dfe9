//! Rangefinders: along the z axis of a site, or through each pixel of a camera.

use nalgebra::Vector3;

use super::camera::{intrinsics, pixel_ray};
use super::{object, put3};
use crate::data::Data;
use crate::model::{Model, ObjType};
use crate::ray::{Hit, RayFilter, ray};
use crate::scalar::Scalar;

/// Sizes of the fields of a rangefinder in order of their bits: dist, dir, origin, point, normal, depth.
pub const RANGE_FIELDS: [usize; 6] = [1, 3, 3, 3, 3, 1];

/// Writes the fields of each ray of rangefinder `i`; of cameras, row by row from the top.
///
/// - reads `geom_xpos`, `geom_xmat`, `site_xpos`, `site_xmat`, `cam_xpos`, `cam_xmat`
///
/// Geoms of the body that carries the sensor are not seen.
///
/// Source: MuJoCo XML reference, sensor/rangefinder; `mj_sensorPos`.
pub(super) fn write<T: Scalar>(m: &Model, d: &Data<T>, i: usize, out: &mut [T]) {
    let (data, id) = (m.sensor_intprm[i][0], object(m, i));
    let width = RANGE_FIELDS.iter().enumerate().filter(|(bit, _)| data >> bit & 1 == 1);
    let width: usize = width.map(|(_, n)| n).sum();
    let camera = m.sensor_objtype[i] == ObjType::Camera;
    for (out, (origin, dir, hit)) in out.chunks_exact_mut(width.max(1)).zip(range_hits(m, d, i)) {
        let depth = |hit: &Hit<T>| {
            if !camera {
                return hit.dist;
            }
            d.cam_xmat[id].column(2).dot(&(d.cam_xpos[id] - origin - dir * hit.dist))
        };
        copy(data, &origin, &dir, hit.as_ref(), depth, out);
    }
}

/// Origin and direction of each ray of rangefinder `i`, and what it meets; world frame, rays of cameras row by row.
///
/// - reads  as the sensor
pub fn range_hits<'a, T: Scalar>(
    m: &'a Model,
    d: &'a Data<T>,
    i: usize,
) -> impl Iterator<Item = (Vector3<T>, Vector3<T>, Option<Hit<T>>)> + 'a {
    let id = object(m, i);
    let site = m.sensor_objtype[i] == ObjType::Site;
    let body = if site { m.site_bodyid[id] } else { m.cam_bodyid[id] };
    let (columns, pixels) = match m.cam_resolution.get(id).filter(|_| !site) {
        Some([columns, rows]) => (*columns.max(&1), columns * rows),
        None => (1, 1),
    };
    let camera = (!site).then(|| intrinsics(m, id));
    (0..pixels).map(move |pixel| {
        let (origin, dir) = match &camera {
            None => (d.site_xpos[id], d.site_xmat[id].column(2).into_owned()),
            Some(camera) => pixel_ray(d, id, camera, [pixel % columns, pixel / columns]),
        };
        let filter = RayFilter { bodyexclude: Some(body), ..RayFilter::default() };
        (origin, dir, ray(m, d, &origin, &dir, &filter))
    })
}

/// The selected fields of one ray; −1 for distances, zeros for vectors where nothing is hit.
fn copy<T: Scalar>(
    data: i32,
    origin: &Vector3<T>,
    dir: &Vector3<T>,
    hit: Option<&Hit<T>>,
    depth: impl Fn(&Hit<T>) -> T,
    out: &mut [T],
) {
    let zero = Vector3::zeros();
    let (seen, distances, point, normal) = match hit {
        Some(hit) => (*dir, [hit.dist, depth(hit)], origin + dir * hit.dist, hit.normal),
        None => (zero, [T::lift(-1.0); 2], zero, zero),
    };
    let mut adr = 0;
    for (bit, size) in RANGE_FIELDS.into_iter().enumerate().filter(|(bit, _)| data >> bit & 1 == 1)
    {
        let slot = &mut out[adr..adr + size];
        match bit {
            0 => slot[0] = distances[0],
            1 => put3(slot, &seen),
            2 => put3(slot, origin),
            3 => put3(slot, &point),
            4 => put3(slot, &normal),
            _ => slot[0] = distances[1],
        }
        adr += size;
    }
}
