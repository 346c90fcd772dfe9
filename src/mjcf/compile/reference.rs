//! The end of compilation: what follows from the model in its reference configuration.

use nalgebra::Vector3;

use super::context::Context;
use super::springdamper;
use crate::mjcf::error::MjcfError;
use crate::mjcf::spec::LengthRangeMode;
use crate::model::{BiasType, GainType, Model, TrnType};
use crate::set_const::{SetConstOptions, length_range, length_range_model, set_const};

/// Runs [`set_const`], gives muscles their length ranges, and takes the statistics that the file gives.
///
/// # Errors
/// The simulation of a muscle's length range fails.
pub fn finish(ctx: &Context, m: &mut Model) -> Result<(), MjcfError> {
    let options = SetConstOptions { springdamper: springdamper(ctx.spec) };
    set_const(m, &options);
    length_ranges(ctx, m)?;

    let given = &ctx.spec.statistic;
    let stat = &mut m.stat;
    stat.meaninertia = given.meaninertia.unwrap_or(stat.meaninertia);
    stat.meanmass = given.meanmass.unwrap_or(stat.meanmass);
    stat.meansize = given.meansize.unwrap_or(stat.meansize);
    stat.extent = given.extent.unwrap_or(stat.extent);
    stat.center = given.center.map_or(stat.center, Vector3::from);
    Ok(())
}

/// Length ranges of muscles: as given, from the limits of what they act on, or by pulling on the model from both
/// sides.
///
/// Source: MuJoCo `mj_setLengthRange`.
fn length_ranges(ctx: &Context, m: &mut Model) -> Result<(), MjcfError> {
    let options = &ctx.spec.compiler.lengthrange;
    let mut simulated = None;
    for a in 0..m.nactuator {
        let muscle = m.actuator_gaintype[a] == GainType::Muscle
            || m.actuator_biastype[a] == BiasType::Muscle;
        let wanted = match options.mode {
            LengthRangeMode::None => false,
            LengthRangeMode::Muscle | LengthRangeMode::MuscleUser => muscle,
            LengthRangeMode::All => true,
        };
        let [lo, hi] = m.actuator_lengthrange[a];
        if !wanted || (options.useexisting && lo < hi) {
            continue;
        }
        let limits = m.actuator_trnid[a][0].and_then(|id| match m.actuator_trntype[a] {
            TrnType::Joint | TrnType::JointInParent if m.jnt_limited[id] => Some(m.jnt_range[id]),
            TrnType::Tendon if m.tendon_limited[id] => Some(m.tendon_range[id]),
            _ => None,
        });
        match limits {
            Some(range) if options.uselimit => m.actuator_lengthrange[a] = range,
            _ => {
                let simulated =
                    simulated.get_or_insert_with(|| length_range_model(m, &options.simulation));
                let range = length_range(simulated, a, &options.simulation).map_err(|e| {
                    let help = "set `lengthrange` of the actuator, or limits of what it acts on";
                    ctx.invalid(ctx.spec.actuators[a].span, e.to_string()).with_help(help)
                })?;
                m.actuator_lengthrange[a] = range;
            }
        }
    }
    Ok(())
}
