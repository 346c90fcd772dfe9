//! How we know that derivatives are right: every method against dual numbers, at states where formulas are simple and
//! at states where they are not, under every integrator.
//!
//! Dual numbers differentiate the step as it is programmed, exactly but for rounding. The closed form shares no
//! derivative code with them; differences of steps share none with either, and are held to a bound that they know by
//! themselves: ten times their own noise ([`VCurve::noise`](dualstep_derivatives::check::VCurve::noise)).

mod case;
mod constraints;
mod coverage;
mod features;
mod kink_sides;
mod report;
mod rollout;
mod sample;
mod solver_study;
mod states;

use std::sync::atomic::{AtomicUsize, Ordering};

use dualstep::model::Integrator;
use dualstep::{Data, Model};
use dualstep_derivatives::tangent::{ctrl_names, sensor_names, state_names};
use rayon::prelude::*;

pub use coverage::{Cell, Coverage, Meeting, Row};
pub use features::{DYNAMICS, FORCES_ON_JOINTS, Group, JOINTS, NO_ACTUATOR};
pub use kink_sides::KinkSides;
pub use report::{
    BlockReport, Branches, Case, Compared, Curve, Finding, HeatMap, ModelReport, NotCompared,
    OneSided, Origins, Sizes, Skipped, Verdict,
};
pub use solver_study::{SolverCurve, SolverStudy, ToleranceRow};
pub use states::{State, golden_states, states};

use case::case;
use coverage::Counter;
use sample::{Depth, Sample};

/// All integrators, under MuJoCo's names.
pub const INTEGRATORS: [(Integrator, &str); 5] = [
    (Integrator::Euler, "Euler"),
    (Integrator::RK4, "RK4"),
    (Integrator::Implicit, "implicit"),
    (Integrator::ImplicitFast, "implicitfast"),
    (Integrator::ImplicitSpringDamper, "implicit_spring_damper"),
];

/// What to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValidateOptions {
    /// Random states, beside the reference configuration and the keyframes.
    pub states: usize,
    /// Seed of the random states.
    pub seed: u64,
    /// Differences and hybrid under all integrators, not only the model's own.
    pub all_integrators: bool,
    /// Differences and hybrid at all, beside the closed form.
    pub differences: bool,
    /// Steps of a rollout under random controls, from keyframe 0 or the reference configuration: at each of its states
    /// the closed form is compared, under the model's own integrator.
    pub rollout: usize,
}

impl Default for ValidateOptions {
    fn default() -> Self {
        Self { states: 8, seed: 1, all_integrators: false, differences: true, rollout: 0 }
    }
}

/// Compares all methods on a model: the closed form under every integrator, the others under the model's own, or all.
/// The states are those of [`states`], those that are `given`, and those of a rollout, as the options ask.
/// `progress` is called with the number of linearized states so far and their total, from several threads.
///
/// States run in parallel; what is reported is the same for any number of threads.
pub fn validate(
    m: &Model,
    options: &ValidateOptions,
    given: &[State],
    progress: &(dyn Fn(usize, usize) + Sync),
) -> ModelReport {
    let mut states = states(m, options.states, options.seed);
    states.extend_from_slice(given);
    let (snapshots, stopped) = rollout::snapshots(m, options.rollout, options.seed);
    let base = Data::new(m);
    // the model's own integrator first
    let mut order: Vec<usize> = (0..INTEGRATORS.len()).collect();
    order.sort_by_key(|&k| INTEGRATORS[k].0 != m.opt.integrator);
    let models: Vec<(Model, Depth)> = order
        .iter()
        .map(|&k| {
            let mut m = m.clone();
            let own = m.opt.integrator == INTEGRATORS[k].0;
            m.opt.integrator = INTEGRATORS[k].0;
            let full = options.differences && (own || options.all_integrators);
            (m, if full { Depth::Full } else { Depth::ClosedForm })
        })
        .collect();
    // the rollout belongs to the own integrator, and comes last
    let regular = models.len() * states.len();
    let (done, total) = (AtomicUsize::new(0), regular + snapshots.len());
    let mut samples: Vec<Result<Sample, String>> = (0..total)
        .into_par_iter()
        .map(|task| {
            let sample = match task.checked_sub(regular) {
                None => {
                    let (m, depth) = &models[task / states.len()];
                    Sample::new(m, &states[task % states.len()], *depth)
                }
                Some(k) => Sample::new(m, &snapshots[k].state(&base), Depth::ClosedForm),
            };
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, total);
            sample
        })
        .collect();
    let mut rolled = samples.split_off(regular);

    let counter = Counter::new(m);
    let mut coverage = counter.start();
    let mut cases = Vec::new();
    let names: Vec<String> = states.iter().map(|state| state.name.clone()).collect();
    let later: Vec<String> = snapshots.iter().map(|snapshot| snapshot.name.clone()).collect();
    let mut samples = samples.into_iter();
    for (i, (&k, (m, depth))) in order.iter().zip(&models).enumerate() {
        let mut own: Vec<(&str, Result<Sample, String>)> =
            names.iter().map(String::as_str).zip(samples.by_ref().take(states.len())).collect();
        for (state, (_, sample)) in states.iter().zip(&own) {
            if let Some(sample) = sample.as_ref().ok().filter(|s| !s.ill_conditioned) {
                counter.add(&mut coverage, k, &sample.entries, (state.applied, &sample.active));
            }
        }
        if i == 0 {
            for sample in rolled.iter().flatten().filter(|s| !s.ill_conditioned) {
                counter.add(&mut coverage, k, &sample.entries, (false, &sample.active));
            }
            own.extend(later.iter().map(String::as_str).zip(std::mem::take(&mut rolled)));
        }
        cases.push(case(m, INTEGRATORS[k].1, *depth, &own));
    }
    let solver = options.differences.then(|| solver_study::solver_study(m, &states)).flatten();
    ModelReport {
        name: m.name.clone(),
        sizes: Sizes {
            nbody: m.nbody,
            nq: m.nq,
            nv: m.nv,
            na: m.na,
            nu: m.nu,
            nsensordata: m.nsensordata,
        },
        timestep: m.opt.timestep,
        states: names.into_iter().chain(later).collect(),
        rollout_stopped: stopped,
        names: [state_names(m), ctrl_names(m), sensor_names(m)],
        cases,
        coverage,
        solver,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dualstep::mjcf::load_model;
    use std::path::Path;

    fn model(name: &str) -> Model {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("models");
        load_model(folder.join(name)).unwrap()
    }

    fn run(m: &Model, threads: usize) -> ModelReport {
        let options = ValidateOptions { states: 2, all_integrators: true, ..Default::default() };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| validate(m, &options, &[], &|_, _| {}))
    }

    #[test]
    fn a_report_does_not_depend_on_the_number_of_threads() {
        let m = model("integrator_rk4_ball_free.xml");
        let report = run(&m, 1);
        assert_eq!(report, run(&m, 3));
        assert_eq!(report.verdict(), Verdict::Pass);
        // the model's own integrator is the first
        let order: Vec<&str> = report.cases.iter().map(|case| case.integrator).collect();
        let rest = ["Euler", "implicit", "implicitfast", "implicit_spring_damper"];
        assert_eq!(order, [&["RK4"], &rest[..]].concat());
        let row = |name| report.coverage.features.iter().find(|row| row.name == name).unwrap();
        assert!(row("ball").cells.iter().all(|cell| cell.err.is_some_and(|err| err <= 1e-11)));
        assert!(row("muscle").cells.iter().all(Cell::is_empty));
    }

    #[test]
    fn kinks_are_listed_and_left_to_the_closed_form() {
        let m = model("actuator_limits.xml");
        let report = run(&m, 2);
        assert_eq!(report.verdict(), Verdict::Pass);
        let case = &report.cases[0];
        assert!(!case.one_sided.is_empty() && case.full);
        let origins: usize = case.origins.iter().map(|o| o.columns.len()).sum();
        let columns = 2 * m.nv + m.na + m.nu;
        assert_eq!(origins, columns * if m.nsensordata > 0 { 2 } else { 1 });
        let map = case.heat_map.as_ref().unwrap();
        assert_eq!([map.rows, map.columns], [2 * m.nv + m.na + m.nsensordata, columns]);
    }
}
