//! λᵀA and λᵀB of a step without A and B.
//!
//! A step is v⁺ = v + h â, q⁺ = q ⊕ h v⁺ with H â = f (see [`super`]). From the back, with [E, h J] the derivative of
//! q ⊕ h v⁺ and −∂r/∂x that of the smooth forces at fixed acceleration ([`crate::smooth`]),
//!
//! ```text
//! μ = λ_v + h Jᵀ λ_q,      ν = h H⁻ᵀ μ,      λᵀ[A B] = [Eᵀ λ_q, μ, …] + νᵀ ∂(f − H â)/∂x at fixed â
//! ```
//!
//! so one solve takes the place of one for each column. Constraint forces are a function of the state by themselves,
//! qfrc_constraint = M qacc + bias − τ, where qacc has the matrix M + JᵀSJ ([`crate::constraint`]): their part of ν goes
//! on through that, κ = (M + JᵀSJ)⁻¹ M ν.
//!
//! Source: reverse accumulation through an implicit function, Griewank and Walther 2008, "Evaluating Derivatives", §15.3.

use dualstep::forward::{Outputs, check_acceleration};
use dualstep::linalg::tree_ldl;
use dualstep::model::Integrator;
use dualstep::smooth::mul_m;
use dualstep::{Data, Model};

use super::{AnalyticWorkspace, acceleration, implicit_forces, implicit_slopes, pass};
use crate::actuator::next_activation_derivative;
use crate::columns::Wanted;
use crate::constraint::mjd_constraint;
use crate::matrices::{Column, Reason, TransitionError};
use crate::quat::integrate_pos_transposed;
use crate::smooth::{SmoothDeriv, mjd_smooth};
use crate::tangent::ndx;

/// What [`mjd_product`] writes on its way.
#[derive(Debug)]
pub(crate) struct ProductWorkspace {
    w: AnalyticWorkspace,
    /// ν and κ (nv).
    nu: Vec<f64>,
    kappa: Vec<f64>,
}

impl ProductWorkspace {
    /// None where A and B are needed: the implicit integrators have matrices that are not symmetric, RK4 has stages.
    pub(crate) fn new(m: &Model) -> Option<Self> {
        let explicit =
            matches!(m.opt.integrator, Integrator::Euler | Integrator::ImplicitSpringDamper);
        let wanted = Wanted { sensors: false, ..Wanted::all(m) };
        explicit.then(|| Self {
            w: AnalyticWorkspace::of(m, wanted, Reason::Covered),
            nu: vec![0.0; m.nv],
            kappa: vec![0.0; m.nv],
        })
    }
}

/// Adds λᵀA to `by_state` (2nv + na) and λᵀB to `by_ctrl` (nu), for the step from the state of `d` and a row vector
/// `costate` (2nv + na). True if the state is at a kink, or a control beyond its range.
///
/// # Errors
/// As [`super::mjd_transition_analytic`].
pub(crate) fn mjd_product(
    m: &Model,
    d: &Data<f64>,
    ws: &mut ProductWorkspace,
    costate: &[f64],
    by_state: &mut [f64],
    by_ctrl: &mut [f64],
) -> Result<bool, TransitionError> {
    let ProductWorkspace { w, nu, kappa } = ws;
    pass(m, d, w, Outputs::State)?;
    acceleration(m, w);
    check_acceleration(&w.acc).map_err(TransitionError::Step)?;
    let (nv, h) = (m.nv, m.opt.timestep);
    let (next_q, rest) = costate.split_at(nv);
    let (next_v, next_act) = rest.split_at(nv);

    // μ = λ_v + h Jᵀ λ_q
    for i in 0..nv {
        w.qvel[i] = w.d.qvel[i] + h * w.acc[i];
    }
    nu.copy_from_slice(next_v);
    integrate_pos_transposed(m, &w.qvel, h, next_q, kappa, nu);
    let direct = kappa.iter().chain(nu.iter());
    by_state.iter_mut().zip(direct).for_each(|(to, from)| *to += from);
    for x in nu.iter_mut() {
        *x *= h;
    }

    let constrained = w.d.efc.nefc > 0;
    if !constrained || implicit_forces(m) {
        tree_ldl::solve(m, &w.H, &w.H_inv, nu);
    }
    if let Some(c) = w.constraint.as_mut().filter(|_| constrained) {
        mjd_smooth(m, &w.d, &w.d.qacc, &mut w.smooth);
        if implicit_forces(m) {
            // bias − τ of the constraint force: all but position is the same at â, and has the other sign there
            multiply(nu, -1.0, &w.smooth.dq, nv, &mut by_state[..nv]);
            mul_m(m, &w.d, nu, kappa);
        } else {
            kappa.copy_from_slice(nu);
        }
        let SmoothDeriv { dq, dv, .. } = &mut w.smooth;
        mjd_constraint(m, &w.d, &mut c.deriv, dq, dv)?;
        c.deriv.solve_many(kappa, 1);
    } else {
        mjd_smooth(m, &w.d, &w.acc, &mut w.smooth);
        kappa.copy_from_slice(nu);
    }
    multiply(kappa, 1.0, &w.smooth.dq, nv, &mut by_state[..nv]);
    multiply(kappa, 1.0, &w.smooth.dv, nv, &mut by_state[nv..2 * nv]);
    multiply(kappa, 1.0, &w.smooth.da, m.na, &mut by_state[2 * nv..]);
    multiply(kappa, 1.0, &w.smooth.du, m.nu, by_ctrl);
    if implicit_forces(m) {
        if constrained {
            mjd_smooth(m, &w.d, &w.acc, &mut w.smooth);
            multiply(nu, 1.0, &w.smooth.dq, nv, &mut by_state[..nv]);
        }
        for i in 0..nv {
            let [by_position, by_velocity] = implicit_slopes(m, &w.d, &w.acc, i);
            by_state[i] += nu[i] * by_position;
            by_state[nv + i] += nu[i] * by_velocity;
        }
    }
    for a in 0..m.nactuator {
        let Some(adr) = m.actuator_actadr[a] else { continue };
        let [by_act, control] = next_activation_derivative(m, &w.d, a);
        by_state[2 * nv + adr] += next_act[adr] * by_act;
        if m.actuator_ctrlnum[a] > 0 {
            by_ctrl[m.actuator_ctrladr[a]] += next_act[adr] * control;
        }
    }
    debug_assert_eq!(by_state.len(), ndx(m));
    Ok(w.columns.iter().any(Column::one_sided))
}

/// y += s xᵀ M, for a row-major matrix of n columns.
pub(crate) fn multiply(x: &[f64], s: f64, M: &[f64], n: usize, y: &mut [f64]) {
    for (x, row) in x.iter().zip(M.chunks_exact(n.max(1))) {
        let factor = s * x;
        if factor != 0.0 {
            for (y, e) in y.iter_mut().zip(row) {
                *y += factor * e;
            }
        }
    }
}
