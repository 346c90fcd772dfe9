//! Sphere and capsule.

use super::sphere_sphere::{Ball, sphere_sphere};
use super::{Placed, clip};
use crate::collision::Touch;
use crate::scalar::Scalar;

/// The sphere against the sphere around the nearest point of the capsule's segment, at most one contact.
///
/// Source: MuJoCo `mjc_SphereCapsule`.
pub(crate) fn sphere_capsule<T: Scalar>(
    out: &mut Vec<Touch<T>>,
    margin: f64,
    sphere: &Placed<T>,
    capsule: &Placed<T>,
) {
    let axis = capsule.axis(2);
    let half = capsule.size.y;
    let along = clip(axis.dot(&(sphere.pos - capsule.pos)), -half, half);
    let nearest = Ball { center: capsule.pos + axis * along, radius: capsule.size.x, axis };
    sphere_sphere(out, margin, &Ball::of(sphere), &nearest);
}
