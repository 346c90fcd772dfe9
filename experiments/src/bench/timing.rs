//! Our side of a measurement, and what many of them amount to.

use std::time::Instant;

use dualstep::forward::{forward, step};
use dualstep::{Data, Model, StepError};
use dualstep_derivatives::finite_diff::mjd_transition_fd_into;
use dualstep_derivatives::{FdConfig, FdWorkspace, Transition, TransitionError};
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use serde::Serialize;
use thiserror::Error;

use super::Task;

/// Median and quartiles.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Half of the values are below.
    pub median: f64,
    /// A quarter of the values is below.
    pub q1: f64,
    /// A quarter of the values is above.
    pub q3: f64,
}

impl Spread {
    /// Of some values, by linear interpolation between the nearest; NaN if there are none.
    pub fn of(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let quantile = |p: f64| {
            let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
            let place = p * last as f64;
            // the fraction of a rank times the distance to the next
            let below = (0..=last).rev().find(|k| *k as f64 <= place).unwrap_or(0);
            let above = (below + 1).min(last);
            sorted[below] + (place - below as f64) * (sorted[above] - sorted[below])
        };
        Self { median: quantile(0.5), q1: quantile(0.25), q3: quantile(0.75) }
    }
}

/// Our side failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OursError {
    /// A step or forward dynamics.
    #[error(transparent)]
    Step(#[from] StepError),
    /// The linearization.
    #[error(transparent)]
    Transition(#[from] TransitionError),
    /// The thread for the linearization.
    #[error("cannot start a thread: {0}")]
    Thread(#[from] ThreadPoolBuildError),
}

/// One task of ours, ready to run in batches.
pub(super) struct Ours<'a> {
    m: &'a Model,
    start: &'a Data<f64>,
    d: Data<f64>,
    task: Task,
    /// One thread: MuJoCo has no more.
    pool: ThreadPool,
    workspace: FdWorkspace,
    transition: Transition,
}

impl<'a> Ours<'a> {
    pub(super) fn new(m: &'a Model, start: &'a Data<f64>, task: Task) -> Result<Self, OursError> {
        let pool = ThreadPoolBuilder::new().num_threads(1).build()?;
        let workspace = pool.install(|| FdWorkspace::new(m));
        let (d, transition) = (start.clone(), Transition::new(m));
        Ok(Self { m, start, d, task, pool, workspace, transition })
    }

    pub(super) fn task(&self) -> Task {
        self.task
    }

    /// Time of a call [µs], over `n` calls from the start.
    pub(super) fn batch(&mut self, n: usize) -> Result<f64, OursError> {
        self.d.set_state_from(self.start);
        let begin = Instant::now();
        match self.task {
            Task::Step => {
                for _ in 0..n {
                    step(self.m, &mut self.d)?;
                }
            }
            Task::Forward => {
                for _ in 0..n {
                    forward(self.m, &mut self.d)?;
                }
            }
            Task::Linearize => {
                let Self { m, d, pool, workspace, transition, .. } = self;
                pool.install(|| {
                    (0..n).try_for_each(|_| {
                        mjd_transition_fd_into(m, d, &FdConfig::centered(), workspace, transition)
                    })
                })?;
            }
        }
        Ok(begin.elapsed().as_secs_f64() * 1e6 / n as f64)
    }

    /// Calls that take about `seconds`; fewer where the motion leaves what numbers can hold.
    pub(super) fn calibrate(&mut self, seconds: f64) -> Result<usize, OursError> {
        let mut n = 1;
        loop {
            match self.batch(n) {
                Ok(us) if us * n as f64 * 1e-6 >= seconds || n >= 1 << 20 => return Ok(n),
                Ok(_) => n *= 2,
                Err(error) if n == 1 => return Err(error),
                Err(_) => return Ok(n / 2),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_interpolate() {
        let spread = Spread::of(&[4.0, 1.0, 3.0, 2.0]);
        assert_eq!(spread, Spread { median: 2.5, q1: 1.75, q3: 3.25 });
        assert_eq!(Spread::of(&[7.0]), Spread { median: 7.0, q1: 7.0, q3: 7.0 });
        assert!(Spread::of(&[]).median.is_nan());
    }
}
