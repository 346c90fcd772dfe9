//! Plane and capsule.

use super::{Placed, plane_sphere};
use crate::collision::Touch;
use crate::scalar::Scalar;

/// The spheres at both ends against the plane, at most two contacts. The first tangent follows the axis.
///
/// Source: MuJoCo `mjc_PlaneCapsule`.
pub(crate) fn plane_capsule<T: Scalar>(
    out: &mut Vec<Touch<T>>,
    margin: f64,
    plane: &Placed<T>,
    capsule: &Placed<T>,
) {
    let (normal, axis) = (plane.axis(2), capsule.axis(2));
    let half = axis * T::lift(capsule.size.y);
    let first = out.len();
    for end in [capsule.pos + half, capsule.pos - half] {
        plane_sphere(out, margin, plane.pos, &normal, &end, capsule.size.x);
    }
    for touch in &mut out[first..] {
        touch.tangent = axis;
    }
}
