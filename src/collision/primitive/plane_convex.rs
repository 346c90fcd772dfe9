//! Plane and ellipsoid, plane and mesh.

use nalgebra::Vector3;

use super::Placed;
use crate::collision::Touch;
use crate::model::Mesh;
use crate::scalar::{Scalar, lift3};

/// Most contacts of a plane and a mesh.
const MAX_VERTICES: usize = 3;

/// Vertices of a mesh closer together than this fraction of its bounding radius count as one contact.
const SAME_PLACE: f64 = 0.3;

/// The lowest point of the ellipsoid, at most one contact.
///
/// The support point in direction d is S²d / |S d|, S the semi-axes. Source: MuJoCo `mjc_PlaneConvex`.
pub(crate) fn plane_ellipsoid<T: Scalar>(
    out: &mut Vec<Touch<T>>,
    margin: f64,
    plane: &Placed<T>,
    ellipsoid: &Placed<T>,
) {
    let normal = plane.axis(2);
    let scaled = (ellipsoid.mat.transpose() * -normal).component_mul(&lift3(ellipsoid.size));
    let support = scaled.normalize().component_mul(&lift3(ellipsoid.size));
    push(out, margin, plane, ellipsoid.pos + ellipsoid.mat * support);
}

/// The lowest vertex of the convex hull, and those of its neighbours (of all other vertices where the mesh
/// has no hull) that are within the margin and not close to it; at most three contacts.
///
/// Source: MuJoCo 3.12 `mjc_PlaneConvex`; 4.0 may choose other vertices for the second and further contacts.
pub(crate) fn plane_mesh<T: Scalar>(
    out: &mut Vec<Touch<T>>,
    margin: f64,
    plane: &Placed<T>,
    placed: &Placed<T>,
    mesh: &Mesh,
    rbound: f64,
) {
    let down = (placed.mat.transpose() * -plane.axis(2)).map(Scalar::re);
    let depth = |v: usize| down.dot(&Vector3::from(mesh.vert[v]));
    let world = |v: usize| placed.pos + placed.mat * lift3(&Vector3::from(mesh.vert[v]));
    let first = out.len();

    let lowest = match &mesh.hull {
        Some(hull) => furthest(hull.vert.iter().copied(), depth),
        None => furthest(0..mesh.vert.len(), depth),
    };
    let Some((number, lowest)) = lowest else { return };
    if !push(out, margin, plane, world(lowest)) {
        return;
    }
    let deepest = out[first].pos.map(Scalar::re);

    let mut consider = |v: usize| {
        if out.len() - first >= MAX_VERTICES {
            return;
        }
        let point = world(v);
        let away = (point.map(Scalar::re) - deepest).norm();
        if away >= SAME_PLACE * rbound {
            push(out, margin, plane, point);
        }
    };
    match &mesh.hull {
        Some(hull) => hull.neighbors(number).iter().for_each(|&n| consider(hull.vert[n])),
        None => (0..mesh.vert.len()).filter(|&v| v != lowest).for_each(consider),
    }
}

/// The vertex with the largest `depth`, the first among equals: its number among the candidates, and itself.
fn furthest(
    vertices: impl Iterator<Item = usize>,
    depth: impl Fn(usize) -> f64,
) -> Option<(usize, usize)> {
    let mut best: Option<(usize, usize, f64)> = None;
    for (number, v) in vertices.enumerate() {
        let depth = depth(v);
        if best.is_none_or(|(_, _, deepest)| depth > deepest) {
            best = Some((number, v, depth));
        }
    }
    best.map(|(number, v, _)| (number, v))
}

/// Contact of the plane with a point, if it is within the margin.
fn push<T: Scalar>(
    out: &mut Vec<Touch<T>>,
    margin: f64,
    plane: &Placed<T>,
    point: Vector3<T>,
) -> bool {
    let normal = plane.axis(2);
    let dist = (point - plane.pos).dot(&normal);
    let within = dist.re() <= margin;
    if within {
        out.push(Touch::new(dist, point - normal * (dist * T::lift(0.5)), normal));
    }
    within
}
