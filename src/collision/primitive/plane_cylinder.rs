//! Plane and cylinder.

use super::Placed;
use crate::MINVAL;
use crate::collision::Touch;
use crate::scalar::Scalar;

/// At most four contacts: the lowest point of the disk that is nearer to the plane, the lowest point of the
/// other, and two points on the rim of the near disk, so that the three make an equilateral triangle.
///
/// Source: MuJoCo `mjc_PlaneCylinder`.
pub(crate) fn plane_cylinder<T: Scalar>(
    out: &mut Vec<Touch<T>>,
    margin: f64,
    plane: &Placed<T>,
    cylinder: &Placed<T>,
) {
    let (radius, half) = (T::lift(cylinder.size.x), T::lift(cylinder.size.y));
    let normal = plane.axis(2);
    let height = (cylinder.pos - plane.pos).dot(&normal);

    // axis towards the plane
    let mut axis = cylinder.axis(2);
    if axis.dot(&normal).re() > 0.0 {
        axis = -axis;
    }
    let slope = axis.dot(&normal);

    // steepest descent in the disk; any radius if the disk is parallel to the plane
    let descent = axis * slope - normal;
    let square = descent.norm_squared();
    let radial = if square.re() >= MINVAL * MINVAL {
        descent * (radius / square.sqrt())
    } else {
        cylinder.axis(0) * radius
    };
    let axial = axis * half;
    let (fall_axial, fall_radial) = (slope * half, radial.dot(&normal));

    let mut push = |dist: T, point: nalgebra::Vector3<T>| {
        if dist.re() > margin {
            return false;
        }
        let pos = cylinder.pos + point - normal * (dist * T::lift(0.5));
        out.push(Touch::new(dist, pos, normal));
        true
    };
    if !push(height + fall_axial + fall_radial, radial + axial) {
        return;
    }
    push(height - fall_axial + fall_radial, radial - axial);

    // two more on the near rim, 120° from the lowest; both have the same height
    let minus_half = T::lift(-0.5);
    let dist = height + fall_axial + fall_radial * minus_half;
    let side = radial.cross(&axial).normalize() * (radius * T::lift(3f64.sqrt() * 0.5));
    let back = axial + radial * minus_half;
    push(dist, back + side);
    push(dist, back - side);
}
