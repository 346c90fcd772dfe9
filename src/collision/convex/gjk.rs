//! Distance of two polytopes: Gilbert, Johnson, Keerthi.
//!
//! All here is about A − B, the set of differences of their points: they touch if it contains the origin, and
//! their distance is its distance from the origin.
//!
//! Sources: Gilbert, Johnson, Keerthi, *A fast procedure for computing the distance between complex objects
//! in three-dimensional space*, IEEE J. Robotics and Automation 4 (1988); Ericson, *Real-Time Collision
//! Detection* (2005), 5.1 (nearest points of triangles).

use nalgebra::{Matrix3, Vector3};

use super::polytope::Polytope;

/// A vertex of A − B.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vertex {
    /// Difference of the two vertices \[m\].
    pub(crate) w: Vector3<f64>,
    /// Vertex of A and vertex of B.
    pub(crate) id: [usize; 2],
}

/// Two polytopes in the world.
pub(crate) struct Pair<'a> {
    /// Both polytopes.
    pub(crate) shape: [&'a Polytope; 2],
    /// Their positions \[m\].
    pub(crate) pos: [Vector3<f64>; 2],
    /// Their orientations.
    pub(crate) mat: [Matrix3<f64>; 2],
}

impl Pair<'_> {
    /// The vertex of A − B that is furthest in a direction.
    pub(crate) fn support(&self, direction: &Vector3<f64>) -> Vertex {
        let a = self.shape[0].support(&self.mat[0].tr_mul(direction));
        let b = self.shape[1].support(&self.mat[1].tr_mul(&-direction));
        Vertex { w: self.point(0, a) - self.point(1, b), id: [a, b] }
    }

    /// A vertex of one of them in the world.
    fn point(&self, which: usize, v: usize) -> Vector3<f64> {
        self.pos[which] + self.mat[which] * self.shape[which].vert[v]
    }
}

/// At most four vertices of A − B.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Simplex {
    vertex: [Vertex; 4],
    len: usize,
}

impl Simplex {
    fn of<const N: usize>(vertices: [Vertex; N]) -> Self {
        let mut out = Self { vertex: [vertices[0]; 4], len: N };
        out.vertex[..N].copy_from_slice(&vertices);
        out
    }

    /// Its vertices.
    pub(crate) fn vertices(&self) -> &[Vertex] {
        &self.vertex[..self.len]
    }

    /// One vertex more; there must be room.
    pub(crate) fn push(&mut self, v: Vertex) {
        self.vertex[self.len] = v;
        self.len += 1;
    }

    /// The smallest part that contains its point nearest to the origin, and that point.
    fn nearest(&self) -> (Self, Vector3<f64>) {
        match *self.vertices() {
            [a, b] => on_segment(a, b),
            [a, b, c] => on_triangle(a, b, c),
            [a, b, c, d] => on_tetrahedron(a, b, c, d),
            _ => (*self, self.vertex[0].w),
        }
    }
}

/// Where two polytopes are.
#[derive(Debug)]
pub(crate) enum Gjk {
    /// Farther apart than asked.
    Apart,
    /// Apart by the distance of this simplex, of at most three vertices, from the origin.
    Near(Simplex),
    /// Touching or overlapping; the simplex contains the origin, or comes close.
    Overlap(Simplex),
}

/// Distance below which polytopes overlap \[m\].
const TOUCHING: f64 = 1e-12;

/// Nearest part of A − B to the origin, if it is at most `reach` away.
pub(crate) fn gjk(pair: &Pair, reach: f64, iterations: usize) -> Gjk {
    let start = pair.pos[0] - pair.pos[1];
    let start = if start.norm() < TOUCHING { Vector3::x() } else { start };
    let mut simplex = Simplex::of([pair.support(&-start)]);
    let mut x = simplex.vertex[0].w;
    for _ in 0..iterations {
        let norm = x.norm();
        if norm < TOUCHING {
            return Gjk::Overlap(simplex);
        }
        let new = pair.support(&-x);
        let lower = x.dot(&new.w) / norm; // bound of the distance from below
        if lower > reach {
            return Gjk::Apart;
        }
        let known = simplex.vertices().iter().any(|v| v.id == new.id);
        if known || norm - lower <= f64::EPSILON * norm {
            return if norm > reach { Gjk::Apart } else { Gjk::Near(simplex) };
        }
        simplex.push(new);
        let (smaller, nearest) = simplex.nearest();
        // the origin is inside, or rounding allows no progress any more
        if smaller.len == 4 || nearest.norm() >= norm {
            return Gjk::Overlap(smaller);
        }
        (simplex, x) = (smaller, nearest);
    }
    Gjk::Overlap(simplex)
}

fn on_segment(a: Vertex, b: Vertex) -> (Simplex, Vector3<f64>) {
    let ab = b.w - a.w;
    let t = -a.w.dot(&ab);
    let square = ab.norm_squared();
    if t <= 0.0 {
        (Simplex::of([a]), a.w)
    } else if t >= square {
        (Simplex::of([b]), b.w)
    } else {
        (Simplex::of([a, b]), a.w + ab * (t / square))
    }
}

fn on_triangle(a: Vertex, b: Vertex, c: Vertex) -> (Simplex, Vector3<f64>) {
    let normal = (b.w - a.w).cross(&(c.w - a.w));
    // outside of the edge from p to q: the origin is on its other side
    let outside = |p: &Vertex, q: &Vertex| (q.w - p.w).cross(&normal).dot(&-p.w) > 0.0;
    let square = normal.norm_squared();
    let edges = [(a, b), (b, c), (c, a)];
    if square > 0.0 && !edges.iter().any(|(p, q)| outside(p, q)) {
        return (Simplex::of([a, b, c]), normal * (a.w.dot(&normal) / square));
    }
    least(edges.map(|(p, q)| on_segment(p, q)).into_iter())
}

fn on_tetrahedron(a: Vertex, b: Vertex, c: Vertex, d: Vertex) -> (Simplex, Vector3<f64>) {
    let faces = [(a, b, c, d), (a, c, d, b), (a, d, b, c), (b, d, c, a)];
    let is_outside = |(p, q, r, other): &(Vertex, Vertex, Vertex, Vertex)| {
        let normal = (q.w - p.w).cross(&(r.w - p.w));
        let (origin, inner) = (-normal.dot(&p.w), normal.dot(&(other.w - p.w)));
        origin * inner <= 0.0
    };
    if !faces.iter().any(is_outside) {
        return (Simplex::of([a, b, c, d]), Vector3::zeros());
    }
    let outside = faces.iter().filter(|face| is_outside(face));
    least(outside.map(|&(p, q, r, _)| on_triangle(p, q, r)))
}

/// The candidate nearest to the origin; there is at least one.
fn least(candidates: impl Iterator<Item = (Simplex, Vector3<f64>)>) -> (Simplex, Vector3<f64>) {
    candidates
        .min_by(|a, b| a.1.norm_squared().total_cmp(&b.1.norm_squared()))
        .expect("edges and outer faces are never empty")
}
