//! The end of compilation: what follows from the model in its reference configuration.

use nalgebra::Vector3;

use super::context::Context;
use super::springdamper;
use crate::mjcf::error::MjcfError;
use crate::mjcf::spec::LengthRangeMode;
use crate::model::{BiasType, GainType, Model, TrnType};
use crate::set_const::{SetConstOptions, set_const};

/// Runs [`set_const`], gives muscles their length ranges, and takes the statistics that the file gives.
///
/// # Errors
/// A muscle's length range would have to be simulated.
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

/// Length ranges of muscles: as given, or from the limits of what they act on. MuJoCo's third way, pulling
/// on the simulated model from both sides, needs joint limits in the simulation.
///
/// Source: MuJoCo `mj_setLengthRange`.
fn length_ranges(ctx: &Context, m: &mut Model) -> Result<(), MjcfError> {
    let options = &ctx.spec.compiler.lengthrange;
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
                let feature = "length range of a muscle by simulation is";
                let help = "set `lengthrange` of the actuator, or `uselimit` in \
                            <compiler><lengthrange/></compiler> if what it acts on has limits";
                return Err(ctx.unsupported(ctx.spec.actuators[a].span, feature).with_help(help));
            }
        }
    }
    Ok(())
}
