//! Time integration.

mod advance;
mod euler;
mod implicit;
mod manifold;
mod rk4;
mod spring_damper;

pub use advance::advance;
pub use euler::euler;
pub use implicit::is_free_body;
pub use implicit::{implicit, implicitfast};
pub use manifold::{differentiate_pos, integrate_pos};
pub(crate) use rk4::Rk4Scratch;
pub use rk4::rk4;
pub use spring_damper::{implicit_spring_damper, stiffness};
