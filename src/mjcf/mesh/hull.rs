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
mod tests {
    use super::*;

    #[test]
    fn faces_of_a_tetrahedron_come_in_the_order_of_qhull() {
        // as MuJoCo 4.0.1 has them in mesh_face
        let corner = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        let hull = convex_hull(&corner, None).unwrap();
        assert_eq!(hull.face, [[2, 1, 0], [1, 3, 0], [3, 2, 0], [2, 3, 1]]);
        let turned = [1, 0, 3, 2].map(|i: usize| corner[i]);
        let hull = convex_hull(&turned, None).unwrap();
        assert_eq!(hull.face, [[3, 0, 1], [0, 2, 1], [2, 3, 1], [3, 2, 0]]);
        let any =
            [[0.27, -0.46, -0.92], [-0.97, 0.63, 0.83], [0.21, 0.46, 0.09], [0.87, 0.63, -0.99]];
        let hull = convex_hull(&any, None).unwrap();
        assert_eq!(hull.face, [[3, 0, 1], [2, 3, 1], [0, 2, 1], [2, 0, 3]]);
    }
}
