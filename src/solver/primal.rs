//! Descent on the primal cost: what Newton and conjugate gradients share.
//!
//! Iterate: line search along a direction, move, update forces and gradient, stop or take a new direction.
//! It ends when the improvement, the norm of the gradient, or the improvement that a Newton step promises
//! falls below the tolerance, all over trace M.
//!
//! Before the first iteration the duality gap ½ gᵀM⁻¹g bounds the distance from the minimal cost: a good warm
//! start costs no Hessian and no line search.
//!
//! Source: MuJoCo manual, "Computation: algorithms"; MuJoCo `mj_solPrimal`.

use super::cost;
use super::linesearch::{Direction, Line};
use super::problem::{Problem, dot, norm};
use super::stats::{Iteration, SolverStats, SolverStatus};
use crate::constraint::EfcState;
use crate::model::{Model, Options};
use crate::status::FactorError;

/// A point of the primal problem, and everything that is known there.
#[derive(Clone, Debug)]
pub(crate) struct Primal {
    /// Acceleration a (nv).
    pub(crate) qacc: Vec<f64>,
    /// M a (nv).
    pub(crate) Ma: Vec<f64>,
    /// J a − aref (nefc).
    pub(crate) x: Vec<f64>,
    /// Forces of the rows (nefc).
    pub(crate) force: Vec<f64>,
    /// States of the rows (nefc).
    pub(crate) state: Vec<EfcState>,
    /// Jᵀ force (nv).
    pub(crate) qfrc_constraint: Vec<f64>,
    /// Gradient M a − qfrc_smooth − Jᵀ force (nv).
    pub(crate) grad: Vec<f64>,
    /// Preconditioned gradient: H⁻¹ grad or M⁻¹ grad (nv).
    pub(crate) Mgrad: Vec<f64>,
    /// Direction of search (nv).
    pub(crate) search: Vec<f64>,
    /// M v and J v of the direction.
    pub(crate) Mv: Vec<f64>,
    pub(crate) Jv: Vec<f64>,
    old_state: Vec<EfcState>,
    pub(crate) cost: f64,
}

/// What a method adds: a preconditioner and a direction.
pub(crate) trait Descent {
    /// Newton steps are accurate in the forces; others are held to the cost alone.
    const NEWTON: bool;

    /// First preconditioned gradient; `Mgrad` holds M⁻¹ grad on entry.
    fn start(&mut self, m: &Model, p: &Problem, at: &mut Primal);

    /// Preconditioned gradient after a move.
    fn precondition(&mut self, m: &Model, p: &Problem, at: &mut Primal);

    /// New direction from the preconditioned gradient.
    fn direct(&mut self, at: &mut Primal);

    /// The direction of steepest descent, once a direction brings nothing. False if it was that already.
    fn restart(&mut self, _at: &mut Primal) -> bool {
        false
    }

    /// Rows added to a factorization in the last iteration.
    fn updates(&self) -> usize {
        0
    }

    /// A pivot that had to be raised in the last factorization.
    fn singular(&self) -> Option<FactorError> {
        None
    }
}

impl Primal {
    /// Room for `capacity` rows.
    pub(crate) fn new(nv: usize, capacity: usize) -> Self {
        let v = || vec![0.0; nv];
        Self {
            qacc: v(),
            Ma: v(),
            x: vec![0.0; capacity],
            force: vec![0.0; capacity],
            state: vec![EfcState::Satisfied; capacity],
            qfrc_constraint: v(),
            grad: v(),
            Mgrad: v(),
            search: v(),
            Mv: v(),
            Jv: vec![0.0; capacity],
            old_state: vec![EfcState::Satisfied; capacity],
            cost: 0.0,
        }
    }

    /// Evaluates everything at `qacc`.
    pub(crate) fn evaluate(&mut self, m: &Model, p: &Problem) {
        p.mul_M(m, &self.qacc, &mut self.Ma);
        p.residual(&self.qacc, &mut self.x);
        self.update(p);
    }

    /// Forces, states, cost and gradient, given `qacc`, `Ma` and `x`.
    fn update(&mut self, p: &Problem) {
        self.cost = cost::update(p, &self.x, &mut self.force, &mut self.state)
            + p.gauss(&self.qacc, &self.Ma);
        p.mul_JT(&self.force, &mut self.qfrc_constraint);
        for i in 0..p.nv {
            self.grad[i] = self.Ma[i] - p.qfrc_smooth[i] - self.qfrc_constraint[i];
        }
    }

    /// Norm of the gradient over trace M.
    pub(crate) fn scaled_gradient(&self, p: &Problem) -> f64 {
        p.scale * norm(&self.grad)
    }

    /// Improvement that the preconditioner promises, over trace M.
    fn decrement(&self, p: &Problem) -> f64 {
        (0.5 * p.scale * dot(&self.grad, &self.Mgrad)).max(0.0)
    }

    /// M v and J v of the direction.
    pub(crate) fn prepare_search(&mut self, m: &Model, p: &Problem) {
        p.mul_M(m, &self.search, &mut self.Mv);
        p.mul_J(&self.search, &mut self.Jv);
    }

    /// a += α v.
    fn advance(&mut self, p: &Problem, alpha: f64) {
        for i in 0..p.nv {
            self.qacc[i] += alpha * self.search[i];
            self.Ma[i] += alpha * self.Mv[i];
        }
        for i in 0..p.nefc {
            self.x[i] += alpha * self.Jv[i];
        }
        self.old_state[..p.nefc].copy_from_slice(&self.state[..p.nefc]);
        self.update(p);
    }

    fn counts(&self, p: &Problem) -> (usize, usize) {
        let active = self.state[..p.nefc].iter().filter(|s| **s != EfcState::Satisfied).count();
        let pairs = self.state[..p.nefc].iter().zip(&self.old_state);
        (active, pairs.filter(|(new, old)| new != old).count())
    }
}

/// Minimizes from `at.qacc`.
pub(crate) fn minimize<D: Descent>(
    m: &Model,
    p: &Problem,
    at: &mut Primal,
    (descent, line): (&mut D, &mut Line),
    opt: &Options,
    stats: &mut SolverStats,
) -> SolverStatus {
    at.evaluate(m, p);
    stats.initial_cost = at.cost;

    // is it the minimum already?
    at.Mgrad.copy_from_slice(&at.grad);
    p.solve_M(m, &mut at.Mgrad);
    let flat = at.scaled_gradient(p) < opt.tolerance;
    if at.decrement(p) < opt.tolerance && (flat || !D::NEWTON) {
        return SolverStatus::Converged;
    }
    descent.start(m, p, at);
    if D::NEWTON && flat && at.decrement(p) < opt.tolerance {
        return SolverStatus::Converged;
    }
    for (v, g) in at.search.iter_mut().zip(&at.Mgrad) {
        *v = -g;
    }

    let tolerance = opt.tolerance * opt.ls_tolerance;
    while stats.niter < opt.iterations {
        at.prepare_search(m, p);
        let Primal { Ma, x, search, Mv, Jv, .. } = &*at;
        let direction = Direction { Ma, x, v: search, Mv, Jv };
        let found = line.search(p, &direction, tolerance, opt.ls_iterations);
        if found.alpha == 0.0 {
            if descent.restart(at) {
                continue;
            }
            return match descent.singular() {
                Some(e) => SolverStatus::Singular(e),
                None => SolverStatus::NoImprovement,
            };
        }
        at.advance(p, found.alpha);
        descent.precondition(m, p, at);
        stats.niter += 1;

        let improvement = p.scale * found.improvement;
        let gradient = at.scaled_gradient(p);
        let (nactive, nchange) = at.counts(p);
        stats.push(Iteration {
            cost: at.cost,
            improvement,
            gradient,
            nactive,
            nchange,
            neval: found.evaluations,
            nupdate: descent.updates(),
        });
        if improvement < opt.tolerance
            || gradient < opt.tolerance
            || (D::NEWTON && at.decrement(p) < opt.tolerance)
        {
            return SolverStatus::Converged;
        }
        descent.direct(at);
    }
    SolverStatus::IterationLimit
}
