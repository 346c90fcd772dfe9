//! Times of the methods on one model, on one thread.

use dualstep::{Data, Model};
use dualstep_derivatives::{
    DerivativeConfig, FdConfig, Method, Transition, TransitionError, TransitionWorkspace,
    mjd_transition_into,
};
use dualstep_validation::derivatives::states;
use rayon::ThreadPoolBuilder;
use serde::Serialize;

use crate::bench::Spread;
use crate::stopwatch::{Task, times};

/// Time of a method.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Timing {
    /// The method.
    pub method: &'static str,
    /// Time of A and B \[µs\].
    pub ab_us: Option<Spread>,
    /// Time of A, B, C and D \[µs\]; none for models without sensors.
    pub abcd_us: Option<Spread>,
    /// Median time of A and B over that of centred differences.
    pub ratio: Option<f64>,
    /// Why there is none.
    pub why_not: Option<String>,
}

/// Measurements of each method.
pub(super) const BATCHES: usize = 15;
/// Duration of a measurement \[s\].
const BATCH_S: f64 = 5e-4;
/// What times are compared with.
const BASELINE: &str = "centred differences";

/// Times of all methods at a random state of the model, through workspaces that are warm, methods taking turns.
pub fn timings(m: &Model, seed: u64) -> Vec<Timing> {
    let Ok(pool) = ThreadPoolBuilder::new().num_threads(1).build() else { return Vec::new() };
    let Some(state) = states(m, 1, seed).pop() else { return Vec::new() };
    pool.install(|| measure(m, &state.d))
}

fn measure(m: &Model, d: &Data<f64>) -> Vec<Timing> {
    let methods = [
        ("closed form", Method::Analytic, FdConfig::centered()),
        ("dual numbers", Method::Dual, FdConfig::centered()),
        ("hybrid", Method::Hybrid, FdConfig::centered()),
        (BASELINE, Method::Fd, FdConfig::centered()),
        ("forward differences", Method::Fd, FdConfig::forward()),
    ];
    // each method without and with sensors; those that fail have no time
    let mut ready: Vec<(usize, bool, Ready)> = Vec::new();
    let mut why_not = vec![None; methods.len()];
    for (k, (_, method, fd)) in methods.iter().enumerate() {
        for sensors in [false, true] {
            let by = DerivativeConfig::by(*method);
            let config = DerivativeConfig { fd: *fd, sensors, threads: 1, ..by };
            match Ready::new(m, d, &config) {
                Ok(_) if sensors && m.nsensordata == 0 => {}
                Ok(one) => ready.push((k, sensors, one)),
                Err(error) => why_not[k] = Some(error.to_string()),
            }
        }
    }
    let mut tasks: Vec<Task<'_>> = ready
        .iter_mut()
        // what it did once it does again
        .map(|(k, _, one)| Task::new(methods[*k].0, || drop(one.run(m, d))))
        .collect();
    let spreads = times(&mut tasks, BATCHES, BATCH_S);
    drop(tasks);
    let of = |k: usize, sensors: bool| {
        let place = ready.iter().position(|(i, s, _)| (*i, *s) == (k, sensors))?;
        spreads.get(place).copied()
    };
    let baseline = methods.iter().position(|(name, ..)| *name == BASELINE);
    let baseline = baseline.and_then(|k| of(k, false)).map(|spread| spread.median);
    methods
        .iter()
        .zip(why_not)
        .enumerate()
        .map(|(k, ((method, ..), why_not))| Timing {
            method,
            ab_us: of(k, false),
            abcd_us: of(k, true),
            ratio: of(k, false).zip(baseline).map(|(spread, baseline)| spread.median / baseline),
            why_not,
        })
        .collect()
}

/// A method with its workspace, run once.
struct Ready {
    workspace: TransitionWorkspace,
    transition: Transition,
}

impl Ready {
    fn new(m: &Model, d: &Data<f64>, config: &DerivativeConfig) -> Result<Self, TransitionError> {
        let (workspace, transition) = (TransitionWorkspace::new(m, config)?, Transition::new(m));
        let mut ready = Self { workspace, transition };
        ready.run(m, d)?;
        Ok(ready)
    }

    fn run(&mut self, m: &Model, d: &Data<f64>) -> Result<(), TransitionError> {
        mjd_transition_into(m, d, &mut self.workspace, &mut self.transition)
    }
}
