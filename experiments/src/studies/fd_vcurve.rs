//! Error of finite differences of a step against the size of the nudge.
//!
//! A difference of step ε has an error of order ε (forward) or ε² (centred) from the curvature of the step, and
//! of order 10⁻¹⁶/ε from rounding: a curve like a V, whose bottom is far above what exact derivatives reach.

use dualstep::{Data, Model};
use dualstep_derivatives::{
    Transition, mjd_transition_analytic, mjd_transition_dual, mjd_transition_fd,
};
use serde::Deserialize;

use super::{Study, StudyError, differences, distance, models, random_states};
use crate::config::{Config, Count, Window};
use crate::findings::{Findings, Table};
use crate::fit::order;
use crate::plot::{Axis, Chart, Curve, Figure, Mark};

/// The study.
pub const STUDY: Study = Study {
    slug: "fd-vcurve",
    title: "Finite differences against exact derivatives",
    about: "Error of A and B by forward and centred differences of a step, against the size of the nudge. \
            Baseline: how far the closed form and dual numbers are apart.",
    reading: "Each point is the largest error of an entry, relative to the largest entry, in the worst of several \
              random states; the reference is the closed form. To the right of a minimum the curvature of the step \
              shows, with slope 1 (forward) and 2 (centred), to the left rounding, with slope −1. Where a step is \
              nearly linear in the controls, as that of the humanoid's motors, B hardly has a right branch; where \
              a nudge crosses a kink of an actuator, as the largest ones do, it has a jump. At their best, forward \
              differences are some seven digits, centred ones some five digits short of the exact derivatives, and \
              no nudge is best for all models, or for A and B.",
    config: include_str!("../../configs/fd-vcurve.toml"),
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    seed: u64,
    models: Vec<String>,
    states: Count,
    nudge: Window,
    nudges_per_decade: Count,
    fit_forward: Window,
    fit_centred: Window,
    fit_rounding: Window,
}

fn run(config: &Config) -> Result<Findings, StudyError> {
    let s: Settings = config.read()?;
    let columns = [
        "slope, forward",
        "slope, centred",
        "slope, rounding",
        "best forward",
        "at ε",
        "best centred",
        "at ε (centred)",
        "closed − dual",
    ];
    let mut table = Table::new("A", &columns);
    let mut charts = Vec::new();
    for name in &s.models {
        let m = models::load_smooth(name, config, "models")?;
        let states = random_states(&m, s.seed, s.states.get());
        let measured = measure(&m, &states, &s.nudge.decades(s.nudges_per_decade))?;
        let [[forward, _], [centred, _]] = &measured.errors;
        let (best, at) = lowest(forward);
        let (best_centred, at_centred) = lowest(centred);
        let row = [
            order(forward, |e| s.fit_forward.contains(e)),
            order(centred, |e| s.fit_centred.contains(e)),
            order(centred, |e| s.fit_rounding.contains(e)),
            best,
            at,
            best_centred,
            at_centred,
            measured.baseline,
        ];
        table.push(name, &row);
        charts.push(chart(name, measured, [s.fit_forward, s.fit_centred]));
    }
    let columns = charts.len().min(3);
    let figure = Figure { title: STUDY.title.to_owned(), columns, charts };
    Ok(Findings { tables: vec![table], figure })
}

/// Points (ε, error).
type Points = Vec<(f64, f64)>;

/// Errors in the worst state.
struct Measured {
    /// Of A and B, by forward and by centred differences.
    errors: [[Points; 2]; 2],
    /// Between closed form and dual numbers.
    baseline: f64,
}

fn measure(m: &Model, states: &[Data<f64>], nudges: &[f64]) -> Result<Measured, StudyError> {
    let zero: Points = nudges.iter().map(|eps| (*eps, 0.0)).collect();
    let mut errors = [[zero.clone(), zero.clone()], [zero.clone(), zero]];
    let mut baseline = 0.0_f64;
    for d in states {
        let exact = mjd_transition_analytic(m, d)?;
        let dual = mjd_transition_dual(m, d)?;
        baseline = distances(&exact, &dual).into_iter().fold(baseline, f64::max);
        for (curves, centered) in errors.iter_mut().zip([false, true]) {
            for (k, &eps) in nudges.iter().enumerate() {
                let fd = mjd_transition_fd(m, d, &differences(centered, eps))?;
                for (curve, error) in curves.iter_mut().zip(distances(&fd, &exact)) {
                    curve[k].1 = curve[k].1.max(error);
                }
            }
        }
    }
    Ok(Measured { errors, baseline })
}

/// Of A and of B.
fn distances(x: &Transition, exact: &Transition) -> [f64; 2] {
    [distance(&x.A, &exact.A), distance(&x.B, &exact.B)]
}

/// The smallest error, and where.
fn lowest(points: &[(f64, f64)]) -> (f64, f64) {
    let first = points.iter().min_by(|a, b| a.1.total_cmp(&b.1));
    first.map_or((f64::NAN, f64::NAN), |(eps, error)| (*error, *eps))
}

fn chart(name: &str, measured: Measured, fits: [Window; 2]) -> Chart {
    // in the middle of the window, or the last point in it
    let middle = |points: &Points, fit: Window| {
        let inside: Vec<_> = points.iter().filter(|p| fit.contains(p.0)).collect();
        inside.get(inside.len() / 2).map_or((1.0, 1.0), |p| **p)
    };
    let last = |points: &Points, fit: Window| {
        points.iter().rfind(|p| fit.contains(p.0)).map_or((1.0, 1.0), |p| *p)
    };
    let Measured { errors: [[forward_a, forward_b], [centred_a, centred_b]], baseline } = measured;
    let (one, two) = (middle(&forward_a, fits[0]), last(&centred_a, fits[1]));
    let mut curves = vec![
        Curve::slope_above("slope 1", 1.0, (one.0, 10.0 * one.1)),
        Curve::slope("slope 2", 2.0, (two.0, 0.1 * two.1)),
        Curve::new("A, forward", forward_a).color(0),
        Curve::new("A, centred", centred_a).color(1),
    ];
    // a model without controls has no B
    for (name, points, color) in [("B, forward", forward_b, 5), ("B, centred", centred_b, 4)] {
        if points.iter().any(|p| p.1 > 0.0) {
            curves.push(Curve::new(name, points).color(color).mark(Mark::Dashed));
        }
    }
    curves.push(Curve::level("closed form − dual", baseline));
    let (x, y) = (Axis::log("nudge ε", "m, rad, m/s, …"), Axis::log("relative error", "1"));
    Chart { title: name.to_owned(), x, y, curves }
}
