//! The tables of a report, before they are HTML or Markdown.

use std::fmt::Write as _;

use dualstep_validation::derivatives::{
    BlockReport, Branches, Case, Compared, Finding, ModelReport, Verdict,
};

use super::timing::{BATCHES, Timing};
use super::{Document, Subject, text};
use crate::bench::Spread;

/// A table.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Table {
    pub title: String,
    /// What a reader must know; may be empty.
    pub note: String,
    pub head: Vec<&'static str>,
    /// Columns of numbers, set flush right.
    pub numbers: Vec<bool>,
    pub rows: Vec<Vec<Cell>>,
}

/// A cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Cell {
    pub text: String,
    pub tone: Tone,
    /// Small squares before the text, one for each integrator.
    pub marks: Vec<Mark>,
    /// Columns that the cell takes, if more than one; those that it covers are not listed.
    pub span: usize,
    /// Where the text leads, in HTML.
    pub link: Option<String>,
}

/// How a cell looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Tone {
    #[default]
    Plain,
    Strong,
    Muted,
    Pass,
    Fail,
}

/// What was measured under an integrator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Mark {
    Measured(f64),
    /// No closed form.
    Without,
    /// Not exercised.
    Absent,
}

impl Cell {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    pub(super) fn tone(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }

    pub(super) fn muted(text: impl Into<String>) -> Self {
        Self::new(text).tone(Tone::Muted)
    }

    fn verdict(verdict: Verdict) -> Self {
        Self::new(verdict.to_string()).tone(tone(verdict))
    }

    /// An error, red where it exceeds its tolerance.
    fn error(finding: &Finding) -> Self {
        let failed = finding.verdict() == Verdict::Fail;
        Self::new(number(finding.err)).tone(if failed { Tone::Fail } else { Tone::Plain })
    }
}

impl Table {
    /// A table whose head marks columns of numbers with a leading `#`.
    pub(super) fn new(title: impl Into<String>, head: &[&'static str]) -> Self {
        Self {
            title: title.into(),
            numbers: head.iter().map(|text| text.starts_with('#')).collect(),
            head: head.iter().map(|text| text.trim_start_matches('#')).collect(),
            ..Self::default()
        }
    }

    pub(super) fn note(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }
}

fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Pass => Tone::Pass,
        Verdict::Fail => Tone::Fail,
        Verdict::NotCompared => Tone::Muted,
    }
}

/// Two digits; zero is zero.
pub(super) fn number(x: f64) -> String {
    match x {
        0.0 => "0".to_owned(),
        x if x.is_infinite() => "not finite".to_owned(),
        x => format!("{x:.1e}"),
    }
}

fn slope(x: Option<f64>) -> Cell {
    x.map_or_else(|| Cell::muted("–"), |x| Cell::new(format!("{x:.2}").replace('-', "−")))
}

fn maybe<T>(x: Option<T>, show: impl Fn(T) -> String) -> Cell {
    x.map_or_else(|| Cell::muted("–"), |x| Cell::new(show(x)))
}

/// What was run, when and where.
pub(super) fn provenance(document: &Document) -> Table {
    let (p, asked) = (&document.provenance, &document.options);
    let build = if p.optimized { "" } else { " (not optimized: times say little)" };
    let replaced = if asked.replaced.is_empty() {
        "the models' own".to_owned()
    } else {
        asked.replaced.join(", ")
    };
    let mut states = format!(
        "{} random states of each model with seed {}, the reference configuration, all keyframes",
        asked.states, asked.seed
    );
    if let Some(folder) = &asked.golden {
        let _ = write!(states, ", the states of {}", folder.display());
    }
    if asked.rollout > 0 {
        let _ = write!(
            states,
            ", {} states of a rollout under random controls (closed form only, the model's integrator)",
            asked.rollout
        );
    }
    let depth = match (asked.closed_form, asked.all_integrators) {
        (true, _) => "the closed form under all five integrators",
        (false, true) => "all methods under all five integrators",
        (false, false) => {
            "all methods under the model's integrator, the closed form under all five"
        }
    };
    let rows = [
        ("command", p.command.clone()),
        ("dualstep", format!("{}, commit {}{build}", p.version, p.commit)),
        ("date", p.date.clone()),
        ("machine", format!("{}; {} threads", p.machine, p.threads)),
        ("compared", depth.to_owned()),
        ("states", states),
        ("options", replaced),
    ];
    let mut table = Table::new("What was run", &["", ""]);
    table.rows = rows.into_iter().map(|(k, v)| vec![Cell::muted(k), Cell::new(v)]).collect();
    table
}

/// Terms, and what they mean.
pub(super) fn terms() -> Table {
    let mut table = Table::new("Terms", &["", ""]);
    let row = |(term, meaning): (&str, &str)| {
        vec![Cell::new(term).tone(Tone::Strong), Cell::new(meaning)]
    };
    table.rows = text::DEFINITIONS.into_iter().map(row).collect();
    table
}

/// One line a model.
pub(super) fn summary(document: &Document) -> Table {
    let head = [
        "model",
        "#nv",
        "#nu",
        "#na",
        "#sensors",
        "#states",
        "#closed form",
        "#centred",
        "#forward",
        "#hybrid",
        "verdict",
    ];
    let mut table = Table::new("Models", &head).note(
        "Largest error of each method against dual numbers over all blocks, states and integrators under which it was \
         compared; differences at the size of nudge where they are quietest.",
    );
    for model in &document.models {
        let (r, s) = (&model.report, model.report.sizes);
        let mut row = vec![Cell::new(r.name.clone()).tone(Tone::Strong)];
        let sizes = [s.nv, s.nu, s.na, s.nsensordata, r.states.len()];
        row.extend(sizes.map(|n| Cell::new(n.to_string())));
        row.extend(Compared::ALL.map(|method| {
            let found = r.cases.iter().filter_map(|case| case.worst(method));
            found
                .cloned()
                .reduce(Finding::worse)
                .map_or_else(|| Cell::muted("–"), |f| Cell::error(&f))
        }));
        row.push(Cell::verdict(r.verdict()));
        table.rows.push(row);
    }
    table
}

/// What the model is.
pub(super) fn identity(subject: &Subject) -> Table {
    let (r, s) = (&subject.report, subject.report.sizes);
    let own = r.cases.first().map_or("", |case| case.integrator);
    let mut rows = vec![
        ("file", subject.source.clone()),
        ("SHA-256 of the file", subject.file_sha256.clone()),
        ("SHA-256 of the compiled model", subject.model_sha256.clone()),
        (
            "sizes",
            format!(
                "{} bodies, nq {}, nv {}, na {}, nu {}, {} sensor values",
                s.nbody - 1,
                s.nq,
                s.nv,
                s.na,
                s.nu,
                s.nsensordata
            ),
        ),
        ("step", format!("{} s, {own}", r.timestep)),
        ("states", r.states.join("; ")),
    ];
    for sentence in subject.notes() {
        rows.push(("left out", sentence.clone()));
    }
    let mut table = Table::new("", &["", ""]);
    table.rows = rows.into_iter().map(|(k, v)| vec![Cell::muted(k), Cell::new(v)]).collect();
    table
}

/// Blocks by methods.
pub(super) fn overview(case: &Case) -> Table {
    let head = [
        "block",
        "#size",
        "#closed form",
        "#centred",
        "#bound",
        "#forward",
        "#bound",
        "#hybrid",
        "#bound",
        "verdict",
    ];
    let title = format!("Errors by block, {}", case.integrator);
    let mut table = Table::new(title, &head).note(
        "Against dual numbers, the worst over all states. The closed form passes at 1e-11, where constraints push at 1e-9; a dash: no closed form to \
         compare.",
    );
    for block in &case.blocks {
        let [rows, columns] = block.size;
        let mut row = vec![
            Cell::new(block.block.to_string()).tone(Tone::Strong),
            Cell::muted(format!("{rows} × {columns}")),
        ];
        row.push(block.by(Compared::ClosedForm).map_or_else(|| Cell::muted("–"), Cell::error));
        for method in [Compared::Centered, Compared::Forward, Compared::Hybrid] {
            match block.by(method) {
                Some(f) => row.extend([Cell::error(f), Cell::muted(number(f.tolerance))]),
                None => row.extend([Cell::muted("–"), Cell::default()]),
            }
        }
        row.push(Cell::verdict(block.verdict()));
        table.rows.push(row);
    }
    table
}

/// Worst entries by name.
pub(super) fn worst_entries(case: &Case) -> Table {
    let head = ["block", "method", "#error", "worst entry", "state", "#ε", "#standard", "verdict"];
    let title = format!("Worst entries, {}", case.integrator);
    let mut table = Table::new(title, &head);
    for block in &case.blocks {
        let mut name = Cell::new(block.block.to_string()).tone(Tone::Strong);
        for method in Compared::ALL {
            let Some(row) = worst_entry(block, method) else { continue };
            table.rows.push([vec![std::mem::take(&mut name)], row].concat());
        }
    }
    table
}

fn worst_entry(block: &BlockReport, method: Compared) -> Option<Vec<Cell>> {
    let method_cell = Cell::new(short(method));
    if let Some(f) = block.by(method) {
        let equal = f.entry.iter().all(String::is_empty);
        let entry = if equal {
            Cell::muted("equal to the last bit")
        } else {
            Cell::new(format!("∂ {} / ∂ {}", f.entry[0], f.entry[1]))
        };
        return Some(vec![
            method_cell,
            Cell::error(f),
            entry,
            if equal { Cell::muted("all") } else { Cell::new(f.state.clone()) },
            maybe(f.eps, number),
            maybe(f.standard, number),
            Cell::verdict(f.verdict()),
        ]);
    }
    let not = block.not_compared.iter().find(|n| n.method == method)?;
    let dash = || Cell::muted("–");
    let why = Cell::muted(not.why.clone());
    Some(vec![
        method_cell,
        dash(),
        why,
        dash(),
        dash(),
        dash(),
        Cell::verdict(Verdict::NotCompared),
    ])
}

/// The method, as the heads of tables have it.
fn short(method: Compared) -> &'static str {
    match method {
        Compared::ClosedForm => "closed form",
        Compared::Centered => "centred",
        Compared::Forward => "forward",
        Compared::Hybrid => "hybrid",
    }
}

/// The closed form under all integrators.
pub(super) fn integrators(report: &ModelReport) -> Table {
    let mut head = vec!["block"];
    head.extend(report.cases.iter().map(|case| case.integrator));
    let mut table = Table::new("Closed form under every integrator", &head)
        .note("Error against dual numbers; passes at 1e-11, where constraints push at 1e-9. A dash: no closed form to compare.");
    table.numbers = head.iter().map(|text| *text != "block").collect();
    let blocks = report.cases.first().map_or(&[][..], |case| &case.blocks);
    for (i, block) in blocks.iter().enumerate() {
        let mut row = vec![Cell::new(block.block.to_string()).tone(Tone::Strong)];
        row.extend(report.cases.iter().map(|case| {
            let found = case.blocks[i].by(Compared::ClosedForm);
            found.map_or_else(|| Cell::muted("–"), Cell::error)
        }));
        table.rows.push(row);
    }
    let mut row = vec![Cell::muted("states compared")];
    row.extend(report.cases.iter().map(|case| Cell::muted(case.compared.to_string())));
    table.rows.push(row);
    table
}

/// What has no closed form, and what could not be compared, with the reasons.
pub(super) fn gaps(report: &ModelReport) -> Option<Table> {
    let mut table = Table::new("Not compared", &["integrator", "what", "why"]);
    for case in &report.cases {
        for feature in &case.not_covered {
            table.rows.push(vec![
                Cell::new(case.integrator),
                Cell::new("closed form"),
                Cell::new(format!("not covered: {feature}; dual numbers take its place")),
            ]);
        }
        // states that fail for the same reason stand in one line
        let mut lines: Vec<(String, String, Vec<&str>)> = Vec::new();
        for skipped in &case.skipped {
            let what = skipped.method.map_or("any method".to_owned(), |method| method.to_string());
            match lines.iter_mut().find(|(w, why, _)| *w == what && *why == skipped.why) {
                Some((_, _, states)) => states.push(&skipped.state),
                None => lines.push((what, skipped.why.clone(), vec![&skipped.state])),
            }
        }
        for (what, why, states) in lines {
            // a hybrid without a closed form fails in every state
            let states = if states.len() == report.states.len() {
                "all states".to_owned()
            } else {
                states.join("; ")
            };
            let what = Cell::new(format!("{what} in {states}"));
            table.rows.push(vec![Cell::new(case.integrator), what, Cell::new(why)]);
        }
    }
    (!table.rows.is_empty()).then_some(table)
}

/// What the V-curves say.
pub(super) fn curves(case: &Case) -> Table {
    let head = [
        "block",
        "#centred: best ε",
        "#error",
        "#slopes",
        "#forward: best ε",
        "#error",
        "#slopes",
        "#closed form",
        "#rounding of dual",
    ];
    let mut table = Table::new("Differences over the size of their nudges", &head).note(
        "Smallest error over ε, for each ε the largest over all states; fitted slopes of the branches of rounding and \
         of truncation (expected −1 and 2, −1 and 1; a dash where a branch is too short, as truncation is where the \
         step is linear).",
    );
    for curve in &case.curves {
        let name = curve.block.map_or("all".to_owned(), |block| block.to_string());
        let mut row = vec![Cell::new(name).tone(Tone::Strong)];
        for side in [&curve.centered, &curve.forward] {
            row.extend(branches(side.as_ref()));
        }
        row.push(maybe(curve.closed_form, number));
        row.push(Cell::new(number(curve.dual_rounding)));
        table.rows.push(row);
    }
    table
}

fn branches(side: Option<&Branches>) -> [Cell; 3] {
    let Some(side) = side else { return [(); 3].map(|()| Cell::muted("–")) };
    let [eps, err] = side.minimum;
    let (left, right) = (slope(side.rounding_slope), slope(side.truncation_slope));
    let slopes = Cell::new(format!("{}, {}", left.text, right.text));
    [Cell::new(number(eps)), Cell::new(number(err)), slopes]
}

/// Where columns come from by default.
pub(super) fn origins(case: &Case) -> Table {
    let head = ["matrices", "by", "columns", "origin", "why"];
    let title = format!("Where columns come from by default, {}", case.integrator);
    let mut table = Table::new(title, &head);
    for o in &case.origins {
        table.rows.push(vec![
            Cell::new(o.matrices),
            Cell::new(o.by.clone()),
            Cell::new(if o.columns.len() == o.of {
                format!("all {}", o.of)
            } else {
                format!("{} of {}: {}", o.columns.len(), o.of, o.columns.join(", "))
            }),
            Cell::new(o.origin.clone()),
            Cell::new(o.why.clone()),
        ]);
    }
    table
}

/// Columns at a kink; none if there are none.
pub(super) fn one_sided(case: &Case) -> Option<Table> {
    let head = ["columns", "side", "kink", "differences", "states"];
    let mut table = Table::new(format!("One-sided columns, {}", case.integrator), &head);
    for o in &case.one_sided {
        table.rows.push(vec![
            Cell::new(o.columns.join(", ")),
            Cell::new(o.side.clone()),
            maybe(o.kink.clone(), |kink| kink),
            Cell::new(if o.differences { "compared" } else { "left out" }),
            Cell::new(o.states.join("; ")),
        ]);
    }
    (!table.rows.is_empty()).then_some(table)
}

/// Times of all methods.
pub(super) fn timings(timings: &[Timing]) -> Table {
    let head = ["method", "#A, B [µs]", "#A, B, C, D [µs]", "#A, B over centred"];
    let mut table = Table::new("Times", &head).note(
        format!(
            "Of one linearization on one thread, through a workspace that is warm, methods taking turns: median and \
             quartiles of {BATCHES} measurements.",
        ),
    );
    let spread = |s: Option<Spread>| {
        maybe(s, |s| {
            let digits = usize::from(s.median < 100.0);
            format!("{:.digits$} [{:.digits$} – {:.digits$}]", s.median, s.q1, s.q3)
        })
    };
    for t in timings {
        let ratio = match (&t.why_not, t.ratio) {
            (Some(why), _) => Cell::muted(why.clone()),
            (None, ratio) => maybe(ratio, |r| format!("{r:.3}")),
        };
        let name = Cell::new(t.method).tone(Tone::Strong);
        table.rows.push(vec![name, spread(t.ab_us), spread(t.abcd_us), ratio]);
    }
    table
}

/// Models that could not be loaded; none if all could.
pub(super) fn not_loaded(document: &Document) -> Option<Table> {
    let mut table = Table::new("Models that could not be loaded", &["file", "why"]);
    for n in &document.not_loaded {
        table.rows.push(vec![Cell::new(n.source.clone()), Cell::new(n.why.clone())]);
    }
    (!table.rows.is_empty()).then_some(table)
}
