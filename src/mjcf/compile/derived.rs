//! What follows from the tree without running the pipeline: simple degrees of freedom, kinematic trees,
//! subtree masses, actuators of joints and tendons, sleep policies.
//!
//! Source: MuJoCo `mjCModel::CopyTree`, `FinalizeSimple`; `setFixed` of `engine_setconst.c`.

use crate::mjcf::error::{MjcfError, MjcfErrorKind};
use crate::mjcf::spec::SleepPolicy;
use crate::model::{Model, TrnType, WrapType};

use super::body::Body;
use super::context::Context;

/// MuJoCo's numbers of sleep policies (`mjtSleepPolicy`).
mod policy {
    /// Decided by the compiler: not yet.
    pub(super) const AUTO: i32 = 0;
    /// Decided by the compiler: never.
    pub(super) const AUTO_NEVER: i32 = 1;
    /// Decided by the compiler: allowed.
    pub(super) const AUTO_ALLOWED: i32 = 2;
    /// Chosen by the user: never.
    pub(super) const NEVER: i32 = 3;
    /// Chosen by the user: allowed.
    pub(super) const ALLOWED: i32 = 4;
    /// Chosen by the user: asleep at the start.
    pub(super) const INIT: i32 = 5;
}

/// Fills in everything derived. Tendons and actuators are in the model already.
///
/// # Errors
/// A sleep policy where there is none.
pub fn derive(ctx: &Context<'_>, bodies: &[Body<'_>], m: &mut Model) -> Result<(), MjcfError> {
    scale_mass(ctx.spec.compiler.settotalmass, m);
    simple_dofs(m);
    trees(m);
    tendon_trees(m);
    damping_actuators(m);
    sleep_policies(ctx, bodies, m)
}

/// Subtree masses; before that, the total mass is set if a positive one is asked for.
fn scale_mass(total: f64, m: &mut Model) {
    let subtree = |m: &Model| {
        let mut mass = m.body_mass.clone();
        for b in m.bodies_tip_to_base() {
            mass[m.body_parentid[b]] += mass[b];
        }
        mass
    };
    m.body_subtreemass = subtree(m);
    let found = m.body_subtreemass.first().copied().unwrap_or(0.0);
    if total > 0.0 {
        let scale = (total / found.max(crate::MINVAL)).max(crate::MINVAL);
        for b in m.bodies_base_to_tip() {
            m.body_mass[b] *= scale;
            m.body_inertia[b] *= scale;
        }
        m.body_subtreemass = subtree(m);
    }
}

/// Runs of degrees of freedom of simple bodies, counted from each to the end of its run.
fn simple_dofs(m: &mut Model) {
    let mut count = 0;
    m.dof_simplenum = vec![0; m.nv];
    for i in (0..m.nv).rev() {
        count = if m.body_simple[m.dof_bodyid[i]] > 0 { count + 1 } else { 0 };
        m.dof_simplenum[i] = count;
    }
}

/// A kinematic tree begins at every degree of freedom without parent.
fn trees(m: &mut Model) {
    for i in 0..m.nv {
        if m.dof_parentid[i].is_none() {
            m.tree_dofadr.push(i);
            m.tree_dofnum.push(0);
        }
        let tree = m.tree_dofadr.len().saturating_sub(1);
        m.dof_treeid.push(tree);
        m.tree_dofnum[tree] += 1;
    }
    m.ntree = m.tree_dofadr.len();
    m.tree_bodyadr = vec![0; m.ntree];
    m.tree_bodynum = vec![0; m.ntree];
    for b in 0..m.nbody {
        let weld = m.body_weldid[b];
        let tree = (m.body_dofnum[weld] > 0).then(|| m.dof_treeid[m.body_dofadr[weld]]);
        m.body_treeid.push(tree);
        if let Some(tree) = tree {
            if m.tree_bodynum[tree] == 0 {
                m.tree_bodyadr[tree] = b;
            }
            m.tree_bodynum[tree] += 1;
        }
    }
}

/// Trees along the path of a tendon, each once, in order.
fn trees_of_tendon(m: &Model, tendon: usize) -> Vec<usize> {
    let adr = m.tendon_adr[tendon];
    let mut found = vec![];
    for w in adr..adr + m.tendon_num[tendon] {
        let Some(id) = m.wrap_objid[w] else { continue };
        let body = match m.wrap_type[w] {
            WrapType::Joint => m.jnt_bodyid[id],
            WrapType::Site => m.site_bodyid[id],
            WrapType::Sphere | WrapType::Cylinder => m.geom_bodyid[id],
            WrapType::None | WrapType::Pulley => continue,
        };
        if let Some(tree) = m.body_treeid[body]
            && !found.contains(&tree)
        {
            found.push(tree);
        }
    }
    found
}

fn tendon_trees(m: &mut Model) {
    for t in 0..m.ntendon {
        let trees = trees_of_tendon(m, t);
        let code = |k: usize| trees.get(k).and_then(|&t| i32::try_from(t).ok()).unwrap_or(-1);
        m.tendon_treenum.push(trees.len());
        m.tendon_treeid.push([code(0), code(1)]);
    }
}

/// The actuator that adds damping or armature to a joint or tendon: −1 none, −2 several.
fn damping_actuators(m: &mut Model) {
    m.jnt_actuatorid = vec![-1; m.njnt];
    m.tendon_actuatorid = vec![-1; m.ntendon];
    for a in 0..m.nactuator {
        let none = m.actuator_damping[a] == 0.0
            && m.actuator_dampingpoly[a] == [0.0; 2]
            && m.actuator_armature[a] == 0.0;
        let Some(id) = m.actuator_trnid[a][0] else { continue };
        if none {
            continue;
        }
        let slot = match m.actuator_trntype[a] {
            TrnType::Joint | TrnType::JointInParent => &mut m.jnt_actuatorid[id],
            TrnType::Tendon => &mut m.tendon_actuatorid[id],
            TrnType::Site | TrnType::SliderCrank | TrnType::Body | TrnType::So3 => continue,
        };
        *slot = if *slot == -1 { i32::try_from(a).unwrap_or(-2) } else { -2 };
    }
}

/// Who may sleep: as the user says; otherwise trees that no actuator moves and no spring ties to
/// others.
fn sleep_policies(ctx: &Context<'_>, bodies: &[Body<'_>], m: &mut Model) -> Result<(), MjcfError> {
    m.tree_sleep_policy = vec![policy::AUTO; m.ntree];
    for (b, body) in bodies.iter().enumerate().skip(1) {
        let code = match body.spec.sleep {
            SleepPolicy::Auto => continue,
            SleepPolicy::Never => policy::NEVER,
            SleepPolicy::Allowed => policy::ALLOWED,
            SleepPolicy::Init => policy::INIT,
        };
        match m.body_treeid[b] {
            Some(tree) if m.tree_bodyadr[tree] == b => m.tree_sleep_policy[tree] = code,
            _ => {
                let message = "a sleep policy is only allowed for the root of a moving tree";
                let kind = MjcfErrorKind::Invalid;
                return Err(ctx.attr_error(body.spec.span, "sleep", kind, message));
            }
        }
    }
    let keep_awake = |tree: usize, m: &mut Model| {
        if m.tree_sleep_policy[tree] == policy::AUTO {
            m.tree_sleep_policy[tree] = policy::AUTO_NEVER;
        }
    };
    for a in 0..m.nactuator {
        for tree in trees_of_actuator(m, a) {
            keep_awake(tree, m);
        }
    }
    for t in 0..m.ntendon {
        let forceless = m.tendon_stiffness[t] == 0.0
            && m.tendon_stiffnesspoly[t] == [0.0; 2]
            && m.tendon_damping[t] == 0.0
            && m.tendon_dampingpoly[t] == [0.0; 2]
            && m.tendon_actuatorid[t] == -1;
        let trees = trees_of_tendon(m, t);
        if trees.len() < 2 || (trees.len() == 2 && forceless) {
            continue;
        }
        for tree in trees {
            keep_awake(tree, m);
        }
    }
    for code in &mut m.tree_sleep_policy {
        if *code == policy::AUTO {
            *code = policy::AUTO_ALLOWED;
        }
    }
    Ok(())
}

/// Trees that an actuator acts on.
fn trees_of_actuator(m: &Model, a: usize) -> Vec<usize> {
    let Some(id) = m.actuator_trnid[a][0] else { return vec![] };
    let refsite = m.actuator_trnid[a][1].map(|s| m.site_bodyid[s]);
    let bodies = match m.actuator_trntype[a] {
        TrnType::Joint | TrnType::JointInParent => [Some(m.jnt_bodyid[id]), None],
        TrnType::Site => [Some(m.site_bodyid[id]), refsite],
        TrnType::Tendon => return trees_of_tendon(m, id),
        TrnType::Body => [Some(id), None],
        TrnType::SliderCrank | TrnType::So3 => return vec![],
    };
    bodies.into_iter().flatten().filter_map(|b| m.body_treeid[b]).collect()
}
