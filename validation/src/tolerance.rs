//! All tolerances, one line and one reason each. `SIM_TOL_SCALE=0 cargo test` shows the true residuals.

use std::sync::OnceLock;

use crate::conform::Stage;

/// Compiled arrays: same formulas in `f64`, but eigenvectors and mesh integrals sum in another order.
pub const COMPILE: f64 = 1e-9;
/// Forward dynamics without constraints: same formulas, another order of summation, amplified by M⁻¹.
pub const SMOOTH: f64 = 1e-10;
/// Contacts: closed forms on poses that agree to 1e-15; normals amplify by size over distance.
pub const CONTACT: f64 = 1e-11;
/// One step without constraints: the forward dynamics, times the timestep.
pub const STEP_SMOOTH: f64 = 1e-10;
/// Rows of constraints from golden contacts: same formulas in `f64`, another order of summation.
pub const ROWS: f64 = 1e-10;
/// Finite differences against finite differences, beyond ten times their noise: truncation, ε² = 1e-12
/// times third derivatives, and rounding, 1e-16/ε = 1e-10 times the values, both with factors of 100.
pub const DERIVATIVE_SMOOTH: f64 = 1e-7;

/// The same in contact: differences across a millimetre of impedance are right to 1e-6 to 1e-5 at best.
pub const DERIVATIVE: f64 = 1e-5;

/// Noise of the oracle's finite differences above which they say nothing: 1 %.
pub const FD_NOISE_USELESS: f64 = 1e-2;
/// The noise figure compares two step sizes in one norm; single entries may be off by several times that.
pub const FD_NOISE_FACTOR: f64 = 10.0;

/// The same formulas on `f64` and on dual numbers: division and powers may differ in the last bit.
pub const DUAL_VALUE: f64 = 1e-13;
/// The same where the constraint solver has part in it: rounding, amplified by the stiffness of the rows.
pub const DUAL_SOLVED: f64 = 1e-9;
/// A directional derivative by duals against centred differences: truncation and rounding, each about 1e-9
/// of the values, amplified by stiff actuators and second derivatives.
pub const DUAL_DERIVATIVE: f64 = 1e-6;
/// Minimum of the constraint solver: both reach it to the conditioning of M + JᵀDJ times rounding, and the
/// oracle stops a little before.
pub const CONVERGED: f64 = 1e-6;
/// The same by PGS after 2000 sweeps: it converges linearly.
pub const CONVERGED_PGS: f64 = 1e-3;
/// Steps with constraints: the minimum of the solver, times the timestep; ten steps amplify what one leaves.
pub const STEP: f64 = 1e-6;
/// Relative residual of the oracle's own solution above which it says nothing.
pub const SOLVER_RESIDUAL_USELESS: f64 = 1e-6;
/// Derivatives of the solver's minimum on dual numbers against Richardson's differences of tight solves.
pub const DUAL_MINIMUM: f64 = 1e-7;
/// The closed form of a linearization against dual numbers: rounding, amplified by M⁻¹ and by the stages of RK4.
pub const CLOSED_FORM: f64 = 1e-11;
/// The same through active rows of constraints: rounding, amplified by the stiffness of the rows.
pub const CLOSED_FORM_CONTACT: f64 = 1e-9;
/// The adjoint over many steps against dual numbers through all of them: the error of one step, amplified as states
/// are on the way.
pub const ROLLOUT: f64 = 1e-8;
/// Forces of inverse dynamics beside those that forward dynamics had: a force is D times an acceleration, of which the
/// solver leaves a gradient of about 1e-14 in units of M.
pub const INVERSE_CONTACT: f64 = 1e-8;
/// Differences extrapolated twice from nudges of 4e-3 to 1e-3: rounding, 1e-16/1e-3 times the values, with factors of
/// 100 from the weights and M⁻¹, and what is left of order ε⁶.
pub const EXTRAPOLATED: f64 = 1e-9;
/// Centred differences against values by hand: truncation and rounding, each about 1e-10 of the values.
pub const FD_BY_HAND: f64 = 1e-7;
/// Identities of mechanics and of linear algebra: rounding, amplified by M⁻¹ where accelerations enter.
pub const IDENTITY: f64 = 1e-11;

/// Tolerance of a stage, scaled.
pub fn of(stage: Stage) -> f64 {
    let tolerance = match stage {
        Stage::Compile => COMPILE,
        Stage::Smooth => SMOOTH,
        Stage::StepSmooth => STEP_SMOOTH,
        Stage::DerivativeSmooth => DERIVATIVE_SMOOTH,
        Stage::Constraint => CONVERGED,
        Stage::Step => STEP,
        Stage::Derivative => DERIVATIVE,
    };
    scaled(tolerance)
}

/// A tolerance times `SIM_TOL_SCALE` (1 where the variable is not set or not a number).
pub fn scaled(tolerance: f64) -> f64 {
    static SCALE: OnceLock<f64> = OnceLock::new();
    let scale = *SCALE.get_or_init(|| scale_from(std::env::var("SIM_TOL_SCALE").ok().as_deref()));
    tolerance * scale
}

fn scale_from(value: Option<&str>) -> f64 {
    value.and_then(|text| text.trim().parse().ok()).unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scale_is_read_or_one() {
        assert_eq!(scale_from(None), 1.0);
        assert_eq!(scale_from(Some("0")), 0.0);
        assert_eq!(scale_from(Some(" 1e3 ")), 1e3);
        assert_eq!(scale_from(Some("lax")), 1.0);
    }
}
