//! What can go wrong with the numbers of a step, as values.

use thiserror::Error;

/// Part of the pipeline in which something went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepStage {
    /// The state that the caller handed in.
    Input,
    /// Position-dependent quantities.
    Position,
    /// Velocity-dependent quantities.
    Velocity,
    /// Forces and accelerations.
    Acceleration,
    /// Integration of the state.
    Integration,
}

impl std::fmt::Display for StepStage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Input => "input",
            Self::Position => "position",
            Self::Velocity => "velocity",
            Self::Acceleration => "acceleration",
            Self::Integration => "integration",
        })
    }
}

/// Why a step did not happen. The state is left as it was before the step.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum StepError {
    /// A number is NaN, infinite or larger than 1e10 in magnitude.
    #[error(
        "{field}[{index}] is {value} ({stage} stage): not finite or above 1e10; check the state, the \
         controls and the timestep"
    )]
    NonFinite {
        /// Where it was found.
        stage: StepStage,
        /// Field of `Data`.
        field: &'static str,
        /// Index in that field.
        index: usize,
        /// The number.
        value: f64,
    },
    /// The rows of the constraints are finite, and the solution is not.
    #[error(
        "the constraint solver overflowed: check `solref`, `solimp` and friction for extreme numbers, and the \
         timestep"
    )]
    Solver,
    /// A factorization met a pivot that is not positive.
    #[error(transparent)]
    Factor(#[from] FactorError),
}

/// A matrix could not be factored.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[error("the {matrix} matrix is not positive definite: pivot {pivot:e} at degree of freedom {dof}")]
pub struct FactorError {
    /// Name of the matrix.
    pub matrix: &'static str,
    /// Degree of freedom of the pivot.
    pub dof: usize,
    /// The pivot.
    pub pivot: f64,
}

/// Largest magnitude that positions, velocities and accelerations may have (`mjMAXVAL`).
pub const MAXVAL: f64 = 1e10;

/// Checks that all numbers, tangents included, are finite and, but for the state after integration, at most
/// [`MAXVAL`] in magnitude. (A state beyond it is met at the next step, as in MuJoCo.)
pub(crate) fn check_finite<T: crate::Scalar>(
    stage: StepStage,
    field: &'static str,
    values: &[T],
) -> Result<(), StepError> {
    let limit = if stage == StepStage::Integration { f64::MAX } else { MAXVAL };
    let bad = |x: &T| !x.finite() || x.re().abs() > limit;
    match values.iter().position(bad) {
        None => Ok(()),
        Some(index) => Err(StepError::NonFinite { stage, field, index, value: values[index].re() }),
    }
}
