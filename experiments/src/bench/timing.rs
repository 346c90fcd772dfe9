//! Our side of a measurement, and what many of them amount to.

use std::time::Instant;

use dualstep::forward::{forward, forward_dynamics, step};
use dualstep::smooth::{com_pos, com_vel, crb, kinematics, rne_with_acceleration};
use dualstep::{Data, Model, StepError};
use dualstep_derivatives::dynamics::{AccelerationDeriv, mjd_acceleration};
use dualstep_derivatives::rollout::{QuadraticCost, RolloutConfig, RolloutError, Sweep};
use dualstep_derivatives::tangent::State;
use dualstep_derivatives::{
    DerivativeConfig, FdConfig, Method as By, Transition, TransitionError, TransitionWorkspace,
    mjd_transition_into,
};
use ndarray::Array2;
use rayon::{ThreadPool, ThreadPoolBuildError};
use serde::Serialize;
use thiserror::Error;

use super::Method;
use crate::gradient::{Part, Parts};

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
    /// A rollout, or its gradient.
    #[error(transparent)]
    Rollout(#[from] RolloutError),
    /// The thread that all runs on.
    #[error("cannot start a thread: {0}")]
    Thread(#[from] ThreadPoolBuildError),
}

/// One function of ours, ready to run in batches.
#[derive(Debug)]
pub struct Ours<'a> {
    m: &'a Model,
    start: &'a Data<f64>,
    pool: &'a ThreadPool,
    method: Method,
    work: Work,
}

/// What a function writes to, allocated once.
#[derive(Debug)]
struct Work {
    d: Data<f64>,
    transition: Option<(TransitionWorkspace, Transition)>,
    acceleration: Option<AccelerationDeriv<f64>>,
    rollout: Option<(Part, Box<Parts>, QuadraticCost)>,
    zero: Vec<f64>,
    force: Vec<f64>,
}

impl<'a> Ours<'a> {
    /// A function and its workspace, made on the pool that it will run on.
    ///
    /// # Errors
    /// If forward dynamics fails at the state that `start` is at.
    pub fn new(
        m: &'a Model,
        start: &'a Data<f64>,
        method: Method,
        pool: &'a ThreadPool,
    ) -> Result<Self, OursError> {
        let mut d = start.clone();
        forward(m, &mut d)?;
        let transition = match method {
            Method::TransitionFd => Some(By::Fd),
            Method::TransitionAnalytic => Some(By::Analytic),
            Method::TransitionDual => Some(By::Dual),
            _ => None,
        };
        let transition = transition.map(|by| pool.install(|| workspace(m, by))).transpose()?;
        let acceleration = matches!(method, Method::ForwardAcceleration | Method::Acceleration)
            .then(|| AccelerationDeriv::new(m));
        let rollout = match method {
            Method::Rollout => Some(Part::Rollout),
            Method::RolloutLinearizations => Some(Part::Linearizations),
            Method::RolloutGradient | Method::RolloutProducts => Some(Part::Gradient),
            _ => None,
        };
        let sweep = match method {
            Method::RolloutProducts => Sweep::Products,
            _ => Sweep::Matrices,
        };
        let rollout = rollout.map(|part| rollout_work(m, start, part, sweep)).transpose()?;
        let (zero, force) = (vec![0.0; m.nv], vec![0.0; m.nv]);
        let work = Work { d, transition, acceleration, rollout, zero, force };
        Ok(Self { m, start, pool, method, work })
    }

    /// Which function.
    pub fn method(&self) -> Method {
        self.method
    }

    /// Time of a call \[µs\], over `n` calls from the start.
    ///
    /// # Errors
    /// If a call fails.
    pub fn batch(&mut self, n: usize) -> Result<f64, OursError> {
        let Self { m, start, pool, method, work } = self;
        work.d.set_state_from(start);
        pool.install(|| {
            let begin = Instant::now();
            for _ in 0..n {
                work.call(m, *method)?;
            }
            Ok(begin.elapsed().as_secs_f64() * 1e6 / n as f64)
        })
    }

    /// Calls that take about `seconds`; fewer where the motion leaves what numbers can hold.
    ///
    /// # Errors
    /// If the first call fails.
    pub fn calibrate(&mut self, seconds: f64) -> Result<usize, OursError> {
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

/// A and B as MuJoCo's `mjd_transitionFD` is asked for them: without sensors, with nudges of 1e-6.
fn workspace(m: &Model, method: By) -> Result<(TransitionWorkspace, Transition), OursError> {
    let fd = FdConfig::uniform(true, 1e-6);
    let config = DerivativeConfig { fd, sensors: false, ..DerivativeConfig::by(method) };
    Ok((TransitionWorkspace::new(m, &config)?, Transition::new(m)))
}

/// Steps of a rollout.
const STEPS: usize = 200;

/// A rollout under the controls of the start, whose cost is how far it goes from there.
fn rollout_work(
    m: &Model,
    start: &Data<f64>,
    part: Part,
    sweep: Sweep,
) -> Result<(Part, Box<Parts>, QuadraticCost), OursError> {
    let mut cost = QuadraticCost::new(m, State::of(start));
    for weight in [&mut cost.state_weight, &mut cost.ctrl_weight, &mut cost.terminal_weight] {
        weight.fill(1.0);
    }
    let derivative = DerivativeConfig { sensors: false, ..DerivativeConfig::default() };
    let config = RolloutConfig { derivative, sweep, checkpoint: None };
    let ctrl = Array2::from_shape_fn((STEPS, m.nu), |(_, i)| start.ctrl[i]);
    Ok((part, Box::new(Parts::new(m, start, ctrl.view(), &config)?), cost))
}

impl Work {
    /// One call.
    fn call(&mut self, m: &Model, method: Method) -> Result<(), OursError> {
        let Self { d, transition, acceleration, rollout, zero, force } = self;
        match method {
            Method::Step => step(m, d)?,
            Method::Forward => forward(m, d)?,
            Method::TransitionFd | Method::TransitionAnalytic | Method::TransitionDual => {
                if let Some((workspace, transition)) = transition {
                    mjd_transition_into(m, d, workspace, transition)?;
                }
            }
            Method::ForwardAcceleration | Method::Acceleration => {
                if method == Method::ForwardAcceleration {
                    forward_dynamics(m, d)?;
                }
                if let Some(out) = acceleration {
                    mjd_acceleration(m, d, out)?;
                }
            }
            Method::Inverse => {
                kinematics(m, d);
                com_pos(m, d);
                com_vel(m, d);
                rne_with_acceleration(m, d, zero, force);
            }
            Method::Rollout
            | Method::RolloutLinearizations
            | Method::RolloutGradient
            | Method::RolloutProducts => {
                if let Some((part, parts, cost)) = rollout {
                    parts.run(*part, m, cost)?;
                }
            }
            Method::Inertia => {
                kinematics(m, d);
                com_pos(m, d);
                crb(m, d);
            }
        }
        Ok(())
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
