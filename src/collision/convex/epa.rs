//! Penetration of two polytopes: the face of A − B nearest to the origin, by expanding a polytope inside it.
//!
//! Source: van den Bergen, *Proximity queries and penetration depth computation on 3D game objects*, GDC 2001.

use nalgebra::Vector3;

use super::gjk::{Pair, Simplex, Vertex};

/// Progress of the nearest face below which it is on the boundary, in parts of the size of A − B.
const DONE: f64 = 1e-12;
/// Thickness of a starting tetrahedron that is none, in parts of its size.
const FLAT: f64 = 1e-9;

/// A triangle of the expanding polytope, counter-clockwise from outside.
#[derive(Clone, Copy, Debug)]
struct Triangle {
    vertex: [usize; 3],
    normal: Vector3<f64>,
    dist: f64,
}

/// Memory of the expansion.
#[derive(Clone, Debug, Default)]
pub(crate) struct Epa {
    vertex: Vec<Vertex>,
    face: Vec<Triangle>,
    rim: Vec<(usize, usize)>,
}

/// The face of A − B that is nearest to the origin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NearestFace {
    /// Three vertices in its plane.
    pub(crate) vertex: [Vertex; 3],
    /// Its normal, away from the inside of A − B: from A to B.
    pub(crate) normal: Vector3<f64>,
}

impl Epa {
    /// Expands from a simplex that contains the origin, or nearly; none if A − B is flat.
    pub(crate) fn expand(
        &mut self,
        pair: &Pair,
        start: &Simplex,
        iterations: usize,
    ) -> Option<NearestFace> {
        self.start(pair, start)?;
        let scale = self.vertex.iter().map(|v| v.w.norm()).fold(0.0, f64::max);
        for _ in 0..iterations {
            let nearest = self.nearest()?;
            let new = pair.support(&nearest.normal);
            let done = new.w.dot(&nearest.normal) - nearest.dist <= DONE * scale;
            if done || self.vertex.iter().any(|v| v.id == new.id) {
                break;
            }
            self.insert(new);
        }
        let nearest = self.nearest()?;
        Some(NearestFace { vertex: nearest.vertex.map(|v| self.vertex[v]), normal: nearest.normal })
    }

    /// The triangle nearest to the origin, the first among equals.
    fn nearest(&self) -> Option<Triangle> {
        let mut faces = self.face.iter();
        let first = faces.next()?;
        let best = faces.fold(first, |best, face| if face.dist < best.dist { face } else { best });
        best.dist.is_finite().then_some(*best)
    }

    /// A tetrahedron of the simplex, and of vertices off it where it has fewer than four.
    fn start(&mut self, pair: &Pair, start: &Simplex) -> Option<()> {
        let mut simplex = *start;
        if let [a] = *simplex.vertices() {
            simplex.push(off_point(pair, &a)?);
        }
        if let [a, b] = *simplex.vertices() {
            simplex.push(off_line(pair, &a, &b)?);
        }
        if let [a, b, c] = *simplex.vertices() {
            simplex.push(off_plane(pair, &a, &b, &c)?);
        }
        let [a, b, c, d] = *simplex.vertices() else { return None };
        let volume = (b.w - a.w).cross(&(c.w - a.w)).dot(&(d.w - a.w));
        self.vertex.clear();
        self.vertex.extend(if volume < 0.0 { [a, b, c, d] } else { [a, c, b, d] });
        self.face.clear();
        for face in [[0, 1, 2], [0, 3, 1], [1, 3, 2], [2, 3, 0]] {
            self.push(face);
        }
        Some(())
    }

    /// Adds a triangle. One without area stays, so that the surface has no hole, but is never the nearest.
    fn push(&mut self, vertex: [usize; 3]) {
        let [a, b, c] = vertex.map(|v| self.vertex[v].w);
        let normal = (b - a).cross(&(c - a)).try_normalize(f64::MIN_POSITIVE);
        let dist = normal.map_or(f64::INFINITY, |normal| normal.dot(&a));
        let normal = normal.unwrap_or_else(Vector3::zeros);
        self.face.push(Triangle { vertex, normal, dist });
    }

    /// Replaces all triangles that see the new vertex by a fan from it to their rim.
    fn insert(&mut self, new: Vertex) {
        let number = self.vertex.len();
        self.vertex.push(new);
        let Self { face, rim, .. } = self;
        rim.clear();
        face.retain(|triangle| {
            let sees = new.w.dot(&triangle.normal) > triangle.dist;
            if sees {
                let [a, b, c] = triangle.vertex;
                for (from, to) in [(a, b), (b, c), (c, a)] {
                    // an edge between two of them is inside
                    if let Some(inner) = rim.iter().position(|&edge| edge == (to, from)) {
                        rim.swap_remove(inner);
                    } else {
                        rim.push((from, to));
                    }
                }
            }
            !sees
        });
        for i in 0..self.rim.len() {
            let (from, to) = self.rim[i];
            self.push([from, to, number]);
        }
    }
}

/// A vertex away from a point.
fn off_point(pair: &Pair, a: &Vertex) -> Option<Vertex> {
    let axes = [Vector3::x(), Vector3::y(), Vector3::z()];
    let directions = axes.into_iter().flat_map(|axis| [axis, -axis]);
    let mut found = directions.map(|direction| pair.support(&direction));
    found.find(|v| (v.w - a.w).norm() > FLAT * v.w.norm())
}

/// A vertex away from a line.
fn off_line(pair: &Pair, a: &Vertex, b: &Vertex) -> Option<Vertex> {
    let line = (b.w - a.w).try_normalize(f64::MIN_POSITIVE)?;
    let across = line.cross(&Vector3::ith(line.iamin(), 1.0)).normalize();
    let other = line.cross(&across);
    let directions = [across, other, -across, -other];
    let mut found = directions.into_iter().map(|direction| pair.support(&direction));
    found.find(|v| (v.w - a.w).cross(&line).norm() > FLAT * (b.w - a.w).norm())
}

/// A vertex away from a plane, on the side of the origin if there is one.
fn off_plane(pair: &Pair, a: &Vertex, b: &Vertex, c: &Vertex) -> Option<Vertex> {
    let normal = (b.w - a.w).cross(&(c.w - a.w)).try_normalize(f64::MIN_POSITIVE)?;
    let normal = if normal.dot(&a.w) > 0.0 { -normal } else { normal };
    let mut found = [normal, -normal].into_iter().map(|direction| pair.support(&direction));
    found.find(|v| (v.w - a.w).dot(&normal).abs() > FLAT * (b.w - a.w).norm())
}
