//! Error of the total energy over long runs of conservative systems.

use dualstep::energy::{energy_pos, energy_vel};
use dualstep::forward::fwd_position;
use dualstep::model::Integrator;
use dualstep::{Data, Model, step};
use serde::Deserialize;

use super::{INTEGRATORS, Study, StudyError, WIDTHS, first_state, models, with_integrator};
use crate::config::{Config, Count, Positive};
use crate::findings::{Findings, Table};
use crate::fit::order;
use crate::plot::{Axis, Chart, Curve, Figure, Mark};

/// The study.
pub const STUDY: Study = Study {
    slug: "energy-drift",
    title: "Energy over long runs",
    about: "Largest error of the total energy so far, against time, for all integrators on systems without friction; \
            and how the error at the end falls with the step.",
    reading: "Errors are relative to the largest kinetic energy. None of the integrators conserves energy. The error of \
              Euler and of the implicit ones falls with the first power of the step; implicit_spring_damper takes \
              most from springs, which it damps. That of RK4 is smaller by five digits and more, and falls with the \
              fourth power or faster.",
    config: include_str!("../../configs/energy-drift.toml"),
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    #[serde(rename = "seed")]
    _seed: u64,
    models: Vec<String>,
    time_s: Positive,
    steps_s: Vec<Positive>,
    rounding: Positive,
    shown_step: usize,
    samples: Count,
}

fn run(config: &Config) -> Result<Findings, StudyError> {
    let s: Settings = config.read()?;
    let Some(shown) = s.steps_s.get(s.shown_step) else {
        return Err(config.wrong("shown_step", "an index into `steps_s`").into());
    };
    let names: Vec<&str> = s.models.iter().map(String::as_str).collect();
    let mut errors = Table::new("error at the end", &names);
    let mut orders = Table::new("order in the step", &names);
    let mut rows = vec![(Vec::new(), Vec::new()); INTEGRATORS.len()];
    let mut charts = Vec::new();
    for name in &s.models {
        let m = models::load_smooth(name, config, "models")?;
        let mut curves = Vec::new();
        let subjects = INTEGRATORS.into_iter().zip(WIDTHS).zip(&mut rows);
        for (((integrator, name), width), (errors, orders)) in subjects {
            let run = |h: &Positive| drift(&m, integrator, h.get(), s.time_s.get(), s.samples);
            let runs: Vec<Vec<(f64, f64)>> = s.steps_s.iter().map(run).collect();
            let last = |points: &Vec<(f64, f64)>| points.last().map_or(f64::NAN, |p| p.1);
            let ends = s.steps_s.iter().zip(&runs).map(|(h, points)| (h.get(), last(points)));
            let ends: Vec<_> = ends.filter(|(_, e)| *e > s.rounding.get()).collect();
            orders.push(order(&ends, |_| true));
            errors.push(last(&runs[s.shown_step]));
            let shown = runs[s.shown_step].clone();
            curves.push(Curve::new(name, shown).mark(Mark::Line).width(width));
        }
        let x = Axis::linear("time", "s");
        let y = Axis::log("largest relative error of the energy so far", "1");
        charts.push(Chart { title: format!("{name}, step {} s", shown.get()), x, y, curves });
    }
    for ((_, name), (row, fitted)) in INTEGRATORS.iter().zip(rows) {
        errors.push(*name, &row);
        orders.push(*name, &fitted);
    }
    let columns = charts.len().min(3);
    let figure = Figure { title: STUDY.title.to_owned(), columns, charts };
    Ok(Findings { tables: vec![errors, orders], figure })
}

/// Points (time, largest error so far), the error relative to the largest kinetic energy of the run.
fn drift(
    m: &Model,
    integrator: Integrator,
    h: f64,
    time_s: f64,
    samples: Count,
) -> Vec<(f64, f64)> {
    let m = with_integrator(m, integrator, h);
    let mut d = first_state(&m);
    let [start, mut largest] = energy(&m, &d);
    let mut points: Vec<(f64, f64)> = Vec::with_capacity(samples.get());
    let mut worst = 0.0_f64;
    for k in 1..=samples.get() {
        let until = time_s * k as f64 / samples.as_f64();
        while d.time < until - 0.5 * h {
            if step(&m, &mut d).is_err() {
                return points;
            }
        }
        let [total, kinetic] = energy(&m, &d);
        largest = largest.max(kinetic);
        worst = worst.max((total - start).abs());
        points.push((d.time, worst));
    }
    points.iter().map(|(t, e)| (*t, e / largest)).collect()
}

/// Total and kinetic energy of a state \[J\].
fn energy(m: &Model, d: &Data<f64>) -> [f64; 2] {
    let mut d = d.clone();
    fwd_position(m, &mut d);
    energy_pos(m, &mut d);
    energy_vel(m, &mut d);
    [d.energy[0] + d.energy[1], d.energy[1]]
}
