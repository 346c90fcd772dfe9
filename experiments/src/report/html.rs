//! The report as one HTML page: styles and figures are in it, and nothing is loaded.

use dualstep_validation::derivatives::{Case, Verdict};
use dualstep_validation::tolerance::CLOSED_FORM;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::tables::{Cell, Mark, Table, Tone};
use super::{Document, Subject, constraint_tables, coverage_tables, figures, tables, text};
use crate::plot::PlotError;

const STYLE: &str = include_str!("style.css");

/// The page.
pub(super) fn page(document: &Document) -> Result<String, PlotError> {
    let title = match &document.models[..] {
        [model] => format!("Derivatives of {}", model.report.name),
        models => format!("Derivatives of {} models", models.len()),
    };
    let mut sections = Vec::new();
    for (k, model) in document.models.iter().enumerate() {
        sections.push(section(k, model)?);
    }
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="generator" content={ "dualstep " (document.provenance.version) };
                title { (title) ": validation" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (summary(document, &title))
                @for section in &sections { (section) }
            }
        }
    };
    Ok(page.into_string())
}

/// The first page, the method, and what all models exercise together.
fn summary(document: &Document, title: &str) -> Markup {
    html! {
        header {
            p.kind { "dualstep · validation report" }
            h1 { (title) }
            p class={ "verdict " (class(document.verdict)) } {
                strong { (document.verdict) }
                span { (text::verdict(document)) }
            }
        }
        @for model in &document.models {
            @for sentence in model.notes() {
                p.warning { strong { (model.report.name) ": " } (sentence) }
            }
        }
        section {
            (table(&tables::provenance(document), "facts"))
            (table(&links(tables::summary(document)), "wide"))
            @if let Some(t) = tables::not_loaded(document) { (table(&t, "")) }
        }
        section { (table(&tables::terms(), "facts terms")) }
        section {
            h2 { "Method" }
            @for paragraph in text::METHOD { p { (paragraph) } }
            h3 { "References" }
            ol.references { @for reference in text::REFERENCES { li { (reference) } } }
        }
        section.page {
            h2 { "Coverage" }
            (table(&coverage_tables::combinations(&document.coverage), "wide matrix"))
            (table(&coverage_tables::features(&document.coverage), "wide"))
        }
    }
}

/// Names of models lead to their sections.
fn links(mut table: Table) -> Table {
    for (k, row) in table.rows.iter_mut().enumerate() {
        if let Some(cell) = row.first_mut() {
            cell.link = Some(format!("#model-{k}"));
        }
    }
    table
}

/// Everything about a model.
fn section(k: usize, subject: &Subject) -> Result<Markup, PlotError> {
    let report = &subject.report;
    let verdict = report.verdict();
    let mut full = Vec::new();
    for (k, case) in report.cases.iter().enumerate().filter(|(_, case)| case.full) {
        // figures of the model's own integrator
        let figures = if k == 0 {
            figures_of(subject, case)?
        } else {
            html! {}
        };
        full.push((case, figures));
    }
    let solver = report.solver.as_ref().map(figures::solver_curves).transpose()?;
    Ok(html! {
        section.page id={ "model-" (k) } {
            h2 { (report.name) " " span class={ "tag " (class(verdict)) } { (verdict) } }
            @for sentence in subject.notes() { p.warning { (sentence) } }
            (table(&tables::identity(subject), "facts"))
            @for (k, (case, figures)) in full.iter().enumerate() {
                (table(&tables::overview(case), "wide"))
                @if k == 0 {
                    (table(&tables::integrators(report), "wide"))
                    @if let Some(t) = tables::gaps(report) { (table(&t, "")) }
                }
                (figures)
                (table(&tables::curves(case), "wide"))
                (table(&tables::worst_entries(case), "wide"))
                (table(&tables::origins(case), ""))
                @if let Some(t) = tables::one_sided(case) { (table(&t, "")) }
                @if let Some(t) = constraint_tables::kinks(case) { (table(&t, "")) }
            }
            @if let (Some(study), Some(svg)) = (&report.solver, &solver) {
                (figure(Some(svg), "single", &html! {
                    "Error of centred differences over the size of their nudges where constraints push, all of [A B; C D]: \
                     nudged steps start from the solution at the state (warm) or from the acceleration without \
                     constraints (cold), and stop at the tolerance."
                }))
                (table(&constraint_tables::minima(study), ""))
                (table(&constraint_tables::tolerances(study), ""))
            }
            (table(&tables::timings(&subject.timings), ""))
        }
    })
}

fn figures_of(subject: &Subject, case: &Case) -> Result<Markup, PlotError> {
    let curve = figures::v_curve(case)?;
    let blocks = figures::block_curves(case)?;
    let heat = match &case.heat_map {
        Some(map) => Some(figures::heat(&subject.report, case, map)?),
        None => None,
    };
    Ok(html! {
        (figure(curve.as_ref(), "single", &html! {
            "Error of differences over the size of their nudges, under " (case.integrator) ": the largest of all \
             entries and states. Dashed: the closed form against dual numbers, and the change of dual numbers when \
             the state is changed in its last bit. Grey: the slopes that are expected."
        }))
        @for (k, svg) in blocks.iter().enumerate() {
            (figure(Some(svg), "grid", &html! {
                @if k + 1 == blocks.len() { "The same block by block." }
            }))
        }
        (figure(heat.as_ref(), "heat", &html! {
            "Largest error of each entry of [A B; C D] over all states, relative to its block; red above the \
             tolerance of 1e-11 (1e-9 where constraints push), blank where both agree to the last bit."
            @if case.heat_map.as_ref().is_some_and(|map| map.rows.max(map.columns) > 150) {
                " The matrix is large: a cell shows the largest of several neighbours."
            }
        }))
    })
}

fn figure(svg: Option<&String>, kind: &str, caption: &Markup) -> Markup {
    html! {
        @if let Some(svg) = svg {
            figure class=(kind) { (PreEscaped(svg)) figcaption { (caption) } }
        }
    }
}

fn table(table: &Table, kind: &str) -> Markup {
    let aligned = |k: usize| table.numbers.get(k).copied().unwrap_or(false);
    let headless = table.head.iter().all(|text| text.is_empty());
    html! {
        div.table.keep[table.rows.len() <= 18] {
            @if !table.title.is_empty() { h3 { (table.title) } }
            @if !table.note.is_empty() { p.note { (table.note) } }
            table class=(kind) {
                @if !headless {
                    thead { tr {
                        @for (k, text) in table.head.iter().enumerate() {
                            // names of integrators may break
                            th.n[aligned(k)] {
                                @for (k, part) in text.split('_').enumerate() {
                                    @if k > 0 { "_" wbr; }
                                    (part)
                                }
                            }
                        }
                    } }
                }
                tbody {
                    @for row in &table.rows {
                        // the first cell is empty where a row continues what is above it
                        tr.first[row.first().is_some_and(|cell| !cell.text.is_empty())] {
                            @for (k, c) in row.iter().enumerate() { (cell(c, aligned(k))) }
                        }
                    }
                }
            }
        }
    }
}

fn cell(cell: &Cell, number: bool) -> Markup {
    let tone = match cell.tone {
        Tone::Plain => "",
        Tone::Strong => "strong",
        Tone::Muted => "muted",
        Tone::Pass => "pass",
        Tone::Fail => "fail",
    };
    let class = format!("{tone}{}", if number { " n" } else { "" });
    html! {
        td class=(class) colspan=[(cell.span > 1).then_some(cell.span)] {
            @if !cell.marks.is_empty() {
                span.marks { @for mark in &cell.marks { i class=(square(*mark)) {} } }
            }
            @match &cell.link {
                Some(link) => { a href=(link) { (cell.text) } },
                None => { (cell.text) },
            }
        }
    }
}

fn square(mark: Mark) -> &'static str {
    match mark {
        Mark::Measured(err) if err <= coverage_tables::LIGHT => "low",
        Mark::Measured(err) if err <= CLOSED_FORM => "high",
        Mark::Measured(_) => "above",
        Mark::Without => "without",
        Mark::Absent => "absent",
    }
}

fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "pass",
        Verdict::Fail => "fail",
        Verdict::NotCompared => "none",
    }
}
