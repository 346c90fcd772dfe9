//! Transition matrices by running the whole step on dual numbers: the oracle.
//!
//! A chunk of columns is seeded into the tangents of one run; what comes out is exact to rounding. A clamped
//! control, activation or force has the derivative of the side that it is on.

use dualstep::constraint::may_have_rows;
use dualstep::forward::{Outputs, Reuse, forward, step_skip};
use dualstep::integrate::{differentiate_pos, integrate_pos};
use dualstep::model::Integrator;
use dualstep::scalar::Dual;
use dualstep::{Data, Model, Scalar, StepError};
use rayon::prelude::*;

use crate::analytic::exact;
use crate::columns::{Input, Wanted, input};
use crate::finite_diff::FdConfig;
use crate::kinks::{self, RowKinks};
use crate::matrices::{Column, Origin, Reason, Solve, Transition, TransitionError};
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
    wanted: Wanted,
    pub(crate) why: Reason,
    /// Kinks at the state.
    columns: Vec<Column>,
    /// The step on real numbers, and kinks of its constraints; if there can be any.
    rows: Option<Box<(Data<f64>, RowKinks)>>,
    workers: Vec<Worker>,
}

impl DualWorkspace {
    /// A workspace for the model.
    pub fn new(m: &Model) -> Self {
        Self::of(m, Wanted::all(m), Reason::Requested)
    }

    pub(crate) fn of(m: &Model, wanted: Wanted, why: Reason) -> Self {
        let chunks = wanted.columns.len().div_ceil(WIDTH);
        let worker = || Worker {
            d: exact(m),
            direction: vec![Dual::lift(0.0); m.nv],
            qpos: vec![Dual::lift(0.0); m.nq],
        };
        let workers = std::iter::repeat_with(worker).take(chunks).collect();
        let columns = vec![Column::SKIPPED; ndx(m) + m.nu];
        let rows = may_have_rows(m).then(|| Box::new((exact(m), RowKinks::new(m))));
        Self { wanted, why, columns, rows, workers }
    }
}

/// A, B, C and D of one step at the state of `d`, by dual numbers.
///
/// Source: forward-mode automatic differentiation of the step; RK4 and all other integrators. Cost: one step on
/// dual numbers for each 8 columns, and one forward pass for the sensors, in parallel.
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
    let DualWorkspace { wanted, why, columns, rows, workers } = workspace;
    let wanted = &*wanted;
    // sensors of the state, before the step; without them one pass is enough, to find the kinks
    let passes = if wanted.sensors { workers.len() } else { workers.len().min(1) };
    run(&mut workers[..passes], |chunk, w| {
        w.seed(m, d, chunk_of(wanted, chunk));
        forward(m, &mut w.d)
    })?;
    columns.fill(Column { origin: Origin::Dual, why: *why, ..Column::SKIPPED });
    if let Some(w) = workers.first() {
        kinks::mark(m, &w.d, &FdConfig::default().eps, columns);
        transition.solver = Solve::of(m, &w.d);
    }
    if wanted.sensors {
        for (chunk, w) in workers.iter().enumerate() {
            for (k, &column) in chunk_of(wanted, chunk).iter().enumerate() {
                for (i, value) in w.d.sensordata.iter().enumerate() {
                    *transition.sensor_entry(i, column) = value.part(k + 1);
                }
            }
        }
    }
    if wanted.state {
        run(workers, |chunk, w| {
            // forward dynamics has been run with the same tangents; RK4 starts anew
            let done = chunk < passes && m.opt.integrator != Integrator::RK4;
            let reuse = if done { Reuse::Velocity } else { Reuse::Nothing };
            if !done {
                w.seed(m, d, chunk_of(wanted, chunk));
            }
            step_skip(m, &mut w.d, reuse, Outputs::State)?;
            w.displace(m);
            Ok(())
        })?;
        if let Some(w) = workers.first() {
            transition.solver = transition.solver.worse(Solve::of(m, &w.d));
        }
        for (chunk, w) in workers.iter().enumerate() {
            for (k, &column) in chunk_of(wanted, chunk).iter().enumerate() {
                let rows = w.direction.iter().chain(&w.d.qvel).chain(&w.d.act);
                for (i, value) in rows.enumerate() {
                    *transition.state_entry(i, column) = value.part(k + 1);
                }
            }
        }
    }
    if let Some((real, rows)) = rows.as_deref_mut() {
        real.set_state_from(d);
        forward(m, real).map_err(TransitionError::Step)?;
        let stages = m.opt.integrator == Integrator::RK4;
        let acceleration = |dof: usize, column: usize| match wanted.columns.binary_search(&column) {
            Ok(place) if !stages => workers[place / WIDTH].d.qacc[dof].part(place % WIDTH + 1),
            _ => 0.0,
        };
        rows.mark(m, real, &acceleration, &FdConfig::forward().eps, columns);
    }
    for &column in &wanted.columns {
        if wanted.state {
            transition.columns[column] = columns[column];
        }
        if wanted.sensors {
            transition.sensor_columns[column] = columns[column];
        }
    }
    Ok(())
}

/// Runs all chunks in parallel; of failures that of the first chunk counts, whatever the thread.
fn run(
    workers: &mut [Worker],
    chunk: impl Fn(usize, &mut Worker) -> Result<(), StepError> + Sync,
) -> Result<(), TransitionError> {
    let failures =
        workers.par_iter_mut().enumerate().filter_map(|(k, w)| Some((k, chunk(k, w).err()?)));
    let first = failures.min_by_key(|(k, _)| *k);
    first.map_or(Ok(()), |(_, error)| Err(TransitionError::Step(error)))
}

/// Columns of a chunk.
fn chunk_of(wanted: &Wanted, chunk: usize) -> &[usize] {
    let list = &wanted.columns;
    &list[chunk * WIDTH..((chunk + 1) * WIDTH).min(list.len())]
}

impl Worker {
    /// The state of `base`, with tangent k along column k of `columns`.
    fn seed(&mut self, m: &Model, base: &Data<f64>, columns: &[usize]) {
        self.d.set_state_from(base);
        self.direction.fill(Dual::lift(0.0));
        let mut moves = false;
        for (k, &column) in columns.iter().enumerate() {
            let unit: Dual<WIDTH> = Dual::from_parts(|part| if part == k + 1 { 1.0 } else { 0.0 });
            match input(m, column) {
                Input::Position(i) => {
                    self.direction[i] += unit;
                    moves = true;
                }
                Input::Velocity(i) => self.d.qvel[i] += unit,
                Input::Activation(i) => self.d.act[i] += unit,
                Input::Control(i) => self.d.ctrl[i] += unit,
            }
        }
        if moves {
            integrate_pos(m, &mut self.d.qpos, &self.direction, Dual::lift(1.0));
        }
    }

    /// Tangent of the new position into `direction`: its difference from itself without tangent.
    fn displace(&mut self, m: &Model) {
        for (to, from) in self.qpos.iter_mut().zip(&self.d.qpos) {
            *to = Dual::lift(from.re());
        }
        differentiate_pos(m, &mut self.direction, Dual::lift(1.0), &self.qpos, &self.d.qpos);
    }
}
