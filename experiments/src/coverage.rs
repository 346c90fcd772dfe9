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

/// What a simulation leaves out, in sentences: all constraints in one, then what the loader noticed.
pub fn left_out(m: &Model) -> Vec<String> {
    let constraints = constraints(m);
    let mut sentences = Vec::new();
    if !CONSTRAINTS_ARE_SIMULATED && !constraints.is_empty() {
        let list = constraints.join(", ");
        sentences.push(format!("constraints are not simulated yet; left out: {list}"));
    }
    sentences.extend(m.unsupported.iter().cloned());
    sentences
}

/// Whether any two geoms can touch: an explicit pair, or contact bits that match between bodies that move
/// relative to each other, are not parent and child, and are not excluded.
fn may_collide(m: &Model) -> bool {
    let filter_parent = !m.opt.disabled(disable::FILTERPARENT);
    let parent_of = |weld: usize| m.body_weldid[m.body_parentid[weld]];
    let bodies_may = |b1: usize, b2: usize| {
        let (w1, w2) = (m.body_weldid[b1], m.body_weldid[b2]);
        let related = w1 != WORLD && w2 != WORLD && (w1 == parent_of(w2) || w2 == parent_of(w1));
        let (low, high) = (b1.min(b2), b1.max(b2));
        let excluded =
            m.exclude_signature.iter().any(|s| usize::try_from(*s) == Ok((low << 16) + high));
        w1 != w2 && !(filter_parent && related) && !excluded
    };
    let geoms_may = |i: usize, j: usize| {
        let bits =
            m.geom_contype[i] & m.geom_conaffinity[j] | m.geom_contype[j] & m.geom_conaffinity[i];
        bits != 0 && bodies_may(m.geom_bodyid[i], m.geom_bodyid[j])
    };
    m.npair > 0 || (0..m.ngeom).any(|i| (i + 1..m.ngeom).any(|j| geoms_may(i, j)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dualstep::mjcf::load_model_str;

    fn sentence(body: &str, disable: u32) -> Vec<String> {
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
        let say = |what: &str| vec![format!("constraints are not simulated yet; left out: {what}")];
        assert_eq!(sentence(limited, 0), say("1 joint limit"));
        assert_eq!(sentence(limited, disable::LIMIT), Vec::<String>::new());
        assert_eq!(sentence(floor, 0), say("contacts"));
        assert_eq!(sentence(floor, disable::CONSTRAINT), Vec::<String>::new());
    }
}
