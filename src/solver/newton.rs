//! Newton's method: the direction −H⁻¹ grad.
//!
//! The cost is piecewise quadratic but for sliding elliptic contacts: once the states are right, one step
//! reaches the minimum.

use super::hessian::Hessian;
use super::primal::{Descent, Primal};
use super::problem::Problem;
use crate::model::Model;
use crate::status::FactorError;

/// The method's memory.
#[derive(Clone, Debug)]
pub(crate) struct Newton {
    pub(crate) hessian: Hessian,
    singular: Option<FactorError>,
}

impl Newton {
    /// Room for `capacity` rows.
    pub(crate) fn new(nv: usize, capacity: usize) -> Self {
        Self { hessian: Hessian::new(nv, capacity), singular: None }
    }

    fn factor_and_solve(&mut self, p: &Problem, at: &mut Primal) {
        self.singular = self.hessian.factor(p, &at.x, &at.state);
        at.Mgrad.copy_from_slice(&at.grad);
        self.hessian.solve(&mut at.Mgrad);
    }
}

impl Descent for Newton {
    const NEWTON: bool = true;

    fn start(&mut self, m: &Model, p: &Problem, at: &mut Primal) {
        self.hessian.make(m, p, &at.state);
        self.factor_and_solve(p, at);
    }

    fn precondition(&mut self, m: &Model, p: &Problem, at: &mut Primal) {
        self.hessian.update(m, p, &at.state);
        self.factor_and_solve(p, at);
    }

    fn direct(&mut self, at: &mut Primal) {
        for (v, g) in at.search.iter_mut().zip(&at.Mgrad) {
            *v = -g;
        }
    }

    fn updates(&self) -> usize {
        self.hessian.updates
    }

    fn singular(&self) -> Option<FactorError> {
        self.singular
    }
}
