//! Plane and box.

use nalgebra::Vector3;

use super::Placed;
use crate::collision::Touch;
use crate::scalar::Scalar;

/// At most four corners, of those below the centre of the box.
const MAX_CORNERS: usize = 4;

/// Corners of the lower half of the box, in the order of their signs, at most four.
///
/// Source: MuJoCo `mjc_PlaneBox`.
pub(crate) fn plane_box<T: Scalar>(
    out: &mut Vec<Touch<T>>,
    margin: f64,
    plane: &Placed<T>,
    block: &Placed<T>,
) {
    let normal = plane.axis(2);
    let height = (block.pos - plane.pos).dot(&normal);
    let mut count = 0;
    for corner in 0..8 {
        let corner = block.mat * corner_of(block.size, corner).map(T::lift);
        let rise = corner.dot(&normal);
        let dist = height + rise;
        if dist.re() > margin || rise.re() > 0.0 {
            continue;
        }
        out.push(Touch::new(dist, block.pos + corner - normal * (dist * T::lift(0.5)), normal));
        count += 1;
        if count == MAX_CORNERS {
            return;
        }
    }
}

/// Corner of a box with half sizes `size`: bit k of `corner` is the sign of coordinate k.
fn corner_of(size: &Vector3<f64>, corner: usize) -> Vector3<f64> {
    Vector3::from_fn(|k, _| if corner >> k & 1 == 1 { size[k] } else { -size[k] })
}
