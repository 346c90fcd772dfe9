//! Millard, Uchida, Seth, Delp 2013: curves of muscles, activation dynamics, and what a rigid tendon leaves out.
//!
//! MuJoCo's muscle, which this toolkit steps, has the activation dynamics of the paper, other curves, and no
//! tendon. The paper's curves and its damped equilibrium model are built here for comparison.

mod curves;

use dualstep::mjcf::load_model_str;
use dualstep::model::NPRM;
use dualstep::smooth::muscle;
use dualstep::{Data, Model, Scalar, step};
use num_dual::{Dual2_64, Dual64};
use serde::Deserialize;

use super::{Claim, Reproduction};
use crate::config::{Config, Count, Positive};
use crate::findings::{Findings, Table};
use crate::plot::{Axis, Chart, Curve as Plot, Figure, Mark};
use crate::studies::StudyError;
use curves::Curve;

paper!(
    "2013-millard-muscle",
    "M. Millard, T. Uchida, A. Seth, S. L. Delp: Flexing Computational Muscle: Modeling and Simulation of \
               Musculotendon Dynamics. Journal of Biomechanical Engineering 135(2), 021005, 2013.",
    "Muscles with smooth curves and a damped fibre can be simulated with an elastic tendon at any activation, \
            and where the tendon is short a rigid one gives the same forces."
);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    #[serde(rename = "seed")]
    _seed: u64,
    points: Count,
    amplitude: Positive,
    period_s: Positive,
    activation: Positive,
    vmax: Positive,
    damping: Positive,
    steps: Count,
    tendons: Vec<Positive>,
    activation_s: Positive,
    deactivation_s: Positive,
    step_s: Positive,
}

/// MuJoCo's muscle with lengths in optimal fibre lengths, velocities in the largest one, forces in the peak force.
struct Mujoco([f64; NPRM]);

/// Lengths of the actuator that make its normalized length its length.
const RANGE: [f64; 2] = [0.75, 1.05];

impl Mujoco {
    /// As a model has it that says nothing else.
    const DEFAULT: Self = Self([0.75, 1.05, 1.0, 200.0, 0.5, 1.6, 1.0, 1.3, 1.2, 0.0]);
    /// As near to the paper's curves as its parameters allow: the same ends of the active force, the same largest
    /// force while lengthening, the same passive force at a strain of 0.7.
    const MATCHED: Self = Self([0.75, 1.05, 1.0, 200.0, 0.4441, 1.8123, 1.0, 0.817_33, 1.4, 0.0]);

    fn active<T: Scalar>(&self, length: T) -> T {
        -muscle::gain(length, T::zero(), &RANGE, 1.0, &self.0)
    }

    fn velocity<T: Scalar>(&self, velocity: T) -> T {
        -muscle::gain(T::one(), velocity, &RANGE, 1.0, &self.0)
    }

    fn passive<T: Scalar>(&self, length: T) -> T {
        -muscle::bias(length, &RANGE, 1.0, &self.0)[0]
    }
}

fn run(config: &Config) -> Result<Reproduction, StudyError> {
    let s: Settings = config.read()?;
    let shapes = shapes(&s);
    let (rise, fall) = (activation_time(&s, true)?, activation_time(&s, false)?);
    let (tendon, tendon_chart) = tendons(&s);
    let exactness = exactness(&s);
    let mut claims = shape_claims(&shapes, exactness);
    let close = |what: &str, theirs: f64, ours: f64| {
        Claim::measured(what, Some(theirs), ours, [0.999 * theirs, 1.001 * theirs])
    };
    // a(t) by integrating da/dt = (u − a)/τ(a): 0 → 0.9 and 1 → 0.1
    let rise_s = s.activation_s.get() * (2.0 * 10.0_f64.ln() - 1.5 * 0.9);
    let fall_s = s.deactivation_s.get() * 2.0 * (0.5_f64.ln() - (0.1_f64 / 0.65).ln());
    claims.push(close("activation from 0 to 0.9 [ms]", 1e3 * rise_s, 1e3 * rise));
    claims.push(close("deactivation from 1 to 0.1 [ms]", 1e3 * fall_s, 1e3 * fall));
    claims.extend(tendon_claims(&tendon));

    let mut charts = shape_charts(&s);
    charts.push(tendon_chart);
    let title = "MuJoCo's muscle and that of Millard et al. 2013".to_owned();
    let findings =
        Findings { tables: vec![shapes, tendon], figure: Figure { title, columns: 3, charts } };
    Ok(Reproduction { claims, findings })
}

/// Numbers from one end to the other.
fn grid(from: f64, to: f64, n: Count) -> impl Iterator<Item = f64> {
    let last = (n.as_f64() - 1.0).max(1.0);
    (0..n.get()).map(move |k| from + (to - from) * k as f64 / last)
}

/// The three curves: name, the paper's, range of interest, MuJoCo's value there.
type Shape = (&'static str, Curve, [f64; 2], fn(&Mujoco, Dual2_64) -> Dual2_64, Vec<f64>);

fn three() -> [Shape; 3] {
    let Mujoco(prm) = Mujoco::MATCHED;
    let (low, high) = (prm[4], prm[5]);
    let halves = vec![low, f64::midpoint(low, 1.0), 1.0, f64::midpoint(1.0, high), high];
    [
        ("active force–length", Curve::active_force_length(), [0.3, 2.0], Mujoco::active, halves),
        (
            "force–velocity",
            Curve::force_velocity(),
            [-1.1, 1.1],
            Mujoco::velocity,
            vec![-1.0, 0.0, 0.4],
        ),
        (
            "passive force–length",
            Curve::passive_force_length(),
            [0.9, 1.7],
            Mujoco::passive,
            vec![1.0, f64::midpoint(1.0, high)],
        ),
    ]
}

/// Distances of the curves, and how much their derivatives jump.
fn shapes(s: &Settings) -> Table {
    let columns = [
        "max|MuJoCo default − paper|",
        "max|MuJoCo matched − paper|",
        "jump of slope, paper",
        "jump of slope, MuJoCo",
        "jump of curvature, paper",
        "jump of curvature, MuJoCo",
    ];
    let mut table = Table::new("curve", &columns);
    for (name, paper, [from, to], value, knots) in three() {
        let distance = |mujoco: &Mujoco| {
            let at = |x: f64| (value(mujoco, Dual2_64::lift(x)).re() - paper.at(x)[0]).abs();
            grid(from, to, s.points).map(at).fold(0.0, f64::max)
        };
        let ours = |x: f64| {
            let y = value(&Mujoco::MATCHED, Dual2_64::new(x, 1.0, 0.0));
            [y.part(0), y.part(1), y.part(2)]
        };
        let theirs = |x: f64| paper.at(x);
        let jump = |f: &dyn Fn(f64) -> [f64; 3], knots: &[f64], k: usize| {
            let side = 1e-9;
            let jump = |x: &f64| (f(x + side)[k] - f(x - side)[k]).abs();
            knots.iter().map(jump).fold(0.0, f64::max)
        };
        let their_knots: Vec<f64> = paper.knots().filter(|x| (from..to).contains(x)).collect();
        let row = [
            distance(&Mujoco::DEFAULT),
            distance(&Mujoco::MATCHED),
            jump(&theirs, &their_knots, 1),
            jump(&ours, &knots, 1),
            jump(&theirs, &their_knots, 2),
            jump(&ours, &knots, 2),
        ];
        table.push(name, &row);
    }
    table
}

/// Largest difference between the closed form of derivatives and dual numbers, of force and activation rate.
fn exactness(s: &Settings) -> f64 {
    let Mujoco(prm) = Mujoco::MATCHED;
    let mut worst = 0.0_f64;
    for length in grid(0.3, 2.0, s.points) {
        for velocity in [-1.2, -0.5, -1e-3, 0.0, 0.3, 1.0] {
            let [by_length, by_velocity] =
                muscle::gain_derivative(length, velocity, &RANGE, 1.0, &prm);
            let (l, v) = (Dual64::lift, Dual64::new);
            let dual = muscle::gain(v(length, 1.0), l(velocity), &RANGE, 1.0, &prm).eps;
            worst = worst.max((by_length - dual).abs());
            let dual = muscle::gain(l(length), v(velocity, 1.0), &RANGE, 1.0, &prm).eps;
            worst = worst.max((by_velocity - dual).abs());
        }
    }
    let mut prm = [0.0; NPRM];
    prm[..3].copy_from_slice(&[s.activation_s.get(), s.deactivation_s.get(), 0.2]);
    for act in grid(0.0, 1.0, s.points) {
        for ctrl in [0.0, 0.3, 0.7, 1.0] {
            let [_, by_ctrl, by_act] = muscle::dynamics_and_derivative(ctrl, act, &prm);
            let (l, v) = (Dual64::lift, Dual64::new);
            let scale = s.activation_s.get();
            let dual = muscle::dynamics(v(ctrl, 1.0), l(act), &prm).eps;
            worst = worst.max(scale * (by_ctrl - dual).abs());
            let dual = muscle::dynamics(l(ctrl), v(act, 1.0), &prm).eps;
            worst = worst.max(scale * (by_act - dual).abs());
        }
    }
    worst
}

fn shape_claims(shapes: &Table, exactness: f64) -> Vec<Claim> {
    let claim = Claim::measured;
    let get = |row: &str, column: &str| shapes.get(row, column).unwrap_or(f64::NAN);
    let most =
        |column: &str| shapes.rows.iter().fold(0.0_f64, |x, (row, _)| x.max(get(row, column)));
    let (default, matched) = (Mujoco::DEFAULT, Mujoco::MATCHED);
    let their_slope = Curve::force_velocity().at(0.0)[1];
    let our_slope = muscle::gain_derivative(1.0, 0.0, &RANGE, 1.0, &matched.0)[1].abs();
    let smooth = [0.0, 1e-2];
    let mut claims = vec![
        claim("active force at optimal length", Some(1.0), matched.active(1.0), [1.0, 1.0]),
        claim("force at rest over isometric force", Some(1.0), matched.velocity(0.0), [1.0, 1.0]),
        claim(
            "largest force while lengthening, default",
            Some(1.4),
            default.velocity(1.0),
            [1.39, 1.41],
        ),
        claim("slope of the force at rest by velocity", Some(their_slope), our_slope, [4.5, 5.5]),
        claim("error of the curves' derivatives", None, exactness, [0.0, 1e-12]).up_to(100.0),
        claim("largest jump of a slope", None, most("jump of slope, MuJoCo"), [0.0, 1e-6])
            .up_to(100.0),
        claim(
            "largest jump of a curvature, paper's curves",
            Some(0.0),
            most("jump of curvature, paper"),
            smooth,
        )
        .up_to(100.0),
        claim(
            "largest jump of a curvature, MuJoCo's curves",
            Some(0.0),
            most("jump of curvature, MuJoCo"),
            smooth,
        ),
    ];
    for (row, _) in &shapes.rows {
        let what = format!("distance of the matched curves, {row}");
        let distance = get(row, "max|MuJoCo matched − paper|");
        claims.push(Claim::measured(what, None, distance, [0.0, 0.05]));
    }
    claims
}

/// Time in which the activation rises from 0 to 0.9, or falls from 1 to 0.1, in a simulation \[s\].
fn activation_time(s: &Settings, rising: bool) -> Result<f64, StudyError> {
    let m = muscle_model(s)?;
    let mut d = Data::<f64>::new(&m);
    let (start, end, until) = if rising { (0.0, 1.0, 0.9) } else { (1.0, 0.0, 0.1) };
    d.act[0] = start;
    d.ctrl[0] = end;
    loop {
        let before = (d.time, d.act[0]);
        step(&m, &mut d)?;
        let passed = if rising { d.act[0] >= until } else { d.act[0] <= until };
        if passed {
            // between the two
            let share = (until - before.1) / (d.act[0] - before.1);
            return Ok(before.0 + share * (d.time - before.0));
        }
        if d.time > 10.0 {
            return Ok(f64::NAN);
        }
    }
}

/// A muscle that pulls a heavy slider.
fn muscle_model(s: &Settings) -> Result<Model, StudyError> {
    let text = format!(
        "<mujoco><option timestep=\"{}\" integrator=\"RK4\" gravity=\"0 0 0\"/>
           <worldbody><body><joint name=\"slide\" type=\"slide\"/><geom size=\"0.1\" mass=\"1000\"/></body></worldbody>
           <actuator><muscle joint=\"slide\" lengthrange=\"-0.15 0.15\" force=\"1\" timeconst=\"{} {}\"/></actuator>
         </mujoco>",
        s.step_s.get(),
        s.activation_s.get(),
        s.deactivation_s.get()
    );
    Ok(load_model_str(&text, "muscle.xml", std::path::Path::new("."))?)
}

/// Forces of a muscle with its tendon that is stretched and released, by three models.
struct Stretch<'a> {
    s: &'a Settings,
    active: Curve,
    velocity: Curve,
    passive: Curve,
    tendon: Curve,
    /// Tendon slack length [optimal fibre lengths].
    slack: f64,
}

impl Stretch<'_> {
    /// Length of muscle and tendon, and its rate, at time t.
    fn path(&self, t: f64) -> [f64; 2] {
        let w = std::f64::consts::TAU / self.s.period_s.get();
        let a = self.s.amplitude.get();
        [1.0 + self.slack + a * (w * t).sin(), a * w * (w * t).cos()]
    }

    /// Force of the fibre, at a length and velocity [per second]. Damping as the elastic model has it.
    fn fibre(&self, length: f64, rate: f64) -> f64 {
        let v = rate / self.s.vmax.get();
        let active = self.active.at(length)[0] * self.velocity.at(v)[0];
        self.s.activation.get() * active + self.passive.at(length)[0] + self.s.damping.get() * v
    }

    /// Forces over one period, after one period to forget the start: elastic tendon (damped equilibrium, by implicit
    /// Euler steps of the fibre length), rigid tendon, MuJoCo's muscle.
    fn forces(&self) -> Vec<[f64; 3]> {
        let n = self.s.steps.get();
        let h = self.s.period_s.get() / n as f64;
        let mut length = 1.0;
        let mut forces = Vec::with_capacity(n);
        for k in 1..=2 * n {
            let [path, rate] = self.path(k as f64 * h);
            let tendon = |l: f64| self.tendon.at((path - l) / self.slack)[0];
            // the fibre pulls more, and the tendon less, the longer the fibre is
            let (mut low, mut high) = (0.0, path);
            for _ in 0..48 {
                let l = f64::midpoint(low, high);
                if self.fibre(l, (l - length) / h) < tendon(l) { low = l } else { high = l }
            }
            length = f64::midpoint(low, high);
            if k > n {
                let fibre = path - self.slack;
                let mujoco = Mujoco::MATCHED;
                let v = rate / self.s.vmax.get();
                let pull = self.s.activation.get() * mujoco.active(fibre) * mujoco.velocity(v)
                    + mujoco.passive(fibre);
                forces.push([tendon(length), self.fibre(fibre, rate), pull]);
            }
        }
        forces
    }
}

/// Mean distances of the forces, for each tendon.
fn tendons(s: &Settings) -> (Table, Chart) {
    let columns = ["rigid − elastic", "MuJoCo − rigid", "MuJoCo − elastic"];
    let mut table = Table::new("mean |difference of forces|, tendon", &columns);
    let mut curves = [const { Vec::new() }; 3];
    for slack in &s.tendons {
        let stretch = Stretch {
            s,
            active: Curve::active_force_length(),
            velocity: Curve::force_velocity(),
            passive: Curve::passive_force_length(),
            tendon: Curve::tendon_force_length(),
            slack: slack.get(),
        };
        let forces = stretch.forces();
        let mean = |f: &dyn Fn(&[f64; 3]) -> f64| {
            forces.iter().map(|forces| f(forces).abs()).sum::<f64>() / forces.len() as f64
        };
        let row = [mean(&|f| f[1] - f[0]), mean(&|f| f[2] - f[1]), mean(&|f| f[2] - f[0])];
        table.push(format!("{}", slack.get()), &row);
        for (curve, y) in curves.iter_mut().zip(row) {
            curve.push((slack.get(), y));
        }
    }
    let [rigid, _, elastic] = curves;
    let curves = vec![
        Plot::new("rigid − elastic tendon", rigid).color(3),
        Plot::new("MuJoCo − elastic tendon", elastic).color(7),
    ];
    let x = Axis::log("tendon slack / fibre length", "1");
    let y = Axis::log("mean |difference of forces|", "peak force");
    (table, Chart { title: "stretched once a second".to_owned(), x, y, curves })
}

fn tendon_claims(table: &Table) -> Vec<Claim> {
    let claim = |what: &str, tendon: &str, column: &str, accepted: [f64; 2]| {
        let ours = table.get(tendon, column).unwrap_or(f64::NAN);
        Claim::measured(format!("{what}, tendon {tendon}: mean difference"), None, ours, accepted)
            .up_to(1.5)
    };
    let (rigid, mujoco) = ("rigid − elastic", "MuJoCo − elastic");
    vec![
        claim(rigid, "0.1", rigid, [0.0, 0.02]),
        claim(rigid, "10", rigid, [0.1, 1.0]),
        claim(mujoco, "0.1", mujoco, [0.0, 0.05]),
        claim(mujoco, "10", mujoco, [0.0, 0.05]),
    ]
}

/// The curves of both, and the second derivative of the active force.
fn shape_charts(s: &Settings) -> Vec<Chart> {
    let mut charts = Vec::new();
    let kinds = [("MuJoCo default", Mujoco::DEFAULT, 4), ("MuJoCo matched", Mujoco::MATCHED, 1)];
    for (name, paper, [from, to], value, _) in three() {
        let mut curves: Vec<Plot> = kinds
            .iter()
            .map(|(kind, mujoco, color)| {
                let at = |x: f64| (x, value(mujoco, Dual2_64::lift(x)).re());
                Plot::new(*kind, grid(from, to, s.points).map(at).collect()).color(*color)
            })
            .collect();
        let points = grid(from, to, s.points).map(|x| (x, paper.at(x)[0])).collect();
        curves.push(Plot::new("paper", points).color(0));
        let x = if name == "force–velocity" {
            Axis::linear("fibre velocity", "largest shortening velocity")
        } else {
            Axis::linear("fibre length", "optimal length")
        };
        charts.push(chart(name, x, "force", "peak force", curves));
    }
    let (_, paper, [from, to], value, _) = &three()[0];
    let ours = |x: f64| (x, value(&Mujoco::MATCHED, Dual2_64::new(x, 1.0, 0.0)).part(2));
    let curves = vec![
        Plot::new("MuJoCo matched", grid(*from, *to, s.points).map(ours).collect()).color(1),
        Plot::new("paper", grid(*from, *to, s.points).map(|x| (x, paper.at(x)[2])).collect())
            .color(0),
    ];
    let x = Axis::linear("fibre length", "optimal length");
    charts.push(chart("active force–length", x, "second derivative", "1", curves));

    // activation from 0 to 1, and back
    let mut prm = [0.0; NPRM];
    prm[..2].copy_from_slice(&[s.activation_s.get(), s.deactivation_s.get()]);
    let h = 2e-4;
    let mut act = 0.0;
    let mut points = Vec::new();
    for k in 0..1000 {
        let t = f64::from(k) * h;
        points.push((t, act));
        act += h * muscle::dynamics(if t < 0.06 { 1.0 } else { 0.0 }, act, &prm);
    }
    let excitation = vec![(0.0, 0.0), (0.0, 1.0), (0.06, 1.0), (0.06, 0.0), (0.2, 0.0)];
    let curves = vec![
        Plot::new("excitation", excitation).color(6).mark(Mark::Dashed),
        Plot::new("paper = MuJoCo", points).color(2),
    ];
    charts.push(chart("activation dynamics", Axis::linear("time", "s"), "activation", "1", curves));
    charts
}

fn chart(title: &str, x: Axis, y: &str, unit: &str, curves: Vec<Plot>) -> Chart {
    let line = |curve: Plot| match curve.mark {
        Mark::LinePoints => curve.mark(Mark::Line),
        _ => curve,
    };
    let curves = curves.into_iter().map(line).collect();
    Chart { title: title.to_owned(), x, y: Axis::linear(y, unit), curves }
}
