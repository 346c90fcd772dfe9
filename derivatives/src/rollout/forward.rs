//! Sensitivities of a rollout forwards: products of the A, B, C and D of its steps.

use dualstep::forward::{Outputs, Reuse, step_skip};
use dualstep::{Data, Model};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, s};

use super::RolloutError;
use crate::matrices::Transition;
use crate::tangent::State;
use crate::trajectory::{Knot, TrajectoryError, linearize_trajectory};
use crate::transition::DerivativeConfig;

/// A rollout of T steps and the linearizations of all of them.
#[derive(Clone, Debug, PartialEq)]
pub struct RolloutLinearization {
    /// Timestep \[s\].
    pub timestep: f64,
    /// The states (T + 1).
    pub states: Vec<State<f64>>,
    /// A, B, C and D of each step (T).
    pub transitions: Vec<Transition>,
}

/// How states and sensors move with a direction.
#[derive(Clone, Debug, PartialEq)]
pub struct Perturbation {
    /// dx_t (T + 1 × 2nv + na).
    pub state: Array2<f64>,
    /// dy_t (T × nsensordata).
    pub sensor: Array2<f64>,
}

/// Steps from the state of `d` under controls `ctrl` (T × nu), and linearizes every step, in parallel.
///
/// # Errors
/// A step fails, or cannot be linearized.
///
/// # Panics
/// If `ctrl` does not have a column for each control.
pub fn linearize_rollout(
    m: &Model,
    d: &Data<f64>,
    ctrl: ArrayView2<f64>,
    config: &DerivativeConfig,
) -> Result<RolloutLinearization, RolloutError> {
    assert_eq!(ctrl.ncols(), m.nu, "controls of another model");
    let mut moving = d.clone();
    let mut states = vec![State::of(&moving)];
    let (mut times, mut starts, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    for (step, row) in ctrl.rows().into_iter().enumerate() {
        times.push(moving.time);
        starts.push(moving.qacc_warmstart.clone());
        rows.push(row.to_vec());
        moving.ctrl.copy_from_slice(&rows[step]);
        // as in the adjoint: where no acceleration is asked for, the next start of the solver stays
        moving.qacc.copy_from_slice(&moving.qacc_warmstart);
        step_skip(m, &mut moving, Reuse::Nothing, Outputs::State)
            .map_err(|source| RolloutError::Step { step, source })?;
        states.push(State::of(&moving));
    }
    let knots: Vec<Knot> = (0..rows.len())
        .map(|t| Knot {
            time: Some(times[t]),
            qpos: &states[t].qpos,
            qvel: &states[t].qvel,
            act: &states[t].act,
            ctrl: &rows[t],
            qacc_warmstart: Some(&starts[t]),
        })
        .collect();
    let transitions = linearize_trajectory(m, d, &knots, config).map_err(
        |TrajectoryError { knot: step, source }| RolloutError::Transition { step, source },
    )?;
    Ok(RolloutLinearization { timestep: m.opt.timestep, states, transitions })
}

impl RolloutLinearization {
    /// dx_t and dy_t for a change dx_0 (2nv + na) of the initial state and du_t (T × nu) of the controls:
    /// dx_{t+1} = A dx_t + B du_t, dy_t = C dx_t + D du_t.
    ///
    /// # Panics
    /// If sizes are those of another model or another number of steps.
    pub fn jvp(&self, dx0: ArrayView1<f64>, du: ArrayView2<f64>) -> Perturbation {
        let steps = self.transitions.len();
        assert_eq!(du.nrows(), steps, "a row for each step");
        let ns = self.transitions.first().map_or(0, |t| t.C.nrows());
        let mut out = Perturbation {
            state: Array2::zeros((steps + 1, dx0.len())),
            sensor: Array2::zeros((steps, ns)),
        };
        out.state.row_mut(0).assign(&dx0);
        for (t, Transition { A, B, C, D, .. }) in self.transitions.iter().enumerate() {
            let (dx, du) = (out.state.row(t), du.row(t));
            let (next, dy) = (A.dot(&dx) + B.dot(&du), C.dot(&dx) + D.dot(&du));
            out.state.row_mut(t + 1).assign(&next);
            out.sensor.row_mut(t).assign(&dy);
        }
        out
    }

    /// ∂x_t/∂x_s = A_{t−1} … A_s (2nv + na square); the identity where they are the same.
    ///
    /// # Panics
    /// Unless s ≤ t ≤ T.
    pub fn by_state(&self, t: usize, s: usize) -> Array2<f64> {
        let nx = self.transitions.first().map_or(0, |t| t.A.nrows());
        self.transitions[s..t].iter().fold(Array2::eye(nx), |product, step| step.A.dot(&product))
    }

    /// ∂x_t/∂(u_0 … u_{t−1}) (2nv + na × t nu): the controls of step s in columns s nu to (s + 1) nu.
    ///
    /// # Panics
    /// If t is beyond the last step.
    pub fn by_controls(&self, t: usize) -> Array2<f64> {
        let Some(first) = self.transitions.first() else { return Array2::zeros((0, 0)) };
        let (nx, nu) = first.B.dim();
        let mut out = Array2::zeros((nx, t * nu));
        let mut product = Array2::eye(nx);
        for s in (0..t).rev() {
            let step = &self.transitions[s];
            out.slice_mut(s![.., s * nu..(s + 1) * nu]).assign(&product.dot(&step.B));
            product = product.dot(&step.A);
        }
        out
    }

    /// Times of the states from the first on \[s\] (T + 1).
    pub fn times(&self) -> Array1<f64> {
        (0..=self.transitions.len()).map(|t| self.timestep * t as f64).collect()
    }
}
