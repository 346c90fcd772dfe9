//! The tetrahedron a convex hull starts from.

type Vec3 = [f64; 3];

/// A determinant this much smaller than the previous one times the width of the point set may mean
/// that the extreme points are a bad choice (Qhull's `qh_RATIOmaxsimplex`).
const NARROW: f64 = 3.0e-2;

/// Four points far apart: a corner, the furthest from it, the furthest from their line, the
/// furthest from their plane. None for fewer than four points. They may be coplanar if all are.
pub fn far_corners(points: &[Vec3]) -> Option<[usize; 4]> {
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

/// The four points Qhull starts from: the extremes in x, then the extreme point that spans the
/// largest area with them in the xy plane, then the one that spans the largest volume.
///
/// All points are searched instead when the best of the extreme ones is narrow or degenerate.
/// Source: Qhull 2020, `qh_maxmin` and `qh_maxsimplex`.
pub fn qhull_corners(points: &[Vec3]) -> Option<[usize; 4]> {
    if points.len() < 4 {
        return None;
    }
    // the first minimum and maximum of each coordinate, and the width of the point set
    let mut extremes = Vec::new();
    let (mut width, mut sum, mut rounding) = (f64::NEG_INFINITY, 0.0, [0.0; 3]);
    for k in 0..3 {
        let low = furthest(points, |p| -p[k]);
        let high = furthest(points, |p| p[k]);
        extremes.extend([low, high]);
        width = width.max(points[high][k] - points[low][k]);
        sum += points[high][k].max(-points[low][k]);
        rounding[k] = 80.0 * sum * f64::EPSILON;
    }

    let mut corners = [extremes[0], extremes[1], 0, 0];
    let mut measure = points[corners[1]][0] - points[corners[0]][0];
    for i in 2..4 {
        let target = measure * width;
        let size = |p: usize| {
            let e = |q: usize| sub(points[corners[q]], points[p]);
            if i == 2 {
                let (a, b) = (e(0), e(1));
                (a[0] * b[1] - a[1] * b[0]).abs()
            } else {
                dot(cross(e(0), e(1)), e(2)).abs()
            }
        };
        let mut best = (-1.0, None);
        for &p in extremes.iter().filter(|p| !corners[..i].contains(p)) {
            if size(p) > best.0 {
                best = (size(p), Some(p));
            }
        }
        let good = |value: f64| value > 10.0 * rounding[i - 1];
        if best.0 < NARROW * target || !good(best.0) {
            for p in (0..points.len()).filter(|p| !extremes.contains(p)) {
                if size(p) > best.0 {
                    best = (size(p), Some(p));
                    if good(best.0) && best.0 > 10.0 * NARROW * target {
                        break;
                    }
                }
            }
        }
        measure = best.0;
        corners[i] = best.1?;
    }
    Some(corners)
}

/// a × b
pub fn cross(a: Vec3, b: Vec3) -> Vec3 {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
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
