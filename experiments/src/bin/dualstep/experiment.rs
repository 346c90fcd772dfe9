//! `dualstep experiment`: runs a study.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use dualstep_experiments::config::Config;
use dualstep_experiments::findings::{Table, keep, number};
use dualstep_experiments::studies::{STUDIES, Study, StudyError, find};

use crate::failure::{Exit, Failure};
use crate::style::{self, BOLD, CYAN, DIM};

/// Run a study of convergence; keep its figure and numbers
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Name of the study
    #[arg(value_name = "NAME", required_unless_present = "list")]
    name: Option<String>,
    /// Describe the studies
    #[arg(long)]
    list: bool,
    /// Configuration [default: built in; experiments/configs/NAME.toml of the repository]
    #[arg(long, value_name = "FILE.toml")]
    config: Option<PathBuf>,
    /// Folder for README.md, summary.json and figure.svg [default: results/NAME]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  dualstep experiment --list
  dualstep experiment fd-vcurve
  dualstep experiment integrator-order --config mine.toml --out mine

A study prints its numbers in short, and writes all of them, a figure, and under which circumstances
they were found. What was found before is in experiments/results of the repository.

Exit codes: 0 success · 1 a step failed · 2 wrong usage, or a mistake in the configuration
            3 a model cannot be loaded · 4 a file cannot be read or written";

/// Runs the subcommand.
pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let Some(name) = arguments.name.as_ref().filter(|_| !arguments.list) else {
        for Study { slug, about, .. } in STUDIES {
            writeln!(out, "{CYAN}{slug}{CYAN:#}\n{}\n", style::wrapped(about, 4, 96))?;
        }
        return Ok(Exit::Success);
    };
    let study = find(name).ok_or_else(|| {
        let names = STUDIES.map(|study| study.slug).join(", ");
        Failure::usage(format!("no study `{name}`"), format!("there are {names}"))
    })?;
    let config = match &arguments.config {
        None => study.default_config(),
        Some(path) => read_config(path)?,
    };
    let spinner = style::spinner(study.title);
    let result = study.run_here(&config);
    spinner.finish_and_clear();
    let (circumstances, findings) = result.map_err(failure)?;

    let folder = arguments.out.clone().unwrap_or_else(|| PathBuf::from("results").join(name));
    let page = study.page(&circumstances, &findings);
    keep(&folder, &circumstances, &findings, &[("README.md", page)])
        .map_err(|error| Failure::file(error.to_string(), None))?;
    writeln!(out, "{BOLD}{}{BOLD:#}  {DIM}{}{DIM:#}", study.title, config.file)?;
    for table in &findings.tables {
        print_table(table, out)?;
    }
    let seconds = style::duration(circumstances.wall_time_s);
    writeln!(out, "\n{DIM}{seconds}, written to {}{DIM:#}", folder.display())?;
    style::warn_unoptimized(out)?;
    Ok(Exit::Success)
}

/// Reads a configuration.
pub(crate) fn read_config(path: &std::path::Path) -> Result<Config, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::file(format!("cannot read {}: {error}", path.display()), None))?;
    Ok(Config::new(path.display().to_string(), text))
}

/// What is shown of a failed study.
pub(crate) fn failure(error: StudyError) -> Failure {
    match error {
        StudyError::Config(error) => {
            let help = "the built-in configuration is in experiments/configs of the repository";
            Failure::usage(error.to_string(), help)
        }
        StudyError::Model(error) => error.into(),
        error => Failure::run(&error, "choose smaller steps or another model"),
    }
}

/// A table, columns below their names.
pub(crate) fn print_table(table: &Table, out: &mut dyn Write) -> Result<(), Failure> {
    let first = table.rows.iter().map(|(name, _)| name.chars().count());
    let first = first.chain([table.title.chars().count()]).max().unwrap_or(0);
    let widths: Vec<usize> = table.columns.iter().map(|c| c.chars().count().max(7)).collect();
    write!(out, "\n{BOLD}{:<first$}{BOLD:#}", table.title)?;
    for (column, width) in table.columns.iter().zip(&widths) {
        write!(out, "  {DIM}{column:>width$}{DIM:#}")?;
    }
    writeln!(out)?;
    for (name, values) in &table.rows {
        write!(out, "{name:<first$}")?;
        for (value, width) in values.iter().zip(&widths) {
            write!(out, "  {:>width$}", number(*value))?;
        }
        writeln!(out)?;
    }
    Ok(())
}
