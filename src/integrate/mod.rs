//! Time integration.

mod advance;
mod euler;
mod factor;
mod implicit;
mod manifold;
mod rk4;
mod spring_damper;

pub use advance::advance;
pub use euler::{damps_implicitly, euler};
pub(crate) use factor::KeptFactor;
pub use implicit::is_free_body;
pub use implicit::{implicit, implicitfast};
pub use manifold::{differentiate_pos, integrate_pos};
pub(crate) use rk4::Rk4Scratch;
pub use rk4::rk4;
pub use spring_damper::{implicit_spring_damper, stiffness};

use crate::model::{Integrator, Model};

/// True if the integrator solves for the acceleration over the step with a matrix of its own, and does not read
/// `qacc`.
pub fn solves_for_acceleration(m: &Model) -> bool {
    match m.opt.integrator {
        Integrator::Euler => damps_implicitly(m),
        Integrator::RK4 => false,
        Integrator::Implicit | Integrator::ImplicitFast | Integrator::ImplicitSpringDamper => true,
    }
}
