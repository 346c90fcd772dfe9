//! Penetration of two solids: the face of A − B nearest to the origin, by expanding a polytope inside it.
//!
//! Sources: van den Bergen, *Proximity queries and penetration depth computation on 3D game objects*, GDC
//! 2001; MuJoCo nativeccd (`epa`, `polytope2` to `polytope4`), for where to start and when to stop.

use nalgebra::{Rotation3, Unit, Vector3};

use super::gjk::{Near, Stop};
use super::simplex::{det, origin_on_plane, plane_weights};
use super::solid::{Pair, Vertex};
use crate::MINVAL;

/// Squared distance of a starting face from the origin below which the origin is on it \[m²\].
const ON_FACE: f64 = MINVAL * MINVAL;
/// Room for the edges around what one vertex sees; more of them make it grow.
const MAX_RIM: usize = 24;
/// Excess of the lower over the upper bound at the start that shows that the origin is outside \[m\].
const OUTSIDE: f64 = 1e-10;

/// A triangle of the expanding polytope.
#[derive(Clone, Copy, Debug)]
struct Face {
    /// Its vertices.
    vertex: [usize; 3],
    /// Faces across the edges that start at each vertex.
    across: [usize; 3],
    /// The origin projected onto it \[m\], outward.
    foot: Vector3<f64>,
    /// Squared distance from the origin \[m²\].
    square: f64,
    /// Place among the candidates.
    place: Place,
}

/// Whether a face is part of the polytope, and can be the nearest.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Candidate(usize),
    TooFar,
    Removed,
}

/// Memory of the expansion.
#[derive(Clone, Debug, Default)]
pub(crate) struct Epa {
    vertex: Vec<Vertex>,
    face: Vec<Face>,
    /// Faces that can be the nearest.
    candidate: Vec<usize>,
    /// Edges around what the new vertex sees: the face beyond, and its edge.
    rim: Vec<(usize, usize)>,
    center: Vector3<f64>,
}

/// The face of A − B that is nearest to the origin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NearestFace {
    /// Three vertices in its plane.
    pub(crate) vertex: [Vertex; 3],
    /// Points of A and B where they are deepest in each other \[m\].
    pub(crate) x: [Vector3<f64>; 2],
    /// From A to B, unit.
    pub(crate) normal: Vector3<f64>,
    /// Depth \[m\].
    pub(crate) depth: f64,
}

impl Epa {
    /// Memory for a number of iterations.
    pub(crate) fn new(iterations: usize) -> Self {
        let mut out = Self::default();
        out.reserve(iterations);
        out
    }

    /// Forgets the last expansion, and makes room for a number of iterations.
    fn reserve(&mut self, iterations: usize) {
        self.clear();
        self.vertex.reserve(iterations + 5);
        self.face.reserve(6 * iterations.max(1));
        self.candidate.reserve(6 * iterations.max(1));
        self.rim.reserve(MAX_RIM);
    }

    /// Expands from the simplex that GJK ended with; none if the solids only touch, or rounding leaves no
    /// polytope around the origin.
    pub(crate) fn expand(
        &mut self,
        pair: &mut Pair,
        near: &Near,
        stop: Stop,
    ) -> Option<NearestFace> {
        self.reserve(stop.iterations);
        match *near.simplex.vertices() {
            [a, b] => self.start_from_segment(pair, a, b)?,
            [a, b, c] => self.start_from_triangle(pair, &[a, b, c])?,
            [a, b, c, d] => self.start_from_tetrahedron(pair, &[a, b, c, d])?,
            _ => return None,
        }
        let nearest = self.grow(pair, stop)?;
        let face = &self.face[nearest];
        let vertex = face.vertex.map(|v| self.vertex[v]);
        let weight = plane_weights([&vertex[0].w, &vertex[1].w, &vertex[2].w], &face.foot);
        let x = [0, 1].map(|i| {
            vertex[0].p[i] * weight[0] + vertex[1].p[i] * weight[1] + vertex[2].p[i] * weight[2]
        });
        let normal = face.foot.try_normalize(f64::MIN_POSITIVE)?;
        Some(NearestFace { vertex, x, normal, depth: face.square.sqrt() })
    }

    /// Adds supports until the nearest face is on the boundary of A − B.
    fn grow(&mut self, pair: &mut Pair, stop: Stop) -> Option<usize> {
        let discrete = pair.is_discrete();
        let tolerance = if discrete { MINVAL } else { stop.tolerance };
        let mut upper = f64::MAX;
        let mut nearest = None;
        let limit = 6 * stop.iterations;
        for k in 0..stop.iterations.min(1000) {
            let Some(new) = self.nearest(upper * upper) else { break };
            nearest = Some(new);
            let (foot, square) = (self.face[new].foot, self.face[new].square);
            if square <= 0.0 {
                break;
            }
            let lower = square.sqrt();
            let w = self.add_support(pair, &foot, lower);
            let reached = foot.dot(&self.vertex[w].w) / lower;
            upper = upper.min(reached);
            if reached - lower < tolerance {
                if k == 0 && upper < lower - OUTSIDE {
                    return None;
                }
                break;
            }
            let last = &self.vertex[w];
            if discrete && self.vertex[..w].iter().any(|v| pair.repeats(v, last)) {
                break;
            }
            self.cut(new, w);
            if self.rim.len() < 3 {
                return None;
            }
            if self.face.len() + self.rim.len() > limit {
                break;
            }
            self.close(w, square, upper * upper)?;
            if self.candidate.is_empty() {
                break;
            }
        }
        nearest
    }

    /// The candidate nearest to the origin, the first among equals, if it is not beyond a bound.
    fn nearest(&self, bound: f64) -> Option<usize> {
        let mut best: Option<usize> = None;
        for &f in &self.candidate {
            let least = best.map_or(f64::MAX, |best| self.face[best].square);
            if self.face[f].square < least {
                best = Some(f);
            }
        }
        best.filter(|&best| self.face[best].square <= bound)
    }

    /// Removes all faces that see a vertex, and lists the edges around them.
    fn cut(&mut self, from: usize, w: usize) {
        self.rim.clear();
        self.remove(from);
        for k in 0..3 {
            let (next, end) = self.neighbor(from, k);
            if k == 0 || self.face[next].place != Place::Removed {
                self.cut_beyond(next, self.edge_from(next, end), w);
            }
        }
    }

    /// The face across an edge, and the vertex at which the edge starts there.
    fn neighbor(&self, face: usize, edge: usize) -> (usize, usize) {
        (self.face[face].across[edge], self.face[face].vertex[(edge + 1) % 3])
    }

    /// The edge of a face that starts at a vertex.
    fn edge_from(&self, face: usize, vertex: usize) -> usize {
        let [a, b, _] = self.face[face].vertex;
        if a == vertex {
            0
        } else if b == vertex {
            1
        } else {
            2
        }
    }

    /// Removes a face and those beyond it if it sees a vertex; otherwise the edge over which it was reached is
    /// on the rim.
    fn cut_beyond(&mut self, face: usize, edge: usize, w: usize) {
        let Face { foot, square, .. } = self.face[face];
        if foot.dot(&self.vertex[w].w) - square <= MINVAL {
            self.rim.push((face, edge));
            return;
        }
        self.remove(face);
        for k in 1..3 {
            let (next, end) = self.neighbor(face, (edge + k) % 3);
            if self.face[next].place != Place::Removed {
                self.cut_beyond(next, self.edge_from(next, end), w);
            }
        }
    }

    fn remove(&mut self, face: usize) {
        if let Place::Candidate(place) = self.face[face].place {
            self.candidate.swap_remove(place);
            if let Some(&moved) = self.candidate.get(place) {
                self.face[moved].place = Place::Candidate(place);
            }
        }
        self.face[face].place = Place::Removed;
    }

    /// Joins the rim to a vertex; none if a new face has no distance from the origin.
    fn close(&mut self, w: usize, lower: f64, upper: f64) -> Option<()> {
        let (first, n) = (self.face.len(), self.rim.len());
        for i in 0..n {
            let (beyond, edge) = self.rim[i];
            let [from, to] = [edge, (edge + 1) % 3].map(|e| self.face[beyond].vertex[e]);
            self.face[beyond].across[edge] = first + i;
            let (before, after) = (first + (i + n - 1) % n, first + (i + 1) % n);
            let square = self.attach([w, to, from], [before, beyond, after]);
            if square == 0.0 {
                return None;
            }
            if (lower..=upper).contains(&square) {
                self.nominate(first + i);
            }
        }
        Some(())
    }

    fn nominate(&mut self, face: usize) {
        self.face[face].place = Place::Candidate(self.candidate.len());
        self.candidate.push(face);
    }

    /// Adds a face, and returns its squared distance from the origin.
    fn attach(&mut self, vertex: [usize; 3], across: [usize; 3]) -> f64 {
        let [a, b, c] = vertex.map(|v| self.vertex[v].w);
        let found = origin_on_plane([&c, &b, &a]);
        let mut foot = found.unwrap_or_else(Vector3::zeros);
        if foot.dot(&(a - self.center)) < 0.0 {
            foot = -foot;
        }
        let square = foot.norm_squared();
        self.face.push(Face { vertex, across, foot, square, place: Place::TooFar });
        square
    }

    /// Adds the support in a direction of a given length, and returns its number.
    fn add_support(&mut self, pair: &mut Pair, direction: &Vector3<f64>, length: f64) -> usize {
        let unit = if length > MINVAL { direction / length } else { Vector3::x() };
        self.add(pair.support(&unit))
    }

    fn add(&mut self, v: Vertex) -> usize {
        self.vertex.push(v);
        self.vertex.len() - 1
    }

    fn clear(&mut self) {
        self.vertex.clear();
        self.face.clear();
        self.candidate.clear();
    }

    /// Starting faces, all of them candidates. `Err` is the first that contains the origin, by its vertices.
    fn start(&mut self, faces: &[([usize; 3], [usize; 3])]) -> Result<(), [usize; 3]> {
        for &(vertex, across) in faces {
            if self.attach(vertex, across) < ON_FACE {
                return Err(vertex);
            }
        }
        (0..faces.len()).for_each(|f| self.nominate(f));
        Ok(())
    }

    /// Three supports around a segment make a double pyramid.
    fn start_from_segment(&mut self, pair: &mut Pair, a: Vertex, b: Vertex) -> Option<()> {
        self.center = (a.w + b.w) * 0.5;
        let along = b.w - a.w;
        let shortest =
            |best: usize, k: usize| if along[k].abs() < along[best].abs() { k } else { best };
        let axis = Vector3::ith(shortest(shortest(0, 1), 2), 1.0);
        let third = 2.0 * std::f64::consts::FRAC_PI_3;
        let turn = Rotation3::from_axis_angle(&Unit::try_new(along, 0.0)?, third);
        let first = axis.cross(&along);
        let [a, b] = [a, b].map(|v| self.add(v));
        let (second, last) = (turn * first, turn * (turn * first));
        let [c, d, e] = [first, second, last].map(|dir| self.add_support(pair, &dir, dir.norm()));
        let faces = [
            ([a, c, d], [1, 3, 2]),
            ([a, e, c], [2, 4, 0]),
            ([a, d, e], [0, 5, 1]),
            ([b, d, c], [5, 0, 4]),
            ([b, c, e], [3, 1, 5]),
            ([b, e, d], [4, 2, 3]),
        ];
        if let Err(face) = self.start(&faces) {
            return self.start_from_triangle(pair, &face.map(|v| self.vertex[v]));
        }
        // the segment must pass through the middle triangle
        let from = |v: usize| self.vertex[v].w - self.vertex[a].w;
        let (axis, c, d, e) = (from(b), from(c), from(d), from(e));
        let volume = [det(&c, &d, &axis), det(&d, &e, &axis), det(&e, &c, &axis)];
        let through = volume.iter().all(|&v| v >= 0.0) || volume.iter().all(|&v| v <= 0.0);
        through.then_some(())
    }

    /// A support on either side of a triangle makes a double pyramid.
    fn start_from_triangle(&mut self, pair: &mut Pair, v: &[Vertex; 3]) -> Option<()> {
        self.clear();
        let [a, b, c] = v.map(|v| v.w);
        self.center = ((a + b) + c) * (1.0 / 3.0);
        let normal = (b - a).cross(&(c - a));
        let length = normal.norm();
        if length < MINVAL {
            return None;
        }
        let [first, second, third] = v.map(|v| self.add(v));
        let lower = self.add_support(pair, &-normal, length);
        let upper = self.add_support(pair, &normal, length);
        let [low, high] = [lower, upper].map(|v| self.vertex[v].w);
        if on_triangle([&a, &b, &c], &high) || on_triangle([&a, &b, &c], &low) {
            return None;
        }
        let faces = [
            ([upper, first, second], [1, 3, 2]),
            ([upper, third, first], [2, 4, 0]),
            ([upper, second, third], [0, 5, 1]),
            ([lower, second, first], [5, 0, 4]),
            ([lower, first, third], [3, 1, 5]),
            ([lower, third, second], [4, 2, 3]),
        ];
        self.start(&faces).ok()
    }

    fn start_from_tetrahedron(&mut self, pair: &mut Pair, v: &[Vertex; 4]) -> Option<()> {
        let w = v.map(|v| v.w);
        self.center = (((w[0] + w[1]) + w[2]) + w[3]) * 0.25;
        let [a, b, c, d] = v.map(|v| self.add(v));
        let faces = [
            ([a, b, c], [1, 3, 2]),
            ([a, d, b], [2, 3, 0]),
            ([a, c, d], [0, 3, 1]),
            ([d, c, b], [2, 0, 1]),
        ];
        if let Err(face) = self.start(&faces) {
            return self.start_from_triangle(pair, &face.map(|v| self.vertex[v]));
        }
        holds_origin([&w[0], &w[1], &w[2], &w[3]]).then_some(())
    }
}

/// True if a point is in a triangle.
fn on_triangle(w: [&Vector3<f64>; 3], p: &Vector3<f64>) -> bool {
    let weight = plane_weights(w, p);
    let projected = w[0] * weight[0] + w[1] * weight[1] + w[2] * weight[2];
    weight.iter().all(|&x| x >= 0.0) && (projected - p).norm() < MINVAL
}

/// True if the origin is inside of a tetrahedron.
fn holds_origin(w: [&Vector3<f64>; 4]) -> bool {
    (0..4).all(|i| {
        let [a, b, c, d] = [0, 1, 2, 3].map(|k| w[(i + k) % 4]);
        let normal = (b - a).cross(&(c - a));
        let (inner, origin) = (normal.dot(&(d - a)), normal.dot(&-a));
        inner > 0.0 && origin > 0.0 || inner < 0.0 && origin < 0.0
    })
}
