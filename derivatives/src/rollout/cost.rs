//! Costs of a rollout: Σ l(x_t, u_t, y_t) + l_T(x_T, y_T), and their gradients at a stage.

use dualstep::model::JointType;
use dualstep::scalar::Dual;
use dualstep::{Model, Scalar};
use nalgebra::Vector3;

use crate::quat::right_jacobian_inverse;
use crate::tangent::{State, ndx};
use dualstep::integrate::{differentiate_pos, integrate_pos};

/// A stage of a rollout, as a cost sees it.
#[derive(Clone, Copy, Debug)]
pub struct Stage<'a, T: Scalar = f64> {
    /// Number of the step that begins here, from 0; at the end the number of steps.
    pub step: usize,
    /// Simulation time \[s\].
    pub time: f64,
    /// Generalized positions (nq).
    pub qpos: &'a [T],
    /// Generalized velocities (nv).
    pub qvel: &'a [T],
    /// Activations (na).
    pub act: &'a [T],
    /// Controls of the step (nu); empty at the end.
    pub ctrl: &'a [T],
    /// Sensors of the state under these controls (nsensordata), at the end under the controls that the rollout's base
    /// has; empty unless [`Cost::needs_sensors`].
    pub sensordata: &'a [T],
}

/// Gradient of a cost at a stage. Zero when a cost gets it: it adds what it depends on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CostGradient {
    /// By the state tangent \[dq (nv), dv (nv), da (na)\]: see [`crate::tangent`]. A gradient by the numbers of `qpos`
    /// becomes one by the tangent through [`to_tangent`].
    pub state: Vec<f64>,
    /// By the controls (nu).
    pub ctrl: Vec<f64>,
    /// By the sensors (nsensordata).
    pub sensor: Vec<f64>,
}

impl CostGradient {
    /// Zeros of the model's sizes.
    pub fn new(m: &Model) -> Self {
        let zeros = |n| vec![0.0; n];
        Self { state: zeros(ndx(m)), ctrl: zeros(m.nu), sensor: zeros(m.nsensordata) }
    }

    pub(crate) fn clear(&mut self) {
        for x in [&mut self.state, &mut self.ctrl, &mut self.sensor] {
            x.fill(0.0);
        }
    }
}

/// A cost of a rollout, with its gradient at a stage.
///
/// What a controller cares for is mostly a sensor (the height of a head, the distance of a hand): a cost of sensors needs
/// no Jacobians of its own, since those are C and D. A cost that is written on any scalar ([`CostFunction`]) becomes
/// one with a gradient through [`ByDuals`]; [`QuadraticCost`] has a gradient in closed form.
pub trait Cost {
    /// l(x, u, y) of a step; adds its gradient where one is wanted.
    fn running(&mut self, m: &Model, at: &Stage, gradient: Option<&mut CostGradient>) -> f64;

    /// l_T(x, y) at the end; adds its gradient where one is wanted. Nothing, unless a cost says otherwise.
    fn terminal(&mut self, m: &Model, at: &Stage, gradient: Option<&mut CostGradient>) -> f64 {
        let _ = (m, at, gradient);
        0.0
    }

    /// Whether it reads sensors. Without them a rollout and its linearizations are cheaper.
    fn needs_sensors(&self) -> bool {
        true
    }
}

/// A cost as a formula on any scalar, without derivatives: [`ByDuals`] adds them.
pub trait CostFunction {
    /// l(x, u, y) of a step.
    fn running<T: Scalar>(&self, m: &Model, at: &Stage<'_, T>) -> T;

    /// l_T(x, y) at the end. Nothing, unless a cost says otherwise.
    fn terminal<T: Scalar>(&self, m: &Model, at: &Stage<'_, T>) -> T {
        let _ = (m, at);
        T::lift(0.0)
    }

    /// Whether it reads sensors.
    fn needs_sensors(&self) -> bool {
        true
    }
}

/// Components of a gradient in one evaluation of a formula.
const WIDTH: usize = 8;

/// A formula with its gradient by dual numbers, exact to rounding: an evaluation for each 8 components.
#[derive(Clone, Debug)]
pub struct ByDuals<C> {
    /// The formula.
    pub cost: C,
    direction: Vec<Dual<WIDTH>>,
    qpos: Vec<Dual<WIDTH>>,
    qvel: Vec<Dual<WIDTH>>,
    act: Vec<Dual<WIDTH>>,
    ctrl: Vec<Dual<WIDTH>>,
    sensordata: Vec<Dual<WIDTH>>,
}

impl<C: CostFunction> ByDuals<C> {
    /// The formula, for rollouts of the model.
    pub fn new(m: &Model, cost: C) -> Self {
        let zeros = |n| vec![Dual::lift(0.0); n];
        Self {
            cost,
            direction: zeros(m.nv),
            qpos: zeros(m.nq),
            qvel: zeros(m.nv),
            act: zeros(m.na),
            ctrl: zeros(m.nu),
            sensordata: zeros(m.nsensordata),
        }
    }

    /// Adds the gradient of `value`, the formula at the stage.
    fn differentiate(
        &mut self,
        m: &Model,
        at: &Stage,
        value: impl Fn(&C, &Model, &Stage<'_, Dual<WIDTH>>) -> Dual<WIDTH>,
        gradient: &mut CostGradient,
    ) {
        let (nv, nx, nu) = (m.nv, ndx(m), at.ctrl.len());
        let count = nx + nu + at.sensordata.len();
        for first in (0..count).step_by(WIDTH) {
            let chunk = first..(first + WIDTH).min(count);
            lift(at.qpos, &mut self.qpos);
            lift(at.qvel, &mut self.qvel);
            lift(at.act, &mut self.act);
            lift(at.ctrl, &mut self.ctrl[..nu]);
            lift(at.sensordata, &mut self.sensordata[..at.sensordata.len()]);
            self.direction.fill(Dual::lift(0.0));
            for (part, k) in chunk.clone().enumerate() {
                let unit = Dual::from_parts(|p| if p == part + 1 { 1.0 } else { 0.0 });
                match k {
                    k if k < nv => self.direction[k] += unit,
                    k if k < 2 * nv => self.qvel[k - nv] += unit,
                    k if k < nx => self.act[k - 2 * nv] += unit,
                    k if k < nx + nu => self.ctrl[k - nx] += unit,
                    k => self.sensordata[k - nx - nu] += unit,
                }
            }
            if first < nv {
                integrate_pos(m, &mut self.qpos, &self.direction, Dual::lift(1.0));
            }
            let stage = Stage {
                step: at.step,
                time: at.time,
                qpos: &self.qpos,
                qvel: &self.qvel,
                act: &self.act,
                ctrl: &self.ctrl[..nu],
                sensordata: &self.sensordata[..at.sensordata.len()],
            };
            let value = value(&self.cost, m, &stage);
            for (part, k) in chunk.enumerate() {
                let slope = value.part(part + 1);
                match k {
                    k if k < nx => gradient.state[k] += slope,
                    k if k < nx + nu => gradient.ctrl[k - nx] += slope,
                    k => gradient.sensor[k - nx - nu] += slope,
                }
            }
        }
    }
}

fn lift<T: Scalar>(from: &[f64], to: &mut [T]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = T::lift(*from);
    }
}

impl<C: CostFunction> Cost for ByDuals<C> {
    fn running(&mut self, m: &Model, at: &Stage, gradient: Option<&mut CostGradient>) -> f64 {
        if let Some(gradient) = gradient {
            self.differentiate(m, at, CostFunction::running, gradient);
        }
        self.cost.running(m, at)
    }

    fn terminal(&mut self, m: &Model, at: &Stage, gradient: Option<&mut CostGradient>) -> f64 {
        if let Some(gradient) = gradient {
            self.differentiate(m, at, CostFunction::terminal, gradient);
        }
        self.cost.terminal(m, at)
    }

    fn needs_sensors(&self) -> bool {
        self.cost.needs_sensors()
    }
}

/// Turns a gradient by the numbers of `qpos` (nq) into one by the tangent (nv): for a quaternion q the tangent ω moves
/// it by ½ q ∘ ω.
///
/// # Panics
/// If a slice has another length.
pub fn to_tangent(m: &Model, qpos: &[f64], by_qpos: &[f64], tangent: &mut [f64]) {
    assert_eq!(qpos.len(), m.nq, "positions of another model");
    assert_eq!(by_qpos.len(), m.nq, "a gradient of another model");
    assert_eq!(tangent.len(), m.nv, "tangent of another model");
    for j in 0..m.njnt {
        let (mut q, mut dof) = (m.jnt_qposadr[j], m.jnt_dofadr[j]);
        match m.jnt_type[j] {
            JointType::Slide | JointType::Hinge => {
                tangent[dof] = by_qpos[q];
                continue;
            }
            JointType::Ball => {}
            JointType::Free => {
                tangent[dof..dof + 3].copy_from_slice(&by_qpos[q..q + 3]);
                (q, dof) = (q + 3, dof + 3);
            }
        }
        // ½ q ∘ ω = ½ (−v·ω, w ω + v × ω)
        let [w, g] = [qpos[q], by_qpos[q]].map(|x| 0.5 * x);
        let v = Vector3::from_column_slice(&qpos[q + 1..q + 4]);
        let by_v = Vector3::from_column_slice(&by_qpos[q + 1..q + 4]);
        let turned = by_v * w - v * g + by_v.cross(&v) * 0.5;
        tangent[dof..dof + 3].copy_from_slice(turned.as_slice());
    }
}

/// ½ Σ wₓ (x ⊟ x*)² + ½ Σ w_u (u − u*)² + ½ Σ w_y (y − y*)², with other weights of the state at the end, and none of
/// controls.
///
/// The state's weights are those of the tangent: dq by `mj_differentiatePos`, dv, da. A target holds for all stages.
#[derive(Clone, Debug)]
pub struct QuadraticCost {
    /// The state to come to, x*.
    pub target: State<f64>,
    /// The controls to stay near, u* (nu).
    pub ctrl: Vec<f64>,
    /// The sensor values to come to, y* (nsensordata).
    pub sensor: Vec<f64>,
    /// Weights of the state's tangent (2nv + na).
    pub state_weight: Vec<f64>,
    /// Weights of the controls (nu).
    pub ctrl_weight: Vec<f64>,
    /// Weights of the sensors (nsensordata), at all stages and at the end.
    pub sensor_weight: Vec<f64>,
    /// Weights of the state's tangent at the end (2nv + na).
    pub terminal_weight: Vec<f64>,
    /// x ⊟ x*.
    error: Vec<f64>,
}

impl QuadraticCost {
    /// The cost of moving away from a state, and of controls: without weights.
    pub fn new(m: &Model, target: State<f64>) -> Self {
        let zeros = |n| vec![0.0; n];
        Self {
            target,
            ctrl: zeros(m.nu),
            sensor: zeros(m.nsensordata),
            state_weight: zeros(ndx(m)),
            ctrl_weight: zeros(m.nu),
            sensor_weight: zeros(m.nsensordata),
            terminal_weight: zeros(ndx(m)),
            error: zeros(ndx(m)),
        }
    }

    /// The state's part, with the weights of the end or of the other stages.
    fn state(
        &mut self,
        m: &Model,
        at: &Stage,
        end: bool,
        gradient: Option<&mut CostGradient>,
    ) -> f64 {
        let weight = if end { &self.terminal_weight } else { &self.state_weight };
        let (dq, rest) = self.error.split_at_mut(m.nv);
        differentiate_pos(m, dq, 1.0, &self.target.qpos, at.qpos);
        let values = at.qvel.iter().zip(&self.target.qvel);
        for (e, (x, target)) in
            rest.iter_mut().zip(values.chain(at.act.iter().zip(&self.target.act)))
        {
            *e = x - target;
        }
        let value = self.error.iter().zip(weight).map(|(e, w)| 0.5 * w * e * e).sum();
        let Some(gradient) = gradient else { return value };
        for (k, (e, w)) in self.error.iter().zip(weight).enumerate().skip(m.nv) {
            gradient.state[k] += w * e;
        }
        // log(q*⁻¹ q exp δ) = e + J_r⁻¹(e) δ
        for j in 0..m.njnt {
            let dof = m.jnt_dofadr[j];
            let (lines, turn) = match m.jnt_type[j] {
                JointType::Slide | JointType::Hinge => (1, None),
                JointType::Ball => (0, Some(dof)),
                JointType::Free => (3, Some(dof + 3)),
            };
            for i in dof..dof + lines {
                gradient.state[i] += weight[i] * self.error[i];
            }
            if let Some(i) = turn {
                let e = Vector3::from_column_slice(&self.error[i..i + 3]);
                let weighted = e.component_mul(&Vector3::from_column_slice(&weight[i..i + 3]));
                let turned = right_jacobian_inverse(&e).tr_mul(&weighted);
                for (k, x) in turned.iter().enumerate() {
                    gradient.state[i + k] += x;
                }
            }
        }
        value
    }

    fn sensors(&self, at: &Stage, gradient: Option<&mut CostGradient>) -> f64 {
        quadratic(
            at.sensordata,
            &self.sensor,
            &self.sensor_weight,
            gradient.map(|g| &mut g.sensor[..]),
        )
    }
}

/// ½ Σ w (x − x*)², whose gradient is added.
fn quadratic(x: &[f64], target: &[f64], weight: &[f64], gradient: Option<&mut [f64]>) -> f64 {
    let mut value = 0.0;
    for ((x, target), w) in x.iter().zip(target).zip(weight) {
        value += 0.5 * w * (x - target) * (x - target);
    }
    if let Some(gradient) = gradient {
        for (((g, x), target), w) in gradient.iter_mut().zip(x).zip(target).zip(weight) {
            *g += w * (x - target);
        }
    }
    value
}

impl Cost for QuadraticCost {
    fn running(&mut self, m: &Model, at: &Stage, mut gradient: Option<&mut CostGradient>) -> f64 {
        let state = self.state(m, at, false, gradient.as_deref_mut());
        let sensors = self.sensors(at, gradient.as_deref_mut());
        let gradient = gradient.map(|g| &mut g.ctrl[..]);
        state + sensors + quadratic(at.ctrl, &self.ctrl, &self.ctrl_weight, gradient)
    }

    fn terminal(&mut self, m: &Model, at: &Stage, mut gradient: Option<&mut CostGradient>) -> f64 {
        let state = self.state(m, at, true, gradient.as_deref_mut());
        state + self.sensors(at, gradient)
    }

    fn needs_sensors(&self) -> bool {
        self.sensor_weight.iter().any(|w| *w != 0.0)
    }
}
