//! Paulus, Geist, Schumacher, Musil and Martius 2025: gradients of bounces under hard contacts, and before touch.
//!
//! What their adaptive integration does is done here by steps of all lengths, down to those that resolve the contact.

use std::path::Path;

use dualstep::mjcf::load_model_str;
use dualstep::{Data, Model, Softening};
use dualstep_derivatives::DerivativeConfig;
use rayon::prelude::*;
use serde::Deserialize;

use super::rollout::{Rollout, count};
use super::{Claim, Reproduction};
use crate::config::{Config, Count, Positive};
use crate::findings::{Findings, Table};
use crate::plot::{Axis, Chart, Curve, Figure, Mark};
use crate::studies::StudyError;

paper!(
    "2025-paulus-soft-gradients",
    "A. Paulus, A. R. Geist, P. Schumacher, V. Musil, G. Martius: Hard Contacts with Soft Gradients: Refining \
     Differentiable Simulators for Learning and Control. arXiv:2506.14186, 2025.",
    "Stiff contacts give wrong gradients at usual steps, and right ones where integration resolves the contact; gradients \
     that vanish before touch come back with contacts from a distance, in the backward pass alone."
);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    // nothing is random, but every configuration has it
    #[serde(rename = "seed")]
    _seed: u64,
    toy_stiffness: Positive,
    toy_damping: Positive,
    toy_velocity_m_s: f64,
    toy_s: Positive,
    toy_far_m: Positive,
    toy_starts: Count,
    toy_long_step_s: Positive,
    toy_short_step_s: Positive,
    gravity_m_s2: Positive,
    lowest_m: Positive,
    highest_m: Positive,
    heights: Count,
    bounce_s: Positive,
    hard_rad_s: Positive,
    soft_rad_s: Positive,
    damping_ratio: Positive,
    width_m: Positive,
    steps_s: Vec<Positive>,
    gap_m: Positive,
    push_s: Positive,
    push_step_s: Positive,
    goal_m: Positive,
    start_m_s: Positive,
    distance_m: Positive,
    iterations: Count,
    longest_m_s: Positive,
    close_m: Positive,
}

fn run(config: &Config) -> Result<Reproduction, StudyError> {
    let s: Settings = config.read()?;
    let toy = toy(&s)?;
    let bounces = bounces(&s)?;
    let pushes = [0.0, s.distance_m.get()].map(|distance| push(&s, distance));
    let [exact, distant] = pushes;
    let (exact, distant) = (exact?, distant?);

    let mut wrong = Table::new("particle and wall", &["wrong sign", "largest error"]);
    wrong.push("long step", &toy.errors(&toy.long));
    wrong.push("short step", &toy.errors(&toy.short));
    let mut errors = Table::new("median relative error at step [s]", &CONTACTS);
    for (k, h) in s.steps_s.iter().enumerate() {
        errors.push(format!("{}", h.get()), &[0, 1, 2].map(|c| bounces[c].errors[k]));
    }
    let mut descent =
        Table::new("contacts in the backward pass", &["first gradient", "steps", "miss [m]"]);
    descent.push("at touch", &exact.numbers());
    descent.push("from a distance", &distant.numbers());
    let claims = claims(&s, &wrong, &bounces, [&exact, &distant]);
    let figure = figure(&s, &toy, &bounces, [&exact, &distant]);
    Ok(Reproduction { claims, findings: Findings { tables: vec![wrong, errors, descent], figure } })
}

/// A ball on a slide above a plane: what its contact is like, and its surroundings.
fn ball(
    step_s: f64,
    gravity: f64,
    stiffness: f64,
    damping: f64,
    solimp: &str,
) -> Result<Model, StudyError> {
    let text = format!(
        r#"<mujoco><option timestep="{step_s}" gravity="0 0 -{gravity}"/>
        <default><geom condim="1" mass="1" solref="-{stiffness} -{damping}" solimp="{solimp}"/></default>
        <worldbody><geom type="plane" size="1 1 1"/>
        <body pos="0 0 1"><joint type="slide" axis="0 0 1"/><geom size="1"/></body></worldbody></mujoco>"#
    );
    Ok(load_model_str(&text, "ball.xml", Path::new("."))?)
}

/// Where the ball ends, and the derivative of that by where it starts.
fn flight(m: &Model, height: f64, velocity: f64, time: Positive) -> Result<(f64, f64), StudyError> {
    let mut start = Data::new(m);
    (start.qpos[0], start.qvel[0]) = (height, velocity);
    let mut rollout = Rollout::new(m, &DerivativeConfig::default())?;
    let steps = count(time.get() / m.opt.timestep);
    let last = rollout.run(&start, &[], steps, true)?.qpos[0];
    Ok((last, rollout.pull_back(&[1.0, 0.0]).0[0]))
}

/// Numbers from one to another.
fn grid(from: f64, to: f64, n: Count) -> Vec<f64> {
    let width = (to - from) / n.as_f64();
    (0..n.get()).map(|k| from + width * (k as f64 + 0.5)).collect()
}

/// The particle at the wall: start, end, derivative.
struct Toy {
    long: Vec<[f64; 3]>,
    short: Vec<[f64; 3]>,
}

fn toy(s: &Settings) -> Result<Toy, StudyError> {
    let flights = |step: Positive| {
        // the stiffness of a constant impedance d is divided by d², the damping by d: the motion has what is asked for
        let m = ball(step.get(), 0.0, s.toy_stiffness.get(), s.toy_damping.get(), ".9 .9 .001")?;
        let at = |q: f64| {
            let (last, slope) = flight(&m, q, s.toy_velocity_m_s, s.toy_s)?;
            Ok([q, last, slope])
        };
        grid(0.0, s.toy_far_m.get(), s.toy_starts)
            .into_par_iter()
            .map(at)
            .collect::<Result<_, StudyError>>()
    };
    Ok(Toy { long: flights(s.toy_long_step_s)?, short: flights(s.toy_short_step_s)? })
}

impl Toy {
    /// Slopes of the landscape that short steps have: differences of neighbours.
    fn slopes(&self) -> impl Iterator<Item = (f64, f64)> {
        self.short.windows(3).map(|w| (w[1][0], (w[2][1] - w[0][1]) / (w[2][0] - w[0][0])))
    }

    /// Share of starts whose gradient has another sign than the landscape, and the largest error of a gradient; away from
    /// the start that just touches, where the landscape has a kink.
    fn errors(&self, flights: &[[f64; 3]]) -> [f64; 2] {
        let (mut wrong, mut worst, mut number) = (0.0, 0.0_f64, 0.0);
        for ((q, slope), found) in self.slopes().zip(&flights[1..]) {
            if (1.8..2.2).contains(&q) {
                continue;
            }
            number += 1.0;
            wrong += f64::from(u8::from(slope * found[2] <= 0.0));
            worst = worst.max((found[2] - slope).abs());
        }
        [wrong / number, worst]
    }
}

/// The contacts that are compared.
const CONTACTS: [&str; 3] = ["hard", "hard, abrupt", "soft"];

/// A ball that bounces, by the length of the step.
struct Bounce {
    /// Median relative error of the gradient, at each step.
    errors: Vec<f64>,
    /// Final heights at the shortest step.
    last: Vec<f64>,
}

fn bounces(s: &Settings) -> Result<Vec<Bounce>, StudyError> {
    let width = s.width_m.get();
    // the soft one gives way a longer way, by as much as it is slower
    let soft = width * s.hard_rad_s.get() / s.soft_rad_s.get();
    let contacts = [
        (s.hard_rad_s, format!("0 .95 {width}")),
        (s.hard_rad_s, format!(".9 .95 {width}")),
        (s.soft_rad_s, format!("0 .95 {soft}")),
    ];
    let heights = grid(s.lowest_m.get(), s.highest_m.get(), s.heights);
    contacts
        .iter()
        .map(|(rate, solimp)| {
            let (w, g) = (rate.get(), s.gravity_m_s2.get());
            let at = |h: f64| ball(h, g, w * w, 2.0 * s.damping_ratio.get() * w, solimp);
            let flights = |h: &Positive| {
                let m = at(h.get())?;
                let one = |z: &f64| flight(&m, *z, 0.0, s.bounce_s);
                heights.par_iter().map(one).collect::<Result<Vec<_>, StudyError>>()
            };
            let by_step: Vec<Vec<(f64, f64)>> =
                s.steps_s.iter().map(flights).collect::<Result<_, _>>()?;
            let shortest = s.steps_s.last().map_or(f64::NAN, |h| h.get());
            let reference = slopes(&at(shortest)?, &heights, s.bounce_s)?;
            let error = |found: &Vec<(f64, f64)>| {
                median(found.iter().zip(&reference).map(|(f, r)| (f.1 / r - 1.0).abs()).collect())
            };
            let errors = by_step.iter().map(error).collect();
            let last = by_step.last().into_iter().flatten().map(|f| f.0).collect();
            Ok(Bounce { errors, last })
        })
        .collect()
}

/// Slopes of the final height, by differences over many steps' way: what does not depend on linearizations.
fn slopes(m: &Model, heights: &[f64], time: Positive) -> Result<Vec<f64>, StudyError> {
    let e = 2e-4;
    let slope = |z: &f64| {
        let ends: [Result<f64, StudyError>; 2] = [z - e, z + e].map(|z| {
            let mut start = Data::new(m);
            start.qpos[0] = z;
            let mut rollout = Rollout::new(m, &DerivativeConfig::default())?;
            Ok(rollout.run(&start, &[], count(time.get() / m.opt.timestep), false)?.qpos[0])
        });
        let [low, high] = ends;
        Ok((high? - low?) / (2.0 * e))
    };
    heights.par_iter().map(slope).collect()
}

fn median(mut x: Vec<f64>) -> f64 {
    x.sort_by(f64::total_cmp);
    x.get(x.len() / 2).copied().unwrap_or(f64::NAN)
}

/// A descent on the velocity of one ball, so that another ends where it should.
struct Push {
    first: f64,
    /// Where the other ball ends before each step.
    places: Vec<f64>,
    goal: f64,
    close: f64,
}

impl Push {
    /// Gradient at the beginning, steps until it is there, and by how much the last one misses.
    fn numbers(&self) -> [f64; 3] {
        let miss = |x: &f64| (x - self.goal).abs();
        let there = self.places.iter().position(|x| miss(x) < self.close);
        let last = self.places.iter().map(miss).fold(f64::INFINITY, f64::min);
        [self.first, there.map_or(f64::INFINITY, |k| k as f64), last]
    }
}

fn push(s: &Settings, distance: f64) -> Result<Push, StudyError> {
    let text = format!(
        r#"<mujoco><option timestep="{}" gravity="0 0 0"/>
        <default><geom size=".05" mass="1" condim="1" solimp="0 .95 .001"/></default><worldbody>
        <body><joint type="slide" axis="1 0 0"/><geom/></body>
        <body pos="{} 0 0"><joint type="slide" axis="1 0 0"/><geom/></body></worldbody></mujoco>"#,
        s.push_step_s.get(),
        s.gap_m.get() + 0.1,
    );
    let m = load_model_str(&text, "balls.xml", Path::new("."))?;
    let softening = Softening { distance, stretch: 0.0 };
    let config = DerivativeConfig { softening, ..DerivativeConfig::default() };
    let mut rollout = Rollout::new(&m, &config)?;
    let mut start = Data::new(&m);
    start.qvel[0] = s.start_m_s.get();
    let (goal, longest) = (s.goal_m.get(), s.longest_m_s.get());
    let mut push = Push { first: f64::NAN, places: Vec::new(), goal, close: s.close_m.get() };
    for _ in 0..=s.iterations.get() {
        let place = rollout.run(&start, &[], count(s.push_s.get() / m.opt.timestep), true)?.qpos[1];
        push.places.push(place);
        let slope = rollout.pull_back(&[0.0, 1.0, 0.0, 0.0]).0[2];
        if push.places.len() == 1 {
            push.first = slope;
        }
        let change = if slope == 0.0 { 0.0 } else { (goal - place) / slope };
        start.qvel[0] += change.clamp(-longest, longest);
    }
    Ok(push)
}

fn claims(s: &Settings, wrong: &Table, bounces: &[Bounce], pushes: [&Push; 2]) -> Vec<Claim> {
    let any = f64::INFINITY;
    let claim = |what: &str, ours, accepted| Claim::measured(what, None, ours, accepted);
    let worst = |row: &str| wrong.get(row, "largest error").unwrap_or(f64::NAN);
    let [hard, abrupt, soft] = [0, 1, 2].map(|k: usize| &bounces[k]);
    let last = s.steps_s.len() - 1;
    let apart = hard.last.iter().zip(&soft.last).map(|(x, y)| (x / y - 1.0).abs()).collect();
    let [exact, distant] = pushes.map(Push::numbers);
    vec![
        claim("particle and wall, long step: largest error", worst("long step"), [0.5, any]),
        claim("same, short step", worst("short step"), [0.0, 0.1]),
        claim(
            "bounce, hard contact, longest step: error of the gradient",
            hard.errors[0],
            [0.3, any],
        ),
        claim("same, shortest step", hard.errors[last], [0.0, 0.05]).up_to(3.0),
        claim("soft contact, longest step: error of its gradient", soft.errors[0], [0.0, 0.3])
            .up_to(2.0),
        claim("soft contact: how much higher or lower the ball ends", median(apart), [0.1, any]),
        claim(
            "hard contact with solimp[0] = 0.9, shortest step: error",
            abrupt.errors[last],
            [0.1, any],
        )
        .up_to(2.0),
        Claim::counted("no touch, contact at touch: gradient", 0.0, exact[0]),
        claim("no touch, contact from a distance: gradient [s]", distant[0], [1e-6, any]),
        claim("steps to the goal with it", distant[1], [1.0, s.iterations.as_f64()]),
    ]
}

fn figure(s: &Settings, toy: &Toy, bounces: &[Bounce], pushes: [&Push; 2]) -> Figure {
    let flights = |f: &[[f64; 3]]| f.iter().map(|[q, _, slope]| (*q, *slope)).collect();
    let particle = Chart {
        title: "particle and wall".to_owned(),
        x: Axis::linear("start", "m"),
        y: Axis::linear("derivative of the end", "m/m"),
        curves: vec![
            Curve::new("long step", flights(&toy.long)).mark(Mark::Points),
            Curve::new("short step", flights(&toy.short)).mark(Mark::Line),
            Curve::new("slope of the landscape", toy.slopes().collect()).mark(Mark::Dashed),
        ],
    };
    let curve = |(name, bounce): (&&str, &Bounce)| {
        let points = s.steps_s.iter().zip(&bounce.errors).map(|(h, e)| (h.get(), *e));
        Curve::new(*name, points.collect())
    };
    let bounce = Chart {
        title: "bounce".to_owned(),
        x: Axis::log("step", "s"),
        y: Axis::log("relative error of the gradient", "1"),
        curves: CONTACTS.iter().zip(bounces).map(curve).collect(),
    };
    let descent = |name: &str, push: &Push| {
        let points = push.places.iter().enumerate().map(|(k, x)| (k as f64, *x));
        Curve::new(name, points.collect()).mark(Mark::Line)
    };
    let [exact, distant] = pushes;
    let descents = Chart {
        title: "one ball moves another".to_owned(),
        x: Axis::linear("step of the descent", "1"),
        y: Axis::linear("where the other ball ends", "m"),
        curves: vec![
            descent("contact at touch", exact),
            descent("contact from a distance", distant),
            Curve::level("goal", exact.goal),
        ],
    };
    let title = "Gradients of bounces, and before touch".to_owned();
    Figure { title, columns: 3, charts: vec![particle, bounce, descents] }
}
