//! Closed form of a Runge–Kutta step: the chain rule through its four stages.
//!
//! Stage i starts at q_i = q₀ ⊕ h c K_{i−1}, v_i = v₀ + h c F_{i−1}, act_i = act₀ + h c G_{i−1}, with F and G the
//! accelerations and activation rates of the stage before, and K its velocity, on ball and free joints pulled back
//! to q₀ by dexp⁻¹ (Munthe-Kaas 1998). Tangents follow the same lines: dF and dG from the continuous-time
//! derivatives at each stage, dK from those of dexp⁻¹_u(w) = J_r⁻¹(u) w by u and w.

use dualstep::forward::forward_dynamics;
use dualstep::integrate::integrate_pos;
use dualstep::model::JointType;
use dualstep::scalar::Dual;
use dualstep::{Data, Model, Scalar};
use nalgebra::{Matrix3, Vector3};

use crate::actuator::{activation_clamped, activation_rate_derivative, activation_span};
use crate::analytic::exact;
use crate::columns::{Input, input, ncolumns};
use crate::dynamics::{AccelerationDeriv, mjd_acceleration};
use crate::matrices::{Solve, TransitionError};
use crate::quat::{mjd_integrate_pos, right_jacobian_inverse};
use crate::tangent::ndx;

/// Position of each stage in the step, and weight of each stage: the classic fourth-order method.
const C: [f64; 4] = [0.0, 0.5, 0.5, 1.0];
const B: [f64; 4] = [1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0];

/// A quantity over degrees of freedom (or activations) and its tangent, a row for each and a column for each
/// wanted entry of (q, v, act, u).
#[derive(Debug)]
struct Jet {
    value: Vec<f64>,
    tangent: Vec<f64>,
}

impl Jet {
    fn new(len: usize, n: usize) -> Self {
        Self { value: vec![0.0; len], tangent: vec![0.0; len * n] }
    }

    fn clear(&mut self) {
        self.value.fill(0.0);
        self.tangent.fill(0.0);
    }

    fn add_scaled(&mut self, s: f64, other: &Self) {
        let values = self.value.iter_mut().zip(&other.value);
        let tangents = self.tangent.iter_mut().zip(&other.tangent);
        for (x, y) in values.chain(tangents) {
            *x += s * y;
        }
    }
}

/// Everything that [`tangents`] writes on its way.
#[derive(Debug)]
pub(crate) struct Rk4Workspace {
    d: Data<f64>,
    continuous: AccelerationDeriv<f64>,
    /// Velocity K, acceleration F, activation rate G of the stage at hand, and their weighted sums.
    stage: [Jet; 3],
    sum: [Jet; 3],
    /// Tangents of the stage's position, velocity and activation.
    position: Vec<f64>,
    velocity: Vec<f64>,
    activation: Vec<f64>,
}

impl Rk4Workspace {
    /// Room for n columns.
    pub(crate) fn new(m: &Model, n: usize) -> Self {
        let jets = || [Jet::new(m.nv, n), Jet::new(m.nv, n), Jet::new(m.na, n)];
        Self {
            d: exact(m),
            continuous: AccelerationDeriv::new(m),
            stage: jets(),
            sum: jets(),
            position: vec![0.0; m.nv * n],
            velocity: vec![0.0; m.nv * n],
            activation: vec![0.0; m.na * n],
        }
    }
}

/// Tangents of the state after the step, row-major: position (nv × n), velocity (nv × n), activation (na × n),
/// n = number of columns. And how the worst of the constraint solves ended.
///
/// # Errors
/// If a stage cannot be evaluated, or the closed form does not cover it.
pub(crate) fn tangents<'a>(
    m: &Model,
    base: &Data<f64>,
    columns: &[usize],
    w: &'a mut Rk4Workspace,
) -> Result<([&'a [f64]; 3], Solve), TransitionError> {
    let (h, n) = (m.opt.timestep, columns.len());
    w.sum.iter_mut().for_each(Jet::clear);
    let mut solver = Solve::default();
    for (c, b) in C.into_iter().zip(B) {
        // x_i = x₀ ⊕ h c (K, F, G)_{i−1}
        w.d.set_state_from(base);
        identity(m, columns, [&mut w.position, &mut w.velocity, &mut w.activation]);
        let [K, F, G] = &mut w.stage;
        if c > 0.0 {
            for x in K.value.iter_mut().chain(&mut K.tangent) {
                *x *= c;
            }
            integrate_pos(m, &mut w.d.qpos, &K.value, h);
            mjd_integrate_pos(m, &K.value, h, &mut w.position, &K.tangent, n);
            axpy(h * c, &F.value, &mut w.d.qvel);
            axpy(h * c, &F.tangent, &mut w.velocity);
            axpy(h * c, &G.value, &mut w.d.act);
            axpy(h * c, &G.tangent, &mut w.activation);
        }
        forward_dynamics(m, &mut w.d).map_err(TransitionError::Step)?;
        solver = solver.worse(Solve::of(m, &w.d));
        mjd_acceleration(m, &w.d, &mut w.continuous)?;
        pull_back(m, &w.d, h, &w.velocity, K, (n, c > 0.0));
        w.accelerations(m, columns);
        for (sum, stage) in w.sum.iter_mut().zip(&w.stage) {
            sum.add_scaled(b, stage);
        }
    }
    finish(m, base, columns, w);
    Ok(([&w.position, &w.velocity, &w.activation], solver))
}

fn axpy(s: f64, x: &[f64], y: &mut [f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += s * x;
    }
}

/// Tangents of the state itself.
fn identity(m: &Model, columns: &[usize], blocks: [&mut Vec<f64>; 3]) {
    let n = columns.len();
    let [position, velocity, activation] = blocks;
    position.fill(0.0);
    velocity.fill(0.0);
    activation.fill(0.0);
    for (k, &column) in columns.iter().enumerate() {
        match input(m, column) {
            Input::Position(i) => position[i * n + k] = 1.0,
            Input::Velocity(i) => velocity[i * n + k] = 1.0,
            Input::Activation(i) => activation[i * n + k] = 1.0,
            Input::Control(_) => {}
        }
    }
}

impl Rk4Workspace {
    /// F = qacc and G = act_dot of the stage, and their tangents.
    fn accelerations(&mut self, m: &Model, columns: &[usize]) {
        let (all, n, nx) = (ncolumns(m), columns.len(), ndx(m));
        let [_, F, G] = &mut self.stage;
        F.value.copy_from_slice(&self.d.qacc);
        for i in 0..m.nv {
            let row = &self.continuous.block[i * all..(i + 1) * all];
            let out = &mut F.tangent[i * n..(i + 1) * n];
            for (x, &column) in out.iter_mut().zip(columns) {
                *x = if column < nx { 0.0 } else { row[column] };
            }
            let blocks =
                [(0, &self.position), (m.nv, &self.velocity), (2 * m.nv, &self.activation)];
            for (first, block) in blocks {
                for (k, tangent) in block.chunks_exact(n.max(1)).enumerate() {
                    axpy(row[first + k], tangent, out);
                }
            }
        }
        G.value.copy_from_slice(&self.d.act_dot);
        for a in 0..m.nactuator {
            let Some(adr) = m.actuator_actadr[a] else { continue };
            let [by_act, by_ctrl] = activation_rate_derivative(m, &self.d, a);
            let out = &mut G.tangent[adr * n..(adr + 1) * n];
            out.fill(0.0);
            axpy(by_act, &self.activation[adr * n..(adr + 1) * n], out);
            let ctrl = nx + m.actuator_ctrladr[a];
            if let Ok(k) = columns.binary_search(&ctrl)
                && m.actuator_ctrlnum[a] > 0
            {
                out[k] += by_ctrl;
            }
        }
    }
}

/// K: the stage's velocity pulled back to q₀. `K` holds the displacement c K_{i−1} on entry, with its tangent.
fn pull_back(
    m: &Model,
    d: &Data<f64>,
    h: f64,
    velocity: &[f64],
    K: &mut Jet,
    (n, moved): (usize, bool),
) {
    for j in 0..m.njnt {
        let (dof, nv) = (m.jnt_dofadr[j], m.jnt_type[j].nv());
        let turn = match m.jnt_type[j] {
            JointType::Ball if moved => Some(dof),
            JointType::Free if moved => Some(dof + 3),
            _ => None,
        };
        let scalar = dof..turn.unwrap_or(dof + nv);
        for i in scalar {
            K.value[i] = d.qvel[i];
            K.tangent[i * n..(i + 1) * n].copy_from_slice(&velocity[i * n..(i + 1) * n]);
        }
        let Some(r) = turn else { continue };
        let at = |x: &[f64]| Vector3::new(x[r], x[r + 1], x[r + 2]);
        let (u, v) = (at(&K.value) * h, at(&d.qvel));
        let (J, by_u) = (right_jacobian_inverse(&u), dexp_inv_by_u(&u, &v));
        K.value[r..r + 3].copy_from_slice((J * v).as_slice());
        for c in 0..n {
            let column = |x: &[f64]| Vector3::from_fn(|k, _| x[(r + k) * n + c]);
            let t = J * column(velocity) + by_u * column(&K.tangent) * h;
            for k in 0..3 {
                K.tangent[(r + k) * n + c] = t[k];
            }
        }
    }
}

/// ∂(J_r⁻¹(u) w)/∂u.
fn dexp_inv_by_u(u: &Vector3<f64>, w: &Vector3<f64>) -> Matrix3<f64> {
    let seeded = Vector3::from_fn(|i, _| {
        Dual::<3>::from_parts(|part| match part {
            0 => u[i],
            _ => f64::from(u8::from(part == i + 1)),
        })
    });
    let k = right_jacobian_inverse(&seeded) * w.map(Dual::<3>::lift);
    Matrix3::from_fn(|i, j| k[i].part(j + 1))
}

/// The last update, from the weighted sums.
fn finish(m: &Model, base: &Data<f64>, columns: &[usize], w: &mut Rk4Workspace) {
    let (h, n) = (m.opt.timestep, columns.len());
    identity(m, columns, [&mut w.position, &mut w.velocity, &mut w.activation]);
    let [K, F, G] = &w.sum;
    mjd_integrate_pos(m, &K.value, h, &mut w.position, &K.tangent, n);
    axpy(h, &F.tangent, &mut w.velocity);
    for a in 0..m.nactuator {
        let Some(adr) = m.actuator_actadr[a] else { continue };
        let row = &mut w.activation[adr * n..(adr + 1) * n];
        if activation_clamped(m, a, base.act[adr], G.value[adr]) {
            row.fill(0.0);
        } else {
            axpy(activation_span(m, a), &G.tangent[adr * n..(adr + 1) * n], row);
        }
    }
}
