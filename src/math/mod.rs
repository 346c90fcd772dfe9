//! Fixed-size mathematics, generic in the scalar, free of allocation.

pub mod quat;
pub mod spatial;

pub use quat::Quat;
pub use spatial::{SpatialInertia, SpatialVec};
