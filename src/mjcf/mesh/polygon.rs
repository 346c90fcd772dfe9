//! Faces of a convex hull: its triangles, joined where they lie in one plane.
//!
//! Where a face begins decides which of its corners MuJoCo keeps as contacts, and the order of the faces which of
//! several equally good ones it takes. So both are MuJoCo's, down to the order in which the hash table of its
//! compiler's library runs through the planes.
//!
//! Source: MuJoCo `mjCMesh::MakePolygons`, `mjCMesh::MakePolygonNormals`.

use std::collections::HashMap;

use super::hull::cross;
use super::table;

type Vec3 = [f64; 3];

/// Step \[rad\] to which the angles of normals are rounded to tell whether triangles lie in one plane.
const SAME_PLANE: f64 = 0.01;

/// Height of a unit normal above which it is a pole, where azimuths mean nothing.
const POLE: f64 = 1.0 - 1e-7;

/// The faces of a hull, counter-clockwise from outside where its triangles are; vertices as in `vert`.
pub(super) fn polygons(vert: &[Vec3], triangles: &[[usize; 3]]) -> Vec<Vec<usize>> {
    let mut number = HashMap::new();
    let mut hashes = Vec::new();
    let mut planes: Vec<Plane> = Vec::new();
    for &triangle in triangles {
        let Some(angles) = plane_angles(vert, triangle) else { continue };
        let plane = *number.entry(angles.map(f64::to_bits)).or_insert_with(|| {
            hashes.push(table::hash(angles));
            planes.push(Plane::default());
            planes.len() - 1
        });
        planes[plane].insert(triangle);
    }
    let order = table::order(&hashes);
    let paths = order.into_iter().flat_map(|plane| planes[plane].paths());
    paths.filter(|path| path.len() > 2).collect()
}

/// The rims of triangles in one plane. They need not touch: those that do are an island.
#[derive(Default)]
struct Plane {
    /// Edges of the rims, from → to.
    edge: Vec<(usize, usize)>,
    /// The island that each edge is on.
    island: Vec<usize>,
    /// Number of islands.
    islands: usize,
}

impl Plane {
    /// Adds a triangle. An edge between two triangles is on no rim.
    fn insert(&mut self, [a, b, c]: [usize; 3]) {
        let edges = [(a, b), (b, c), (c, a)];
        let mut joined = None;
        let inner = edges.map(|(from, to)| {
            let Some(twin) = self.edge.iter().position(|&edge| edge == (to, from)) else {
                return false;
            };
            let other = self.island[twin];
            joined = Some(joined.map_or(other, |island| self.join(island, other)));
            self.edge.remove(twin);
            self.island.remove(twin);
            true
        });
        let island = joined.unwrap_or_else(|| {
            self.islands += 1;
            self.islands - 1
        });
        for (edge, _) in edges.into_iter().zip(inner).filter(|(_, inner)| !inner) {
            self.edge.push(edge);
            self.island.push(island);
        }
    }

    /// Makes one island of two and returns its number.
    fn join(&mut self, one: usize, two: usize) -> usize {
        let (lower, upper) = (one.min(two), one.max(two));
        if lower < upper {
            for island in &mut self.island {
                *island =
                    if *island == upper { lower } else { *island - usize::from(*island > upper) };
            }
            self.islands -= 1;
        }
        lower
    }

    /// The rims, each from its first edge on; open ones are dropped.
    fn paths(&self) -> Vec<Vec<usize>> {
        (0..self.islands).filter_map(|island| self.path(island)).collect()
    }

    /// The rim of an island. The edge of the plane that is first of all is not gone through again.
    fn path(&self, island: usize) -> Option<Vec<usize>> {
        let on = |i: &usize| self.island[*i] == island;
        let (start, mut at) = self.edge[(0..self.edge.len()).find(on)?];
        let mut path = vec![start, at];
        for _ in 0..self.edge.len() {
            let leaves = (1..self.edge.len()).filter(on).find(|&i| self.edge[i].0 == at);
            at = self.edge[leaves?].1;
            if at == start {
                return Some(path);
            }
            path.push(at);
        }
        None
    }
}

/// Unit normal of a polygon: its vector area, exact for plane polygons, a mean for others.
///
/// Source: Newell's method; Sutherland, Sproull, Schumacker, *A characterization of ten hidden-surface algorithms*,
/// Computing Surveys 6 (1974).
pub(super) fn normal(vert: &[Vec3], polygon: &[usize]) -> Vec3 {
    let mut area = [0.0; 3];
    for (i, &v) in polygon.iter().enumerate() {
        let (p, q) = (vert[v], vert[polygon[(i + 1) % polygon.len()]]);
        for (k, sum) in area.iter_mut().enumerate() {
            let (y, z) = ((k + 1) % 3, (k + 2) % 3);
            *sum += (p[y] - q[y]) * (p[z] + q[z]);
        }
    }
    let length = area.iter().map(|x| x * x).sum::<f64>().sqrt();
    if length > 0.0 { area.map(|x| x / length) } else { [0.0, 0.0, 1.0] }
}

/// The plane of a triangle, by the angles of its normal, rounded and in steps: azimuth and inclination; none without
/// area.
fn plane_angles(vert: &[Vec3], [a, b, c]: [usize; 3]) -> Option<[f64; 2]> {
    let from_a = |v: usize| [0, 1, 2].map(|k| vert[v][k] - vert[a][k]);
    let normal = cross(from_a(b), from_a(c));
    let length = normal.iter().map(|x| x * x).sum::<f64>().sqrt();
    if length.is_nan() || length < crate::MINVAL {
        return None;
    }
    // −0 would turn the azimuth by π, and be another number than 0 in the end
    let [x, y, z] = normal.map(|x| x / length + 0.0);
    let round = |angle: f64| (angle / SAME_PLANE).round() + 0.0;
    Some(if z.abs() > POLE {
        [0.0, if z < 0.0 { round(std::f64::consts::PI) } else { 0.0 }]
    } else {
        [round(y.atan2(x)), round(z.acos())]
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mjcf::mesh::hull::convex_hull;
    use crate::mjcf::mesh::hull::tests::scattered;

    fn cube() -> Vec<Vec3> {
        (0..8).map(|v| [0, 1, 2].map(|k| f64::from(v >> k & 1))).collect()
    }

    #[test]
    fn the_twelve_triangles_of_a_cube_are_six_faces_that_look_outward() {
        let vert = cube();
        let faces = polygons(&vert, &convex_hull(&vert, None).unwrap().face);
        assert_eq!(faces.len(), 6);
        for face in faces {
            assert_eq!(face.len(), 4);
            let n = normal(&vert, &face);
            let center = [0, 1, 2].map(|k| face.iter().map(|&v| vert[v][k]).sum::<f64>() / 4.0);
            for k in 0..3 {
                assert!((2.0 * (center[k] - 0.5) - n[k]).abs() < 1e-15);
            }
        }
    }

    #[test]
    fn triangles_that_do_not_touch_are_faces_of_their_own() {
        let vert = cube();
        assert_eq!(polygons(&vert, &[[0, 1, 3], [4, 5, 7]]), [[0, 1, 3], [4, 5, 7]]);
        assert_eq!(polygons(&vert, &[[0, 1, 1]]), Vec::<Vec<usize>>::new());
    }

    #[test]
    fn faces_come_in_the_order_of_mujoco() {
        // as MuJoCo 4.0.1 has them in mesh_polyvert; the first is of two triangles 0.01 rad apart
        let vert = scattered();
        let hull = convex_hull(&vert, None).unwrap();
        if !dualstep_qhull::AVAILABLE {
            return;
        }
        let faces = polygons(&vert, &hull.face);
        assert_eq!(faces[..2], [[27, 3, 6, 30], [22, 33, 11, 0]]);
        let triangles = [
            [19, 38, 29],
            [19, 27, 30],
            [35, 39, 0],
            [19, 8, 38],
            [39, 6, 0],
            [3, 27, 33],
            [27, 29, 33],
            [6, 39, 30],
            [39, 35, 30],
            [38, 35, 0],
            [38, 8, 35],
            [6, 22, 0],
            [29, 11, 33],
            [8, 19, 30],
            [22, 3, 33],
            [27, 19, 29],
            [29, 38, 0],
            [35, 8, 30],
            [22, 6, 3],
            [11, 29, 0],
        ];
        assert_eq!(faces[2..], triangles);
    }

    #[test]
    fn corners_begin_where_mujoco_has_them() {
        // a cube without its corners; as in mesh_polyvert
        let corner = |v: i32, p: [i32; 3]| {
            [2, 1, 0].map(|k| p[2 - k] * if v >> k & 1 == 1 { 1 } else { -1 })
        };
        let of = |p: [i32; 3]| (0..8).map(move |v| corner(v, p).map(f64::from));
        let vert: Vec<Vec3> = of([4, 4, 3]).chain(of([4, 3, 4])).chain(of([3, 4, 4])).collect();
        let hull = convex_hull(&vert, None).unwrap();
        if !dualstep_qhull::AVAILABLE {
            return;
        }
        let faces = polygons(&vert, &hull.face);
        assert_eq!(faces.len(), 14);
        assert_eq!(faces[0], [14, 6, 7, 15, 13, 5, 4, 12]);
        assert_eq!(faces[1], [6, 22, 18, 2, 3, 19, 23, 7]);
        assert_eq!(faces[2], [1, 0, 16, 20, 4, 5, 21, 17]);
        assert_eq!(faces[5], [1, 17, 9]);
        assert_eq!(faces[6], [0, 1, 9, 11, 3, 2, 10, 8]);
        assert_eq!(faces[13], [8, 16, 0]);
    }

    #[test]
    fn a_triangle_of_three_has_one_rim() {
        let mut plane = Plane::default();
        for triangle in [[0, 1, 3], [1, 2, 3], [2, 0, 3]] {
            plane.insert(triangle);
        }
        assert_eq!(plane.paths(), [[0, 1, 2]]);
    }

    #[test]
    fn islands_join_when_a_triangle_connects_them() {
        let mut plane = Plane::default();
        plane.insert([0, 1, 2]);
        plane.insert([3, 4, 5]);
        assert_eq!(plane.paths().len(), 2);
        plane.insert([2, 1, 3]);
        plane.insert([3, 1, 4]);
        let expected: Vec<Vec<usize>> = vec![vec![0, 1, 4, 5, 3, 2]];
        assert_eq!(plane.paths(), expected);
    }
}
