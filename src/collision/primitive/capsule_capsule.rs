//! Two capsules.

use nalgebra::Vector3;

use super::sphere_sphere::{Ball, sphere_sphere};
use super::{Placed, clip};
use crate::collision::Touch;
use crate::scalar::Scalar;

/// sin² of the angle below which the axes are parallel (found by probing MuJoCo 4.0.1).
const PARALLEL: f64 = 1e-8;

/// Unit axes and half lengths of both segments, and what their nearest points are computed from.
struct Segments<T: Scalar> {
    axis: [Vector3<T>; 2],
    half: [f64; 2],
    /// From the first centre to the second.
    offset: Vector3<T>,
    cosine: T,
}

impl<T: Scalar> Segments<T> {
    fn new(first: &Placed<T>, second: &Placed<T>) -> Self {
        let axis = [first.axis(2), second.axis(2)];
        Self {
            axis,
            half: [first.size.y, second.size.y],
            offset: second.pos - first.pos,
            cosine: axis[0].dot(&axis[1]),
        }
    }

    /// Place on the line of the first segment nearest to place `x2` of the second.
    fn first_at(&self, x2: T) -> T {
        self.axis[0].dot(&self.offset) + self.cosine * x2
    }

    /// Place on the line of the second segment nearest to place `x1` of the first.
    fn second_at(&self, x1: T) -> T {
        self.cosine * x1 - self.axis[1].dot(&self.offset)
    }

    /// Nearest points of segments that are not parallel. With n = a × b the nearest points of the lines are at
    /// (w × b)·n / n² and (w × a)·n / n²: no cancellation at small angles.
    fn nearest(&self, normal: &Vector3<T>, square: T) -> (T, T) {
        let [a, b] = &self.axis;
        let [h1, h2] = self.half;
        let mut x1 = self.offset.cross(b).dot(normal) / square;
        let mut x2 = self.offset.cross(a).dot(normal) / square;
        if x1.re().abs() > h1 {
            x1 = clip(x1, -h1, h1);
            x2 = self.second_at(x1);
        }
        if x2.re().abs() > h2 {
            x2 = clip(x2, -h2, h2);
            x1 = clip(self.first_at(x2), -h1, h1);
        }
        (x1, x2)
    }

    /// The lower and the upper end of the part of the first segment that faces the second, with what faces
    /// it. Each is an end of one of the segments.
    fn facing(&self) -> [(T, T); 2] {
        let [h1, h2] = self.half;
        let along = if self.cosine.re() < 0.0 { -1.0 } else { 1.0 };
        [-1.0, 1.0].map(|side| {
            let end = T::lift(side * along * h2);
            let shadow = self.first_at(end);
            if shadow.re() * side < h1 {
                (clip(shadow, -h1, h1), end)
            } else {
                let x1 = T::lift(side * h1);
                (x1, clip(self.second_at(x1), -h2, h2))
            }
        })
    }
}

/// The spheres around the nearest points, one contact; if the axes are parallel, the spheres around the ends
/// of the part where the segments face each other, at most two.
///
/// Source: MuJoCo `mjc_CapsuleCapsule`; Ericson, *Real-Time Collision Detection* (2005), 5.1.9.
pub(crate) fn capsule_capsule<T: Scalar>(
    out: &mut Vec<Touch<T>>,
    margin: f64,
    first: &Placed<T>,
    second: &Placed<T>,
) {
    let segments = Segments::new(first, second);
    let ball = |capsule: &Placed<T>, x: T| Ball {
        center: capsule.pos + capsule.axis(2) * x,
        radius: capsule.size.x,
        axis: capsule.axis(2),
    };
    let spheres = |out: &mut Vec<Touch<T>>, (x1, x2): (T, T)| {
        sphere_sphere(out, margin, &ball(first, x1), &ball(second, x2));
    };

    let normal = segments.axis[0].cross(&segments.axis[1]);
    let square = normal.norm_squared();
    if square.re() >= PARALLEL {
        spheres(out, segments.nearest(&normal, square));
    } else {
        segments.facing().into_iter().for_each(|places| spheres(out, places));
    }
}
