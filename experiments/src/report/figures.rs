//! The figures of a report.

use std::ops::Range;

use dualstep_derivatives::check::{By, Output};
use dualstep_validation::derivatives::{
    Branches, Case, Curve as Measured, HeatMap, ModelReport, SolverStudy,
};

use crate::plot::{self, Axis, Chart, Curve, Figure, Mark, PlotError};

/// Errors above one say nothing more, and below rounding neither.
const ERRORS: Range<f64> = 1e-17..3e1;
const NUDGES: Range<f64> = 8e-14..4e-1;

/// V-curves of all blocks together.
pub(super) fn v_curve(case: &Case) -> Result<Option<String>, PlotError> {
    let Some(all) = case.curves.first() else { return Ok(None) };
    let mut chart = chart("all of [A B; C D]", all);
    for (side, name, order) in [(&all.centered, "ε²", 2.0), (&all.forward, "ε", 1.0)] {
        if let Some(through) = side.as_ref().and_then(on_the_right) {
            chart.curves.insert(0, Curve::slope(name, order, through));
        }
    }
    let title = format!("Differences under {}", case.integrator);
    let figure = Figure { title, columns: 1, charts: vec![chart] };
    figure.svg().map(Some)
}

/// V-curves block by block.
pub(super) fn block_curves(case: &Case) -> Result<Vec<String>, PlotError> {
    let charts: Vec<Chart> = case
        .curves
        .iter()
        .filter_map(|curve| Some(chart(&curve.block?.to_string(), curve)))
        .collect();
    let title = |k| match k {
        0 => format!("Differences under {}, block by block", case.integrator),
        _ => String::new(),
    };
    // as many as a printed page has room for
    let pages = charts.chunks(9).enumerate();
    pages
        .map(|(k, charts)| {
            Figure { title: title(k), columns: 3, charts: charts.to_vec() }.svg_without_legend()
        })
        .collect()
}

fn chart(title: &str, measured: &Measured) -> Chart {
    let mut curves = Vec::new();
    for (name, side) in
        [("centred differences", &measured.centered), ("forward differences", &measured.forward)]
    {
        let points = side.iter().flat_map(|s| s.eps.iter().copied().zip(s.err.iter().copied()));
        curves.push(Curve::new(name, points.collect()));
    }
    // zero has no place on the axis: the table says so
    let levels = [
        ("closed form", measured.closed_form, 2),
        ("dual numbers, rounding", Some(measured.dual_rounding), 3),
    ];
    for (name, level, color) in levels {
        let level = level.filter(|err| *err > 0.0).unwrap_or(f64::NAN);
        curves.push(Curve::level(name, level).mark(Mark::Level).color(color));
    }
    Chart {
        title: title.to_owned(),
        x: Axis::log("nudge ε", "").range(NUDGES),
        y: Axis::log("error", "").range(ERRORS),
        curves,
    }
}

/// A point of the branch of truncation, a little below the curve.
fn on_the_right(side: &Branches) -> Option<(f64, f64)> {
    side.truncation_slope?;
    let [bottom, _] = side.minimum;
    let found = side.eps.iter().zip(&side.err).find(|(eps, _)| **eps > 60.0 * bottom);
    found.map(|(eps, err)| (*eps, 0.2 * err))
}

/// V-curves of centred differences in contact, for settings of the solver.
pub(super) fn solver_curves(study: &SolverStudy) -> Result<String, PlotError> {
    let curves = study.curves.iter().filter_map(|c| {
        let curve = c.curve.as_ref()?;
        let start = if c.warmstart { "warm" } else { "cold" };
        let points = curve.eps.iter().copied().zip(curve.err.iter().copied());
        Some(Curve::new(format!("{start} start, tolerance {:.0e}", c.tolerance), points.collect()))
    });
    let chart = Chart {
        title: study.state.clone(),
        x: Axis::log("nudge ε", "").range(NUDGES),
        y: Axis::log("error", "").range(ERRORS),
        curves: curves.collect(),
    };
    let title = "Centred differences in contact".to_owned();
    Figure { title, columns: 1, charts: vec![chart] }.svg()
}

/// |closed form − dual| over [A B; C D].
pub(super) fn heat(report: &ModelReport, case: &Case, map: &HeatMap) -> Result<String, PlotError> {
    let sizes = report.sizes;
    let states = 2 * sizes.nv + sizes.na;
    let groups = |parts: [(String, usize); 4]| -> Vec<(String, usize)> {
        parts.into_iter().filter(|(_, n)| *n > 0).collect()
    };
    let (nv, na, nu, ns) = (sizes.nv, sizes.na, sizes.nu, sizes.nsensordata);
    let outputs = [Output::Position, Output::Velocity, Output::Activation, Output::Sensor];
    let inputs = [By::Position, By::Velocity, By::Activation, By::Control];
    let rows = [nv, nv, na, ns];
    let columns = [nv, nv, na, nu];
    let mut absent = Vec::new();
    for (rows, closed) in [(0..states, &map.state_columns), (states..map.rows, &map.sensor_columns)]
    {
        for columns in runs(closed).filter(|_| !rows.is_empty()) {
            absent.push([rows.clone(), columns]);
        }
    }
    let map = plot::HeatMap {
        title: format!("|closed form − dual numbers|, {}", case.integrator),
        size: [map.rows, map.columns],
        entries: map.entries.clone(),
        rows: groups(std::array::from_fn(|k| (outputs[k].to_string(), rows[k]))),
        columns: groups(std::array::from_fn(|k| (format!("∂{}", inputs[k]), columns[k]))),
        absent,
        decades: [-18, -11],
        scale: "error of an entry".to_owned(),
    };
    map.svg()
}

/// Runs of columns without a closed form.
fn runs(closed: &[bool]) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let first = start + closed[start..].iter().position(|closed| !closed)?;
        let length = closed[first..].iter().take_while(|closed| !**closed).count();
        start = first + length;
        Some(first..start)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_the_columns_that_are_not_closed() {
        let of = |closed: &[bool]| runs(closed).collect::<Vec<_>>();
        assert_eq!(of(&[true, false, false, true, false]), [1..3, 4..5]);
        assert!(of(&[true, true]).is_empty() && of(&[]).is_empty());
    }
}
