//! The report as Markdown: the tables of the HTML page, and numbers where that has figures.

use std::fmt::Write as _;

use dualstep_validation::derivatives::{Case, ModelReport};

use super::tables::{Cell, Mark, Table, number};
use super::{Document, Subject, constraint_tables, coverage_tables, tables, text};

/// Entries of a heat map that are listed.
const LISTED: usize = 12;

/// The report.
pub(super) fn page(document: &Document) -> String {
    let mut out = String::from("# Validation of derivatives\n\n");
    paragraph(&mut out, &format!("**{}**: {}", document.verdict, text::verdict(document)));
    table(&mut out, &tables::provenance(document));
    table(&mut out, &tables::summary(document));
    if let Some(t) = &tables::not_loaded(document) {
        table(&mut out, t);
    }
    table(&mut out, &tables::terms());
    out.push_str("## Method\n\n");
    for words in text::METHOD {
        paragraph(&mut out, words);
    }
    for (k, reference) in text::REFERENCES.iter().enumerate() {
        let _ = writeln!(out, "{}. {reference}", k + 1);
    }
    out.push_str("\n## Coverage\n\n");
    table(&mut out, &coverage_tables::combinations(&document.coverage));
    table(&mut out, &coverage_tables::features(&document.coverage));
    for model in &document.models {
        section(&mut out, model);
    }
    out
}

fn section(out: &mut String, subject: &Subject) {
    let report = &subject.report;
    let _ = writeln!(out, "## {}: {}\n", report.name, report.verdict());
    table(out, &tables::identity(subject));
    for (k, case) in report.cases.iter().filter(|case| case.full).enumerate() {
        table(out, &tables::overview(case));
        if k == 0 {
            table(out, &tables::integrators(report));
            if let Some(t) = &tables::gaps(report) {
                table(out, t);
            }
            v_curve(out, case);
            largest(out, report, case);
        }
        table(out, &tables::curves(case));
        table(out, &tables::worst_entries(case));
        table(out, &tables::origins(case));
        for t in [tables::one_sided(case), constraint_tables::kinks(case)].iter().flatten() {
            table(out, t);
        }
    }
    if let Some(study) = &report.solver {
        table(out, &constraint_tables::minima(study));
        table(out, &constraint_tables::tolerances(study));
    }
    table(out, &tables::timings(&subject.timings));
}

/// The figure of V-curves in numbers.
fn v_curve(out: &mut String, case: &Case) {
    let Some(all) = case.curves.first() else { return };
    for (title, side) in [("Centred", &all.centered), ("Forward", &all.forward)] {
        let Some(side) = side else { continue };
        let title = format!("{title} differences: error over ε, all of [A B; C D]");
        let mut t = Table::new(title, &["#ε", "#error"]);
        for (eps, err) in side.eps.iter().zip(&side.err) {
            t.rows.push(vec![Cell::new(number(*eps)), Cell::new(number(*err))]);
        }
        table(out, &t);
    }
}

/// The heat map: its largest entries.
fn largest(out: &mut String, report: &ModelReport, case: &Case) {
    let Some(map) = &case.heat_map else { return };
    let mut entries = map.entries.clone();
    entries.sort_by(|a, b| b.2.total_cmp(&a.2));
    let title = format!(
        "Largest of {} entries where closed form and dual numbers are not equal to the last bit, of {} × {}",
        entries.len(),
        map.rows,
        map.columns
    );
    let mut t = Table::new(title, &["row", "column", "#error"]);
    let [states, controls, sensors] = &report.names;
    let name = |i: usize, others: &[String]| {
        let found = states.get(i).or_else(|| others.get(i.checked_sub(states.len())?));
        Cell::new(found.cloned().unwrap_or_default())
    };
    for (i, k, err) in entries.into_iter().take(LISTED) {
        t.rows.push(vec![name(i, sensors), name(k, controls), Cell::new(number(err))]);
    }
    table(out, &t);
}

fn paragraph(out: &mut String, words: &str) {
    let _ = writeln!(out, "{words}\n");
}

fn table(out: &mut String, table: &Table) {
    if !table.title.is_empty() {
        let _ = writeln!(out, "### {}\n", table.title);
    }
    if !table.note.is_empty() {
        paragraph(out, &table.note);
    }
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    out.push_str(&line(table.head.iter().map(|text| escaped(text)).collect()));
    let rule = |number: &bool| if *number { "---:" } else { "---" }.to_owned();
    out.push_str(&line(table.numbers.iter().map(rule).collect()));
    for row in &table.rows {
        let mut cells: Vec<String> = row.iter().map(cell).collect();
        cells.resize(table.head.len(), String::new());
        out.push_str(&line(cells));
    }
    out.push('\n');
}

fn cell(cell: &Cell) -> String {
    let text = escaped(&cell.text);
    if cell.marks.is_empty() {
        return text;
    }
    let measured = cell.marks.iter().filter(|mark| matches!(mark, Mark::Measured(_))).count();
    format!("{text} ({measured}/{})", cell.marks.len())
}

/// A bar would end the cell.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
