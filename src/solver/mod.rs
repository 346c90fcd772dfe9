//! Constrained forward dynamics: forces of the rows, and the acceleration with them.
//!
//! The acceleration minimizes ½(a − a₀)ᵀM(a − a₀) + s(J a − aref): as close as possible to the unconstrained
//! a₀, in the metric of the inertia, against the cost s of violating the rows. The cost is strictly convex:
//! there is one minimum, whatever redundant or contradictory rows there are, and each solver finds it.
//!
//! | solver | works on | use |
//! |---|---|---|
//! | Newton | accelerations; H = M + JᵀSJ | by default: converges in a few iterations, to rounding |
//! | CG | accelerations; M⁻¹ | large systems with few rows |
//! | PGS | forces; J M⁻¹ Jᵀ | as a comparison; slow to converge |
//!
//! `cost` has the cost of each kind of row, `linesearch` the exact line search that Newton and CG share;
//! the no-slip pass of `pgs` may follow any of them. On dual numbers the solver runs on the real parts, and
//! `tangent` differentiates the minimum.
//!
//! [`solve`] is the stage; [`SolverStats`] says how it went.
//!
//! Source: Todorov 2014, "Convex and analytically-invertible dynamics with contacts and constraints".

mod problem;
mod cost;
mod linesearch;
mod hessian;
mod primal;
mod newton;
mod cg;
mod qcqp;
mod dual;
mod pgs;
mod polish;
mod tangent;
mod inverse;
mod stats;

pub use cost::{ConeHessian, force_response};
pub use inverse::inverse_constraint;
pub use stats::{Iteration, SolverStats, SolverStatus, TangentStatus};

use crate::collision::Contact;
use crate::constraint::{Efc, EfcState};
use crate::data::Data;
use crate::model::options::disable;
use crate::model::{Model, SolverType};
use crate::scalar::Scalar;

use cg::ConjugateGradient;
use dual::Dual;
use linesearch::Line;
use newton::Newton;
use primal::{Primal, minimize};
use problem::{Problem, copy_re};
use tangent::Tangents;

/// Working memory of [`solve`], and how the last solve went.
#[derive(Clone, Debug)]
pub struct SolverWorkspace<T: Scalar> {
    capacity: usize,
    problem: Problem,
    at: Primal,
    line: Line,
    /// Present for Newton, and for tangents.
    newton: Option<Newton>,
    cg: ConjugateGradient,
    /// Present for PGS and no-slip.
    dual: Option<Dual>,
    tangents: Tangents<T>,
    /// Whether the minimum itself is wanted, whatever the options say.
    polish: bool,
    /// How the last solve went.
    pub stats: SolverStats,
}

impl<T: Scalar> SolverWorkspace<T> {
    /// Room for `capacity` rows, and what the solver in the model's options needs. Memory is allocated later only
    /// for more rows than that.
    pub fn new(m: &Model, capacity: usize) -> Self {
        let newton = m.opt.solver == SolverType::Newton || T::ORDER > 0;
        let dual = m.opt.solver == SolverType::Pgs || m.opt.noslip_iterations > 0;
        Self {
            capacity,
            problem: Problem::new(m, capacity),
            at: Primal::new(m.nv, capacity),
            line: Line::new(capacity),
            newton: newton.then(|| Newton::new(m.nv, capacity)),
            cg: ConjugateGradient::new(m.nv),
            dual: dual.then(|| Dual::new(m.nv, capacity)),
            tangents: Tangents::new(m.nv, capacity),
            polish: false,
            stats: SolverStats::new(m.opt.iterations + m.opt.noslip_iterations),
        }
    }

    /// Whether from now on every solve goes on to the minimum, by Newton steps from where the solver of the options ends,
    /// and leaves out the no-slip pass: what a linearization differentiates.
    pub fn polish(&mut self, m: &Model, on: bool) {
        self.polish = on;
        if on {
            self.newton.get_or_insert_with(|| Newton::new(m.nv, self.capacity));
        }
    }
}

/// What is missing if the options ask for another solver than they did at construction.
const OTHER_SOLVER: &str = "the workspace was made for another solver";

/// Acceleration and forces under constraints.
///
/// - reads  `qfrc_smooth`, `qacc_smooth`, `qacc_warmstart` (nv); `qM`, `qLD`, `qLDiagInv`; of the rows `kind`,
///   `id`, `J`, `D`, `R`, `aref`, `frictionloss`; of elliptic contacts `dim`, `friction`, `mu`
/// - writes `qacc` (nv) [m/s², rad/s²]; `qfrc_constraint` (nv) [N, N·m]; of the rows `force`, `state`;
///   `ws.stats`
///
/// Starts from `qacc_warmstart` or `qacc_smooth`, whichever costs less. Options: `solver`, `iterations`,
/// `tolerance`, `ls_iterations`, `ls_tolerance`, `noslip_iterations`, `noslip_tolerance`, the flag `warmstart`.
/// Tolerances are relative to the trace of M, as in MuJoCo since 3.17.
///
/// On dual numbers the real parts are those of the same solve on `f64`; the tangents are the derivative of
/// the minimum, see [`TangentStatus`].
///
/// Source: MuJoCo `mj_fwdConstraint`.
///
/// # Panics
/// If the options ask for another solver than they did when the workspace was made.
pub fn solve<T: Scalar>(
    m: &Model,
    d: &mut Data<T>,
    efc: &mut Efc<T>,
    contacts: &[Contact<T>],
    ws: &mut SolverWorkspace<T>,
) -> SolverStatus {
    ws.reserve(m, efc.nefc);
    ws.stats.clear();
    if efc.nefc == 0 {
        leave_unconstrained(d, efc);
        return SolverStatus::Unconstrained;
    }
    let mut status = SolverStatus::NonFinite;
    if ws.problem.load(m, d, efc, contacts) {
        status = ws.solve_real(m, d);
        if ws.polish {
            status = ws.polish_real(m, status);
        }
        ws.write(d, efc, |re, _| T::lift(re));
        if m.opt.solver == SolverType::Pgs && !ws.polish {
            ws.evaluate_primal(m);
        }
        if T::ORDER > 0 {
            status = ws.differentiate(m, d, efc, status);
        }
        if m.opt.noslip_iterations > 0 && !ws.polish {
            ws.noslip(m);
            ws.write(d, efc, |re, old| T::from_parts(|k| if k == 0 { re } else { old.part(k) }));
        }
        let finite = |x: &[T]| x.iter().all(|x| x.finite());
        if !(finite(&d.qacc) && finite(&d.qfrc_constraint) && finite(&efc.force[..efc.nefc])) {
            status = SolverStatus::NonFinite;
        }
    }
    if status == SolverStatus::NonFinite {
        leave_unconstrained(d, efc);
    }
    ws.stats.status = status;
    status
}

/// The acceleration without constraints, no forces.
fn leave_unconstrained<T: Scalar>(d: &mut Data<T>, efc: &mut Efc<T>) {
    d.qacc.copy_from_slice(&d.qacc_smooth);
    d.qfrc_constraint.fill(T::zero());
    efc.force.fill(T::zero());
    efc.state.fill(EfcState::Satisfied);
}

impl<T: Scalar> SolverWorkspace<T> {
    /// Makes room for `nefc` rows.
    fn reserve(&mut self, m: &Model, nefc: usize) {
        if nefc > self.capacity {
            let polish = self.polish;
            *self = Self::new(m, nefc.next_power_of_two());
            self.polish(m, polish);
        }
    }

    /// Warm start and main solver, on real parts.
    fn solve_real(&mut self, m: &Model, d: &Data<T>) -> SolverStatus {
        let Self { problem: p, at, line, newton, cg, dual, stats, .. } = self;
        let warm = !m.opt.disabled(disable::WARMSTART);
        if m.opt.solver == SolverType::Pgs {
            let dual = dual.as_mut().expect(OTHER_SOLVER);
            copy_re(&d.qacc_warmstart, &mut at.qacc);
            at.evaluate(m, p);
            dual.load(m, p);
            dual.start(p, warm.then_some(&at.force));
            let status = dual.solve(p, &m.opt, stats);
            dual.finish(m, p, at);
            return status;
        }
        warmstart(m, p, at, warm.then_some(&d.qacc_warmstart));
        let status = if m.opt.solver == SolverType::Cg {
            minimize(m, p, at, (cg, line), &m.opt, stats)
        } else {
            minimize(m, p, at, (newton.as_mut().expect(OTHER_SOLVER), line), &m.opt, stats)
        };
        stats.gradient = at.scaled_gradient(p);
        status
    }

    /// States and gradient that belong to the acceleration of PGS, which has neither.
    fn evaluate_primal(&mut self, m: &Model) {
        self.at.evaluate(m, &self.problem);
        self.stats.gradient = self.at.scaled_gradient(&self.problem);
    }

    /// On to the minimum.
    fn polish_real(&mut self, m: &Model, status: SolverStatus) -> SolverStatus {
        if m.opt.solver == SolverType::Pgs {
            self.evaluate_primal(m);
        }
        let Self { problem: p, at, line, newton, stats, .. } = self;
        stats.before_polish = Some((status, stats.gradient));
        let newton = newton.as_mut().expect(OTHER_SOLVER);
        let reached = polish::polish(m, p, at, (newton, line));
        stats.gradient = at.scaled_gradient(p);
        match status {
            _ if reached => SolverStatus::Converged,
            SolverStatus::Converged => SolverStatus::NoImprovement,
            status => status,
        }
    }

    /// Tangents at the minimum; of PGS in the states that belong to its acceleration.
    fn differentiate(
        &mut self,
        m: &Model,
        d: &mut Data<T>,
        efc: &mut Efc<T>,
        status: SolverStatus,
    ) -> SolverStatus {
        let Self { problem: p, at, newton, stats, tangents, .. } = self;
        let hessian = &mut newton.as_mut().expect(OTHER_SOLVER).hessian;
        let singular = tangents.differentiate(m, d, efc, p, (at, hessian));
        stats.status = status;
        let reached = stats.reached_minimum(m.opt.tolerance);
        stats.tangents = if m.opt.noslip_iterations > 0 {
            TangentStatus::WithoutNoslip
        } else if reached && singular.is_none() {
            TangentStatus::Exact
        } else {
            TangentStatus::Unconverged
        };
        singular.map_or(status, SolverStatus::Singular)
    }

    /// The no-slip pass, from the forces of the main solver.
    fn noslip(&mut self, m: &Model) {
        let Self { problem: p, at, dual, stats, .. } = self;
        let dual = dual.as_mut().expect(OTHER_SOLVER);
        if m.opt.solver != SolverType::Pgs {
            dual.load(m, p);
            dual.force[..p.nefc].copy_from_slice(&at.force[..p.nefc]);
        }
        dual.noslip(p, &m.opt, stats);
        dual.finish(m, p, at);
    }

    /// Writes the real results; `put(re, old)` makes the new number.
    fn write(&self, d: &mut Data<T>, efc: &mut Efc<T>, put: impl Fn(f64, T) -> T) {
        let at = &self.at;
        for (to, re) in d.qacc.iter_mut().zip(&at.qacc) {
            *to = put(*re, *to);
        }
        for (to, re) in d.qfrc_constraint.iter_mut().zip(&at.qfrc_constraint) {
            *to = put(*re, *to);
        }
        for (to, re) in efc.force[..efc.nefc].iter_mut().zip(&at.force) {
            *to = put(*re, *to);
        }
        efc.state[..efc.nefc].copy_from_slice(&at.state[..efc.nefc]);
    }
}

/// `at.qacc` ← the given acceleration, or the unconstrained one where that costs less.
///
/// Source: MuJoCo `warmstart`.
fn warmstart<T: Scalar>(m: &Model, p: &Problem, at: &mut Primal, qacc: Option<&Vec<T>>) {
    at.qacc.copy_from_slice(&p.qacc_smooth);
    let Some(qacc) = qacc else { return };
    at.evaluate(m, p);
    let smooth = at.cost;
    copy_re(qacc, &mut at.qacc);
    at.evaluate(m, p);
    if at.cost.is_nan() || at.cost > smooth {
        at.qacc.copy_from_slice(&p.qacc_smooth);
    }
}
