//! One call for all methods.

use dualstep::{Data, Model};

use crate::analytic::{AnalyticWorkspace, mjd_transition_analytic_into};
use crate::dual::{DualWorkspace, mjd_transition_dual_into, sensors_dual};
use crate::finite_diff::{FdConfig, Transition, TransitionError, mjd_transition_fd};

/// How to differentiate a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Finite differences of whole steps: what MuJoCo has.
    Fd,
    /// A and B in closed form, C and D by dual numbers; an error where the closed form does not reach.
    Analytic,
    /// Dual numbers through the whole step: the oracle.
    Dual,
    /// In closed form where that covers the model, by dual numbers elsewhere; the result says why.
    #[default]
    Auto,
}

/// How to take a linearization.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DerivativeConfig {
    /// Method.
    pub method: Method,
    /// Nudges, for [`Method::Fd`].
    pub fd: FdConfig,
}

/// A, B, C and D of one step at the state of `d`, which stays as it is.
///
/// C and D belong to the state before the step.
///
/// # Errors
/// If the step fails, or the method does not cover the model at this state.
pub fn mjd_transition(
    m: &Model,
    d: &Data<f64>,
    config: &DerivativeConfig,
) -> Result<Transition, TransitionError> {
    if config.method == Method::Fd {
        return mjd_transition_fd(m, d, &config.fd);
    }
    let mut transition = Transition::new(m);
    let mut dual = DualWorkspace::new(m);
    if config.method == Method::Dual {
        mjd_transition_dual_into(m, d, &mut dual, &mut transition)?;
        return Ok(transition);
    }
    let mut workspace = AnalyticWorkspace::new(m);
    match mjd_transition_analytic_into(m, d, &mut workspace, &mut transition) {
        Ok(()) => sensors_dual(m, d, &mut dual, &mut transition)?,
        Err(TransitionError::NotCovered { feature }) if config.method == Method::Auto => {
            mjd_transition_dual_into(m, d, &mut dual, &mut transition)?;
            transition.fallback = Some(feature);
        }
        Err(error) => return Err(error),
    }
    Ok(transition)
}
