//! What the simulator and its derivatives are used for; the library behind the `dualstep` command.
//!
//! - [`rollout`]: many steps under given controls
//! - [`gradient`]: gradients of a cost over many steps, checked; growth of perturbations
//! - [`record`]: states, trajectories and linearizations in `.npz` files, with documented keys
//! - [`linear`]: eigenvalues and controllability of a linearization
//! - [`plot`]: trajectories over time, and figures of numbers against numbers, as SVG
//! - [`mod@report`]: the report of a validation of derivatives
//! - [`tree_view`]: the kinematic tree in text
//! - [`mod@bench`]: our times beside MuJoCo's
//! - [`config`]: configurations of experiments
//! - [`findings`]: what experiments find, and how it is kept; [`fit`]: slopes
//! - [`studies`]: runnable experiments on convergence
//! - [`papers`]: claims of papers, and what became of them; [`stopwatch`]: times of several functions in one run

pub mod bench;
pub mod config;
pub mod findings;
pub mod fit;
pub mod gradient;
pub mod linear;
pub mod papers;
pub mod plot;
pub mod record;
pub mod report;
pub mod rollout;
pub mod stopwatch;
pub mod studies;
pub mod tree_view;
