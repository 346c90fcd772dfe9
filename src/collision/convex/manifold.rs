//! Contact points between two polytopes whose nearest features are known.
//!
//! Where two faces oppose each other, or an edge lies on a face, the one is clipped by the sides of the other
//! and every corner that remains is a contact, at most four. Otherwise the nearest points are the only one.
//! Features are chosen on real parts; their points are then evaluated on `T`.
//!
//! Source: MuJoCo `multicontact` (nativeccd); manual, "Multiple contacts".

use nalgebra::{Matrix3, Vector3};

use super::polytope::Polytope;
use crate::collision::Touch;
use crate::collision::primitive::Placed;
use crate::scalar::{Scalar, lift3};

/// Cosine of the angle within which two faces oppose each other.
const FACES: f64 = 0.996;
/// Sine of the angle within which an edge lies on a face.
const EDGE: f64 = 0.0888;
/// Most contacts of a pair.
const MAX_CONTACTS: usize = 4;
/// Distance outside of a side that still counts as inside \[m\].
const INSIDE: f64 = 1e-15;

/// A polytope in the world, and what of it is nearest to the other.
pub(crate) struct Feature<'a, T: Scalar> {
    /// The polytope.
    pub(crate) shape: &'a Polytope,
    /// Where it is.
    pub(crate) placed: Placed<'a, T>,
    /// Its vertices on the simplex that is nearest to the origin.
    pub(crate) vertex: &'a [usize],
}

/// Memory of the clipping.
#[derive(Clone, Debug)]
pub(crate) struct Clip<T: Scalar> {
    side: Vec<Vector3<T>>,
    polygon: Vec<Vector3<T>>,
    clipped: Vec<Vector3<T>>,
}

impl<T: Scalar> Default for Clip<T> {
    fn default() -> Self {
        Self { side: Vec::new(), polygon: Vec::new(), clipped: Vec::new() }
    }
}

impl<T: Scalar> Feature<'_, T> {
    /// A vertex in the world.
    pub(crate) fn point(&self, v: usize) -> Vector3<T> {
        self.placed.pos + self.placed.mat * lift3(&self.shape.vert[v])
    }

    /// Outward normal of a face in the world.
    fn normal(&self, f: usize) -> Vector3<T> {
        self.placed.mat * lift3(&self.shape.normal[f])
    }

    fn mat(&self) -> Matrix3<f64> {
        self.placed.mat.map(Scalar::re)
    }

    /// Different vertices of the simplex: 1, 2 or 3.
    fn dimension(&self) -> usize {
        let first = |i: usize| !self.vertex[..i].contains(&self.vertex[i]);
        (0..self.vertex.len()).filter(|&i| first(i)).count()
    }

    /// Faces that have all vertices of the simplex; if there is none, the one that looks along `outward`.
    fn faces<'b>(&'b self, outward: &Vector3<f64>) -> impl Iterator<Item = usize> + Clone + 'b {
        let outward = self.mat().tr_mul(outward);
        let has_all = |f: usize| self.vertex.iter().all(|v| self.shape.face(f).contains(v));
        let around = self.shape.faces_at(self.vertex[0]).iter().copied();
        let any = around.clone().any(has_all);
        let looks = move |f: usize| self.shape.normal[f].dot(&outward) > FACES;
        around.filter(move |&f| if any { has_all(f) } else { looks(f) })
    }

    /// The other ends of edges at the simplex: of the edge it is, or of all at the vertex it is.
    fn edge_ends(&self) -> impl Iterator<Item = usize> + Clone + '_ {
        let first = self.vertex[0];
        let other = self.vertex.iter().copied().find(|&v| v != first);
        let around = self.shape.faces_at(first).iter().filter_map(move |&f| {
            let rim = self.shape.face(f);
            let at = rim.iter().position(|&v| v == first)?;
            Some(rim[(at + rim.len() - 1) % rim.len()])
        });
        around.filter(move |_| other.is_none()).chain(other)
    }

    /// Corners of a face in the world, clockwise from outside.
    fn loop_points(&self, f: usize, out: &mut Vec<Vector3<T>>) {
        out.clear();
        out.extend(self.shape.face(f).iter().rev().map(|&v| self.point(v)));
    }
}

/// Appends contacts of A and B where faces oppose each other or an edge lies on a face; `normal` points from
/// A to B. Returns false, and appends nothing, if there is no such place.
pub(crate) fn many<T: Scalar>(
    out: &mut Vec<Touch<T>>,
    margin: f64,
    [a, b]: [&Feature<T>; 2],
    normal: &Vector3<f64>,
    clip: &mut Clip<T>,
) -> bool {
    let (mat_a, mat_b) = (a.mat(), b.mat());
    let normal_a = |f: usize| mat_a * a.shape.normal[f];
    let normal_b = |f: usize| mat_b * b.shape.normal[f];
    let (faces_a, faces_b) = (a.faces(normal), b.faces(&-normal));

    // two faces: the most opposed
    let pairs = faces_a.clone().flat_map(|i| faces_b.clone().map(move |j| (i, j)));
    let opposed = pairs
        .map(|(i, j)| (normal_a(i).dot(&normal_b(j)), i, j))
        .min_by(|x, y| x.0.total_cmp(&y.0))
        .filter(|(cosine, _, _)| *cosine < -FACES);
    if let Some((_, i, j)) = opposed {
        a.loop_points(i, &mut clip.side);
        b.loop_points(j, &mut clip.polygon);
        let (first, second) = (a.normal(i), b.normal(j));
        clip.cut(&first);
        clip.project(&first);
        let face = Plane { point: b.point(b.shape.face(j)[0]), normal: second };
        return clip.contacts(out, margin, &face, &-second, false);
    }

    // an edge on a face
    let (dim_a, dim_b) = (a.dimension(), b.dimension());
    let edge_a = (dim_a < 3).then(|| flattest(a, &mat_a, faces_b, normal_b)).flatten();
    if let Some((end, f)) = edge_a {
        b.loop_points(f, &mut clip.side);
        clip.edge(a, end);
        let face = Plane { point: clip.side[0], normal: b.normal(f) };
        clip.cut(&face.normal);
        return clip.contacts(out, margin, &face, &-face.normal, true);
    }
    let edge_b = (dim_b < 3).then(|| flattest(b, &mat_b, faces_a, normal_a)).flatten();
    if let Some((end, f)) = edge_b {
        a.loop_points(f, &mut clip.side);
        clip.edge(b, end);
        let face = Plane { point: clip.side[0], normal: a.normal(f) };
        clip.cut(&face.normal);
        return clip.contacts(out, margin, &face, &face.normal, true);
    }
    false
}

/// The edge of a feature, by its other end, and the face of the others, that are most nearly parallel.
fn flattest<T: Scalar>(
    feature: &Feature<T>,
    mat: &Matrix3<f64>,
    faces: impl Iterator<Item = usize>,
    normal: impl Fn(usize) -> Vector3<f64>,
) -> Option<(usize, usize)> {
    let from = feature.shape.vert[feature.vertex[0]];
    let sine = |end: usize, f: usize| {
        let edge = (feature.shape.vert[end] - from).normalize();
        (mat * edge).dot(&normal(f)).abs()
    };
    faces
        .flat_map(|f| feature.edge_ends().map(move |end| (end, f)))
        .map(|(end, f)| (sine(end, f), end, f))
        .min_by(|x, y| x.0.total_cmp(&y.0))
        .filter(|(sine, _, _)| *sine < EDGE)
        .map(|(_, end, f)| (end, f))
}

/// A plane in the world.
struct Plane<T: Scalar> {
    point: Vector3<T>,
    normal: Vector3<T>,
}

impl<T: Scalar> Clip<T> {
    /// The polygon of two points: an edge of a feature, there and back, so that each cut appears twice.
    fn edge(&mut self, feature: &Feature<T>, end: usize) {
        self.polygon.clear();
        self.polygon.extend([feature.point(feature.vertex[0]), feature.point(end)]);
    }

    /// Clips the polygon by the sides of a face with the given normal.
    ///
    /// Source: Sutherland, Hodgman, *Reentrant polygon clipping*, CACM 17 (1974).
    fn cut(&mut self, normal: &Vector3<T>) {
        for k in 0..self.side.len() {
            let (from, to) = (self.side[k], self.side[(k + 1) % self.side.len()]);
            let inward = (to - from).cross(normal).normalize();
            let depth = |p: &Vector3<T>| (p - from).dot(&inward);
            self.clipped.clear();
            let n = self.polygon.len();
            for i in 0..n {
                let (p, q) = (self.polygon[i], self.polygon[(i + 1) % n]);
                let (dp, dq) = (depth(&p), depth(&q));
                let (p_in, q_in) = (dp.re() > -INSIDE, dq.re() > -INSIDE);
                if p_in != q_in && dp.re() * dq.re() < 0.0 {
                    self.clipped.push(p + (q - p) * (dp / (dp - dq)));
                }
                if q_in {
                    self.clipped.push(q);
                }
            }
            std::mem::swap(&mut self.polygon, &mut self.clipped);
        }
    }

    /// Moves the polygon along a normal onto the plane of the face that clipped it.
    fn project(&mut self, normal: &Vector3<T>) {
        let Self { side, polygon, .. } = self;
        polygon.iter_mut().for_each(|p| *p -= normal * (*p - side[0]).dot(normal));
    }

    /// Keeps the ends of a polygon that is an edge.
    fn keep_ends(&mut self) {
        if self.polygon.len() > 2 {
            let ends = most_distant(&self.polygon).map(|i| self.polygon[i]);
            self.polygon.clear();
            self.polygon.extend(ends);
        }
    }

    /// Contacts between a face and the corners of the polygon that are at most `margin` above it, four at most.
    /// False if there is none.
    fn contacts(
        &mut self,
        out: &mut Vec<Touch<T>>,
        margin: f64,
        face: &Plane<T>,
        normal: &Vector3<T>,
        is_edge: bool,
    ) -> bool {
        let height = |p: &Vector3<T>| (p - face.point).dot(&face.normal);
        self.polygon.retain(|p| height(p).re() <= margin);
        if is_edge {
            self.keep_ends();
        }
        let mut push = |p: &Vector3<T>| {
            let dist = height(p);
            out.push(Touch::new(dist, p - face.normal * (dist * T::lift(0.5)), *normal));
        };
        if self.polygon.len() > MAX_CONTACTS {
            large_quadrilateral(&self.polygon).iter().for_each(|&i| push(&self.polygon[i]));
        } else {
            self.polygon.iter().for_each(push);
        }
        !self.polygon.is_empty()
    }
}

/// The two points that are farthest apart, the first two if all coincide.
fn most_distant<T: Scalar>(points: &[Vector3<T>]) -> [usize; 2] {
    let mut best = (0.0, [0, 1]);
    for i in 0..points.len() {
        for j in i + 1..points.len() {
            let square = (points[j] - points[i]).norm_squared().re();
            if square > best.0 {
                best = (square, [i, j]);
            }
        }
    }
    best.1
}

/// Corners of a convex polygon that span a large area, the first among them: calipers, turned until no step
/// makes the area larger.
///
/// Source: Dobkin, Snyder, *On a general method for maximizing and minimizing among certain geometric problems*,
/// FOCS 1979; MuJoCo `polygonQuad`.
pub(crate) fn large_quadrilateral<T: Scalar>(polygon: &[Vector3<T>]) -> [usize; 4] {
    let area = |q: [usize; 4]| {
        let [a, b, c, d] = q.map(|i| polygon[i].map(Scalar::re));
        (c - a).cross(&(d - b)).norm()
    };
    let mut q = [0, 1, 2, 3];
    let mut largest = area(q);
    let mut advance = |k: usize| {
        let mut next = q;
        next[k] = (q[k] + 1) % polygon.len();
        let size = area(next);
        let grows = size > largest;
        if grows {
            (q, largest) = (next, size);
        }
        grows
    };
    // the last corner while that pays, and after each step those before it
    while advance(3) {
        while advance(2) {}
        while advance(1) {}
    }
    q
}
