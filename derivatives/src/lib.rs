//! Derivatives of one simulation step: `dx⁺ = A dx + B du`, `dy = C dx + D du`.
//!
//! | method | what it differentiates | cost | when to use it |
//! |---|---|---|---|
//! | [`mjd_transition_fd`] | the step as a black box, as MuJoCo's `mjd_transitionFD` | one or two steps a column | to compare with MuJoCo |
//! | [`mjd_transition_hybrid`] | positions by differences, velocities and inputs by equations | one or two steps a position column | to check one half against the other |
//! | [`mjd_transition_analytic`] | the equations, for every integrator | one forward pass and tree recursions | in controllers |
//! | [`mjd_transition_dual`] | the step on dual numbers, exact to rounding | one dual step for 8 columns | as the oracle |
//! | [`mjd_transition_randomized`] | the step smoothed by noise: averages over samples, seeded | a step, or a linearization, for each sample | where contacts come and go |
//! | [`mjd_transition`] | by any of these; `Auto`: closed form where it covers the model, dual numbers elsewhere | | by default |
//!
//! [`Transition`] holds the matrices, the names of rows and columns, and says of each column where it comes from
//! and whether the state is at a kink. [`linearize_trajectory`] linearizes all
//! states of a trajectory in parallel.
//! [`DerivativeConfig::softening`] softens contacts for the linearization alone ([`dualstep::design::smoothing`]).
//! The state tangent is in [`tangent`]; [`check`] compares linearizations; [`mod@rollout`] differentiates many steps as a
//! whole: gradients of a cost, sensitivities, growth of perturbations.
//!
//! What the closed form is made of can be had by itself, and is generic over the scalar:
//!
//! | function | derivative |
//! |---|---|
//! | [`mjd_smooth_vel`] | `qDeriv`: of `qfrc_smooth` by velocity |
//! | [`mjd_smooth_pos`] | of `qfrc_smooth` by position |
//! | [`mjd_inverse`] | of inverse dynamics by position, velocity and acceleration |
//! | [`mjd_acceleration`] | of `qacc` in continuous time, by position, velocity, activation and control |
//! | [`mjd_smooth_hessian`] | the same a second time, along a direction |
//! | [`mjd_sensors`] | of sensors by position, velocity, activation and control: C and D |
//! | [`mjd_quat_integrate`], [`mjd_sub_quat`], [`mjd_integrate_pos`] | of moving on the manifold of positions |

#[cfg(test)]
mod testing;

pub mod tangent;
pub mod npz;
pub mod matrices;
pub mod columns;

pub mod quat;
pub mod rne_pos;
pub mod smooth;
pub mod constraint;
pub mod actuator;
pub mod dynamics;
pub mod sensor;

mod kinks;
pub mod finite_diff;
pub mod dual;
mod rk4;
mod implicit;
pub mod analytic;

pub mod transition;
pub mod trajectory;
pub mod randomized;
pub mod check;
pub mod rollout;

pub use analytic::{AnalyticWorkspace, mjd_transition_analytic};
pub use check::{fd_convergence_check, max_relative_error, validate_analytical_vs_fd};
pub use dual::mjd_transition_dual;
pub use dualstep::smooth::qderiv::{QDeriv, mjd_smooth_vel};
pub use dynamics::{
    AccelerationDeriv, HessianDeriv, InverseDeriv, mjd_acceleration, mjd_inverse,
    mjd_smooth_acceleration, mjd_smooth_hessian, mjd_smooth_inverse,
};
pub use finite_diff::{FdConfig, FdSteps, FdWorkspace, mjd_transition_fd};
pub use matrices::{
    Column, Feature, Kink, Origin, Reason, Side, Solve, Transition, TransitionError,
};
pub use quat::{mjd_integrate_pos, mjd_quat_integrate, mjd_sub_quat};
pub use randomized::{
    Order, Randomized, RandomizedConfig, RandomizedError, Sigma, mjd_transition_randomized,
};
pub use rollout::{
    RolloutConfig, RolloutError, RolloutGradient, RolloutWorkspace, rollout_gradient,
};
pub use sensor::{SensorDeriv, covers_sensor, mjd_sensors, mjd_smooth_sensors};
pub use smooth::{SmoothDeriv, mjd_smooth_pos};
pub use trajectory::{Knot, TrajectoryError, TrajectoryWorkspace, linearize_trajectory};
pub use transition::{
    DerivativeConfig, Method, TransitionWorkspace, mjd_transition, mjd_transition_hybrid,
    mjd_transition_into,
};
