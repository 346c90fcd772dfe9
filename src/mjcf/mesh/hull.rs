//! Convex hulls of meshes.
//!
//! Qhull's, in whose order MuJoCo lists vertices, neighbours and faces: which of equally good contacts it keeps, and
//! the last bit of an inertia that is summed over the hull, depend on that. Where Qhull is not available, quickhull
//! finds the same vertices in another order.

use std::collections::HashMap;

use dualstep_qhull as qhull;

use super::{MeshErrorKind, quickhull};

type Vec3 = [f64; 3];

/// A convex hull. Vertices are numbers of mesh vertices in `vert` and `face`, and numbers into
/// `vert` in `edge`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hull {
    /// Mesh vertices on the hull, (nhullvert).
    pub vert: Vec<usize>,
    /// Triangles, counter-clockwise from outside, of mesh vertices, (nhullface).
    pub face: Vec<[usize; 3]>,
    /// Neighbours of hull vertex `i`: `edge[edge_adr[i]..edge_adr[i + 1]]`; (nhullvert + 1).
    pub edge_adr: Vec<usize>,
    /// Hull vertices, see `edge_adr`; (2·edges).
    pub edge: Vec<usize>,
}

impl Hull {
    /// From its vertices, the neighbours of each and the triangles, all of mesh vertices.
    pub(super) fn new(vert: Vec<usize>, neighbors: &[Vec<usize>], face: Vec<[usize; 3]>) -> Self {
        let number: HashMap<usize, usize> = vert.iter().enumerate().map(|(i, &v)| (v, i)).collect();
        let mut hull = Self { vert, face, edge_adr: vec![0], edge: Vec::new() };
        for around in neighbors {
            hull.edge.extend(around.iter().filter_map(|v| number.get(v)));
            hull.edge_adr.push(hull.edge.len());
        }
        hull
    }

    /// Neighbours of hull vertex `i`, as numbers into `vert`; empty if there is no such vertex.
    pub fn neighbors(&self, i: usize) -> &[usize] {
        match (self.edge_adr.get(i), self.edge_adr.get(i + 1)) {
            (Some(&from), Some(&to)) => &self.edge[from..to],
            _ => &[],
        }
    }
}

/// Convex hull of `points`, of at most `max` of them if there is such a limit.
///
/// # Errors
/// Points that Qhull finds flat; a limit that is reached where Qhull is not available, since it depends on the order
/// in which Qhull happens to add vertices.
pub fn convex_hull(points: &[Vec3], max: Option<usize>) -> Result<Hull, MeshErrorKind> {
    match qhull::convex_hull(points, max) {
        Ok(found) => Ok(Hull::new(found.vertices, &found.neighbors, found.faces)),
        Err(qhull::Error::Unavailable) => {
            let hull = quickhull::convex_hull(points).ok_or(MeshErrorKind::Hull)?;
            match max {
                Some(max) if max < hull.vert.len() => {
                    Err(MeshErrorKind::Unsupported(format!("maxhullvert {max} without Qhull")))
                }
                _ => Ok(hull),
            }
        }
        Err(_) => Err(MeshErrorKind::Hull),
    }
}

/// a × b
pub(super) fn cross(a: Vec3, b: Vec3) -> Vec3 {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

#[cfg(test)]
pub(super) mod tests {
    //! Numbers are MuJoCo 4.0.1's, in `mesh_graph`. They hold where there is Qhull.

    use super::*;

    /// Points all over a box, on a grid of integers.
    pub(in crate::mjcf::mesh) fn scattered() -> Vec<Vec3> {
        let point = |i: i32| [i * 37 % 101 - 50, i * 53 % 103 - 51, i * 71 % 107 - 53];
        (0..40).map(|i| point(i).map(f64::from)).collect()
    }

    /// A grid of 3 × 3 × 3 points.
    fn grid() -> Vec<Vec3> {
        (0..27).map(|i: i32| [i % 3, i / 3 % 3, i / 9].map(f64::from)).collect()
    }

    #[track_caller]
    fn faces(points: &[Vec3], expected: &[[usize; 3]]) {
        if qhull::AVAILABLE {
            assert_eq!(convex_hull(points, None).unwrap().face, expected);
        }
    }

    #[test]
    fn faces_come_in_the_order_of_qhull() {
        let corner = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        faces(&corner, &[[2, 1, 0], [1, 3, 0], [3, 2, 0], [2, 3, 1]]);
        let turned = [1, 0, 3, 2].map(|i: usize| corner[i]);
        faces(&turned, &[[3, 0, 1], [0, 2, 1], [2, 3, 1], [3, 2, 0]]);
        let any =
            [[0.27, -0.46, -0.92], [-0.97, 0.63, 0.83], [0.21, 0.46, 0.09], [0.87, 0.63, -0.99]];
        faces(&any, &[[3, 0, 1], [2, 3, 1], [0, 2, 1], [2, 0, 3]]);
    }

    #[test]
    fn coplanar_points_come_in_the_order_of_qhull() {
        let sides = [[6, 8, 0], [8, 2, 0], [2, 20, 0], [20, 18, 0], [8, 20, 2], [20, 8, 26]];
        let others = [[24, 6, 0], [18, 24, 0], [24, 8, 6], [8, 24, 26], [20, 24, 18], [24, 20, 26]];
        faces(&grid(), &[sides, others].concat());
    }

    #[test]
    fn vertices_and_neighbors_come_in_the_order_of_qhull() {
        if qhull::AVAILABLE {
            let hull = convex_hull(&scattered(), None).unwrap();
            assert_eq!(hull.vert, [39, 35, 19, 8, 38, 29, 22, 11, 33, 0, 27, 3, 6, 30]);
            assert_eq!(hull.neighbors(0), [12, 13, 1, 9]);
            assert_eq!(hull.neighbors(1), [4, 9, 0, 13, 3]);
            assert_eq!(hull.neighbors(2), [10, 13, 3, 4, 5]);
        }
    }

    #[test]
    fn a_hull_of_few_vertices_has_those_that_qhull_adds_first() {
        if qhull::AVAILABLE {
            let hull = convex_hull(&scattered(), Some(8)).unwrap();
            assert_eq!(hull.vert, [0, 33, 27, 35, 29, 30, 6, 3]);
            assert_eq!(hull.face.len(), 12);
            assert_eq!(hull.face[..3], [[3, 33, 0], [33, 29, 0], [29, 35, 0]]);
        }
    }

    #[test]
    fn quickhull_has_the_vertices_of_qhull() {
        for points in [grid(), scattered()] {
            let mut vert = convex_hull(&points, None).unwrap().vert;
            vert.sort_unstable();
            assert_eq!(quickhull::convex_hull(&points).unwrap().vert, vert);
        }
    }

    #[test]
    fn points_without_volume_have_no_hull() {
        let flat: Vec<Vec3> = grid().into_iter().filter(|p| p[1] == 0.0).collect();
        assert_eq!(convex_hull(&flat, None), Err(MeshErrorKind::Hull));
    }
}
