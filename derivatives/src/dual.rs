//! Transition matrices by running the whole step on dual numbers: the oracle.
//!
//! A chunk of columns is seeded into the tangents of one run; what comes out is exact to rounding. A clamped
//! control, activation or force has the derivative of the side that it is on.

use dualstep::forward::{forward, step};
use dualstep::integrate::{differentiate_pos, integrate_pos};
use dualstep::scalar::Dual;
use dualstep::{Data, Model, Scalar, StepError};
use rayon::prelude::*;

use crate::finite_diff::{Difference, Transition, TransitionError};
use crate::tangent::ndx;

/// Columns in one run.
const WIDTH: usize = 8;

/// Data of one chunk of columns.
#[derive(Debug)]
struct Worker {
    d: Data<Dual<WIDTH>>,
    direction: Vec<Dual<WIDTH>>,
    /// Position after the real step, with zero tangent.
    qpos: Vec<Dual<WIDTH>>,
}

/// Everything that [`mjd_transition_dual_into`] writes on its way: one run for each chunk of columns.
#[derive(Debug)]
pub struct DualWorkspace {
    workers: Vec<Worker>,
}

impl DualWorkspace {
    /// A workspace for the model.
    pub fn new(m: &Model) -> Self {
        let chunks = (ndx(m) + m.nu).div_ceil(WIDTH);
        let worker = || Worker {
            d: Data::new(m),
            direction: vec![Dual::lift(0.0); m.nv],
            qpos: vec![Dual::lift(0.0); m.nq],
        };
        Self { workers: std::iter::repeat_with(worker).take(chunks).collect() }
    }
}

/// A, B, C and D of one step at the state of `d`, by dual numbers.
///
/// Source: forward-mode automatic differentiation of the step; RK4 and all other integrators. Cost: one step on
/// dual numbers for each 8 columns, in parallel.
///
/// # Errors
/// If the step fails.
pub fn mjd_transition_dual(m: &Model, d: &Data<f64>) -> Result<Transition, TransitionError> {
    let mut transition = Transition::new(m);
    mjd_transition_dual_into(m, d, &mut DualWorkspace::new(m), &mut transition)?;
    Ok(transition)
}

/// As [`mjd_transition_dual`], into matrices and through a workspace that are used again.
///
/// # Errors
/// If the step fails.
///
/// # Panics
/// If `workspace` or `transition` belong to a model of other sizes.
pub fn mjd_transition_dual_into(
    m: &Model,
    d: &Data<f64>,
    workspace: &mut DualWorkspace,
    transition: &mut Transition,
) -> Result<(), TransitionError> {
    let run = |(chunk, w): (usize, &mut Worker)| -> Result<(), StepError> {
        w.seed(m, d, chunk * WIDTH);
        step(m, &mut w.d)
    };
    let results = workspace.workers.par_iter_mut().enumerate().map(run);
    results.collect::<Result<Vec<()>, _>>().map_err(TransitionError::Step)?;
    let nx = ndx(m);
    for (chunk, w) in workspace.workers.iter_mut().enumerate() {
        // tangent of the new position: its difference from itself without tangent
        for (to, from) in w.qpos.iter_mut().zip(&w.d.qpos) {
            *to = Dual::lift(from.re());
        }
        differentiate_pos(m, &mut w.direction, Dual::lift(1.0), &w.qpos, &w.d.qpos);
        for part in 1..=WIDTH {
            let column = chunk * WIDTH + part - 1;
            if column >= nx + m.nu {
                break;
            }
            let rows = w.direction.iter().chain(&w.d.qvel).chain(&w.d.act);
            for (i, value) in rows.enumerate() {
                *transition.state_entry(i, column) = value.part(part);
            }
            transition.difference[column] = Difference::Exact;
        }
    }
    sensors_dual(m, d, workspace, transition)
}

/// C and D by one forward pass on dual numbers for each chunk of columns.
pub(crate) fn sensors_dual(
    m: &Model,
    d: &Data<f64>,
    workspace: &mut DualWorkspace,
    transition: &mut Transition,
) -> Result<(), TransitionError> {
    if m.nsensordata == 0 {
        return Ok(());
    }
    let run = |(chunk, w): (usize, &mut Worker)| -> Result<(), StepError> {
        w.seed(m, d, chunk * WIDTH);
        forward(m, &mut w.d)
    };
    let results = workspace.workers.par_iter_mut().enumerate().map(run);
    results.collect::<Result<Vec<()>, _>>().map_err(TransitionError::Step)?;
    for (chunk, w) in workspace.workers.iter().enumerate() {
        for part in 1..=WIDTH {
            let column = chunk * WIDTH + part - 1;
            if column >= ndx(m) + m.nu {
                break;
            }
            for (i, value) in w.d.sensordata.iter().enumerate() {
                *transition.sensor_entry(i, column) = value.part(part);
            }
        }
    }
    Ok(())
}

impl Worker {
    /// The state of `base`, with tangent k along column `first + k`.
    fn seed(&mut self, m: &Model, base: &Data<f64>, first: usize) {
        self.d.set_state_from(base);
        self.direction.fill(Dual::lift(0.0));
        let mut moves = false;
        for k in 0..WIDTH {
            let unit: Dual<WIDTH> = Dual::from_parts(|part| if part == k + 1 { 1.0 } else { 0.0 });
            let (c, nx) = (first + k, ndx(m));
            if c < m.nv {
                self.direction[c] += unit;
                moves = true;
            } else if c < 2 * m.nv {
                self.d.qvel[c - m.nv] += unit;
            } else if c < nx {
                self.d.act[c - 2 * m.nv] += unit;
            } else if c < nx + m.nu {
                self.d.ctrl[c - nx] += unit;
            }
        }
        if moves {
            integrate_pos(m, &mut self.d.qpos, &self.direction, Dual::lift(1.0));
        }
    }
}
