//! dualstep
pub mod mjcf;
