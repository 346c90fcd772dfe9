//! Stand-in for `dualstep conform` until the command exists:
//! `cargo run -p dualstep-validation --example conform -- MODELS GOLDEN [GLOB] [STAGES] [TOLERANCE]`.
//! With a tolerance it lists every field above it, and the models where it is.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command talks to its user")]

use std::error::Error;

use dualstep_validation::conform::{FieldErrors, fields_above};
use dualstep_validation::{ConformOptions, Stage, conform};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [models, golden, rest @ ..] = arguments.as_slice() else {
        return Err("usage: conform MODELS GOLDEN [GLOB] [STAGES] [TOLERANCE]".into());
    };
    let stages = match rest.get(1) {
        Some(names) => names.split(',').map(str::parse).collect::<Result<Vec<Stage>, _>>()?,
        None => vec![Stage::Compile, Stage::Smooth, Stage::StepSmooth],
    };
    let only = rest.first().map(|glob| globset::Glob::new(glob)).transpose()?;
    let options = ConformOptions {
        models: models.into(),
        golden: golden.into(),
        stages: stages.clone(),
        only,
    };
    if let Some(tolerance) = rest.get(2) {
        for FieldErrors { stage, field, models } in fields_above(&options, tolerance.parse()?)? {
            let worst = models.iter().map(|(_, err)| *err).fold(0.0, f64::max);
            let names: Vec<_> = models.iter().take(4).map(|(name, _)| name.as_str()).collect();
            println!("{stage} {field}: {worst:.1e}, {} times: {} …", models.len(), names.join(" "));
        }
        return Ok(());
    }
    let report = conform(&options, &|done, all, name| eprintln!("{done}/{all} {name}"))?;
    println!("{}", report.table(&stages));
    Ok(())
}
