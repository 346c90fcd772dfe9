//! `dualstep validate`: the report that shows that the derivatives are right.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use dualstep::Model;
use dualstep::mjcf::{load_model, load_model_str};
use dualstep_experiments::report::{Asked, Document, NotLoaded, Provenance, ReportError, Subject};
use dualstep_validation::derivatives::{
    Case, Compared, State, ValidateOptions, Verdict, golden_states,
};
use dualstep_validation::golden::Golden;

use crate::failure::{Exit, Failure};
use crate::linearize::HUMANOID;
use crate::model_args::OptionArgs;
use crate::style::{self, BOLD, DIM, GREEN, RED, YELLOW};

/// A report that shows that the derivatives of a model are right
///
/// Closed form, centred and forward differences and hybrid against dual numbers, block by block of
/// [A B; C D], over random states and all keyframes.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// MJCF files [default: a humanoid that is built in]
    #[arg(value_name = "MODEL")]
    models: Vec<PathBuf>,
    /// Random states of each model, beside the reference configuration and its keyframes
    #[arg(long, value_name = "N", default_value_t = 8)]
    states: usize,
    /// Folder for report.html, report.md and report.json
    #[arg(long, value_name = "DIR", default_value = "validation-report")]
    out: PathBuf,
    /// Seed of the random states
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// All methods under all five integrators; without the flag, that is the closed form only
    #[arg(long)]
    all_integrators: bool,
    /// Compare the closed form only: no differences, no V-curves, no hybrid
    #[arg(long, conflicts_with = "all_integrators")]
    closed_form: bool,
    /// Also the closed form at every state of a rollout of N steps under random controls
    #[arg(long, value_name = "N", default_value_t = 0)]
    rollout: usize,
    /// Also the states of the golden data in this folder
    #[arg(long, value_name = "DIR")]
    golden: Option<PathBuf>,
    /// Print the report as JSON instead of a table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    options: OptionArgs,
}

const EXAMPLES: &str = "\
Examples:
  dualstep validate
  dualstep validate arm.xml --states 20 --out arm-report
  dualstep validate models/*.xml --disable constraint --all-integrators
  chromium --headless --print-to-pdf=report.pdf validation-report/report.html

Figures: the largest max|x − ref| / max(1, max|ref|) over blocks and states, where ref are dual numbers
Limits:  closed form 1e-11, 1e-9 where constraints push; differences ten times their own noise,
         measured without the reference, or 1e-11 if that is more

The report needs no network: report.html holds its styles and figures. It defines every term, says what
is left out, and names the worst entry of each block.

Exit codes: 0 every comparison passes · 1 one fails · 2 wrong usage
            3 a model cannot be loaded (of several: the others are reported)
            4 the report cannot be written";

/// Runs the subcommand.
pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let options = ValidateOptions {
        states: arguments.states,
        seed: arguments.seed,
        all_integrators: arguments.all_integrators,
        differences: !arguments.closed_form,
        rollout: arguments.rollout,
    };
    let (mut models, mut not_loaded) = (Vec::new(), Vec::new());
    let bar = style::progress(0, "states");
    if arguments.models.is_empty() {
        let mut m = load_model_str(HUMANOID, "humanoid.xml", Path::new("."))?;
        arguments.options.apply(&mut m);
        let text = HUMANOID.as_bytes();
        models.push(subject("built in".to_owned(), text, &m, &options, &[], &bar));
    }
    for path in &arguments.models {
        let source = path.display().to_string();
        match load_model(path) {
            Ok(mut m) => {
                arguments.options.apply(&mut m);
                // it was just read
                let text = std::fs::read(path).unwrap_or_default();
                let given = match &arguments.golden {
                    Some(folder) => golden(folder, path, &m)?,
                    None => Vec::new(),
                };
                models.push(subject(source, &text, &m, &options, &given, &bar));
            }
            // there is nothing else to report
            Err(error) if arguments.models.len() == 1 => return Err(error.into()),
            Err(error) => not_loaded.push(NotLoaded { source, why: error.to_string() }),
        }
    }
    bar.finish_and_clear();
    let asked = Asked {
        states: arguments.states,
        seed: arguments.seed,
        all_integrators: arguments.all_integrators,
        closed_form: arguments.closed_form,
        rollout: arguments.rollout,
        golden: arguments.golden.clone(),
        replaced: arguments.options.describe(),
    };
    let command = std::env::args().skip(1).fold("dualstep".to_owned(), |line, argument| {
        let quoted = argument.is_empty() || argument.contains([' ', '*', '?', '$']);
        if quoted { format!("{line} '{argument}'") } else { format!("{line} {argument}") }
    });
    let document = Document::new(Provenance::now(command), asked, models, not_loaded);
    let files = document.save(&arguments.out).map_err(|error| match error {
        ReportError::Write { path, source } => Failure::write(&path, &source),
        error => Failure::file(error.to_string(), None),
    })?;
    if arguments.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&document)?)?;
    } else {
        print(&document, &files, out)?;
    }
    Ok(match document.verdict {
        Verdict::Fail => Exit::Failed,
        _ if !document.not_loaded.is_empty() => Exit::Model,
        Verdict::NotCompared => Exit::Failed,
        Verdict::Pass => Exit::Success,
    })
}

fn subject(
    source: String,
    text: &[u8],
    m: &Model,
    options: &ValidateOptions,
    given: &[State],
    bar: &indicatif::ProgressBar,
) -> Subject {
    bar.reset();
    bar.set_message(m.name.clone());
    Subject::new(source, text, m, options, given, &|done, total| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    })
}

/// The golden states of a model: of the data in the folder whose name is the longest end of the model's path.
fn golden(folder: &Path, path: &Path, m: &Model) -> Result<Vec<State>, Failure> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).with_extension("");
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    let names = (0..parts.len()).map(|k| folder.join(parts[k..].join("__")));
    let found = names.into_iter().find(|stem| {
        let mut json = stem.as_os_str().to_owned();
        json.push(".json");
        Path::new(&json).exists()
    });
    let Some(stem) = found else {
        let text = format!("{} holds no golden data of {}", folder.display(), path.display());
        return Err(Failure::file(text, Some("leave out --golden, or the model")));
    };
    let golden = Golden::load_keys(&stem, |key| key.contains("/in/"))
        .map_err(|e| Failure::file(e.to_string(), None))?;
    golden_states(m, &golden).map_err(|e| Failure::file(format!("{}: {e}", stem.display()), None))
}

/// One line a model, then what the reader must know beside it.
fn print(document: &Document, files: &[PathBuf], out: &mut dyn Write) -> Result<(), Failure> {
    let name = |model: &Subject| model.report.name.clone();
    let left = document.models.iter().map(|m| name(m).chars().count()).max().unwrap_or(0).max(5);
    let [a, b, c, d] = ["closed form", "centred", "forward", "hybrid"];
    writeln!(
        out,
        "{BOLD}{:<left$}  {:>6} {a:>12} {b:>9} {c:>9} {d:>9}  verdict{BOLD:#}",
        "model", "states"
    )?;
    for model in &document.models {
        let report = &model.report;
        write!(out, "{:<left$}  {:>6}", report.name, report.states.len())?;
        for (method, width) in Compared::ALL.into_iter().zip([12, 9, 9, 9]) {
            let found = report.cases.iter().filter_map(|case| case.worst(method));
            let text = found.map(|f| f.err).reduce(f64::max);
            let text = text.map_or("–".to_owned(), |err| format!("{err:.1e}"));
            let failed = report.cases.iter().any(|case| case.verdict_on(method) == Verdict::Fail);
            let color = if failed { RED } else { anstyle::Style::new() };
            write!(out, " {color}{text:>width$}{color:#}")?;
        }
        let verdict = report.verdict();
        let color = color(verdict);
        writeln!(out, "  {color}{verdict}{color:#}")?;
    }
    writeln!(out, "{DIM}error against dual numbers, worst of all blocks{DIM:#}\n")?;
    for model in &document.models {
        notes(model, out)?;
    }
    for n in &document.not_loaded {
        writeln!(out, "{YELLOW}!{YELLOW:#} {}: {}", n.source, n.why)?;
    }
    let color = color(document.verdict);
    let shown: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
    writeln!(out, "{color}{}{color:#}  {DIM}{}{DIM:#}", document.verdict, shown.join("  "))?;
    Ok(())
}

/// What is left out, what fails, what has no closed form.
fn notes(model: &Subject, out: &mut dyn Write) -> Result<(), Failure> {
    let name = &model.report.name;
    for sentence in model.notes() {
        writeln!(out, "{YELLOW}!{YELLOW:#} {name}: {sentence}")?;
    }
    if let Some(why) = &model.report.rollout_stopped {
        writeln!(out, "{YELLOW}!{YELLOW:#} {name}: {why}")?;
    }
    for case in &model.report.cases {
        let integrator = case.integrator;
        for feature in &case.not_covered {
            writeln!(out, "{YELLOW}!{YELLOW:#} {name}, {integrator}: no closed form: {feature}")?;
        }
        let failed: Vec<&str> = unlinearized(case);
        if !failed.is_empty() {
            let states = failed.join("; ");
            writeln!(out, "{YELLOW}!{YELLOW:#} {name}, {integrator}: the step fails at {states}")?;
        }
        let findings = case.blocks.iter().flat_map(|block| &block.findings);
        for f in findings.filter(|f| f.verdict() == Verdict::Fail) {
            let [row, column] = &f.entry;
            writeln!(
                out,
                "{RED}×{RED:#} {name}, {integrator}: {} of {} is {:.1e}, above {:.1e}, at ∂ {row} / ∂ \
                 {column} in {}",
                f.method, f.block, f.err, f.tolerance, f.state
            )?;
        }
    }
    Ok(())
}

/// States without a reference.
fn unlinearized(case: &Case) -> Vec<&str> {
    let skipped = case.skipped.iter().filter(|skipped| skipped.method.is_none());
    skipped.map(|skipped| skipped.state.as_str()).collect()
}

fn color(verdict: Verdict) -> anstyle::Style {
    match verdict {
        Verdict::Pass => GREEN,
        Verdict::Fail => RED,
        Verdict::NotCompared => YELLOW,
    }
}
