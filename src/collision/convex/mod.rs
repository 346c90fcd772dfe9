//! Boxes and meshes among each other: convex polytopes of any shape.
//!
//! GJK tells whether they are near, EPA how deep they are in each other, and the features that both end with
//! how many contacts there are.

mod epa;
mod gjk;
mod manifold;
mod polytope;

use nalgebra::Vector3;

use self::epa::Epa;
use self::gjk::{Gjk, Pair, Vertex};
use self::manifold::{Clip, Feature};
pub(crate) use self::polytope::Polytope;
use super::contact::Touch;
use super::primitive::{Placed, direction};
use crate::scalar::Scalar;

/// Memory for one pair at a time.
#[derive(Clone, Debug)]
pub(super) struct Scratch<T: Scalar> {
    epa: Epa,
    clip: Clip<T>,
}

impl<T: Scalar> Default for Scratch<T> {
    fn default() -> Self {
        Self { epa: Epa::default(), clip: Clip::default() }
    }
}

/// What limits the search.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Largest distance of a contact \[m\].
    pub(super) margin: f64,
    /// Iterations of GJK and of EPA.
    pub(super) iterations: usize,
    /// Whether more than one contact is wanted.
    pub(super) many: bool,
}

/// Two polytopes, at most four contacts (one without `many`).
///
/// Source: MuJoCo `mjc_Convex`, nativeccd.
pub(super) fn convex_convex<T: Scalar>(
    out: &mut Vec<Touch<T>>,
    limits: Limits,
    shape: [&Polytope; 2],
    placed: [Placed<T>; 2],
    scratch: &mut Scratch<T>,
) {
    let pair = Pair {
        shape,
        pos: placed.map(|p| p.pos.map(Scalar::re)),
        mat: placed.map(|p| p.mat.map(Scalar::re)),
    };
    let (nearest, normal);
    match gjk::gjk(&pair, limits.margin, limits.iterations) {
        Gjk::Apart => return,
        Gjk::Near(simplex) => {
            let v = simplex.vertices();
            nearest = [v[0], v[1 % v.len()], v[2 % v.len()]];
            normal = None;
        }
        Gjk::Overlap(simplex) => {
            let found = scratch.epa.expand(&pair, &simplex, limits.iterations);
            let Some(face) = found else { return };
            nearest = face.vertex;
            normal = Some(face.normal);
        }
    }

    let ids = [0, 1].map(|k| nearest.map(|v| v.id[k]));
    let feature = |k: usize| Feature { shape: shape[k], placed: placed[k], vertex: &ids[k] };
    let (a, b) = (feature(0), feature(1));
    let Some(single) = single(&a, &b, &nearest, normal.as_ref()) else { return };
    if single.dist.re() > limits.margin {
        return;
    }
    let along = single.normal.map(Scalar::re);
    let clip = &mut scratch.clip;
    if !limits.many || !manifold::many(out, limits.margin, [&a, &b], &along, clip) {
        out.push(single);
    }
}

/// The contact at the nearest points: of the plane through three vertices of A − B if there is an outward
/// normal, otherwise of the simplex they are, outside of which the origin is.
fn single<T: Scalar>(
    a: &Feature<T>,
    b: &Feature<T>,
    nearest: &[Vertex; 3],
    outward: Option<&Vector3<f64>>,
) -> Option<Touch<T>> {
    let pa = nearest.map(|v| a.point(v.id[0]));
    let pb = nearest.map(|v| b.point(v.id[1]));
    let w = [0, 1, 2].map(|i| pa[i] - pb[i]);
    let (x, weight) = nearest_to_origin(&w);
    let points = |p: &[Vector3<T>; 3]| p[0] * weight[0] + p[1] * weight[1] + p[2] * weight[2];
    let pos = (points(&pa) + points(&pb)) * T::lift(0.5);

    let Some(outward) = outward else {
        let (normal, dist) = direction(&-x)?;
        return Some(Touch::new(dist, pos, normal));
    };
    let (mut normal, _) = direction(&(w[1] - w[0]).cross(&(w[2] - w[0])))?;
    if normal.map(Scalar::re).dot(outward) < 0.0 {
        normal = -normal;
    }
    Some(Touch::new(-w[0].dot(&normal), pos, normal))
}

/// The point nearest to the origin of the plane, line or point through three points, and its weights. Points
/// that repeat, as GJK's smaller simplices do, do not count.
fn nearest_to_origin<T: Scalar>(w: &[Vector3<T>; 3]) -> (Vector3<T>, [T; 3]) {
    let (zero, one) = (T::zero(), T::one());
    let (u, v) = (w[1] - w[0], w[2] - w[0]);
    let normal = u.cross(&v);
    let square = normal.norm_squared();
    if square.re() > 0.0 {
        let x = normal * (w[0].dot(&normal) / square);
        let offset = x - w[0];
        let second = offset.cross(&v).dot(&normal) / square;
        let third = u.cross(&offset).dot(&normal) / square;
        return (x, [one - second - third, second, third]);
    }
    let square = u.norm_squared();
    if square.re() > 0.0 {
        let second = -w[0].dot(&u) / square;
        return (w[0] + u * second, [one - second, second, zero]);
    }
    (w[0], [one, zero, zero])
}
