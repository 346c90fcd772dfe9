//! What a linearization leaves out: ‖f(x ⊞ δ) ⊟ f(x) − A δ‖ against ‖δ‖.

use dualstep::{Data, Model, StepError, step};
use dualstep_derivatives::tangent::{State, ndx};
use dualstep_derivatives::{mjd_transition_analytic, mjd_transition_fd};
use dualstep_validation::random_tree::Random;
use ndarray::{Array1, Array2};
use serde::Deserialize;

use super::{Study, StudyError, differences, median, models, norm, random_states};
use crate::config::{Config, Count, Positive, Window};
use crate::findings::{Findings, Table, number};
use crate::fit::order;
use crate::plot::{Axis, Chart, Curve, Figure};

/// The study.
pub const STUDY: Study = Study {
    slug: "linearization-error",
    title: "Error of the linearization",
    about: "How far a step from a state that is nudged by δ is from what A predicts, against the size of δ, along \
            random directions; with A in closed form, and with A by forward differences of two sizes.",
    reading: "With the exact A, what is left is of second order: slope 2, down to the rounding of the step itself. \
              With an A by forward differences, the error of A shows as soon as it is larger than the curvature: \
              slope 1 where ‖δ‖ is smaller than the nudge ε. A nudge of 10⁻⁶ leaves little of that above rounding; \
              one of 10⁻⁴ more.",
    config: include_str!("../../configs/linearization-error.toml"),
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
    fit_exact: Window,
    fit_fd: Window,
    fd_eps: [Positive; 2],
}

fn run(config: &Config) -> Result<Findings, StudyError> {
    let s: Settings = config.read()?;
    let eps = s.fd_eps.map(Positive::get);
    let names = ["A in closed form".to_owned(), fd_name(eps[0]), fd_name(eps[1])];
    let mut table = Table::new("slope", &[&names[0], &names[1]]);
    let mut charts = Vec::new();
    for model in &s.models {
        let m = models::load_smooth(model, config, "models")?;
        let sizes = s.sizes.decades(s.sizes_per_decade);
        // errors with each matrix, of all states and directions, for each size
        let mut errors = vec![[const { Vec::new() }; 3]; sizes.len()];
        for (k, d) in random_states(&m, s.seed, s.states.get()).iter().enumerate() {
            let fd = |eps| mjd_transition_fd(&m, d, &differences(false, eps));
            let matrices = [mjd_transition_analytic(&m, d)?.A, fd(eps[0])?.A, fd(eps[1])?.A];
            for direction in directions(&m, s.seed.wrapping_add(k as u64), s.directions.get()) {
                let ray = Ray::new(&m, d, direction)?;
                for (errors, &size) in errors.iter_mut().zip(&sizes) {
                    let step = ray.step(size)?;
                    for (errors, A) in errors.iter_mut().zip(&matrices) {
                        errors.push(ray.error(&step, A, size));
                    }
                }
            }
        }
        let curves = [0, 1, 2].map(|k| {
            let medians = errors.iter().map(|e| median(&e[k]));
            sizes.iter().copied().zip(medians).collect::<Vec<_>>()
        });
        let slopes = [
            order(&curves[0], |x| s.fit_exact.contains(x)),
            order(&curves[1], |x| s.fit_fd.contains(x / eps[0])),
        ];
        table.push(model, &slopes);
        charts.push(chart(model, &names, curves));
    }
    let columns = charts.len().min(3);
    let figure = Figure { title: STUDY.title.to_owned(), columns, charts };
    Ok(Findings { tables: vec![table], figure })
}

fn fd_name(eps: f64) -> String {
    format!("A by differences, ε = {}", number(eps))
}

/// Random directions of the state tangent, of length 1.
pub(super) fn directions(m: &Model, seed: u64, n: usize) -> Vec<Vec<f64>> {
    let mut random = Random::new(seed ^ 0x9E37_79B9);
    let mut direction = || {
        let x: Vec<f64> = (0..ndx(m)).map(|_| random.signed(1.0)).collect();
        let length = norm(&x);
        x.iter().map(|x| x / length).collect()
    };
    (0..n).map(|_| direction()).collect()
}

/// Steps from states along a direction of the tangent.
pub(super) struct Ray<'a> {
    m: &'a Model,
    start: &'a Data<f64>,
    /// The direction, of length 1.
    pub(super) direction: Vec<f64>,
    /// The state after a step from the start.
    next: State<f64>,
}

impl<'a> Ray<'a> {
    pub(super) fn new(
        m: &'a Model,
        start: &'a Data<f64>,
        direction: Vec<f64>,
    ) -> Result<Self, StepError> {
        let mut d = start.clone();
        step(m, &mut d)?;
        Ok(Self { m, start, direction, next: State::of(&d) })
    }

    /// f(x ⊞ size · direction) ⊟ f(x).
    pub(super) fn step(&self, size: f64) -> Result<Vec<f64>, StepError> {
        let delta: Vec<f64> = self.direction.iter().map(|x| size * x).collect();
        let mut state = State::of(self.start);
        state.boxplus(self.m, &delta);
        let mut d = self.start.clone();
        state.write(&mut d);
        step(self.m, &mut d)?;
        let mut difference = vec![0.0; delta.len()];
        State::of(&d).boxminus(self.m, &self.next, 1.0, &mut difference);
        Ok(difference)
    }

    /// ‖step − size · A · direction‖.
    fn error(&self, step: &[f64], A: &Array2<f64>, size: f64) -> f64 {
        let predicted = A.dot(&Array1::from(self.direction.clone()));
        let rest: Vec<f64> = step.iter().zip(&predicted).map(|(x, p)| x - size * p).collect();
        norm(&rest)
    }
}

fn chart(model: &str, names: &[String; 3], [exact, coarse, fine]: [Vec<(f64, f64)>; 3]) -> Chart {
    let [name, coarse_name, fine_name] = names;
    let place = |points: &[(f64, f64)], share: usize, factor: f64| {
        let at = points.get(share * points.len() / 8);
        at.map_or((1.0, 1.0), |(x, y)| (*x, factor * y))
    };
    let curves = vec![
        Curve::slope("slope 2", 2.0, place(&exact, 6, 0.03)),
        Curve::slope_above("slope 1", 1.0, place(&coarse, 2, 10.0)),
        Curve::new(coarse_name, coarse).color(1),
        Curve::new(fine_name, fine).color(4),
        Curve::new(name, exact).color(0),
    ];
    let unit = "m, rad, m/s, …";
    let (x, y) = (Axis::log("‖δ‖", unit), Axis::log("‖f(x ⊞ δ) ⊟ f(x) − A δ‖", unit));
    Chart { title: model.to_owned(), x, y, curves }
}
