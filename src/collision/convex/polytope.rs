//! Convex polytopes: boxes, and the hulls of meshes.

use std::collections::HashMap;

use nalgebra::Vector3;

use crate::model::{GeomType, Mesh, Model};

/// Corners of the polygon that stands for the cap of a cylinder; found by probing MuJoCo 4.0.1.
const CAP_CORNERS: usize = 16;

/// Number of vertices from which on the support is found by climbing (`mjMESH_HILLCLIMB_MIN`).
const CLIMB_FROM: usize = 10;

/// Coordinate of a direction beyond which it is up or down.
const LEVEL: f64 = 0.4;

/// A convex polytope in the frame of its geom.
#[derive(Clone, Debug, Default)]
pub(crate) struct Polytope {
    /// Vertices \[m\].
    pub(crate) vert: Vec<Vector3<f64>>,
    /// Outward normals of the faces, unit.
    pub(crate) normal: Vec<Vector3<f64>>,
    /// Vertices of all faces, counter-clockwise from outside.
    loops: Vec<usize>,
    /// Where the loop of each face starts; one more than faces.
    loop_adr: Vec<usize>,
    /// Faces around all vertices.
    around: Vec<usize>,
    /// Where the faces around each vertex start; one more than vertices.
    around_adr: Vec<usize>,
    /// How to find its support without looking at all vertices, if they are many.
    climb: Option<Climb>,
}

/// The graph of vertices and edges, on which a climb that always goes to the best neighbour ends at the top,
/// since the polytope is convex.
#[derive(Clone, Debug)]
struct Climb {
    /// Neighbours of all vertices.
    edge: Vec<usize>,
    /// Where the neighbours of each vertex start; one more than vertices.
    edge_adr: Vec<usize>,
    /// Where to start, for directions of which every coordinate is down, level or up.
    start: [usize; 27],
}

impl Polytope {
    /// The polytope of a geom; none for other shapes, and for meshes without a convex hull.
    pub(crate) fn of_geom(m: &Model, g: usize) -> Option<Self> {
        match m.geom_type[g] {
            GeomType::Box => Some(Self::cuboid(&m.geom_size[g])),
            GeomType::Cylinder => Some(Self::caps(m.geom_size[g].x, m.geom_size[g].y)),
            GeomType::Mesh => {
                m.geom_dataid[g].and_then(|id| m.mesh.get(id)).and_then(Self::of_mesh)
            }
            _ => None,
        }
    }

    /// No vertices and no faces.
    pub(crate) fn none() -> &'static Self {
        static NONE: Polytope = Polytope {
            vert: Vec::new(),
            normal: Vec::new(),
            loops: Vec::new(),
            loop_adr: Vec::new(),
            around: Vec::new(),
            around_adr: Vec::new(),
            climb: None,
        };
        &NONE
    }

    /// The two caps of a cylinder, as regular polygons.
    fn caps(radius: f64, half: f64) -> Self {
        let rim = |z: f64| {
            (0..CAP_CORNERS).map(move |i| {
                let angle = std::f64::consts::TAU * i as f64 / CAP_CORNERS as f64;
                Vector3::new(radius * angle.cos(), radius * angle.sin(), z)
            })
        };
        let vert: Vec<_> = rim(half).chain(rim(-half)).collect();
        let faces = [(0..CAP_CORNERS).collect(), (CAP_CORNERS..2 * CAP_CORNERS).rev().collect()];
        Self::new(vert, vec![Vector3::z(), -Vector3::z()], &faces)
    }

    /// A box with half sizes `size`; bit k of a vertex is the sign of its coordinate k.
    fn cuboid(size: &Vector3<f64>) -> Self {
        let sign = |v: usize, k: usize| if v >> k & 1 == 1 { 1.0 } else { -1.0 };
        let vert = (0..8).map(|v| Vector3::from_fn(|k, _| sign(v, k) * size[k])).collect();
        // +x, −x, +y, −y, +z, −z; where each loop starts decides which contacts are kept
        let faces =
            [[5, 1, 3, 7], [0, 4, 6, 2], [6, 7, 3, 2], [0, 1, 5, 4], [4, 5, 7, 6], [1, 0, 2, 3]];
        let faces = faces.map(|face| face.to_vec());
        let outward = |f: usize| Vector3::ith(f / 2, if f.is_multiple_of(2) { 1.0 } else { -1.0 });
        Self::new(vert, (0..6).map(outward).collect(), &faces)
    }

    /// The convex hull of a mesh.
    fn of_mesh(mesh: &Mesh) -> Option<Self> {
        let hull = mesh.hull.as_ref()?;
        // a search through all vertices may end at one that is not on the hull, but as far out
        let climbs = mesh.vert.len() >= CLIMB_FROM;
        let number: Vec<usize> =
            if climbs { hull.vert.clone() } else { (0..mesh.vert.len()).collect() };
        let vert: Vec<_> = number.iter().map(|&v| Vector3::from(mesh.vert[v])).collect();
        let local: HashMap<usize, usize> =
            number.iter().enumerate().map(|(i, &v)| (v, i)).collect();
        let corners =
            |face: &Vec<usize>| face.iter().map(|v| local.get(v).copied()).collect::<Option<_>>();
        let faces = mesh.polygon.iter().map(corners).collect::<Option<Vec<Vec<usize>>>>()?;
        let normal = mesh.polynormal.iter().copied().map(Vector3::from).collect();
        let mut out = Self::new(vert, normal, &faces);
        if climbs {
            let start = Climb::start(&out.vert);
            let (edge, edge_adr) = (hull.edge.clone(), hull.edge_adr.clone());
            out.climb = Some(Climb { edge, edge_adr, start });
        }
        Some(out)
    }

    /// From vertices, and the normal and the vertices of each face.
    fn new(vert: Vec<Vector3<f64>>, normal: Vec<Vector3<f64>>, faces: &[Vec<usize>]) -> Self {
        let mut out = Self { normal, loop_adr: vec![0], around_adr: vec![0], ..Self::default() };
        for face in faces {
            out.loops.extend(face);
            out.loop_adr.push(out.loops.len());
        }
        for v in 0..vert.len() {
            out.around.extend((0..faces.len()).filter(|&f| faces[f].contains(&v)));
            out.around_adr.push(out.around.len());
        }
        out.vert = vert;
        out
    }

    /// Vertices of a face, counter-clockwise from outside.
    pub(crate) fn face(&self, f: usize) -> &[usize] {
        &self.loops[self.loop_adr[f]..self.loop_adr[f + 1]]
    }

    /// Faces around a vertex.
    pub(crate) fn faces_at(&self, v: usize) -> &[usize] {
        &self.around[self.around_adr[v]..self.around_adr[v + 1]]
    }

    /// The vertex that is furthest in a direction, the first among equals. The search starts at `last`.
    ///
    /// Source: MuJoCo `mjc_meshSupport`, `mjc_hillclimbSupport`.
    pub(crate) fn support(&self, direction: &Vector3<f64>, last: Option<usize>) -> usize {
        let height = |v: usize| direction.dot(&self.vert[v]);
        let higher = |best: (f64, usize), v: usize| {
            let height = height(v);
            if height > best.0 { (height, v) } else { best }
        };
        let from = |v: usize| (height(v), v);
        let Some(climb) = &self.climb else {
            return (0..self.vert.len()).fold(from(last.unwrap_or(0)), higher).1;
        };
        let start = climb.start[octant(direction)];
        let mut best = last.map_or_else(|| from(start), |last| higher(from(last), start));
        loop {
            let here = best.1;
            let neighbors = &climb.edge[climb.edge_adr[here]..climb.edge_adr[here + 1]];
            best = neighbors.iter().fold(best, |best, &v| higher(best, v));
            if best.1 == here {
                return here;
            }
        }
    }
}

impl Climb {
    /// The highest vertex along the 27 directions, in single precision as MuJoCo computes it.
    #[expect(clippy::cast_possible_truncation, reason = "vertices are single-precision numbers")]
    fn start(vert: &[Vector3<f64>]) -> [usize; 27] {
        std::array::from_fn(|k| {
            let direction = [k / 9, k / 3 % 3, k % 3].map(|i| [-1.0_f32, 0.0, 1.0][i]);
            let mut best = (f32::MIN, 0);
            for (v, p) in vert.iter().enumerate() {
                let [x, y, z] = [p.x as f32, p.y as f32, p.z as f32];
                let height = x * direction[0] + y * direction[1] + z * direction[2];
                if height > best.0 {
                    best = (height, v);
                }
            }
            best.1
        })
    }
}

/// Which of the 27 starts is nearest to a direction.
fn octant(direction: &Vector3<f64>) -> usize {
    direction
        .iter()
        .fold(0, |number, &x| 3 * number + 1 + usize::from(x > LEVEL) - usize::from(x < -LEVEL))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cuboid_has_six_faces_that_look_outward() {
        let p = Polytope::cuboid(&Vector3::new(1.0, 2.0, 3.0));
        assert_eq!((p.vert.len(), p.normal.len()), (8, 6));
        for f in 0..6 {
            let center: Vector3<f64> = p.face(f).iter().map(|&v| p.vert[v] / 4.0).sum();
            assert!((center.normalize() - p.normal[f]).norm() < 1e-15);
        }
        assert!((0..8).all(|v| p.faces_at(v).len() == 3));
        assert_eq!(p.support(&Vector3::new(1.0, -1.0, 1.0), None), 5);
    }
}
