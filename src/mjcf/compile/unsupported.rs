//! What a model contains that is read but not simulated yet.

use crate::mjcf::spec::SensorType;
use crate::model::options::enable;
use crate::model::{FrictionModel, Model};

use super::context::Context;
use super::derived::may_collide;

/// Collects one sentence for each kind of thing.
pub fn write(ctx: &Context<'_>, m: &mut Model) {
    let mut found = vec![];
    count(&mut found, m.neq, "equality constraints:");
    if may_collide(m) {
        found.push("contacts: not simulated yet".to_owned());
    }
    let limits = m.jnt_limited.iter().chain(&m.tendon_limited).filter(|l| **l).count();
    count(&mut found, limits, "joint and tendon limits:");
    let has_friction = |loss: &[f64]| loss.iter().filter(|f| **f > 0.0).count();
    if m.opt.friction == FrictionModel::Constraint {
        let losses = has_friction(&m.dof_frictionloss) + has_friction(&m.tendon_frictionloss);
        count(&mut found, losses, "friction losses:");
    }
    let mut kinds: Vec<(SensorType, usize)> = vec![];
    for kind in ctx.spec.sensors.iter().map(|s| s.kind).filter(|k| !is_simulated(*k)) {
        match kinds.iter_mut().find(|(k, _)| *k == kind) {
            Some((_, n)) => *n += 1,
            None => kinds.push((kind, 1)),
        }
    }
    for (kind, n) in kinds {
        count(&mut found, n, &format!("`{}` sensors: values", kind.keyword()));
    }
    if m.opt.enabled(enable::SLEEP) {
        found.push("sleeping of trees: not simulated yet".to_owned());
    }
    m.unsupported = found;
}

fn count(found: &mut Vec<String>, n: usize, what: &str) {
    if n > 0 {
        found.push(format!("{n} {what} not simulated yet"));
    }
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
