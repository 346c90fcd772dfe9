//! The `dualstep` command: simulate MuJoCo models, linearize them, and check both against MuJoCo.
//!
//! Each subcommand has its file: parse, call the library, print.

mod bench;
mod conform;
mod experiment;
mod failure;
mod gradient;
mod info;
mod linearize;
mod model_args;
mod paper;
mod simulate;
mod style;
mod validate;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use failure::Exit;

/// Simulate MuJoCo models as MuJoCo does, and differentiate the simulation.
#[derive(Parser)]
#[command(
    name = "dualstep",
    version,
    styles = style::HELP,
    after_help = style::EXIT_CODES,
    arg_required_else_help = true,
    max_term_width = 100
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Info(info::Arguments),
    Simulate(simulate::Arguments),
    Linearize(linearize::Arguments),
    Gradient(gradient::Arguments),
    Conform(conform::Arguments),
    Validate(validate::Arguments),
    Bench(bench::Arguments),
    Experiment(experiment::Arguments),
    Paper(paper::Arguments),
}

fn main() -> ExitCode {
    failure::set_handler();
    let arguments = Arguments::parse();
    // colours disappear by themselves where they are not shown
    let out = &mut anstream::stdout().lock();
    let result = match &arguments.command {
        Command::Info(arguments) => info::run(arguments, out),
        Command::Simulate(arguments) => simulate::run(arguments, out),
        Command::Linearize(arguments) => linearize::run(arguments, out),
        Command::Gradient(arguments) => gradient::run(arguments, out),
        Command::Conform(arguments) => conform::run(arguments, out),
        Command::Validate(arguments) => validate::run(arguments, out),
        Command::Bench(arguments) => bench::run(arguments, out),
        Command::Experiment(arguments) => experiment::run(arguments, out),
        Command::Paper(arguments) => paper::run(arguments, out),
    };
    match result {
        Ok(exit) => exit.into(),
        Err(failure) => failure.report().into(),
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
