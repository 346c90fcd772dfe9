//! The last digits of the minimum, whatever solver and tolerance the options ask for.
//!
//! A derivative of the minimum that is taken a distance δ away from it is off by the order of δ, amplified by the
//! stiffness of the rows. So linearizations ask for the minimum itself: Newton steps follow where the solver of the
//! options has ended, until the gradient is rounding.

use super::linesearch::{Direction, Line};
use super::newton::Newton;
use super::primal::{Descent, Primal};
use super::problem::{Problem, dot};
use crate::model::Model;

/// Distance from the minimum over the size of the accelerations, both in the metric of the inertia, that counts as
/// none.
const NOTHING: f64 = 1e-12;

/// The same, where rounding allows no better: an ill-conditioned problem.
const ROUNDING: f64 = 1e-9;

/// Newton steps at most. From a tolerance of 1e-8 one or two are needed; from where PGS gave up, about ten.
const STEPS: usize = 50;

/// Newton steps from `at.qacc` to the minimum; `at` is evaluated there. False if that is not reached.
pub(super) fn polish(
    m: &Model,
    p: &Problem,
    at: &mut Primal,
    (newton, line): (&mut Newton, &mut Line),
) -> bool {
    at.evaluate(m, p);
    let mut last = f64::INFINITY;
    for _ in 0..STEPS {
        // gᵀM⁻¹g bounds the square of the distance, since H ≥ M
        at.Mgrad.copy_from_slice(&at.grad);
        p.solve_M(m, &mut at.Mgrad);
        let size = dot(&at.Ma, &at.qacc) + dot(&p.qfrc_smooth, &p.qacc_smooth);
        let bound = dot(&at.grad, &at.Mgrad);
        if bound <= NOTHING * NOTHING * size {
            return true;
        }
        newton.start(m, p, at);
        let distance = dot(&at.grad, &at.Mgrad).max(0.0);
        if distance <= NOTHING * NOTHING * size || newton.singular().is_some() {
            return newton.singular().is_none();
        }
        // a gradient that no longer shrinks is rounding
        let stalled = bound >= 0.25 * last && distance <= ROUNDING * ROUNDING * size;
        if stalled {
            return true;
        }
        last = bound;
        for (v, g) in at.search.iter_mut().zip(&at.Mgrad) {
            *v = -g;
        }
        let alpha = step_length(m, p, at, line);
        for (a, v) in at.qacc.iter_mut().zip(&at.search) {
            *a += alpha * v;
        }
        at.evaluate(m, p);
    }
    false
}

/// The exact line search's, or a whole step where costs are equal but for rounding.
fn step_length(m: &Model, p: &Problem, at: &mut Primal, line: &mut Line) -> f64 {
    at.prepare_search(m, p);
    let Primal { Ma, x, search, Mv, Jv, .. } = &*at;
    let direction = Direction { Ma, x, v: search, Mv, Jv };
    let found = line.search(p, &direction, 0.0, STEPS);
    if found.alpha == 0.0 { 1.0 } else { found.alpha }
}
