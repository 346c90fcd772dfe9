//! What a model contains that is read but not simulated yet.

use crate::mjcf::spec::SensorType;
use crate::model::Model;
use crate::model::options::enable;

use super::context::Context;

/// Collects one sentence for each kind of thing. Constraints are not among them: whether they matter depends
/// on options that may change after loading.
pub fn write(ctx: &Context<'_>, m: &mut Model) {
    let mut found = vec![];
    let mut count = |n: usize, what: &str| {
        if n > 0 {
            found.push(format!("{n} {what} not simulated yet"));
        }
    };
    let mut kinds: Vec<(SensorType, usize)> = vec![];
    for kind in ctx.spec.sensors.iter().map(|s| s.kind).filter(|k| !is_simulated(*k)) {
        match kinds.iter_mut().find(|(k, _)| *k == kind) {
            Some((_, n)) => *n += 1,
            None => kinds.push((kind, 1)),
        }
    }
    for (kind, n) in kinds {
        count(n, &format!("`{}` sensors: values", kind.keyword()));
    }
    if m.opt.enabled(enable::SLEEP) {
        found.push("sleeping of trees: not simulated yet".to_owned());
    }
    m.unsupported = found;
}

/// Whether the values of a kind of sensor are computed: those of kinematics and smooth dynamics.
fn is_simulated(kind: SensorType) -> bool {
    use SensorType as S;
    !matches!(
        kind,
        S::Touch
            | S::Force
            | S::Torque
            | S::Rangefinder
            | S::CamProjection
            | S::JointLimitPos
            | S::JointLimitVel
            | S::JointLimitFrc
            | S::TendonLimitPos
            | S::TendonLimitVel
            | S::TendonLimitFrc
            | S::InsideSite
            | S::GeomDist
            | S::GeomNormal
            | S::GeomFromTo
            | S::Contact
            | S::Tactile
            | S::User
    )
}
