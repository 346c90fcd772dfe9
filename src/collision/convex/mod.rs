//! Convex solids of any kind among each other.
//!
//! GJK tells whether they are near, EPA how deep they are in each other, and the features that both end with
//! how many contacts there are.

mod epa;
mod gjk;
mod manifold;
mod polytope;
mod separation;
mod simplex;
mod solid;
mod tangent;

use nalgebra::{Matrix3, Vector3};

use self::epa::Epa;
use self::gjk::{Near, Stop, gjk};
use self::manifold::Feature;
pub(crate) use self::polytope::Polytope;
pub(super) use self::separation::separation;
use self::solid::{Pair, Vertex};
pub(crate) use self::solid::{Shape, Solid};
use super::contact::Touch;
use super::primitive::{Placed, direction};
use crate::scalar::{Scalar, lift3};

/// Memory for one pair at a time.
#[derive(Clone, Debug)]
pub(crate) struct Scratch<T: Scalar> {
    epa: Epa,
    clip: manifold::Clip<T>,
}

impl<T: Scalar> Scratch<T> {
    /// For searches of a number of iterations.
    pub(crate) fn new(iterations: usize) -> Self {
        Self { epa: Epa::new(iterations), clip: manifold::Clip::default() }
    }
}

/// What limits the search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Largest distance of a contact \[m\].
    pub(crate) margin: f64,
    /// Most iterations of GJK and of EPA.
    pub(crate) iterations: usize,
    /// Accuracy of distances between smooth shapes \[m\].
    pub(crate) tolerance: f64,
    /// Whether more than one contact is wanted.
    pub(crate) many: bool,
    /// Whether nearest points are the exact ones where the search has only come near, on curved shapes.
    pub(crate) exact: bool,
}

/// Where two solids are nearest to each other, or deepest in each other.
#[derive(Clone, Copy, Debug)]
struct Meeting {
    /// Signed distance \[m\].
    dist: f64,
    /// The points of A and B \[m\].
    x: [Vector3<f64>; 2],
    /// From A to B, unit.
    normal: Vector3<f64>,
    /// The vertices of A − B around them.
    vertex: [Vertex; 3],
    /// Thickness of a layer that both points are on the outside of \[m\].
    layer: f64,
}

/// Two convex solids; polytopes have at most four contacts, others one.
///
/// Source: MuJoCo `mjc_Convex`, nativeccd.
pub(crate) fn convex_convex<T: Scalar>(
    out: &mut Vec<Touch<T>>,
    limits: Limits,
    shape: [Shape; 2],
    placed: [Placed<T>; 2],
    scratch: &mut Scratch<T>,
) {
    let solid = |k: usize| {
        let (pos, mat) = (placed[k].pos.map(Scalar::re), placed[k].mat.map(Scalar::re));
        Solid::new(shape[k], pos, mat)
    };
    let mut pair = Pair { solid: [solid(0), solid(1)] };
    let Some(meeting) = meet(&mut pair, limits, &mut scratch.epa) else { return };
    let single = if T::ORDER == 0 && !limits.exact {
        let pos = (meeting.x[0] + meeting.x[1]) * 0.5;
        Touch::new(T::lift(meeting.dist), lift3(&pos), lift3(&meeting.normal))
    } else {
        let offset = shape.map(|s| s.core().1 + meeting.layer);
        tangent::evaluate(&pair.solid, &placed, &meeting, offset, limits.exact)
    };
    if limits.many
        && let [Some(first), Some(second)] = shape.map(|s| s.faces())
    {
        let ids = [0, 1].map(|k| meeting.vertex.map(|v| v.id[k].unwrap_or(0)));
        let feature =
            |k: usize, (shape, round)| Feature { shape, placed: placed[k], vertex: &ids[k], round };
        let (a, b) = (feature(0, first), feature(1, second));
        if manifold::many(out, limits.margin, [&a, &b], &single.normal, &mut scratch.clip) {
            return;
        }
    }
    out.push(single);
}

/// A prism of a height field and a convex solid, at most one contact, all in the frame of the prism: `placed` is
/// the solid relative to it, and so are the contact's position and its normal, from the prism to the solid.
///
/// The prism is given by three lower vertices and above each of them an upper one.
///
/// Source: MuJoCo `mjc_ConvexHField`.
pub(crate) fn prism_convex<T: Scalar>(
    out: &mut Vec<Touch<T>>,
    limits: Limits,
    prism: &[Vector3<f64>; 6],
    shape: Shape,
    placed: Placed<T>,
    scratch: &mut Scratch<T>,
) {
    let (pos, mat) = (Vector3::zeros(), Matrix3::identity());
    let here = Placed { pos: &pos, mat: &mat, size: placed.size };
    let limits = Limits { many: false, ..limits };
    convex_convex(out, limits, [Shape::Prism(prism), shape], [here, placed], scratch);
}

/// Nearest or deepest points of two solids at most `margin` apart.
///
/// A sphere is a point and a capsule a segment, thickened by a radius, and a margin is a layer of half its
/// thickness around both solids. As long as what is inside of radii and layers is apart, the contact is exact.
///
/// Source: MuJoCo `mjc_ccd`.
fn meet(pair: &mut Pair, limits: Limits, epa: &mut Epa) -> Option<Meeting> {
    let Limits { margin, iterations, tolerance, .. } = limits;
    let stop = Stop { iterations, tolerance };
    let full = [0, 1].map(|k| pair.solid[k].shape);
    let core = full.map(|shape| shape.core());
    let radius = core.map(|(_, radius)| radius);
    let reach = radius[0] + radius[1] + margin;
    if reach > 0.0 {
        for k in 0..2 {
            pair.solid[k].shape = core[k].0;
        }
        let near = gjk(pair, stop, reach)?;
        if near.dist > tolerance {
            return apart(&near, radius, margin);
        }
        for k in 0..2 {
            pair.solid[k].shape = full[k];
            pair.solid[k].layer = 0.5 * margin;
        }
    }
    let near = gjk(pair, stop, 0.0)?;
    if near.dist > tolerance || near.separated {
        return None;
    }
    let face = epa.expand(pair, &near, stop)?;
    let dist = margin - face.depth;
    Some(Meeting { dist, x: face.x, normal: face.normal, vertex: face.vertex, layer: 0.5 * margin })
}

/// Where solids are nearest that are apart, thickened by given radii; none if they are not within the margin.
fn apart(near: &Near, radius: [f64; 2], margin: f64) -> Option<Meeting> {
    let dist = near.dist - radius[0] - radius[1];
    let v = near.simplex.vertices();
    if v.is_empty() || dist >= margin {
        return None;
    }
    let (normal, _) = direction(&(near.x[1] - near.x[0]))?;
    let x = [near.x[0] + normal * radius[0], near.x[1] - normal * radius[1]];
    let vertex = [v[0], v[1 % v.len()], v[2 % v.len()]];
    Some(Meeting { dist, x, normal, vertex, layer: 0.0 })
}
