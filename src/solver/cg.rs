//! Conjugate gradients, preconditioned with M⁻¹.
//!
//! With y = g⁺ − g and z = M⁻¹g⁺, the new direction is −z + β v with the β of Hager and Zhang, which keeps
//! every direction one of descent whatever the line search does:
//!
//! ```text
//! β = max(β̂, −1 / (‖v‖ min(0.01, ‖g⁺‖))),   β̂ = (yᵀz − 2 (yᵀM⁻¹y / vᵀy) vᵀg⁺) / vᵀy
//! ```
//!
//! Source: Hager, Zhang 2005, "A new conjugate gradient method with guaranteed descent and an efficient line
//! search", eq. 1.3–1.6; MuJoCo `mj_solPrimal` (since 3.10; Polak–Ribière before).

use super::primal::{Descent, Primal};
use super::problem::{Problem, dot, norm};
use crate::model::Model;

/// Bound on the gradient in the truncation of β.
const ETA: f64 = 0.01;

/// The method's memory.
#[derive(Clone, Debug)]
pub(crate) struct ConjugateGradient {
    old_grad: Vec<f64>,
    old_Mgrad: Vec<f64>,
    /// The direction is that of steepest descent.
    steepest: bool,
}

impl ConjugateGradient {
    /// Room for nv degrees of freedom.
    pub(crate) fn new(nv: usize) -> Self {
        Self { old_grad: vec![0.0; nv], old_Mgrad: vec![0.0; nv], steepest: true }
    }
}

impl Descent for ConjugateGradient {
    const NEWTON: bool = false;

    fn start(&mut self, _m: &Model, _p: &Problem, at: &mut Primal) {
        self.old_grad.copy_from_slice(&at.grad);
        self.old_Mgrad.copy_from_slice(&at.Mgrad);
        self.steepest = true;
    }

    fn precondition(&mut self, m: &Model, p: &Problem, at: &mut Primal) {
        at.Mgrad.copy_from_slice(&at.grad);
        p.solve_M(m, &mut at.Mgrad);
    }

    fn direct(&mut self, at: &mut Primal) {
        // differences take the place of the old gradients
        for i in 0..at.grad.len() {
            self.old_grad[i] = at.grad[i] - self.old_grad[i];
            self.old_Mgrad[i] = at.Mgrad[i] - self.old_Mgrad[i];
        }
        let (y, My) = (&self.old_grad, &self.old_Mgrad);
        let vy = dot(&at.search, y);
        let beta = if vy < crate::MINVAL {
            // no longer conjugate: steepest descent
            0.0
        } else {
            let vg = dot(&at.search, &at.grad);
            let hat = (dot(y, &at.Mgrad) - 2.0 * (dot(y, My) / vy) * vg) / vy;
            let floor = norm(&at.search) * norm(&at.grad).min(ETA);
            hat.max(-1.0 / floor.max(crate::MINVAL))
        };
        for (v, g) in at.search.iter_mut().zip(&at.Mgrad) {
            *v = beta * *v - g;
        }
        self.steepest = beta == 0.0;
        self.old_grad.copy_from_slice(&at.grad);
        self.old_Mgrad.copy_from_slice(&at.Mgrad);
    }

    fn restart(&mut self, at: &mut Primal) -> bool {
        for (v, g) in at.search.iter_mut().zip(&at.Mgrad) {
            *v = -g;
        }
        !std::mem::replace(&mut self.steepest, true)
    }
}
