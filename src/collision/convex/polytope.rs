//! Convex polytopes: boxes, and the hulls of meshes.

use std::collections::HashMap;

use nalgebra::Vector3;

use crate::model::{GeomType, Mesh, Model};

/// Step \[rad\] to which the angles of normals are rounded to tell whether faces lie in one plane.
const SAME_PLANE: f64 = 0.01;

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
}

impl Polytope {
    /// The polytope of a geom; none for other shapes, and for meshes without a convex hull.
    pub(crate) fn of_geom(m: &Model, g: usize) -> Option<Self> {
        match m.geom_type[g] {
            GeomType::Box => Some(Self::cuboid(&m.geom_size[g])),
            GeomType::Mesh => {
                m.geom_dataid[g].and_then(|id| m.mesh.get(id)).and_then(Self::of_mesh)
            }
            _ => None,
        }
    }

    /// A box with half sizes `size`; bit k of a vertex is the sign of its coordinate k.
    fn cuboid(size: &Vector3<f64>) -> Self {
        let sign = |v: usize, k: usize| if v >> k & 1 == 1 { 1.0 } else { -1.0 };
        let vert = (0..8).map(|v| Vector3::from_fn(|k, _| sign(v, k) * size[k])).collect();
        let mut faces = Vec::new();
        for axis in 0..3 {
            let (u, v) = (1 << ((axis + 1) % 3), 1 << ((axis + 2) % 3));
            let lower = [u, 0, v, u | v];
            let mut upper = lower.map(|corner| corner | 1 << axis);
            upper.reverse();
            faces.extend([upper.to_vec(), lower.to_vec()]);
        }
        Self::new(vert, &faces)
    }

    /// The convex hull of a mesh, with neighbouring triangles in one plane joined.
    ///
    /// Source: MuJoCo `mjCMesh::MakePolygons`.
    fn of_mesh(mesh: &Mesh) -> Option<Self> {
        let hull = mesh.hull.as_ref()?;
        let vert: Vec<_> = hull.vert.iter().map(|&v| Vector3::from(mesh.vert[v])).collect();
        let local = |v: usize| hull.vert.binary_search(&v).ok();
        let triangles = hull.face.iter().map(|f| Some([local(f[0])?, local(f[1])?, local(f[2])?]));
        let triangles = triangles.collect::<Option<Vec<_>>>()?;
        let plane: Vec<_> = triangles.iter().map(|t| plane_key(&vert, t)).collect();

        let edges = |t: [usize; 3]| [(t[0], t[1]), (t[1], t[2]), (t[2], t[0])];
        let owner: HashMap<_, _> = (triangles.iter().enumerate())
            .flat_map(|(i, &t)| edges(t).map(|edge| (edge, i)))
            .collect();
        let beyond = |(a, b): (usize, usize)| owner.get(&(b, a)).copied();

        // facets: triangles in one plane that hang together; their rims are the faces
        let mut facet = vec![usize::MAX; triangles.len()];
        let mut faces = Vec::new();
        for seed in 0..triangles.len() {
            if facet[seed] != usize::MAX {
                continue;
            }
            let (mut members, mut next) = (vec![seed], 0);
            facet[seed] = seed;
            while next < members.len() {
                for other in edges(triangles[members[next]]).into_iter().filter_map(beyond) {
                    if facet[other] == usize::MAX && plane[other] == plane[seed] {
                        facet[other] = seed;
                        members.push(other);
                    }
                }
                next += 1;
            }
            let rim: HashMap<_, _> = (members.iter())
                .flat_map(|&t| edges(triangles[t]))
                .filter(|&edge| beyond(edge).is_none_or(|other| facet[other] != seed))
                .collect();
            faces.extend(closed_loop(&rim));
        }
        Some(Self::new(vert, &faces))
    }

    /// From vertices and the vertices of each face.
    fn new(vert: Vec<Vector3<f64>>, faces: &[Vec<usize>]) -> Self {
        let mut out = Self { loop_adr: vec![0], around_adr: vec![0], ..Self::default() };
        for face in faces {
            // twice the vector area: exact for plane faces, a mean for others
            let next = face.iter().cycle().skip(1);
            let area: Vector3<f64> =
                face.iter().zip(next).map(|(&a, &b)| vert[a].cross(&vert[b])).sum();
            out.normal.push(area.normalize());
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

    /// The vertex that is furthest in a direction, the first among equals.
    pub(crate) fn support(&self, direction: &Vector3<f64>) -> usize {
        let mut best = (f64::NEG_INFINITY, 0);
        for (v, vert) in self.vert.iter().enumerate() {
            let along = vert.dot(direction);
            if along > best.0 {
                best = (along, v);
            }
        }
        best.1
    }
}

/// The plane of a triangle, by the rounded spherical angles of its normal; none without area.
#[expect(clippy::cast_possible_truncation, reason = "rounded angles are small")]
fn plane_key(vert: &[Vector3<f64>], t: &[usize; 3]) -> Option<[i64; 2]> {
    let normal = (vert[t[1]] - vert[t[0]]).cross(&(vert[t[2]] - vert[t[0]]));
    let normal = normal.try_normalize(crate::MINVAL)?;
    // −0 would turn the azimuth by π
    let azimuth = (normal.y + 0.0).atan2(normal.x + 0.0);
    let polar = normal.z.clamp(-1.0, 1.0).acos();
    let at_pole = normal.z.abs() > 1.0 - 1e-7;
    let round = |angle: f64| (angle / SAME_PLANE).round() as i64;
    Some([if at_pole { 0 } else { round(azimuth) }, round(polar)])
}

/// The closed path along edges from → to; none if it does not close.
fn closed_loop(edges: &HashMap<usize, usize>) -> Option<Vec<usize>> {
    let start = *edges.keys().min()?;
    let mut path = vec![start];
    loop {
        let next = *edges.get(path.last()?)?;
        if next == start {
            return (path.len() > 2).then_some(path);
        }
        if path.len() > edges.len() {
            return None;
        }
        path.push(next);
    }
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
        assert_eq!(p.support(&Vector3::new(1.0, -1.0, 1.0)), 5);
    }
}
