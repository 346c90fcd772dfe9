//! A model under one integrator: the worst over its states.

use dualstep::Model;
use dualstep_derivatives::check::{Block, By, Convergence, Output, VCurve, differentiable};
use dualstep_derivatives::tangent::{ctrl_names, state_names};
use dualstep_derivatives::{Column, Origin, Reason, Side};

use super::kink_sides::KinkSides;
use super::report::{
    BlockReport, Branches, Case, Compared, Curve, Finding, HeatMap, NotCompared, OneSided, Origins,
    Skipped,
};
use super::sample::{Depth, Sample};

/// Puts the samples of all states together.
pub(super) fn case(
    m: &Model,
    integrator: &'static str,
    depth: Depth,
    samples: &[(&str, Result<Sample, String>)],
) -> Case {
    let mut skipped = Vec::new();
    for (state, sample) in samples {
        let skip =
            |method, why: &String| Skipped { state: (*state).to_owned(), method, why: why.clone() };
        match sample {
            Ok(sample) => {
                let refused = sample.refused.iter();
                skipped.extend(refused.map(|(method, why)| skip(Some(*method), why)));
            }
            Err(why) => skipped.push(skip(None, why)),
        }
    }
    let named: Vec<(&str, &Sample)> = samples
        .iter()
        .filter_map(|(state, sample)| Some((*state, sample.as_ref().ok()?)))
        .collect();
    let full = depth == Depth::Full;
    let blocks = Block::all(m);
    Case {
        integrator,
        full,
        compared: named.len(),
        skipped,
        blocks: blocks.iter().map(|block| block_report(m, *block, full, &named)).collect(),
        curves: if full { curves(&blocks, &named) } else { Vec::new() },
        heat_map: named.first().filter(|_| full).map(|_| heat_map(&named)),
        origins: named.first().map_or_else(Vec::new, |(_, sample)| origins(m, sample)),
        one_sided: one_sided(m, &named),
        kinks: kinks(&named),
        kink_states: named.iter().filter(|(_, sample)| has_kink(sample)).count(),
        not_covered: not_covered(&named),
    }
}

fn block_report(m: &Model, block: Block, full: bool, samples: &[(&str, &Sample)]) -> BlockReport {
    let (mut findings, mut not_compared) = (Vec::new(), Vec::new());
    for method in Compared::ALL {
        let found = samples.iter().flat_map(|(_, sample)| &sample.findings);
        let found = found.filter(|f| f.method == method && f.block == block).cloned();
        match found.reduce(Finding::worse) {
            Some(worst) => findings.push(worst),
            None if full || method == Compared::ClosedForm => {
                let why = why_not(m, block, method, samples);
                not_compared.push(NotCompared { method, why });
            }
            None => {}
        }
    }
    let size = [block.rows(m).len(), block.columns(m).len()];
    BlockReport { block, size, findings, not_compared }
}

/// Why a method was not compared in any state.
fn why_not(m: &Model, block: Block, method: Compared, samples: &[(&str, &Sample)]) -> String {
    let Some((_, sample)) = samples.first() else {
        return "no state could be linearized".to_owned();
    };
    if let Some((_, why)) = sample.refused.iter().find(|(refused, _)| *refused == method) {
        return why.clone();
    }
    if method == Compared::ClosedForm {
        let sensors = block.of == Output::Sensor;
        let column = sample.columns[usize::from(sensors)].get(block.columns(m).start);
        return column.map_or_else(String::new, |column| match column.why {
            Reason::NotCovered(_) => column.why.to_string(),
            _ => format!("taken by {} numbers, which are the reference", column.origin),
        });
    }
    "every column is at a kink".to_owned()
}

/// V-curves: for each size of nudge the largest error over all states.
fn curves(blocks: &[Block], samples: &[(&str, &Sample)]) -> Vec<Curve> {
    let closed = |block: Option<Block>| {
        let found = samples.iter().flat_map(|(_, sample)| &sample.findings);
        let of = |f: &&Finding| {
            f.method == Compared::ClosedForm && block.is_none_or(|block| f.block == block)
        };
        found.filter(of).map(|f| f.err).reduce(f64::max)
    };
    let rounding = |block: Option<Block>| {
        let found = samples.iter().flat_map(|(_, sample)| &sample.rounding);
        let of = |(b, _): &&(Block, f64)| block.is_none_or(|block| *b == block);
        found.filter(of).map(|(_, err)| *err).fold(0.0, f64::max)
    };
    let branches = |block: Option<Block>, side: usize| {
        let of = |c: &Convergence| match block {
            None => Some(c.worst.clone()),
            Some(block) => c.blocks.iter().find(|(b, _)| *b == block).map(|(_, v)| v.clone()),
        };
        let found = samples.iter().filter_map(|(_, sample)| of(sample.curves[side].as_ref()?));
        let worst = found.reduce(|mut worst: VCurve, v| {
            worst.raise(&v);
            worst
        });
        worst.as_ref().and_then(Branches::of)
    };
    let all = std::iter::once(None).chain(blocks.iter().copied().map(Some));
    all.map(|block| Curve {
        block,
        centered: branches(block, 0),
        forward: branches(block, 1),
        closed_form: closed(block),
        dual_rounding: rounding(block),
    })
    .collect()
}

fn heat_map(samples: &[(&str, &Sample)]) -> HeatMap {
    let mut worst = samples[0].1.entries.clone();
    worst.errors.fill(0.0);
    for (_, sample) in samples.iter().filter(|(_, sample)| !sample.ill_conditioned) {
        worst.raise(&sample.entries);
    }
    let columns = worst.width.max(1);
    let entries = worst.errors.iter().enumerate().filter(|(_, err)| **err > 0.0);
    HeatMap {
        rows: worst.errors.len() / columns,
        columns: worst.width,
        entries: entries.map(|(at, err)| (at / columns, at % columns, err.min(f64::MAX))).collect(),
        state_columns: worst.independent[0].clone(),
        sensor_columns: worst.independent[1].clone(),
    }
}

/// Columns that come from the same method for the same reason, in order.
fn origins(m: &Model, sample: &Sample) -> Vec<Origins> {
    let names: Vec<String> = state_names(m).into_iter().chain(ctrl_names(m)).collect();
    let mut found: Vec<Origins> = Vec::new();
    for (matrices, columns) in ["A B", "C D"].into_iter().zip(&sample.columns) {
        if matrices == "C D" && m.nsensordata == 0 {
            continue;
        }
        for by in [By::Position, By::Velocity, By::Activation, By::Control] {
            let range = Block { of: Output::Velocity, by }.columns(m);
            for (name, column) in names[range.clone()].iter().zip(&columns[range.clone()]) {
                let (origin, why, by) = (column.origin.to_string(), why(*column), by.to_string());
                let same = |o: &&mut Origins| {
                    o.matrices == matrices && o.by == by && o.origin == origin && o.why == why
                };
                match found.iter_mut().find(same) {
                    Some(known) => known.columns.push(name.clone()),
                    None => found.push(Origins {
                        matrices,
                        by,
                        columns: vec![name.clone()],
                        of: range.len(),
                        origin,
                        why,
                    }),
                }
            }
        }
    }
    found
}

fn why(column: Column) -> String {
    match (column.origin, column.why) {
        (Origin::Dual, Reason::Requested) => "by default".to_owned(),
        (_, why) => why.to_string(),
    }
}

/// Each kink in the first state that has it.
fn kinks(samples: &[(&str, &Sample)]) -> Vec<KinkSides> {
    let mut found: Vec<KinkSides> = Vec::new();
    for kink in samples.iter().flat_map(|(_, sample)| &sample.kinks) {
        if found.iter().all(|known| known.kink != kink.kink) {
            found.push(kink.clone());
        }
    }
    found
}

/// True if a column has a kink other than a control at an end of its range.
fn has_kink(sample: &Sample) -> bool {
    sample.columns[0].iter().any(|column| !differentiable(column))
}

/// Columns that have another derivative on the other side of some state.
fn one_sided(m: &Model, samples: &[(&str, &Sample)]) -> Vec<OneSided> {
    let names: Vec<String> = state_names(m).into_iter().chain(ctrl_names(m)).collect();
    let mut found: Vec<OneSided> = Vec::new();
    for (state, sample) in samples {
        for (name, column) in names.iter().zip(&sample.columns[0]) {
            if !column.one_sided() {
                continue;
            }
            let side = match column.side {
                Side::Both => "as the step is programmed".to_owned(),
                side => side.to_string(),
            };
            let kink = column.kink.map(|kink| kink.describe(m));
            let same = |o: &&mut OneSided| o.states == [*state] && o.side == side && o.kink == kink;
            match found.iter_mut().find(same) {
                Some(known) => known.columns.push(name.clone()),
                None => found.push(OneSided {
                    columns: vec![name.clone()],
                    side,
                    kink,
                    states: vec![(*state).to_owned()],
                    differences: differentiable(column),
                }),
            }
        }
    }
    // the same columns in several states stand in one line
    let mut merged: Vec<OneSided> = Vec::new();
    for one in found {
        let same = |o: &&mut OneSided| {
            (&o.columns, &o.side, &o.kink) == (&one.columns, &one.side, &one.kink)
        };
        match merged.iter_mut().find(same) {
            Some(known) => known.states.extend(one.states),
            None => merged.push(one),
        }
    }
    merged
}

/// Features without a closed form, each once.
fn not_covered(samples: &[(&str, &Sample)]) -> Vec<String> {
    let mut found = Vec::new();
    for column in samples.iter().flat_map(|(_, sample)| sample.columns.iter().flatten()) {
        if let Reason::NotCovered(feature) = column.why {
            let text = feature.to_string();
            if !found.contains(&text) {
                found.push(text);
            }
        }
    }
    found
}
