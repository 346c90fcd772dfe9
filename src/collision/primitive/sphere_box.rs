//! Sphere and box.

use nalgebra::Vector3;

use super::sphere_sphere::Ball;
use super::{Placed, clip, direction};
use crate::collision::Touch;
use crate::scalar::Scalar;

/// At most one contact: with the nearest point of the box, or, if the centre is inside, with the nearest face.
///
/// Source: MuJoCo `mjc_SphereBox`.
pub(crate) fn sphere_box<T: Scalar>(
    out: &mut Vec<Touch<T>>,
    margin: f64,
    sphere: &Ball<T>,
    block: &Placed<T>,
) {
    let half = T::lift(0.5);
    let radius = T::lift(sphere.radius);
    let center = block.mat.tr_mul(&(sphere.center - block.pos));
    let nearest = Vector3::from_fn(|i, _| clip(center[i], -block.size[i], block.size[i]));

    let (dist, pos, normal) = if let Some((inward, between)) = direction(&(nearest - center)) {
        if between.re() - sphere.radius > margin {
            return;
        }
        let deepest = center + inward * radius;
        (between - radius, (nearest + deepest) * half, inward)
    } else {
        let (axis, up) = nearest_face(&center.map(Scalar::re), block.size);
        let sign = if up { T::one() } else { -T::one() };
        let depth = T::lift(block.size[axis]) - center[axis] * sign;
        let mut inward = Vector3::zeros();
        inward[axis] = -sign;
        (-depth - radius, center + inward * ((radius - depth) * half), inward)
    };
    out.push(Touch::new(dist, block.pos + block.mat * pos, block.mat * normal));
}

/// Face of a box that is nearest to a point inside: its axis, and whether it is the upper one; the first in
/// the order −x, +x, −y, … among equals.
fn nearest_face(point: &Vector3<f64>, size: &Vector3<f64>) -> (usize, bool) {
    let mut best = (0, false);
    let mut depth = f64::INFINITY;
    for axis in 0..3 {
        for up in [false, true] {
            let signed = if up { point[axis] } else { -point[axis] };
            if (size[axis] - signed).abs() < depth {
                depth = (size[axis] - signed).abs();
                best = (axis, up);
            }
        }
    }
    best
}
