//! The dual problem: minimize ½ fᵀ(A + R) f + fᵀb over admissible forces, A = J M⁻¹ Jᵀ, b = J a₀ − aref.
//!
//! A is never formed. With Y = M⁻¹Jᵀ and the acceleration Σ Y_i f_i kept up to date, the gradient of row i is
//! b_i + R_i f_i + J_i · Σ Y_j f_j, and a block of A is J_i · Y_j.
//!
//! Source: MuJoCo manual, "Computation: dual problem"; MuJoCo `mj_projectConstraint`.

use super::primal::Primal;
use super::problem::{ConeRows, MAX_DIM, Problem, dot};
use super::qcqp;
use crate::constraint::EfcState;
use crate::model::Model;

/// Small square matrix in the corner.
pub(super) type Block = [[f64; MAX_DIM]; MAX_DIM];

/// Rows that are updated together.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rows {
    /// Equality: any force.
    Free(usize),
    /// Friction loss: force within ±η.
    Bounded(usize),
    /// Limits and contacts without an elliptic cone: force ≥ 0.
    OneSided(usize),
    /// Elliptic contact, by its place in the list of cones: force inside of the friction cone.
    Cone(usize),
}

/// Forces, and what their gradient is computed from.
#[derive(Clone, Debug)]
pub(crate) struct Dual {
    nv: usize,
    /// M⁻¹ Jᵀ, one row of nv entries a constraint row.
    Y: Vec<f64>,
    /// J a₀ − aref (nefc).
    b: Vec<f64>,
    /// Diagonal of A (nefc).
    pub(super) diag: Vec<f64>,
    /// Σ Y_i f_i (nv).
    acceleration: Vec<f64>,
    /// Forces (nefc).
    pub(crate) force: Vec<f64>,
    /// States (nefc).
    pub(crate) state: Vec<EfcState>,
    pub(super) old_state: Vec<EfcState>,
    /// Forces before the extrapolation of a sweep, and after it (nefc).
    pub(super) before: Vec<f64>,
    pub(super) extrapolated: Vec<f64>,
    pub(super) blocks: Vec<Rows>,
}

impl Dual {
    /// Room for `capacity` rows.
    pub(crate) fn new(nv: usize, capacity: usize) -> Self {
        let rows = || vec![0.0; capacity];
        Self {
            nv,
            Y: vec![0.0; capacity * nv],
            b: rows(),
            diag: rows(),
            acceleration: vec![0.0; nv],
            force: rows(),
            state: vec![EfcState::Satisfied; capacity],
            old_state: vec![EfcState::Satisfied; capacity],
            before: rows(),
            extrapolated: rows(),
            blocks: Vec::with_capacity(capacity),
        }
    }

    /// Computes Y, b and the diagonal of A.
    pub(crate) fn load(&mut self, m: &Model, p: &Problem) {
        p.residual(&p.qacc_smooth, &mut self.b);
        for (i, Y) in self.Y.chunks_exact_mut(self.nv).take(p.nefc).enumerate() {
            Y.fill(0.0);
            let (cols, entries) = p.row(i);
            for (&j, x) in cols.iter().zip(entries) {
                Y[j] = *x;
            }
            p.solve_M(m, Y);
            self.diag[i] = p.row_dot(i, Y);
        }
        self.blocks.clear();
        self.blocks.extend((0..p.ne).map(Rows::Free));
        self.blocks.extend((p.ne..p.ne + p.nf).map(Rows::Bounded));
        self.blocks.extend(p.one_sided.iter().map(|&i| Rows::OneSided(i)));
        self.blocks.extend((0..p.cones.len()).map(Rows::Cone));
    }

    /// Σ Y_i f_i anew: without the rounding of many small changes.
    pub(super) fn accumulate(&mut self, p: &Problem) {
        self.acceleration.fill(0.0);
        for i in 0..p.nefc {
            if self.force[i] != 0.0 {
                let Y = &self.Y[i * self.nv..(i + 1) * self.nv];
                for (a, y) in self.acceleration.iter_mut().zip(Y) {
                    *a += y * self.force[i];
                }
            }
        }
    }

    /// Changes the force of row i.
    pub(super) fn set(&mut self, i: usize, force: f64) {
        let change = force - self.force[i];
        if change != 0.0 {
            self.force[i] = force;
            let Y = &self.Y[i * self.nv..(i + 1) * self.nv];
            for (a, y) in self.acceleration.iter_mut().zip(Y) {
                *a += y * change;
            }
        }
    }

    /// Gradient of row i without its own regularization: b_i + (A f)_i.
    pub(super) fn slip(&self, p: &Problem, i: usize) -> f64 {
        self.b[i] + p.row_dot(i, &self.acceleration)
    }

    /// A_{i+r, i+c} for r, c < n.
    pub(super) fn block(&self, p: &Problem, i: usize, n: usize) -> Block {
        let mut A = Block::default();
        for c in 0..n {
            let Y = &self.Y[(i + c) * self.nv..(i + c + 1) * self.nv];
            for r in 0..n {
                A[r][c] = p.row_dot(i + r, Y);
            }
        }
        A
    }

    /// ½ fᵀ(A + R) f + fᵀb.
    pub(crate) fn cost(&self, p: &Problem) -> f64 {
        (0..p.nefc)
            .map(|i| {
                let f = self.force[i];
                f * (self.b[i] + 0.5 * (p.R[i] * f + p.row_dot(i, &self.acceleration)))
            })
            .sum()
    }

    /// Starts from the forces given, or from none where that costs less.
    pub(crate) fn start(&mut self, p: &Problem, force: Option<&[f64]>) {
        match force {
            Some(force) => self.force[..p.nefc].copy_from_slice(&force[..p.nefc]),
            None => self.force[..p.nefc].fill(0.0),
        }
        self.accumulate(p);
        let cost = self.cost(p);
        if cost.is_nan() || cost > 0.0 {
            self.force[..p.nefc].fill(0.0);
            self.accumulate(p);
        }
    }

    /// States that belong to the forces. Returns how many rows are active and how many changed.
    pub(super) fn classify(&mut self, p: &Problem) -> (usize, usize) {
        let n = p.nefc;
        self.old_state[..n].copy_from_slice(&self.state[..n]);
        self.state[..n].fill(EfcState::Quadratic);
        for i in p.ne..p.ne + p.nf {
            let eta = p.frictionloss[i];
            if self.force[i] >= eta {
                self.state[i] = EfcState::LinearNeg;
            } else if self.force[i] <= -eta {
                self.state[i] = EfcState::LinearPos;
            }
        }
        for &i in p.one_sided.iter().filter(|&&i| self.force[i] <= 0.0) {
            self.state[i] = EfcState::Satisfied;
        }
        for c in &p.cones {
            let zone = cone_zone(c, &self.force[c.row..c.row + c.dim]);
            self.state[c.row..c.row + c.dim].fill(zone);
        }
        let active = self.state[..n].iter().filter(|s| **s != EfcState::Satisfied).count();
        let changed = self.state[..n].iter().zip(&self.old_state).filter(|(a, b)| a != b).count();
        (active, changed)
    }

    /// Maps the forces to joint space: Jᵀf and a₀ + Σ Y_i f_i.
    pub(crate) fn finish(&mut self, m: &Model, p: &Problem, at: &mut Primal) {
        at.force[..p.nefc].copy_from_slice(&self.force[..p.nefc]);
        at.state[..p.nefc].copy_from_slice(&self.state[..p.nefc]);
        p.mul_JT(&at.force, &mut at.qfrc_constraint);
        at.qacc.copy_from_slice(&at.qfrc_constraint);
        p.solve_M(m, &mut at.qacc);
        for (a, a0) in at.qacc.iter_mut().zip(&p.qacc_smooth) {
            *a += a0;
        }
    }

    /// Minimizes over the tangential forces of a contact at fixed normal force `normal`, given the Hessian `A`
    /// and gradient `g` of the cost at the present forces.
    pub(super) fn friction_update(
        &mut self,
        c: &ConeRows,
        A: &qcqp::Matrix,
        g: &[f64; 5],
        normal: f64,
    ) {
        let n = c.dim - 1;
        let mut friction = [0.0; 5];
        if normal >= crate::MINVAL {
            let old = &self.force[c.row + 1..c.row + c.dim];
            let mut b = *g;
            for j in 0..n {
                b[j] -= dot(&A[j][..n], old);
            }
            friction = qcqp::minimize(n, A, &b, &c.friction, normal);
        }
        for j in 0..n {
            self.set(c.row + 1 + j, friction[j]);
        }
    }
}

/// Where the force of an elliptic contact lies: nowhere, inside of its cone, on the surface.
fn cone_zone(c: &ConeRows, force: &[f64]) -> EfcState {
    let tangential: f64 = (1..c.dim).map(|j| (force[j] / c.friction[j - 1]).powi(2)).sum();
    if force[0] <= 0.0 {
        EfcState::Satisfied
    } else if tangential.sqrt() < force[0] * (1.0 - 1e-9) {
        EfcState::Quadratic
    } else {
        EfcState::Cone
    }
}

/// Cost change δᵀ(½ A δ + g) when n forces change by δ and their gradient was `g`.
pub(super) fn cost_change(A: &[&[f64]], delta: &[f64], g: &[f64]) -> f64 {
    let row = |i: usize| delta[i] * (0.5 * dot(A[i], delta) + g[i]);
    (0..delta.len()).map(row).sum()
}
