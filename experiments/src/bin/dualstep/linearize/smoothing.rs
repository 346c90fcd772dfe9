//! Options of `dualstep linearize` that smooth what is differentiated.

use std::time::Instant;

use clap::{Args, ValueEnum};
use dualstep::{Data, Model, Softening};
use dualstep_derivatives::{
    Method, Order, RandomizedConfig, RandomizedError, Sigma, mjd_transition_randomized,
};

use super::{MethodArg, Results};
use crate::failure::Failure;
use crate::model_args::{not_negative, positive};
use crate::style;

/// What is differentiated instead of the step.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Smoothing")]
pub(super) struct SmoothingArgs {
    /// Differentiate a step whose contacts push from this distance; the step itself stays as it is
    #[arg(long, value_name = "METERS", value_parser = positive, allow_negative_numbers = true)]
    soften_distance: Option<f64>,
    /// Differentiate a step whose contacts last longer by this fraction of their duration
    #[arg(long, value_name = "FRACTION", value_parser = positive, allow_negative_numbers = true)]
    soften_stretch: Option<f64>,
    /// Average over this many random samples around state and controls
    #[arg(long, value_name = "N", conflicts_with = "trajectory")]
    samples: Option<usize>,
    /// Standard deviations of the samples: one, or those of positions, velocities, activations, controls
    #[arg(
        long, value_name = "NUMBERS", value_delimiter = ',', num_args = 1..=4, requires = "samples",
        value_parser = not_negative, allow_negative_numbers = true, default_values_t = [1e-3]
    )]
    sigma: Vec<f64>,
    /// What is averaged
    #[arg(long, value_enum, value_name = "ORDER", requires = "samples", default_value = "first")]
    order: OrderArg,
    /// Seed of the samples
    #[arg(long, value_name = "S", requires = "samples", default_value_t = 1)]
    seed: u64,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum OrderArg {
    #[value(help = "linearizations")]
    First,
    #[value(help = "next states and sensors, by least squares: feels jumps")]
    Zeroth,
}

impl SmoothingArgs {
    /// How much softer contacts are differentiated.
    pub(super) fn softening(&self) -> Softening {
        Softening {
            distance: self.soften_distance.unwrap_or(0.0),
            stretch: self.soften_stretch.unwrap_or(0.0),
        }
    }

    /// The average that is asked for, if one is.
    pub(super) fn randomized(&self, method: MethodArg) -> Option<RandomizedConfig> {
        let last = self.sigma.last().copied().unwrap_or(0.0);
        let sigma = |k: usize| self.sigma.get(k).copied().unwrap_or(last);
        Some(RandomizedConfig {
            order: match self.order {
                OrderArg::First => Order::First,
                OrderArg::Zeroth => Order::Zeroth,
            },
            samples: self.samples?,
            sigma: Sigma { qpos: sigma(0), qvel: sigma(1), act: sigma(2), ctrl: sigma(3) },
            seed: self.seed,
            method: match method {
                MethodArg::Auto => Method::Auto,
                MethodArg::Analytic => Method::Analytic,
                MethodArg::Hybrid => Method::Hybrid,
                MethodArg::Fd => Method::Fd,
                MethodArg::Dual => Method::Dual,
            },
            sensors: true,
            softening: self.softening(),
        })
    }
}

/// A linearization averaged over samples.
pub(super) fn average(
    m: &Model,
    d: &Data<f64>,
    config: &RandomizedConfig,
) -> Result<Results, Failure> {
    let begin = Instant::now();
    let found = mjd_transition_randomized(m, d, config).map_err(|error| {
        let remedy = match error {
            RandomizedError::Sample { .. } => "use a smaller --sigma",
            _ => "use other --samples, --sigma or --order",
        };
        Failure::run(&error.to_string(), remedy)
    })?;
    let seconds = begin.elapsed().as_secs_f64();
    let worst = found.standard_error.iter().flatten().fold(0.0_f64, |e, x| e.max(*x));
    let mut results = Results::new(m, found.transition, seconds, Vec::new())?;
    let order = match config.order {
        Order::First => "linearizations",
        Order::Zeroth => "values, by least squares",
    };
    let Sigma { qpos, qvel, act, ctrl } = config.sigma;
    let mut text = format!(
        "{order} of {} samples, σ = {qpos}, {qvel}, {act}, {ctrl}, seed {}; standard errors at most {}",
        config.samples,
        config.seed,
        style::number(worst),
    );
    if let Some(softened) = &results.smoothed {
        text = format!("{text}; {softened}");
    }
    results.smoothed = Some(text);
    Ok(results)
}

/// Softening in words; none if there is none.
pub(super) fn describe(softening: &Softening) -> Option<String> {
    let Softening { distance, stretch } = softening;
    let step = "the derivative of another step";
    (!softening.is_none())
        .then(|| format!("contacts from {distance} m, longer by {} %: {step}", 100.0 * stretch))
}
