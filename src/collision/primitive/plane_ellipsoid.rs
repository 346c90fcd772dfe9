//! Plane and ellipsoid.

use super::Placed;
use crate::collision::Touch;
use crate::scalar::{Scalar, lift3};

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
    let inverse = T::one() / scaled.norm();
    let support = scaled.zip_map(ellipsoid.size, |x, size| x * (inverse * T::lift(size)));
    let point = ellipsoid.pos + ellipsoid.mat * support;
    let dist = (point - plane.pos).dot(&normal);
    if dist.re() <= margin {
        out.push(Touch::new(dist, point - normal * (dist * T::lift(0.5)), normal));
    }
}
