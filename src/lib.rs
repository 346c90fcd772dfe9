//! MuJoCo models, stepped as MuJoCo does, generic over the scalar.

pub mod scalar;

pub mod data;
pub mod energy;
pub mod math;
pub mod mjcf;
pub mod model;
pub mod sensor;
pub mod smooth;
pub mod status;

pub use data::Data;
pub use model::Model;
pub use scalar::Scalar;
pub use status::{FactorError, StepError};

/// Smallest denominator and norm that count as non-zero (`mjMINVAL`).
pub const MINVAL: f64 = 1e-15;
