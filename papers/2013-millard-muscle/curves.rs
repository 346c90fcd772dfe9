//! Curves of Millard et al. 2013: quintic Bézier pieces whose second derivative vanishes where they meet.

/// A point of a curve, and its slope there.
type Joint = (f64, f64, f64);

/// One piece: control points, x and y.
#[derive(Clone, Copy, Debug)]
struct Piece {
    x: [f64; 6],
    y: [f64; 6],
}

impl Piece {
    /// A piece like the letter C from one joint to the next. Its tangents meet in a corner; two control points
    /// stand on each of them, so that the second derivative is zero at both ends. The larger the curviness,
    /// the nearer to the corner they are.
    fn new((x0, y0, slope0): Joint, (x1, y1, slope1): Joint, curviness: f64) -> Self {
        let c = 0.1 + 0.8 * curviness;
        let corner_x = (y1 - y0 - x1 * slope1 + x0 * slope0) / (slope0 - slope1);
        let corner_y = y1 + (corner_x - x1) * slope1;
        let coordinates = |start: f64, end: f64, corner: f64| {
            let (near, far) = (start + c * (corner - start), end + c * (corner - end));
            [start, near, f64::midpoint(near, corner), f64::midpoint(far, corner), far, end]
        };
        Self { x: coordinates(x0, x1, corner_x), y: coordinates(y0, y1, corner_y) }
    }

    /// Value, slope and second derivative by x at x.
    fn at(&self, x: f64) -> [f64; 3] {
        // x(u) rises: halve the interval of u
        let (mut low, mut high) = (0.0_f64, 1.0_f64);
        for _ in 0..54 {
            let middle = f64::midpoint(low, high);
            if bezier(&self.x, middle)[0] < x { low = middle } else { high = middle }
        }
        let u = f64::midpoint(low, high);
        let ([_, dx, ddx], [y, dy, ddy]) = (bezier(&self.x, u), bezier(&self.y, u));
        [y, dy / dx, (ddy * dx - dy * ddx) / (dx * dx * dx)]
    }
}

/// Value, first and second derivative by u of a quintic Bézier polynomial. Source: de Casteljau's recursion.
fn bezier(points: &[f64; 6], u: f64) -> [f64; 3] {
    let mut p = *points;
    for last in (3..6).rev() {
        for k in 0..last {
            p[k] += u * (p[k + 1] - p[k]);
        }
    }
    // a parabola is left
    let second = 20.0 * (p[2] - 2.0 * p[1] + p[0]);
    let (a, b) = (p[0] + u * (p[1] - p[0]), p[1] + u * (p[2] - p[1]));
    [a + u * (b - a), 5.0 * (b - a), second]
}

/// A curve: pieces, and straight lines beyond them.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    joints: Vec<Joint>,
    pieces: Vec<Piece>,
}

impl Curve {
    fn new(joints: Vec<Joint>, curviness: &[f64]) -> Self {
        let ends = joints.windows(2).zip(curviness);
        let pieces = ends.map(|(ends, c)| Piece::new(ends[0], ends[1], *c)).collect();
        Self { joints, pieces }
    }

    /// Active force over fibre length, both normalized: four joints and a plateau that rises slowly.
    pub(super) fn active_force_length() -> Self {
        let [x0, x1, x2, x3] = [0.4441, 0.73, 1.0, 1.8123];
        let (plateau, delta) = (0.8616, 0.05);
        let shoulder = x2 - delta;
        let y1 = 1.0 - plateau * (shoulder - x1);
        let ascending = (f64::midpoint(x0, x1), 0.5 * y1, 1.25 * y1 / (x1 - x0));
        let on_plateau = (f64::midpoint(x1, shoulder), f64::midpoint(y1, 1.0), plateau);
        let descending = (f64::midpoint(x2 + delta, x3), 0.5, -1.0 / (x3 - x2 - 2.0 * delta));
        let joints =
            vec![(x0, 0.0, 0.0), ascending, on_plateau, (x2, 1.0, 0.0), descending, (x3, 0.0, 0.0)];
        Self::new(joints, &[1.0; 5])
    }

    /// Force over fibre velocity, normalized by the largest shortening velocity.
    pub(super) fn force_velocity() -> Self {
        let (near_shortest, isometric, longest, near_longest) = (0.15, 5.0, 0.1, 0.15);
        let largest = 1.4;
        let joints = vec![
            (-1.0, 0.0, 0.0),
            (-0.9, 0.5 * 0.1 * near_shortest, near_shortest),
            (0.0, 1.0, isometric),
            (0.9, largest - 0.5 * 0.1 * (near_longest + longest), near_longest),
            (1.0, largest, longest),
        ];
        Self::new(joints, &[0.7, 0.7, 0.9, 0.9])
    }

    /// Passive force over fibre length: 1 at a strain of 0.7.
    pub(super) fn passive_force_length() -> Self {
        let (strain, low) = (0.7, 0.2);
        let stiff = 2.0 / strain;
        let delta = 0.1 * f64::min(1.0 / stiff, strain);
        let joints = vec![
            (1.0, 0.0, 0.0),
            (1.0 + delta, 0.5 * low * delta, low),
            (1.0 + strain, 1.0, stiff),
        ];
        Self::new(joints, &[0.75; 2])
    }

    /// Tendon force over tendon length: 1 at a strain of 0.049, straight above two thirds of that force.
    pub(super) fn tendon_force_length() -> Self {
        let (strain, toe) = (0.049, 2.0 / 3.0);
        let stiff = 1.375 / strain;
        let on_line = |force: f64| 1.0 + strain + (force - 1.0) / stiff;
        let foot = 1.0 + (on_line(toe) - 1.0) / 10.0;
        // the tangent through the foot and half of the toe
        let slope = 0.5 * toe / (on_line(0.5 * toe) - foot);
        let control = f64::midpoint(foot, on_line(0.5 * toe));
        let joints = vec![
            (1.0, 0.0, 0.0),
            (control, slope * (control - foot), slope),
            (on_line(toe), toe, stiff),
        ];
        Self::new(joints, &[0.5; 2])
    }

    /// Value, slope and second derivative at x.
    pub(super) fn at(&self, x: f64) -> [f64; 3] {
        let straight = |(x0, y0, slope): Joint| [y0 + slope * (x - x0), slope, 0.0];
        match self.joints.iter().rposition(|joint| joint.0 <= x) {
            None => straight(self.joints[0]),
            Some(k) if k == self.pieces.len() => straight(self.joints[k]),
            Some(k) => self.pieces[k].at(x),
        }
    }

    /// Where pieces meet.
    pub(super) fn knots(&self) -> impl Iterator<Item = f64> {
        self.joints.iter().map(|joint| joint.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> [Curve; 4] {
        [
            Curve::active_force_length(),
            Curve::force_velocity(),
            Curve::passive_force_length(),
            Curve::tendon_force_length(),
        ]
    }

    #[test]
    fn curves_pass_their_reference_points() {
        let [active, velocity, passive, tendon] = all();
        let value = |curve: &Curve, x: f64| curve.at(x)[0];
        for (found, expected) in [
            (value(&active, 1.0), 1.0),
            (value(&active, 0.4441), 0.0),
            (value(&active, 1.8123), 0.0),
            (value(&velocity, 0.0), 1.0),
            (value(&velocity, -1.0), 0.0),
            (value(&velocity, 1.0), 1.4),
            (velocity.at(0.0)[1], 5.0),
            (value(&passive, 1.7), 1.0),
            (value(&tendon, 1.049), 1.0),
            (value(&tendon, 1.0), 0.0),
        ] {
            assert!((found - expected).abs() < 1e-12, "{found}, {expected}");
        }
    }

    #[test]
    fn derivatives_are_those_of_the_values() {
        for (curve, x) in all().iter().zip([0.6, -0.4, 1.4, 1.02]) {
            let h = 1e-6;
            let [before, at, after] = [x - h, x, x + h].map(|x| curve.at(x));
            let [slope, second] = [0, 1].map(|k| (after[k] - before[k]) / (2.0 * h));
            assert!((slope - at[1]).abs() < 1e-5 * at[1].abs(), "{slope}, {at:?}");
            assert!((second - at[2]).abs() < 1e-4 * at[2].abs(), "{second}, {at:?}");
        }
    }
}
