//! Derivatives of one simulation step: `dx⁺ = A dx + B du`, `dy = C dx + D du`.
//!
//! | method | what it differentiates | cost | when to use it |
//! |---|---|---|---|
//! | [`finite_diff`] | the step as a black box, `mjd_transitionFD` | one or two steps a column | as `MuJoCo` does it |
//! | [`dual`] | the step on dual numbers, exact to rounding | one dual step for 8 columns | as the oracle; every integrator |
//! | [`analytic`] | the equations: A and B of Euler, RK4, implicit and implicitfast | one forward pass and tree recursions | in controllers |
//! | [`transition`] | `Auto`: closed form where it covers the model, dual numbers elsewhere | | by default |
//!
//! The state tangent and the names of rows and columns are in [`tangent`].

pub mod tangent;

pub mod finite_diff;
pub mod dual;

pub mod quat;
pub mod rne_pos;
pub mod smooth;
pub mod actuator;
pub mod sensor;
mod rk4;
pub mod analytic;

pub mod transition;

pub use analytic::{AnalyticWorkspace, mjd_transition_analytic};
pub use dual::mjd_transition_dual;
pub use finite_diff::{FdConfig, FdWorkspace, Transition, TransitionError, mjd_transition_fd};
pub use transition::{DerivativeConfig, Method, mjd_transition};
