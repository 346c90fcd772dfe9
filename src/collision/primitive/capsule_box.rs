//! Capsule and box.
//!
//! The point of the capsule's segment that is nearest to the box makes the first contact, as a sphere. Where
//! the segment runs along the box, a second sphere follows: as far along the segment as it stays over the
//! box. Numbers along the segment are in half lengths: −1 and 1 are its ends.
//!
//! Source: MuJoCo `mjc_CapsuleBox`.

use nalgebra::Vector3;

use super::sphere_sphere::Ball;
use super::{Placed, clip, sphere_box};
use crate::MINVAL;
use crate::collision::Touch;
use crate::scalar::Scalar;

/// Square of the cosine to an edge above which the second point is looked for along the edge.
const ALONG_EDGE: f64 = 0.5;

/// The segment in the frame of the box.
struct Segment<T: Scalar> {
    /// Middle.
    pos: Vector3<T>,
    /// Unit axis.
    axis: Vector3<T>,
    /// Half of it.
    half: Vector3<T>,
    /// Half length.
    length: f64,
    /// Half sizes of the box.
    size: Vector3<f64>,
    /// Bit k: `half` goes up along axis k.
    upward: usize,
}

/// What of the box is nearest to the segment.
#[derive(Clone, Copy)]
enum Feature<T: Scalar> {
    /// A face, by its axis; none: the end of the segment is inside.
    Face(Option<usize>),
    /// A corner; bit k: the upper one along axis k.
    Corner(usize),
    /// The inside of an edge: its axis, lower corner, and the place along it from −1 to 1.
    Edge(usize, usize, T),
}

/// At most two contacts.
pub(crate) fn capsule_box<T: Scalar>(
    out: &mut Vec<Touch<T>>,
    margin: f64,
    capsule: &Placed<T>,
    block: &Placed<T>,
) {
    let length = capsule.size.y;
    let axis = block.mat.tr_mul(&capsule.axis(2));
    let half = axis * T::lift(length);
    let upward = (0..3).filter(|&k| half[k].re() > 0.0).map(|k| 1 << k).sum();
    let pos = block.mat.tr_mul(&(capsule.pos - block.pos));
    let segment = Segment { pos, axis, half, length, size: *block.size, upward };

    let (place, feature) = segment.nearest();
    let mut sphere = |place: T| {
        let center = block.pos + block.mat * (segment.pos + segment.half * place);
        let ball = Ball { center, radius: capsule.size.x, axis: capsule.axis(2) };
        sphere_box(out, margin, &ball, block);
    };
    sphere(place);
    if let Some(offset) = segment.second(place, feature) {
        sphere(place + offset);
    }
}

impl<T: Scalar> Segment<T> {
    /// Place on the segment nearest to the box, and what it is nearest to: an end over a face or inside, or
    /// any point near an edge.
    fn nearest(&self) -> (T, Feature<T>) {
        let mut least = f64::INFINITY;
        let mut found = (T::zero(), Feature::Face(None));
        for end in [-1.0, 1.0] {
            let point = (self.pos + self.half * T::lift(end)).map(Scalar::re);
            let mut beyond = (0..3).filter(|&k| point[k].abs() > self.size[k]);
            let (face, corner) = (beyond.next(), beyond.next().is_some());
            let square = face.map_or(0.0, |k| (point[k].abs() - self.size[k]).powi(2));
            if !corner && square < least {
                least = square;
                found = (T::lift(end), Feature::Face(face));
            }
        }
        for axis in 0..3 {
            for corner in (0..8).filter(|corner| corner >> axis & 1 == 0) {
                let Some((square, place, feature)) = self.nearest_to_edge(axis, corner) else {
                    continue;
                };
                if square < least - MINVAL {
                    least = square;
                    found = (place, feature);
                }
            }
        }
        found
    }

    /// Nearest points of the segment and an edge of the box: the square of their distance, the place on the
    /// segment, and what it is nearest to; none if they are parallel.
    ///
    /// As in MuJoCo, an edge whose line is nearest beyond one of its ends counts as that corner, also where the
    /// end of the segment then leads back to the inside of the edge.
    fn nearest_to_edge(&self, axis: usize, corner: usize) -> Option<(f64, T, Feature<T>)> {
        let size = T::lift(self.size[axis]);
        let middle = Vector3::from_fn(|k, _| match (k == axis, corner >> k & 1 == 1) {
            (true, _) => T::zero(),
            (_, true) => T::lift(self.size[k]),
            (_, false) => T::lift(-self.size[k]),
        });
        let offset = middle - self.pos;

        // [a b; b c] [along; place] = [u; v]
        let (a, c) = (size * size, T::lift(self.length * self.length));
        let b = -size * self.half[axis];
        let (u, v) = (-size * offset[axis], self.half.dot(&offset));
        let det = a * c - b * b;
        if det.re().abs() < MINVAL {
            return None;
        }
        let inverse = T::one() / det;
        let mut along = (c * u - b * v) * inverse;
        let mut place = (a * v - b * u) * inverse;
        let mut end = along.re();
        if along.re().abs() > 1.0 {
            along = clip(along, -1.0, 1.0);
            place = (v - b * along) * (T::one() / c);
        }
        if place.re().abs() > 1.0 {
            place = clip(place, -1.0, 1.0);
            along = (u - b * place) * (T::one() / a);
            if along.re().abs() > 1.0 {
                end = along.re();
                along = clip(along, -1.0, 1.0);
            }
        }

        let mut apart = offset - self.half * place;
        apart[axis] += size * along;
        let feature = if end > 1.0 {
            Feature::Corner(corner | 1 << axis)
        } else if end < -1.0 {
            Feature::Corner(corner)
        } else {
            Feature::Edge(axis, corner, along)
        };
        Some((apart.norm_squared().re(), place, feature))
    }

    /// Length along the segment in which it crosses the whole box along `axis`.
    fn crossing(&self, axis: usize) -> T {
        T::lift(2.0 * self.size[axis]) / self.half[axis].abs()
    }

    /// Where the second sphere is, seen from the first; none if there is none.
    fn second(&self, place: T, feature: Feature<T>) -> Option<T> {
        match feature {
            Feature::Face(None) => None,
            Feature::Face(Some(face)) => Some(self.second_over_face(place, face)),
            Feature::Corner(corner) => self.second_at_corner(place, corner),
            Feature::Edge(axis, corner, along) => self.second_at_edge(place, axis, corner, along),
        }
    }

    /// From an end over a face: along the segment, until it leaves the space over the face.
    fn second_over_face(&self, place: T, face: usize) -> T {
        let forward = -place; // from this end to the other
        let end = self.pos + self.half * place;
        let mut length = T::lift(2.0);
        for axis in (0..3).filter(|&axis| axis != face) {
            for side in [self.size[axis], -self.size[axis]] {
                let exit = (T::lift(side) - end[axis]) / self.half[axis] * forward;
                if exit.re() > 0.0 {
                    length = least(length, exit);
                }
            }
        }
        length * forward
    }

    /// From a corner: along the edge or across the face that the segment follows; none if it points at the
    /// corner.
    fn second_at_corner(&self, place: T, corner: usize) -> Option<T> {
        // bit k: the segment goes away from the corner along axis k, in one of its directions
        let mut away = self.upward ^ corner;
        let forward = match away.count_ones() {
            1 => T::one(),
            2 => {
                away = 7 - away;
                -T::one()
            }
            _ => return None,
        };
        let axis = away.trailing_zeros() as usize;
        if (self.axis[axis] * self.axis[axis]).re() > ALONG_EDGE {
            let to_end = T::one() - place * forward;
            return Some(least(to_end, self.crossing(axis)) * forward);
        }
        let to_start = T::one() + place * forward;
        let across = least(to_start, self.crossing((axis + 1) % 3));
        Some(-least(across, self.crossing((axis + 2) % 3)) * forward)
    }

    /// From the inside of an edge: across the face to which the segment has the smaller angle; none if it
    /// rises over both faces.
    fn second_at_edge(&self, place: T, axis: usize, corner: usize, along: T) -> Option<T> {
        let away = (self.upward ^ corner) & !(1 << axis);
        if away.count_ones() != 1 {
            return None;
        }
        let (k1, k2) = ((axis + 1) % 3, (axis + 2) % 3);
        let steep = |k: usize| self.axis[k].re().abs();
        let across = if steep(k1) > steep(k2) { k1 } else { k2 };

        let is_away = away >> across & 1 == 1;
        let forward = if is_away { T::one() } else { -T::one() };
        let length = least(T::one() - place * forward, self.crossing(across));
        let upward = self.upward >> axis & 1 == 1;
        let rest = if upward == is_away { T::one() - along } else { T::one() + along };
        let leaves = T::lift(self.size[axis]) * rest / self.half[axis].abs();
        Some(least(length, leaves) * forward)
    }
}

/// The smaller of two numbers, the first among equals and if the second is not a number.
fn least<T: Scalar>(a: T, b: T) -> T {
    if b.re() < a.re() { b } else { a }
}
