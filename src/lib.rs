//! MuJoCo models, stepped as MuJoCo does, generic over the scalar.

pub mod scalar;

pub mod status;
pub mod math;
pub mod model;
pub mod linalg;
pub mod data;
pub mod smooth;
pub mod energy;
pub mod sensor;
pub mod integrate;
pub mod forward;
pub mod inverse;
pub mod set_const;
pub mod mjcf;

pub use data::Data;
pub use forward::{forward, step};
pub use model::Model;
pub use scalar::Scalar;
pub use status::{FactorError, StepError};

/// Smallest denominator and norm that count as non-zero (`mjMINVAL`).
pub const MINVAL: f64 = 1e-15;
