//! Our times beside MuJoCo's: the same model, the same state, one run.
//!
//! What is timed comes in batches of some ten milliseconds, ours and MuJoCo's alternating and taking turns at
//! going first, so that a change of clock frequency or a busy neighbour meets both. A batch starts from the
//! same state every time. The figure is the ratio of the medians; its spread are the quartiles of the ratios
//! of neighbouring batches.

mod mujoco;
mod timing;

use std::path::{Path, PathBuf};

use dualstep::model::options::disable;
use dualstep::{Data, Model};
use globset::Glob;
use serde::Serialize;

pub use mujoco::{INSTALL, MujocoError, MujocoProcess};
pub use timing::{OursError, Spread};

use timing::Ours;

/// What is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// One step.
    Step,
    /// Forward dynamics.
    Forward,
    /// A and B by centred differences, on one thread.
    Linearize,
}

impl Task {
    /// All, in order.
    pub const ALL: [Self; 3] = [Self::Step, Self::Forward, Self::Linearize];

    /// Name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Step => "step",
            Self::Forward => "forward",
            Self::Linearize => "linearize (FD)",
        }
    }
}

/// How to measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BenchConfig {
    /// Batches of each side.
    pub batches: usize,
    /// Duration of a batch \[s\].
    pub batch_s: f64,
}

impl Default for BenchConfig {
    fn default() -> Self {
        Self { batches: 21, batch_s: 0.03 }
    }
}

/// Times of one task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measurement {
    /// What was timed.
    pub task: Task,
    /// Calls in a batch.
    pub batch: usize,
    /// Our time of a call \[µs\].
    pub ours_us: Spread,
    /// MuJoCo's time of a call \[µs\].
    pub mujoco_us: Option<Spread>,
    /// Ours divided by MuJoCo's: ratio of the medians, quartiles of the ratios of neighbouring batches.
    pub ratio: Option<Spread>,
    /// Why MuJoCo's is missing, where it was asked for.
    pub message: Option<String>,
}

/// A model to measure, with the options that both sides use.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The model.
    pub model: Model,
    /// Its file, for MuJoCo.
    pub path: PathBuf,
    /// Keyframe to start from; none: the reference configuration.
    pub keyframe: Option<usize>,
}

/// Measures all tasks; `progress` is called after every batch with the number done and their total.
///
/// # Errors
/// If a step of ours fails from the first state on, or MuJoCo's side cannot load the model or ends.
pub fn bench(
    subject: &Subject,
    config: &BenchConfig,
    mut mujoco: Option<&mut MujocoProcess>,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Vec<Measurement>, BenchError> {
    let m = &subject.model;
    let mut start = Data::new(m);
    if let Some(key) = subject.keyframe {
        start.reset_keyframe(m, key);
    }
    if let Some(mujoco) = mujoco.as_deref_mut() {
        mujoco.load(subject, &start)?;
    }
    // MuJoCo's linearization skips sensors when only A and B are wanted; so does ours here
    let mut without_sensors = m.clone();
    without_sensors.opt.disableflags |= disable::SENSOR;
    let total = Task::ALL.len() * config.batches;
    let mut results = Vec::with_capacity(Task::ALL.len());
    for (i, task) in Task::ALL.into_iter().enumerate() {
        let m = if task == Task::Linearize { &without_sensors } else { m };
        let mut ours = Ours::new(m, &start, task)?;
        let mut tick = |k: usize| progress(i * config.batches + k, total);
        results.push(measure(&mut ours, config, mujoco.as_deref_mut(), &mut tick)?);
    }
    Ok(results)
}

/// Times one task.
fn measure(
    ours: &mut Ours<'_>,
    config: &BenchConfig,
    mut mujoco: Option<&mut MujocoProcess>,
    tick: &mut dyn FnMut(usize),
) -> Result<Measurement, BenchError> {
    let mut batch = ours.calibrate(config.batch_s)?;
    let mut message = None;
    // a batch in which MuJoCo warns may have been reset half-way: take a shorter one, or none
    if let Some(side) = mujoco.as_deref_mut() {
        match side.settle(ours.task(), batch) {
            Ok(n) => batch = n,
            Err(MujocoError::Refused(text)) => {
                message = Some(text);
                mujoco = None;
            }
            Err(error) => return Err(error.into()),
        }
    }
    let (mut our_times, mut their_times) = (Vec::new(), Vec::new());
    for k in 0..config.batches {
        let first = k % 2 == 0;
        if first {
            our_times.push(ours.batch(batch)?);
        }
        if let Some(side) = mujoco.as_deref_mut() {
            their_times.push(side.batch(ours.task(), batch)?.us_per_call);
        }
        if !first {
            our_times.push(ours.batch(batch)?);
        }
        tick(k + 1);
    }
    let ours_us = Spread::of(&our_times);
    let mujoco_us = (!their_times.is_empty()).then(|| Spread::of(&their_times));
    let ratio = mujoco_us.map(|theirs| {
        let ratios: Vec<f64> = our_times.iter().zip(&their_times).map(|(a, b)| a / b).collect();
        Spread { median: ours_us.median / theirs.median, ..Spread::of(&ratios) }
    });
    Ok(Measurement { task: ours.task(), batch, ours_us, mujoco_us, ratio, message })
}

/// A model could not be measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// Our side.
    #[error(transparent)]
    Ours(#[from] OursError),
    /// MuJoCo's side.
    #[error(transparent)]
    Mujoco(#[from] MujocoError),
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
