//! What a model contains that a simulation leaves out, in words.

use dualstep::Model;
use dualstep::model::options::disable;
use dualstep::model::{EqType, FrictionModel, WORLD};

/// Whether the constraint solver exists; until then steps are those of the smooth dynamics.
pub const CONSTRAINTS_ARE_SIMULATED: bool = false;

/// Kinds of constraints that the model has and its options leave switched on, with their numbers: `contacts`,
/// `3 joint limits`, …
pub fn constraints(m: &Model) -> Vec<String> {
    let on = |bit| !m.opt.disabled(disable::CONSTRAINT) && !m.opt.disabled(bit);
    let mut found = Vec::new();
    let mut count = |n: usize, one: &str, many: &str| match n {
        0 => {}
        1 => found.push(format!("1 {one}")),
        _ => found.push(format!("{n} {many}")),
    };
    if on(disable::LIMIT) {
        count(m.jnt_limited.iter().filter(|x| **x).count(), "joint limit", "joint limits");
        count(m.tendon_limited.iter().filter(|x| **x).count(), "tendon limit", "tendon limits");
    }
    if on(disable::FRICTIONLOSS) && m.opt.friction == FrictionModel::Constraint {
        let losses = m.dof_frictionloss.iter().chain(&m.tendon_frictionloss);
        count(losses.filter(|x| **x > 0.0).count(), "friction loss", "friction losses");
    }
    if on(disable::EQUALITY) {
        let solved = |(kind, active): (&EqType, &bool)| *active && *kind != EqType::Distance;
        let n = m.eq_type.iter().zip(&m.eq_active0).filter(|eq| solved(*eq)).count();
        count(n, "equality", "equalities");
    }
    if on(disable::CONTACT) && may_collide(m) {
        found.push("contacts".to_owned());
    }
    found
}

/// One sentence on the constraints that a step leaves out; none if there are none.
pub fn left_out(m: &Model) -> Option<String> {
    let constraints = constraints(m);
    if CONSTRAINTS_ARE_SIMULATED || constraints.is_empty() {
        return None;
    }
    Some(format!("constraints are not simulated yet; left out: {}", constraints.join(", ")))
}

/// Whether any two geoms can touch: an explicit pair, or contact bits that match between bodies that move
/// relative to each other.
fn may_collide(m: &Model) -> bool {
    let bits = |b: usize| (m.body_contype[b], m.body_conaffinity[b]);
    let welded = |b: usize| m.body_weldid[b];
    m.npair > 0
        || (WORLD + 1..m.nbody).any(|b2| {
            (WORLD..b2).any(|b1| {
                let ((type1, affinity1), (type2, affinity2)) = (bits(b1), bits(b2));
                welded(b1) != welded(b2) && (type1 & affinity2 != 0 || type2 & affinity1 != 0)
            })
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dualstep::mjcf::load_model_str;

    fn sentence(body: &str, disable: u32) -> Option<String> {
        let xml = format!("<mujoco><worldbody>{body}</worldbody></mujoco>");
        let mut m = load_model_str(&xml, "model.xml", std::path::Path::new(".")).unwrap();
        m.opt.disableflags |= disable;
        left_out(&m)
    }

    #[test]
    fn constraints_are_counted() {
        let limited = r#"<body><joint range="0 1" limited="true"/><geom size="1" contype="0"
            conaffinity="0"/></body>"#;
        let floor = r#"<geom type="plane" size="1 1 1"/><body><freejoint/><geom size="1"/></body>"#;
        let say = |what: &str| Some(format!("constraints are not simulated yet; left out: {what}"));
        assert_eq!(sentence(limited, 0), say("1 joint limit"));
        assert_eq!(sentence(limited, disable::LIMIT), None);
        assert_eq!(sentence(floor, 0), say("contacts"));
        assert_eq!(sentence(floor, disable::CONSTRAINT), None);
    }
}
