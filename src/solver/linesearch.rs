//! Exact line search: the minimum over α of the cost at a + α v, a convex, piecewise smooth function of one
//! variable with known first and second derivative.
//!
//! Newton steps march from α = 0 in one direction until the slope changes sign; then the bracket is narrowed
//! by Newton steps from both of its ends and by its midpoint. All costs are differences from α = 0, computed
//! without cancellation, so that the search works down to rounding.
//!
//! Source: MuJoCo manual, "Computation: algorithms"; MuJoCo `PrimalPrepare`, `PrimalEval`, `PrimalSearch`.

use super::cost::{huber, middle_weight, zone};
use super::problem::{Problem, dot, norm};
use crate::constraint::EfcState;

/// What a line search found.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Found {
    /// Step length; zero if no step improves the cost.
    pub(crate) alpha: f64,
    /// Decrease of the cost.
    pub(crate) improvement: f64,
    /// Number of evaluations.
    pub(crate) evaluations: usize,
}

/// Cost difference, slope and curvature at one α.
#[derive(Clone, Copy, Debug, Default)]
struct Point {
    alpha: f64,
    cost: f64,
    slope: f64,
    curvature: f64,
}

impl Point {
    /// Minimum of the parabola here.
    fn newton(&self) -> f64 {
        self.alpha - self.slope / self.curvature
    }
}

/// An elliptic contact along the line: N = N₀ + α N₁, T² = TT₀ + 2 α TT₁ + α² TT₂.
#[derive(Clone, Copy, Debug)]
struct ConeLine {
    mu: f64,
    /// D_m of the middle zone.
    Dm: f64,
    N: [f64; 2],
    TT: [f64; 3],
    /// Cost in the bottom zone: q₀ + α q₁ + α² q₂.
    q: [f64; 3],
}

/// The cost along a line.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// α and α² coefficients of the terms that are quadratic everywhere: inertia and equalities.
    quadratic: [f64; 2],
    cones: Vec<ConeLine>,
    evaluations: usize,
}

/// A line through a point: `x` = J a − aref, direction `v` with J v and M v.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Direction<'a> {
    pub(crate) Ma: &'a [f64],
    pub(crate) x: &'a [f64],
    pub(crate) v: &'a [f64],
    pub(crate) Mv: &'a [f64],
    pub(crate) Jv: &'a [f64],
}

impl Line {
    /// Room for `capacity` rows.
    pub(crate) fn new(capacity: usize) -> Self {
        Self { quadratic: [0.0; 2], cones: Vec::with_capacity(capacity), evaluations: 0 }
    }

    /// Minimizes along `dir`. The slope counts as zero below `tolerance`, scaled by the problem and by the
    /// length of the direction.
    pub(crate) fn search(
        &mut self,
        p: &Problem,
        dir: &Direction<'_>,
        tolerance: f64,
        iterations: usize,
    ) -> Found {
        self.evaluations = 0;
        let length = norm(dir.v);
        if length < crate::MINVAL || !length.is_finite() {
            return Found::default();
        }
        self.prepare(p, dir);
        let best = self.minimize(p, dir, tolerance * length / p.scale, iterations);
        let improved = best.alpha != 0.0 && best.alpha.is_finite() && best.cost < 0.0;
        Found {
            alpha: if improved { best.alpha } else { 0.0 },
            improvement: if improved { -best.cost } else { 0.0 },
            evaluations: self.evaluations,
        }
    }

    /// Coefficients that do not depend on α.
    fn prepare(&mut self, p: &Problem, dir: &Direction<'_>) {
        let Direction { Ma, x, v, Mv, Jv } = *dir;
        self.quadratic = [dot(v, Ma) - dot(v, &p.qfrc_smooth), 0.5 * dot(v, Mv)];
        for i in 0..p.ne {
            self.quadratic[0] += p.D[i] * x[i] * Jv[i];
            self.quadratic[1] += 0.5 * p.D[i] * Jv[i] * Jv[i];
        }
        self.cones.clear();
        for c in &p.cones {
            let mut line = ConeLine {
                mu: c.mu,
                Dm: middle_weight(c, p.D[c.row]),
                N: [x[c.row] * c.mu, Jv[c.row] * c.mu],
                TT: [0.0; 3],
                q: [0.0; 3],
            };
            for j in 0..c.dim {
                let (D, x, Jv) = (p.D[c.row + j], x[c.row + j], Jv[c.row + j]);
                line.q[0] += 0.5 * D * x * x;
                line.q[1] += D * x * Jv;
                line.q[2] += 0.5 * D * Jv * Jv;
                if j > 0 {
                    let (u, v) = (x * c.friction[j - 1], Jv * c.friction[j - 1]);
                    line.TT[0] += u * u;
                    line.TT[1] += u * v;
                    line.TT[2] += v * v;
                }
            }
            self.cones.push(line);
        }
    }

    fn evaluate(&mut self, p: &Problem, dir: &Direction<'_>, alpha: f64) -> Point {
        self.evaluations += 1;
        let [linear, square] = self.quadratic;
        let mut at = Point {
            alpha,
            cost: alpha * (linear + alpha * square),
            slope: linear + 2.0 * alpha * square,
            curvature: 2.0 * square,
        };
        for i in p.ne..p.ne + p.nf {
            add_friction_loss(&mut at, dir.x[i], dir.Jv[i], p.frictionloss[i], [p.R[i], p.D[i]]);
        }
        for &i in &p.one_sided {
            add_one_sided(&mut at, dir.x[i], dir.Jv[i], p.D[i]);
        }
        for cone in &self.cones {
            cone.add(&mut at);
        }
        // cannot be but by rounding: the inertia is positive definite
        at.curvature = at.curvature.max(crate::MINVAL);
        at
    }

    /// Marches until the slope changes sign.
    fn minimize(
        &mut self,
        p: &Problem,
        dir: &Direction<'_>,
        slope: f64,
        iterations: usize,
    ) -> Point {
        let start = self.evaluate(p, dir, 0.0);
        let mut near = self.evaluate(p, dir, start.newton());
        let converged = |at: &Point| at.slope.abs() < slope && at.cost < 0.0;
        if converged(&near) {
            return near;
        }
        let sign = if near.slope < 0.0 { 1.0 } else { -1.0 };
        let mut far = start;
        while near.slope * sign <= -slope && self.evaluations < iterations {
            far = near;
            near = self.evaluate(p, dir, near.newton());
            if converged(&near) {
                return near;
            }
        }
        if self.evaluations >= iterations {
            return better(near, far);
        }
        self.narrow(p, dir, [near, far], slope, iterations)
    }

    /// Narrows a bracket. `ends[1]` is the point before `ends[0]`, from which a Newton step led there.
    fn narrow(
        &mut self,
        p: &Problem,
        dir: &Direction<'_>,
        mut ends: [Point; 2],
        slope: f64,
        iterations: usize,
    ) -> Point {
        let mut next = [self.evaluate(p, dir, ends[0].newton()), ends[0]];
        while self.evaluations < iterations {
            let middle = self.evaluate(p, dir, 0.5 * (ends[0].alpha + ends[1].alpha));
            let candidates = [next[0], next[1], middle];
            let flat = candidates.iter().filter(|c| c.slope.abs() < slope);
            if let Some(best) = flat.copied().reduce(better) {
                return best;
            }
            let mut narrowed = false;
            for (end, next) in ends.iter_mut().zip(&mut next) {
                let mut moved = false;
                for c in &candidates {
                    // same side, smaller slope
                    if c.slope * end.slope > 0.0 && c.slope.abs() < end.slope.abs() {
                        (*end, moved) = (*c, true);
                    }
                }
                if moved {
                    *next = self.evaluate(p, dir, end.newton());
                    narrowed = true;
                }
            }
            // rounding: nothing lies between
            if !narrowed {
                return better(middle, better(ends[0], ends[1]));
            }
        }
        better(ends[0], ends[1])
    }
}

fn better(a: Point, b: Point) -> Point {
    if b.cost < a.cost { b } else { a }
}

fn add_friction_loss(at: &mut Point, start: f64, Jv: f64, eta: f64, [R, D]: [f64; 2]) {
    let bound = R * eta;
    let x = start + at.alpha * Jv;
    let side = |x: f64| if x <= -bound { -1 } else { i32::from(x >= bound) };
    at.cost += match (side(start), side(x)) {
        (0, 0) => 0.5 * D * (x - start) * (x + start),
        (-1, -1) => eta * (start - x),
        (1, 1) => eta * (x - start),
        _ => huber(x, eta, R, D) - huber(start, eta, R, D),
    };
    match side(x) {
        0 => {
            at.slope += D * x * Jv;
            at.curvature += D * Jv * Jv;
        }
        side => at.slope += f64::from(side) * eta * Jv,
    }
}

fn add_one_sided(at: &mut Point, start: f64, Jv: f64, D: f64) {
    let x = start + at.alpha * Jv;
    if x < 0.0 {
        at.slope += D * x * Jv;
        at.curvature += D * Jv * Jv;
        at.cost += if start < 0.0 { 0.5 * D * (x - start) * (x + start) } else { 0.5 * D * x * x };
    } else if start < 0.0 {
        at.cost -= 0.5 * D * start * start;
    }
}

impl ConeLine {
    /// N and T at α.
    fn at(&self, alpha: f64) -> (f64, f64) {
        let TT = self.TT[0] + alpha * (2.0 * self.TT[1] + alpha * self.TT[2]);
        (self.N[0] + alpha * self.N[1], TT.max(0.0).sqrt())
    }

    /// Cost difference, slope and curvature.
    fn add(&self, at: &mut Point) {
        let (alpha, mu) = (at.alpha, self.mu);
        let (N, T) = self.at(alpha);
        let here = zone(N, T, mu);
        at.cost += self.difference(alpha, here, [N, T]);
        match here {
            EfcState::Quadratic => {
                at.slope += self.q[1] + 2.0 * alpha * self.q[2];
                at.curvature += 2.0 * self.q[2];
            }
            EfcState::Cone => {
                let T1 = (self.TT[1] + alpha * self.TT[2]) / T;
                let T2 = (self.TT[2] - T1 * T1) / T;
                let (r, r1) = (N - mu * T, self.N[1] - mu * T1);
                at.slope += self.Dm * r * r1;
                at.curvature += self.Dm * (r1 * r1 - r * mu * T2);
            }
            _ => {}
        }
    }

    /// Cost at α minus cost at 0. Between bottom and middle zone it rests on
    /// ½ Σ D_j x_j² = ½ D_m ((N − μ T)² + (μ N + T)²).
    fn difference(&self, alpha: f64, here: EfcState, [N, T]: [f64; 2]) -> f64 {
        let (mu, [q0, q1, q2]) = (self.mu, self.q);
        let (N0, T0) = self.at(0.0);
        let start = zone(N0, T0, mu);
        let half = |r: f64| 0.5 * self.Dm * r * r;
        let bottom = alpha * (q1 + alpha * q2);
        match (start, here) {
            (EfcState::Quadratic, EfcState::Quadratic) => bottom,
            (EfcState::Cone, EfcState::Cone) => {
                // T − T₀ without cancellation
                let dT = alpha * (2.0 * self.TT[1] + alpha * self.TT[2]) / (T + T0);
                let dr = alpha * self.N[1] - mu * dT;
                0.5 * self.Dm * dr * (2.0 * (N0 - mu * T0) + dr)
            }
            (EfcState::Cone, EfcState::Quadratic) => bottom + half(mu * N0 + T0),
            (EfcState::Quadratic, EfcState::Cone) => bottom - half(mu * N + T),
            (EfcState::Cone, _) => -half(N0 - mu * T0),
            (EfcState::Quadratic, _) => -q0,
            (_, EfcState::Quadratic) => q0 + bottom,
            (_, EfcState::Cone) => half(N - mu * T),
            _ => 0.0,
        }
    }
}
