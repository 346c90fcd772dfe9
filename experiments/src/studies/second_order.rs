//! What is left with the second derivative: ‖f(x ⊞ δ) ⊟ f(x) − A δ − ½ δᵀH δ‖ against ‖δ‖.
//!
//! Aδ and δᵀHδ come from one step on second-order dual numbers along the direction of δ.

use dualstep::integrate::{differentiate_pos, integrate_pos};
use dualstep::{Data, Model, Scalar, StepError, step};
use num_dual::Dual2_64;
use serde::Deserialize;

use super::linearization_error::{Ray, directions};
use super::{Study, StudyError, median, models, norm, random_states};
use crate::config::{Config, Count, Window};
use crate::findings::{Findings, Table};
use crate::fit::order;
use crate::plot::{Axis, Chart, Curve, Figure};

/// The study.
pub const STUDY: Study = Study {
    slug: "second-order",
    title: "Error of the second-order expansion",
    about: "How far a step from a nudged state is from its expansion to second order, against the size of the nudge, \
            along random directions; the second derivative is by second-order dual numbers. Baseline: the \
            expansion to first order.",
    reading: "The second-order term takes the error from slope 2 to slope 3: first and second derivatives are both \
              exact, on orientations too. Both curves end in the rounding of the step.",
    config: include_str!("../../configs/second-order.toml"),
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    seed: u64,
    models: Vec<String>,
    states: Count,
    directions: Count,
    sizes: Window,
    sizes_per_decade: Count,
    fit_first: Window,
    fit_second: Window,
}

fn run(config: &Config) -> Result<Findings, StudyError> {
    let s: Settings = config.read()?;
    let mut table = Table::new("slope", &["to first order", "to second order"]);
    let mut charts = Vec::new();
    for name in &s.models {
        let m = models::load_smooth(name, config, "models")?;
        let sizes = s.sizes.decades(s.sizes_per_decade);
        let mut errors = vec![[Vec::new(), Vec::new()]; sizes.len()];
        for (k, d) in random_states(&m, s.seed, s.states.get()).iter().enumerate() {
            for direction in directions(&m, s.seed.wrapping_add(k as u64), s.directions.get()) {
                let ray = Ray::new(&m, d, direction)?;
                let [first, second] = derivatives(&m, d, &ray.direction)?;
                for (errors, &t) in errors.iter_mut().zip(&sizes) {
                    let mut rest = ray.step(t)?;
                    let terms = [(&first, t), (&second, 0.5 * t * t)];
                    for (errors, (derivative, factor)) in errors.iter_mut().zip(terms) {
                        rest.iter_mut().zip(derivative).for_each(|(x, d)| *x -= factor * d);
                        errors.push(norm(&rest));
                    }
                }
            }
        }
        let [first, second] = [0, 1].map(|k| {
            let medians = errors.iter().map(|e| median(&e[k]));
            sizes.iter().copied().zip(medians).collect::<Vec<_>>()
        });
        let slopes = [
            order(&first, |x| s.fit_first.contains(x)),
            order(&second, |x| s.fit_second.contains(x)),
        ];
        table.push(name, &slopes);
        charts.push(chart(name, first, second));
    }
    let columns = charts.len().min(3);
    let figure = Figure { title: STUDY.title.to_owned(), columns, charts };
    Ok(Findings { tables: vec![table], figure })
}

/// First and second derivative by t of f(x ⊞ t · direction) ⊟ f(x), at t = 0.
fn derivatives(
    m: &Model,
    start: &Data<f64>,
    direction: &[f64],
) -> Result<[Vec<f64>; 2], StepError> {
    let moving = |x: f64, speed: f64| Dual2_64::new(x, speed, 0.0);
    let mut d = Data::<Dual2_64>::new(m);
    d.set_state_from(start);
    let (dq, rest) = direction.split_at(m.nv);
    let (dv, da) = rest.split_at(m.nv);
    let dq: Vec<_> = dq.iter().map(|x| moving(0.0, *x)).collect();
    integrate_pos(m, &mut d.qpos, &dq, Dual2_64::lift(1.0));
    for (x, speed) in d.qvel.iter_mut().zip(dv).chain(d.act.iter_mut().zip(da)) {
        *x += moving(0.0, *speed);
    }
    step(m, &mut d)?;

    // ⊟ f(x): its real part is zero
    let next: Vec<_> = d.qpos.iter().map(|x| Dual2_64::lift(x.re())).collect();
    let mut position = vec![Dual2_64::lift(0.0); m.nv];
    differentiate_pos(m, &mut position, Dual2_64::lift(1.0), &next, &d.qpos);
    let all = || position.iter().chain(&d.qvel).chain(&d.act);
    Ok([1, 2].map(|k| all().map(|x| x.part(k)).collect()))
}

fn chart(name: &str, first: Vec<(f64, f64)>, second: Vec<(f64, f64)>) -> Chart {
    let below = |points: &[(f64, f64)], share: usize| {
        let at = points.get(share * points.len() / 8);
        at.map_or((1.0, 1.0), |(x, y)| (*x, 0.1 * y))
    };
    let curves = vec![
        Curve::slope("slope 2", 2.0, below(&first, 4)),
        Curve::slope("slope 3", 3.0, below(&second, 6)),
        Curve::new("to first order", first).color(1),
        Curve::new("to second order", second).color(0),
    ];
    let unit = "m, rad, m/s, …";
    let (x, y) = (Axis::log("‖δ‖", unit), Axis::log("distance from the expansion", unit));
    Chart { title: name.to_owned(), x, y, curves }
}
