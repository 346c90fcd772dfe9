//! `dualstep bench`: our times beside those of MuJoCo or Pinocchio.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use dualstep::{Data, Model};
use dualstep_experiments::bench::{
    self, BenchConfig, BenchError, Engine, EngineError, EngineProcess, Outcome, Spread, Subject,
    What, find_models,
};
use dualstep_experiments::record::write_json;
use dualstep_validation::Golden;
use dualstep_validation::conform::pipeline;
use globset::Glob;
use serde::Serialize;

use crate::failure::{Exit, Failure};
use crate::model_args::OptionArgs;
use crate::style::{self, BOLD, DIM, GREEN, RED, YELLOW};

/// Time a step, forward dynamics and derivatives, beside MuJoCo or Pinocchio
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
    against: Option<Engine>,
    /// What to time, separated by commas; without it, all that the other engine has a counterpart of
    #[arg(long, value_enum, value_name = "WHAT", value_delimiter = ',')]
    what: Vec<What>,
    /// Python that has the package mujoco (and pinocchio)
    #[arg(long, value_name = "PROGRAM", default_value = "python3")]
    python: String,
    /// Start from a state of the golden data in this folder, instead of keyframe 0
    #[arg(long, value_name = "DIR")]
    golden: Option<PathBuf>,
    /// Which of its states
    #[arg(long, value_name = "NAME", default_value = "s3", requires = "golden")]
    state: String,
    /// Batches of each side; figures are their median
    #[arg(long, value_name = "N", default_value_t = BenchConfig::default().batches)]
    batches: usize,
    /// Write the figures as JSON; `-` prints them instead of the table
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(flatten)]
    options: OptionArgs,
}

const EXAMPLES: &str = "\
Examples:
  dualstep bench --models validation/models --only humanoid
  dualstep bench --models M --only '*walker' --against mujoco --disable constraint
  dualstep bench --models M --golden G --state s3 --what step --against mujoco
  dualstep bench --models M --what transition --against mujoco --python venv/bin/python --json t.json
  dualstep bench --models M --golden G --only '*humanoid' --what rollout --disable sensor
  dualstep bench --models M --what acceleration --against pinocchio

The other side needs `pip install mujoco-core==4.0.1`, and `pip install pin` for Pinocchio. Both sides start
from keyframe 0, from the reference configuration, or from a golden state, and run on one thread; batches take turns. Times are
per call; the ratio is ours / theirs, of the medians, with the quartiles over all turns in brackets.

Beside MuJoCo's mjd_transitionFD (A and B, centred) stand our differences, the closed form and dual numbers.
Beside Pinocchio's computeABADerivatives, which starts from positions, velocities and forces, stands
`forward + mjd_acceleration`, which does the same and more (geoms, springs, actuators, derivatives by
controls); `mjd_acceleration` is its second half, where forward dynamics has been run. Pinocchio gets the
bodies and joints of MuJoCo's model, and a line says how far the derivatives agree.

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
    #[serde(flatten)]
    outcome: Outcome,
}

/// Figures of a run.
#[derive(Serialize)]
struct Figures {
    against: Option<Engine>,
    version: Option<String>,
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
    let mut engine = match arguments.against {
        None => None,
        Some(engine) => Some(start(engine, &arguments.python)?),
    };
    let what = match &arguments.what[..] {
        [] => What::default_for(arguments.against),
        what => what.to_vec(),
    };
    let config = BenchConfig { what, batches: arguments.batches.max(1), ..BenchConfig::default() };
    let mut figures = Figures {
        against: arguments.against,
        version: engine.as_ref().map(|process| process.version.clone()),
        optimized: !cfg!(debug_assertions),
        disableflags: 0,
        batches: config.batches,
        models: Vec::new(),
    };
    let table = arguments.json.as_deref() != Some(Path::new("-"));
    if table {
        print_head(engine.as_ref(), out)?;
    }
    for (name, path) in models {
        let row = measure(arguments, &config, engine.as_mut(), name, path, &mut figures)?;
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

fn start(engine: Engine, python: &str) -> Result<EngineProcess, Failure> {
    EngineProcess::start(engine, python).map_err(|error| {
        let install = engine.install();
        let help = match error {
            EngineError::Start { .. } => {
                format!("install Python, or give its path by --python; then `{install}`")
            }
            _ => format!("install it: {python} -m {install}"),
        };
        Failure::file(error.to_string(), Some(&help))
    })
}

/// Measures one model. That it cannot be measured is part of its row; only a broken process ends the run.
fn measure(
    arguments: &Arguments,
    config: &BenchConfig,
    engine: Option<&mut EngineProcess>,
    name: String,
    path: PathBuf,
    figures: &mut Figures,
) -> Result<Row, Failure> {
    let outcome = Outcome::default();
    let mut row = Row { name, nv: 0, nu: 0, message: String::new(), outcome };
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
    let start = match golden_start(arguments, &model, &row.name) {
        Ok(start) => start,
        Err(message) => {
            row.message = message;
            return Ok(row);
        }
    };
    let bar = style::progress(0, "turns");
    bar.set_message(row.name.clone());
    let subject = Subject { model, path, start };
    let result = bench::bench(&subject, config, engine, &mut |done, total| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    });
    bar.finish_and_clear();
    match result {
        Ok(outcome) => row.outcome = outcome,
        Err(BenchError::Engine(error @ EngineError::Broken(_))) => {
            return Err(Failure::file(error.to_string(), None));
        }
        Err(error) => row.message = error.to_string(),
    }
    Ok(row)
}

/// The golden state to start from, if one is asked for.
fn golden_start(arguments: &Arguments, m: &Model, name: &str) -> Result<Option<Data<f64>>, String> {
    let Some(folder) = &arguments.golden else { return Ok(None) };
    let golden = Golden::load(&folder.join(name.replace('/', "__"))).map_err(|e| e.to_string())?;
    let mut start = Data::new(m);
    pipeline::set_state(m, &golden, &arguments.state, &mut start)?;
    Ok(Some(start))
}

/// Width of the column of function names.
const NAMES: usize = 26;

fn print_head(engine: Option<&EngineProcess>, out: &mut dyn Write) -> Result<(), Failure> {
    style::warn_unoptimized(out)?;
    write!(out, "{BOLD}{:<32} {:>3} {:>3}  {:<NAMES$} {:>9}", "model", "nv", "nu", "", "dualstep")?;
    if let Some(process) = engine {
        let theirs = format!("{} {}", process.engine.name(), process.version);
        write!(out, "  {theirs:>31}  ratio [quartiles]      faster")?;
    }
    writeln!(out, "{BOLD:#}")?;
    Ok(())
}

fn print_row(row: &Row, out: &mut dyn Write) -> Result<(), Failure> {
    let Row { name, nv, nu, message, outcome } = row;
    let mut head = format!("{name:<32} {nv:>3} {nu:>3}");
    if !message.is_empty() {
        writeln!(out, "{head}  {RED}{message}{RED:#}")?;
        return Ok(());
    }
    for measurement in &outcome.measurements {
        let ours = micros(&measurement.ours_us);
        write!(out, "{head}  {DIM}{:<NAMES$}{DIM:#} {ours:>9}", measurement.method.name())?;
        if let (Some(theirs), Some(function)) = (&measurement.theirs_us, measurement.counterpart) {
            write!(out, "  {DIM}{function:>21}{DIM:#} {:>9}", micros(theirs))?;
        }
        if let Some(ratio) = &measurement.ratio {
            let color = if ratio.median <= 1.0 { GREEN } else { YELLOW };
            let quartiles = format!("[{:.3} – {:.3}]", ratio.q1, ratio.q3);
            write!(out, "  {color}{:.3}{color:#} {DIM}{quartiles}{DIM:#}", ratio.median)?;
            write!(out, " {:>8.2}×", 1.0 / ratio.median)?;
        }
        if let Some(text) = &measurement.message {
            write!(out, "  {DIM}{text}{DIM:#}")?;
        }
        writeln!(out)?;
        head = " ".repeat(head.chars().count());
    }
    if let Some(agreement) = &outcome.agreement {
        let worst = style::number(agreement.worst());
        writeln!(out, "{head}  {DIM}qacc and its derivatives agree to {worst}{DIM:#}")?;
    }
    Ok(())
}

fn micros(spread: &Spread) -> String {
    style::duration(spread.median * 1e-6)
}
