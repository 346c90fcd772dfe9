//! Plane and sphere.

use nalgebra::Vector3;

use crate::collision::Touch;
use crate::scalar::Scalar;

/// Plane through `origin` with the unit `normal`, and the sphere of `radius` around `center`; at most one
/// contact, however deep the sphere is.
///
/// Source: MuJoCo `mjc_PlaneSphere`.
pub(crate) fn plane_sphere<T: Scalar>(
    out: &mut Vec<Touch<T>>,
    margin: f64,
    origin: &Vector3<T>,
    normal: &Vector3<T>,
    center: &Vector3<T>,
    radius: f64,
) {
    let height = (center - origin).dot(normal);
    if height.re() > margin + radius {
        return;
    }
    let dist = height - T::lift(radius);
    let to_middle = dist * T::lift(0.5) + T::lift(radius);
    out.push(Touch::new(dist, center - normal * to_middle, *normal));
}
