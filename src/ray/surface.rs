//! Planes and quadrics: what a ray meets, evaluated on any scalar.

use nalgebra::{Matrix3, Vector3};

use crate::MINVAL;
use crate::scalar::{Scalar, lift3};

/// A ray in the frame of a shape: `origin + x dir`, x ≥ 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ray<T: Scalar> {
    pub(super) origin: Vector3<T>,
    pub(super) dir: Vector3<T>,
}

impl<T: Scalar> Ray<T> {
    /// A ray of the world in the frame at `pos` with axes `mat`.
    pub(super) fn local(
        pos: &Vector3<T>,
        mat: &Matrix3<T>,
        pnt: &Vector3<T>,
        vec: &Vector3<T>,
    ) -> Self {
        Self { origin: mat.tr_mul(&(pnt - pos)), dir: mat.tr_mul(vec) }
    }

    /// Its real part.
    pub(super) fn re(&self) -> Ray<f64> {
        Ray { origin: self.origin.map(Scalar::re), dir: self.dir.map(Scalar::re) }
    }

    /// Point at parameter `x`.
    pub(super) fn at(&self, x: T) -> Vector3<T> {
        self.origin + self.dir * x
    }
}

/// A surface in the frame of its shape, and which of its crossings with the ray counts.
#[derive(Clone, Copy, Debug)]
pub(super) enum Surface {
    /// Plane through a point with an outward normal.
    Plane { point: Vector3<f64>, normal: Vector3<f64> },
    /// Σ weight (x − centre)² = level; the second crossing if `far`.
    Quadric { centre: Vector3<f64>, weight: Vector3<f64>, level: f64, far: bool },
}

/// Where a ray first meets a shape.
#[derive(Clone, Copy, Debug)]
pub(super) struct Crossing {
    pub(super) dist: f64,
    pub(super) surface: Surface,
}

impl Surface {
    /// Distance along the ray, outward unit normal, and how that changes along the surface.
    ///
    /// Where the ray only grazes a quadric, the distance has no derivative; its tangent is then that of the middle of
    /// both crossings.
    pub(super) fn evaluate<T: Scalar>(&self, ray: &Ray<T>) -> (T, Vector3<T>, Matrix3<T>) {
        match *self {
            Self::Plane { point, normal } => {
                let n = lift3::<T>(&normal.normalize());
                let dist = (lift3::<T>(&point) - ray.origin).dot(&n) / ray.dir.dot(&n);
                (dist, n, Matrix3::zeros())
            }
            Self::Quadric { centre, weight, level, far } => {
                let (weight, centre) = (lift3::<T>(&weight), lift3::<T>(&centre));
                let (a, b, c) = coefficients(ray, &centre, &weight, T::lift(level));
                let det = b * b - a * c;
                let root = if det.re() > 0.0 { det.sqrt() } else { T::zero() };
                let dist = if far { root - b } else { -b - root } / a;
                // n = W x/|W x|, so that δn = (1 − n nᵀ) W δx/|W x|
                let slope = weight.component_mul(&(ray.at(dist) - centre));
                let n = slope.normalize();
                let across = Matrix3::identity() - n * n.transpose();
                (dist, n, across * Matrix3::from_diagonal(&(weight / slope.norm())))
            }
        }
    }
}

/// a x² + 2 b x + c = 0 at the crossings.
fn coefficients<T: Scalar>(
    ray: &Ray<T>,
    centre: &Vector3<T>,
    weight: &Vector3<T>,
    level: T,
) -> (T, T, T) {
    let offset = ray.origin - centre;
    let weighted = weight.component_mul(&ray.dir);
    (
        weighted.dot(&ray.dir),
        weighted.dot(&offset),
        weight.component_mul(&offset).dot(&offset) - level,
    )
}

/// Both crossings of a ray with a quadric, in order; none if they are not real, or infinite.
pub(super) fn quadric_crossings(
    ray: &Ray<f64>,
    centre: Vector3<f64>,
    weight: Vector3<f64>,
    level: f64,
) -> Option<[Crossing; 2]> {
    let (a, b, c) = coefficients(ray, &centre, &weight, level);
    let det = b * b - a * c;
    if det < 0.0 || a < MINVAL {
        return None;
    }
    let crossing = |far: bool| Crossing {
        dist: (if far { det.sqrt() - b } else { -b - det.sqrt() }) / a,
        surface: Surface::Quadric { centre, weight, level, far },
    };
    Some([crossing(false), crossing(true)])
}

/// Crossing with a plane, if the ray moves across it and meets it ahead.
pub(super) fn plane_crossing(
    ray: &Ray<f64>,
    point: Vector3<f64>,
    normal: Vector3<f64>,
) -> Option<Crossing> {
    let speed = ray.dir.dot(&normal);
    if speed.abs() <= MINVAL {
        return None;
    }
    let dist = (point - ray.origin).dot(&normal) / speed;
    (dist >= 0.0).then_some(Crossing { dist, surface: Surface::Plane { point, normal } })
}

/// The nearer of two.
pub(super) fn nearer(a: Option<Crossing>, b: Option<Crossing>) -> Option<Crossing> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b.dist < a.dist { b } else { a }),
        (a, b) => a.or(b),
    }
}
