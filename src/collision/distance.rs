//! Smallest signed distance between two geoms, whatever the filters of contacts say.

use nalgebra::Vector3;

use super::contact::Touch;
use super::driver::Collision;
use crate::data::Data;
use crate::model::{GeomType, Model};
use crate::scalar::{Scalar, lift3};

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
    let lowest = lowest_vertex(m, d, ordered);
    let touches = match &lowest {
        Some(touch) => std::slice::from_ref(touch),
        None => found.touches(m, d, ordered, distmax),
    };
    let below = touches.iter().filter(|touch| touch.dist.re() < distmax);
    let nearest = below.min_by(|a, b| a.dist.re().total_cmp(&b.dist.re()))?;
    let Touch { dist, pos, normal, .. } = if flip { nearest.flipped() } else { *nearest };
    let half = normal * (dist * T::lift(0.5));
    Some(Separation { dist, fromto: [pos - half, pos + half] })
}

/// The lowest vertex of a mesh above a plane; none for other shapes. (The collider sees meshes only that can collide: others
/// have no convex hull.)
fn lowest_vertex<T: Scalar>(m: &Model, d: &Data<T>, [plane, g]: [usize; 2]) -> Option<Touch<T>> {
    if [m.geom_type[plane], m.geom_type[g]] != [GeomType::Plane, GeomType::Mesh] {
        return None;
    }
    let mesh = m.mesh.get(m.geom_dataid[g]?)?;
    let normal = d.geom_xmat[plane].column(2).into_owned();
    let up = d.geom_xmat[g].tr_mul(&normal).map(Scalar::re);
    let height = |v: &[f64; 3]| Vector3::from(*v).dot(&up);
    let lowest = mesh.vert.iter().min_by(|a, b| height(a).total_cmp(&height(b)))?;
    let point = d.geom_xpos[g] + d.geom_xmat[g] * lift3(&Vector3::from(*lowest));
    let dist = (point - d.geom_xpos[plane]).dot(&normal);
    Some(Touch::new(dist, point - normal * (dist * T::lift(0.5)), normal))
}
