//! Derivatives of one simulation step: `dx⁺ = A dx + B du`, `dy = C dx + D du`.
//!
//! | method | what it differentiates | cost | when to use it |
//! |---|---|---|---|
//! | [`mjd_transition_fd`] | the step as a black box, as MuJoCo's `mjd_transitionFD` | one or two steps a column | to compare with MuJoCo |
//! | [`mjd_transition_hybrid`] | positions by differences, velocities and inputs by equations | one or two steps a position column | to check one half against the other |
//! | [`mjd_transition_analytic`] | the equations, for every integrator | one forward pass and tree recursions | in controllers |
//! | [`mjd_transition_dual`] | the step on dual numbers, exact to rounding | one dual step for 8 columns | as the oracle |
//! | [`mjd_transition`] | by any of these; `Auto`: closed form where it covers the model, dual numbers elsewhere | | by default |
//!
//! [`Transition`] holds the matrices, the names of rows and columns, and says of each column where it comes from
//! and whether the state is at a kink.
//! The state tangent is in [`tangent`].
//!
//! What the closed form is made of can be had by itself: [`smooth`] (forces and accelerations by position, velocity,
//! activation and control; inverse dynamics), [`quat`] (integration on the manifold), [`rne_pos`].

pub mod tangent;
pub mod npz;
pub mod matrices;
pub mod columns;

pub mod quat;
pub mod rne_pos;
pub mod smooth;
pub mod actuator;

mod kinks;
pub mod finite_diff;
pub mod dual;
mod rk4;
pub mod analytic;

pub mod transition;

pub use analytic::{AnalyticWorkspace, mjd_transition_analytic};
pub use dual::mjd_transition_dual;
pub use finite_diff::{FdConfig, FdSteps, FdWorkspace, mjd_transition_fd};
pub use matrices::{Column, Feature, Kink, Origin, Reason, Side, Transition, TransitionError};
pub use transition::{
    DerivativeConfig, Method, TransitionWorkspace, mjd_transition, mjd_transition_hybrid,
    mjd_transition_into,
};
