//! `dualstep conform`: compare with what MuJoCo computes.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use dualstep_experiments::record::write_json;
use dualstep_validation::conform::{ModelReport, Status};
use dualstep_validation::{ConformOptions, Report, Stage, conform};
use globset::Glob;

use crate::failure::{Exit, Failure};
use crate::style::{self, BOLD, DIM, GREEN, RED, YELLOW};

/// Compare models with golden data that MuJoCo computed
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Folder of the models
    #[arg(long, value_name = "DIR")]
    models: PathBuf,
    /// Folder of the golden data
    #[arg(long, value_name = "DIR")]
    golden: PathBuf,
    /// Stages to compare, separated by commas [default: all]
    #[arg(long, value_name = "STAGES", value_delimiter = ',', value_parser = stage)]
    stages: Vec<Stage>,
    /// Only models whose golden file matches, such as '*humanoid*'
    #[arg(long, value_name = "GLOB")]
    only: Option<Glob>,
    /// Write the report as JSON; `-` prints it instead of the table
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  dualstep conform --models validation/models --golden validation/golden
  dualstep conform --models M --golden G --stages compile,smooth --only '*arm*' --json report.json

Stages: compile, smooth, step_smooth, constraint, step, derivative_smooth, derivative
Figures: the largest max|x − ref| / max(1, max|ref|) over fields and states; `-` without data
Limits:  compile 1e-9, smooth 1e-10, step_smooth 1e-10, constraint and step 1e-6, derivative_smooth 1e-7
         and derivative 1e-5 beyond ten times the noise of the reference; the environment variable SIM_TOL_SCALE scales them

Exit codes: 0 every model agrees, or uses a feature that is named as unsupported
            1 a stage is above its limit, or a model or its golden data could not be read
            2 wrong usage · 4 no golden data";

fn stage(name: &str) -> Result<Stage, String> {
    name.parse()
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let stages =
        if arguments.stages.is_empty() { Stage::ALL.to_vec() } else { arguments.stages.clone() };
    let options = ConformOptions {
        models: arguments.models.clone(),
        golden: arguments.golden.clone(),
        stages: stages.clone(),
        only: arguments.only.clone(),
    };
    let bar = style::progress(0, "models");
    let report = conform(&options, &|done, total, name| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
        bar.set_message(name.to_owned());
    })
    .map_err(|error| {
        Failure::file(format!("cannot read {}: {error}", arguments.golden.display()), None)
    })?;
    bar.finish_and_clear();
    if report.models.is_empty() {
        let folder = arguments.golden.display();
        let help = "golden data are pairs of NAME.npz and NAME.json; see --only";
        return Err(Failure::file(format!("no golden data to compare in {folder}"), Some(help)));
    }
    match &arguments.json {
        Some(path) if path.as_os_str() == "-" => {
            writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
        }
        Some(path) => {
            write_json(path, &report).map_err(|error| Failure::write(path, &error))?;
            print(&report, &stages, out)?;
        }
        None => print(&report, &stages, out)?,
    }
    let unread = report.models.iter().any(|model| model.status == Status::Error);
    let failed = unread || !report.excesses().is_empty();
    Ok(if failed { Exit::Failed } else { Exit::Success })
}

/// The table, its status words coloured, and a summary.
fn print(report: &Report, stages: &[Stage], out: &mut dyn Write) -> Result<(), Failure> {
    // columns without a single figure would only make the lines longer
    let (shown, empty): (Vec<Stage>, Vec<Stage>) =
        stages.iter().partition(|&&stage| report.worst(stage).is_some());
    let table = report.table(&shown);
    let mut lines = table.lines();
    writeln!(out, "{BOLD}{}{BOLD:#}", lines.next().unwrap_or_default())?;
    // the models first: the other order would swallow the line after the last one
    for (model, line) in report.models.iter().zip(lines.by_ref()) {
        writeln!(out, "{}", colored(line, model))?;
    }
    for line in lines {
        writeln!(out, "{BOLD}{line}{BOLD:#}")?;
    }
    if !empty.is_empty() {
        let names: Vec<&str> = empty.into_iter().map(Stage::name).collect();
        writeln!(out, "{DIM}no data, or not compared yet: {}{DIM:#}", names.join(", "))?;
    }
    for &stage in &shown {
        let [compared, skipped, kinks] = report.states(stage);
        if compared > 0 {
            let percent = 100.0 * kinks as f64 / (compared + kinks) as f64;
            writeln!(
                out,
                "{DIM}{stage}: {compared} states compared; left out: {kinks} at a kink ({percent:.1} %), {skipped} \
                 where the reference is not precise{DIM:#}"
            )?;
        }
    }
    let excesses = report.excesses();
    for excess in &excesses {
        writeln!(out, "{RED}×{RED:#} {excess}")?;
    }
    let off: BTreeSet<&str> = excesses.iter().map(|excess| excess.model.as_str()).collect();
    let count = |status| report.models.iter().filter(|model| model.status == status).count();
    let [ok, unsupported, error] = [Status::Ok, Status::Unsupported, Status::Error].map(count);
    let oracle = &report.oracle;
    writeln!(
        out,
        "\n{GREEN}{} agree{GREEN:#}, {RED}{} differ{RED:#}, {YELLOW}{unsupported} unsupported\
         {YELLOW:#}, {RED}{error} unreadable{RED:#} {DIM}(oracle: MuJoCo {oracle}){DIM:#}",
        ok - off.len(),
        off.len(),
    )?;
    Ok(())
}

/// A line of the table with its status in colour.
fn colored(line: &str, model: &ModelReport) -> String {
    let (word, color) = match model.status {
        Status::Ok => ("ok", GREEN),
        Status::Unsupported => ("unsupported", YELLOW),
        Status::Error => ("error", RED),
    };
    // the status follows the name: names hold no spaces
    let (name, rest) = line.split_at(model.name.len().min(line.len()));
    format!("{name}{}", rest.replacen(word, &format!("{color}{word}{color:#}"), 1))
}
