//! The gradient of a cost of a rollout by the adjoint.
//!
//! With the costate λ_t = ∂J/∂x_t, the sum of all costs from stage t on differentiated by its state,
//!
//! ```text
//! λ_T = ∂l_T/∂x + Cᵀ ∂l_T/∂y
//! λ_t = ∂l/∂x + Cᵀ ∂l/∂y + Aᵀ λ_{t+1}
//! ∂J/∂u_t = ∂l/∂u + Dᵀ ∂l/∂y + Bᵀ λ_{t+1}
//! ```
//!
//! so the gradient by all controls takes one sweep backwards, whatever their number. A sweep needs the states that the
//! rollout went through. All of them are stored, or with checkpoints only every k-th, and the others are computed again
//! from there, k at a time: T/k + k states for one more rollout, least at k = √T.
//!
//! Source: Bryson and Ho 1975, "Applied Optimal Control", §2.2 (the adjoint of a multi-stage system); Griewank and
//! Walther 2008, "Evaluating Derivatives", ch. 12 (checkpoints; at two levels here).

use dualstep::forward::{Outputs, Reuse, forward, step_skip};
use dualstep::solver::SolverStatus;
use dualstep::{Data, Model};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, s};
use rayon::prelude::*;

use super::RolloutError;
use super::cost::{Cost, CostGradient};
use super::states::States;
use crate::analytic::product::{ProductWorkspace, mjd_product, multiply};
use crate::matrices::{Column, Transition, TransitionError};
use crate::tangent::ndx;
use crate::transition::{DerivativeConfig, Method, TransitionWorkspace, mjd_transition_into};

/// How to differentiate a rollout.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RolloutConfig {
    /// How to differentiate a step. All columns are needed; C and D if the cost needs sensors.
    pub derivative: DerivativeConfig,
    /// How the costate goes from a step to the one before.
    pub sweep: Sweep,
    /// Stores every k-th state only and computes those between again. None: stores all. The result is the same, bit for
    /// bit.
    pub checkpoint: Option<usize>,
}

/// How the costate goes from a step to the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sweep {
    /// By A and B, of as many steps at a time as there are threads.
    #[default]
    Matrices,
    /// By its products with them, without the matrices: one solve for each step instead of one for each column. On one
    /// thread, since every product waits for the one after it. By matrices where those are needed: for the integrators
    /// RK4, implicit and implicitfast, for costs of sensors, and where the closed form does not reach.
    Products,
}

/// Gradient of a cost over a rollout of T steps.
#[derive(Clone, Debug, PartialEq)]
pub struct RolloutGradient {
    /// The cost J.
    pub cost: f64,
    /// Its terms: T steps, then the end (T + 1).
    pub stage_cost: Array1<f64>,
    /// ∂J/∂u_t (T × nu).
    pub ctrl: Array2<f64>,
    /// ∂J/∂x_t of all that follows, by the state tangent (T + 1 × 2nv + na).
    pub costate: Array2<f64>,
    /// Steps from a state at a kink, or with a control beyond its range, where the derivative is that of one side (T).
    pub one_sided: Vec<bool>,
    /// Steps whose constraint solver ended before it was at the minimum, which the derivative is that of (T).
    pub not_converged: Vec<bool>,
}

impl RolloutGradient {
    /// Zeros for a rollout of `steps` steps.
    pub fn new(m: &Model, steps: usize) -> Self {
        Self {
            cost: 0.0,
            stage_cost: Array1::zeros(steps + 1),
            ctrl: Array2::zeros((steps, m.nu)),
            costate: Array2::zeros((steps + 1, ndx(m))),
            one_sided: vec![false; steps],
            not_converged: vec![false; steps],
        }
    }

    /// ∂J/∂x_0, by the state tangent (2nv + na).
    pub fn initial(&self) -> ArrayView1<'_, f64> {
        self.costate.row(0)
    }
}

/// Everything that [`rollout_gradient_into`] writes on its way, allocated once.
#[derive(Debug)]
pub struct RolloutWorkspace {
    steps: usize,
    nu: usize,
    sensors: bool,
    /// Controls (T × nu).
    ctrl: Vec<f64>,
    /// Steps from one checkpoint to the next.
    stride: usize,
    d: Data<f64>,
    /// Every `stride`-th state.
    checkpoints: States,
    /// The states of one stretch between checkpoints, and the last one.
    states: States,
    gradient: CostGradient,
    workers: Vec<Worker>,
    /// Of some steps that follow each other, linearized in parallel.
    transitions: Vec<Transition>,
    products: Option<Box<ProductWorkspace>>,
    /// Whether matrices take over where the closed form does not reach.
    fallback: bool,
    /// Of the step that was differentiated last.
    one_sided: bool,
}

/// What a thread linearizes with.
#[derive(Debug)]
struct Worker {
    d: Data<f64>,
    workspace: TransitionWorkspace,
}

/// Linearizations of a thread at a time: few, so that they are still in its cache when they are used.
const SHARE: usize = 4;

impl RolloutWorkspace {
    /// A workspace for rollouts of `steps` steps, for as many threads as the current rayon pool has.
    ///
    /// # Errors
    /// The configuration names columns that the model does not have.
    pub fn new(m: &Model, steps: usize, config: &RolloutConfig) -> Result<Self, TransitionError> {
        Self::on_threads(m, steps, config, rayon::current_num_threads())
    }

    /// The same for a number of threads. On one nothing is handed to a pool.
    ///
    /// # Errors
    /// The configuration names columns that the model does not have.
    pub fn on_threads(
        m: &Model,
        steps: usize,
        config: &RolloutConfig,
        threads: usize,
    ) -> Result<Self, TransitionError> {
        let stride = config.checkpoint.unwrap_or(steps).clamp(1, steps.max(1));
        let closed = matches!(config.derivative.method, Method::Auto | Method::Analytic);
        let sensors = config.derivative.sensors && m.nsensordata > 0;
        let products = match config.sweep {
            Sweep::Products if closed && !sensors => ProductWorkspace::new(m),
            _ => None,
        };
        let threads = if products.is_some() { 1 } else { threads.clamp(1, stride) };
        // steps are shared out, so that each is the work of one thread
        let derivative =
            DerivativeConfig { threads: 1, columns: None, ..config.derivative.clone() };
        let worker =
            || Ok(Worker { d: Data::new(m), workspace: TransitionWorkspace::new(m, &derivative)? });
        let batch = if threads == 1 { 1 } else { SHARE * threads };
        Ok(Self {
            steps,
            nu: m.nu,
            sensors: derivative.sensors,
            ctrl: vec![0.0; steps * m.nu],
            stride,
            d: Data::new(m),
            checkpoints: States::new(m, steps.div_ceil(stride), false),
            states: States::new(m, stride + 1, derivative.sensors),
            gradient: CostGradient::new(m),
            workers: std::iter::repeat_with(worker).take(threads).collect::<Result<_, _>>()?,
            transitions: vec![Transition::new(m); batch.min(stride)],
            products: products.map(Box::new),
            fallback: config.derivative.method == Method::Auto,
            one_sided: false,
        })
    }

    /// Takes over where a rollout begins, and its controls.
    fn begin(&mut self, d: &Data<f64>, ctrl: ArrayView2<f64>, cost: &dyn Cost) {
        assert_eq!(ctrl.dim(), (self.steps, self.nu), "a row of controls for each step");
        assert!(self.sensors || !cost.needs_sensors(), "a workspace with sensors for this cost");
        self.d.set_state_from(d);
        self.ctrl.iter_mut().zip(ctrl).for_each(|(to, from)| *to = *from);
    }

    /// Number of the first step after those of a stretch.
    fn end(&self, stretch: usize) -> usize {
        ((stretch + 1) * self.stride).min(self.steps)
    }
}

/// The cost of the rollout from the state of `d` under controls `ctrl` (T × nu), and its gradient by all of them and by
/// that state. Applied forces, mocap poses and active equalities stay as `d` has them.
///
/// The same, bit for bit, for any number of threads and with any checkpoints.
///
/// Source: see the module. Cost: the rollout (twice with checkpoints), a linearization for each step, and
/// O(T (2nv + na)(2nv + na + nu)) for the sweep.
///
/// # Errors
/// A step fails, or cannot be linearized.
///
/// # Panics
/// If `ctrl` does not have a column for each control.
pub fn rollout_gradient(
    m: &Model,
    d: &Data<f64>,
    ctrl: ArrayView2<f64>,
    cost: &mut dyn Cost,
    config: &RolloutConfig,
) -> Result<RolloutGradient, RolloutError> {
    let sensors = config.derivative.sensors && cost.needs_sensors();
    let derivative = DerivativeConfig { sensors, ..config.derivative.clone() };
    let config = RolloutConfig { derivative, ..config.clone() };
    let steps = ctrl.nrows();
    let mut workspace = RolloutWorkspace::new(m, steps, &config)
        .map_err(|source| RolloutError::Transition { step: 0, source })?;
    let mut gradient = RolloutGradient::new(m, steps);
    rollout_gradient_into(m, d, ctrl, cost, &mut workspace, &mut gradient)?;
    Ok(gradient)
}

/// As [`rollout_gradient`], into arrays and through a workspace that are used again.
///
/// # Errors
/// A step fails, or cannot be linearized.
///
/// # Panics
/// If sizes are those of another model or another number of steps, or the cost needs sensors and the workspace has none.
pub fn rollout_gradient_into(
    m: &Model,
    d: &Data<f64>,
    ctrl: ArrayView2<f64>,
    cost: &mut dyn Cost,
    w: &mut RolloutWorkspace,
    out: &mut RolloutGradient,
) -> Result<(), RolloutError> {
    assert_eq!(out.costate.dim(), (w.steps + 1, ndx(m)), "a gradient of another size");
    w.begin(d, ctrl, cost);
    let mut stretches = w.steps.div_ceil(w.stride);
    for stretch in 0..stretches {
        w.checkpoints.read(stretch, &w.d);
        advance(m, stretch, w, Some(&mut out.not_converged))?;
    }
    terminal(m, d, cost, w, out)?;
    // the states of the last stretch are there
    let mut there = true;
    while let Some(stretch) = stretches.checked_sub(1) {
        if !there {
            w.checkpoints.write(stretch, &mut w.d);
            advance(m, stretch, w, None)?;
        }
        sweep(m, d, stretch, cost, w, out)?;
        (stretches, there) = (stretch, false);
    }
    out.cost = out.stage_cost.sum();
    Ok(())
}

/// The cost alone: of the rollout, without derivatives. The same number, bit for bit.
///
/// # Errors
/// A step fails.
///
/// # Panics
/// As [`rollout_gradient_into`].
pub fn rollout_cost(
    m: &Model,
    d: &Data<f64>,
    ctrl: ArrayView2<f64>,
    cost: &mut dyn Cost,
    w: &mut RolloutWorkspace,
    stage_cost: &mut Array1<f64>,
) -> Result<f64, RolloutError> {
    assert_eq!(stage_cost.len(), w.steps + 1, "a term for each step and the end");
    w.begin(d, ctrl, cost);
    for stretch in 0..w.steps.div_ceil(w.stride) {
        advance(m, stretch, w, None)?;
        let first = stretch * w.stride;
        for t in first..w.end(stretch) {
            let at = w.states.stage(t - first, t, step_of(&w.ctrl, w.nu, t));
            stage_cost[t] = cost.running(m, &at, None);
        }
    }
    last_state(m, d, w)?;
    stage_cost[w.steps] = cost.terminal(m, &w.states.stage(w.stride, w.steps, &[]), None);
    Ok(stage_cost.sum())
}

/// The steps of a stretch, from the state of `w.d`; their states and sensors into `w.states`.
fn advance(
    m: &Model,
    stretch: usize,
    w: &mut RolloutWorkspace,
    mut not_converged: Option<&mut Vec<bool>>,
) -> Result<(), RolloutError> {
    let outputs = if w.sensors { Outputs::All } else { Outputs::State };
    let first = stretch * w.stride;
    for step in first..w.end(stretch) {
        w.states.read(step - first, &w.d);
        w.d.ctrl.copy_from_slice(step_of(&w.ctrl, w.nu, step));
        // where no acceleration is asked for, the next start of the solver must not be one of long ago
        w.d.qacc.copy_from_slice(&w.d.qacc_warmstart);
        step_skip(m, &mut w.d, Reuse::Nothing, outputs)
            .map_err(|source| RolloutError::Step { step, source })?;
        w.states.read_sensors(step - first, &w.d);
        if let Some(list) = &mut not_converged {
            // no improvement: as good as rounding lets it be
            let status = w.d.solver.status;
            let good = status.is_converged() || status == SolverStatus::NoImprovement;
            list[step] = w.d.efc.nefc > 0 && !good;
        }
    }
    Ok(())
}

/// The state of `w.d` into the last place of `w.states`, with its sensors under the controls of `base`.
fn last_state(m: &Model, base: &Data<f64>, w: &mut RolloutWorkspace) -> Result<(), RolloutError> {
    w.states.read(w.stride, &w.d);
    if w.sensors {
        w.d.ctrl.copy_from_slice(&base.ctrl);
        forward(m, &mut w.d).map_err(|source| RolloutError::Step { step: w.steps, source })?;
        w.states.read_sensors(w.stride, &w.d);
    }
    Ok(())
}

/// Cost and costate at the end.
fn terminal(
    m: &Model,
    base: &Data<f64>,
    cost: &mut dyn Cost,
    w: &mut RolloutWorkspace,
    out: &mut RolloutGradient,
) -> Result<(), RolloutError> {
    last_state(m, base, w)?;
    w.gradient.clear();
    let at = w.states.stage(w.stride, w.steps, &[]);
    out.stage_cost[w.steps] = cost.terminal(m, &at, Some(&mut w.gradient));
    let mut costate = out.costate.row_mut(w.steps);
    let costate = costate.as_slice_mut().expect("made row-major");
    costate.copy_from_slice(&w.gradient.state);
    if w.gradient.sensor.iter().any(|x| *x != 0.0) {
        let (worker, transition) = (&mut w.workers[0], &mut w.transitions[0]);
        worker.d.set_state_from(base);
        w.states.write(w.stride, &mut worker.d);
        mjd_transition_into(m, &worker.d, &mut worker.workspace, transition)
            .map_err(|source| RolloutError::Transition { step: w.steps, source })?;
        add_product(&w.gradient.sensor, &transition.C, costate);
    }
    Ok(())
}

/// The adjoint of a stretch whose states are in `w.states`, from its end to its beginning.
fn sweep(
    m: &Model,
    base: &Data<f64>,
    stretch: usize,
    cost: &mut dyn Cost,
    w: &mut RolloutWorkspace,
    out: &mut RolloutGradient,
) -> Result<(), RolloutError> {
    let (first, mut end) = (stretch * w.stride, w.end(stretch));
    while end > first {
        let begin = end.saturating_sub(w.transitions.len()).max(first);
        if w.products.is_none() {
            linearize(m, base, w, [first, begin, end])?;
        }
        for t in (begin..end).rev() {
            w.gradient.clear();
            let at = w.states.stage(t - first, t, step_of(&w.ctrl, w.nu, t));
            out.stage_cost[t] = cost.running(m, &at, Some(&mut w.gradient));
            let (mut before, after) = out.costate.multi_slice_mut((s![t, ..], s![t + 1, ..]));
            let before = before.as_slice_mut().expect("made row-major");
            let after = after.into_slice().expect("made row-major");
            let mut row = out.ctrl.row_mut(t);
            let by_ctrl = row.as_slice_mut().expect("made row-major");
            if !multiply_step(m, base, w, [first, t], after, before, by_ctrl)? {
                if w.products.is_some() {
                    linearize(m, base, w, [first, t, t + 1])?;
                }
                let (g, transition) = (&w.gradient, &w.transitions[t - begin]);
                before.copy_from_slice(&g.state);
                by_ctrl.copy_from_slice(&g.ctrl);
                add_product(after, &transition.A, before);
                add_product(after, &transition.B, by_ctrl);
                if g.sensor.iter().any(|x| *x != 0.0) {
                    add_product(&g.sensor, &transition.C, before);
                    add_product(&g.sensor, &transition.D, by_ctrl);
                }
                w.one_sided = transition.columns.iter().any(Column::one_sided);
            }
            out.one_sided[t] = w.one_sided;
        }
        end = begin;
    }
    Ok(())
}

/// The costate before step t and the gradient by its controls, without matrices; false where those are needed.
fn multiply_step(
    m: &Model,
    base: &Data<f64>,
    w: &mut RolloutWorkspace,
    [first, step]: [usize; 2],
    after: &[f64],
    before: &mut [f64],
    by_ctrl: &mut [f64],
) -> Result<bool, RolloutError> {
    let Some(products) = &mut w.products else { return Ok(false) };
    let d = &mut w.workers[0].d;
    d.set_state_from(base);
    w.states.write(step - first, d);
    d.ctrl.copy_from_slice(step_of(&w.ctrl, w.nu, step));
    before.copy_from_slice(&w.gradient.state);
    by_ctrl.copy_from_slice(&w.gradient.ctrl);
    match mjd_product(m, d, products, after, before, by_ctrl) {
        Ok(one_sided) => w.one_sided = one_sided,
        Err(TransitionError::NotCovered { .. }) if w.fallback => return Ok(false),
        Err(source) => return Err(RolloutError::Transition { step, source }),
    }
    Ok(true)
}

/// Linearizations of the steps `begin` to `end`, where `first` is the step of the first state, in parallel.
fn linearize(
    m: &Model,
    base: &Data<f64>,
    w: &mut RolloutWorkspace,
    [first, begin, end]: [usize; 3],
) -> Result<(), RolloutError> {
    let RolloutWorkspace { states, ctrl, workers, transitions, .. } = w;
    let transitions = &mut transitions[..end - begin];
    let run = |worker: &mut Worker, step: usize, transitions: &mut [Transition]| {
        worker.d.set_state_from(base);
        for (step, transition) in (step..).zip(transitions) {
            states.write(step - first, &mut worker.d);
            worker.d.ctrl.copy_from_slice(step_of(ctrl, m.nu, step));
            mjd_transition_into(m, &worker.d, &mut worker.workspace, transition)
                .map_err(|source| RolloutError::Transition { step, source })?;
        }
        Ok(())
    };
    if let [worker] = &mut workers[..] {
        return run(worker, begin, transitions);
    }
    let share = transitions.len().div_ceil(workers.len()).max(1);
    let failures =
        workers.par_iter_mut().zip(transitions.par_chunks_mut(share)).enumerate().filter_map(
            |(k, (worker, chunk))| Some((k, run(worker, begin + k * share, chunk).err()?)),
        );
    // of failures that of the first steps counts, whatever the thread
    failures.min_by_key(|(k, _)| *k).map_or(Ok(()), |(_, error)| Err(error))
}

/// y += xᵀ M.
fn add_product(x: &[f64], M: &Array2<f64>, y: &mut [f64]) {
    multiply(x, 1.0, M.as_slice().expect("made row-major"), y.len(), y);
}

/// Controls of a step.
fn step_of(ctrl: &[f64], nu: usize, step: usize) -> &[f64] {
    &ctrl[step * nu..(step + 1) * nu]
}
