//! The point of a simplex that is nearest to the origin: signed volumes.
//!
//! Source: Montanari, Petrinic, Barbieri, *Improving the GJK algorithm for faster and more reliable distance
//! queries between convex objects*, ACM Trans. Graphics 36 (2017).

use nalgebra::Vector3;

use super::solid::Vertex;
use crate::MINVAL;

/// At most four vertices of A − B, and the weights of a point in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Simplex {
    vertex: [Vertex; 4],
    weight: [f64; 4],
    len: usize,
}

impl Simplex {
    pub(crate) fn new() -> Self {
        let zero = Vector3::zeros();
        let vertex = Vertex { w: zero, p: [zero; 2], id: [None; 2] };
        Self { vertex: [vertex; 4], weight: [0.0; 4], len: 0 }
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

    /// Weights of the point nearest to the origin; vertices without weight are dropped.
    pub(crate) fn reduce(&mut self) {
        let w = self.vertex.map(|v| v.w);
        let mut weight = [0.0; 4];
        match self.len {
            4 => weight = tetrahedron(&w),
            3 => weight[..3].copy_from_slice(&triangle([&w[0], &w[1], &w[2]])),
            2 => weight[..2].copy_from_slice(&segment(&w[0], &w[1])),
            _ => weight[0] = 1.0,
        }
        self.len = 0;
        for i in 0..4 {
            if weight[i] != 0.0 {
                self.vertex[self.len] = self.vertex[i];
                self.weight[self.len] = weight[i];
                self.len += 1;
            }
        }
    }

    /// The weighted sum of what `value` takes from each vertex.
    pub(crate) fn combine(&self, value: impl Fn(&Vertex) -> Vector3<f64>) -> Vector3<f64> {
        let terms = self.vertices().iter().zip(self.weight).map(|(v, weight)| value(v) * weight);
        terms.reduce(|sum, term| sum + term).unwrap_or_else(Vector3::zeros)
    }
}

/// 1 if both numbers have the same sign, neither being zero.
fn same_sign(a: f64, b: f64) -> bool {
    a > 0.0 && b > 0.0 || a < 0.0 && b < 0.0
}

/// Determinant of three columns.
pub(super) fn det(a: &Vector3<f64>, b: &Vector3<f64>, c: &Vector3<f64>) -> f64 {
    a.x * (b.y * c.z - b.z * c.y) + a.y * (b.z * c.x - b.x * c.z) + a.z * (b.x * c.y - b.y * c.x)
}

fn square(w: &[&Vector3<f64>], weight: &[f64]) -> f64 {
    let terms = w.iter().zip(weight).map(|(&w, &weight)| w * weight);
    terms.reduce(|sum, term| sum + term).map_or(0.0, |x| x.norm_squared())
}

/// Weights of a tetrahedron's vertices: all if the origin is inside, otherwise those of the nearest of the
/// faces that the origin is beyond.
fn tetrahedron(w: &[Vector3<f64>; 4]) -> [f64; 4] {
    let [a, b, c, d] = w;
    let volume = [-det(b, c, d), det(a, c, d), -det(a, b, d), det(a, b, c)];
    let whole = volume[0] + volume[1] + volume[2] + volume[3];
    let inside = volume.map(|v| same_sign(whole, v));
    if inside.iter().all(|&inside| inside) {
        return volume.map(|v| v / whole);
    }
    let (mut best, mut least) = ([0.0; 4], f64::MAX);
    for opposite in 0..4 {
        if inside[opposite] {
            continue;
        }
        let mut rest = [0; 3];
        rest.iter_mut().zip((0..4).filter(|&i| i != opposite)).for_each(|(r, i)| *r = i);
        let face = rest.map(|i| &w[i]);
        let weight = triangle(face);
        let size = square(&face, &weight);
        if size < least {
            least = size;
            best = [0.0; 4];
            rest.iter().zip(weight).for_each(|(&i, x)| best[i] = x);
        }
    }
    best
}

/// Weights of a triangle's vertices.
fn triangle(w: [&Vector3<f64>; 3]) -> [f64; 3] {
    let Some(p) = origin_on_plane(w) else {
        let [first, second] = segment(w[0], w[1]);
        return [first, second, 0.0];
    };
    let (whole, area) = areas(w, &p);
    let inside = area.map(|a| same_sign(whole, a));
    if inside.iter().all(|&inside| inside) {
        return area.map(|a| a / whole);
    }
    let (mut best, mut least) = ([0.0; 3], f64::MAX);
    for (opposite, rest) in [(0, [1, 2]), (1, [0, 2]), (2, [0, 1])] {
        if inside[opposite] {
            continue;
        }
        let edge = rest.map(|i| w[i]);
        let weight = segment(edge[0], edge[1]);
        let size = square(&edge, &weight);
        if size < least {
            least = size;
            best = [0.0; 3];
            rest.iter().zip(weight).for_each(|(&i, x)| best[i] = x);
        }
    }
    best
}

/// Weights of a segment's ends; the second one alone if the origin is not beside the segment.
fn segment(a: &Vector3<f64>, b: &Vector3<f64>) -> [f64; 2] {
    let along = b - a;
    let p = b + along * -(b.dot(&along) / along.norm_squared());
    // the axis along which it is longest, the last among equals
    let span = a - b;
    let longest = |best: usize, k: usize| if span[k].abs() >= span[best].abs() { k } else { best };
    let axis = longest(longest(0, 1), 2);
    let (first, second) = (p[axis] - b[axis], a[axis] - p[axis]);
    if same_sign(span[axis], first) && same_sign(span[axis], second) {
        [first / span[axis], second / span[axis]]
    } else {
        [0.0, 1.0]
    }
}

/// The origin projected onto the plane of a triangle; none if the triangle has no area.
///
/// One of three equal formulas: the first in which nothing cancels.
pub(super) fn origin_on_plane([a, b, c]: [&Vector3<f64>; 3]) -> Option<Vector3<f64>> {
    let (ab, ac, bc) = (b - a, c - a, c - b);
    let choices = [(bc.cross(&ab), b), (ab.cross(&ac), a), (ac.cross(&bc), c)];
    for (i, (normal, corner)) in choices.iter().enumerate() {
        let (height, size) = (normal.dot(corner), normal.norm_squared());
        if size == 0.0 {
            return None;
        }
        if i == 2 || height != 0.0 && size > MINVAL {
            return Some(normal * (height / size));
        }
    }
    None
}

/// Areas of a triangle and of the three parts into which a point in its plane divides it, all projected along the
/// axis where the whole is largest. Differences come first, so that little cancels in small triangles.
fn areas([a, b, c]: [&Vector3<f64>; 3], p: &Vector3<f64>) -> (f64, [f64; 3]) {
    let normal = (b - a).cross(&(c - a));
    let axis = normal.iamax();
    let part = |u: &Vector3<f64>, v: &Vector3<f64>| (u - p).cross(&(v - p))[axis];
    (normal[axis], [part(b, c), part(c, a), part(a, b)])
}

/// Weights of a triangle's vertices for a point in its plane, inside or not.
pub(super) fn plane_weights(w: [&Vector3<f64>; 3], p: &Vector3<f64>) -> [f64; 3] {
    let (whole, area) = areas(w, p);
    area.map(|a| a / whole)
}
