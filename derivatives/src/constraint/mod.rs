//! Derivatives of constraint forces, by implicit differentiation at the solver's minimum.
//!
//! At the minimum r(q, v, a) = M a + bias − τ − Jᵀf = 0 with f = −s′(J a − aref). So ∂a/∂x = H⁻¹ (−∂r/∂x at fixed a),
//! with H = M + JᵀSJ and S = s″. Of −∂r/∂x, [`crate::smooth`] has all but ∂(Jᵀf)/∂x, which is here:
//!
//! ```text
//! ∂(Jᵀf)/∂q = (∂Jᵀ/∂q) f + Jᵀ δf,    δf = −S (∂J/∂q a − ∂aref/∂q) + f ∂(ln D)/∂q
//! ∂(Jᵀf)/∂v = Jᵀ S ∂aref/∂v
//! aref = −B J v − K I (pos − margin) − J̇ v (connects and welds only)
//! ```
//!
//! Nothing of the solver's iterations is differentiated: what counts is where they end.
//!
//! Source: DESIGN §5; Todorov 2014, "Convex and analytically-invertible dynamics with contacts and constraints"; Gould
//! et al. 2016, "On differentiating parameterized argmin and argmax problems".

mod answer;
mod contact;
mod motion;
mod response;
mod scalar_row;
mod tie;

use dualstep::constraint::{EfcType, max_rows};
use dualstep::linalg::dense::DenseCholesky;
use dualstep::model::EqType;
use dualstep::{Data, Model};

use crate::matrices::TransitionError;
use crate::rne_pos::RnePos;
pub(crate) use answer::{Answer, By, Listener, Nobody, Pull, Source};
use contact::ContactScratch;
use motion::Motions;
pub(crate) use motion::moves;
use response::Rows;
pub(crate) use scalar_row::velocity_slope;

/// Derivatives of the constraint forces at fixed acceleration, the matrix H, and the scratch to compute them, allocated
/// once.
#[derive(Clone, Debug)]
pub struct ConstraintDeriv {
    /// H = M + JᵀSJ (nv × nv), and its factor.
    H: Vec<f64>,
    cholesky: DenseCholesky,
    /// J a − aref (nefc).
    x: Vec<f64>,
    motions: Motions,
    rne: RnePos<f64>,
    contact: ContactScratch,
}

impl ConstraintDeriv {
    /// Room for the derivatives of the model.
    pub fn new(m: &Model) -> Self {
        Self {
            H: vec![0.0; m.nv * m.nv],
            cholesky: DenseCholesky::new(m.nv),
            x: Vec::with_capacity(max_rows(m, (4 * m.ngeom).min(1000))),
            motions: Motions::new(m),
            rne: RnePos::new(m),
            contact: ContactScratch::new(m),
        }
    }

    /// H = M + JᵀSJ (nv × nv, row-major), of which the lower triangle counts.
    pub(crate) fn hessian(&self) -> &[f64] {
        &self.H
    }

    /// X ← H⁻¹ X in place (nv × k, row-major), after [`mjd_constraint`].
    pub fn solve_many(&mut self, x: &mut [f64], k: usize) {
        self.cholesky.solve_many(x, k);
    }
}

/// Adds ∂(Jᵀf)/∂q and ∂(Jᵀf)/∂v at fixed acceleration `qacc` to `dq` and `dv` (nv × nv, row-major), and factors
/// H = M + JᵀSJ.
///
/// - reads  everything that `forward` writes
///
/// # Errors
/// What of the state is not covered; `dq` and `dv` are then of no use. The matrix H is not positive definite.
///
/// Source: see the module. Cost O(nv · depth) for wrenches fixed in the world, O(rows · depth²) for what they change by,
/// O(nv³) for the factor.
pub fn mjd_constraint(
    m: &Model,
    d: &Data<f64>,
    w: &mut ConstraintDeriv,
    dq: &mut [f64],
    dv: &mut [f64],
) -> Result<(), TransitionError> {
    mjd_constraint_to(m, d, w, dq, dv, &mut Nobody)
}

/// As [`mjd_constraint`], where someone listens.
pub(crate) fn mjd_constraint_to(
    m: &Model,
    d: &Data<f64>,
    w: &mut ConstraintDeriv,
    dq: &mut [f64],
    dv: &mut [f64],
    listener: &mut impl Listener,
) -> Result<(), TransitionError> {
    respond(m, d, w, dq, dv, listener)?;
    let factored = w.cholesky.factor("constraint Hessian", &w.H);
    factored.map_err(|e| TransitionError::Step(e.into()))
}

/// All of [`mjd_constraint_to`] but the factor of H.
pub(crate) fn respond(
    m: &Model,
    d: &Data<f64>,
    w: &mut ConstraintDeriv,
    dq: &mut [f64],
    dv: &mut [f64],
    listener: &mut impl Listener,
) -> Result<(), TransitionError> {
    let efc = &d.efc;
    w.x.clear();
    for i in 0..efc.nefc {
        let (columns, entries) = efc.row(i);
        let Ja: f64 = columns.iter().zip(entries).map(|(&j, x)| x * d.qacc[j]).sum();
        w.x.push(Ja - efc.aref[i]);
    }
    w.motions.fill(m, d, &d.qacc, &w.rne);
    inertia(m, d, &mut w.H);

    let mut row = 0;
    while row < efc.nefc {
        let (kind, id) = (efc.kind[row], efc.id[row]);
        let contact = match kind {
            EfcType::ContactElliptic | EfcType::ContactPyramidal | EfcType::ContactFrictionless => {
                Some(&d.contact[id])
            }
            _ => None,
        };
        let len = length(m, kind, id, contact.map_or(1, |c| c.dim));
        let rows = Rows::new(d, row, len, contact, &w.x);
        if !rows.is_slack(d) {
            velocity_response(m, d, &rows, &mut w.H, dv);
            if contact.is_none() {
                if tie_of(m, kind, id) {
                    tie::add(m, d, id, &rows, &w.motions, dq, dv, listener);
                } else {
                    scalar_row::add(m, d, &rows, dq, listener);
                }
            }
        }
        row += len;
    }
    contact::add(m, d, &w.x, &w.motions, &mut w.contact, dq, listener)
        .map_err(|feature| TransitionError::NotCovered { feature })?;
    fixed_wrenches(m, d, &mut w.rne, dq);
    Ok(())
}

/// True for equalities between bodies.
fn tie_of(m: &Model, kind: EfcType, id: usize) -> bool {
    kind == EfcType::Equality
        && matches!(m.eq_type[id], EqType::Connect | EqType::Weld | EqType::Distance)
}

/// Rows of a constraint.
fn length(m: &Model, kind: EfcType, id: usize, dim: usize) -> usize {
    match kind {
        EfcType::Equality => match m.eq_type[id] {
            EqType::Connect => 3,
            EqType::Weld => 6,
            EqType::Joint | EqType::Tendon | EqType::Distance => 1,
        },
        EfcType::ContactElliptic => dim,
        EfcType::ContactPyramidal => 2 * (dim - 1),
        _ => 1,
    }
}

/// M as a dense lower triangle.
fn inertia(m: &Model, d: &Data<f64>, H: &mut [f64]) {
    H.fill(0.0);
    for i in 0..m.nv {
        for e in m.M_rowadr[i]..m.M_rowadr[i] + m.M_rownnz[i] {
            H[i * m.nv + m.M_colind[e]] = d.qM[e];
        }
    }
}

/// H += Jᵀ S J, lower triangle, and dv −= Jᵀ S B J, for the rows of one constraint.
fn velocity_response(m: &Model, d: &Data<f64>, rows: &Rows, H: &mut [f64], dv: &mut [f64]) {
    let (efc, nv) = (&d.efc, m.nv);
    for r in 0..rows.len {
        for s in 0..rows.len {
            let S = rows.curvature(d, r, s);
            if S == 0.0 {
                continue;
            }
            let (columns, J_r) = efc.row(rows.first + r);
            let (_, J_s) = efc.row(rows.first + s);
            let damping = efc.KBIP[rows.first + s][1];
            for (k, (&i, x)) in columns.iter().zip(J_r).enumerate() {
                let scaled = S * x;
                if scaled == 0.0 {
                    continue;
                }
                for (&j, y) in columns[..=k].iter().zip(J_s) {
                    H[i * nv + j] += scaled * y;
                }
                let damped = scaled * damping;
                for (&j, y) in columns.iter().zip(J_s) {
                    dv[i * nv + j] -= damped * y;
                }
            }
        }
    }
}

/// dq += (∂Jᵀ/∂q) f for the wrenches of contacts and ties, as if they stayed fixed in the world at points that move with
/// their bodies.
fn fixed_wrenches(m: &Model, d: &Data<f64>, rne: &mut RnePos<f64>, dq: &mut [f64]) {
    let contacts = contact::wrenches(m, d);
    let ties = tie::wrenches(m, d);
    crate::rne_pos::mjd_world_wrenches(m, d, contacts.chain(ties), rne, dq);
}
