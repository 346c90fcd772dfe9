//! `dualstep linearize`: A and B of one step, and what they say.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use dualstep::mjcf::{load_model, load_model_str};
use dualstep::{Data, Model};
use dualstep_derivatives::analytic::mjd_transition_analytic_into;
use dualstep_derivatives::dual::{DualWorkspace, mjd_transition_dual_into};
use dualstep_derivatives::finite_diff::{Difference, mjd_transition_fd_into};
use dualstep_derivatives::{AnalyticWorkspace, FdConfig, FdWorkspace, Transition, TransitionError};
use dualstep_experiments::coverage;
use dualstep_experiments::linear::{
    Controllability, Eigenvalue, RANK_TOLERANCE, controllability, eigenvalues,
};
use dualstep_experiments::record::save_transition;
use ndarray::Array2;
use serde_json::json;

use crate::failure::{Exit, Failure};
use crate::model_args::{OptionArgs, StateArgs, positive};
use crate::style::{self, BOLD, CYAN, DIM, GREEN, YELLOW};

/// A and B of one step by finite differences, eigenvalues, controllability
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
    /// Write A B C D, the names of rows and columns (state_names ctrl_names sensor_names), the
    /// timestep and the state they were taken at
    #[arg(long, value_name = "FILE.npz")]
    out: Option<PathBuf>,
    /// Size of the nudges
    #[arg(long, value_name = "NUMBER", default_value = "1e-6", value_parser = positive, allow_negative_numbers = true)]
    eps: f64,
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

const EXAMPLES: &str = "\
Examples:
  dualstep linearize
  dualstep linearize cartpole.xml --keyframe upright --matrices
  dualstep linearize arm.xml --state state.npz --out AB.npz
  python -c \"import numpy; z = numpy.load('AB.npz'); print(z['A'], z['state_names'])\"

Files:
  --state reads  qpos qvel act ctrl qfrc_applied xfrc_applied mocap_pos mocap_quat time, each
                 optional, with MuJoCo's shapes; of a trajectory (one row a step) the last row
  --out writes   A B C D state_names ctrl_names sensor_names timestep, and the keys of a state

Names: `knee.q` and `knee.v` are position and velocity of joint knee. Joints of several degrees of
freedom have .x .y .z (translation) and .rot_x .rot_y .rot_z (rotation in the body frame).
`arm.act` is the activation of actuator arm.

Exit codes: 0 success · 1 a step failed · 2 wrong usage · 3 the model cannot be loaded
            4 a file cannot be read or written";

/// The model of `linearize` without arguments.
const HUMANOID: &str = include_str!("../../../../validation/models/humanoid.xml");

/// All that is shown.
struct Results {
    centered: Transition,
    /// Time of the centred and of the forward differences \[s\].
    seconds: [f64; 2],
    /// Largest difference of A and B between the two, and where.
    worst: (f64, String),
    /// The same between centred differences and dual numbers, and the time of the latter [s].
    dual: (f64, String, f64),
    /// The same between closed form and dual numbers; or why there is no closed form.
    closed: Result<(f64, String, f64), String>,
    eigenvalues: Vec<Eigenvalue>,
    controllability: Controllability,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let mut m = match &arguments.model {
        Some(path) => load_model(path),
        None => load_model_str(HUMANOID, "humanoid.xml", Path::new(".")),
    }?;
    arguments.options.apply(&mut m);
    let d = arguments.state.data(&m)?;
    let results = analyse(&m, &d, arguments.eps)?;
    if let Some(path) = &arguments.out {
        save_transition(path, &m, &d, &results.centered)?;
    }
    if arguments.json {
        print_json(&m, &results, out)?;
    } else {
        print(arguments, &m, &results, out)?;
    }
    Ok(Exit::Success)
}

fn analyse(m: &Model, d: &Data<f64>, eps: f64) -> Result<Results, Failure> {
    let failed = |error: &dyn std::fmt::Display| {
        Failure::run(&error.to_string(), "linearize at another state, or with other options")
    };
    let mut workspace = FdWorkspace::new(m);
    let mut timed = |centered: bool| {
        let mut transition = Transition::new(m);
        let begin = Instant::now();
        let config = FdConfig { centered, eps };
        mjd_transition_fd_into(m, d, &config, &mut workspace, &mut transition)
            .map_err(|error| failed(&error))?;
        Ok::<_, Failure>((transition, begin.elapsed().as_secs_f64()))
    };
    // the first linearization also warms up caches and threads, so the one that is shown comes after it
    let (forward, _) = timed(false)?;
    let (centered, centered_s) = timed(true)?;
    let (_, forward_s) = timed(false)?;
    let h = m.opt.timestep;
    let (dual, dual_s) = exact_dual(m, d).map_err(|error| failed(&error))?;
    let closed = match closed_form(m, d) {
        Ok((t, seconds)) => {
            let (worst, entry) = worst_difference(&t, &dual);
            Ok((worst, entry, seconds))
        }
        Err(TransitionError::NotCovered { feature }) => Err(feature),
        Err(error) => return Err(failed(&error)),
    };
    let (off, entry) = worst_difference(&centered, &dual);
    Ok(Results {
        dual: (off, entry, dual_s),
        closed,
        worst: worst_difference(&centered, &forward),
        seconds: [centered_s, forward_s],
        eigenvalues: eigenvalues(&centered.A).map_err(|error| failed(&error))?,
        controllability: controllability(&centered.A, &centered.B, h, RANK_TOLERANCE)
            .map_err(|error| failed(&error))?,
        centered,
    })
}

/// A, B, C and D by dual numbers, and the time of a second run through a workspace that is warm [s].
fn exact_dual(m: &Model, d: &Data<f64>) -> Result<(Transition, f64), TransitionError> {
    let (mut workspace, mut transition) = (DualWorkspace::new(m), Transition::new(m));
    mjd_transition_dual_into(m, d, &mut workspace, &mut transition)?;
    let begin = Instant::now();
    mjd_transition_dual_into(m, d, &mut workspace, &mut transition)?;
    Ok((transition, begin.elapsed().as_secs_f64()))
}

/// A and B in closed form, and the time of a second run through a workspace that is warm [s].
fn closed_form(m: &Model, d: &Data<f64>) -> Result<(Transition, f64), TransitionError> {
    let (mut workspace, mut transition) = (AnalyticWorkspace::new(m), Transition::new(m));
    mjd_transition_analytic_into(m, d, &mut workspace, &mut transition)?;
    let begin = Instant::now();
    mjd_transition_analytic_into(m, d, &mut workspace, &mut transition)?;
    Ok((transition, begin.elapsed().as_secs_f64()))
}

/// Largest difference between two linearizations in A and B, and the names of its row and column.
fn worst_difference(a: &Transition, b: &Transition) -> (f64, String) {
    let mut worst = (0.0, String::new());
    let pairs = [(&a.A, &b.A, &a.state_names), (&a.B, &b.B, &a.ctrl_names)];
    for (x, y, columns) in pairs {
        for ((i, j), x) in x.indexed_iter() {
            let difference = (x - y[[i, j]]).abs();
            if difference > worst.0 {
                worst = (difference, format!("d {} / d {}", a.state_names[i], columns[j]));
            }
        }
    }
    worst
}

fn print(
    arguments: &Arguments,
    m: &Model,
    results: &Results,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let Results { centered: t, seconds, worst, .. } = results;
    let row = |out: &mut dyn Write, name: &str, value: String| {
        writeln!(out, "  {DIM}{name:<17}{DIM:#} {value}")
    };
    let origin = if arguments.model.is_some() { "" } else { " (built in)" };
    writeln!(out, "{BOLD}{}{BOLD:#}{origin}  at {}\n", m.name, arguments.state.describe())?;
    for sentence in coverage::left_out(m) {
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
    row(
        out,
        "method",
        format!(
            "centred differences, eps {:e}, {} threads",
            arguments.eps,
            rayon::current_num_threads()
        ),
    )?;
    row(out, "took", {
        let [centered, forward] = seconds.map(style::duration);
        format!("{centered} {DIM}(forward differences {forward}){DIM:#}")
    })?;
    let at_most = |worst: f64, entry: &str| match worst {
        0.0 => "0".to_owned(),
        worst => format!("{worst:.1e} at most {DIM}{entry}{DIM:#}"),
    };
    row(out, "forward − centred", at_most(worst.0, &worst.1))?;
    // the check: two exact methods that share no derivative code
    let (off, entry, dual_s) = &results.dual;
    row(out, "centred − dual", at_most(*off, entry))?;
    let closed = match &results.closed {
        Ok((off, entry, closed_s)) => {
            let times = [*closed_s, *dual_s].map(style::duration);
            let note = format!("{DIM}(closed form {}, dual numbers {}){DIM:#}", times[0], times[1]);
            format!("{} {note}", at_most(*off, entry))
        }
        Err(feature) => format!("{DIM}no closed form: {feature}{DIM:#}"),
    };
    row(out, "closed − dual", closed)?;
    print_one_sided(t, out)?;
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

/// Columns whose control is at a limit.
fn print_one_sided(t: &Transition, out: &mut dyn Write) -> Result<(), Failure> {
    let limited: Vec<String> = t
        .one_sided()
        .map(|(name, difference)| match difference {
            Difference::Zero => format!("{name} (zero: outside its range)"),
            _ => name.to_owned(),
        })
        .collect();
    if !limited.is_empty() {
        let names = limited.join(", ");
        writeln!(out, "  {YELLOW}!{YELLOW:#} one-sided, at the limit of their range: {names}")?;
    }
    Ok(())
}

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
            // what is below the noise of the differences is shown as a dot
            let cell = if x.abs() < 1e-10 { "·".to_owned() } else { style::number(*x) };
            write!(out, "  {cell:>width$}")?;
        }
    }
    writeln!(out)?;
    Ok(())
}

fn print_json(m: &Model, results: &Results, out: &mut dyn Write) -> Result<(), Failure> {
    let t = &results.centered;
    let rows = |matrix: &Array2<f64>| -> Vec<Vec<f64>> {
        matrix.rows().into_iter().map(|row| row.to_vec()).collect()
    };
    let c = &results.controllability;
    let eigenvalues: Vec<[f64; 2]> = results.eigenvalues.iter().map(|x| [x.re, x.im]).collect();
    let one_sided: Vec<&str> = t.one_sided().map(|(name, _)| name).collect();
    let value = json!({
        "model": m.name,
        "timestep": m.opt.timestep,
        "integrator": crate::info::integrator(m.opt.integrator),
        "method": "fd_centered",
        "seconds": {"centered": results.seconds[0], "forward": results.seconds[1]},
        "forward_minus_centered": {"worst": results.worst.0, "entry": results.worst.1},
        "one_sided": one_sided,
        "left_out": coverage::left_out(m),
        "eigenvalues": eigenvalues,
        "spectral_radius": results.eigenvalues.first().map(|x| x.magnitude()),
        "controllability": {"rank": c.rank, "of": c.size},
        "state_names": t.state_names,
        "ctrl_names": t.ctrl_names,
        "A": rows(&t.A),
        "B": rows(&t.B),
    });
    writeln!(out, "{}", serde_json::to_string_pretty(&value)?)?;
    Ok(())
}
