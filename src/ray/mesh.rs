//! Rays against triangles.

use nalgebra::Vector3;

use super::primitive::box_crossings;
use super::surface::{Crossing, Ray, Surface};
use crate::MINVAL;
use crate::model::Mesh;

/// How far outside of a triangle, in barycentric coordinates, a ray still hits it: so that none slips through an edge.
const EDGE: f64 = 1e-12;

/// First crossing with the triangles of a mesh, from either side.
///
/// Source: MuJoCo `mj_rayMesh`.
pub(super) fn crossing(mesh: &Mesh, ray: &Ray<f64>) -> Option<Crossing> {
    nearest_triangle(mesh, &mesh.face, ray)
}

/// First crossing with the convex hull of a mesh; with the mesh itself if it has none.
pub(super) fn hull_crossing(mesh: &Mesh, ray: &Ray<f64>) -> Option<Crossing> {
    let faces = mesh.hull.as_ref().map_or(&mesh.face, |hull| &hull.face);
    nearest_triangle(mesh, faces, ray)
}

/// True if a point is strictly inside the convex hull of a mesh, or of its faces if they are the hull.
pub(super) fn inside_hull(mesh: &Mesh, point: &Vector3<f64>) -> bool {
    let faces = mesh.hull.as_ref().map_or(&mesh.face, |hull| &hull.face);
    !faces.is_empty()
        && faces.iter().all(|face| {
            let [a, b, c] = corners(mesh, face);
            (b - a).cross(&(c - a)).dot(&(point - a)) < 0.0
        })
}

fn corners(mesh: &Mesh, face: &[usize; 3]) -> [Vector3<f64>; 3] {
    face.map(|v| Vector3::from(mesh.vert[v]))
}

fn nearest_triangle(mesh: &Mesh, faces: &[[usize; 3]], ray: &Ray<f64>) -> Option<Crossing> {
    let (lower, upper) = (Vector3::from(mesh.lower), Vector3::from(mesh.upper));
    // a margin for rounding: the box of a flat mesh has no inside
    let half = (upper - lower) * 0.5 + Vector3::repeat(1e-9 * (upper - lower).norm());
    if box_crossings(&((lower + upper) * 0.5), &half, ray).iter().all(Option::is_none) {
        return None;
    }
    let mut nearest: Option<(f64, [Vector3<f64>; 3])> = None;
    for face in faces {
        let triangle = corners(mesh, face);
        if let Some(dist) = triangle_distance(&triangle, ray)
            && nearest.as_ref().is_none_or(|(best, _)| dist < *best)
        {
            nearest = Some((dist, triangle));
        }
    }
    nearest.map(|(dist, triangle)| Crossing { dist, surface: plane_of(&triangle) })
}

/// The plane of a triangle, its normal to the side from which its corners turn counter-clockwise.
pub(super) fn plane_of([a, b, c]: &[Vector3<f64>; 3]) -> Surface {
    Surface::Plane { point: *a, normal: (b - a).cross(&(c - a)) }
}

/// Distance along the ray to a triangle, from either side.
///
/// Source: Möller and Trumbore 1997, "Fast, minimum storage ray/triangle intersection".
pub(super) fn triangle_distance([a, b, c]: &[Vector3<f64>; 3], ray: &Ray<f64>) -> Option<f64> {
    let (e1, e2) = (b - a, c - a);
    let p = ray.dir.cross(&e2);
    let det = e1.dot(&p);
    if det.abs() < MINVAL {
        return None;
    }
    let t = ray.origin - a;
    let u = t.dot(&p) / det;
    if !(-EDGE..=1.0 + EDGE).contains(&u) {
        return None;
    }
    let q = t.cross(&e1);
    let v = ray.dir.dot(&q) / det;
    if v < -EDGE || u + v > 1.0 + EDGE {
        return None;
    }
    let dist = e2.dot(&q) / det;
    (dist >= 0.0).then_some(dist)
}
