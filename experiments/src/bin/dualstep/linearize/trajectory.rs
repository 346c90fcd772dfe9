//! `dualstep linearize --trajectory`: A, B, C, D at every state of a trajectory.

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use dualstep::{Data, Model};
use dualstep_derivatives::trajectory::linearize_trajectory_into;
use dualstep_derivatives::{DerivativeConfig, Knot, TrajectoryWorkspace, Transition};
use dualstep_experiments::linear::eigenvalues;
use dualstep_experiments::record::{load_trajectory, save_linearizations};
use dualstep_experiments::rollout::Trajectory;
use serde_json::json;

use super::{Arguments, print_one_sided, print_origins};
use crate::failure::{Exit, Failure};
use crate::style::{self, BOLD, DIM, GREEN, YELLOW};

/// Linearizes all states of a trajectory.
pub(super) fn run(
    arguments: &Arguments,
    path: &Path,
    m: &Model,
    base: &Data<f64>,
    config: &DerivativeConfig,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let trajectory = load_trajectory(path, m)?;
    let failed = |error: &dyn std::fmt::Display| {
        Failure::run(&error.to_string(), "use another --method, or a trajectory of this model")
    };
    let knots = knots(&trajectory);
    let mut workspace = TrajectoryWorkspace::new(m, config).map_err(|error| failed(&error))?;
    let mut transitions = vec![Transition::new(m); knots.len()];
    let begin = Instant::now();
    linearize_trajectory_into(m, base, &knots, &mut workspace, &mut transitions)
        .map_err(|error| failed(&error))?;
    let seconds = begin.elapsed().as_secs_f64();
    if let Some(path) = &arguments.out {
        save_linearizations(path, m, &trajectory, &transitions)?;
    }

    let mut radii = Vec::with_capacity(transitions.len());
    for t in &transitions {
        let all = eigenvalues(&t.A).map_err(|error| failed(&error))?;
        radii.push(all.first().map_or(0.0, |x| x.magnitude()));
    }
    if arguments.json {
        let value = json!({
            "model": m.name,
            "knots": knots.len(),
            "seconds": seconds,
            "left_out": m.unsupported,
            "spectral_radius": radii,
            "solver_reached": transitions.iter().map(|t| t.solver.reached).collect::<Vec<_>>(),
        });
        writeln!(out, "{}", serde_json::to_string_pretty(&value)?)?;
        return Ok(Exit::Success);
    }
    print(arguments, m, (&trajectory, &transitions, &radii), seconds, out)
}

fn knots(t: &Trajectory) -> Vec<Knot<'_>> {
    let row = |table: &ndarray::Array2<f64>, k: usize| {
        let width = table.ncols();
        k * width..(k + 1) * width
    };
    let [qpos, qvel, act, ctrl] = [&t.qpos, &t.qvel, &t.act, &t.ctrl]
        .map(|table| table.as_slice().expect("tables are row-major"));
    (0..t.rows())
        .map(|k| Knot {
            time: Some(t.time[k]),
            qpos: &qpos[row(&t.qpos, k)],
            qvel: &qvel[row(&t.qvel, k)],
            act: &act[row(&t.act, k)],
            ctrl: &ctrl[row(&t.ctrl, k)],
            qacc_warmstart: None,
        })
        .collect()
}

fn print(
    arguments: &Arguments,
    m: &Model,
    (trajectory, transitions, radii): (&Trajectory, &[Transition], &[f64]),
    seconds: f64,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let row = |out: &mut dyn Write, name: &str, value: String| {
        writeln!(out, "  {DIM}{name:<17}{DIM:#} {value}")
    };
    let (rows, time) = (trajectory.rows(), &trajectory.time);
    writeln!(out, "{BOLD}{}{BOLD:#}  at {rows} states of a trajectory\n", m.name)?;
    for sentence in &m.unsupported {
        writeln!(out, "  {YELLOW}!{YELLOW:#} {sentence}")?;
    }
    let (Some(first), Some(t)) = (time.first(), transitions.first()) else {
        return Err(Failure::usage(
            "the trajectory has no states",
            "record one with `simulate --out`",
        ));
    };
    let last = time.last().unwrap_or(first);
    row(out, "time", format!("{} – {} s", style::number(*first), style::number(*last)))?;
    print_origins(t, out)?;
    row(out, "took", {
        let (all, each) = (style::duration(seconds), style::duration(seconds / rows as f64));
        let threads = rayon::current_num_threads();
        format!("{all} {DIM}({each} a state, {threads} threads){DIM:#}")
    })?;
    let largest = (0..rows).max_by(|a, b| radii[*a].total_cmp(&radii[*b])).unwrap_or(0);
    row(out, "spectral radius", {
        let at = style::number(time[largest]);
        format!("{:.6} at most {DIM}at {at} s{DIM:#}", radii[largest])
    })?;
    let kinked: Vec<usize> =
        (0..rows).filter(|k| transitions[*k].one_sided().next().is_some()).collect();
    if let Some(&k) = kinked.first() {
        writeln!(
            out,
            "  {YELLOW}!{YELLOW:#} {} of {rows} states are at a kink or beyond a range; the first at {} s:",
            kinked.len(),
            style::number(time[k])
        )?;
        print_one_sided(m, &transitions[k], out)?;
    }
    let unsolved: Vec<usize> = (0..rows).filter(|k| !transitions[*k].solver.reached).collect();
    if let Some(&k) = unsolved.first() {
        writeln!(
            out,
            "  {YELLOW}!{YELLOW:#} at {} of {rows} states the constraint solver stops short of its minimum; the first at {} s: \
             {}",
            unsolved.len(),
            style::number(time[k]),
            transitions[k].solver
        )?;
    }
    if let Some(path) = &arguments.out {
        row(out, "written", format!("{GREEN}{}{GREEN:#}", path.display()))?;
    }
    Ok(Exit::Success)
}
