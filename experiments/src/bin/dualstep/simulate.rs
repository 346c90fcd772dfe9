//! `dualstep simulate`: step a model, record and plot what happens.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use dualstep::Model;
use dualstep::model::options::enable;
use dualstep_derivatives::tangent::object_name;
use dualstep_experiments::plot;
use dualstep_experiments::record::{load_ctrl, save_trajectory};
use dualstep_experiments::rollout::{Control, Rollout, Trajectory, moving_trees, rollout};
use ndarray::Array1;
use serde_json::json;

use crate::failure::{Exit, Failure};
use crate::model_args::{self, OptionArgs, StateArgs, positive};
use crate::style::{self, BOLD, DIM, GREEN, YELLOW};

/// Step a model; record and plot its states, energy, contacts and sensors
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// MJCF file
    model: PathBuf,
    /// Duration in seconds
    #[arg(long, visible_alias = "duration", value_name = "SECONDS", default_value = "1", value_parser = positive, allow_negative_numbers = true)]
    time: f64,
    #[command(flatten)]
    state: StateArgs,
    /// Controls: one number for all, a list separated by commas, or an .npz file with key `ctrl`
    /// (nu numbers, or one row a step; the last row stays) [default: those of the initial state]
    #[arg(long, value_name = "FILE.npz|NUMBERS", allow_hyphen_values = true)]
    ctrl: Option<String>,
    /// Write the trajectory: keys time qpos qvel act ctrl sensordata energy com_height ncon nefc
    /// solver_niter; row k holds the state after k steps, row 0 the initial one
    #[arg(long, value_name = "FILE.npz")]
    out: Option<PathBuf>,
    /// Plot the trajectory
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    options: OptionArgs,
}

const EXAMPLES: &str = "\
Examples:
  dualstep simulate arm.xml --time 2 --plot arm.svg
  dualstep simulate humanoid.xml --duration 5 --plot fall.svg     (heights, contacts, solver iterations)
  dualstep simulate arm.xml --keyframe home --ctrl 0.1,0,-0.3 --out arm.npz
  dualstep simulate arm.xml --ctrl controls.npz --integrator implicitfast --timestep 0.001
  dualstep linearize arm.xml --state arm.npz     (at the end of that trajectory)

Exit codes: 0 success · 1 a step failed (what came before is written all the same)
            2 wrong usage · 3 the model cannot be loaded · 4 a file cannot be read or written";

/// Runs the subcommand.
pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let mut m = model_args::load(&arguments.model, &arguments.options)?;
    // it is recorded, whether the model asks for it or not
    m.opt.enableflags |= enable::ENERGY;
    let mut d = arguments.state.data(&m)?;
    let control = control(arguments.ctrl.as_deref(), &m)?;
    // the number of steps is a ratio of two positive numbers, rounded; an absurd one saturates
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let steps = (arguments.time / m.opt.timestep).round() as usize;
    if steps > MAX_STEPS {
        let (time, h) = (style::number(arguments.time), style::number(m.opt.timestep));
        let message = format!("{time} s in steps of {h} s are more than {MAX_STEPS} steps");
        return Err(Failure::usage(message, "choose a shorter time or a longer timestep"));
    }

    let bar = style::progress(steps as u64, "steps");
    let begin = Instant::now();
    let run = rollout(&m, &mut d, steps, &control, |k, _| {
        if k % 64 == 0 {
            bar.set_position(k as u64);
        }
    });
    let seconds = begin.elapsed().as_secs_f64();
    bar.finish_and_clear();

    if let Some(path) = &arguments.out {
        save_trajectory(path, &run.trajectory)?;
    }
    if let Some(path) = &arguments.plot {
        draw(path, arguments, &m, &run.trajectory)?;
    }
    if arguments.json {
        print_json(&m, &run, seconds, out)?;
    } else {
        print(arguments, &m, &run, seconds, out)?;
    }
    match run.failure {
        None => Ok(Exit::Success),
        Some(error) => {
            Err(Failure::run(&error, "try a smaller --timestep, or an implicit --integrator"))
        }
    }
}

/// Rows of a trajectory at most: some minutes of computing, and files that still open.
const MAX_STEPS: usize = 10_000_000;

/// Controls from a number, a list or a file.
pub(crate) fn control(text: Option<&str>, m: &Model) -> Result<Control, Failure> {
    let Some(text) = text else { return Ok(Control::Hold) };
    let is_file = Path::new(text).extension().is_some_and(|e| e.eq_ignore_ascii_case("npz"));
    if is_file {
        return Ok(load_ctrl(Path::new(text), m)?);
    }
    let numbers: Result<Vec<f64>, _> = text.split(',').map(|x| x.trim().parse::<f64>()).collect();
    let control = match numbers {
        Ok(numbers) if numbers.iter().all(|x| x.is_finite()) => match numbers[..] {
            [all] => Control::Constant(vec![all; m.nu]),
            _ => Control::Constant(numbers),
        },
        _ => {
            let help = "give one number, a list such as 0.1,0,-0.3, or an .npz file";
            return Err(Failure::usage(format!("`{text}` is no control"), help));
        }
    };
    control.check(m).map_err(|error| {
        Failure::usage(error.to_string(), "give one number for all, or one for each control")
    })?;
    Ok(control)
}

fn draw(path: &Path, arguments: &Arguments, m: &Model, t: &Trajectory) -> Result<(), Failure> {
    let name = arguments.model.file_stem().unwrap_or_default().to_string_lossy();
    let name = if m.name.is_empty() { &name } else { m.name.as_str() };
    let title = format!("{name}, from {}", arguments.state.describe());
    let panels = plot::panels(m, t);
    let time = t.time.to_vec();
    let svg = plot::svg(&title, &time, &panels).map_err(|e| Failure::file(e.to_string(), None))?;
    std::fs::write(path, svg).map_err(|error| Failure::write(path, &error))
}

fn print(
    arguments: &Arguments,
    m: &Model,
    run: &Rollout,
    seconds: f64,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let t = &run.trajectory;
    let row = |out: &mut dyn Write, name: &str, value: String| {
        writeln!(out, "  {DIM}{name:<10}{DIM:#} {value}")
    };
    let last = t.rows() - 1;
    let simulated = t.time[last] - t.time[0];
    writeln!(out, "{BOLD}{}{BOLD:#}  from {}", m.name, arguments.state.describe())?;
    for sentence in left_out(m, run) {
        writeln!(out, "  {YELLOW}!{YELLOW:#} {sentence}")?;
    }
    let integrator = crate::info::integrator(m.opt.integrator);
    let h = style::number(m.opt.timestep);
    row(out, "steps", format!("{last} of {h} s, {integrator}"))?;
    row(out, "simulated", format!("{} s", style::number(simulated)))?;
    let speed = simulated / seconds;
    let per_step = style::duration(seconds / last.max(1) as f64);
    row(
        out,
        "took",
        format!("{} ({per_step} a step, {speed:.0}× real time)", style::duration(seconds)),
    )?;
    let total = |k: usize| t.energy[[k, 0]] + t.energy[[k, 1]];
    let change = total(last) - total(0);
    row(
        out,
        "energy",
        format!(
            "{} J → {} J {DIM}(change {} J; at the end potential {}, kinetic {}){DIM:#}",
            style::number(total(0)),
            style::number(total(last)),
            style::number(change),
            style::number(t.energy[[last, 0]]),
            style::number(t.energy[[last, 1]]),
        ),
    )?;
    for (name, value) in constraints_in_words(m, run) {
        row(out, name, value)?;
    }
    for path in arguments.out.iter().chain(&arguments.plot) {
        row(out, "written", format!("{GREEN}{}{GREEN:#}", path.display()))?;
    }
    Ok(())
}

fn print_json(m: &Model, run: &Rollout, seconds: f64, out: &mut dyn Write) -> Result<(), Failure> {
    let t = &run.trajectory;
    let last = t.rows() - 1;
    let value = json!({
        "model": m.name,
        "completed": run.failure.is_none(),
        "steps": last,
        "timestep": m.opt.timestep,
        "integrator": crate::info::integrator(m.opt.integrator),
        "seconds": seconds,
        "left_out": left_out(m, run),
        "energy": {"first": t.energy.row(0).to_vec(), "last": t.energy.row(last).to_vec()},
        "constraints": constraints_json(m, run),
        "last": {
            "time": t.time[last],
            "qpos": t.qpos.row(last).to_vec(),
            "qvel": t.qvel.row(last).to_vec(),
            "act": t.act.row(last).to_vec(),
            "sensordata": t.sensordata.row(last).to_vec(),
        },
    });
    writeln!(out, "{}", serde_json::to_string_pretty(&value)?)?;
    Ok(())
}

/// What the simulation left out, in sentences: what the loader noticed, and pairs of shapes that cannot collide.
fn left_out(m: &Model, run: &Rollout) -> Vec<String> {
    let mut sentences = m.unsupported.clone();
    let shapes: BTreeSet<String> = run
        .without_collider
        .iter()
        .map(|pair| format!("{:?}–{:?}", m.geom_type[pair[0]], m.geom_type[pair[1]]))
        .collect();
    if !shapes.is_empty() {
        let shapes = shapes.into_iter().collect::<Vec<_>>().join(", ");
        let n = run.without_collider.len();
        sentences.push(format!(
            "geoms came close without a collider for their shapes: {shapes} (pairs: {n})"
        ));
    }
    sentences
}

/// First, largest and last number.
fn first_most_last(values: &Array1<f64>) -> [f64; 3] {
    let most = values.iter().fold(0.0_f64, |most, x| most.max(*x));
    [values[0], most, values[values.len() - 1]]
}

/// Mean and largest number of iterations, over the states that have rows.
fn iterations(t: &Trajectory) -> [f64; 2] {
    let solved = t.nefc.iter().filter(|n| **n > 0.0).count();
    [t.solver_niter.sum() / solved.max(1) as f64, first_most_last(&t.solver_niter)[1]]
}

/// Heights of the trees, contacts, and the solver; nothing about what the model does not have.
fn constraints_in_words(m: &Model, run: &Rollout) -> Vec<(&'static str, String)> {
    let t = &run.trajectory;
    let last = t.rows() - 1;
    let mut rows = Vec::new();
    for (i, body) in moving_trees(m).into_iter().enumerate().take(SHOWN_TREES) {
        let name = object_name(&m.names.body, body, "body");
        let z = |k: usize| style::number(t.com_height[[k, i]]);
        rows.push(("height", format!("{} m → {} m {DIM}(mass of {name}){DIM:#}", z(0), z(last))));
    }
    if first_most_last(&t.nefc)[1] + first_most_last(&t.ncon)[1] > 0.0 {
        let [[first, most, last], [.., rows_most, rows_last]] =
            [&t.ncon, &t.nefc].map(first_most_last);
        rows.push((
            "contacts",
            format!("{first} → {last}, {most} at most {DIM}(rows of constraints: {rows_last}, {rows_most} at most){DIM:#}"),
        ));
        let [mean, most] = iterations(t);
        let unfinished = match run.not_converged {
            0 => format!("{DIM}(converged at every state){DIM:#}"),
            n => format!("{YELLOW}({n} states not converged){YELLOW:#}"),
        };
        rows.push((
            "solver",
            format!("{mean:.1} iterations on average, {most} at most {unfinished}"),
        ));
    }
    rows
}

/// Trees whose height is printed at most.
const SHOWN_TREES: usize = 6;

fn constraints_json(m: &Model, run: &Rollout) -> serde_json::Value {
    let t = &run.trajectory;
    let last = t.rows() - 1;
    let height = |(i, body): (usize, usize)| {
        let name = object_name(&m.names.body, body, "body");
        json!({"body": name, "first": t.com_height[[0, i]], "last": t.com_height[[last, i]]})
    };
    let [mean, most] = iterations(t);
    let counts = |values: &Array1<f64>| {
        let [first, most, last] = first_most_last(values);
        json!({"first": first, "most": most, "last": last})
    };
    json!({
        "com_height": moving_trees(m).into_iter().enumerate().map(height).collect::<Vec<_>>(),
        "contacts": counts(&t.ncon),
        "rows": counts(&t.nefc),
        "solver_iterations": {"mean": mean, "most": most},
        "not_converged": run.not_converged,
        "without_collider": run.without_collider,
    })
}
