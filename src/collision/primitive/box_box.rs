//! Two boxes: separating axes, then the manifold of a face or of two edges.
//!
//! The axis of largest separation among three face normals of each box and nine cross products of edges
//! decides. A face axis clips the most opposed face of the other box against the sides of the face; every
//! vertex of the clipped polygon within the margin is a contact. An edge axis gives the midpoint of the
//! nearest points of two edges. Faces win ties, since more points hold a body better.
//!
//! The axis, the edges and the sides that clip are chosen on real parts; the points are then evaluated on `T`.
//!
//! Sources: MuJoCo `mjc_BoxBox`; Gottschalk, Lin, Manocha, *`OBBTree`*, SIGGRAPH 1996 (the 15 axes);
//! Sutherland, Hodgman, *Reentrant polygon clipping*, CACM 17 (1974).

use nalgebra::{Matrix3, Vector3};

use super::{Placed, clip};
use crate::MINVAL;
use crate::collision::Touch;
use crate::scalar::Scalar;

/// Rounding of a separation, relative to the sum of all half sizes.
const SEPARATION_ROUNDING: f64 = 1e-13;
/// sin² of the angle between edges below which their cross product is noise.
const PARALLEL: f64 = 1e-16;
/// An edge axis must be better than the best face by this fraction.
const EDGE_BIAS: f64 = 1e-6;
/// Component of the axis below which it does not tell which edge supports it.
const AMBIGUOUS: f64 = 1e-9;
/// Square of the distance between vertices that count as one, relative to the size of the face.
const SAME_VERTEX: f64 = 1e-14;
/// Cosine between an edge axis and the best face above which the edge repeats the face…
const ALIAS_COSINE: f64 = 0.99;
/// …unless it is better by this fraction of the depth.
const ALIAS_DEPTH: f64 = 0.05;
/// Four corners clipped by four half planes make at most eight.
const MAX_VERTICES: usize = 8;

/// Both boxes, seen from each other.
struct Boxes<T: Scalar> {
    /// Half sizes.
    size: [Vector3<f64>; 2],
    /// Axes of the second box in the frame of the first.
    rot: Matrix3<T>,
    /// Centre of the second box in the frame of the first.
    pos21: Vector3<T>,
    /// Centre of the first box in the frame of the second.
    pos12: Vector3<T>,
    /// Separation beyond which there is no contact.
    limit: f64,
}

/// Axis of largest separation.
#[derive(Clone, Copy, PartialEq)]
enum Axis {
    /// Normal of a face: box 0 or 1, axis.
    Face(usize, usize),
    /// Cross product of an edge of box 0 and an edge of box 1.
    Edges(usize, usize),
}

/// At most eight contacts.
pub(crate) fn box_box<T: Scalar>(
    out: &mut Vec<Touch<T>>,
    margin: f64,
    first: &Placed<T>,
    second: &Placed<T>,
) {
    let size = [*first.size, *second.size];
    let boxes = Boxes {
        size,
        rot: first.mat.tr_mul(second.mat),
        pos21: first.mat.tr_mul(&(second.pos - first.pos)),
        pos12: second.mat.tr_mul(&(first.pos - second.pos)),
        limit: margin + SEPARATION_ROUNDING * (size[0].sum() + size[1].sum()),
    };
    match separating_axis(&boxes) {
        None => {}
        Some(Axis::Edges(i, j)) => out.extend(edge_contact(&boxes, first, i, j)),
        Some(Axis::Face(owner, a)) => {
            let reference = if owner == 0 { first } else { second };
            face_contacts(out, margin, &boxes, reference, owner, a);
        }
    }
}

/// The axis along which the boxes are farthest apart; none if they are too far apart along any.
fn separating_axis<T: Scalar>(boxes: &Boxes<T>) -> Option<Axis> {
    let rot = boxes.rot.map(Scalar::re);
    let [size1, size2] = &boxes.size;
    let (pos21, pos12) = (boxes.pos21.map(Scalar::re), boxes.pos12.map(Scalar::re));
    let radius2 = rot.abs() * size2;
    let radius1 = rot.abs().transpose() * size1;

    let mut best = (f64::NEG_INFINITY, Axis::Face(0, 0));
    for i in 0..3 {
        let separation = pos21[i].abs() - size1[i] - radius2[i];
        if separation > best.0 {
            best = (separation, Axis::Face(0, i));
        }
    }
    for j in 0..3 {
        let separation = pos12[j].abs() - size2[j] - radius1[j];
        if separation > best.0 {
            best = (separation, Axis::Face(1, j));
        }
    }
    let face = best;
    if face.0 > boxes.limit {
        return None;
    }

    for (i, j) in (0..9).map(|k| (k / 3, k % 3)) {
        let Some(axis) = edge_axis(&rot, i, j) else { continue };
        let in_second = rot.tr_mul(&axis);
        let radius = axis.abs().dot(size1) + in_second.abs().dot(size2);
        let separation = axis.dot(&pos21).abs() - radius;
        if separation > boxes.limit {
            return None;
        }
        if separation - EDGE_BIAS * separation.abs() > best.0 && separation > face.0 {
            best = (separation, Axis::Edges(i, j));
        }
    }

    // an edge axis that is almost a face normal: the face, unless it is clearly worse
    if let Axis::Edges(i, j) = best.1 {
        let axis = edge_axis(&rot, i, j)?;
        let normal = match face.1 {
            Axis::Face(0, a) => Vector3::ith(a, 1.0),
            Axis::Face(_, a) | Axis::Edges(_, a) => rot.column(a).into_owned(),
        };
        let aliased = axis.dot(&normal).abs() > ALIAS_COSINE;
        if aliased && best.0 < face.0 + ALIAS_DEPTH * face.0.abs() + MINVAL {
            return Some(face.1);
        }
    }
    Some(best.1)
}

/// Unit vector along eᵢ × (axis j of the second box), in the frame of the first; none if they are parallel.
fn edge_axis<T: Scalar>(rot: &Matrix3<T>, i: usize, j: usize) -> Option<Vector3<T>> {
    let (i1, i2) = ((i + 1) % 3, (i + 2) % 3);
    let mut axis = Vector3::zeros();
    axis[i1] = -rot[(i2, j)];
    axis[i2] = rot[(i1, j)];
    let square = axis.norm_squared();
    (square.re() >= PARALLEL).then(|| axis / square.sqrt())
}

/// Component of `axis` other than `k` that is too small to have a sign.
fn ambiguous<T: Scalar>(axis: &Vector3<T>, k: usize) -> Option<usize> {
    [(k + 1) % 3, (k + 2) % 3].into_iter().find(|&c| axis[c].re().abs() < AMBIGUOUS)
}

/// Middle of the edge along axis `k` that supports `axis`, or, with `flip`, the other one that may.
fn edge_middle<T: Scalar>(
    size: &Vector3<f64>,
    axis: &Vector3<T>,
    k: usize,
    flip: Option<usize>,
) -> Vector3<T> {
    Vector3::from_fn(|c, _| {
        let up = (axis[c].re() >= 0.0) != (flip == Some(c));
        match (c == k, up) {
            (true, _) => T::zero(),
            (_, true) => T::lift(size[c]),
            (_, false) => T::lift(-size[c]),
        }
    })
}

/// Contact between edge `i` of the first box and edge `j` of the second.
fn edge_contact<T: Scalar>(
    boxes: &Boxes<T>,
    first: &Placed<T>,
    i: usize,
    j: usize,
) -> Option<Touch<T>> {
    let [size1, size2] = &boxes.size;
    let mut axis = edge_axis(&boxes.rot, i, j)?;
    if axis.dot(&boxes.pos21).re() < 0.0 {
        axis = -axis;
    }
    let towards_first = -boxes.rot.tr_mul(&axis);

    // where the axis does not decide between two parallel edges, the nearest points do
    let direction = boxes.rot.column(j).into_owned();
    let (flip1, flip2) = (ambiguous(&axis, i), ambiguous(&towards_first, j));
    let mut best: Option<(f64, Vector3<T>, Vector3<T>)> = None;
    for (f1, f2) in [(false, false), (false, true), (true, false), (true, true)] {
        if f1 && flip1.is_none() || f2 && flip2.is_none() {
            continue;
        }
        let c1 = edge_middle(size1, &axis, i, flip1.filter(|_| f1));
        // both signs of a zero are tried, so it does not matter which comes first
        let c2 = edge_middle(size2, &towards_first, j, flip2.filter(|_| f2));
        let c2 = boxes.rot * c2 + boxes.pos21;
        let (w1, w2) = nearest_on_edges(&c1, i, size1[i], &c2, &direction, size2[j]);
        let square = (w2 - w1).norm_squared().re();
        if best.is_none_or(|(least, _, _)| square < least) {
            best = Some((square, w1, w2));
        }
    }
    let (_, w1, w2) = best?;
    let dist = (w2 - w1).dot(&axis);
    let middle = (w1 + w2) * T::lift(0.5);
    (dist.re() <= boxes.limit)
        .then(|| Touch::new(dist, first.pos + first.mat * middle, first.mat * axis))
}

/// Nearest points of the segments c₁ + s eᵢ, |s| ≤ h₁, and c₂ + t d, |t| ≤ h₂.
fn nearest_on_edges<T: Scalar>(
    c1: &Vector3<T>,
    i: usize,
    h1: f64,
    c2: &Vector3<T>,
    d: &Vector3<T>,
    h2: f64,
) -> (Vector3<T>, Vector3<T>) {
    let e = c2 - c1;
    let (cosine, along1, along2) = (d[i], e[i], d.dot(&e));
    let sine2 = T::one() - cosine * cosine;
    let s = if sine2.re() < MINVAL { T::zero() } else { (along1 - cosine * along2) / sine2 };
    let t = clip(cosine * clip(s, -h1, h1) - along2, -h2, h2);
    let s = clip(along1 + cosine * t, -h1, h1);
    let mut w1 = *c1;
    w1[i] += s;
    (w1, c2 + d * t)
}

/// A polygon with a bounded number of vertices: two coordinates in the face, and the height above it.
struct Polygon<T: Scalar> {
    vertex: [Vector3<T>; MAX_VERTICES],
    len: usize,
}

impl<T: Scalar> Polygon<T> {
    fn empty() -> Self {
        Self { vertex: [Vector3::zeros(); MAX_VERTICES], len: 0 }
    }

    /// Rounding can make a polygon that should be convex cross a plane once too often: what is too much is
    /// left out.
    fn push(&mut self, v: Vector3<T>) {
        if self.len < MAX_VERTICES {
            self.vertex[self.len] = v;
            self.len += 1;
        }
    }

    fn vertices(&self) -> &[Vector3<T>] {
        &self.vertex[..self.len]
    }

    /// The part with sign · v\[coordinate\] ≤ limit.
    fn clipped(self, coordinate: usize, sign: f64, limit: f64) -> Self {
        let beyond = |v: &Vector3<T>| v[coordinate] * T::lift(sign) - T::lift(limit);
        if self.vertices().iter().all(|v| beyond(v).re() <= 0.0) {
            return self;
        }
        let mut inside = Self::empty();
        for k in 0..self.len {
            let (p, q) = (&self.vertex[k], &self.vertex[(k + 1) % self.len]);
            let (dp, dq) = (beyond(p), beyond(q));
            if dp.re() <= 0.0 {
                inside.push(*p);
            }
            if dp.re() * dq.re() < 0.0 {
                inside.push(p + (q - p) * (dp / (dp - dq)));
            }
        }
        inside
    }
}

/// Contacts between face `a` of the reference box (`owner`) and the most opposed face of the other box.
fn face_contacts<T: Scalar>(
    out: &mut Vec<Touch<T>>,
    margin: f64,
    boxes: &Boxes<T>,
    reference: &Placed<T>,
    owner: usize,
    a: usize,
) {
    // the other box in the frame of the reference
    let (axes, center) = match owner {
        0 => (boxes.rot, boxes.pos21),
        _ => (boxes.rot.transpose(), boxes.pos12),
    };
    let (size, other) = (&boxes.size[owner], &boxes.size[1 - owner]);
    let up = center[a].re() >= 0.0;
    let side = if up { T::one() } else { -T::one() };
    let (x, y) = ((a + 1) % 3, (a + 2) % 3);

    let start = incident_face(&axes, &center, other, a, up);
    let polygon = start
        .clipped(0, 1.0, size[x])
        .clipped(0, -1.0, size[x])
        .clipped(1, 1.0, size[y])
        .clipped(1, -1.0, size[y]);

    let along = reference.axis(a) * side;
    let normal = if owner == 0 { along } else { -along };
    let near = SAME_VERTEX * (size[x] * size[x] + size[y] * size[y]);
    for (k, v) in polygon.vertices().iter().enumerate() {
        let height = v.z - T::lift(size[a]);
        let repeats = |u: &Vector3<T>| {
            let (dx, dy) = (u.x.re() - v.x.re(), u.y.re() - v.y.re());
            u.z.re() - size[a] <= margin && dx * dx + dy * dy < near
        };
        if height.re() > margin || polygon.vertices()[..k].iter().any(repeats) {
            continue;
        }
        let mut point = Vector3::zeros();
        point[x] = v.x;
        point[y] = v.y;
        point[a] = side * (T::lift(size[a]) + height * T::lift(0.5));
        out.push(Touch::new(height, reference.pos + reference.mat * point, normal));
    }
}

/// The face of the other box that is most opposed to the reference face: in-plane coordinates, and the
/// distance from the centre of the reference along its normal.
fn incident_face<T: Scalar>(
    axes: &Matrix3<T>,
    center: &Vector3<T>,
    size: &Vector3<f64>,
    a: usize,
    up: bool,
) -> Polygon<T> {
    let steepness = |k: usize| axes[(a, k)].re().abs();
    let b = (1..3).fold(0, |b, k| if steepness(k) > steepness(b) { k } else { b });
    let faces_up = axes[(a, b)].re() > 0.0;
    let half = |k: usize| axes.column(k) * T::lift(size[k]);

    let middle = if faces_up == up { center - half(b) } else { center + half(b) };
    let (u, v) = (half((b + 1) % 3), half((b + 2) % 3));
    let mut polygon = Polygon::empty();
    for corner in [middle + u + v, middle - u + v, middle - u - v, middle + u - v] {
        let height = if up { corner[a] } else { -corner[a] };
        polygon.push(Vector3::new(corner[(a + 1) % 3], corner[(a + 2) % 3], height));
    }
    polygon
}
