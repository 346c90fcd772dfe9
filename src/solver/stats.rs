//! How a solve ended, and how it went.

use crate::status::FactorError;

/// How a solve ended. Accelerations and forces are finite in every case.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
#[non_exhaustive]
pub enum SolverStatus {
    /// There are no rows: the acceleration is the unconstrained one.
    #[default]
    Unconstrained,
    /// Improvement, gradient or Newton decrement fell below the tolerance.
    Converged,
    /// The line search found no better point before the tolerance was met: usually rounding is reached, and
    /// the result is as good as it gets; the last gradient tells.
    NoImprovement,
    /// The limit of iterations came first: raise `iterations`, or `tolerance`.
    IterationLimit,
    /// The inertia is singular in a direction that no active row resists, named by its degree of freedom; the
    /// result there is a guess.
    Singular(FactorError),
    /// A row, an inertia or a force is not finite, or overflowed: the constraints were left out.
    NonFinite,
}

impl SolverStatus {
    /// True if the result is the minimum, up to tolerance.
    pub fn is_converged(self) -> bool {
        matches!(self, Self::Unconstrained | Self::Converged)
    }
}

impl std::fmt::Display for SolverStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unconstrained => f.write_str("no constraints"),
            Self::Converged => f.write_str("converged"),
            Self::NoImprovement => f.write_str("no further improvement"),
            Self::IterationLimit => f.write_str("iteration limit reached"),
            Self::Singular(e) => write!(f, "singular: {e}"),
            Self::NonFinite => f.write_str("not finite: constraints left out"),
        }
    }
}

/// What the tangents of a solve on dual numbers are worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum TangentStatus {
    /// The numbers carry no tangents.
    #[default]
    None,
    /// They are the derivative of the minimum.
    Exact,
    /// The solve did not converge: they are the derivative of a Newton step from where it ended.
    Unconverged,
    /// The no-slip pass has no derivative here: they belong to the solution before it.
    WithoutNoslip,
}

/// One iteration.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Iteration {
    /// Cost after it: ½(a − a₀)ᵀM(a − a₀) + s. For PGS and no-slip the negative of the dual cost, which
    /// meets the primal one from below at the minimum.
    pub cost: f64,
    /// Decrease of the cost over trace M.
    pub improvement: f64,
    /// Norm of the gradient over trace M; zero for PGS and no-slip, which have none.
    pub gradient: f64,
    /// Rows that are not satisfied.
    pub nactive: usize,
    /// Rows that changed their state.
    pub nchange: usize,
    /// Evaluations of the line search.
    pub neval: usize,
    /// Rows added to the Hessian.
    pub nupdate: usize,
}

/// How a solve went.
#[derive(Clone, Debug, Default)]
pub struct SolverStats {
    /// How it ended.
    pub status: SolverStatus,
    /// Iterations of the main solver.
    pub niter: usize,
    /// Iterations of the no-slip pass.
    pub noslip_niter: usize,
    /// Cost at the point where it started.
    pub initial_cost: f64,
    /// Norm of the gradient over trace M at the end, before the no-slip pass.
    pub gradient: f64,
    /// How the solver of the options ended, and its gradient, where a linearization went on from there to the minimum.
    pub before_polish: Option<(SolverStatus, f64)>,
    /// What the tangents are worth.
    pub tangents: TangentStatus,
    /// Every iteration, those of the no-slip pass last.
    pub iterations: Vec<Iteration>,
}

impl SolverStats {
    /// Room for `capacity` iterations.
    pub(crate) fn new(capacity: usize) -> Self {
        Self { iterations: Vec::with_capacity(capacity), ..Self::default() }
    }

    /// Forgets the last solve.
    pub(crate) fn clear(&mut self) {
        let mut iterations = std::mem::take(&mut self.iterations);
        iterations.clear();
        *self = Self { iterations, ..Self::default() };
    }

    /// True if the result is the minimum but for rounding: converged, or without improvement at a gradient that is small
    /// beside `tolerance`, that of the options.
    pub fn reached_minimum(&self, tolerance: f64) -> bool {
        is_minimum(self.status, self.gradient, tolerance)
    }

    /// The same of the solver of the options, whatever a linearization did after it.
    pub fn solver_reached_minimum(&self, tolerance: f64) -> bool {
        let (status, gradient) = self.before_polish.unwrap_or((self.status, self.gradient));
        is_minimum(status, gradient, tolerance)
    }

    /// Keeps an iteration.
    pub(crate) fn push(&mut self, iteration: Iteration) {
        self.iterations.push(iteration);
    }
}

fn is_minimum(status: SolverStatus, gradient: f64, tolerance: f64) -> bool {
    let stopped = matches!(status, SolverStatus::NoImprovement | SolverStatus::IterationLimit);
    // rounding leaves that much even where no tolerance is asked for
    let small = gradient < tolerance.sqrt().clamp(1e-8, 1e-6);
    status.is_converged() || stopped && small
}
