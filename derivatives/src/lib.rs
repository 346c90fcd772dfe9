//! Derivatives of one simulation step: `dx⁺ = A dx + B du`, `dy = C dx + D du`.
//!
//! | method | what it differentiates | cost | when to use it |
//! |---|---|---|---|
//! | [`finite_diff`] | the step as a black box, `mjd_transitionFD` | one or two steps a column | as `MuJoCo` does it |
//!
//! The state tangent and the names of rows and columns are in [`tangent`].

pub mod tangent;

pub mod finite_diff;
pub mod dual;

pub mod quat;
pub mod rne_pos;
pub mod smooth;
pub mod actuator;
pub mod analytic;

pub use analytic::mjd_transition_analytic;
pub use dual::mjd_transition_dual;
pub use finite_diff::{FdConfig, FdWorkspace, Transition, TransitionError, mjd_transition_fd};
