//! Faces of a convex hull: its triangles, joined where they lie in one plane.
//!
//! Source: MuJoCo `mjCMesh::MakePolygons`, `mjCMesh::MakePolygonNormals`.

use std::collections::HashMap;

use super::hull::cross;

type Vec3 = [f64; 3];

/// Step \[rad\] to which the angles of normals are rounded to tell whether triangles lie in one plane.
const SAME_PLANE: f64 = 0.01;

/// Height of a unit normal above which it is a pole, where azimuths mean nothing.
const POLE: f64 = 1.0 - 1e-7;

/// The faces of a hull, counter-clockwise from outside where its triangles are; vertices as in `vert`.
pub(super) fn polygons(vert: &[Vec3], triangles: &[[usize; 3]]) -> Vec<Vec<usize>> {
    let mut number = HashMap::new();
    let mut rims: Vec<Vec<(usize, usize)>> = Vec::new();
    for &[a, b, c] in triangles {
        let Some(key) = plane_key(vert, [a, b, c]) else { continue };
        let plane = *number.entry(key).or_insert_with(|| {
            rims.push(Vec::new());
            rims.len() - 1
        });
        // an edge between two triangles is none of the face
        let rim = &mut rims[plane];
        let inner = [(b, a), (c, b), (a, c)].map(|edge| {
            let found = rim.iter().position(|&e| e == edge);
            found.map(|found| rim.remove(found)).is_some()
        });
        let edges = [(a, b), (b, c), (c, a)].into_iter().zip(inner);
        rim.extend(edges.filter(|(_, inner)| !inner).map(|(edge, _)| edge));
    }
    rims.into_iter().flat_map(closed_paths).collect()
}

/// Unit normal of a polygon: its vector area, exact for plane polygons, a mean for others.
///
/// Source: Newell's method; Sutherland, Sproull, Schumacker, *A characterization of ten hidden-surface algorithms*,
/// Computing Surveys 6 (1974).
pub(super) fn normal(vert: &[Vec3], polygon: &[usize]) -> Vec3 {
    let mut area = [0.0; 3];
    let origin = polygon.first().map_or([0.0; 3], |&v| vert[v]);
    let from = |v: usize| [0, 1, 2].map(|k| vert[v][k] - origin[k]);
    for (i, &v) in polygon.iter().enumerate() {
        let twice = cross(from(v), from(polygon[(i + 1) % polygon.len()]));
        area.iter_mut().zip(twice).for_each(|(sum, x)| *sum += x);
    }
    let length = area.iter().map(|x| x * x).sum::<f64>().sqrt();
    if length > 0.0 { area.map(|x| x / length) } else { [0.0, 0.0, 1.0] }
}

/// The plane of a triangle, by the rounded spherical angles of its normal; none without area.
#[expect(clippy::cast_possible_truncation, reason = "rounded angles are small")]
fn plane_key(vert: &[Vec3], [a, b, c]: [usize; 3]) -> Option<[i64; 2]> {
    let from_a = |v: usize| [0, 1, 2].map(|k| vert[v][k] - vert[a][k]);
    let normal = cross(from_a(b), from_a(c));
    let length = normal.iter().map(|x| x * x).sum::<f64>().sqrt();
    if length.is_nan() || length < crate::MINVAL {
        return None;
    }
    // −0 would turn the azimuth by π
    let [x, y, z] = normal.map(|x| x / length + 0.0);
    let round = |angle: f64| (angle / SAME_PLANE).round() as i64;
    Some(if z.abs() > POLE {
        [0, if z < 0.0 { round(std::f64::consts::PI) } else { 0 }]
    } else {
        [round(y.atan2(x)), round(z.acos())]
    })
}

/// The closed paths along edges from → to, each from its first edge on; open ones are dropped.
fn closed_paths(mut edges: Vec<(usize, usize)>) -> Vec<Vec<usize>> {
    let mut paths = Vec::new();
    while !edges.is_empty() {
        let (start, mut at) = edges.remove(0);
        let mut path = vec![start];
        while at != start {
            path.push(at);
            let Some(next) = edges.iter().position(|edge| edge.0 == at) else { break };
            at = edges.remove(next).1;
        }
        if at == start && path.len() > 2 {
            paths.push(path);
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mjcf::mesh::hull::convex_hull;

    fn cube() -> Vec<Vec3> {
        (0..8).map(|v| [0, 1, 2].map(|k| f64::from(v >> k & 1))).collect()
    }

    #[test]
    fn the_twelve_triangles_of_a_cube_are_six_faces_that_look_outward() {
        let vert = cube();
        let faces = polygons(&vert, &convex_hull(&vert).unwrap().face);
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
}
