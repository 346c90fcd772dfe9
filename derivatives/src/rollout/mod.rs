//! Sensitivities of a rollout: many steps x_{t+1} = f(x_t, u_t), y_t = h(x_t, u_t), differentiated as a whole.
//!
//! | function | what it gives | memory |
//! |---|---|---|
//! | [`rollout_gradient`] | gradient of a cost Σ l(x_t, u_t, y_t) + l_T(x_T, y_T) by all controls and the initial state, by the adjoint | O(T) states, or O(T/k + k) with checkpoints |
//! | [`linearize_rollout`] | A, B, C, D of all steps; with them dx_t/dx_0, dx_t/du_s and products with directions | O(T) matrices |
//! | [`Growth`] | how perturbations grow along the horizon: singular values, Lyapunov exponents, columns by name | O(T) numbers for each column |
//! | [`rollout_dual`] | derivatives of the cost along directions, dual numbers through the whole rollout: the oracle | one state |
//!
//! A cost is a [`Cost`]: its value and its gradient by the state's tangent, controls and sensors at a stage.
//!
//! ```
//! use dualstep::{Data, mjcf::load_model_str};
//! use dualstep_derivatives::rollout::{QuadraticCost, RolloutConfig, rollout_gradient};
//! use dualstep_derivatives::tangent::State;
//! use ndarray::Array2;
//!
//! let m = load_model_str(
//!     r#"<mujoco><worldbody><body><joint name="hinge" axis="0 1 0"/>
//!        <geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.02"/></body></worldbody>
//!        <actuator><motor joint="hinge"/></actuator></mujoco>"#,
//!     "pendulum.xml",
//!     std::path::Path::new("."),
//! )?;
//! let d = Data::new(&m);
//!
//! // stand upright at the end
//! let mut target = State::of(&d);
//! target.qpos[0] = std::f64::consts::PI;
//! let mut cost = QuadraticCost::new(&m, target);
//! cost.terminal_weight.fill(1.0);
//! cost.ctrl_weight.fill(1e-3);
//!
//! let ctrl = Array2::from_elem((100, m.nu), 0.1);
//! let gradient = rollout_gradient(&m, &d, ctrl.view(), &mut cost, &RolloutConfig::default())?;
//! assert_eq!(gradient.ctrl.dim(), (100, 1));
//! assert!(gradient.ctrl[[0, 0]] < 0.0); // more torque brings it nearer
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Design and what was measured: design note 008 of the `dualstep` crate.

#![expect(clippy::needless_pass_by_value, reason = "views of arrays are passed as `ndarray` does")]

mod adjoint;
mod check;
mod cost;
mod forward;
mod growth;
mod states;

#[cfg(test)]
mod tests;

pub use adjoint::{
    RolloutConfig, RolloutGradient, RolloutWorkspace, Sweep, rollout_cost, rollout_gradient,
    rollout_gradient_into,
};
pub use check::{Direction, along, rollout_dual};
pub use cost::{ByDuals, Cost, CostFunction, CostGradient, QuadraticCost, Stage, to_tangent};
pub use forward::{Perturbation, RolloutLinearization, linearize_rollout};
pub use growth::Growth;

use dualstep::StepError;
use thiserror::Error;

use crate::matrices::TransitionError;

/// A rollout, or its derivative, failed.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum RolloutError {
    /// A step failed; at the end, the sensors of the last state.
    #[error("step {step} fails: {source}")]
    Step {
        /// Number of the step, from 0.
        step: usize,
        /// Why.
        source: StepError,
    },
    /// A step could not be linearized.
    #[error("step {step}: {source}")]
    Transition {
        /// Number of the step, from 0.
        step: usize,
        /// Why.
        source: TransitionError,
    },
}
