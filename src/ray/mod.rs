//! Rays: the nearest surface along a line of sight.
//!
//! ```text
//! surface      which plane or quadric of a shape a ray meets first, chosen on real parts
//! primitive    the shapes of geoms and sites
//! mesh         triangles; convex hulls
//! hfield       height fields
//! ```
//!
//! What is hit is chosen in `f64`; distance and normal are then evaluated on `T`.
//!
//! Source: MuJoCo manual, API reference, "Ray casting"; `engine_ray.c`.

mod hfield;
mod mesh;
mod primitive;
mod surface;

use nalgebra::{Matrix3, Vector3};

use crate::MINVAL;
use crate::data::Data;
use crate::model::{GeomType, Model};
use crate::scalar::Scalar;

pub use primitive::{inside_geom, ray_geom};
use surface::{Crossing, Ray};

/// Groups of geoms that a ray may tell apart (`mjNGROUP`).
pub const NGROUP: usize = 6;

/// Which geoms a ray passes through. Invisible geoms (alpha 0 of their colour, or of their material's) it always passes.
#[derive(Clone, Copy, Debug, Default)]
pub struct RayFilter {
    /// Groups that it sees; all if none. Groups beyond the ends count as those at the ends.
    pub group: Option<[bool; NGROUP]>,
    /// Passes through geoms that are fixed in the world.
    pub skip_static: bool,
    /// Passes through the geoms of this body.
    pub bodyexclude: Option<usize>,
}

/// Where a ray meets a surface. World frame.
#[derive(Clone, Copy, Debug)]
pub struct Hit<T: Scalar> {
    /// Geom.
    pub geom: usize,
    /// Multiple of the ray's vector: the distance if it has unit length.
    pub dist: T,
    /// Unit normal, out of the geom whichever way the ray comes.
    pub normal: Vector3<T>,
    /// Change of the normal with a displacement along the surface \[1/m\].
    pub curvature: Matrix3<T>,
}

/// Nearest surface along `pnt + x vec`, x ≥ 0; none if the ray meets none.
///
/// - reads `geom_xpos`, `geom_xmat`
///
/// Source: MuJoCo `mj_ray`. Cost O(ngeom) and the triangles of meshes whose bounding box is met.
///
/// # Panics
/// If `vec` is shorter than 1e-15.
pub fn ray<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    pnt: &Vector3<T>,
    vec: &Vector3<T>,
    filter: &RayFilter,
) -> Option<Hit<T>> {
    let (p, v) = (pnt.map(Scalar::re), vec.map(Scalar::re));
    assert!(v.norm() >= MINVAL, "a ray needs a direction");
    let mut nearest: Option<(usize, Crossing)> = None;
    for g in (0..m.ngeom).filter(|&g| sees(m, filter, g) && passes_near(m, d, g, &p, &v)) {
        let local = Ray::local(&d.geom_xpos[g], &d.geom_xmat[g], pnt, vec).re();
        if let Some(found) = crossing(m, g, &local)
            && nearest.as_ref().is_none_or(|(_, best)| found.dist < best.dist)
        {
            nearest = Some((g, found));
        }
    }
    nearest.map(|(geom, crossing)| hit(d, geom, &crossing, pnt, vec))
}

fn hit<T: Scalar>(
    d: &Data<T>,
    geom: usize,
    crossing: &Crossing,
    pnt: &Vector3<T>,
    vec: &Vector3<T>,
) -> Hit<T> {
    let R = &d.geom_xmat[geom];
    let local = Ray::local(&d.geom_xpos[geom], R, pnt, vec);
    let (dist, normal, curvature) = crossing.surface.evaluate(&local);
    Hit { geom, dist, normal: R * normal, curvature: R * curvature * R.transpose() }
}

/// Where the ray `pnt + x vec` first meets geom `g`.
///
/// - reads `geom_xpos`, `geom_xmat`
///
/// Source: MuJoCo `mj_rayMesh`, `mj_rayHfield`, `mju_rayGeom`.
pub fn ray_one<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    g: usize,
    pnt: &Vector3<T>,
    vec: &Vector3<T>,
) -> Option<Hit<T>> {
    let local = Ray::local(&d.geom_xpos[g], &d.geom_xmat[g], pnt, vec);
    let crossing = crossing(m, g, &local.re())?;
    Some(hit(d, g, &crossing, pnt, vec))
}

/// First crossing with a geom, ray in its frame.
fn crossing(m: &Model, g: usize, ray: &Ray<f64>) -> Option<Crossing> {
    match m.geom_type[g] {
        GeomType::Mesh => mesh::crossing(m.mesh.get(m.geom_dataid[g]?)?, ray),
        GeomType::Hfield => hfield::crossing(m, m.geom_dataid[g]?, ray),
        kind => primitive::crossing(kind, &m.geom_size[g], ray),
    }
}

/// True if a ray sees geom `g`.
fn sees(m: &Model, filter: &RayFilter, g: usize) -> bool {
    let body = m.geom_bodyid[g];
    let group = usize::try_from(m.geom_group[g]).unwrap_or(0).min(NGROUP - 1);
    m.geom_visible[g]
        && filter.bodyexclude != Some(body)
        && !(filter.skip_static && m.body_weldid[body] == 0)
        && filter.group.is_none_or(|groups| groups[group])
}

/// False if a ray misses the bounding sphere of geom `g` for sure.
fn passes_near<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    g: usize,
    p: &Vector3<f64>,
    v: &Vector3<f64>,
) -> bool {
    let r = m.geom_rbound[g];
    if r <= 0.0 || matches!(m.geom_type[g], GeomType::Plane | GeomType::Hfield) {
        return true;
    }
    let offset = d.geom_xpos[g].map(Scalar::re) - p;
    offset.cross(v).norm_squared() <= r * r * v.norm_squared() * (1.0 + 1e-9)
}

/// True if the world point `point` is strictly inside site `s`; a mesh counts as its convex hull.
///
/// - reads `site_xpos`, `site_xmat`
///
/// Source: MuJoCo `mj_insideSite`.
pub fn inside_site<T: Scalar>(m: &Model, d: &Data<T>, s: usize, point: &Vector3<T>) -> bool {
    let local = local_point(&d.site_xpos[s], &d.site_xmat[s], point);
    match (m.site_type[s], m.site_dataid[s]) {
        (GeomType::Mesh, Some(id)) => m.mesh.get(id).is_some_and(|x| mesh::inside_hull(x, &local)),
        (kind, _) => inside_geom(kind, &m.site_size[s], &local),
    }
}

/// True if the ray `pnt + x vec`, x ≥ 0, meets site `s`.
///
/// - reads `site_xpos`, `site_xmat`
///
/// Source: MuJoCo `mju_rayGeom`, as sensors of touch call it.
pub fn ray_meets_site<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    s: usize,
    pnt: &Vector3<T>,
    vec: &Vector3<T>,
) -> bool {
    let local = Ray::local(&d.site_xpos[s], &d.site_xmat[s], pnt, vec).re();
    match (m.site_type[s], m.site_dataid[s]) {
        (GeomType::Mesh, Some(id)) => {
            m.mesh.get(id).and_then(|x| mesh::hull_crossing(x, &local)).is_some()
        }
        (kind, _) => primitive::crossing(kind, &m.site_size[s], &local).is_some(),
    }
}

/// Real components of a world point in a frame.
fn local_point<T: Scalar>(pos: &Vector3<T>, mat: &Matrix3<T>, point: &Vector3<T>) -> Vector3<f64> {
    mat.map(Scalar::re).tr_mul(&(point - pos).map(Scalar::re))
}
