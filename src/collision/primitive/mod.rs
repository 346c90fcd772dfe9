//! Pairs of shapes with a solution in closed form, one pair a file.
//!
//! Each collider appends what it finds to a list: normals point from the first shape to the second,
//! positions are midway between the surfaces, and nothing farther apart than `margin` is reported.

mod box_box;
mod capsule_box;
mod capsule_capsule;
mod plane_box;
mod plane_capsule;
mod plane_cylinder;
mod plane_ellipsoid;
mod plane_mesh;
mod plane_sphere;
mod sphere_box;
mod sphere_capsule;
mod sphere_cylinder;
pub(crate) mod sphere_sphere;

use nalgebra::{Matrix3, Vector3};

pub(crate) use box_box::box_box;
pub(crate) use capsule_box::capsule_box;
pub(crate) use capsule_capsule::capsule_capsule;
pub(crate) use plane_box::plane_box;
pub(crate) use plane_capsule::plane_capsule;
pub(crate) use plane_cylinder::plane_cylinder;
pub(crate) use plane_ellipsoid::plane_ellipsoid;
pub(crate) use plane_mesh::plane_mesh;
pub(crate) use plane_sphere::plane_sphere;
pub(crate) use sphere_box::sphere_box;
pub(crate) use sphere_capsule::sphere_capsule;
pub(crate) use sphere_cylinder::sphere_cylinder;
pub(crate) use sphere_sphere::sphere_sphere;

use crate::MINVAL;
use crate::scalar::Scalar;

/// A shape in the world.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed<'a, T: Scalar> {
    /// Position of its frame \[m\].
    pub pos: &'a Vector3<T>,
    /// Orientation of its frame.
    pub mat: &'a Matrix3<T>,
    /// Size, with the meaning it has for the type \[m\].
    pub size: &'a Vector3<f64>,
}

impl<T: Scalar> Placed<'_, T> {
    /// Axis `i` of its frame.
    #[inline]
    pub(crate) fn axis(&self, i: usize) -> Vector3<T> {
        self.mat.column(i).into_owned()
    }
}

/// The unit vector along `v` and its length; none if the length is not above zero.
#[inline]
pub(crate) fn direction<T: Scalar>(v: &Vector3<T>) -> Option<(Vector3<T>, T)> {
    let square = v.norm_squared();
    (square.re() >= MINVAL * MINVAL).then(|| {
        let length = square.sqrt();
        (v * (T::one() / length), length)
    })
}

/// `x` where it is between the bounds, otherwise the bound, without tangent.
#[inline]
pub(crate) fn clip<T: Scalar>(x: T, lower: f64, upper: f64) -> T {
    if x.re() < lower {
        T::lift(lower)
    } else if x.re() > upper {
        T::lift(upper)
    } else {
        x
    }
}
