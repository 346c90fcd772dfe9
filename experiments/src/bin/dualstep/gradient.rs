//! `dualstep gradient`: the gradient of a cost over many steps, checked, and how perturbations grow on the way.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use dualstep::mjcf::{load_model, load_model_str};
use dualstep::{Data, Model};
use dualstep_derivatives::DerivativeConfig;
use dualstep_derivatives::rollout::{
    Cost as _, Growth, QuadraticCost, RolloutConfig, RolloutError, RolloutGradient, Sweep,
    linearize_rollout, rollout_gradient,
};
use dualstep_derivatives::tangent::State;
use dualstep_experiments::gradient::{Times, check, figure, norm, random_directions};
use dualstep_experiments::record::save_gradient;
use ndarray::Array2;
use serde_json::json;

use crate::failure::{Exit, Failure};
use crate::linearize::HUMANOID;
use crate::model_args::{OptionArgs, StateArgs, keyframe};
use crate::simulate::control;
use crate::style::{self, BOLD, DIM, GREEN, RED, YELLOW};

/// Gradient of a cost over many steps by the adjoint, checked by dual numbers; growth of perturbations
///
/// The cost is ½ Σ w (x - x*)² over the states, controls and sensors of all steps; x* is a state to come to.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// MJCF file [default: a humanoid that is built in]
    model: Option<PathBuf>,
    /// Number of steps
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=20_000))]
    steps: u32,
    #[command(flatten)]
    state: StateArgs,
    /// Controls: one number for all, a list separated by commas, or an .npz file with key `ctrl`
    /// (nu numbers, or one row a step; the last row stays) [default: those of the initial state]
    #[arg(long, value_name = "FILE.npz|NUMBERS", allow_hyphen_values = true)]
    ctrl: Option<String>,
    /// Weights of the cost, separated by commas: q (positions), v (velocities), act (activations),
    /// u (controls), y (sensors, towards zero), end (factor of q, v, act after the last step)
    #[arg(long, value_name = "NAME=NUMBER", value_delimiter = ',', default_value = "q=1,v=0.01,u=0.01,end=10", value_parser = weight)]
    cost: Vec<(Term, f64)>,
    /// Keyframe to come to, by name or index [default: the initial state, at rest]
    #[arg(long, value_name = "KEY")]
    target: Option<String>,
    /// Store every k-th state only, and compute those between again [default: store all]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..))]
    checkpoint: Option<u32>,
    /// Multiply with A and B without forming them: on one thread, and where no sensors are in the cost
    #[arg(long)]
    products: bool,
    /// Random directions to check along, by dual numbers through all steps
    #[arg(long, value_name = "N", default_value_t = 8)]
    directions: usize,
    /// Seed of the directions
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Plot growth, its rate, and the sizes of the gradient over time
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// Write gradient, growth and trajectory
    #[arg(long, value_name = "FILE.npz")]
    out: Option<PathBuf>,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    options: OptionArgs,
}

const EXAMPLES: &str = "\
Examples:
  dualstep gradient
  dualstep gradient humanoid.xml --steps 200 --plot growth.svg --out gradient.npz
  dualstep gradient arm.xml --keyframe home --target reach --cost q=1,v=0.1,u=0.001,end=100
  dualstep gradient arm.xml --ctrl controls.npz --checkpoint 15

Files:
  --out writes   cost, stage_cost (T + 1), gradient_ctrl (T × nu), costate (T + 1 × nx): the
                 gradient by each state of all that follows, row 0 that by the initial one;
                 log_singular (T + 1), log_columns (T + 1 × nx), exponents (nx): natural logarithms
                 of growth, and rates [1/s]; state_names, ctrl_names; time qpos qvel act (T + 1 rows)
                 and ctrl (T × nu)

Times are of one thread. Exit codes: 0 success · 1 a step failed, or the check did (1e-8)
            2 wrong usage · 3 the model cannot be loaded · 4 a file cannot be read or written";

/// Largest relative difference from dual numbers that is rounding, as the states themselves amplify it.
const LIMIT: f64 = 1e-8;

/// Measurements of each time; figures are their medians.
const BATCHES: usize = 11;

/// A term of the cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Term {
    Position,
    Velocity,
    Activation,
    Control,
    Sensor,
    End,
}

/// `q=1` and the like.
fn weight(text: &str) -> Result<(Term, f64), String> {
    let (name, number) = text.split_once('=').ok_or("write NAME=NUMBER, such as q=1")?;
    let term = match name.trim() {
        "q" => Term::Position,
        "v" => Term::Velocity,
        "act" => Term::Activation,
        "u" => Term::Control,
        "y" => Term::Sensor,
        "end" => Term::End,
        _ => return Err(format!("no term `{name}`: use q, v, act, u, y or end")),
    };
    match number.trim().parse::<f64>() {
        Ok(x) if x >= 0.0 && x.is_finite() => Ok((term, x)),
        _ => Err(format!("`{number}` is not a number from 0 on")),
    }
}

/// All that is shown.
struct Results {
    gradient: RolloutGradient,
    growth: Growth,
    /// Largest relative difference from dual numbers.
    error: Option<f64>,
    times: Times,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let mut m = match &arguments.model {
        Some(path) => load_model(path),
        None => load_model_str(HUMANOID, "humanoid.xml", Path::new(".")),
    }?;
    arguments.options.apply(&mut m);
    let d = arguments.state.data(&m)?;
    let ctrl = controls(arguments, &m, &d)?;
    let mut cost = cost(arguments, &m, &d)?;
    let spinner = style::spinner("differentiating");
    let failed = |error: RolloutError| {
        Failure::run(&error, "try fewer steps, a smaller --timestep, or an implicit --integrator")
    };
    let (results, states) = analyse(arguments, &m, &d, &ctrl, &mut cost).map_err(failed)?;
    spinner.finish_and_clear();
    if let Some(path) = &arguments.plot {
        let steps = arguments.steps;
        let title = format!("{}, {steps} steps from {}", m.name, arguments.state.describe());
        let svg = figure(&title, &m, &results.growth, &results.gradient).svg();
        let svg = svg.map_err(|error| Failure::file(error.to_string(), None))?;
        std::fs::write(path, svg).map_err(|error| Failure::write(path, &error))?;
    }
    if let Some(path) = &arguments.out {
        save_gradient(path, &m, &states, &ctrl, &results.gradient, &results.growth)?;
    }
    if arguments.json {
        print_json(&m, &results, out)?;
    } else {
        print(arguments, &m, &results, out)?;
    }
    let good = results.error.is_none_or(|error| error <= LIMIT);
    Ok(if good { Exit::Success } else { Exit::Failed })
}

/// Controls of all steps.
fn controls(arguments: &Arguments, m: &Model, d: &Data<f64>) -> Result<Array2<f64>, Failure> {
    let control = control(arguments.ctrl.as_deref(), m)?;
    let mut row = d.ctrl.clone();
    let mut ctrl = Array2::zeros((arguments.steps as usize, m.nu));
    for (k, mut to) in ctrl.rows_mut().into_iter().enumerate() {
        control.apply(k, &mut row);
        to.iter_mut().zip(&row).for_each(|(to, from)| *to = *from);
    }
    Ok(ctrl)
}

/// The cost that the arguments describe.
fn cost(arguments: &Arguments, m: &Model, d: &Data<f64>) -> Result<QuadraticCost, Failure> {
    let mut target = State::of(d);
    target.qvel.fill(0.0);
    if let Some(key) = &arguments.target {
        let mut there = Data::new(m);
        there.reset_keyframe(m, keyframe(m, key)?);
        target = State::of(&there);
    }
    let mut cost = QuadraticCost::new(m, target);
    let of = |term| arguments.cost.iter().rev().find(|(t, _)| *t == term).map_or(0.0, |(_, w)| *w);
    let (nv, end) = (m.nv, of(Term::End));
    cost.state_weight[..nv].fill(of(Term::Position));
    cost.state_weight[nv..2 * nv].fill(of(Term::Velocity));
    cost.state_weight[2 * nv..].fill(of(Term::Activation));
    cost.ctrl_weight.fill(of(Term::Control));
    cost.sensor_weight.fill(of(Term::Sensor));
    for (to, from) in cost.terminal_weight.iter_mut().zip(&cost.state_weight) {
        *to = end * from;
    }
    Ok(cost)
}

fn analyse(
    arguments: &Arguments,
    m: &Model,
    d: &Data<f64>,
    ctrl: &Array2<f64>,
    cost: &mut QuadraticCost,
) -> Result<(Results, Vec<State<f64>>), RolloutError> {
    let sensors = cost.needs_sensors();
    let derivative = DerivativeConfig { sensors, ..DerivativeConfig::default() };
    let checkpoint = arguments.checkpoint.map(|k| k as usize);
    let sweep = if arguments.products { Sweep::Products } else { Sweep::Matrices };
    let config = RolloutConfig { derivative, sweep, checkpoint };
    let gradient = rollout_gradient(m, d, ctrl.view(), cost, &config)?;
    let all = linearize_rollout(m, d, ctrl.view(), &config.derivative)?;
    let directions = random_directions(m, ctrl.nrows(), arguments.seed, arguments.directions);
    let error = match directions.len() {
        0 => None,
        _ => Some(check(m, d, ctrl.view(), cost, &gradient, &directions)?),
    };
    let times = Times::measure(m, d, ctrl.view(), cost, &config, BATCHES)?;
    let growth = Growth::of(&all);
    Ok((Results { gradient, growth, error, times }, all.states))
}

fn print(
    arguments: &Arguments,
    m: &Model,
    results: &Results,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let Results { gradient, error, times, .. } = results;
    let row = |out: &mut dyn Write, name: &str, value: String| {
        writeln!(out, "  {DIM}{name:<17}{DIM:#} {value}")
    };
    let origin = if arguments.model.is_some() { "" } else { " (built in)" };
    writeln!(out, "{BOLD}{}{BOLD:#}{origin}  from {}\n", m.name, arguments.state.describe())?;
    style::warn_unoptimized(out)?;
    for sentence in &m.unsupported {
        writeln!(out, "  {YELLOW}!{YELLOW:#} {sentence}")?;
    }
    let steps = gradient.ctrl.nrows();
    let h = style::number(m.opt.timestep);
    let integrator = crate::info::integrator(m.opt.integrator);
    row(out, "rollout", format!("{steps} steps of {h} s, {integrator}"))?;
    let end = style::number(gradient.stage_cost[steps]);
    let total = style::number(gradient.cost);
    row(out, "cost", format!("{total} {DIM}(of it at the end {end}){DIM:#}"))?;
    let all = gradient.ctrl.iter().map(|x| x * x).sum::<f64>().sqrt();
    row(out, "gradient", {
        let (by_ctrl, by_start) = (style::number(all), style::number(norm(gradient.initial())));
        format!(
            "{by_ctrl} {DIM}by {} controls,{DIM:#} {by_start} {DIM}by the initial state (norms){DIM:#}",
            steps * m.nu
        )
    })?;
    if let Some(error) = error {
        let color = if *error <= LIMIT { GREEN } else { RED };
        let n = arguments.directions;
        row(
            out,
            "checked by",
            format!(
                "dual numbers through all steps, {n} random directions: {color}{error:.1e}{color:#}"
            ),
        )?;
    }
    for (what, list) in [
        ("steps from a kink, or with a control beyond its range", &gradient.one_sided),
        ("steps whose solver did not converge", &gradient.not_converged),
    ] {
        let count = list.iter().filter(|x| **x).count();
        if count > 0 {
            writeln!(out, "  {YELLOW}!{YELLOW:#} {count} {what}")?;
        }
    }
    print_growth(&results.growth, m.opt.timestep, out)?;
    row(out, "took", {
        let [a, b, c] = [times.rollout, times.linearizations, times.gradient]
            .map(|spread| style::duration(spread.median));
        let beyond = times.beyond_linearizations();
        format!(
            "{c} {DIM}(linearizations alone {b}, rollout alone {a}: beyond the linearizations {beyond:.2} rollouts){DIM:#}"
        )
    })?;
    for path in arguments.out.iter().chain(&arguments.plot) {
        row(out, "written", format!("{GREEN}{}{GREEN:#}", path.display()))?;
    }
    Ok(())
}

/// How perturbations of the initial state grow.
fn print_growth(growth: &Growth, h: f64, out: &mut dyn Write) -> Result<(), Failure> {
    let row = |out: &mut dyn Write, name: &str, value: String| {
        writeln!(out, "  {DIM}{name:<17}{DIM:#} {value}")
    };
    let steps = growth.log_singular.len() - 1;
    let factor = style::number(growth.log_singular[steps].exp());
    let time = style::number(steps as f64 * h);
    row(out, "growth", format!("{factor} times in {time} s, of the perturbation that grows most"))?;
    for (title, direction) in
        [("  it begins as", &growth.worst_start), ("  it ends as", &growth.worst_end)]
    {
        let parts = growth.main_parts(direction, 4);
        let parts: Vec<String> = parts.iter().map(|(name, x)| format!("{x:+.2} {name}")).collect();
        row(out, title, parts.join("  "))?;
    }
    let rate = growth.exponents.first().map_or(0.0, |x| *x);
    let positive = growth.exponents.iter().filter(|x| **x > 0.0).count();
    row(
        out,
        "Lyapunov",
        format!(
            "{} /s {DIM}the largest exponent over this horizon; {positive} of {} are positive{DIM:#}",
            style::number(rate),
            growth.exponents.len()
        ),
    )?;
    Ok(())
}

fn print_json(m: &Model, results: &Results, out: &mut dyn Write) -> Result<(), Failure> {
    let Results { gradient, growth, error, times } = results;
    let steps = gradient.ctrl.nrows();
    let rows: Vec<Vec<f64>> = gradient.ctrl.rows().into_iter().map(|row| row.to_vec()).collect();
    let value = json!({
        "model": m.name,
        "steps": steps,
        "timestep": m.opt.timestep,
        "integrator": crate::info::integrator(m.opt.integrator),
        "cost": gradient.cost,
        "gradient_ctrl": rows,
        "gradient_initial": gradient.initial().to_vec(),
        "error": error,
        "one_sided": gradient.one_sided.iter().filter(|x| **x).count(),
        "not_converged": gradient.not_converged.iter().filter(|x| **x).count(),
        "log_growth": growth.log_singular[steps],
        "lyapunov_exponents": growth.exponents,
        "state_names": growth.state_names,
        "optimized": !cfg!(debug_assertions),
        "seconds": {
            "rollout": times.rollout,
            "linearizations": times.linearizations,
            "gradient": times.gradient,
        },
        "beyond_linearizations": times.beyond_linearizations(),
        "left_out": m.unsupported,
    });
    writeln!(out, "{}", serde_json::to_string_pretty(&value)?)?;
    Ok(())
}
