//! Plane and the convex hull of a mesh.

use nalgebra::Vector3;

use super::Placed;
use crate::collision::Touch;
use crate::collision::convex::Polytope;
use crate::scalar::{Scalar, lift3};

/// Most contacts.
const MAX_CORNERS: usize = 4;

/// The lowest vertex and three more corners of the face around it that looks down most, chosen to span a
/// large area; of these four, those within the margin and not above the centre of the mesh.
///
/// Source: found by probing MuJoCo 4.0.1, whose `mjc_PlaneConvex` was rewritten in 3.13.
pub(crate) fn plane_mesh<T: Scalar>(
    out: &mut Vec<Touch<T>>,
    margin: f64,
    plane: &Placed<T>,
    placed: &Placed<T>,
    hull: &Polytope,
) {
    let normal = plane.axis(2);
    let down = (placed.mat.transpose() * -normal).map(Scalar::re);
    let lowest = furthest(hull, &down);
    let mut push = |v: usize| {
        let rise = placed.mat * lift3(&hull.vert[v]);
        let point = placed.pos + rise;
        let dist = (point - plane.pos).dot(&normal);
        let touches = dist.re() <= margin && (v == lowest || rise.dot(&normal).re() <= 0.0);
        if touches {
            out.push(Touch::new(dist, point - normal * (dist * T::lift(0.5)), normal));
        }
        touches
    };
    if !push(lowest) {
        return;
    }

    let mut lower: Option<(f64, usize)> = None;
    for &f in hull.faces_at(lowest) {
        let facing = down.dot(&hull.normal[f]);
        if lower.is_none_or(|(best, _)| facing > best) {
            lower = Some((facing, f));
        }
    }
    let Some((_, face)) = lower else { return };
    let others = corners(hull, hull.face(face), lowest);
    for v in others.into_iter().skip(1).flatten() {
        push(v);
    }
}

/// The vertex that is furthest in a direction, the first among equals. All are looked at: on a face that lies
/// flat a climb would end at any corner.
fn furthest(hull: &Polytope, direction: &Vector3<f64>) -> usize {
    let mut best = (f64::NEG_INFINITY, 0);
    for (v, vert) in hull.vert.iter().enumerate() {
        let along = vert.dot(direction);
        if along > best.0 {
            best = (along, v);
        }
    }
    best.1
}

/// Four corners of a face that span a large area, in their order, of which the first is given; all, if there
/// are less.
///
/// Source: Dobkin, Snyder, *On a general method for maximizing and minimizing among certain geometric
/// problems*, FOCS 1979, with the first corner fixed.
fn corners(hull: &Polytope, face: &[usize], first: usize) -> [Option<usize>; MAX_CORNERS] {
    let start = face.iter().position(|&v| v == first).unwrap_or(0);
    let vertex = |i: usize| face[(start + i) % face.len()];
    if face.len() <= MAX_CORNERS {
        return std::array::from_fn(|i| (i < face.len()).then(|| vertex(i)));
    }
    // twice the area: the cross product of the diagonals
    let area = |corner: [usize; MAX_CORNERS]| {
        let [a, b, c, d]: [Vector3<f64>; MAX_CORNERS] = corner.map(|i| hull.vert[vertex(i)]);
        (c - a).cross(&(d - b)).norm()
    };
    let mut corner = [0, 1, 2, 3];
    let mut largest = area(corner);
    // advances one corner, if the area grows
    let mut grow = |k: usize| {
        let mut advanced = corner;
        advanced[k] += 1;
        let size = area(advanced);
        let grows = size > largest;
        if grows {
            (corner, largest) = (advanced, size);
        }
        grows
    };
    while grow(3) {
        while grow(2) {}
        while grow(1) {}
    }
    corner.map(|i| Some(vertex(i)))
}
