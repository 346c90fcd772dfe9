//! How we know that the simulator is right: comparison with what MuJoCo computes.
//!
//! - [`golden`] reads the oracle's arrays;
//! - [`compare`] says how far two arrays are apart, for vectors, rotations and inertias;
//! - [`tolerance`] says how far they may be, with a reason each;
//! - [`conform`](mod@conform) compares whole models with their golden data, stage by stage;
//! - [`contacts`] matches and compares contacts;
//! - [`derivatives`] compares every method of linearization with every other, block by block;
//! - [`random_tree`] makes models for identities that hold on every tree.

pub mod compare;
pub mod conform;
pub mod contacts;
pub mod derivatives;
pub mod golden;
pub mod random_tree;
pub mod tolerance;

pub use conform::{ConformOptions, Report, Stage, conform};
pub use golden::{Golden, GoldenError};
