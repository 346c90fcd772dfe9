//! How the force of a row answers: f = −s′(x), x = J a − aref.
//!
//! δf = −S δx + f δ(ln D), since every force is proportional to the D of its constraint; and D = I/((1 − I) diagA), so
//! δ(ln D) = δI/(I (1 − I)).

use dualstep::Data;
use dualstep::collision::Contact;
use dualstep::constraint::EfcState;
use dualstep::solver::{ConeHessian, force_response};

/// Rows of one constraint.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    pub(super) first: usize,
    pub(super) len: usize,
    /// Dense response of an elliptic contact that slides.
    cone: Option<ConeHessian>,
    /// δ(ln D) by the residual of the constraint.
    pub(super) stiffening: f64,
}

impl Rows {
    /// Rows first..first+len of a constraint; `contact` if it is one.
    pub(super) fn new(
        d: &Data<f64>,
        first: usize,
        len: usize,
        contact: Option<&Contact<f64>>,
        x: &[f64],
    ) -> Self {
        let sliding = d.efc.state[first] == EfcState::Cone;
        let cone = contact
            .filter(|_| sliding)
            .map(|contact| force_response(contact, d.efc.D[first], &x[first..first + len]));
        let [_, _, imp, slope] = d.efc.KBIP[first];
        // a row as stiff as rounding allows does not become stiffer
        let free = d.efc.R[first] > dualstep::MINVAL;
        let stiffening = if free { slope / (imp * (1.0 - imp)) } else { 0.0 };
        Self { first, len, cone, stiffening }
    }

    /// No rows: of a contact in its gap.
    pub(super) fn none() -> Self {
        Self { first: 0, len: 0, cone: None, stiffening: 0.0 }
    }

    /// True if no force answers.
    pub(super) fn is_slack(&self, d: &Data<f64>) -> bool {
        let states = &d.efc.state[self.first..self.first + self.len];
        self.cone.is_none() && !states.contains(&EfcState::Quadratic)
    }

    /// S of two rows of the constraint.
    pub(super) fn curvature(&self, d: &Data<f64>, r: usize, s: usize) -> f64 {
        match &self.cone {
            Some(cone) => cone[r][s],
            None if r == s && d.efc.state[self.first + r] == EfcState::Quadratic => {
                d.efc.D[self.first + r]
            }
            None => 0.0,
        }
    }

    /// δf, given δx of the rows at fixed D, and δ(ln D).
    pub(super) fn force(&self, d: &Data<f64>, dx: &[f64], dlnD: f64, out: &mut [f64]) {
        for r in 0..self.len {
            let f = match d.efc.state[self.first + r] {
                EfcState::Quadratic | EfcState::Cone => d.efc.force[self.first + r],
                // satisfied: none; saturated: constant
                _ => 0.0,
            };
            out[r] = f * dlnD;
            match &self.cone {
                Some(cone) => {
                    for s in 0..self.len {
                        out[r] -= cone[r][s] * dx[s];
                    }
                }
                None => out[r] -= self.curvature(d, r, r) * dx[r],
            }
        }
    }
}
