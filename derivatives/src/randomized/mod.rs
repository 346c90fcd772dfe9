//! Randomized smoothing: A, B, C and D of a step averaged over Gaussian samples around the state and the controls.
//!
//! With g(w) = step(x ⊞ w_x, u + w_u) ⊟ step(x, u), beside it the sensors, and w ~ N(0, Σ), the smoothed step is
//! E\[g(δ + w)\], and its derivative by δ at zero has two expressions, each an estimator:
//!
//! ```text
//! first order    E[∂g/∂w (w)]              the mean of linearizations; right where g is continuous
//! zeroth order   E[g(w) wᵀ] Σ⁻¹            least squares through values; right where g jumps as well
//! ```
//!
//! The noise is added in the tangent at x. So on ball and free joints a linearization at x ⊞ w is multiplied by the right
//! Jacobian of w, and by the inverse of that of g: both estimators are then of the same matrix.
//!
//! Source: Suh, Simchowitz, Zhang, Tedrake 2022, "Do differentiable simulators give better policy gradients?"; Pang, Suh,
//! Yang, Tedrake 2023, "Global planning for contact-rich manipulation via local smoothing of quasi-dynamic contact
//! models", for the fit. Design: [`dualstep::design::smoothing`].

mod sample;
mod sums;

use dualstep::{Data, Model, Softening, StepError};
use ndarray::Array2;
use rayon::prelude::*;
use thiserror::Error;

use crate::columns::{Input, input, ncolumns};
use crate::matrices::{Column, Origin, Reason, Side, Transition, TransitionError};
use crate::tangent::ndx;
use crate::transition::{DerivativeConfig, Method, softened};
use sample::{Center, Worker};
use sums::Sums;

/// What is averaged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Linearizations: little variance, but a jump of the step that no sample hits leaves no trace.
    #[default]
    First,
    /// Values, by least squares: a sample costs one step, the variance is larger, jumps are felt.
    Zeroth,
}

/// Standard deviations of the samples, for each block in its own unit. Zero: the block stays as it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sigma {
    /// Of positions \[m, rad\].
    pub qpos: f64,
    /// Of velocities \[m/s, rad/s\].
    pub qvel: f64,
    /// Of activations.
    pub act: f64,
    /// Of controls.
    pub ctrl: f64,
}

impl Sigma {
    /// The same for all blocks.
    pub fn uniform(sigma: f64) -> Self {
        Self { qpos: sigma, qvel: sigma, act: sigma, ctrl: sigma }
    }

    fn of(&self, input: Input) -> f64 {
        match input {
            Input::Position(_) => self.qpos,
            Input::Velocity(_) => self.qvel,
            Input::Activation(_) => self.act,
            Input::Control(_) => self.ctrl,
        }
    }
}

/// How to take a randomized linearization.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomizedConfig {
    /// What is averaged.
    pub order: Order,
    /// Number of samples.
    pub samples: usize,
    /// Their spread.
    pub sigma: Sigma,
    /// Their seed: sample k is the same whatever the number of samples and of threads.
    pub seed: u64,
    /// How each sample is linearized, at first order.
    pub method: Method,
    /// Whether to average C and D as well.
    pub sensors: bool,
    /// Soften contacts besides: the step that is sampled is that of the softened model.
    pub softening: Softening,
}

impl Default for RandomizedConfig {
    fn default() -> Self {
        Self {
            order: Order::default(),
            samples: 100,
            sigma: Sigma::uniform(1e-3),
            seed: 1,
            method: Method::default(),
            sensors: true,
            softening: Softening::default(),
        }
    }
}

/// A randomized linearization.
#[derive(Clone, Debug, PartialEq)]
pub struct Randomized {
    /// The averages.
    pub transition: Transition,
    /// Standard error of each entry of A, B, C, D.
    pub standard_error: [Array2<f64>; 4],
    /// Mean of step(x ⊞ w, u + w) ⊟ step(x, u) (2nv + na): where the smoothed step goes, seen from the step.
    pub shift: Vec<f64>,
}

/// A step could not be smoothed.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum RandomizedError {
    /// A standard deviation is negative or not finite.
    #[error("standard deviations must be finite and not negative, found {0}")]
    Sigma(f64),
    /// A fit needs spread in every direction.
    #[error("least squares need a spread of {name}: its standard deviation is zero")]
    NoSpread {
        /// State or control.
        name: String,
    },
    /// Too few samples for an average and its error, or for a fit.
    #[error("{needed} samples are needed at least, found {found}")]
    TooFew {
        /// How many.
        needed: usize,
        /// How many there are.
        found: usize,
    },
    /// The state itself: its step fails, or the configuration is wrong.
    #[error(transparent)]
    Transition(#[from] TransitionError),
    /// A sample.
    #[error("sample {sample}: {source}")]
    Sample {
        /// Its number.
        sample: usize,
        /// Why it has no value or linearization.
        source: TransitionError,
    },
}

/// Chunks of samples whose sums are taken on their own: more than cores, few enough to be kept.
const CHUNKS: usize = 64;

/// A, B, C and D of one step at the state of `d`, which stays as it is, averaged over samples around it.
///
/// Samples are independent and run in parallel on the rayon pool; sums are taken in an order that depends on the number
/// of samples alone. So the result is the same, bit for bit, for any number of threads.
///
/// Controls are sampled beyond their range as well, where the step clamps them: the smoothed step knows of the range.
///
/// # Errors
/// The configuration has no meaning, or a step fails; of samples the first that does.
///
/// Source: see the module. Cost: one step for each sample, and one linearization at first order.
pub fn mjd_transition_randomized(
    m: &Model,
    d: &Data<f64>,
    config: &RandomizedConfig,
) -> Result<Randomized, RandomizedError> {
    let names = Transition::new(m);
    let sigma = spread(m, config, &names)?;
    let softened = softened(m, &config.softening)?;
    let m = softened.as_ref().unwrap_or(m);
    let derivative = DerivativeConfig {
        method: config.method,
        sensors: config.sensors,
        threads: 1,
        ..DerivativeConfig::default()
    };
    let center = Center::new(m, d)?;
    // the configuration is checked once, here
    let first = Worker::new(m, config.order, &derivative)?;
    drop(first);

    let size = config.samples.div_ceil(CHUNKS).max(4);
    let worker = || Worker::new(m, config.order, &derivative);
    let sums: Vec<Result<Sums, RandomizedError>> = (0..config.samples.div_ceil(size))
        .into_par_iter()
        .map_init(worker, |worker, chunk| {
            let worker = worker.as_mut().map_err(|e| RandomizedError::Transition(e.clone()))?;
            let mut sums = Sums::new(m, config.order);
            for sample in chunk * size..((chunk + 1) * size).min(config.samples) {
                worker
                    .add(m, &center, &sigma, config.seed, sample, &mut sums)
                    .map_err(|source| RandomizedError::Sample { sample, source })?;
            }
            Ok(sums)
        })
        .collect();
    let mut total = Sums::new(m, config.order);
    for sums in sums {
        total.merge(&sums?);
    }

    let estimate = match config.order {
        Order::First => total.mean(),
        Order::Zeroth => total.fit(&sigma),
    };
    let mut result = Randomized {
        standard_error: [&names.A, &names.B, &names.C, &names.D].map(|x| Array2::zeros(x.dim())),
        shift: total.value.iter().take(ndx(m)).map(|x| x / total.count).collect(),
        transition: names,
    };
    result.transition.solver = total.solver;
    write(m, config, &estimate, &mut result);
    Ok(result)
}

/// Standard deviation of each column.
fn spread(
    m: &Model,
    config: &RandomizedConfig,
    names: &Transition,
) -> Result<Vec<f64>, RandomizedError> {
    let Sigma { qpos, qvel, act, ctrl } = config.sigma;
    if let Some(bad) = [qpos, qvel, act, ctrl].into_iter().find(|s| !(*s >= 0.0 && s.is_finite())) {
        return Err(RandomizedError::Sigma(bad));
    }
    let sigma: Vec<f64> = (0..ncolumns(m)).map(|k| config.sigma.of(input(m, k))).collect();
    let needed = match config.order {
        Order::First => 2,
        // a fit with an intercept, and one sample for its error
        Order::Zeroth => ncolumns(m) + 2,
    };
    if config.samples < needed {
        return Err(RandomizedError::TooFew { needed, found: config.samples });
    }
    let flat = names.column_names().zip(&sigma).find(|(_, s)| **s == 0.0);
    match flat.filter(|_| config.order == Order::Zeroth) {
        Some((name, _)) => Err(RandomizedError::NoSpread { name: name.to_owned() }),
        None => Ok(sigma),
    }
}

/// Entries and their errors, row-major ((nx + ns) × columns).
struct Estimate {
    entry: Vec<f64>,
    error: Vec<f64>,
}

fn write(m: &Model, config: &RandomizedConfig, estimate: &Estimate, to: &mut Randomized) {
    let (nx, n) = (ndx(m), ncolumns(m));
    let Randomized { transition, standard_error, .. } = to;
    let column =
        Column { origin: Origin::Sampled, why: Reason::Requested, side: Side::Both, kink: None };
    transition.columns.fill(column);
    transition.softening = config.softening;
    let rows = if config.sensors { nx + m.nsensordata } else { nx };
    if config.sensors {
        transition.sensor_columns.fill(column);
    }
    let Transition { A, B, C, D, .. } = transition;
    let [A_error, B_error, C_error, D_error] = standard_error;
    for (i, k) in (0..rows).flat_map(|i| (0..n).map(move |k| (i, k))) {
        let (entry, error, at) = match (i.checked_sub(nx), k.checked_sub(nx)) {
            (None, None) => (&mut *A, &mut *A_error, [i, k]),
            (None, Some(k)) => (&mut *B, &mut *B_error, [i, k]),
            (Some(i), None) => (&mut *C, &mut *C_error, [i, k]),
            (Some(i), Some(k)) => (&mut *D, &mut *D_error, [i, k]),
        };
        entry[at] = estimate.entry[i * n + k];
        error[at] = estimate.error[i * n + k];
    }
}

fn step_error(error: StepError) -> TransitionError {
    TransitionError::Step(error)
}
