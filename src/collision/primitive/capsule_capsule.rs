//! Two capsules.

use nalgebra::Vector3;

use super::sphere_sphere::{Ball, sphere_sphere};
use super::{Placed, clip};
use crate::MINVAL;
use crate::collision::Touch;
use crate::scalar::Scalar;

/// The half segments of both capsules and the normal equations of their nearest points p₁ + x₁ s₁ and
/// p₂ + x₂ s₂:
///
/// ```text
/// [ a  b ] [x₁]   [u]      a = s₁·s₁   b = −s₁·s₂   u = −s₁·(p₁ − p₂)
/// [ b  c ] [x₂] = [v]      c = s₂·s₂                v =  s₂·(p₁ − p₂)
/// ```
struct Segments<T: Scalar> {
    half: [Vector3<T>; 2],
    a: T,
    b: T,
    c: T,
    u: T,
    v: T,
}

impl<T: Scalar> Segments<T> {
    fn new(first: &Placed<T>, second: &Placed<T>) -> Self {
        let s1 = first.axis(2) * T::lift(first.size.y);
        let s2 = second.axis(2) * T::lift(second.size.y);
        let offset = first.pos - second.pos;
        Self {
            half: [s1, s2],
            a: s1.norm_squared(),
            b: -s1.dot(&s2),
            c: s2.norm_squared(),
            u: -s1.dot(&offset),
            v: s2.dot(&offset),
        }
    }

    /// x₁ nearest to x₂, unclipped.
    fn first_at(&self, x2: T) -> T {
        (self.u - self.b * x2) / self.a
    }

    /// x₂ nearest to x₁, unclipped.
    fn second_at(&self, x1: T) -> T {
        (self.v - self.b * x1) / self.c
    }

    /// Nearest points of segments that are not parallel; `det` is the determinant of the equations.
    fn nearest(&self, det: T) -> (T, T) {
        let mut x1 = (self.c * self.u - self.b * self.v) / det;
        let mut x2 = (self.a * self.v - self.b * self.u) / det;
        if x1.re().abs() > 1.0 {
            x1 = clip(x1, -1.0, 1.0);
            x2 = self.second_at(x1);
        }
        if x2.re().abs() > 1.0 {
            x2 = clip(x2, -1.0, 1.0);
            x1 = clip(self.first_at(x2), -1.0, 1.0);
        }
        (x1, x2)
    }
}

/// The spheres around the nearest points, one contact; if the axes are parallel, the spheres around the ends
/// of the shadow that one throws on the other, at most two.
///
/// Source: MuJoCo `mjc_CapsuleCapsule`; Ericson, *Real-Time Collision Detection* (2005), 5.1.9.
pub(crate) fn capsule_capsule<T: Scalar>(
    out: &mut Vec<Touch<T>>,
    margin: f64,
    first: &Placed<T>,
    second: &Placed<T>,
) {
    let segments = Segments::new(first, second);
    let ball = |capsule: &Placed<T>, half: &Vector3<T>, x: T| Ball {
        center: capsule.pos + half * x,
        radius: capsule.size.x,
        axis: capsule.axis(2),
    };
    let [s1, s2] = segments.half;
    let spheres = |out: &mut Vec<Touch<T>>, x1: T, x2: T| {
        sphere_sphere(out, margin, &ball(first, &s1, x1), &ball(second, &s2, x2));
    };

    let det = segments.a * segments.c - segments.b * segments.b;
    if det.re().abs() >= MINVAL {
        let (x1, x2) = segments.nearest(det);
        spheres(out, x1, x2);
        return;
    }

    let start = out.len();
    for end in [1.0, -1.0] {
        let x1 = T::lift(end);
        spheres(out, x1, clip(segments.second_at(x1), -1.0, 1.0));
    }
    for end in [1.0, -1.0] {
        if out.len() - start >= 2 {
            return;
        }
        let x2 = T::lift(end);
        spheres(out, clip(segments.first_at(x2), -1.0, 1.0), x2);
    }
}
