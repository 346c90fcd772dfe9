//! Signed distance of two convex solids, without margins.

use super::gjk::{Stop, gjk};
use super::solid::{Pair, Shape, Solid};
use super::{Limits, Meeting, Scratch, apart, tangent};
use crate::collision::Touch;
use crate::collision::primitive::Placed;
use crate::scalar::{Scalar, lift3};

/// Where two convex solids are nearest to each other, or deepest in each other, if that is less than `limits.margin`
/// apart.
///
/// Spheres and capsules are taken as a point and a segment as long as these are outside of the other solid.
///
/// Source: MuJoCo `mjc_ccd` with a cut-off, as `mj_geomDistance` calls it.
pub(crate) fn separation<T: Scalar>(
    limits: Limits,
    shape: [Shape; 2],
    placed: [Placed<T>; 2],
    scratch: &mut Scratch<T>,
) -> Option<Touch<T>> {
    let solid = |k: usize| {
        let (pos, mat) = (placed[k].pos.map(Scalar::re), placed[k].mat.map(Scalar::re));
        Solid::new(shape[k], pos, mat)
    };
    let mut pair = Pair { solid: [solid(0), solid(1)] };
    let stop = Stop { iterations: limits.iterations, tolerance: limits.tolerance };
    let core = shape.map(|s| s.core());
    let radius = core.map(|(_, radius)| radius);
    let reach = radius[0] + radius[1];
    for k in 0..2 {
        pair.solid[k].shape = core[k].0;
    }
    let near = gjk(&mut pair, stop, limits.margin + reach)?;
    let meeting = if near.dist > stop.tolerance {
        apart(&near, radius, limits.margin)?
    } else {
        for k in 0..2 {
            pair.solid[k].shape = shape[k];
        }
        let near = gjk(&mut pair, stop, 0.0)?;
        let face = scratch.epa.expand(&mut pair, &near, stop)?;
        let (x, normal, vertex) = (face.x, face.normal, face.vertex);
        Meeting { dist: -face.depth, x, normal, vertex, layer: 0.0 }
    };
    Some(if T::ORDER == 0 && !limits.exact {
        let pos = (meeting.x[0] + meeting.x[1]) * 0.5;
        Touch::new(T::lift(meeting.dist), lift3(&pos), lift3(&meeting.normal))
    } else {
        tangent::evaluate(&pair.solid, &placed, &meeting, radius, limits.exact)
    })
}
