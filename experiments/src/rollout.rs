//! Many steps under given controls, recorded.

use std::collections::BTreeSet;

use dualstep::forward::{forward, step};
use dualstep::model::options::enable;
use dualstep::model::{Integrator, WORLD};
use dualstep::solver::SolverStatus;
use dualstep::{Data, Model, StepError};
use ndarray::{Array1, Array2, s};
use thiserror::Error;

/// Where the controls of a rollout come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Control {
    /// Those that are set already.
    Hold,
    /// The same in every step (nu).
    Constant(Vec<f64>),
    /// Row k during step k (n × nu); the last row stays from then on.
    Sequence(Array2<f64>),
}

impl Control {
    /// Sets the controls for step `k`. The sizes must fit the model, as [`Control::check`] ensures.
    pub fn apply(&self, k: usize, ctrl: &mut [f64]) {
        match self {
            Self::Hold => {}
            Self::Constant(u) => ctrl.copy_from_slice(u),
            Self::Sequence(u) if u.nrows() == 0 => {}
            Self::Sequence(u) => {
                let row = u.row(k.min(u.nrows() - 1));
                ctrl.iter_mut().zip(row).for_each(|(to, from)| *to = *from);
            }
        }
    }

    /// Whether there are as many controls as the model has.
    ///
    /// # Errors
    /// Says how many there are and how many there should be.
    pub fn check(&self, m: &Model) -> Result<(), ControlSize> {
        let found = match self {
            Self::Hold => m.nu,
            Self::Constant(u) => u.len(),
            Self::Sequence(u) => u.ncols(),
        };
        if found == m.nu { Ok(()) } else { Err(ControlSize { expected: m.nu, found }) }
    }
}

/// The controls are of another model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the model has {expected} controls, found {found}")]
pub struct ControlSize {
    /// Controls of the model.
    pub expected: usize,
    /// Controls given.
    pub found: usize,
}

/// A step of a rollout failed.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("step {step} failed at time {time:.6} s: {source}")]
pub struct RolloutError {
    /// Number of the step, from 0.
    pub step: usize,
    /// Simulation time before the step [s].
    pub time: f64,
    /// Why.
    pub source: StepError,
}

/// States over time. Row k is the state after k steps: row 0 is the initial state, so n steps give n + 1 rows.
/// Controls, sensors, energy, contacts and what the solver did in a row belong to that state; the controls of the last
/// row are those of the step before.
#[derive(Clone, Debug, PartialEq)]
pub struct Trajectory {
    /// Simulation time [s] (rows).
    pub time: Array1<f64>,
    /// Generalized positions (rows × nq).
    pub qpos: Array2<f64>,
    /// Generalized velocities (rows × nv).
    pub qvel: Array2<f64>,
    /// Activations (rows × na).
    pub act: Array2<f64>,
    /// Controls (rows × nu).
    pub ctrl: Array2<f64>,
    /// Sensor values (rows × nsensordata).
    pub sensordata: Array2<f64>,
    /// Potential and kinetic energy \[J\] (rows × 2); zero unless the model's `energy` flag is on.
    pub energy: Array2<f64>,
    /// Height of the centre of mass of each moving tree, in the order of [`moving_trees`] \[m\] (rows × trees).
    pub com_height: Array2<f64>,
    /// Contacts (rows).
    pub ncon: Array1<f64>,
    /// Rows of constraints (rows).
    pub nefc: Array1<f64>,
    /// Iterations of the constraint solver (rows).
    pub solver_niter: Array1<f64>,
}

/// First bodies of the trees that move relative to the world.
pub fn moving_trees(m: &Model) -> Vec<usize> {
    let begins = |b: &usize| m.body_weldid[*b] == *b && m.body_weldid[m.body_parentid[*b]] == WORLD;
    (1..m.nbody).filter(begins).collect()
}

impl Trajectory {
    /// Zeros for `rows` states.
    pub fn new(m: &Model, rows: usize) -> Self {
        Self {
            time: Array1::zeros(rows),
            qpos: Array2::zeros((rows, m.nq)),
            qvel: Array2::zeros((rows, m.nv)),
            act: Array2::zeros((rows, m.na)),
            ctrl: Array2::zeros((rows, m.nu)),
            sensordata: Array2::zeros((rows, m.nsensordata)),
            energy: Array2::zeros((rows, 2)),
            com_height: Array2::zeros((rows, moving_trees(m).len())),
            ncon: Array1::zeros(rows),
            nefc: Array1::zeros(rows),
            solver_niter: Array1::zeros(rows),
        }
    }

    /// Number of states.
    pub fn rows(&self) -> usize {
        self.time.len()
    }

    /// Takes down the state and the controls.
    fn write_state(&mut self, k: usize, d: &Data<f64>) {
        self.time[k] = d.time;
        copy(&d.qpos, self.qpos.row_mut(k));
        copy(&d.qvel, self.qvel.row_mut(k));
        copy(&d.act, self.act.row_mut(k));
        copy(&d.ctrl, self.ctrl.row_mut(k));
    }

    /// Takes down what was computed at the state, before it was integrated.
    fn write_outputs(&mut self, k: usize, m: &Model, d: &Data<f64>) {
        copy(&d.sensordata, self.sensordata.row_mut(k));
        if m.opt.enabled(enable::ENERGY) {
            copy(&d.energy, self.energy.row_mut(k));
        }
    }

    /// Takes down where the trees are, and what the constraints were at the state.
    fn write_constraints(&mut self, k: usize, trees: &[usize], d: &Data<f64>) {
        let heights = trees.iter().map(|b| d.subtree_com[*b].z);
        self.com_height.row_mut(k).iter_mut().zip(heights).for_each(|(to, z)| *to = z);
        self.ncon[k] = d.contact.len() as f64;
        self.nefc[k] = d.efc.nefc as f64;
        self.solver_niter[k] = d.solver.niter as f64;
    }

    /// Keeps the first `rows` states.
    fn truncate(&mut self, rows: usize) {
        for field in [&mut self.time, &mut self.ncon, &mut self.nefc, &mut self.solver_niter] {
            *field = field.slice(s![..rows]).to_owned();
        }
        for field in [
            &mut self.qpos,
            &mut self.qvel,
            &mut self.act,
            &mut self.ctrl,
            &mut self.sensordata,
            &mut self.energy,
            &mut self.com_height,
        ] {
            *field = field.slice(s![..rows, ..]).to_owned();
        }
    }
}

fn copy(from: &[f64], mut to: ndarray::ArrayViewMut1<'_, f64>) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
}

/// What a rollout gave: all states up to its end, or up to the step that failed.
#[derive(Clone, Debug)]
pub struct Rollout {
    /// The states.
    pub trajectory: Trajectory,
    /// Why it ended early.
    pub failure: Option<RolloutError>,
    /// States at which the constraint solver ended before it was at the minimum.
    pub not_converged: usize,
    /// Pairs of geoms that came close enough to touch, and that have no collider.
    pub without_collider: Vec<[usize; 2]>,
}

/// Steps `n` times from the state of `d`; `after_step` sees every state that a step gave.
///
/// # Panics
/// If the controls do not fit the model; [`Control::check`] tells.
pub fn rollout(
    m: &Model,
    d: &mut Data<f64>,
    n: usize,
    control: &Control,
    mut after_step: impl FnMut(usize, &Data<f64>),
) -> Rollout {
    let mut log = Log::new(m, n + 1);
    for k in 0..n {
        control.apply(k, &mut d.ctrl);
        log.trajectory.write_state(k, d);
        let time = d.time;
        if let Err(source) = log.step(k, m, d) {
            return log.stop(RolloutError { step: k, time, source });
        }
        log.trajectory.write_outputs(k, m, d);
        after_step(k, d);
    }
    // sensors, energy and constraints of the last state
    log.trajectory.write_state(n, d);
    if let Err(source) = forward(m, d) {
        return log.stop(RolloutError { step: n, time: d.time, source });
    }
    log.trajectory.write_outputs(n, m, d);
    log.write_constraints(n, d);
    log.finish(None)
}

/// What is taken down on the way.
struct Log {
    trajectory: Trajectory,
    trees: Vec<usize>,
    not_converged: usize,
    without_collider: BTreeSet<[usize; 2]>,
}

impl Log {
    fn new(m: &Model, rows: usize) -> Self {
        Self {
            trajectory: Trajectory::new(m, rows),
            trees: moving_trees(m),
            not_converged: 0,
            without_collider: BTreeSet::new(),
        }
    }

    /// Steps, and takes down the constraints of the state before.
    fn step(&mut self, k: usize, m: &Model, d: &mut Data<f64>) -> Result<(), StepError> {
        // RK4 leaves the contacts of its last stage behind
        let stages = m.opt.integrator == Integrator::RK4;
        if stages {
            forward(m, d)?;
            self.write_constraints(k, d);
        }
        step(m, d)?;
        if !stages {
            self.write_constraints(k, d);
        }
        Ok(())
    }

    fn write_constraints(&mut self, k: usize, d: &Data<f64>) {
        self.trajectory.write_constraints(k, &self.trees, d);
        // no improvement: as good as rounding lets it be
        let status = d.solver.status;
        let good = status.is_converged() || status == SolverStatus::NoImprovement;
        self.not_converged += usize::from(!good);
        self.without_collider.extend(d.without_collider());
    }

    /// Keeps the states up to the one whose step failed.
    fn stop(mut self, failure: RolloutError) -> Rollout {
        self.trajectory.truncate(failure.step + 1);
        self.finish(Some(failure))
    }

    fn finish(self, failure: Option<RolloutError>) -> Rollout {
        let Self { trajectory, not_converged, without_collider, .. } = self;
        let without_collider = without_collider.into_iter().collect();
        Rollout { trajectory, failure, not_converged, without_collider }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dualstep::mjcf::load_model_str;

    const RAIL: &str = r#"
    <mujoco>
      <option timestep=".1" gravity="0 0 0"><flag energy="enable"/></option>
      <worldbody>
        <body><joint name="rail" type="slide" axis="1 0 0"/><geom size=".1" mass="2"/></body>
      </worldbody>
      <actuator><motor name="push" joint="rail"/></actuator>
      <sensor><jointpos joint="rail"/></sensor>
    </mujoco>"#;

    #[test]
    fn rows_hold_a_state_and_what_was_measured_in_it() {
        let m = load_model_str(RAIL, "rail.xml", std::path::Path::new(".")).unwrap();
        let mut d = Data::new(&m);
        let control = Control::Sequence(ndarray::array![[2.0], [0.0]]);
        control.check(&m).unwrap();
        let Rollout { trajectory: t, failure, .. } = rollout(&m, &mut d, 3, &control, |_, _| {});
        assert!(failure.is_none());
        assert_eq!(t.rows(), 4);
        let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        // a = 1 during the first step: v = 0.1 from then on, q = 0.01, 0.02, 0.03
        for (k, q) in [0.0, 0.01, 0.02, 0.03].into_iter().enumerate() {
            assert!(near(t.time[k], 0.1 * k as f64));
            assert!(near(t.qpos[[k, 0]], q));
            assert!(near(t.sensordata[[k, 0]], q));
            assert!(near(t.qvel[[k, 0]], if k == 0 { 0.0 } else { 0.1 }));
            assert!(near(t.energy[[k, 1]], if k == 0 { 0.0 } else { 0.01 }));
        }
        assert_eq!(t.ctrl.column(0).to_vec(), [2.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn a_failed_step_keeps_the_states_before_it() {
        let m = load_model_str(RAIL, "rail.xml", std::path::Path::new(".")).unwrap();
        let mut d = Data::new(&m);
        let control = Control::Sequence(ndarray::array![[0.0], [f64::NAN]]);
        let Rollout { trajectory, failure, .. } = rollout(&m, &mut d, 5, &control, |_, _| {});
        assert_eq!(failure.unwrap().step, 1);
        assert_eq!(trajectory.rows(), 2);
    }

    #[test]
    fn controls_of_another_model_are_refused() {
        let m = load_model_str(RAIL, "rail.xml", std::path::Path::new(".")).unwrap();
        let error = Control::Constant(vec![1.0, 2.0]).check(&m).unwrap_err();
        assert_eq!(error.to_string(), "the model has 1 controls, found 2");
    }

    // a ball that drops on the floor, under an integrator with stages and one without
    #[test]
    fn contacts_and_heights_belong_to_their_states() {
        let text = r#"<mujoco><option timestep="0.01"/><worldbody><geom type="plane" size="1 1 1"/>
            <body pos="0 0 0.15"><freejoint/><geom size="0.1"/></body></worldbody></mujoco>"#;
        for integrator in [Integrator::Euler, Integrator::RK4] {
            let mut m = load_model_str(text, "ball.xml", std::path::Path::new(".")).unwrap();
            m.opt.integrator = integrator;
            assert_eq!(moving_trees(&m), [1]);
            let mut d = Data::new(&m);
            let run = rollout(&m, &mut d, 60, &Control::Hold, |_, _| {});
            let t = &run.trajectory;
            assert!(run.failure.is_none() && run.not_converged == 0);
            assert!(run.without_collider.is_empty());
            for k in 0..t.rows() {
                let height = t.qpos[[k, 2]];
                assert!((t.com_height[[k, 0]] - height).abs() < 1e-15);
                assert_eq!(t.ncon[k] > 0.0, height < 0.1, "row {k}: {height}");
                assert_eq!(t.nefc[k], 4.0 * t.ncon[k]);
            }
            assert!(t.ncon[0] == 0.0 && t.ncon[60] == 1.0 && t.solver_niter[60] <= 2.0);
        }
    }
}
