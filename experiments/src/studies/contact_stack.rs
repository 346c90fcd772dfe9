//! Boxes on top of each other.
//!
//! At rest every contact balances its share of the weight above, and its acceleration is zero: R f = aref = K I r at
//! penetration r, an equation for r alone. Theory is evaluated here from the manual's formulas, not by the simulator.

use std::fmt::Write as _;
use std::path::Path;

use dualstep::mjcf::load_model_str;
use dualstep::model::options::disable;
use dualstep::model::{SolverType, WORLD};
use dualstep::{Data, Model, forward, step};
use serde::Deserialize;

use super::{Study, StudyError};
use crate::config::{Config, Count, Positive};
use crate::findings::{Findings, Table};
use crate::plot::{Axis, Chart, Curve, Figure, Mark};

/// The study.
pub const STUDY: Study = Study {
    slug: "contact-stack",
    title: "A stack of boxes",
    about: "Penetration at rest of each contact of a stack against what solref and solimp say, drift over a long rest, and \
            iterations of the solvers against the number of boxes, with and without a warm start.",
    reading: "Penetration is what theory says, to many digits. It grows with the force on a contact; the lowest box sinks in \
              less than its force would have it, because only one side of its contacts can give way. Pyramids are a \
              special case: the softness of their edges is chosen for their friction, so that a contact of friction 0.5 \
              is 6.4 times as stiff as one of friction 1, and as an elliptic one. On level ground friction has nothing to \
              hold: under Newton nothing drifts but for rounding. CG and PGS stop at the tolerance, and what they leave \
              moves the topmost box by micrometres and less. While a stack settles, Newton takes one iteration whatever \
              its height, as all contacts stay active; an iteration of CG, as a sweep of PGS, passes forces from a box to \
              its neighbours only, and those of CG grow in proportion to the height. The warm start saves PGS half of its \
              sweeps; Newton and CG have little to gain while forces change.",
    config: include_str!("../../configs/contact-stack.toml"),
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    #[serde(rename = "seed")]
    _seed: u64,
    mass_kg: Positive,
    half_height_m: Positive,
    half_width_m: Positive,
    narrowing: Positive,
    step_s: Positive,
    boxes: Count,
    settle_s: Positive,
    drift_s: Positive,
    samples: Count,
    heights: Vec<Count>,
    count_s: Positive,
    iterations: Count,
    cases: Vec<Case>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Cone {
    Pyramidal,
    Elliptic,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    cone: Cone,
    friction: Positive,
    solref: [f64; 2],
    solimp: [f64; 3],
}

/// Gravity [m/s²].
const GRAVITY: f64 = 9.81;

/// Solvers, and their names.
const SOLVERS: [(SolverType, &str); 3] =
    [(SolverType::Newton, "Newton"), (SolverType::Cg, "CG"), (SolverType::Pgs, "PGS")];

fn run(config: &Config) -> Result<Findings, StudyError> {
    let s: Settings = config.read()?;
    let Some(default) = s.cases.first() else {
        return Err(config.wrong("cases", "at least one case").into());
    };
    let (penetration, mut charts) = penetrations(&s)?;
    let (drift, chart) = drifts(&s, default)?;
    charts.push(chart);
    let (counts, chart) = iterations(&s, default)?;
    charts.push(chart);
    let figure = Figure { title: STUDY.title.to_owned(), columns: 3, charts };
    Ok(Findings { tables: vec![penetration, drift, counts], figure })
}

impl Settings {
    /// A stack of `n` boxes, each a little narrower than the one below it.
    fn model(&self, case: &Case, n: usize) -> Result<Model, StudyError> {
        let Case { cone, friction, solref, solimp, .. } = case;
        let cone = if *cone == Cone::Pyramidal { "pyramidal" } else { "elliptic" };
        let (h, friction) = (self.half_height_m.get(), friction.get());
        let mut text = format!(
            "<mujoco><option timestep=\"{}\" cone=\"{cone}\" gravity=\"0 0 -{GRAVITY}\"/><default><geom \
             friction=\"{friction} 0.005 0.0001\" solref=\"{} {}\" solimp=\"{} {} {} 0.5 2\"/></default><worldbody>\
             <geom type=\"plane\" size=\"0 0 1\"/>",
            self.step_s.get(),
            solref[0],
            solref[1],
            solimp[0],
            solimp[1],
            solimp[2]
        );
        for k in 0..n {
            let z = h * (2 * k + 1) as f64;
            let mut width = self.half_width_m.get();
            (0..k).for_each(|_| width *= self.narrowing.get());
            // writing to a string cannot fail
            let _ = write!(
                text,
                "<body pos=\"0 0 {z}\"><freejoint/><geom type=\"box\" size=\"{width} {width} {h}\" mass=\"{}\"/></body>",
                self.mass_kg.get()
            );
        }
        text.push_str("</worldbody></mujoco>");
        Ok(load_model_str(&text, "stack.xml", Path::new("."))?)
    }

    /// Penetration of a contact of two boxes, or of one and the floor, that bears a force \[m\].
    ///
    /// R = (1 − I)/I · w, w the sum of inverse masses. An elliptic cone bears f = K I r/R along its normal. A pyramid bears
    /// that along four edges, each with R = 2μ² · (1 − I)/I · (1 + μ²) w.
    fn theory(&self, case: &Case, floor: bool, force: f64) -> f64 {
        let [d0, d, width] = case.solimp;
        let [first, second] = case.solref;
        let stiffness =
            if first > 0.0 { 1.0 / (d * first * second).powi(2) } else { -first / (d * d) };
        let weight = if floor { 1.0 } else { 2.0 } / self.mass_kg.get();
        let mu2 = case.friction.get().powi(2);
        let edges = match case.cone {
            Cone::Pyramidal => 4.0 / (2.0 * mu2 * (1.0 + mu2)),
            Cone::Elliptic => 1.0,
        };
        let borne = |r: f64| {
            let u = (r / width).min(1.0);
            let y = if u < 0.5 { 2.0 * u * u } else { 1.0 - 2.0 * (1.0 - u) * (1.0 - u) };
            let impedance = d0 + (d - d0) * y;
            edges * stiffness * impedance * impedance * r / ((1.0 - impedance) * weight)
        };
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..200 {
            let r = f64::midpoint(low, high);
            if borne(r) < force { low = r } else { high = r }
        }
        f64::midpoint(low, high)
    }
}

/// Steps for some time; returns the mean number of iterations of the solver.
fn rest(m: &Model, d: &mut Data<f64>, time_s: f64) -> Result<f64, StudyError> {
    let until = d.time + time_s;
    let (mut steps, mut iterations) = (0.0, 0.0);
    while d.time < until - 0.5 * m.opt.timestep {
        step(m, d)?;
        steps += 1.0;
        iterations += d.solver.niter as f64;
    }
    Ok(iterations / steps)
}

/// Penetrations at rest, of the contacts below each box.
fn penetrations(s: &Settings) -> Result<(Table, Vec<Chart>), StudyError> {
    let columns = [
        "lowest contact [µm]",
        "theory [µm]",
        "largest relative error of all",
        "contacts of a face",
        "largest speed [m/s]",
    ];
    let mut table = Table::new("penetration", &columns);
    let mut curves = Vec::new();
    let n = s.boxes.get();
    for (color, case) in s.cases.iter().enumerate() {
        let m = s.model(case, n)?;
        let mut d = Data::<f64>::new(&m);
        rest(&m, &mut d, s.settle_s.get())?;
        forward(&m, &mut d)?;
        let (mut measured, mut expected, mut worst) = (Vec::new(), Vec::new(), 0.0_f64);
        let mut faces = 0.0;
        for b in 1..m.nbody {
            let below = |g: [usize; 2]| {
                let bodies = g.map(|g| m.geom_bodyid[g]);
                bodies.contains(&b) && bodies.contains(&(b - 1))
            };
            let depths: Vec<f64> =
                d.contact.iter().filter(|c| below(c.geom)).map(|c| -c.dist).collect();
            faces = depths.len() as f64;
            let force = (n + 1 - b) as f64 * s.mass_kg.get() * GRAVITY / faces;
            let theory = s.theory(case, b - 1 == WORLD, force);
            for depth in &depths {
                worst = worst.max((depth / theory - 1.0).abs());
                measured.push((force, 1e6 * depth));
            }
            expected.push((force, 1e6 * theory));
        }
        let speed = d.qvel.iter().fold(0.0_f64, |x, v| x.max(v.abs()));
        let lowest = |points: &[(f64, f64)]| points.first().map_or(f64::NAN, |p| p.1);
        table.push(&case.name, &[lowest(&measured), lowest(&expected), worst, faces, speed]);
        curves.push(Curve::new(&case.name, expected).color(color).mark(Mark::Line));
        curves.push(Curve::new(&case.name, measured).color(color).mark(Mark::Points));
    }
    let x = Axis::linear("force on a contact", "N");
    let y = Axis::log("penetration", "µm");
    let title = "at rest; lines: theory".to_owned();
    Ok((table, vec![Chart { title, x, y, curves }]))
}

/// Displacements of the topmost box over a long rest.
fn drifts(s: &Settings, case: &Case) -> Result<(Table, Chart), StudyError> {
    let mut table = Table::new(
        "drift of the topmost box",
        &["sideways [m]", "height [m]", "iterations per step"],
    );
    let mut curves = Vec::new();
    for (color, (solver, name)) in SOLVERS.into_iter().enumerate() {
        let mut m = s.model(case, s.boxes.get())?;
        m.opt.solver = solver;
        let mut d = Data::<f64>::new(&m);
        rest(&m, &mut d, s.settle_s.get())?;
        let top = m.nq - 7;
        let start = [0, 1, 2].map(|k| d.qpos[top + k]);
        let mut points = Vec::new();
        let mut drift = [0.0; 2];
        let mut iterations = 0.0;
        for _ in 0..s.samples.get() {
            iterations += rest(&m, &mut d, s.drift_s.get() / s.samples.as_f64())?;
            let [x, y, z] = [0, 1, 2].map(|k| d.qpos[top + k] - start[k]);
            drift = [x.hypot(y), z.abs()];
            points.push((d.time, drift[0].max(1e-18)));
        }
        table.push(name, &[drift[0], drift[1], iterations / s.samples.as_f64()]);
        curves.push(Curve::new(name, points).color(color).mark(Mark::Line));
    }
    let (x, y) = (Axis::linear("time", "s"), Axis::log("sideways drift", "m"));
    Ok((table, Chart { title: format!("{} boxes at rest", s.boxes.get()), x, y, curves }))
}

/// Iterations per step while stacks settle, with and without a warm start.
fn iterations(s: &Settings, case: &Case) -> Result<(Table, Chart), StudyError> {
    let starts = [("warm", 0), ("cold", disable::WARMSTART)];
    let names: Vec<String> = SOLVERS
        .iter()
        .flat_map(|(_, name)| starts.map(|(start, _)| format!("{name}, {start}")))
        .collect();
    let columns: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut table = Table::new("iterations per step, boxes", &columns);
    let mut curves = vec![Vec::new(); names.len()];
    for n in &s.heights {
        let mut row = Vec::new();
        for (solver, _) in SOLVERS {
            for (_, flag) in starts {
                let mut m = s.model(case, n.get())?;
                m.opt.solver = solver;
                m.opt.disableflags |= flag;
                m.opt.iterations = s.iterations.get();
                row.push(rest(&m, &mut Data::new(&m), s.count_s.get())?);
            }
        }
        for (curve, y) in curves.iter_mut().zip(&row) {
            curve.push((n.as_f64(), *y));
        }
        table.push(n.get().to_string(), &row);
    }
    let curve = |(k, points): (usize, Vec<(f64, f64)>)| {
        let curve = Curve::new(SOLVERS[k / 2].1, points).color(k / 2);
        if k % 2 == 1 { curve.mark(Mark::Dashed) } else { curve }
    };
    let curves = curves.into_iter().enumerate().map(curve).collect();
    let (x, y) = (Axis::log("boxes", "1"), Axis::log("iterations per step", "1"));
    Ok((table, Chart { title: "while it settles; dashed: cold start".to_owned(), x, y, curves }))
}
