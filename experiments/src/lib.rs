//! What the simulator and its derivatives are used for; the library behind the `dualstep` command.
//!
//! - [`rollout`]: many steps under given controls
//! - [`record`]: states, trajectories and linearizations in `.npz` files, with documented keys
//! - [`linear`]: eigenvalues and controllability of a linearization
//! - [`plot`]: trajectories over time, and figures of numbers against numbers, as SVG
//! - [`mod@report`]: the report of a validation of derivatives
//! - [`tree_view`]: the kinematic tree in text
//! - [`coverage`]: what a model contains that a simulation leaves out
//! - [`mod@bench`]: our times beside MuJoCo's

pub mod bench;
pub mod coverage;
pub mod linear;
pub mod plot;
pub mod record;
pub mod report;
pub mod rollout;
pub mod tree_view;
