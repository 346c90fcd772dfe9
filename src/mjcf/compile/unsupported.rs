//! What a model contains that is read but not simulated yet.

use crate::mjcf::spec::SensorType;
use crate::model::Model;
use crate::model::options::enable;
use crate::sensor;

use super::context::Context;

/// Collects one sentence for each kind of thing. Constraints are not among them: whether they matter depends
/// on options that may change after loading.
pub fn write(ctx: &Context<'_>, m: &mut Model) {
    let mut found = vec![];
    let mut kinds: Vec<(SensorType, usize)> = vec![];
    let missing = ctx.spec.sensors.iter().enumerate().filter(|(i, _)| !sensor::supported(m, *i));
    for (_, spec) in missing {
        match kinds.iter_mut().find(|(k, _)| *k == spec.kind) {
            Some((_, n)) => *n += 1,
            None => kinds.push((spec.kind, 1)),
        }
    }
    for (kind, n) in kinds {
        found.push(format!("{n} `{}` sensors: values not simulated yet", kind.keyword()));
    }
    if m.opt.enabled(enable::SLEEP) {
        found.push("sleeping of trees: not simulated yet".to_owned());
    }
    m.unsupported = found;
}
