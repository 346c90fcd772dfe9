//! Stand-in for `dualstep conform` until the command exists:
//! `cargo run -p dualstep-validation --example conform -- MODELS GOLDEN [GLOB] [STAGES]`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command talks to its user")]

use std::error::Error;

use dualstep_validation::{ConformOptions, Stage, conform};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [models, golden, rest @ ..] = arguments.as_slice() else {
        return Err("usage: conform MODELS GOLDEN [GLOB] [STAGES]".into());
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
    let report = conform(&options, &|done, all, name| eprintln!("{done}/{all} {name}"))?;
    println!("{}", report.table(&stages));
    Ok(())
}
