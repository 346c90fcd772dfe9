//! Todorov 2014: convex dynamics with contacts and constraints that can be inverted analytically.
//!
//! Identity of inverse and forward dynamics, one minimum from any start and by any solver, penetration against softness,
//! stability beside a spring–damper, and the times of the abstract.

use std::path::Path;
use std::time::Instant;

use dualstep::forward::forward_dynamics;
use dualstep::inverse::inverse;
use dualstep::mjcf::load_model_str;
use dualstep::model::options::{disable, enable};
use dualstep::model::{Cone, SolverType};
use dualstep::{Data, Model, forward, step};
use dualstep_validation::random_tree::Random;
use serde::Deserialize;

use super::{Claim, Reproduction};
use crate::config::{Config, Count, Positive};
use crate::findings::{Findings, Table};
use crate::fit::order;
use crate::plot::{Axis, Chart, Curve, Figure, Mark};
use crate::stopwatch::{Task, times};
use crate::studies::{StudyError, models};

paper!(
    "2014-todorov-convex-contact",
    "E. Todorov: Convex and analytically-invertible dynamics with contacts and constraints: Theory and \
               implementation in MuJoCo. IEEE International Conference on Robotics and Automation 2014.",
    "Softened constraints make forward dynamics a convex problem with one solution, whose inverse is analytic and \
            an order of magnitude faster; a 27-dof humanoid with 10 contacts takes 0.1 ms, and steps of 10 ms are stable."
);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    seed: u64,
    fall_s: Positive,
    sample_s: Positive,
    scenes: Vec<String>,
    scene_s: Vec<Positive>,
    starts: Count,
    iterations: Count,
    long_step_s: Positive,
    long_time_s: Positive,
    softness: Vec<Positive>,
    time_constants: Vec<Positive>,
    step_s: Positive,
    settle_s: Positive,
    compared_softness: Positive,
    compared_time_constant: Positive,
    batches: Count,
    batch_s: Positive,
}

/// Gravity [m/s²].
const GRAVITY: f64 = 9.81;

fn run(config: &Config) -> Result<Reproduction, StudyError> {
    let s: Settings = config.read()?;
    let own = models::load("humanoid", config, "seed")?;
    let falls = falls(&s);
    let others: Vec<f64> = s.scene_s.iter().map(|t| t.get()).collect();

    let mut identity = Table::new("largest relative error", &CHECKS);
    for (cone, name) in [(Cone::Pyramidal, "pyramidal"), (Cone::Elliptic, "elliptic")] {
        let mut m = own.clone();
        m.opt.cone = cone;
        identity.push(format!("humanoid, {name} cones"), &examine(&s, &m, &falls)?);
    }
    for scene in &s.scenes {
        let m = models::load(scene, config, "scenes")?;
        identity.push(scene, &examine(&s, &m, &others)?);
    }

    let (timed, time_chart) = timed(&s, &own, &falls)?;
    let long = long_steps(&s, &own)?;
    let (soft, soft_charts) = soften(&s)?;
    let stable = stability(&s)?;
    let claims = claims(&s, &identity, &timed, &long, &soft, &stable);
    let mut charts = soft_charts;
    charts.push(time_chart);
    let title = "Softness, and the cost of forward and inverse dynamics".to_owned();
    let figure = Figure { title, columns: 3, charts };
    Ok(Reproduction { claims, findings: Findings { tables: vec![identity, timed, soft], figure } })
}

/// Times at which the fall is looked at \[s\].
fn falls(s: &Settings) -> Vec<f64> {
    let times = (1..=1_000_000).map(|k| f64::from(k) * s.sample_s.get());
    times.take_while(|t| *t <= s.fall_s.get() * (1.0 + 1e-9)).collect()
}

/// States of a simulation from the first keyframe at the given times \[s\].
fn states(m: &Model, times: &[f64]) -> Result<Vec<Data<f64>>, StudyError> {
    let mut d = Data::new(m);
    d.reset_keyframe(m, 0);
    let mut states = Vec::new();
    for time in times {
        while d.time < time - 0.5 * m.opt.timestep {
            step(m, &mut d)?;
        }
        states.push(d.clone());
    }
    Ok(states)
}

/// Rows of the table of errors whose contacts have elliptic cones.
const ELLIPTIC: [&str; 2] = ["humanoid, elliptic cones", "sliding_blocks"];

/// What is checked at each state.
const CHECKS: [&str; 5] =
    ["inverse of forward", "at the default tolerance", "other starts", "CG", "PGS"];

/// Largest errors over the states of a model, in the order of [`CHECKS`].
fn examine(s: &Settings, m: &Model, times: &[f64]) -> Result<[f64; 5], StudyError> {
    let mut random = Random::new(s.seed);
    let mut worst = [0.0_f64; 5];
    for mut at in states(m, times)? {
        at.ctrl.iter_mut().for_each(|x| *x = random.signed(1.0));
        at.qfrc_applied.iter_mut().for_each(|x| *x = random.signed(1.0));
        let solve =
            |solver, tolerance, start: Option<&[f64]>| solve(s, m, &at, solver, tolerance, start);
        let (newton, ours) = solve(SolverType::Newton, 0.0, None)?;
        let (default, _) = solve(SolverType::Newton, m.opt.tolerance, None)?;
        let (cg, _) = solve(SolverType::Cg, 0.0, None)?;
        let (pgs, _) = solve(SolverType::Pgs, 0.0, None)?;
        let mut starts = 0.0_f64;
        for _ in 0..s.starts.get() {
            let start = other_start(&newton, &mut random);
            let (found, _) = solve(SolverType::Newton, 0.0, Some(&start))?;
            starts = starts.max(relative(&found.qacc, &newton.qacc));
        }
        let errors = [
            invert(&ours, newton.clone()),
            invert(&ours, default),
            starts,
            relative(&cg.qacc, &newton.qacc),
            relative(&pgs.qacc, &newton.qacc),
        ];
        worst.iter_mut().zip(errors).for_each(|(worst, e)| *worst = worst.max(e));
    }
    Ok(worst)
}

/// Forward dynamics by a solver, from a start or from the unconstrained acceleration.
fn solve(
    s: &Settings,
    m: &Model,
    at: &Data<f64>,
    solver: SolverType,
    tolerance: f64,
    start: Option<&[f64]>,
) -> Result<(Data<f64>, Model), StudyError> {
    let mut m = m.clone();
    m.opt.solver = solver;
    m.opt.tolerance = tolerance;
    m.opt.iterations = s.iterations.get();
    let mut d = Data::<f64>::new(&m);
    d.set_state_from(at);
    match start {
        Some(start) => d.qacc_warmstart.copy_from_slice(start),
        None => m.opt.disableflags |= disable::WARMSTART,
    }
    forward(&m, &mut d)?;
    Ok((d, m))
}

/// An acceleration between the minimum and the unconstrained one, at another place for each degree of freedom. (A start that
/// costs more than the unconstrained acceleration would not be taken: then it is that one.)
fn other_start(d: &Data<f64>, random: &mut Random) -> Vec<f64> {
    let towards = |(a, smooth): (&f64, &f64)| a + 0.9 * random.unit() * (smooth - a);
    d.qacc.iter().zip(&d.qacc_smooth).map(towards).collect()
}

/// Error of the force that inverse dynamics finds for the acceleration of forward dynamics, relative to the largest force.
fn invert(m: &Model, mut d: Data<f64>) -> f64 {
    let applied: Vec<f64> =
        d.qfrc_applied.iter().zip(&d.qfrc_actuator).map(|(x, y)| x + y).collect();
    let scale = d.qfrc_constraint.iter().chain(&applied).fold(1.0_f64, |x, f| x.max(f.abs()));
    match inverse(m, &mut d) {
        Ok(()) => {
            let pairs = d.qfrc_inverse.iter().zip(&applied);
            pairs.fold(0.0_f64, |e, (x, f)| e.max((x - f).abs())) / scale
        }
        Err(_) => f64::NAN,
    }
}

/// max|x − reference| / max(1, max|reference|).
fn relative(x: &[f64], reference: &[f64]) -> f64 {
    let scale = reference.iter().fold(1.0_f64, |s, r| s.max(r.abs()));
    x.iter().zip(reference).fold(0.0_f64, |e, (x, r)| e.max((x - r).abs())) / scale
}

/// Columns of the table of times.
const TIMES: [&str; 5] =
    ["contacts", "forward, warm [µs]", "forward, cold [µs]", "inverse [µs]", "constraints [µs]"];

/// Times along the fall, by contacts. All but the last are of everything, from positions to sensors.
fn timed(s: &Settings, m: &Model, falls: &[f64]) -> Result<(Table, Chart), StudyError> {
    let mut table = Table::new("at time [s]", &TIMES);
    let mut cold = m.clone();
    cold.opt.disableflags |= disable::WARMSTART;
    let mut smooth = m.clone();
    smooth.opt.disableflags |= disable::CONSTRAINT;
    for (time, at) in falls.iter().zip(states(m, falls)?) {
        let copy = |m: &Model| {
            let mut d = Data::<f64>::new(m);
            d.set_state_from(&at);
            d
        };
        let (mut a, mut b, mut c, mut d) = (copy(m), copy(&cold), copy(m), copy(&smooth));
        forward(m, &mut c)?;
        let contacts = c.contact.len() as f64;
        // the states are those of a simulation: no step of it failed
        let mut tasks = [
            Task::new(|| {
                let _ = forward(m, &mut a);
            }),
            Task::new(|| {
                let _ = forward(&cold, &mut b);
            }),
            Task::new(|| {
                let _ = inverse(m, &mut c);
            }),
            Task::new(|| {
                let _ = forward(&smooth, &mut d);
            }),
        ];
        let us = times(&mut tasks, s.batches.get(), s.batch_s.get());
        let [warm, cold, inverse, smooth] = [0, 1, 2, 3].map(|k: usize| us[k].median);
        table.push(format!("{time:.2}"), &[contacts, warm, cold, inverse, warm - smooth]);
    }
    let curve = |k: usize| {
        let mut points: Vec<_> = table.rows.iter().map(|(_, row)| (row[0], row[k])).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Curve::new(TIMES[k].trim_end_matches(" [µs]"), points).mark(Mark::Points).color(k + 3)
    };
    let mut curves: Vec<Curve> = (1..4).map(curve).collect();
    curves.push(Curve::level("paper: forward, 10 contacts", 100.0).color(7));
    let (x, y) = (Axis::linear("contacts", "1"), Axis::log("time", "µs"));
    Ok((table, Chart { title: "humanoid of 27 dofs".to_owned(), x, y, curves }))
}

/// Long steps of the humanoid.
struct Long {
    /// Share of the time that was simulated.
    share: f64,
    /// Largest energy on the way, over that at the start.
    energy: f64,
    /// Simulated over measured time.
    real_time: f64,
}

fn long_steps(s: &Settings, m: &Model) -> Result<Long, StudyError> {
    let mut m = m.clone();
    m.opt.timestep = s.long_step_s.get();
    m.opt.enableflags |= enable::ENERGY;
    let mut d = states(&m, &[0.0])?.remove(0);
    forward(&m, &mut d)?;
    let start = d.energy[0] + d.energy[1];
    let end = s.long_time_s.get();
    let mut largest = start;
    let begin = Instant::now();
    while d.time < end - 0.5 * m.opt.timestep && step(&m, &mut d).is_ok() {
        largest = largest.max(d.energy[0] + d.energy[1]);
    }
    let real_time = d.time / begin.elapsed().as_secs_f64();
    let share = (d.time / end * 1e9).round() / 1e9;
    Ok(Long { share, energy: largest / start, real_time })
}

/// A ball of 1 kg on the floor that cannot turn, with a contact of constant impedance 1 − `softness`.
fn ball(tau: f64, softness: f64, step_s: f64) -> Result<Model, StudyError> {
    let d = 1.0 - softness;
    let text = format!(
        "<mujoco><option timestep=\"{step_s}\" cone=\"elliptic\" gravity=\"0 0 -{GRAVITY}\"/>
         <default><geom solref=\"{tau} 1\" solimp=\"{d} {d} 0.001 0.5 2\"/></default>
         <worldbody><geom type=\"plane\" size=\"0 0 1\"/><body pos=\"0 0 0.1\">
         <joint type=\"slide\" axis=\"1 0 0\"/><joint type=\"slide\" axis=\"0 1 0\"/><joint type=\"slide\" axis=\"0 0 1\"/>
         <geom size=\"0.1\" mass=\"1\"/></body></worldbody></mujoco>"
    );
    let mut m = load_model_str(&text, "ball.xml", Path::new("."))?;
    m.opt.disableflags |= disable::REFSAFE;
    Ok(m)
}

/// Penetration at rest, error of the inverse and iterations of CG and PGS, against softness.
fn soften(s: &Settings) -> Result<(Table, Vec<Chart>), StudyError> {
    let names: Vec<String> =
        s.time_constants.iter().map(|tau| format!("τ = {} s [mm]", tau.get())).collect();
    let mut columns: Vec<&str> = names.iter().map(String::as_str).collect();
    columns.extend(["theory, first [mm]", "error of the inverse"]);
    let mut table = Table::new("penetration, softness 1 − d", &columns);
    for softness in s.softness.iter().map(|x| x.get()) {
        let mut row = Vec::new();
        let mut error = f64::NAN;
        for (k, tau) in s.time_constants.iter().map(|tau| tau.get()).enumerate() {
            let m = ball(tau, softness, s.step_s.get())?;
            let mut d = Data::<f64>::new(&m);
            while d.time < s.settle_s.get() - 0.5 * m.opt.timestep {
                step(&m, &mut d)?;
            }
            forward_dynamics(&m, &mut d)?;
            row.push(-1e3 * d.contact.first().map_or(f64::NAN, |c| c.dist));
            if k == 0 {
                // pushed, so that there is something to solve
                d.qfrc_applied.copy_from_slice(&[2.0, 1.0, -3.0]);
                let newton = solve(s, &m, &d, SolverType::Newton, 0.0, None)?.0;
                error = invert(&m, newton);
            }
        }
        row.push(1e3 * theory(s.time_constants.first().map_or(f64::NAN, |t| t.get()), softness));
        row.push(error);
        table.push(softness.to_string(), &row);
    }
    let charts = soft_charts(s, &table);
    Ok((table, charts))
}

/// Penetration at rest \[m\]: R f = K I r with K = 1/(d τ)², R = (1 − d)/(d m) and I = d, under the weight f = m g.
fn theory(tau: f64, softness: f64) -> f64 {
    GRAVITY * tau * tau * softness
}

/// Softness of a row of the table.
fn softness_of(row: &(String, Vec<f64>)) -> f64 {
    row.0.parse().unwrap_or(f64::NAN)
}

fn soft_charts(s: &Settings, table: &Table) -> Vec<Chart> {
    let column = |k: usize| table.rows.iter().map(|r| (softness_of(r), r.1[k])).collect::<Vec<_>>();
    let mut curves = Vec::new();
    for (k, tau) in s.time_constants.iter().map(|tau| tau.get()).enumerate() {
        let name = format!("τ = {tau} s");
        let line = s.softness.iter().map(|x| (x.get(), 1e3 * theory(tau, x.get()))).collect();
        curves.push(Curve::new(&name, line).color(k).mark(Mark::Line));
        curves.push(Curve::new(&name, column(k)).color(k).mark(Mark::Points));
    }
    let n = s.time_constants.len();
    let x = || Axis::log("softness 1 − d", "1");
    let first = Chart {
        title: "a ball at rest; lines: theory".to_owned(),
        x: x(),
        y: Axis::log("penetration", "mm"),
        curves,
    };
    let curves = vec![
        Curve::new("error of the inverse", column(n + 1)).color(7),
        Curve::slope("slope −1", -1.0, (0.02, 2e-15)),
    ];
    let y = Axis::log("error of inverse ∘ forward", "1");
    vec![first, Chart { title: "the same ball, pushed".to_owned(), x: x(), y, curves }]
}

/// Of a contact and of spring–dampers.
struct Stability {
    /// Penetration of a spring–damper of the same time constant, over that of the contact.
    penetration: f64,
    /// Largest stable step of the contact, over that of a spring–damper of the same penetration.
    step: f64,
}

fn stability(s: &Settings) -> Result<Stability, StudyError> {
    let (tau, softness) = (s.compared_time_constant.get(), s.compared_softness.get());
    let settled = |h: f64| -> Result<Option<f64>, StudyError> {
        let m = ball(tau, softness, h)?;
        let mut d = Data::<f64>::new(&m);
        for _ in 0..2000 {
            if step(&m, &mut d).is_err() {
                return Ok(None);
            }
        }
        Ok((d.qvel[2].abs() < 1e-6).then_some(-d.qpos[2]))
    };
    let ours = settled(0.1 * tau)?.unwrap_or(f64::NAN);
    // mass 1, critically damped: stiffness 1/T², damping 2/T
    let spring = |time: f64, h: f64| {
        let (mut z, mut v) = (0.0_f64, 0.0_f64);
        for _ in 0..2000 {
            let push = if z < 0.0 { (-z / (time * time) - 2.0 * v / time).max(0.0) } else { 0.0 };
            v += h * (push - GRAVITY);
            z += h * v;
        }
        (v.abs() < 1e-6).then_some(-z)
    };
    let same = spring(tau, 0.1 * tau).unwrap_or(f64::NAN);
    let contact_step = largest(tau, |h| Ok(settled(h)?.is_some()))?;
    let time = (ours / GRAVITY).sqrt();
    let spring_step = largest(time, |h| Ok(spring(time, h).is_some()))?;
    Ok(Stability { penetration: same / ours, step: contact_step / spring_step })
}

/// The largest step up to which a motion settles, between 0.01 and 10 time constants \[s\].
fn largest(
    time: f64,
    settles: impl Fn(f64) -> Result<bool, StudyError>,
) -> Result<f64, StudyError> {
    let (mut low, mut high) = (0.01 * time, 10.0 * time);
    for _ in 0..30 {
        let h = (low * high).sqrt();
        if settles(h)? { low = h } else { high = h }
    }
    Ok((low * high).sqrt())
}

fn claims(
    s: &Settings,
    identity: &Table,
    timed: &Table,
    long: &Long,
    soft: &Table,
    stable: &Stability,
) -> Vec<Claim> {
    let any = f64::INFINITY;
    let worst = |check: &str| {
        let rows = identity.rows.iter().filter_map(|(row, _)| identity.get(row, check));
        rows.fold(0.0_f64, f64::max)
    };
    // the state whose number of contacts is closest to theirs
    let distance = |row: &(String, Vec<f64>)| (row.1[0] - 10.0).abs();
    let ten = timed.rows.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
    let ten = ten.map_or([f64::NAN; 5], |(_, row)| [0, 1, 2, 3, 4].map(|k: usize| row[k]));
    let [contacts, warm, cold, inverse, _] = ten;
    let by_softness: Vec<_> = soft.rows.iter().map(|row| (softness_of(row), row.1[0])).collect();
    let by_time: Vec<_> = s
        .time_constants
        .iter()
        .zip(soft.rows.first().map_or(&[][..], |row| &row.1))
        .map(|(tau, r)| (tau.get(), *r))
        .collect();
    let measured = Claim::measured;
    let error = |what: &str, check: &str, most: f64| {
        Claim::measured(what, None, worst(check), [0.0, most]).up_to(1000.0)
    };
    let apart = |what: &str, elliptic: bool| {
        let rows =
            identity.rows.iter().filter(|(row, _)| ELLIPTIC.contains(&row.as_str()) == elliptic);
        let worst = rows.filter_map(|(row, _)| identity.get(row, "PGS")).fold(0.0, f64::max);
        Claim::measured(what, None, worst, [0.0, 1e-6]).up_to(1000.0)
    };
    vec![
        error("inverse of forward dynamics, error", "inverse of forward", 1e-8),
        error("same, solver at its default tolerance", "at the default tolerance", 1e-2),
        error("random starts: distance of accelerations", "other starts", 1e-8),
        error("CG − Newton: distance of accelerations", "CG", 1e-6),
        apart("PGS − Newton, without elliptic cones", false),
        apart("PGS − Newton, elliptic cones", true),
        measured(
            "penetration at rest, exponent in 1 − d",
            None,
            order(&by_softness, |_| true),
            [0.99, 1.01],
        ),
        measured(
            "penetration at rest, exponent in τ",
            None,
            order(&by_time, |_| true),
            [1.98, 2.02],
        ),
        measured(
            "penetration, spring–damper of equal τ / contact",
            None,
            stable.penetration,
            [5.0, any],
        ),
        measured(
            "stable step, contact / spring–damper of equal penetration",
            None,
            stable.step,
            [2.0, any],
        ),
        Claim::timed("contacts of the humanoid that is timed", Some(10.0), contacts, [8.0, 12.0]),
        Claim::timed("forward dynamics, warm start [ms]", Some(0.1), 1e-3 * warm, [0.0, 0.1]),
        Claim::timed("forward dynamics, cold start [ms]", Some(0.1), 1e-3 * cold, [0.0, 0.1]),
        Claim::timed(
            "forward / inverse dynamics, warm start",
            Some(10.0),
            warm / inverse,
            [5.0, any],
        ),
        Claim::timed(
            "forward / inverse dynamics, cold start",
            Some(10.0),
            cold / inverse,
            [5.0, any],
        ),
        Claim::counted("share of 10 s that steps of 10 ms survive", 1.0, long.share),
        measured("largest energy on the way / at the start", None, long.energy, [0.0, 1.01]),
        Claim::timed(
            "simulated / real time, steps of 10 ms",
            Some(100.0),
            long.real_time,
            [100.0, any],
        ),
    ]
}
