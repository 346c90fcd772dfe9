//! Derivatives of the minimum on dual numbers, by the implicit function theorem.
//!
//! The minimum a(p) of a problem with parameters p satisfies r(a, p) = M a − qfrc_smooth − Jᵀ f(J a − aref) = 0,
//! and ∂r/∂a is the Hessian H = M + JᵀSJ. So the solver runs on real numbers only; then Newton steps a ← a −
//! H⁻¹ r(a) with the residual on dual numbers and H at its real part raise the order of the error by one each:
//! one of them for first derivatives, two for second ones. States stay as they are: at a kink this is the
//! derivative from the side on which the solution lies.

use super::cost::cone_force;
use super::hessian::Hessian;
use super::primal::Primal;
use super::problem::{Problem, mul_M};
use crate::constraint::{Efc, EfcState};
use crate::data::Data;
use crate::model::Model;
use crate::scalar::Scalar;
use crate::status::FactorError;

/// Working memory; empty if the scalar carries no tangents.
#[derive(Clone, Debug)]
pub(crate) struct Tangents<T: Scalar> {
    qacc: Vec<T>,
    motion: Vec<T>,
    pub(super) x: Vec<T>,
    pub(super) force: Vec<T>,
    qfrc: Vec<T>,
    rhs: Vec<f64>,
}

impl<T: Scalar> Tangents<T> {
    /// Room for `capacity` rows.
    pub(crate) fn new(nv: usize, capacity: usize) -> Self {
        let room = |n: usize| vec![T::zero(); if T::ORDER > 0 { n } else { 0 }];
        Self {
            qacc: room(nv),
            motion: room(nv),
            x: room(capacity),
            force: room(capacity),
            qfrc: room(nv),
            rhs: vec![0.0; nv],
        }
    }

    /// Gives `qacc`, `qfrc_constraint` and the forces of the rows their tangents, at the point and in the
    /// states of `at`; real parts stay. Returns a pivot of H that was not positive.
    pub(crate) fn differentiate(
        &mut self,
        m: &Model,
        d: &mut Data<T>,
        efc: &mut Efc<T>,
        p: &Problem,
        (at, hessian): (&Primal, &mut Hessian),
    ) -> Option<FactorError> {
        hessian.make(m, p, &at.state);
        let singular = hessian.factor(p, &at.x, &at.state);
        for (to, from) in self.qacc.iter_mut().zip(&at.qacc) {
            *to = T::lift(*from);
        }
        for _ in 0..T::ORDER {
            self.evaluate(m, d, efc, p, &at.state);
            for part in 1..T::PARTS {
                for (rhs, r) in self.rhs.iter_mut().zip(&self.motion) {
                    *rhs = -r.part(part);
                }
                hessian.solve(&mut self.rhs);
                for (a, step) in self.qacc.iter_mut().zip(&self.rhs) {
                    *a = T::from_parts(|k| a.part(k) + if k == part { *step } else { 0.0 });
                }
            }
        }
        self.evaluate(m, d, efc, p, &at.state);
        take_tangents(&self.qacc, &mut d.qacc);
        take_tangents(&self.qfrc, &mut d.qfrc_constraint);
        take_tangents(&self.force[..p.nefc], &mut efc.force);
        singular
    }

    /// x = J qacc − aref.
    pub(super) fn residual(&mut self, efc: &Efc<T>, qacc: &[T]) {
        for i in 0..efc.nefc {
            let (columns, entries) = efc.row(i);
            let terms = columns.iter().zip(entries).map(|(&j, x)| *x * qacc[j]);
            self.x[i] = terms.fold(-efc.aref[i], |sum, x| sum + x);
        }
    }

    /// Forces and residual of the equation of motion at `qacc`.
    fn evaluate(&mut self, m: &Model, d: &Data<T>, efc: &Efc<T>, p: &Problem, state: &[EfcState]) {
        let qacc = std::mem::take(&mut self.qacc);
        self.residual(efc, &qacc);
        self.qacc = qacc;
        row_forces(p, efc, &self.x, state, &mut self.force);
        self.qfrc.fill(T::zero());
        for i in (0..p.nefc).filter(|&i| state[i] != EfcState::Satisfied) {
            let (columns, entries) = efc.row(i);
            for (&j, x) in columns.iter().zip(entries) {
                self.qfrc[j] += *x * self.force[i];
            }
        }
        mul_M(m, &d.qM, &self.qacc, &mut self.motion);
        for i in 0..p.nv {
            self.motion[i] -= d.qfrc_smooth[i] + self.qfrc[i];
        }
    }
}

/// Forces of rows whose states are known.
pub(super) fn row_forces<T: Scalar>(
    p: &Problem,
    efc: &Efc<T>,
    x: &[T],
    state: &[EfcState],
    force: &mut [T],
) {
    for i in 0..p.nefc {
        force[i] = match state[i] {
            EfcState::Quadratic => -efc.D[i] * x[i],
            EfcState::LinearNeg => T::lift(p.frictionloss[i]),
            EfcState::LinearPos => T::lift(-p.frictionloss[i]),
            EfcState::Satisfied | EfcState::Cone => T::zero(),
        };
    }
    for c in p.cones.iter().filter(|c| state[c.row] == EfcState::Cone) {
        let rows = c.row..c.row + c.dim;
        let f = cone_force(c, efc.D[c.row], &x[rows.clone()]);
        force[rows].copy_from_slice(&f[..c.dim]);
    }
}

/// The nilpotent parts of `from`, the real part of `to`.
fn take_tangents<T: Scalar>(from: &[T], to: &mut [T]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = T::from_parts(|k| if k == 0 { to.re() } else { from.part(k) });
    }
}
