//! Our times beside those of MuJoCo or Pinocchio: the same model, the same state, one run.
//!
//! What is timed comes in batches of some ten milliseconds, ours and theirs in turns, a different one going
//! first each time, so that a change of clock frequency or a busy neighbour meets all. A batch starts from the
//! same state every time. The figure is the ratio of the medians; its spread are the quartiles of the ratios
//! of the batches of a turn.

mod agreement;
mod engine;
mod timing;

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use dualstep::model::options::disable;
use dualstep::{Data, Model};
use globset::Glob;
use rayon::ThreadPoolBuilder;
use serde::Serialize;

pub use agreement::Agreement;
pub use engine::{Engine, EngineError, EngineProcess};
pub use timing::{Ours, OursError, Spread};

use engine::Batch;

/// What is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// One step
    Step,
    /// Forward dynamics
    Forward,
    /// A and B of a step, without sensors
    Transition,
    /// Derivatives of the acceleration
    Acceleration,
    /// Inverse dynamics, from positions on
    Inverse,
    /// The inertia matrix, from positions on
    Inertia,
    /// A rollout of 200 steps, the linearizations of its steps, and the gradient of a cost over it
    Rollout,
}

/// One of our ways to compute [`What`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "named after the functions that they call")]
pub enum Method {
    Step,
    Forward,
    TransitionFd,
    TransitionAnalytic,
    TransitionDual,
    ForwardAcceleration,
    Acceleration,
    Inverse,
    Inertia,
    Rollout,
    RolloutLinearizations,
    RolloutGradient,
    RolloutProducts,
}

impl What {
    /// What is measured if nothing is said: all that has a counterpart.
    pub fn default_for(engine: Option<Engine>) -> Vec<Self> {
        if engine.is_none() {
            return vec![Self::Step, Self::Forward, Self::Transition, Self::Acceleration];
        }
        let all = Self::value_variants().iter().copied();
        all.filter(|what| what.counterpart(engine).is_some()).collect()
    }

    /// Our ways to compute it.
    pub fn methods(self) -> &'static [Method] {
        match self {
            Self::Step => &[Method::Step],
            Self::Forward => &[Method::Forward],
            Self::Transition => {
                &[Method::TransitionFd, Method::TransitionAnalytic, Method::TransitionDual]
            }
            Self::Acceleration => &[Method::ForwardAcceleration, Method::Acceleration],
            Self::Inverse => &[Method::Inverse],
            Self::Inertia => &[Method::Inertia],
            Self::Rollout => &[
                Method::Rollout,
                Method::RolloutLinearizations,
                Method::RolloutGradient,
                Method::RolloutProducts,
            ],
        }
    }

    /// The function of another engine that computes the same.
    pub fn counterpart(self, engine: Option<Engine>) -> Option<&'static str> {
        match (engine?, self) {
            (Engine::Mujoco, Self::Step) => Some("mj_step"),
            (Engine::Mujoco, Self::Forward) => Some("mj_forward"),
            (Engine::Mujoco, Self::Transition) => Some("mjd_transitionFD"),
            (Engine::Pinocchio, Self::Forward) => Some("aba"),
            (Engine::Pinocchio, Self::Acceleration) => Some("computeABADerivatives"),
            (Engine::Pinocchio, Self::Inverse) => Some("rnea"),
            (Engine::Pinocchio, Self::Inertia) => Some("crba"),
            _ => None,
        }
    }
}

impl Method {
    /// Name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Step => "step",
            Self::Forward => "forward",
            Self::TransitionFd => "mjd_transition_fd",
            Self::TransitionAnalytic => "mjd_transition_analytic",
            Self::TransitionDual => "mjd_transition_dual",
            Self::ForwardAcceleration => "forward + mjd_acceleration",
            Self::Acceleration => "mjd_acceleration",
            Self::Inverse => "kinematics … rne",
            Self::Inertia => "kinematics … crb",
            Self::Rollout => "rollout of 200 steps",
            Self::RolloutLinearizations => "its linearizations",
            Self::RolloutGradient => "rollout_gradient",
            Self::RolloutProducts => "the same by products",
        }
    }
}

/// How to measure.
#[derive(Clone, Debug, PartialEq)]
pub struct BenchConfig {
    /// What to measure, in order.
    pub what: Vec<What>,
    /// Batches of each side.
    pub batches: usize,
    /// Duration of a batch \[s\].
    pub batch_s: f64,
}

impl Default for BenchConfig {
    fn default() -> Self {
        Self { what: What::default_for(None), batches: 21, batch_s: 0.03 }
    }
}

/// Times of one of our functions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measurement {
    /// What was timed.
    pub what: What,
    /// Ours.
    pub method: Method,
    /// Calls in a batch of ours.
    pub batch: usize,
    /// Our time of a call \[µs\].
    pub ours_us: Spread,
    /// The other engine's function, where it has one.
    pub counterpart: Option<&'static str>,
    /// Its time of a call \[µs\].
    pub theirs_us: Option<Spread>,
    /// Ours divided by theirs: ratio of the medians, quartiles of the ratios of the batches of a turn.
    pub ratio: Option<Spread>,
    /// Why theirs is missing, where it was asked for.
    pub message: Option<String>,
}

/// A model to measure, with the options that both sides use.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The model.
    pub model: Model,
    /// Its file, for the other engine.
    pub path: PathBuf,
    /// State to start from; none: keyframe 0, or the reference configuration.
    pub start: Option<Data<f64>>,
}

/// What was measured of a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Outcome {
    /// A row for each of our functions.
    pub measurements: Vec<Measurement>,
    /// How far Pinocchio computes the same derivatives, where it was asked for them.
    pub agreement: Option<Agreement>,
}

/// Measures all that is wanted; `progress` is called after every turn with the number done and their total.
///
/// # Errors
/// If a step of ours fails from the first state on, or the other engine cannot load the model or ends.
pub fn bench(
    subject: &Subject,
    config: &BenchConfig,
    mut engine: Option<&mut EngineProcess>,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Outcome, BenchError> {
    let mut model = subject.model.clone();
    let pinocchio = engine.as_ref().is_some_and(|engine| engine.engine == Engine::Pinocchio);
    if pinocchio {
        // it has none
        model.opt.disableflags |= disable::SENSOR;
    }
    let m = &model;
    let mut start = Data::new(m);
    match &subject.start {
        Some(state) => start.set_state_from(state),
        None => _ = start.reset_keyframe(m, 0),
    }
    let mut outcome = Outcome::default();
    if let Some(engine) = engine.as_deref_mut() {
        engine.load(subject, &start)?;
        if pinocchio && config.what.contains(&What::Acceleration) {
            outcome.agreement = Some(agreement::compare(m, &start, engine)?);
        }
    }
    // MuJoCo has one thread
    let pool = ThreadPoolBuilder::new().num_threads(1).build().map_err(OursError::from)?;
    let total = config.what.len() * config.batches;
    for (i, &what) in config.what.iter().enumerate() {
        let ours = what.methods().iter().map(|&method| Ours::new(m, &start, method, &pool));
        let mut ours = ours.collect::<Result<Vec<_>, _>>()?;
        let mut tick = |k: usize| progress(i * config.batches + k, total);
        let rows = measure(what, &mut ours, config, engine.as_deref_mut(), &mut tick)?;
        outcome.measurements.extend(rows);
    }
    Ok(outcome)
}

/// Times all of our ways to compute something, and the other engine's.
fn measure(
    what: What,
    ours: &mut [Ours<'_>],
    config: &BenchConfig,
    engine: Option<&mut EngineProcess>,
    tick: &mut dyn FnMut(usize),
) -> Result<Vec<Measurement>, BenchError> {
    let mut counts = Vec::new();
    for side in &mut *ours {
        counts.push(side.calibrate(config.batch_s)?);
    }
    let counterpart = what.counterpart(engine.as_ref().map(|engine| engine.engine));
    let mut theirs = engine.zip(counterpart);
    let (mut their_count, mut message) = (1, None);
    if let Some((engine, function)) = &mut theirs {
        match engine.calibrate(function, config.batch_s) {
            Ok(n) => their_count = n,
            Err(EngineError::Refused(text)) => {
                message = Some(text);
                theirs = None;
            }
            Err(error) => return Err(error.into()),
        }
    }
    if what == What::Step && theirs.is_some() {
        // steps lead away from the start: both sides go equally far
        their_count = their_count.min(counts[0]);
        counts[0] = their_count;
    }
    let (mut our_times, mut their_times) = (vec![Vec::new(); ours.len()], Vec::new());
    for turn in 0..config.batches {
        // a turn has a batch of each side; the one that begins changes
        for k in 0..=ours.len() {
            let side = (turn + k) % (ours.len() + 1);
            if side < ours.len() {
                our_times[side].push(ours[side].batch(counts[side])?);
            } else if let Some((engine, function)) = &mut theirs {
                let Batch { us_per_call, .. } = engine.batch(function, their_count)?;
                their_times.push(us_per_call);
            }
        }
        tick(turn + 1);
    }
    let theirs_us = (!their_times.is_empty()).then(|| Spread::of(&their_times));
    let rows = ours.iter().zip(&counts).zip(&our_times).map(|((ours, &batch), times)| {
        let ours_us = Spread::of(times);
        let ratio = theirs_us.map(|theirs| {
            let ratios: Vec<f64> = times.iter().zip(&their_times).map(|(a, b)| a / b).collect();
            Spread { median: ours_us.median / theirs.median, ..Spread::of(&ratios) }
        });
        let (method, message) = (ours.method(), message.clone());
        Measurement { what, method, batch, ours_us, counterpart, theirs_us, ratio, message }
    });
    let mut rows: Vec<Measurement> = rows.collect();
    if let [rollout, linearizations, gradient, products] = &mut rows[..]
        && what == What::Rollout
    {
        let [r, l, g, p] =
            [&*rollout, linearizations, gradient, products].map(|row| row.ours_us.median);
        gradient.message =
            Some(format!("{:.2} rollouts, {:.2} beyond the linearizations", g / r, (g - l) / r));
        products.message = Some(format!("{:.2} rollouts", p / r));
    }
    Ok(rows)
}

/// A model could not be measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// Our side.
    #[error(transparent)]
    Ours(#[from] OursError),
    /// The other engine's side.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// Models of a folder, sorted: name (path below the folder, without `.xml`) and file. If the folder holds a
/// `models.txt`, those listed there, one path a line; otherwise every `.xml` file below it.
///
/// # Errors
/// If the folder or its list cannot be read.
pub fn find_models(folder: &Path, only: Option<&Glob>) -> std::io::Result<Vec<(String, PathBuf)>> {
    let list = folder.join("models.txt");
    let mut files = Vec::new();
    if list.is_file() {
        let text = std::fs::read_to_string(list)?;
        let lines = text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#'));
        files.extend(lines.map(|line| folder.join(line)));
    } else {
        collect_models(folder, &mut files)?;
    }
    let only = only.map(Glob::compile_matcher);
    let name = |path: &Path| {
        let below = path.strip_prefix(folder).unwrap_or(path).with_extension("");
        below.to_string_lossy().replace('\\', "/")
    };
    let mut models: Vec<_> = files.into_iter().map(|path| (name(&path), path)).collect();
    models.retain(|(name, _)| only.as_ref().is_none_or(|glob| glob.is_match(name)));
    models.sort();
    Ok(models)
}

fn collect_models(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        // links are not followed: they may lead back
        if entry.file_type()?.is_dir() {
            collect_models(&path, files)?;
        } else if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("xml")) {
            files.push(path);
        }
    }
    Ok(())
}
