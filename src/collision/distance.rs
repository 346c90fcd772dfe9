//! Smallest signed distance between two geoms, whatever the filters of contacts say.

use nalgebra::Vector3;

use super::contact::Touch;
use super::driver::Collision;
use crate::data::Data;
use crate::model::{GeomType, Model};
use crate::scalar::Scalar;

/// Nearest points of two geoms, or those of deepest penetration.
#[derive(Clone, Copy, Debug)]
pub struct Separation<T: Scalar> {
    /// Signed distance \[m\].
    pub dist: T,
    /// Point on the surface of the first geom, and of the second; world frame \[m\].
    pub fromto: [Vector3<T>; 2],
}

/// True if [`geom_distance`] knows the two types; order does not matter. Planes, and planes and height fields, have no
/// distance between them, and count as known.
pub fn has_distance(a: GeomType, b: GeomType) -> bool {
    use GeomType::{Box, Capsule, Cylinder, Ellipsoid, Hfield, Mesh, Plane, Sphere};
    let (a, b) = if a as i32 <= b as i32 { (a, b) } else { (b, a) };
    matches!(
        (a, b),
        (Plane, Plane | Hfield | Sphere | Capsule | Ellipsoid | Cylinder | Box | Mesh)
            | (Sphere, Sphere | Capsule | Cylinder | Box)
            | (Capsule, Capsule | Box)
    )
}

/// Smallest signed distance between two geoms if it is below `distmax`.
///
/// - reads `geom_xpos`, `geom_xmat`
///
/// `found` lends its memory; its contacts stay. None also for pairs without [`has_distance`].
///
/// Source: MuJoCo `mj_geomDistance`.
pub fn geom_distance<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    geom: [usize; 2],
    distmax: f64,
    found: &mut Collision<T>,
) -> Option<Separation<T>> {
    let [kind1, kind2] = geom.map(|g| m.geom_type[g]);
    if !has_distance(kind1, kind2) {
        return None;
    }
    let flip = kind1 as i32 > kind2 as i32;
    let ordered = if flip { [geom[1], geom[0]] } else { geom };
    let touches = found.touches(m, d, ordered, distmax);
    let below = touches.iter().filter(|touch| touch.dist.re() < distmax);
    let nearest = below.min_by(|a, b| a.dist.re().total_cmp(&b.dist.re()))?;
    let Touch { dist, pos, normal, .. } = if flip { nearest.flipped() } else { *nearest };
    let half = normal * (dist * T::lift(0.5));
    Some(Separation { dist, fromto: [pos - half, pos + half] })
}
