//! Sphere and cylinder.

use super::sphere_sphere::{Ball, sphere_sphere};
use super::{Placed, plane_sphere};
use crate::collision::Touch;
use crate::scalar::Scalar;

/// At most one contact: with the side, with a cap or with a rim, by where the centre of the sphere is; inside
/// the cylinder, with what is nearest.
///
/// Source: MuJoCo `mjc_SphereCylinder`.
pub(crate) fn sphere_cylinder<T: Scalar>(
    out: &mut Vec<Touch<T>>,
    margin: f64,
    sphere: &Placed<T>,
    cylinder: &Placed<T>,
) {
    let (radius, half) = (cylinder.size.x, cylinder.size.y);
    let axis = cylinder.axis(2);

    // centre of the sphere: along the axis, and away from it
    let offset = sphere.pos - cylinder.pos;
    let along = offset.dot(&axis);
    let radial = offset - axis * along;
    let square = radial.norm_squared().re();

    let mut side = along.re().abs() < half;
    let mut cap = square < radius * radius;
    if side && cap {
        side = half - along.re().abs() >= radius - square.sqrt();
        cap = !side;
    }

    let up = along.re() > 0.0;
    let outward = if up { axis } else { -axis };
    let ball = Ball::of(sphere);
    if side {
        let center = cylinder.pos + axis * along;
        sphere_sphere(out, margin, &ball, &Ball { center, radius, axis });
    } else if cap {
        let origin = cylinder.pos + outward * T::lift(half);
        let first = out.len();
        plane_sphere(out, margin, &origin, &outward, sphere.pos, sphere.size.x);
        for touch in &mut out[first..] {
            *touch = touch.flipped();
        }
    } else {
        let rim = radial * (T::lift(radius) / radial.norm());
        let center = cylinder.pos + (outward * T::lift(half) + rim);
        sphere_sphere(out, margin, &ball, &Ball { center, radius: 0.0, axis });
    }
}
