//! Convex hull of a point set where Qhull is not available: quickhull.
//!
//! Barber, Dobkin and Huhdanpaa, *The Quickhull Algorithm for Convex Hulls*, ACM TOMS 22 (1996).
//! Start from a tetrahedron; as long as a face has points above it, take the furthest, remove the
//! faces it sees, and join it to the rim of the hole.
//!
//! Coplanar points need care, since meshes are full of them. Here a face counts as seen also if
//! the point is in its plane, as long as it is connected to one that is truly seen. Then the whole
//! flat facet is rebuilt as a fan from the new point, so that no triangle without area appears and
//! no vertex survives inside a facet or an edge. The vertices of the result are the extreme points
//! only, as in Qhull's hull, which merges coplanar facets and triangulates in the end; the order differs.

use std::collections::HashMap;

use super::Hull;
use super::hull::cross;

type Vec3 = [f64; 3];

/// Distances below this multiple of the largest coordinate are rounding: three coordinates, a few
/// operations each.
const RELATIVE_ROUNDING: f64 = 12.0 * f64::EPSILON;

/// Convex hull of `points`; none if they have no volume.
pub(super) fn convex_hull(points: &[Vec3]) -> Option<Hull> {
    let mut builder = Builder::new(points);
    let corners = far_corners(points).filter(|&c| builder.is_solid(c))?;
    builder.start(corners);

    // every round takes one point out of the outside sets, so there is at most one a point
    for _ in 0..points.len() {
        let Some(face) = builder.next_face() else { break };
        builder.add_furthest(face);
    }
    Some(builder.finish())
}

/// Four points far apart: a corner, the furthest from it, the furthest from their line, the
/// furthest from their plane. None for fewer than four points. They may be coplanar if all are.
fn far_corners(points: &[Vec3]) -> Option<[usize; 4]> {
    if points.len() < 4 {
        return None;
    }
    let a = furthest(points, |p| -p[0]);
    let b = furthest(points, |p| squared(sub(p, points[a])));
    let ab = sub(points[b], points[a]);
    let c = furthest(points, |p| squared(cross(ab, sub(p, points[a]))));
    let normal = cross(ab, sub(points[c], points[a]));
    let d = furthest(points, |p| dot(normal, sub(p, points[a])).abs());
    Some([a, b, c, d])
}

/// Number of the point with the largest measure; the first of equals.
fn furthest(points: &[Vec3], measure: impl Fn(Vec3) -> f64) -> usize {
    let mut best = (f64::NEG_INFINITY, 0);
    for (i, &p) in points.iter().enumerate() {
        let value = measure(p);
        if value > best.0 {
            best = (value, i);
        }
    }
    best.1
}

struct Face {
    /// Corners, counter-clockwise from outside.
    corner: [usize; 3],
    /// Faces across the edges corner[k] → corner[k + 1].
    across: [usize; 3],
    /// Unit outward normal; zero for a face without area.
    normal: Vec3,
    alive: bool,
    /// Number of the flood that last reached this face.
    seen: usize,
    /// Points above this face.
    outside: Vec<usize>,
    /// Distance of the furthest of them, and its place in `outside`.
    furthest: (f64, usize),
}

/// An edge of the rim, from → to in the direction of the removed face.
struct RimEdge {
    from: usize,
    to: usize,
    beyond: usize,
}

struct Builder<'a> {
    points: &'a [Vec3],
    tolerance: f64,
    faces: Vec<Face>,
    /// Faces that may have points outside; dead ones are skipped.
    pending: Vec<usize>,
    flood: usize,
}

impl<'a> Builder<'a> {
    fn new(points: &'a [Vec3]) -> Self {
        let largest = points.iter().flatten().fold(0.0_f64, |m, x| m.max(x.abs()));
        Self {
            points,
            tolerance: RELATIVE_ROUNDING * largest,
            faces: Vec::new(),
            pending: Vec::new(),
            flood: 0,
        }
    }

    /// Height of the fourth point over the plane of the first three.
    fn height(&self, [a, b, c, d]: [usize; 4]) -> f64 {
        let p = self.points;
        dot(unit_normal(p[a], p[b], p[c]), sub(p[d], p[a]))
    }

    fn is_solid(&self, corners: [usize; 4]) -> bool {
        self.height(corners).abs() > self.tolerance
    }

    /// Tetrahedron of the given corners, all other points distributed over its faces.
    fn start(&mut self, corners: [usize; 4]) {
        let [a, b, c, d] = corners;
        let inside_out = self.height([c, b, a, d]) > 0.0;
        for (mut corner, mut across) in [
            ([c, b, a], [3, 1, 2]),
            ([b, d, a], [3, 2, 0]),
            ([d, c, a], [3, 0, 1]),
            ([c, d, b], [2, 1, 0]),
        ] {
            if inside_out {
                corner.swap(0, 1);
                across.swap(1, 2);
            }
            self.push_face(corner, across);
        }
        let others: Vec<usize> = (0..self.points.len()).filter(|i| !corners.contains(i)).collect();
        self.distribute(&others, 0);
    }

    fn push_face(&mut self, corner: [usize; 3], across: [usize; 3]) {
        let p = self.points;
        self.pending.push(self.faces.len());
        self.faces.push(Face {
            corner,
            across,
            normal: unit_normal(p[corner[0]], p[corner[1]], p[corner[2]]),
            alive: true,
            seen: 0,
            outside: Vec::new(),
            furthest: (0.0, 0),
        });
    }

    /// Signed distance of a point from the plane of a face.
    fn distance(&self, face: usize, point: usize) -> f64 {
        let f = &self.faces[face];
        dot(f.normal, sub(self.points[point], self.points[f.corner[0]]))
    }

    /// Give each point to the face, from number `first` on, that it is furthest above.
    fn distribute(&mut self, points: &[usize], first: usize) {
        for &point in points {
            let mut best = (self.tolerance, None);
            for face in first..self.faces.len() {
                let distance = self.distance(face, point);
                if distance > best.0 {
                    best = (distance, Some(face));
                }
            }
            if let (distance, Some(face)) = best {
                let f = &mut self.faces[face];
                if distance > f.furthest.0 {
                    f.furthest = (distance, f.outside.len());
                }
                f.outside.push(point);
            }
        }
    }

    /// A face with points outside.
    fn next_face(&mut self) -> Option<usize> {
        while let Some(&i) = self.pending.last() {
            if self.faces[i].alive && !self.faces[i].outside.is_empty() {
                return Some(i);
            }
            self.pending.pop();
        }
        None
    }

    /// Add the furthest point above a face. It is dropped if rounding leaves no simple rim; it is
    /// then within rounding of the hull.
    fn add_furthest(&mut self, face: usize) {
        let place = self.faces[face].furthest.1;
        let point = self.faces[face].outside.swap_remove(place);
        self.find_furthest(face);

        // faces in the plane of the point count as seen, unless that leads to a broken rim
        let seen_from = |this: &mut Self, above: f64| {
            let (seen, rim) = this.visible(face, point, above);
            chain(rim).map(|rim| (seen, rim))
        };
        let Some((seen, rim)) =
            seen_from(self, -self.tolerance).or_else(|| seen_from(self, self.tolerance))
        else {
            return;
        };

        // cone from the rim to the point
        let first = self.faces.len();
        let n = rim.len();
        for (k, edge) in rim.iter().enumerate() {
            let (before, after) = (first + (k + n - 1) % n, first + (k + 1) % n);
            self.push_face([edge.from, edge.to, point], [edge.beyond, after, before]);
            let beyond = &mut self.faces[edge.beyond];
            for side in 0..3 {
                if beyond.corner[side] == edge.to && beyond.corner[(side + 1) % 3] == edge.from {
                    beyond.across[side] = first + k;
                }
            }
        }

        // points of the removed faces are above the new ones, or inside
        let mut orphans = Vec::new();
        for i in seen {
            self.faces[i].alive = false;
            orphans.append(&mut self.faces[i].outside);
        }
        self.distribute(&orphans, first);
    }

    /// Find the furthest of the points that are left above a face.
    fn find_furthest(&mut self, face: usize) {
        let mut furthest = (0.0, 0);
        for (place, &point) in self.faces[face].outside.iter().enumerate() {
            let distance = self.distance(face, point);
            if distance > furthest.0 {
                furthest = (distance, place);
            }
        }
        self.faces[face].furthest = furthest;
    }

    /// The faces connected to `start` whose plane the point is above by more than `above`, and the
    /// edges that bound them.
    fn visible(&mut self, start: usize, point: usize, above: f64) -> (Vec<usize>, Vec<RimEdge>) {
        self.flood += 1;
        self.faces[start].seen = self.flood;
        let mut seen = vec![start];
        let mut rim = Vec::new();
        let mut next = 0;
        while let Some(&i) = seen.get(next) {
            next += 1;
            for side in 0..3 {
                let beyond = self.faces[i].across[side];
                if self.faces[beyond].seen == self.flood {
                    continue;
                }
                if self.distance(beyond, point) > above {
                    self.faces[beyond].seen = self.flood;
                    seen.push(beyond);
                }
            }
        }
        for &i in &seen {
            let f = &self.faces[i];
            for side in 0..3 {
                if self.faces[f.across[side]].seen != self.flood {
                    let (from, to) = (f.corner[side], f.corner[(side + 1) % 3]);
                    rim.push(RimEdge { from, to, beyond: f.across[side] });
                }
            }
        }
        (seen, rim)
    }

    fn finish(self) -> Hull {
        let face: Vec<[usize; 3]> =
            self.faces.iter().filter(|f| f.alive).map(|f| f.corner).collect();
        let mut vert: Vec<usize> = face.iter().flatten().copied().collect();
        vert.sort_unstable();
        vert.dedup();
        let number: HashMap<usize, usize> = vert.iter().enumerate().map(|(i, &v)| (v, i)).collect();
        let mut neighbors = vec![Vec::new(); vert.len()];
        for &[a, b, c] in &face {
            for (from, to) in [(a, b), (b, c), (c, a)] {
                neighbors[number[&from]].push(to);
            }
        }
        Hull::new(vert, &neighbors, face)
    }
}

/// Put the edges of a rim in order. None unless they are one closed loop that visits no vertex
/// twice.
fn chain(rim: Vec<RimEdge>) -> Option<Vec<RimEdge>> {
    let n = rim.len();
    let mut leaving: HashMap<usize, RimEdge> = HashMap::with_capacity(n);
    let start = rim.first()?.from;
    for edge in rim {
        if leaving.insert(edge.from, edge).is_some() {
            return None;
        }
    }
    let mut ordered = Vec::with_capacity(n);
    let mut at = start;
    while let Some(edge) = leaving.remove(&at) {
        at = edge.to;
        ordered.push(edge);
    }
    (n >= 3 && ordered.len() == n && at == start).then_some(ordered)
}

/// Unit normal of a triangle, zero if it has no area.
fn unit_normal(a: Vec3, b: Vec3, c: Vec3) -> Vec3 {
    let n = cross(sub(b, a), sub(c, a));
    let length = dot(n, n).sqrt();
    if length > 0.0 { n.map(|x| x / length) } else { [0.0; 3] }
}

fn sub(a: Vec3, b: Vec3) -> Vec3 {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn dot(a: Vec3, b: Vec3) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn squared(a: Vec3) -> f64 {
    dot(a, a)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn grid(n: usize) -> Vec<Vec3> {
        let all = (0..n * n * n).map(|i| [i % n, i / n % n, i / n / n]);
        all.map(|p| p.map(|x| x as f64 * 0.1)).collect()
    }

    /// Closed, oriented outwards, no point above any face.
    fn check(points: &[Vec3], hull: &Hull) {
        assert_eq!(hull.face.len(), 2 * hull.vert.len() - 4);
        assert_eq!(hull.edge.len(), 3 * hull.face.len());
        let size = points.iter().flatten().fold(0.0_f64, |m, x| m.max(x.abs()));
        for &[a, b, c] in &hull.face {
            let n = unit_normal(points[a], points[b], points[c]);
            for &p in points {
                assert!(dot(n, sub(p, points[a])) < 1e-9 * size);
            }
        }
        for i in 0..hull.vert.len() {
            for &j in hull.neighbors(i) {
                assert!(hull.neighbors(j).contains(&i));
            }
        }
    }

    #[test]
    fn a_grid_has_the_eight_corners() {
        let points = grid(5);
        let hull = convex_hull(&points).unwrap();
        assert_eq!(hull.vert, [0, 4, 20, 24, 100, 104, 120, 124]);
        check(&points, &hull);
    }

    #[test]
    fn points_without_volume_have_none() {
        assert_eq!(convex_hull(&[]), None);
        assert_eq!(convex_hull(&[[1.0; 3]; 7]), None);
        let flat: Vec<Vec3> = grid(4).into_iter().filter(|p| p[1] == 0.0).collect();
        assert_eq!(convex_hull(&flat), None);
    }

    proptest! {
        #[test]
        fn random_points_are_inside(
            points in prop::collection::vec(prop::array::uniform3(-1.0..1.0f64), 4..60)
        ) {
            if let Some(hull) = convex_hull(&points) {
                check(&points, &hull);
            }
        }

        // many coplanar, collinear and repeated points
        #[test]
        fn lattice_points_are_inside(
            points in prop::collection::vec(prop::array::uniform3(0..4i32), 4..60)
        ) {
            let points: Vec<Vec3> = points.iter().map(|p| p.map(f64::from)).collect();
            if let Some(hull) = convex_hull(&points) {
                check(&points, &hull);
            }
        }

        #[test]
        fn any_numbers_end(points in prop::collection::vec(prop::array::uniform3(any::<f64>()), 0..20)) {
            let _ = convex_hull(&points);
        }
    }
}
