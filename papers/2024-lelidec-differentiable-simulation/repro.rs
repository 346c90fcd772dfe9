//! Le Lidec, Montaut, de Mont-Marin, Schramm and Carpentier 2024: derivatives of a simulator with contacts, by implicit
//! differentiation: what they cost, how exact they are, and a problem that they solve.

use std::path::Path;

use dualstep::mjcf::load_model_str;
use dualstep::{Data, Model, step};
use dualstep_derivatives::{
    DerivativeConfig, FdConfig, Method, Transition, TransitionWorkspace, max_relative_error,
    mjd_transition, mjd_transition_into,
};
use dualstep_validation::random_tree::Random;
use nalgebra::{Matrix2, Vector2};
use serde::Deserialize;

use super::rollout::{Rollout, count};
use super::trees::Tree;
use super::{Claim, Reproduction};
use crate::config::{Config, Count, Positive};
use crate::findings::{Findings, Table};
use crate::plot::{Axis, Chart, Curve, Figure};
use crate::stopwatch::{Task, times};
use crate::studies::{StudyError, models};

paper!(
    "2024-lelidec-differentiable-simulation",
    "Q. Le Lidec, L. Montaut, Y. de Mont-Marin, F. Schramm, J. Carpentier: End-to-End and Highly-Efficient \
     Differentiable Simulation for Robotics. arXiv:2409.07107, 2024.",
    "Implicit differentiation gives the derivatives of a step with contacts in 5 µs for an arm to 95 µs for a 36-dof \
     humanoid, at least 100 times faster than the alternatives."
);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    seed: u64,
    velocity: Positive,
    steps: Count,
    batches: Count,
    batch_s: Positive,
    goal_m: [f64; 2],
    slide_s: Positive,
    first_m_s: [f64; 2],
    iterations: Count,
    close_m: Positive,
}

/// What is timed, in this order.
const TASKS: [&str; 5] =
    ["step", "closed form", "dual numbers", "forward differences", "centred differences"];

/// What is found for a robot.
struct Robot {
    name: &'static str,
    nv: usize,
    contacts: usize,
    /// Median times \[µs\].
    us: [f64; 5],
    /// Closed form, forward and centred differences against dual numbers, the largest of all states.
    errors: [f64; 3],
}

fn run(config: &Config) -> Result<Reproduction, StudyError> {
    let s: Settings = config.read()?;
    let mut own = models::load("humanoid", config, "seed")?;
    own.nsensordata = 0;
    own.nsensor = 0;
    let robots = [
        measure("arm, 7 dofs", &Tree::chain(7).touching(s.seed)?, &s)?,
        measure("humanoid, 27 dofs", &own, &s)?,
        measure("humanoid, 36 dofs", &Tree::humanoid(2, 7).touching(s.seed)?, &s)?,
    ];
    let slide = slide(&s)?;
    let mut time = Table::new("time [µs]", &TASKS);
    let mut errors = Table::new(
        "error",
        &["contacts", "closed form", "forward differences", "centred differences"],
    );
    for robot in &robots {
        time.push(robot.name, &robot.us);
        let [a, b, c] = robot.errors;
        errors.push(robot.name, &[robot.contacts as f64, a, b, c]);
    }
    let figure = figure(&robots, &slide);
    let claims = claims(&s, &robots, &slide);
    Ok(Reproduction { claims, findings: Findings { tables: vec![time, errors], figure } })
}

/// Times at a state in contact, and errors at it and at those that follow.
fn measure(name: &'static str, m: &Model, s: &Settings) -> Result<Robot, StudyError> {
    let mut random = Random::new(s.seed);
    let mut start = Data::new(m);
    if m.nkey > 0 {
        start.reset_keyframe(m, 0);
    }
    for v in &mut start.qvel {
        *v = random.signed(s.velocity.get());
    }
    let forward = DerivativeConfig { fd: FdConfig::forward(), ..DerivativeConfig::by(Method::Fd) };
    let configs = [
        DerivativeConfig::by(Method::Analytic),
        DerivativeConfig::by(Method::Dual),
        forward,
        DerivativeConfig::by(Method::Fd),
    ]
    .map(|config| DerivativeConfig { threads: 1, sensors: false, ..config });

    let (mut errors, mut contacts, mut timed) = ([0.0_f64; 3], 0, start.clone());
    let mut d = start;
    for _ in 0..s.steps.get() {
        let found: Vec<Transition> =
            configs.iter().map(|c| mjd_transition(m, &d, c)).collect::<Result<_, _>>()?;
        for (error, k) in errors.iter_mut().zip([0, 2, 3]) {
            let (x, exact) = (&found[k], &found[1]);
            let of_state = max_relative_error(&x.A, &exact.A).err;
            *error = error.max(of_state).max(max_relative_error(&x.B, &exact.B).err);
        }
        let before = d.clone();
        step(m, &mut d)?;
        // the state with the most contacts is timed
        if d.contact.len() > contacts {
            (contacts, timed) = (d.contact.len(), before);
        }
    }

    let mut walking = timed.clone();
    let mut tasks = vec![Task::new(|| {
        walking.set_state_from(&timed);
        let _ = step(m, &mut walking);
    })];
    for config in &configs {
        let mut workspace = TransitionWorkspace::new(m, config)?;
        let (mut transition, at) = (Transition::new(m), &timed);
        tasks.push(Task::new(move || {
            let _ = mjd_transition_into(m, at, &mut workspace, &mut transition);
        }));
    }
    let spreads = times(&mut tasks, s.batches.get(), s.batch_s.get());
    let us = std::array::from_fn(|k| spreads[k].median);
    Ok(Robot { name, nv: m.nv, contacts, us, errors })
}

/// A box that slides: how far it misses its goal before each Newton step on its initial velocity \[m\].
fn slide(s: &Settings) -> Result<Vec<f64>, StudyError> {
    let text = r#"<mujoco><option cone="elliptic" tolerance="1e-12"/><worldbody>
        <geom type="plane" size="5 5 1" friction=".2"/>
        <body pos="0 0 .05"><freejoint/><geom type="box" size=".1 .1 .05" friction=".2"/></body>
        </worldbody></mujoco>"#;
    let m = load_model_str(text, "box.xml", Path::new("."))?;
    let mut rollout = Rollout::new(&m, &DerivativeConfig::default())?;
    let mut start = Data::new(&m);
    start.qvel[..2].copy_from_slice(&s.first_m_s);
    let mut misses = Vec::new();
    for _ in 0..=s.iterations.get() {
        let last = rollout.run(&start, &[], count(s.slide_s.get() / m.opt.timestep), true)?;
        let miss = Vector2::new(last.qpos[0] - s.goal_m[0], last.qpos[1] - s.goal_m[1]);
        misses.push(miss.norm());
        if miss.norm() < s.close_m.get() {
            break;
        }
        // rows of the Jacobian by the initial velocity
        let mut jacobian = Matrix2::zeros();
        for i in 0..2 {
            let mut weight = vec![0.0; 2 * m.nv];
            weight[i] = 1.0;
            let (by_start, _) = rollout.pull_back(&weight);
            for k in 0..2 {
                jacobian[(i, k)] = by_start[m.nv + k];
            }
        }
        let Some(inverse) = jacobian.try_inverse() else { break };
        let change = inverse * miss;
        for k in 0..2 {
            start.qvel[k] -= change[k];
        }
    }
    Ok(misses)
}

fn claims(s: &Settings, robots: &[Robot], slide: &[f64]) -> Vec<Claim> {
    let any = f64::INFINITY;
    let [arm, own, large] = [0, 1, 2].map(|k: usize| &robots[k]);
    let timed = Claim::timed;
    // times on other machines: right up to a factor of two
    let mut claims = vec![
        timed("arm of 7 dofs in contact, derivatives [µs]", Some(5.0), arm.us[1], [0.0, 10.0]),
        timed(
            "humanoid of 36 dofs in contact, derivatives [µs]",
            Some(95.0),
            large.us[1],
            [0.0, 190.0],
        ),
        timed("humanoid of 27 dofs in contact, derivatives [µs]", None, own.us[1], [0.0, 190.0]),
        timed(
            "arm, centred differences / closed form",
            Some(100.0),
            arm.us[4] / arm.us[1],
            [100.0, any],
        ),
        timed(
            "humanoid of 36 dofs, centred differences / closed form",
            Some(100.0),
            large.us[4] / large.us[1],
            [100.0, any],
        ),
        timed(
            "humanoid of 36 dofs, dual numbers / closed form",
            Some(100.0),
            large.us[2] / large.us[1],
            [100.0, any],
        ),
        timed(
            "humanoid of 36 dofs, derivatives / step",
            None,
            large.us[1] / large.us[0],
            [0.0, 10.0],
        ),
    ];
    let worst = robots.iter().map(|r| r.errors[0]).fold(0.0, f64::max);
    let there = slide.iter().position(|x| *x < s.close_m.get());
    claims.extend([
        timed("closed form against dual numbers, largest error", None, worst, [0.0, 1e-9]),
        Claim::measured(
            "a box slides to its goal: Newton steps",
            None,
            there.map_or(any, |k| k as f64),
            [1.0, s.iterations.as_f64()],
        )
        .up_to(1.5),
    ]);
    claims
}

fn figure(robots: &[Robot], slide: &[f64]) -> Figure {
    let by_size = |k: usize| robots.iter().map(|r| (r.nv as f64, r.us[k])).collect::<Vec<_>>();
    let mut curves: Vec<Curve> =
        TASKS.iter().enumerate().map(|(k, name)| Curve::new(*name, by_size(k))).collect();
    let theirs = vec![(7.0, 5.0), (36.0, 95.0)];
    curves.push(Curve::new("their derivatives, 2024", theirs).color(7));
    let time = Chart {
        title: "in contact".to_owned(),
        x: Axis::log("degrees of freedom", "1"),
        y: Axis::log("time", "µs"),
        curves,
    };
    let misses = slide.iter().enumerate().map(|(k, x)| (k as f64, *x)).collect();
    let box_chart = Chart {
        title: "a box slides to its goal".to_owned(),
        x: Axis::linear("Newton step", "1"),
        y: Axis::log("distance from the goal", "m"),
        curves: vec![Curve::new("by exact derivatives", misses)],
    };
    let title = "Derivatives of a step in contact".to_owned();
    Figure { title, columns: 2, charts: vec![time, box_chart] }
}
