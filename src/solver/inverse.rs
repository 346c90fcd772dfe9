//! Forces of the constraints at a given acceleration.

use super::SolverWorkspace;
use super::cost;
use super::problem::copy_re;
use super::tangent::row_forces;
use crate::collision::Contact;
use crate::constraint::{Efc, EfcState};
use crate::data::Data;
use crate::model::Model;
use crate::scalar::Scalar;

/// Forces of all rows at the acceleration `qacc`: there is nothing to solve, since each force is a function of the
/// row's own acceleration, f = −s′(J qacc − aref).
///
/// - reads  `qacc` (nv); of the rows `kind`, `id`, `J`, `D`, `R`, `aref`, `frictionloss`; of elliptic contacts `dim`,
///   `friction`, `mu`
/// - writes `qfrc_constraint` (nv) [N, N·m]; of the rows `force`, `state`
///
/// Source: Todorov 2014, "Convex and analytically-invertible dynamics with contacts and constraints"; MuJoCo
/// `mj_invConstraint`.
pub fn inverse_constraint<T: Scalar>(
    m: &Model,
    d: &mut Data<T>,
    efc: &mut Efc<T>,
    contacts: &[Contact<T>],
    ws: &mut SolverWorkspace<T>,
) {
    d.qfrc_constraint.fill(T::zero());
    let n = efc.nefc;
    ws.reserve(m, n);
    let SolverWorkspace { problem: p, at, tangents, .. } = ws;
    p.load_rows(efc, contacts);
    copy_re(&d.qacc, &mut at.qacc);
    p.residual(&at.qacc, &mut at.x);
    cost::update(p, &at.x, &mut at.force, &mut at.state);
    efc.state.copy_from_slice(&at.state[..n]);
    if T::ORDER == 0 {
        for (to, force) in efc.force.iter_mut().zip(&at.force) {
            *to = T::lift(*force);
        }
    } else {
        tangents.residual(efc, &d.qacc);
        row_forces(p, efc, &tangents.x, &at.state, &mut tangents.force);
        efc.force.copy_from_slice(&tangents.force[..n]);
    }
    for i in (0..n).filter(|&i| at.state[i] != EfcState::Satisfied) {
        let (columns, entries) = efc.row(i);
        for (&j, x) in columns.iter().zip(entries) {
            d.qfrc_constraint[j] += *x * efc.force[i];
        }
    }
}
