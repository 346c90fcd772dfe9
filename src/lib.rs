//! dualstep

pub mod mjcf;
