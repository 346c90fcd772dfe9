//! `dualstep paper`: puts the claims of a paper to the test.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use dualstep_experiments::findings::{keep, number};
use dualstep_experiments::papers::{Claim, PAPERS, Paper, csv, find, markdown};

use crate::experiment::{failure, print_table, read_config};
use crate::failure::{Exit, Failure};
use crate::style::{self, BOLD, CYAN, DIM, GREEN, YELLOW};

/// Put the claims of a paper to the test: their numbers beside ours
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Name of the paper: year, author, subject
    #[arg(value_name = "NAME", required_unless_present = "list")]
    name: Option<String>,
    /// List the papers and what they claim
    #[arg(long)]
    list: bool,
    /// Configuration [default: built in; papers/NAME/config.toml of the repository]
    #[arg(long, value_name = "FILE.toml")]
    config: Option<PathBuf>,
    /// Folder for table.md, expected.csv, summary.json and figure.svg [default: results/NAME]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  dualstep paper --list
  dualstep paper 2018-carpentier-analytical-derivatives

A claim that our number does not reproduce is no failure of the command: it is a result. What was
found before, and how our experiments differ from theirs, is in papers/NAME of the repository.

Exit codes: 0 success · 1 a step failed · 2 wrong usage, or a mistake in the configuration
            4 a file cannot be read or written";

/// Runs the subcommand.
pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let Some(name) = arguments.name.as_ref().filter(|_| !arguments.list) else {
        for Paper { slug, citation, claim, .. } in PAPERS {
            writeln!(out, "{CYAN}{slug}{CYAN:#}\n{}", style::wrapped(citation, 4, 96))?;
            writeln!(out, "{DIM}{}{DIM:#}\n", style::wrapped(claim, 4, 96))?;
        }
        return Ok(Exit::Success);
    };
    let paper = find(name).ok_or_else(|| {
        let names = PAPERS.map(|paper| paper.slug).join(", ");
        Failure::usage(format!("no paper `{name}`"), format!("there are {names}"))
    })?;
    let config = match &arguments.config {
        None => paper.default_config(),
        Some(path) => read_config(path)?,
    };
    let spinner = style::spinner(paper.slug);
    let result = paper.run_here(&config);
    spinner.finish_and_clear();
    let (circumstances, reproduction) = result.map_err(failure)?;

    let folder = arguments.out.clone().unwrap_or_else(|| PathBuf::from("results").join(name));
    let claims = &reproduction.claims;
    let texts = [("table.md", markdown(claims)), ("expected.csv", csv(claims))];
    keep(&folder, &circumstances, &reproduction.findings, &texts)
        .map_err(|error| Failure::file(error.to_string(), None))?;
    writeln!(out, "{}", style::wrapped(paper.citation, 0, 96))?;
    for table in &reproduction.findings.tables {
        print_table(table, out)?;
    }
    print_claims(claims, out)?;
    let seconds = style::duration(circumstances.wall_time_s);
    writeln!(out, "\n{DIM}{seconds}, written to {}{DIM:#}", folder.display())?;
    style::warn_unoptimized(out)?;
    Ok(Exit::Success)
}

/// Theirs, ours, ratio, verdict.
fn print_claims(claims: &[Claim], out: &mut dyn Write) -> Result<(), Failure> {
    let width = claims.iter().map(|claim| claim.what.chars().count()).max().unwrap_or(0);
    writeln!(
        out,
        "\n{BOLD}{:<width$}  {:>8}  {:>8}  {:>8}  verdict{BOLD:#}",
        "claim", "theirs", "ours", "ratio"
    )?;
    for claim in claims {
        let theirs = claim.theirs.unwrap_or(f64::NAN);
        let [theirs, ours, ratio] = [theirs, claim.ours, claim.ours / theirs].map(number);
        write!(out, "{:<width$}  {theirs:>8}  {ours:>8}  {ratio:>8}  ", claim.what)?;
        let verdict = claim.verdict();
        let color = if verdict == "reproduced" { GREEN } else { YELLOW };
        writeln!(out, "{color}{verdict}{color:#}")?;
    }
    Ok(())
}
