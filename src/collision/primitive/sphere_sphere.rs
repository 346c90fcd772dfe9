//! Two spheres, and what reduces to them.

use nalgebra::Vector3;

use super::{Placed, direction};
use crate::collision::Touch;
use crate::scalar::Scalar;

/// A sphere on its own or inside another shape.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ball<T: Scalar> {
    /// Centre \[m\].
    pub center: Vector3<T>,
    /// Radius \[m\].
    pub radius: f64,
    /// z axis of the shape: decides the normal between coincident centres.
    pub axis: Vector3<T>,
}

impl<T: Scalar> Ball<T> {
    /// The shape itself, if it is a sphere; otherwise the sphere of its first size around its centre.
    pub(crate) fn of(placed: &Placed<T>) -> Self {
        Self { center: *placed.pos, radius: placed.size.x, axis: placed.axis(2) }
    }
}

/// Two spheres, at most one contact. Between coincident centres the normal is orthogonal to both z axes, or
/// the world's x axis if these are parallel.
///
/// Source: MuJoCo `mjc_SphereSphere`.
pub(crate) fn sphere_sphere<T: Scalar>(
    out: &mut Vec<Touch<T>>,
    margin: f64,
    a: &Ball<T>,
    b: &Ball<T>,
) {
    let offset = b.center - a.center;
    let reach = margin + a.radius + b.radius;
    if offset.norm_squared().re() > reach * reach {
        return;
    }
    let (normal, between) = direction(&offset).unwrap_or_else(|| {
        let across = direction(&a.axis.cross(&b.axis)).map_or_else(Vector3::x, |(n, _)| n);
        // the distance has no derivative here: it grows along the normal that was chosen
        (across, offset.dot(&across))
    });
    // one after the other: whether spheres touch is decided by the last bit
    let dist = between - T::lift(a.radius) - T::lift(b.radius);
    let pos = a.center + normal * (T::lift(a.radius) + dist * T::lift(0.5));
    out.push(Touch::new(dist, pos, normal));
}
