//! Closed form of the implicit integrators: (M − hP) â = f, hence ∂â/∂x = (M − hP)⁻¹ (∂f/∂x − ∂(M â)/∂x + h ∂(P â)/∂x).
//!
//! f is differentiated in full. P, `qDeriv`, is the part of ∂f/∂v that the integrator sees, and its derivative is that of
//! this part alone:
//!
//! - entries between degrees of freedom that are not coupled in the integrator's matrix are left out: those between
//!   branches of the tree, for `implicitfast` all that are not in the pattern of M;
//! - actuators at a limit of their force have no part in it;
//! - `implicitfast` leaves out the bias force, except that of bodies that float alone, which it solves apart.
//!
//! With N(i) the degrees of freedom that are coupled with i, an actuator of moment m and slope b = ∂force/∂l̇ has
//! (P â)_i = b m_i s_i, s_i = Σ_{j∈N(i)} m_j â_j, so that
//!
//! δ(P â)_i = s_i (m_i δb + b δm_i) + b m_i Σ_{j∈N(i)} δm_j â_j.
//!
//! A tendon's damping is the same with a constant moment. The bias force is quadratic in the velocity: derivatives of
//! (∂bias/∂v) â are the ε parts of those of the bias at the velocity v + ε â.

use dualstep::integrate::is_free_body;
use dualstep::linalg::dense::DenseLu;
use dualstep::linalg::tree_ldl;
use dualstep::math::{SpatialInertia, SpatialVec};
use dualstep::model::Integrator;
use dualstep::model::options::disable;
use dualstep::smooth::com_vel;
use dualstep::smooth::qderiv::{QDeriv, actuator_saturated, mjd_rne_vel, mjd_smooth_vel};
use dualstep::{Data, FactorError, Model, Scalar};
use nalgebra::{LU, Matrix6, U6, Vector6};
use num_dual::Dual64;

use crate::actuator::{gradients, pattern, slope_derivative};
use crate::rne_pos::{RnePos, mjd_rne_pos};
use crate::smooth::{SmoothDeriv, damping_slope, tendon_damped};

const MATRIX: &str = "M − h·qDeriv";

/// The matrix of an implicit integrator, its factor, and what the derivative of P â needs.
#[derive(Debug)]
pub(crate) struct ImplicitWorkspace {
    /// True for entries that the matrix has (nv × nv).
    coupled: Vec<bool>,
    qderiv: QDeriv<f64>,
    factor: Factor,
    /// Σ δm_j â_j by position, over the pattern of an actuator.
    carried: Vec<f64>,
    /// Where the bias force is part of P.
    bias: Option<Box<BiasAlong>>,
}

/// Factor of M − hP.
#[derive(Debug)]
enum Factor {
    /// Of `implicit`, and one right-hand side (nv).
    Dense(DenseLu, Vec<f64>),
    /// Of `implicitfast`: that along the tree with reciprocals of its diagonal, unit rows for bodies that float
    /// alone; first degree of freedom and block of each of these.
    Tree(Vec<f64>, Vec<f64>, Vec<(usize, LU<f64, U6, U6>)>),
}

impl ImplicitWorkspace {
    pub(crate) fn new(m: &Model) -> Self {
        let (nv, full) = (m.nv, m.opt.integrator == Integrator::Implicit);
        let free = (0..m.nbody).filter(|&b| is_free_body(m, b)).count();
        let widest = m.moment_rownnz.iter().max().copied().unwrap_or(0);
        Self {
            coupled: (0..nv * nv).map(|e| coupled(m, e / nv, e % nv, full)).collect(),
            qderiv: QDeriv::new(m),
            factor: if full {
                Factor::Dense(DenseLu::new(nv), vec![0.0; nv])
            } else {
                Factor::Tree(vec![0.0; m.nM], vec![0.0; nv], Vec::with_capacity(free))
            },
            carried: Vec::with_capacity(widest),
            bias: (full || free > 0).then(|| Box::new(BiasAlong::new(m))),
        }
    }

    /// Factors M − hP.
    ///
    /// - reads  everything that `forward` writes
    pub(crate) fn factor(&mut self, m: &Model, d: &Data<f64>) -> Result<(), FactorError> {
        let (h, nv, q) = (m.opt.timestep, m.nv, &mut self.qderiv);
        match &mut self.factor {
            Factor::Dense(lu, _) => {
                mjd_smooth_vel(m, d, q, true);
                for x in &mut q.qDeriv {
                    *x *= -h;
                }
                add_inertia(m, d, 0..nv, |i, j, x| q.qDeriv[i * nv + j] += x);
                lu.factor(MATRIX, &q.qDeriv)
            }
            Factor::Tree(H, H_inv, blocks) => {
                mjd_smooth_vel(m, d, q, false);
                H.copy_from_slice(&d.qM);
                for i in 0..nv {
                    let alone = is_free_body(m, m.dof_bodyid[i]);
                    for e in m.M_rowadr[i]..m.M_rowadr[i] + m.M_rownnz[i] {
                        let j = m.M_colind[e];
                        if alone {
                            H[e] = f64::from(u8::from(i == j));
                        } else {
                            H[e] -= h * q.qDeriv[i * nv + j];
                        }
                    }
                }
                tree_ldl::factor(m, MATRIX, H, H_inv);
                free_bodies(m, d, q, blocks)
            }
        }
    }

    /// Solves for n right-hand sides, row-major (nv × n).
    pub(crate) fn solve_many(&mut self, m: &Model, x: &mut [f64], n: usize) {
        match &mut self.factor {
            Factor::Dense(lu, column) => {
                for c in 0..n {
                    for k in 0..m.nv {
                        column[k] = x[k * n + c];
                    }
                    lu.solve(column);
                    for k in 0..m.nv {
                        x[k * n + c] = column[k];
                    }
                }
            }
            Factor::Tree(H, H_inv, blocks) => {
                tree_ldl::solve_many(m, H, H_inv, x, n);
                for (adr, block) in blocks {
                    for c in 0..n {
                        let mut column = Vector6::from_fn(|k, _| x[(*adr + k) * n + c]);
                        block.solve_mut(&mut column);
                        for k in 0..6 {
                            x[(*adr + k) * n + c] = column[k];
                        }
                    }
                }
            }
        }
    }

    /// `out` += h ∂(P â)/∂(q, v, act, u) at fixed â = `acc` (nv).
    ///
    /// - reads  everything that `forward` writes
    pub(crate) fn second_order(
        &mut self,
        m: &Model,
        d: &Data<f64>,
        acc: &[f64],
        out: &mut SmoothDeriv<f64>,
    ) {
        if !m.opt.disabled(disable::ACTUATION) {
            for a in (0..m.nactuator).filter(|&a| !m.actuator_disabled(a)) {
                if !actuator_saturated(m, d, a) {
                    self.actuator(m, d, a, acc, out);
                }
            }
        }
        if !(m.opt.disabled(disable::SPRING) && m.opt.disabled(disable::DAMPER)) {
            self.dampers(m, d, acc, out);
        }
        let full = matches!(self.factor, Factor::Dense(..));
        if let Some(bias) = &mut self.bias {
            bias.subtract(m, d, acc, out, |i| full || is_free_body(m, m.dof_bodyid[i]));
        }
    }

    fn actuator(
        &mut self,
        m: &Model,
        d: &Data<f64>,
        a: usize,
        acc: &[f64],
        out: &mut SmoothDeriv<f64>,
    ) {
        let b = slope_derivative(m, d, a);
        if [b.force, b.length, b.velocity, b.act, b.ctrl] == [0.0; 5] {
            return;
        }
        gradients(m, d, a, 0.0, out);
        let (nv, h, dofs) = (m.nv, m.opt.timestep, pattern(m, a));
        let moment = &d.actuator_moment[m.moment_rowadr[a]..][..dofs.len()];
        let SmoothDeriv { dq, dv, da, du, length_grad, velocity_grad, moment_grad, .. } = out;
        let mut turned = moment_grad.rows();
        for (p, (&i, &mi)) in dofs.iter().zip(moment).enumerate() {
            let near = &self.coupled[i * nv..(i + 1) * nv];
            let before = p.checked_sub(1).map(|p| &self.coupled[dofs[p] * nv..][..nv]);
            if before.is_none_or(|before| dofs.iter().any(|&j| before[j] != near[j])) {
                self.carried.clear();
                self.carried.resize(dofs.len(), 0.0);
                for (&j, row) in dofs.iter().zip(moment_grad.rows()).filter(|(j, _)| near[**j]) {
                    for (sum, x) in self.carried.iter_mut().zip(row) {
                        *sum += x * acc[j];
                    }
                }
            }
            let s: f64 =
                dofs.iter().zip(moment).filter(|(j, _)| near[**j]).map(|(&j, x)| x * acc[j]).sum();
            let own = turned.next();
            let by = |slope: f64| h * s * mi * slope;
            for (q, (&k, &mk)) in dofs.iter().zip(moment).enumerate() {
                let turn = own.map_or(0.0, |own| own[q]);
                dq[i * nv + k] += by(b.length) * length_grad[k]
                    + by(b.velocity) * velocity_grad[k]
                    + h * b.force * (s * turn + mi * self.carried[q]);
                dv[i * nv + k] += by(b.velocity) * mk;
            }
            if let Some(act) = m.actuator_actadr[a] {
                da[i * m.na + act] += by(b.act);
            }
            if m.actuator_ctrlnum[a] > 0 {
                du[i * m.nu + m.actuator_ctrladr[a]] += by(b.ctrl);
            }
        }
    }

    /// Dampers and smooth friction, of degrees of freedom and of tendons.
    fn dampers(&self, m: &Model, d: &Data<f64>, acc: &[f64], out: &mut SmoothDeriv<f64>) {
        let (nv, h) = (m.nv, m.opt.timestep);
        let curvature =
            |b: &[f64; 3], loss: f64, v: f64| damping_slope(m, b, loss, Dual64::new(v, 1.0)).eps;
        for i in 0..nv {
            let change = curvature(&m.dof_damping_eff[i], m.dof_frictionloss[i], d.qvel[i]);
            out.dv[i * nv + i] += h * change * acc[i];
        }
        for t in (0..m.ntendon).filter(|&t| tendon_damped(m, t)) {
            let (b, loss) = (&m.tendon_damping_eff[t], m.tendon_frictionloss[t]);
            let change = curvature(b, loss, d.ten_velocity[t]);
            let row = m.ten_J_rowadr[t]..m.ten_J_rowadr[t] + m.ten_J_rownnz[t];
            let (dofs, J) = (&m.ten_J_colind[row.clone()], &d.ten_J[row]);
            for (&i, &Ji) in dofs.iter().zip(J) {
                let near = &self.coupled[i * nv..(i + 1) * nv];
                let s: f64 =
                    dofs.iter().zip(J).filter(|(j, _)| near[**j]).map(|(&j, x)| x * acc[j]).sum();
                for (&k, &Jk) in dofs.iter().zip(J) {
                    out.dv[i * nv + k] += h * change * s * Ji * Jk;
                }
            }
        }
    }
}

/// True if the integrator's matrix has an entry for i and j.
fn coupled(m: &Model, i: usize, j: usize, full: bool) -> bool {
    // a body that floats alone has a block of its own; the pattern of M may have its diagonal only
    let alone = || m.dof_bodyid[i] == m.dof_bodyid[j] && is_free_body(m, m.dof_bodyid[i]);
    let in_M =
        |i: usize, j: usize| m.M_colind[m.M_rowadr[i]..m.M_rowadr[i] + m.M_rownnz[i]].contains(&j);
    if full { m.same_branch(i, j) } else { alone() || in_M(i.max(j), i.min(j)) }
}

/// Calls `add` for the entries of M in rows `rows`, both triangles.
fn add_inertia(
    m: &Model,
    d: &Data<f64>,
    rows: std::ops::Range<usize>,
    mut add: impl FnMut(usize, usize, f64),
) {
    for i in rows {
        for e in m.M_rowadr[i]..m.M_rowadr[i] + m.M_rownnz[i] {
            let j = m.M_colind[e];
            add(i, j, d.qM[e]);
            if i != j {
                add(j, i, d.qM[e]);
            }
        }
    }
}

/// Factors M − hP with the gyroscopic term of each body that floats alone; `q` holds P without the bias force.
///
/// A block that is exactly singular is an error: the step falls back on M there, so that it is not continuous.
fn free_bodies(
    m: &Model,
    d: &Data<f64>,
    q: &mut QDeriv<f64>,
    blocks: &mut Vec<(usize, LU<f64, U6, U6>)>,
) -> Result<(), FactorError> {
    blocks.clear();
    if blocks.capacity() == 0 {
        return Ok(());
    }
    mjd_rne_vel(m, d, q);
    for b in (0..m.nbody).filter(|&b| is_free_body(m, b)) {
        let adr = m.body_dofadr[b];
        let mut A = Matrix6::from_fn(|i, j| -m.opt.timestep * q.qDeriv[(adr + i) * m.nv + adr + j]);
        add_inertia(m, d, adr..adr + 6, |i, j, x| A[(i - adr, j - adr)] += x);
        let lu = A.lu();
        let pivots = lu.u().diagonal();
        if let Some(k) = (0..6).find(|&k| pivots[k] == 0.0) {
            return Err(FactorError { matrix: MATRIX, dof: adr + k, pivot: 0.0 });
        }
        blocks.push((adr, lu));
    }
    Ok(())
}

/// The bias force at the velocity v + ε â.
#[derive(Debug)]
struct BiasAlong {
    d: Data<Dual64>,
    qderiv: QDeriv<Dual64>,
    rne: RnePos<Dual64>,
    acc: Vec<Dual64>,
    /// −∂(M â + bias)/∂q (nv × nv).
    dq: Vec<Dual64>,
}

impl BiasAlong {
    fn new(m: &Model) -> Self {
        let zeros = |n: usize| vec![Dual64::lift(0.0); n];
        Self {
            d: Data::new(m),
            qderiv: QDeriv::new(m),
            rne: RnePos::new(m),
            acc: zeros(m.nv),
            dq: zeros(m.nv * m.nv),
        }
    }

    /// `out` −= h ∂(∂bias/∂v â)/∂(q, v) in the rows that `part` names.
    fn subtract(
        &mut self,
        m: &Model,
        d: &Data<f64>,
        acc: &[f64],
        out: &mut SmoothDeriv<f64>,
        part: impl Fn(usize) -> bool,
    ) {
        for i in 0..m.nv {
            self.d.cdof[i] = lift(&d.cdof[i]);
            self.d.qvel[i] = Dual64::new(d.qvel[i], acc[i]);
            self.acc[i] = Dual64::lift(acc[i]);
        }
        for b in 0..m.nbody {
            self.d.cinert[b] = lift_inertia(&d.cinert[b]);
            self.d.crb[b] = lift_inertia(&d.crb[b]);
        }
        com_vel(m, &mut self.d);
        self.qderiv.qDeriv.fill(Dual64::lift(0.0));
        self.dq.fill(Dual64::lift(0.0));
        mjd_rne_vel(m, &self.d, &mut self.qderiv);
        mjd_rne_pos(m, &self.d, &self.acc, &self.qderiv, &mut self.rne, &mut self.dq);
        let h = m.opt.timestep;
        for i in (0..m.nv).filter(|&i| part(i)) {
            for e in i * m.nv..(i + 1) * m.nv {
                // both are minus the derivatives of the bias
                out.dq[e] += h * self.dq[e].eps;
                out.dv[e] += h * self.qderiv.qDeriv[e].eps;
            }
        }
    }
}

fn lift(x: &SpatialVec<f64>) -> SpatialVec<Dual64> {
    SpatialVec::new(x.rot.map(Dual64::lift), x.lin.map(Dual64::lift))
}

fn lift_inertia(x: &SpatialInertia<f64>) -> SpatialInertia<Dual64> {
    SpatialInertia {
        rot: x.rot.map(Dual64::lift),
        moment: x.moment.map(Dual64::lift),
        mass: Dual64::lift(x.mass),
    }
}
