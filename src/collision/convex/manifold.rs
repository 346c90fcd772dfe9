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
    /// Its side, if that is round; then the polytope has only the caps.
    pub(crate) round: Option<Round>,
}

/// The side of a capsule or a cylinder around z.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Round {
    /// Radius \[m\].
    pub(crate) radius: f64,
    /// Half length of the straight part \[m\].
    pub(crate) half: f64,
    /// The ends are round too: a capsule.
    pub(crate) ends: bool,
}

/// Corners of a clipped polygon to expect.
const POLYGON: usize = 128;

/// Memory of the clipping.
#[derive(Clone, Debug)]
pub(crate) struct Clip<T: Scalar> {
    side: Vec<Vector3<T>>,
    polygon: Vec<Vector3<T>>,
    clipped: Vec<Vector3<T>>,
}

impl<T: Scalar> Default for Clip<T> {
    fn default() -> Self {
        let polygon = || Vec::with_capacity(POLYGON);
        Self { side: polygon(), polygon: polygon(), clipped: polygon() }
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

    /// Faces that have all vertices of the simplex; if there is none, the one that looks along `outward`. Only
    /// the latter for the caps of a cylinder.
    fn faces<'b>(&'b self, outward: &Vector3<f64>) -> impl Iterator<Item = usize> + Clone + 'b {
        let outward = self.mat().tr_mul(outward);
        let has_all = |f: usize| self.vertex.iter().all(|v| self.shape.face(f).contains(v));
        let all = if self.round.is_some() { 0..self.shape.normal.len() } else { 0..0 };
        let first = if self.round.is_some() { &[] } else { self.shape.faces_at(self.vertex[0]) };
        let around = first.iter().copied().chain(all);
        let any = self.round.is_none() && around.clone().any(has_all);
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

    /// The ends of the line of a round side that touches a face with a given normal: of a cylinder the one nearest
    /// to the face, of a capsule the one in the direction `outward`, in which both are nearest.
    fn line(&self, round: &Round, normal: &Vector3<T>, outward: &Vector3<T>) -> [Vector3<T>; 2] {
        let radius = T::lift(round.radius);
        let inward = self.placed.mat.tr_mul(&-normal);
        let out = if round.ends {
            outward * radius
        } else {
            let across = Vector3::new(inward.x, inward.y, T::zero());
            self.placed.mat * (across * (radius / across.norm_squared().sqrt()))
        };
        [round.half, -round.half]
            .map(|z| self.placed.pos + self.placed.mat * (Vector3::z() * T::lift(z)) + out)
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
    normal: &Vector3<T>,
    clip: &mut Clip<T>,
) -> bool {
    let along = normal.map(Scalar::re);
    let (mat_a, mat_b) = (a.mat(), b.mat());
    let normal_a = |f: usize| mat_a * a.shape.normal[f];
    let normal_b = |f: usize| mat_b * b.shape.normal[f];
    let (faces_a, faces_b) = (a.faces(&along), b.faces(&-along));

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
    if let Some((end, f)) = edge_along(a, &mat_a, faces_b, normal_b) {
        return clip.edge_on_face(out, margin, [a, b], (end, f), normal, -T::one());
    }
    if let Some((end, f)) = edge_along(b, &mat_b, faces_a, normal_a) {
        return clip.edge_on_face(out, margin, [b, a], (end, f), &-normal, T::one());
    }
    false
}

/// An edge of a feature, by its other end, and a face of the others that are nearly parallel: the first such in
/// the order of faces, of a round side the most parallel.
///
/// Source: MuJoCo `alignedFaceEdge`; for round sides found by probing MuJoCo 4.0.1.
fn edge_along<T: Scalar>(
    feature: &Feature<T>,
    mat: &Matrix3<f64>,
    faces: impl Iterator<Item = usize>,
    normal: impl Fn(usize) -> Vector3<f64>,
) -> Option<(usize, usize)> {
    if feature.round.is_some() {
        // the other end does not matter
        let sine = |f: usize| (mat.column(2).dot(&normal(f)).abs(), 0, f);
        let best = faces.map(sine).min_by(|x, y| x.0.total_cmp(&y.0));
        return best.filter(|(sine, _, _)| *sine < EDGE).map(|(_, end, f)| (end, f));
    }
    if feature.dimension() > 2 {
        return None;
    }
    let from = feature.shape.vert[feature.vertex[0]];
    let sine = |end: usize, f: usize| {
        let edge = (feature.shape.vert[end] - from).normalize();
        (mat * edge).dot(&normal(f)).abs()
    };
    faces
        .flat_map(|f| feature.edge_ends().map(move |end| (end, f)))
        .find(|&(end, f)| sine(end, f) < EDGE)
}

/// A plane in the world.
struct Plane<T: Scalar> {
    point: Vector3<T>,
    normal: Vector3<T>,
}

impl<T: Scalar> Clip<T> {
    /// Contacts of an edge, given by its other end, on a face; `outward` points from the edge's solid to the face's,
    /// and `sign` times the normal of the face is that of the contacts.
    fn edge_on_face(
        &mut self,
        out: &mut Vec<Touch<T>>,
        margin: f64,
        [edge, face]: [&Feature<T>; 2],
        (end, f): (usize, usize),
        outward: &Vector3<T>,
        sign: T,
    ) -> bool {
        face.loop_points(f, &mut self.side);
        let plane = Plane { point: self.side[0], normal: face.normal(f) };
        let ends = match &edge.round {
            Some(round) => edge.line(round, &plane.normal, outward),
            None => [edge.point(edge.vertex[0]), edge.point(end)],
        };
        self.polygon.clear();
        self.polygon.extend(ends);
        self.cut(&plane.normal);
        self.contacts(out, margin, &plane, &(plane.normal * sign), true)
    }

    /// Clips the polygon by the sides of a face with the given normal.
    ///
    /// Where corners lie on sides, rounding decides how often they are kept, and so which contacts are; so
    /// this is MuJoCo's arithmetic.
    ///
    /// Source: Sutherland, Hodgman, *Reentrant polygon clipping*, CACM 17 (1974); MuJoCo `polygonClip`.
    fn cut(&mut self, normal: &Vector3<T>) {
        for k in 0..self.side.len() {
            let (from, to) = (self.side[k], self.side[(k + 1) % self.side.len()]);
            let across = (to - from).cross(&((from + normal) - from));
            let inward = across * (T::one() / across.norm_squared().sqrt());
            let offset = inward.dot(&from);
            let inside = |p: &Vector3<T>| (p - from).dot(&inward).re() > -INSIDE;
            self.clipped.clear();
            let n = self.polygon.len();
            for i in 0..n {
                let (p, q) = (self.polygon[i], self.polygon[(i + 1) % n]);
                if inside(&p) != inside(&q) {
                    let slope = inward.dot(&(q - p));
                    let t = (offset - inward.dot(&p)) / slope;
                    if slope.re() != 0.0 && (0.0..=1.0).contains(&t.re()) {
                        self.clipped.push(p + (q - p) * t);
                    }
                }
                if inside(&q) {
                    self.clipped.push(q);
                }
            }
            std::mem::swap(&mut self.polygon, &mut self.clipped);
        }
    }

    /// Moves the polygon along a normal onto the plane of the face that clipped it.
    fn project(&mut self, normal: &Vector3<T>) {
        let Self { side, polygon, .. } = self;
        for p in polygon {
            *p -= normal * (*p - side[0]).dot(normal);
        }
    }

    /// Keeps the ends of a polygon that is an edge.
    fn keep_ends(&mut self) {
        if self.polygon.len() > 2 {
            let ends = most_distant(&self.polygon).map(|i| self.polygon[i]);
            self.polygon.clear();
            self.polygon.extend(ends);
        }
    }

    /// Contacts between a face and the corners of the polygon that are at most `margin` above it, four at most;
    /// two at most if the polygon is an edge, there and back. False if there is none.
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
            for i in large_quadrilateral(&self.polygon) {
                push(&self.polygon[i]);
            }
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
        // the cross product of the diagonals, rounded as MuJoCo does: equal areas are common
        0.5 * ((d - a).cross(&(b - d)) + (c - b).cross(&(a - c))).norm()
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
