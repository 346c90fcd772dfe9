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

/// How the distance of two shapes is found, the first with the smaller number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// There is none: two planes, a plane and a height field.
    Never,
    /// The lowest vertex above a plane.
    Vertex,
    /// The nearest contact of a collider in closed form.
    Contact,
    /// The general search of convex solids.
    Search,
    /// Not known yet.
    Missing,
}

fn way(m: &Model, geom: [usize; 2]) -> Way {
    use GeomType::{Box, Capsule, Cylinder, Ellipsoid, Hfield, Mesh, Plane, Sdf, Sphere};
    let searchable = |g: usize| {
        m.geom_type[g] != Mesh
            || m.geom_dataid[g].and_then(|id| m.mesh.get(id)).is_some_and(|x| x.hull.is_some())
    };
    match geom.map(|g| m.geom_type[g]) {
        [Plane, Plane | Hfield] => Way::Never,
        [Plane, Mesh] => Way::Vertex,
        [Plane, Sphere | Capsule | Ellipsoid | Cylinder | Box]
        | [Sphere, Sphere | Capsule | Cylinder | Box]
        | [Capsule, Capsule | Box] => Way::Contact,
        [Hfield | Sdf, _] | [_, Sdf] => Way::Missing,
        _ if geom.into_iter().all(searchable) => Way::Search,
        _ => Way::Missing,
    }
}

/// Geoms ordered by type.
fn ordered(m: &Model, geom: [usize; 2]) -> [usize; 2] {
    let [kind1, kind2] = geom.map(|g| m.geom_type[g] as i32);
    if kind1 > kind2 { [geom[1], geom[0]] } else { geom }
}

/// True if [`geom_distance`] knows the two shapes. Height fields it does not know, nor meshes that cannot collide and so
/// have no convex hull, but for their distance to planes.
pub fn has_distance(m: &Model, geom: [usize; 2]) -> bool {
    way(m, ordered(m, geom)) != Way::Missing
}

/// Smallest signed distance between two geoms if it is below `distmax`.
///
/// - reads `geom_xpos`, `geom_xmat`
///
/// `found` lends its memory; its contacts stay. None also for shapes without [`has_distance`], and for pairs that never
/// collide: planes, and planes and height fields.
///
/// Source: MuJoCo `mj_geomDistance`.
pub fn geom_distance<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    geom: [usize; 2],
    distmax: f64,
    found: &mut Collision<T>,
) -> Option<Separation<T>> {
    let pair = ordered(m, geom);
    let nearest = match way(m, pair) {
        Way::Never | Way::Missing => None,
        Way::Vertex => lowest_vertex(m, d, pair),
        Way::Search => found.narrow.separation(m, d, pair, distmax),
        Way::Contact => {
            let touches = found.touches(m, d, pair, distmax).iter();
            touches.min_by(|a, b| a.dist.re().total_cmp(&b.dist.re())).copied()
        }
    };
    let nearest = nearest.filter(|touch| touch.dist.re() < distmax)?;
    let Touch { dist, pos, normal, .. } = if pair == geom { nearest } else { nearest.flipped() };
    let half = normal * (dist * T::lift(0.5));
    Some(Separation { dist, fromto: [pos - half, pos + half] })
}

/// The lowest vertex of a mesh above a plane. (The collider sees meshes only that can collide: others have no convex hull.)
fn lowest_vertex<T: Scalar>(m: &Model, d: &Data<T>, [plane, g]: [usize; 2]) -> Option<Touch<T>> {
    let mesh = m.mesh.get(m.geom_dataid[g]?)?;
    let normal = d.geom_xmat[plane].column(2).into_owned();
    let up = d.geom_xmat[g].tr_mul(&normal).map(Scalar::re);
    let height = |v: &[f64; 3]| Vector3::from(*v).dot(&up);
    let lowest = mesh.vert.iter().min_by(|a, b| height(a).total_cmp(&height(b)))?;
    let point = d.geom_xpos[g] + d.geom_xmat[g] * lift3(&Vector3::from(*lowest));
    let dist = (point - d.geom_xpos[plane]).dot(&normal);
    Some(Touch::new(dist, point - normal * (dist * T::lift(0.5)), normal))
}
