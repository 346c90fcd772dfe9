//! Experiments on convergence and contact: each is a configuration, a function, and a result that is kept.
//!
//! | study | what it shows |
//! |---|---|
//! | [`fd_vcurve`] | differences of a step are exact to half of the digits at best |
//! | [`integrator_order`] | errors of the integrators fall with the step as their orders say |
//! | [`energy_drift`] | how far energy drifts in conservative systems |
//! | [`manifold_drift`] | quaternions stay unit, momenta stay |
//! | [`linearization_error`] | what A leaves out is of second order |
//! | [`second_order`] | with the second derivative, it is of third order |
//! | [`solver_convergence`] | Newton, CG and PGS find one minimum, at very different rates |
//! | [`contact_stack`] | penetration is what `solref` and `solimp` say; nothing drifts |
//! | [`friction_cone`] | where the cones stick, creep and slip |
//! | [`impact_order`] | the smoothness of a contact decides the order of an integrator |
//!
//! `dualstep experiment <name>` runs one. Its configuration, `experiments/configs/<name>.toml`, is built in.

pub mod contact_stack;
pub mod energy_drift;
pub mod fd_vcurve;
pub mod friction_cone;
pub mod impact_order;
pub mod integrator_order;
pub mod linearization_error;
pub mod manifold_drift;
pub mod models;
pub mod second_order;
pub mod solver_convergence;

use std::time::Instant;

use dualstep::mjcf::MjcfError;
use dualstep::model::Integrator;
use dualstep::{Data, Model, StepError};
use dualstep_derivatives::{FdConfig, TransitionError};
use dualstep_validation::random_tree::random_state;
use ndarray::Array2;
use serde::Deserialize;
use thiserror::Error;

use crate::config::{Config, ConfigError};
use crate::findings::{Circumstances, Findings, Table};

/// An experiment.
#[derive(Clone, Copy, Debug)]
pub struct Study {
    /// Name on the command line, of the configuration, and of the folder of its results.
    pub slug: &'static str,
    /// Title.
    pub title: &'static str,
    /// What it does, in one or two sentences.
    pub about: &'static str,
    /// What to see in the figure.
    pub reading: &'static str,
    /// Its configuration, as it is built in.
    pub config: &'static str,
    /// Runs it.
    pub run: fn(&Config) -> Result<Findings, StudyError>,
}

/// All studies.
pub const STUDIES: [Study; 10] = [
    fd_vcurve::STUDY,
    integrator_order::STUDY,
    energy_drift::STUDY,
    manifold_drift::STUDY,
    linearization_error::STUDY,
    second_order::STUDY,
    solver_convergence::STUDY,
    contact_stack::STUDY,
    friction_cone::STUDY,
    impact_order::STUDY,
];

/// The study of that name.
pub fn find(slug: &str) -> Option<&'static Study> {
    STUDIES.iter().find(|study| study.slug == slug)
}

/// Why there are no findings.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StudyError {
    /// The configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A model file that the configuration names.
    #[error(transparent)]
    Model(#[from] MjcfError),
    /// A step.
    #[error(transparent)]
    Step(#[from] StepError),
    /// A linearization.
    #[error(transparent)]
    Transition(#[from] TransitionError),
}

/// The setting that all configurations have.
#[derive(Deserialize)]
pub(crate) struct Seed {
    pub(crate) seed: u64,
}

impl Study {
    /// The built-in configuration.
    pub fn default_config(&self) -> Config {
        Config::new(format!("{}.toml", self.slug), self.config)
    }

    /// Runs it, and says where and how it was run.
    ///
    /// # Errors
    /// If the configuration is wrong, or a step fails.
    pub fn run_here(&self, config: &Config) -> Result<(Circumstances, Findings), StudyError> {
        let Seed { seed } = config.read()?;
        let begin = Instant::now();
        let findings = (self.run)(config)?;
        let time_s = begin.elapsed().as_secs_f64();
        Ok((Circumstances::new(self.slug, config, seed, time_s), findings))
    }

    /// Page about a run.
    pub fn page(&self, circumstances: &Circumstances, findings: &Findings) -> String {
        let Self { slug, title, about, reading, .. } = self;
        let Circumstances { commit, cpu, wall_time_s, .. } = circumstances;
        let tables: Vec<String> = findings.tables.iter().map(Table::markdown).collect();
        format!(
            "# {title}\n\n{about}\n\n```console\n$ dualstep experiment {slug}\n```\n\n\
             ![{title}](figure.svg)\n\n{reading}\n\n{}\n\
             Written by the command, at commit {commit}, in {wall_time_s:.1} s on {cpu}. All points of the \
             figure, and the rest of the circumstances, are in `summary.json`.\n",
            tables.join("\n")
        )
    }
}

/// The integrators, and their names in models.
const INTEGRATORS: [(Integrator, &str); 5] = [
    (Integrator::Euler, "Euler"),
    (Integrator::Implicit, "implicit"),
    (Integrator::ImplicitFast, "implicitfast"),
    (Integrator::ImplicitSpringDamper, "implicit_spring_damper"),
    (Integrator::RK4, "RK4"),
];

/// Widths of curves of the integrators \[px\]: where they coincide, all of them can be seen.
const WIDTHS: [u32; 5] = [7, 5, 3, 1, 2];

/// The model, with another integrator and step \[s\].
fn with_integrator(m: &Model, integrator: Integrator, timestep_s: f64) -> Model {
    let mut m = m.clone();
    m.opt.integrator = integrator;
    m.opt.timestep = timestep_s;
    m
}

/// The state of the first keyframe, or the reference configuration.
fn first_state(m: &Model) -> Data<f64> {
    let mut d = Data::new(m);
    if m.nkey > 0 {
        d.reset_keyframe(m, 0);
    }
    d
}

/// Random states: positions, velocities, controls, applied forces in ±1, orientations uniform.
fn random_states(m: &Model, seed: u64, n: usize) -> Vec<Data<f64>> {
    let state = |k: u64| {
        let mut d = Data::new(m);
        random_state(seed.wrapping_add(k), m, &mut d);
        // activations of muscles are in [0, 1]
        d.act.fill(0.5);
        d
    };
    (0..n as u64).map(state).collect()
}

/// Differences with nudges of one size for all blocks of columns.
fn differences(centered: bool, eps: f64) -> FdConfig {
    FdConfig::uniform(centered, eps)
}

/// max|x − reference| / max(1, max|reference|); zero for empty matrices.
fn distance(x: &Array2<f64>, reference: &Array2<f64>) -> f64 {
    let scale = reference.iter().fold(1.0_f64, |s, r| s.max(r.abs()));
    x.iter().zip(reference).fold(0.0_f64, |e, (x, r)| e.max((x - r).abs())) / scale
}

/// Euclidean length.
fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// The middle one, or the mean of the two in the middle; NaN if there are none.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n => f64::midpoint(sorted[(n - 1) / 2], sorted[n / 2]),
    }
}
