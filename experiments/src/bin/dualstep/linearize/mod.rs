//! `dualstep linearize`: A and B of one step, and what they say.

mod smoothing;
mod trajectory;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::{Args, ValueEnum};
use dualstep::mjcf::{load_model, load_model_str};
use dualstep::solver::SolverStatus;
use dualstep::{Data, Model};
use dualstep_derivatives::check::differentiable;
use dualstep_derivatives::{
    DerivativeConfig, FdConfig, FdSteps, Method, Origin, Reason, Side, Transition, TransitionError,
    TransitionWorkspace, mjd_transition_into,
};
use dualstep_experiments::linear::{
    Controllability, Eigenvalue, RANK_TOLERANCE, controllability, eigenvalues,
};
use dualstep_experiments::record::save_transition;
use ndarray::Array2;
use serde_json::json;

use crate::failure::{Exit, Failure};
use crate::model_args::{OptionArgs, StateArgs, positive};
use crate::style::{self, BOLD, CYAN, DIM, GREEN, YELLOW};

/// A, B, C, D of one step, checked by other methods; eigenvalues, controllability
///
/// dx⁺ = A dx + B du, with dx = [dq (nv), dv (nv), da (na)]. Sensors are dy = C dx + D du, before the
/// step.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// MJCF file [default: a humanoid that is built in]
    model: Option<PathBuf>,
    #[command(flatten)]
    state: StateArgs,
    /// Write A B C D, the names of rows and columns, where each column comes from, the timestep and
    /// the state they were taken at
    #[arg(long, value_name = "FILE.npz")]
    out: Option<PathBuf>,
    /// Linearize at every state of a trajectory, as `simulate --out` writes it, with its controls
    #[arg(long, value_name = "FILE.npz", conflicts_with = "state")]
    trajectory: Option<PathBuf>,
    /// How to differentiate; the other methods check it
    #[arg(long, value_enum, value_name = "METHOD", default_value = "auto")]
    method: MethodArg,
    /// Size of the nudges of differences [default: 6e-6 centred, 1.5e-8 forward]
    #[arg(long, value_name = "NUMBER", value_parser = positive, allow_negative_numbers = true)]
    eps: Option<f64>,
    #[command(flatten)]
    smoothing: smoothing::SmoothingArgs,
    /// Eigenvalues to show
    #[arg(long, value_name = "N", default_value_t = 6)]
    eigenvalues: usize,
    /// Print A and B; without the flag, only if they are small
    #[arg(long)]
    matrices: bool,
    /// Print JSON instead of text, with all of A and B
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    options: OptionArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum MethodArg {
    /// In closed form; by dual numbers where that does not cover the model
    Auto,
    /// In closed form; refused where that does not cover the model
    Analytic,
    /// Positions by centred differences, the rest in closed form
    Hybrid,
    /// Centred differences
    Fd,
    /// Dual numbers
    Dual,
}

const EXAMPLES: &str = "\
Examples:
  dualstep linearize
  dualstep linearize cartpole.xml --keyframe upright --matrices
  dualstep linearize arm.xml --state state.npz --out AB.npz
  dualstep linearize arm.xml --trajectory run.npz --out knots.npz
  python -c \"import numpy; z = numpy.load('AB.npz'); print(z['A'], z['state_names'])\"

Files:
  --state reads  qpos qvel act ctrl qfrc_applied xfrc_applied mocap_pos mocap_quat time, each
                 optional, with MuJoCo's shapes; of a trajectory (one row a step) the last row
  --out writes   A B C D state_names ctrl_names sensor_names timestep, the keys of a state; and of each
                 column of [A B] column_origin (method), column_why, column_side, column_kink; the
                 same of [C D] with sensor_ before; solver_reached,
                 solver_at_minimum (1 or 0) and solver_gradient. Of a trajectory A B C D have a first axis for the
                 states, and time qpos qvel act ctrl are those of the trajectory

Names: `knee.q` and `knee.v` are position and velocity of joint knee. Joints of several degrees of
freedom have .x .y .z (translation) and .rot_x .rot_y .rot_z (rotation in the body frame).
`arm.act` is the activation of actuator arm.

Exit codes: 0 success · 1 a step failed · 2 wrong usage · 3 the model cannot be loaded
            4 a file cannot be read or written";

/// The model of `linearize` and `validate` without arguments.
pub(crate) const HUMANOID: &str = include_str!("../../../../../validation/models/humanoid.xml");

/// All that is shown.
struct Results {
    transition: Transition,
    /// Time of a linearization through a warm workspace [s].
    seconds: f64,
    checks: Vec<Check>,
    eigenvalues: Vec<Eigenvalue>,
    controllability: Controllability,
    /// By what it is not the derivative of the step; none if it is.
    smoothed: Option<String>,
}

/// The same by another method.
struct Check {
    name: &'static str,
    /// Largest difference of A, B, C and D, relative to the largest entry of each, and where; or why there is none.
    worst: Result<(f64, String), String>,
    seconds: f64,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let mut m = match &arguments.model {
        Some(path) => load_model(path),
        None => load_model_str(HUMANOID, "humanoid.xml", Path::new(".")),
    }?;
    arguments.options.apply(&mut m);
    let d = arguments.state.data(&m)?;
    if let Some(path) = &arguments.trajectory {
        let all = methods(arguments);
        let chosen = all.iter().find(|(_, method, _)| *method == arguments.method);
        let (_, _, config) = chosen.expect("each method has an entry");
        return trajectory::run(arguments, path, &m, &d, config, out);
    }
    let results = match arguments.smoothing.randomized(arguments.method) {
        None => analyse(&m, &d, arguments)?,
        Some(config) => smoothing::average(&m, &d, &config)?,
    };
    if let Some(path) = &arguments.out {
        save_transition(path, &m, &d, &results.transition)?;
    }
    if arguments.json {
        print_json(&m, &results, out)?;
    } else {
        print(arguments, &m, &results, out)?;
    }
    Ok(Exit::Success)
}

/// All methods, with the names under which they are shown.
fn methods(arguments: &Arguments) -> [(&'static str, MethodArg, DerivativeConfig); 6] {
    let eps = arguments.eps;
    let fd = |standard: FdConfig| FdConfig {
        eps: eps.map_or(standard.eps, FdSteps::uniform),
        ..standard
    };
    let by = |method: Method, standard: FdConfig| DerivativeConfig {
        fd: fd(standard),
        softening: arguments.smoothing.softening(),
        ..DerivativeConfig::by(method)
    };
    let (centered, forward) = (FdConfig::centered(), FdConfig::forward());
    [
        ("closed form", MethodArg::Analytic, by(Method::Analytic, centered)),
        ("auto", MethodArg::Auto, by(Method::Auto, centered)),
        ("dual numbers", MethodArg::Dual, by(Method::Dual, centered)),
        ("hybrid", MethodArg::Hybrid, by(Method::Hybrid, centered)),
        ("centred differences", MethodArg::Fd, by(Method::Fd, centered)),
        ("forward differences", MethodArg::Fd, by(Method::Fd, forward)),
    ]
}

fn analyse(m: &Model, d: &Data<f64>, arguments: &Arguments) -> Result<Results, Failure> {
    let failed = |error: &dyn std::fmt::Display| {
        Failure::run(&error.to_string(), "linearize at another state, or with other options")
    };
    let all = methods(arguments);
    let chosen = all.iter().position(|(_, method, _)| *method == arguments.method);
    let chosen = chosen.expect("each method has an entry");
    let (transition, seconds) = timed(m, d, &all[chosen].2).map_err(|error| match error {
        TransitionError::NotCovered { .. } => {
            Failure::run(&error.to_string(), "use --method auto, dual or fd")
        }
        error => failed(&error),
    })?;
    let analytic = transition.columns.iter().any(|column| column.origin == Origin::Analytic);
    let mut checks = Vec::new();
    for (k, (name, method, config)) in all.iter().enumerate() {
        // `auto` is one of the others
        let same = *method == MethodArg::Auto
            || arguments.method == MethodArg::Auto
                && *method == if analytic { MethodArg::Analytic } else { MethodArg::Dual };
        if k == chosen || same {
            continue;
        }
        let (worst, seconds) = match timed(m, d, config) {
            Ok((other, seconds)) => {
                let differences = matches!(config.method, Method::Fd | Method::Hybrid);
                (Ok(worst_difference(&transition, &other, differences)), seconds)
            }
            Err(error) => (Err(error.to_string()), 0.0),
        };
        checks.push(Check { name, worst, seconds });
    }
    Results::new(m, transition, seconds, checks)
}

impl Results {
    /// Eigenvalues and controllability of a linearization.
    fn new(
        m: &Model,
        transition: Transition,
        seconds: f64,
        checks: Vec<Check>,
    ) -> Result<Self, Failure> {
        let failed = |error: &dyn std::fmt::Display| {
            Failure::run(&error.to_string(), "linearize at another state, or with other options")
        };
        let h = m.opt.timestep;
        Ok(Self {
            seconds,
            checks,
            eigenvalues: eigenvalues(&transition.A).map_err(|error| failed(&error))?,
            controllability: controllability(&transition.A, &transition.B, h, RANK_TOLERANCE)
                .map_err(|error| failed(&error))?,
            smoothed: smoothing::describe(&transition.softening),
            transition,
        })
    }
}

/// A linearization, and the median time of three through a workspace that is warm \[s\].
fn timed(
    m: &Model,
    d: &Data<f64>,
    config: &DerivativeConfig,
) -> Result<(Transition, f64), TransitionError> {
    let mut workspace = TransitionWorkspace::new(m, config)?;
    let mut transition = Transition::new(m);
    mjd_transition_into(m, d, &mut workspace, &mut transition)?;
    let mut seconds = [0.0; 3];
    for s in &mut seconds {
        let begin = Instant::now();
        mjd_transition_into(m, d, &mut workspace, &mut transition)?;
        *s = begin.elapsed().as_secs_f64();
    }
    seconds.sort_by(f64::total_cmp);
    Ok((transition, seconds[1]))
}

/// Largest difference between two linearizations, relative to the largest entry of each matrix if that is above
/// one, and the names of its row and column. Differences are an average over both sides of a kink: columns with one are
/// left to the other methods.
fn worst_difference(a: &Transition, b: &Transition, differences: bool) -> (f64, String) {
    let smooth = |k: usize| differentiable(&a.columns[k]) && differentiable(&b.columns[k]);
    let mut worst = (0.0, String::new());
    let nx = a.A.ncols();
    let pairs = [
        (&a.A, &b.A, &a.state_names, &a.state_names, 0),
        (&a.B, &b.B, &a.state_names, &a.ctrl_names, nx),
        (&a.C, &b.C, &a.sensor_names, &a.state_names, 0),
        (&a.D, &b.D, &a.sensor_names, &a.ctrl_names, nx),
    ];
    for (x, y, rows, columns, first) in pairs {
        let scale = y.iter().fold(1.0_f64, |s, v| s.max(v.abs()));
        for ((i, j), x) in x.indexed_iter() {
            let difference = (x - y[[i, j]]).abs() / scale;
            if difference > worst.0 && (!differences || smooth(first + j)) {
                worst = (difference, format!("d {} / d {}", rows[i], columns[j]));
            }
        }
    }
    worst
}

/// How many columns come from which method, and why.
fn origins(t: &Transition) -> Vec<(String, usize)> {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for column in &t.columns {
        let name = match column.origin {
            Origin::Analytic => "closed form".to_owned(),
            Origin::Sampled => "average over samples".to_owned(),
            Origin::Dual | Origin::Fd | Origin::Skipped => {
                let name = if column.origin == Origin::Fd { "differences" } else { "dual numbers" };
                match column.why {
                    Reason::NotCovered(_) => format!("{name}, {}", column.why),
                    _ => name.to_owned(),
                }
            }
        };
        match counts.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => counts.push((name, 1)),
        }
    }
    counts
}

fn print(
    arguments: &Arguments,
    m: &Model,
    results: &Results,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let Results { transition: t, seconds, checks, .. } = results;
    let row = |out: &mut dyn Write, name: &str, value: String| {
        writeln!(out, "  {DIM}{name:<17}{DIM:#} {value}")
    };
    let origin = if arguments.model.is_some() { "" } else { " (built in)" };
    writeln!(out, "{BOLD}{}{BOLD:#}{origin}  at {}\n", m.name, arguments.state.describe())?;
    for sentence in &m.unsupported {
        writeln!(out, "  {YELLOW}!{YELLOW:#} {sentence}")?;
    }
    let (nx, nu, ns) = (t.A.nrows(), m.nu, m.nsensordata);
    row(
        out,
        "state",
        format!("{nx} = {nv} positions + {nv} velocities + {} activations", m.na, nv = m.nv),
    )?;
    row(out, "step", {
        let (h, integrator) =
            (style::number(m.opt.timestep), crate::info::integrator(m.opt.integrator));
        format!("{h} s, {integrator}")
    })?;
    row(out, "matrices", format!("A {nx} × {nx}   B {nx} × {nu}   C {ns} × {nx}   D {ns} × {nu}"))?;
    print_origins(t, out)?;
    if let Some(smoothed) = &results.smoothed {
        row(out, "smoothed", smoothed.clone())?;
    }
    if t.solver.status != SolverStatus::Unconstrained {
        row(out, "constraints", t.solver.to_string())?;
    }
    row(out, "took", style::duration(*seconds))?;
    // the check: methods that share little or no derivative code
    let mut title = "checked by";
    for check in checks {
        let text = match &check.worst {
            Ok((worst, entry)) => {
                let time = style::duration(check.seconds);
                format!("{:<21}{worst:>8.1e} {DIM}at {entry} ({time}){DIM:#}", check.name)
            }
            Err(why) => format!("{:<21}{DIM}{why}{DIM:#}", check.name),
        };
        row(out, title, text)?;
        title = "";
    }
    print_unsolved(t, out)?;
    print_one_sided(m, t, out)?;
    print_analysis(arguments, m, results, out)?;
    if arguments.matrices || (nx <= 8 && nu <= 4) {
        print_matrix("A", &t.A, &t.state_names, &t.state_names, out)?;
        print_matrix("B", &t.B, &t.state_names, &t.ctrl_names, out)?;
    }
    if let Some(path) = &arguments.out {
        writeln!(out)?;
        row(out, "written", format!("{GREEN}{}{GREEN:#}", path.display()))?;
    }
    Ok(())
}

/// Methods of the columns of A and B.
fn print_origins(t: &Transition, out: &mut dyn Write) -> Result<(), Failure> {
    let mut title = "method";
    for (name, count) in origins(t) {
        writeln!(out, "  {DIM}{title:<17}{DIM:#} {name} {DIM}({count} columns){DIM:#}")?;
        title = "";
    }
    Ok(())
}

/// Warnings where a step, or the derivative itself, is not that of the minimum of the constraint solver.
fn print_unsolved(t: &Transition, out: &mut dyn Write) -> Result<(), Failure> {
    if !t.solver.at_minimum {
        let what = "the minimum of the constraints was not reached: derivatives may be off";
        writeln!(out, "  {YELLOW}!{YELLOW:#} {what}")?;
    } else if !t.solver.reached {
        let what = "the constraint solver stops short of the minimum that is differentiated: raise `iterations`";
        writeln!(out, "  {YELLOW}!{YELLOW:#} {what}")?;
    }
    Ok(())
}

/// Columns at a kink, or beyond a range; those with the same kink in one line.
fn print_one_sided(m: &Model, t: &Transition, out: &mut dyn Write) -> Result<(), Failure> {
    let mut lines: Vec<(String, Vec<&str>)> = Vec::new();
    for (name, column) in t.one_sided() {
        let what = match (column.side, column.kink.map(|kink| kink.describe(m))) {
            (Side::Clamped, _) => "zero: the control is beyond its range".to_owned(),
            (side, Some(kink)) => match side {
                Side::Both => format!("one-sided: {kink}"),
                side => format!("one-sided, from {side}: {kink}"),
            },
            // forward differences were asked for
            (_, None) => continue,
        };
        match lines.iter_mut().find(|(known, _)| *known == what) {
            Some((_, names)) => names.push(name),
            None => lines.push((what, vec![name])),
        }
    }
    for (what, names) in lines {
        let more = names.len().saturating_sub(NAMED);
        let shown = names[..names.len() - more].join(", ");
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        writeln!(out, "  {YELLOW}!{YELLOW:#} {shown}{more} {what}")?;
    }
    Ok(())
}

/// Columns that are listed by name.
const NAMED: usize = 6;

/// Eigenvalues and controllability.
fn print_analysis(
    arguments: &Arguments,
    m: &Model,
    results: &Results,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let c = &results.controllability;
    let rank = if c.rank == c.size { GREEN } else { YELLOW };
    let title = "controllable";
    write!(out, "  {DIM}{title:<17}{DIM:#} {rank}{} of {}{rank:#} directions", c.rank, c.size)?;
    writeln!(
        out,
        " {DIM}(singular values: kept ≥ {:.0e}, dropped ≤ {:.0e}){DIM:#}",
        c.smallest_kept, c.largest_dropped
    )?;
    let title = "spectral radius";
    let radius = results.eigenvalues.first().map_or(0.0, |x| x.magnitude());
    writeln!(out, "  {DIM}{title:<17}{DIM:#} {radius:.6}")?;

    print_eigenvalues(arguments.eigenvalues, m.opt.timestep, &results.eigenvalues, out)
}

/// The largest eigenvalues, one line a conjugate pair; all that are 1 in one line.
fn print_eigenvalues(
    count: usize,
    h: f64,
    eigenvalues: &[Eigenvalue],
    out: &mut dyn Write,
) -> Result<(), Failure> {
    // a double eigenvalue splits by the square root of the rounding errors
    let is_one = |x: &&Eigenvalue| (x.re - 1.0).hypot(x.im) < 1e-6;
    let ones = eigenvalues.iter().filter(is_one).count();
    let others = eigenvalues.iter().filter(|x| !is_one(x) && x.im >= 0.0);
    let shown: Vec<&Eigenvalue> = others.take(count).collect();
    writeln!(out, "\n{BOLD}Eigenvalues of A{BOLD:#} {DIM}largest first; s = ln λ / h{DIM:#}")?;
    let [a, b, c, d] = ["|λ|", "λ", "growth [1/s]", "frequency [Hz]"];
    writeln!(out, "  {DIM}{a:>9}  {b:<23}  {c:>14}  {d:>14}{DIM:#}")?;
    let (growing, others): (Vec<_>, Vec<_>) = shown.into_iter().partition(|x| x.magnitude() > 1.0);
    for lambda in growing {
        print_eigenvalue(lambda, h, out)?;
    }
    if ones > 0 {
        let what = format!("1 ({ones} times)");
        writeln!(out, "  {:>9.6}  {CYAN}{what:<23}{CYAN:#}  {:>14}  {:>14}", 1.0, 0, 0)?;
    }
    for lambda in others {
        print_eigenvalue(lambda, h, out)?;
    }
    Ok(())
}

fn print_eigenvalue(lambda: &Eigenvalue, h: f64, out: &mut dyn Write) -> Result<(), Failure> {
    let (growth, frequency) = lambda.continuous(h);
    let value = if lambda.im == 0.0 {
        format!("{:.6}", lambda.re)
    } else {
        format!("{:.6} ± {:.6}i", lambda.re, lambda.im)
    };
    let frequency = style::number(frequency / std::f64::consts::TAU);
    let growth = style::number(growth);
    let magnitude = lambda.magnitude();
    writeln!(out, "  {magnitude:>9.6}  {CYAN}{value:<23}{CYAN:#}  {growth:>14}  {frequency:>14}")?;
    Ok(())
}

/// A matrix with the names of its rows and columns.
fn print_matrix(
    title: &str,
    matrix: &Array2<f64>,
    rows: &[String],
    columns: &[String],
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let length = |names: &[String]| names.iter().map(|n| n.chars().count()).max().unwrap_or(0);
    let (left, width) = (length(rows), length(columns).max(10));
    write!(out, "\n{BOLD}{title:<left$}{BOLD:#}  ")?;
    for name in columns {
        write!(out, "  {DIM}{name:>width$}{DIM:#}")?;
    }
    for (name, row) in rows.iter().zip(matrix.rows()) {
        write!(out, "\n{DIM}{name:<left$}{DIM:#}  ")?;
        for x in row {
            // rounding errors are shown as a dot
            let cell = if x.abs() < 1e-12 { "·".to_owned() } else { style::number(*x) };
            write!(out, "  {cell:>width$}")?;
        }
    }
    writeln!(out)?;
    Ok(())
}

fn print_json(m: &Model, results: &Results, out: &mut dyn Write) -> Result<(), Failure> {
    let t = &results.transition;
    let rows = |matrix: &Array2<f64>| -> Vec<Vec<f64>> {
        matrix.rows().into_iter().map(|row| row.to_vec()).collect()
    };
    let c = &results.controllability;
    let eigenvalues: Vec<[f64; 2]> = results.eigenvalues.iter().map(|x| [x.re, x.im]).collect();
    let one_sided: Vec<_> = t
        .one_sided()
        .map(|(name, column)| {
            let kink = column.kink.map(|kink| kink.describe(m));
            json!({"column": name, "side": column.side.to_string(), "kink": kink})
        })
        .collect();
    let checks: Vec<_> = results
        .checks
        .iter()
        .map(|check| match &check.worst {
            Ok((worst, entry)) => json!({
                "method": check.name, "worst": worst, "entry": entry, "seconds": check.seconds
            }),
            Err(why) => json!({"method": check.name, "why_not": why}),
        })
        .collect();
    let origins: Vec<String> = t.columns.iter().map(|column| column.origin.to_string()).collect();
    let value = json!({
        "model": m.name,
        "timestep": m.opt.timestep,
        "integrator": crate::info::integrator(m.opt.integrator),
        "column_origin": origins,
        "seconds": results.seconds,
        "checks": checks,
        "one_sided": one_sided,
        "solver": {
            "status": t.solver.status.to_string(),
            "iterations": t.solver.niter,
            "gradient": t.solver.gradient,
            "reached": t.solver.reached,
            "at_minimum": t.solver.at_minimum,
        },
        "left_out": m.unsupported,
        "smoothed": results.smoothed,
        "eigenvalues": eigenvalues,
        "spectral_radius": results.eigenvalues.first().map(|x| x.magnitude()),
        "controllability": {"rank": c.rank, "of": c.size},
        "state_names": t.state_names,
        "ctrl_names": t.ctrl_names,
        "sensor_names": t.sensor_names,
        "A": rows(&t.A),
        "B": rows(&t.B),
        "C": rows(&t.C),
        "D": rows(&t.D),
    });
    writeln!(out, "{}", serde_json::to_string_pretty(&value)?)?;
    Ok(())
}
