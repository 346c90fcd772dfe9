//! Error of the integrators at a fixed time against the step.
//!
//! The truth is RK4 at a much smaller step, so that the integrators are compared with each other as well.
//! Errors are lengths of the state tangent: orientations count as rotations.

use dualstep::{Model, step};
use dualstep_derivatives::tangent::{State, ndx};
use serde::Deserialize;

use super::{INTEGRATORS, Study, StudyError, WIDTHS, first_state, models, norm, with_integrator};
use crate::config::{Config, Count, Positive, Window};
use crate::findings::{Findings, Table};
use crate::fit::order;
use crate::plot::{Axis, Chart, Curve, Figure};

use dualstep::model::Integrator;

/// The study.
pub const STUDY: Study = Study {
    slug: "integrator-order",
    title: "Order of the integrators",
    about: "Error of the state after a fixed time against the step, for all integrators, on a chain of ball joints, \
            a free body and a stiff damped chain; the orders are fitted.",
    reading: "Halving the step halves the error of Euler and of the implicit integrators, and divides that of RK4 by \
              16, on rotations too: its stages are combined on the manifold. Curves that coincide are drawn inside \
              each other. A curve ends where larger steps blow up. On the stiff chain that is where an integrator \
              treats explicitly what is stiff: RK4 everything, Euler, implicit and implicitfast the springs, \
              implicit_spring_damper nothing.",
    config: include_str!("../../configs/integrator-order.toml"),
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    #[serde(rename = "seed")]
    _seed: u64,
    truth_steps: Count,
    largest_error: Positive,
    systems: Vec<System>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct System {
    model: String,
    time_s: Positive,
    steps: Vec<Count>,
    fit_steps: Window,
    fit_rk4_steps: Window,
}

fn run(config: &Config) -> Result<Findings, StudyError> {
    let s: Settings = config.read()?;
    let names: Vec<&str> = s.systems.iter().map(|system| system.model.as_str()).collect();
    let mut orders = vec![Vec::new(); INTEGRATORS.len()];
    let mut largest = orders.clone();
    let mut charts = Vec::new();
    for system in &s.systems {
        let m = models::load_smooth(&system.model, config, "model")?;
        let time_s = system.time_s.get();
        let truth = end(&m, Integrator::RK4, time_s, s.truth_steps.get());
        let truth = truth.ok_or_else(|| config.wrong("truth_steps", "more steps: RK4 blows up"))?;
        let mut curves = Vec::new();
        for (k, (integrator, name)) in INTEGRATORS.into_iter().enumerate() {
            let point = |n: &Count| {
                let error = end(&m, integrator, time_s, n.get()).map(|x| error(&m, &x, &truth));
                (time_s / n.as_f64(), error.filter(|e| *e <= s.largest_error.get()))
            };
            let points: Vec<_> = system.steps.iter().map(point).collect();
            let points: Vec<_> = points.iter().filter_map(|(h, e)| Some((*h, (*e)?))).collect();
            let rk4 = integrator == Integrator::RK4;
            let fit = if rk4 { system.fit_rk4_steps } else { system.fit_steps };
            orders[k].push(order(&points, |h| fit.contains(time_s / h)));
            largest[k].push(points.iter().fold(f64::NAN, |h, p| h.max(p.0)));
            curves.push(Curve::new(name, points).width(WIDTHS[k]));
        }
        let guides = guides(&curves);
        curves.splice(0..0, guides);
        let x = Axis::log("step h", "s");
        let y = Axis::log("error of the state", "m, rad, m/s, rad/s");
        charts.push(Chart { title: format!("{} after {} s", system.model, time_s), x, y, curves });
    }
    let mut tables =
        vec![Table::new("order", &names), Table::new("largest step shown [s]", &names)];
    for (table, rows) in tables.iter_mut().zip([orders, largest]) {
        for ((_, name), row) in INTEGRATORS.iter().zip(rows) {
            table.push(*name, &row);
        }
    }
    let columns = charts.len().min(3);
    Ok(Findings { tables, figure: Figure { title: STUDY.title.to_owned(), columns, charts } })
}

/// State after `n` steps over the whole time; none if it blows up.
fn end(m: &Model, integrator: Integrator, time_s: f64, n: usize) -> Option<State<f64>> {
    let m = with_integrator(m, integrator, time_s / n as f64);
    let mut d = first_state(&m);
    for _ in 0..n {
        step(&m, &mut d).ok()?;
    }
    Some(State::of(&d))
}

/// Length of the tangent between two states.
fn error(m: &Model, x: &State<f64>, truth: &State<f64>) -> f64 {
    let mut dx = vec![0.0; ndx(m)];
    x.boxminus(m, truth, 1.0, &mut dx);
    norm(&dx)
}

/// Slopes 1 and 4, below the first and the last curve at their middle.
fn guides(curves: &[Curve]) -> Vec<Curve> {
    let through = |curve: Option<&Curve>| {
        let points = &curve?.points;
        let (h, e) = points.get(points.len() / 2)?;
        Some((*h, 0.2 * e))
    };
    let slope = |name: &str, n: f64, curve| Some(Curve::slope(name, n, through(curve)?));
    let (first, last) = (curves.first(), curves.last());
    [slope("slope 1", 1.0, first), slope("slope 4", 4.0, last)].into_iter().flatten().collect()
}
