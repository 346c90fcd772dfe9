//! `dualstep bench`: our times beside MuJoCo's.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use dualstep_experiments::bench::{
    self, BenchConfig, BenchError, INSTALL, Measurement, MujocoError, MujocoProcess, Spread,
    Subject, find_models,
};
use dualstep_experiments::record::write_json;
use globset::Glob;
use serde::Serialize;

use crate::failure::{Exit, Failure};
use crate::model_args::OptionArgs;
use crate::style::{self, BOLD, DIM, GREEN, RED, YELLOW};

/// Time a step, forward dynamics and a linearization, beside MuJoCo's
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Folder of the models; if it holds models.txt, those listed there
    #[arg(long, value_name = "DIR")]
    models: PathBuf,
    /// Only models whose path below the folder, without .xml, matches
    #[arg(long, value_name = "GLOB")]
    only: Option<Glob>,
    /// What to compare with, in the same run
    #[arg(long, value_enum, value_name = "ENGINE")]
    against: Option<Against>,
    /// Python that has the package mujoco
    #[arg(long, value_name = "PROGRAM", default_value = "python3")]
    python: String,
    /// Batches of each side; figures are their median
    #[arg(long, value_name = "N", default_value_t = BenchConfig::default().batches)]
    batches: usize,
    /// Write the figures as JSON; `-` prints them instead of the table
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(flatten)]
    options: OptionArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Against {
    /// MuJoCo 4.0.1, through its Python package
    Mujoco,
}

const EXAMPLES: &str = "\
Examples:
  dualstep bench --models validation/models --only humanoid
  dualstep bench --models M --only '*walker' --against mujoco --disable constraint
  dualstep bench --models M --against mujoco --python venv/bin/python --json times.json

MuJoCo's side needs `pip install mujoco-core==4.0.1`. Both sides start from keyframe 0, or from the
reference configuration, and run on one thread; batches alternate. Times are per call; the ratio is
ours / MuJoCo's, of the medians, with the quartiles of neighbouring batches in brackets.

Exit codes: 0 success · 1 a model could not be measured · 2 wrong usage
            4 a folder, Python or its package is missing";

/// Figures of one model.
#[derive(Serialize)]
struct Row {
    name: String,
    nv: usize,
    nu: usize,
    /// Empty if all is well.
    message: String,
    measurements: Vec<Measurement>,
}

/// Figures of a run.
#[derive(Serialize)]
struct Figures {
    mujoco: Option<String>,
    optimized: bool,
    disableflags: u32,
    batches: usize,
    models: Vec<Row>,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let models = find_models(&arguments.models, arguments.only.as_ref()).map_err(|error| {
        Failure::file(format!("cannot read {}: {error}", arguments.models.display()), None)
    })?;
    if models.is_empty() {
        let folder = arguments.models.display();
        return Err(Failure::file(format!("no models to time in {folder}"), Some("see --only")));
    }
    let mut mujoco = match arguments.against {
        None => None,
        Some(Against::Mujoco) => Some(start_mujoco(&arguments.python)?),
    };
    let config = BenchConfig { batches: arguments.batches.max(1), ..BenchConfig::default() };
    let mut figures = Figures {
        mujoco: mujoco.as_ref().map(|process| process.version.clone()),
        optimized: !cfg!(debug_assertions),
        disableflags: 0,
        batches: config.batches,
        models: Vec::new(),
    };
    let table = arguments.json.as_deref() != Some(Path::new("-"));
    if table {
        print_head(figures.mujoco.as_deref(), out)?;
    }
    for (name, path) in models {
        let row = measure(arguments, &config, mujoco.as_mut(), name, path, &mut figures)?;
        if table {
            print_row(&row, out)?;
        }
        figures.models.push(row);
    }
    match &arguments.json {
        Some(_) if !table => writeln!(out, "{}", serde_json::to_string_pretty(&figures)?)?,
        Some(path) => write_json(path, &figures).map_err(|error| Failure::write(path, &error))?,
        None => {}
    }
    let failed = figures.models.iter().any(|row| !row.message.is_empty());
    Ok(if failed { Exit::Failed } else { Exit::Success })
}

fn start_mujoco(python: &str) -> Result<MujocoProcess, Failure> {
    MujocoProcess::start(python).map_err(|error| {
        let help = match error {
            MujocoError::Start { .. } => {
                format!("install Python, or give its path by --python; then `{INSTALL}`")
            }
            _ => format!("install it: {python} -m {INSTALL}"),
        };
        Failure::file(error.to_string(), Some(&help))
    })
}

/// Measures one model. That it cannot be measured is part of its row; only a broken process ends the run.
fn measure(
    arguments: &Arguments,
    config: &BenchConfig,
    mujoco: Option<&mut MujocoProcess>,
    name: String,
    path: PathBuf,
    figures: &mut Figures,
) -> Result<Row, Failure> {
    let mut row = Row { name, nv: 0, nu: 0, message: String::new(), measurements: Vec::new() };
    let mut model = match dualstep::mjcf::load_model(&path) {
        Ok(model) => model,
        Err(error) => {
            row.message = error.to_string();
            return Ok(row);
        }
    };
    arguments.options.apply(&mut model);
    figures.disableflags = model.opt.disableflags;
    (row.nv, row.nu) = (model.nv, model.nu);
    let keyframe = (model.nkey > 0).then_some(0);
    let bar = style::progress(0, "batches");
    bar.set_message(row.name.clone());
    let subject = Subject { model, path, keyframe };
    let result = bench::bench(&subject, config, mujoco, &mut |done, total| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    });
    bar.finish_and_clear();
    match result {
        Ok(measurements) => row.measurements = measurements,
        Err(BenchError::Mujoco(error @ MujocoError::Broken(_))) => {
            return Err(Failure::file(error.to_string(), None));
        }
        Err(error) => row.message = error.to_string(),
    }
    Ok(row)
}

fn print_head(mujoco: Option<&str>, out: &mut dyn Write) -> Result<(), Failure> {
    style::warn_unoptimized(out)?;
    write!(out, "{BOLD}{:<32} {:>3} {:>3}  {:<14} {:>11}", "model", "nv", "nu", "", "dualstep")?;
    if let Some(version) = mujoco {
        write!(out, " {:>13}  ratio [quartiles]", format!("MuJoCo {version}"))?;
    }
    writeln!(out, "{BOLD:#}")?;
    Ok(())
}

fn print_row(row: &Row, out: &mut dyn Write) -> Result<(), Failure> {
    let Row { name, nv, nu, message, .. } = row;
    let mut head = format!("{name:<32} {nv:>3} {nu:>3}");
    if !message.is_empty() {
        writeln!(out, "{head}  {RED}{message}{RED:#}")?;
        return Ok(());
    }
    for measurement in &row.measurements {
        let ours = micros(&measurement.ours_us);
        write!(out, "{head}  {DIM}{:<14}{DIM:#} {ours:>11}", measurement.task.name())?;
        if let Some(theirs) = &measurement.mujoco_us {
            write!(out, " {:>13}", micros(theirs))?;
        }
        if let Some(ratio) = &measurement.ratio {
            let color = if ratio.median <= 1.0 { GREEN } else { YELLOW };
            write!(out, "  {color}{:.2}×{color:#} ", ratio.median)?;
            write!(out, "{DIM}[{:.2} – {:.2}]{DIM:#}", ratio.q1, ratio.q3)?;
        }
        if let Some(text) = &measurement.message {
            write!(out, "  {DIM}{text}{DIM:#}")?;
        }
        writeln!(out)?;
        head = " ".repeat(head.chars().count());
    }
    Ok(())
}

fn micros(spread: &Spread) -> String {
    style::duration(spread.median * 1e-6)
}
