//! dualstep
