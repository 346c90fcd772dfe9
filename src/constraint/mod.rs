//! Constraints: equalities, friction loss, limits and contacts to rows of the solver, `efc_*`.
//!
//! A row says: with J its Jacobian, accelerate by J·qacc = aref, softly: a force f along it costs ½ R f².
//! Reference acceleration and softness follow from `solref` and `solimp`:
//!
//! ```text
//! aref = −B vel − K I (pos − margin)        vel = J qvel
//! R    = (1 − I)/I · diagA                  diagA ≈ diag(J M⁻¹ Jᵀ), I = impedance(pos)
//! ```
//!
//! | file | |
//! |---|---|
//! | `efc` | [`Efc`]: the rows |
//! | `tie` | [`Tie`]: connect, weld, distance as functions of poses |
//! | `equality`, `friction`, `limit`, `contact` | one kind of constraint each: which rows, `J`, `pos` |
//! | `penalty` | limits and equalities as passive forces, if the options ask for it |
//! | `diagonal` | `diagA` from the inverse weights of the model, or exactly |
//! | [`impedance`] | `KBIP`, `R`, `D` from `solref` and `solimp` |
//! | `reference` | `vel` and `aref` |
//! | `force` | forces of contacts |
//! | [`rne_post_constraint()`] | accelerations and internal forces of bodies |
//!
//! Not taken into account: sleeping trees, flexes.
//!
//! Source: Todorov 2014, "Convex and analytically-invertible dynamics with contacts and constraints"; MuJoCo
//! manual, Computation, "Constraint model" and "Solver parameters"; MuJoCo `mj_makeConstraint`,
//! `mj_referenceConstraint`.

mod contact;
mod diagonal;
mod efc;
mod equality;
mod force;
mod friction;
pub mod impedance;
mod limit;
mod penalty;
mod reference;
mod tie;
mod rne_post_constraint;

use crate::collision::Contact;
use crate::data::Data;
use crate::model::options::{disable, enable};
use crate::model::{JointType, LimitModel, Model};
use crate::scalar::Scalar;

pub use efc::{Efc, EfcState, EfcType};
pub use force::{contact_force, limit_row};
pub use penalty::{make_penalty, penalty_force};
pub use reference::reference_constraint;
pub use rne_post_constraint::rne_post_constraint;
pub use tie::{MAX_TIE, Tie};

/// Rows of all constraints that are active at a state, in MuJoCo's order.
///
/// - reads  `qpos`, `xpos`, `xquat`, `xmat`, `site_xpos`, `geom_xpos`, `cdof`, `subtree_com`, `ten_length`,
///   `ten_J`, `eq_active`; the contacts; the factor of `qM` where `diagexact` is enabled
/// - writes the position-dependent part of `efc`, and `efc_address`, `mu` and [`Exclude::NoDofs`] of the
///   contacts
///
/// [`Exclude::NoDofs`]: crate::collision::Exclude::NoDofs
///
/// Source: MuJoCo `mj_makeConstraint`.
///
/// # Panics
/// If `efc` was made for a model with another number of degrees of freedom.
pub fn make_constraint<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    contacts: &mut [Contact<T>],
    efc: &mut Efc<T>,
) {
    assert_eq!(efc.nv, m.nv, "rows of another model");
    efc.clear();
    for contact in &mut *contacts {
        contact.efc_address = None;
        contact.mu = 0.0;
    }
    if m.opt.disabled(disable::CONSTRAINT) || m.nv == 0 {
        return;
    }
    instantiate(m, d, contacts, efc);
    if m.opt.enabled(enable::DIAGEXACT) {
        diagonal::diag_exact(m, d, efc);
    } else {
        diagonal::diag_approx(m, contacts, efc);
    }
    impedance::make_impedance(m, contacts, efc);
}

/// Jacobian, residual and margin of all rows.
fn instantiate<T: Scalar>(m: &Model, d: &Data<T>, contacts: &mut [Contact<T>], efc: &mut Efc<T>) {
    let solves = m.opt.limits == LimitModel::Constraint;
    if solves && !m.opt.disabled(disable::EQUALITY) {
        equality::instantiate(m, d, efc);
    }
    efc.ne = efc.nefc;
    if !m.opt.disabled(disable::FRICTIONLOSS) {
        friction::instantiate(m, d, efc);
    }
    efc.nf = efc.nefc - efc.ne;
    if solves && !m.opt.disabled(disable::LIMIT) {
        limit::instantiate(m, d, efc);
    }
    efc.nl = efc.nefc - efc.ne - efc.nf;
    if !m.opt.disabled(disable::CONTACT) {
        contact::instantiate(m, d, contacts, efc);
    }
}

/// Rows that a model can have at most with `ncon` contacts.
pub fn max_rows(m: &Model, ncon: usize) -> usize {
    let equality: usize = m.eq_type.iter().map(|kind| tie::rows(*kind)).sum();
    let friction = m.dof_frictionloss.iter().chain(&m.tendon_frictionloss);
    let friction = friction.filter(|loss| **loss != 0.0).count();
    // both sides of a range can be active where it is narrower than the margins
    let joint_sides = |kind: JointType| match kind {
        JointType::Free => 0,
        JointType::Ball => 1,
        JointType::Slide | JointType::Hinge => 2,
    };
    let joints = m.jnt_limited.iter().zip(&m.jnt_type).filter(|(limited, _)| **limited);
    let joints: usize = joints.map(|(_, kind)| joint_sides(*kind)).sum();
    let tendons = 2 * m.tendon_limited.iter().filter(|limited| **limited).count();
    equality + friction + joints + tendons + ncon * contact::max_rows(m)
}

/// Room for contacts and rows to begin with: four contacts for each geom, as for boxes at rest, at most a
/// thousand. Where a state needs more, memory grows.
pub(crate) fn row_capacity(m: &Model) -> (usize, usize) {
    if m.opt.disabled(disable::CONSTRAINT) {
        return (0, 0);
    }
    let collides = |g: &usize| m.geom_contype[*g] != 0 || m.geom_conaffinity[*g] != 0;
    let geoms = (0..m.ngeom).filter(collides).count();
    let ncon =
        if m.opt.disabled(disable::CONTACT) { 0 } else { (4 * geoms).min(1000) + 4 * m.npair };
    (ncon, max_rows(m, ncon))
}

/// True if a state of the model can have rows: something is limited, has friction loss, can collide or is tied.
pub fn may_have_rows(m: &Model) -> bool {
    row_capacity(m).1 > 0
}

/// Length of the constraint that row `i` belongs to and begins.
fn block_len<T: Scalar>(m: &Model, contacts: &[Contact<T>], efc: &Efc<T>, i: usize) -> usize {
    match efc.kind[i] {
        EfcType::Equality => tie::rows(m.eq_type[efc.id[i]]),
        EfcType::FrictionDof
        | EfcType::FrictionTendon
        | EfcType::LimitJoint
        | EfcType::LimitTendon
        | EfcType::ContactFrictionless => 1,
        EfcType::ContactPyramidal => 2 * (contacts[efc.id[i]].dim - 1),
        EfcType::ContactElliptic => contacts[efc.id[i]].dim,
    }
}
