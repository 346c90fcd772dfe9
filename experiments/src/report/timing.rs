//! Times of the methods on one model, on one thread.

use std::time::Instant;

use dualstep::{Data, Model};
use dualstep_derivatives::{
    DerivativeConfig, FdConfig, Method, Transition, TransitionError, TransitionWorkspace,
    mjd_transition_into,
};
use dualstep_validation::derivatives::states;
use rayon::ThreadPoolBuilder;
use serde::Serialize;

use crate::bench::Spread;

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
const ROUNDS: usize = 9;
/// Time that a measurement takes at least, over several calls \[s\].
const LEAST: f64 = 2e-3;

/// One way to linearize, ready to run.
struct Task {
    workspace: TransitionWorkspace,
    transition: Transition,
    calls: usize,
    us: Vec<f64>,
}

/// Times of all methods at a random state of the model, through workspaces that are warm. Methods take turns, so that
/// a change of clock frequency meets all of them.
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
        ("centred differences", Method::Fd, FdConfig::centered()),
        ("forward differences", Method::Fd, FdConfig::forward()),
    ];
    let mut tasks: Vec<[Result<Task, TransitionError>; 2]> = methods
        .iter()
        .map(|(_, method, fd)| {
            let of = |sensors| {
                let by = DerivativeConfig::by(*method);
                Task::new(m, d, &DerivativeConfig { fd: *fd, sensors, threads: 1, ..by })
            };
            [of(false), of(true)]
        })
        .collect();
    for _ in 0..ROUNDS {
        for task in tasks.iter_mut().flatten().flatten() {
            task.run(m, d);
        }
    }
    let spread = |task: &Result<Task, _>| task.as_ref().ok().map(|task| Spread::of(&task.us));
    let baseline = tasks.get(3).and_then(|[ab, _]| spread(ab)).map(|s| s.median);
    methods
        .iter()
        .zip(&tasks)
        .map(|((method, ..), [ab, abcd])| {
            let ab_us = spread(ab);
            Timing {
                method,
                ab_us,
                abcd_us: spread(abcd).filter(|_| m.nsensordata > 0),
                ratio: ab_us.zip(baseline).map(|(s, baseline)| s.median / baseline),
                why_not: ab.as_ref().err().map(ToString::to_string),
            }
        })
        .collect()
}

impl Task {
    /// Runs once to warm up, and finds how many calls fill a measurement.
    fn new(m: &Model, d: &Data<f64>, config: &DerivativeConfig) -> Result<Self, TransitionError> {
        let mut workspace = TransitionWorkspace::new(m, config)?;
        let mut transition = Transition::new(m);
        mjd_transition_into(m, d, &mut workspace, &mut transition)?;
        let mut task = Self { workspace, transition, calls: 1, us: Vec::with_capacity(ROUNDS) };
        loop {
            task.run(m, d);
            let seconds = task.us.pop().unwrap_or(0.0) * 1e-6 * task.calls as f64;
            if seconds >= LEAST || task.calls >= 1 << 14 {
                return Ok(task);
            }
            task.calls *= 2;
        }
    }

    fn run(&mut self, m: &Model, d: &Data<f64>) {
        let begin = Instant::now();
        for _ in 0..self.calls {
            // what it did once it does again
            let _ = mjd_transition_into(m, d, &mut self.workspace, &mut self.transition);
        }
        self.us.push(begin.elapsed().as_secs_f64() * 1e6 / self.calls as f64);
    }
}
