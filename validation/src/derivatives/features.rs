//! Features of models that derivatives must get right, and the rows and columns of [A B; C D] that each touches.

use dualstep::constraint::may_have_rows;
use dualstep::model::options::disable;
use dualstep::model::{
    BiasType, DynType, FrictionModel, GainType, JointType, Model, SensorType, TrnType,
};
use dualstep::smooth::passive::{compensates_gravity, joint_stiffness, tendon_stiffness};
use dualstep::smooth::poly;
use dualstep_derivatives::tangent::ndx;
use serde::Serialize;

use super::constraints::KINDS;

/// Kinds of features.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// Joint types.
    Joint,
    /// What an actuator acts on.
    Transmission,
    /// Activation dynamics.
    Dynamics,
    /// Gain.
    Gain,
    /// Bias.
    Bias,
    /// Limits of actuators.
    Limit,
    /// Forces, and what is treated like them.
    Force,
    /// Constraints that push or hold, by kind and cone.
    Constraint,
    /// Sensors.
    Sensor,
}

impl Group {
    /// All, in order.
    pub const ALL: [Self; 9] = [
        Self::Joint,
        Self::Transmission,
        Self::Dynamics,
        Self::Gain,
        Self::Bias,
        Self::Limit,
        Self::Force,
        Self::Constraint,
        Self::Sensor,
    ];

    /// Title.
    pub fn title(self) -> &'static str {
        match self {
            Self::Joint => "joint",
            Self::Transmission => "transmission",
            Self::Dynamics => "activation dynamics",
            Self::Gain => "gain",
            Self::Bias => "bias",
            Self::Limit => "limit of actuators",
            Self::Force => "force",
            Self::Constraint => "constraint",
            Self::Sensor => "sensor",
        }
    }
}

/// Rows and columns that a feature touches; empty if the model does not have it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Touch {
    /// Rows of [A B].
    pub rows: Vec<usize>,
    /// Columns of [A B].
    pub columns: Vec<usize>,
    /// Rows of [C D].
    pub sensors: Vec<usize>,
}

impl Touch {
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.columns.is_empty() && self.sensors.is_empty()
    }

    fn add(&mut self, other: Self) {
        self.rows.extend(other.rows);
        self.columns.extend(other.columns);
        self.sensors.extend(other.sensors);
    }
}

/// A feature of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Feature {
    pub group: Group,
    pub name: &'static str,
    pub touch: Touch,
    /// Only in states with applied forces.
    pub applied: bool,
}

/// All features in a fixed order, those that the model does not have among them.
pub(super) fn features(m: &Model) -> Vec<Feature> {
    let mut all = Vec::new();
    let mut push = |group, name, touch| {
        let applied = name == APPLIED;
        all.push(Feature { group, name, touch, applied });
    };
    for (kind, name) in JOINTS {
        let has = |i: &usize| m.jnt_type[m.dof_jntid[*i]] == kind;
        push(Group::Joint, name, dofs(m, has, true, true));
    }
    for (kind, name) in TRANSMISSIONS {
        push(Group::Transmission, name, actuators(m, |a| m.actuator_trntype[a] == kind));
    }
    for (kind, name) in DYNAMICS {
        push(Group::Dynamics, name, actuators(m, |a| m.actuator_dyntype[a] == kind));
    }
    for (kind, name) in GAINS {
        push(Group::Gain, name, actuators(m, |a| m.actuator_gaintype[a] == kind));
    }
    for (kind, name) in BIASES {
        push(Group::Bias, name, actuators(m, |a| m.actuator_biastype[a] == kind));
    }
    push(Group::Limit, "ctrlrange", actuators(m, |a| any_ctrl_limited(m, a)));
    push(Group::Limit, "actrange", actuators(m, |a| m.actuator_actlimited[a]));
    push(Group::Limit, "forcerange", actuators(m, |a| m.actuator_forcelimited[a]));
    push(Group::Limit, "actuatorfrcrange of joints", {
        dofs(m, |i| m.jnt_actfrclimited[m.dof_jntid[*i]], true, true)
    });
    push(Group::Limit, "actuatorfrcrange of tendons", {
        tendons(m, |t| m.tendon_actfrclimited[t], true, true)
    });
    for (name, touch) in forces(m) {
        push(Group::Force, name, touch);
    }
    // which of them there are, the state says
    for name in KINDS {
        let touch = if may_have_rows(m) { dofs(m, |_| true, true, true) } else { Touch::default() };
        push(Group::Constraint, name, touch);
    }
    for (kind, name) in SENSORS {
        let mut touch = Touch::default();
        for s in (0..m.nsensor).filter(|s| m.sensor_type[*s] == kind) {
            touch.sensors.extend(m.sensor_adr[s]..m.sensor_adr[s] + m.sensor_dim[s]);
        }
        if m.opt.disabled(disable::SENSOR) {
            touch = Touch::default();
        }
        push(Group::Sensor, name, touch);
    }
    all
}

/// Name of the force that only some states have.
const APPLIED: &str = "applied forces";

fn forces(m: &Model) -> Vec<(&'static str, Touch)> {
    let on = |bit| !m.opt.disabled(bit);
    let (springs, dampers) = (on(disable::SPRING), on(disable::DAMPER));
    let stiffness = |i: &usize| joint_stiffness(m, m.dof_jntid[*i]);
    let bent = |k: &[f64; 3]| k[1] != 0.0 || k[2] != 0.0;
    let gravity = on(disable::GRAVITY) && m.opt.gravity.norm() > 0.0;
    let friction = m.opt.friction == FrictionModel::Tanh && on(disable::FRICTIONLOSS);
    let ten_damping = |t: usize| !poly::is_zero(&m.tendon_damping_eff[t]);
    let moving = |b: usize| m.body_gravcomp[b] != 0.0 && m.body_weldid[b] != 0;
    let compensated =
        |i: &usize| (1..m.nbody).any(|b| moving(b) && is_below(m, b, m.dof_bodyid[*i]));
    vec![
        ("inertia, Coriolis", dofs(m, |_| true, true, true)),
        ("gravity", dofs(m, |_| gravity, true, false)),
        ("gravity compensation", {
            dofs(m, |i| compensates_gravity(m) && compensated(i), true, false)
        }),
        ("joint spring", dofs(m, |i| springs && !poly::is_zero(&stiffness(i)), true, false)),
        ("polynomial joint spring", dofs(m, |i| springs && bent(&stiffness(i)), true, false)),
        ("joint damper", {
            dofs(m, |i| dampers && !poly::is_zero(&m.dof_damping_eff[*i]), false, true)
        }),
        (
            "polynomial joint damper",
            dofs(m, |i| dampers && bent(&m.dof_damping_eff[*i]), false, true),
        ),
        ("armature", dofs(m, |i| m.dof_armature_eff[*i] != 0.0, true, true)),
        ("tendon spring", {
            tendons(m, |t| springs && !poly::is_zero(&tendon_stiffness(m, t)), true, false)
        }),
        ("tendon damper", tendons(m, |t| dampers && ten_damping(t), true, true)),
        ("tendon armature", tendons(m, |t| m.tendon_armature_eff[t] != 0.0, true, true)),
        ("tanh friction", dofs(m, |i| friction && m.dof_frictionloss[*i] > 0.0, false, true)),
        (APPLIED, dofs(m, |_| true, true, true)),
    ]
}

/// True if body `b` is `ancestor`, or hangs on it.
fn is_below(m: &Model, mut b: usize, ancestor: usize) -> bool {
    while b > ancestor {
        b = m.body_parentid[b];
    }
    b == ancestor
}

fn any_ctrl_limited(m: &Model, a: usize) -> bool {
    let controls = m.actuator_ctrladr[a]..m.actuator_ctrladr[a] + m.actuator_ctrlnum[a];
    m.actuator_ctrllimited[controls].contains(&true)
}

/// Velocity rows of some degrees of freedom, and their columns by position, by velocity.
fn dofs(m: &Model, has: impl Fn(&usize) -> bool, by_pos: bool, by_vel: bool) -> Touch {
    let mut touch = Touch::default();
    for i in (0..m.nv).filter(has) {
        touch.rows.extend([i, m.nv + i]);
        touch.columns.extend(by_pos.then_some(i));
        touch.columns.extend(by_vel.then_some(m.nv + i));
    }
    touch
}

fn tendons(m: &Model, has: impl Fn(usize) -> bool, by_pos: bool, by_vel: bool) -> Touch {
    let mut touch = Touch::default();
    for t in (0..m.ntendon).filter(|t| has(*t)) {
        let row = m.ten_J_rowadr[t]..m.ten_J_rowadr[t] + m.ten_J_rownnz[t];
        let colind = &m.ten_J_colind[row];
        touch.add(dofs(m, |i| colind.contains(i), by_pos, by_vel));
    }
    touch
}

/// Columns of the controls and activations of some actuators, rows of their activations, and rows of the
/// velocities that they drive.
fn actuators(m: &Model, has: impl Fn(usize) -> bool) -> Touch {
    let mut touch = Touch::default();
    if m.opt.disabled(disable::ACTUATION) {
        return touch;
    }
    for a in (0..m.nactuator).filter(|a| has(*a) && !m.actuator_disabled(*a)) {
        let controls = m.actuator_ctrladr[a]..m.actuator_ctrladr[a] + m.actuator_ctrlnum[a];
        touch.columns.extend(controls.map(|u| ndx(m) + u));
        if let Some(adr) = m.actuator_actadr[a] {
            let act = (adr..adr + m.actuator_actnum[a]).map(|i| 2 * m.nv + i);
            touch.columns.extend(act.clone());
            touch.rows.extend(act);
        }
        touch.rows.extend(driven(m, a).iter().map(|dof| m.nv + dof));
    }
    touch
}

/// Degrees of freedom that an actuator can drive.
fn driven(m: &Model, a: usize) -> &[usize] {
    &m.moment_colind[m.moment_rowadr[a]..m.moment_rowadr[a] + m.moment_rownnz[a]]
}

/// A joint type, an actuator on it, a force on it.
pub(super) type Combination = [&'static str; 3];

/// Every combination in a model of joint type, activation dynamics of an actuator that drives the joint (or none)
/// and force on it, with the degrees of freedom where they meet.
pub(super) fn combinations(m: &Model) -> Vec<(Combination, Vec<usize>)> {
    let mut found: Vec<(Combination, Vec<usize>)> = Vec::new();
    let forces: Vec<_> =
        forces(m).into_iter().filter(|(name, _)| FORCES_ON_JOINTS.contains(name)).collect();
    for i in 0..m.nv {
        let joint = name_of(&JOINTS, m.jnt_type[m.dof_jntid[i]]);
        let acts = |a: &usize| {
            !m.opt.disabled(disable::ACTUATION)
                && !m.actuator_disabled(*a)
                && driven(m, *a).contains(&i)
        };
        let mut drives: Vec<&str> = (0..m.nactuator)
            .filter(acts)
            .map(|a| name_of(&DYNAMICS, m.actuator_dyntype[a]))
            .collect();
        drives.dedup();
        if drives.is_empty() {
            drives.push(NO_ACTUATOR);
        }
        for (force, touch) in &forces {
            if !touch.rows.contains(&i) {
                continue;
            }
            for drive in &drives {
                let key = [joint, drive, force];
                match found.iter_mut().find(|(known, _)| *known == key) {
                    Some((_, dofs)) if dofs.contains(&i) => {}
                    Some((_, dofs)) => dofs.push(i),
                    None => found.push((key, vec![i])),
                }
            }
        }
    }
    found
}

fn name_of<K: Copy + PartialEq>(names: &[(K, &'static str)], kind: K) -> &'static str {
    names.iter().find(|(known, _)| *known == kind).map_or("", |(_, name)| name)
}

/// Rows of the matrix of combinations: actuators on a joint.
pub const NO_ACTUATOR: &str = "no actuator";
/// Columns of the matrix of combinations: forces on a joint.
pub const FORCES_ON_JOINTS: [&str; 9] = [
    "gravity",
    "gravity compensation",
    "joint spring",
    "joint damper",
    "armature",
    "tendon spring",
    "tendon damper",
    "tanh friction",
    APPLIED,
];

/// Joint types by name.
pub const JOINTS: [(JointType, &str); 4] = [
    (JointType::Free, "free"),
    (JointType::Ball, "ball"),
    (JointType::Slide, "slide"),
    (JointType::Hinge, "hinge"),
];

const TRANSMISSIONS: [(TrnType, &str); 7] = [
    (TrnType::Joint, "joint"),
    (TrnType::JointInParent, "jointinparent"),
    (TrnType::Tendon, "tendon"),
    (TrnType::Site, "site"),
    (TrnType::SliderCrank, "slidercrank"),
    (TrnType::Body, "body"),
    (TrnType::So3, "orientation"),
];

/// Activation dynamics by name.
pub const DYNAMICS: [(DynType, &str); 5] = [
    (DynType::None, "none"),
    (DynType::Integrator, "integrator"),
    (DynType::Filter, "filter"),
    (DynType::FilterExact, "filterexact"),
    (DynType::Muscle, "muscle"),
];

const GAINS: [(GainType, &str); 3] =
    [(GainType::Fixed, "fixed"), (GainType::Affine, "affine"), (GainType::Muscle, "muscle")];

const BIASES: [(BiasType, &str); 3] =
    [(BiasType::None, "none"), (BiasType::Affine, "affine"), (BiasType::Muscle, "muscle")];

/// Sensors that are simulated without constraints, under their names in MJCF.
const SENSORS: [(SensorType, &str); 45] = [
    (SensorType::Touch, "touch"),
    (SensorType::Contact, "contact"),
    (SensorType::JointLimitPos, "jointlimitpos"),
    (SensorType::JointLimitVel, "jointlimitvel"),
    (SensorType::JointLimitFrc, "jointlimitfrc"),
    (SensorType::TendonLimitPos, "tendonlimitpos"),
    (SensorType::TendonLimitVel, "tendonlimitvel"),
    (SensorType::TendonLimitFrc, "tendonlimitfrc"),
    (SensorType::Rangefinder, "rangefinder"),
    (SensorType::CamProjection, "camprojection"),
    (SensorType::GeomDist, "distance"),
    (SensorType::GeomNormal, "normal"),
    (SensorType::GeomFromTo, "fromto"),
    (SensorType::Accelerometer, "accelerometer"),
    (SensorType::Velocimeter, "velocimeter"),
    (SensorType::Gyro, "gyro"),
    (SensorType::Force, "force"),
    (SensorType::Torque, "torque"),
    (SensorType::Magnetometer, "magnetometer"),
    (SensorType::JointPos, "jointpos"),
    (SensorType::JointVel, "jointvel"),
    (SensorType::TendonPos, "tendonpos"),
    (SensorType::TendonVel, "tendonvel"),
    (SensorType::ActuatorPos, "actuatorpos"),
    (SensorType::ActuatorVel, "actuatorvel"),
    (SensorType::ActuatorFrc, "actuatorfrc"),
    (SensorType::JointActFrc, "jointactuatorfrc"),
    (SensorType::TendonActFrc, "tendonactuatorfrc"),
    (SensorType::BallQuat, "ballquat"),
    (SensorType::BallAngVel, "ballangvel"),
    (SensorType::FramePos, "framepos"),
    (SensorType::FrameQuat, "framequat"),
    (SensorType::FrameXAxis, "framexaxis"),
    (SensorType::FrameYAxis, "frameyaxis"),
    (SensorType::FrameZAxis, "framezaxis"),
    (SensorType::FrameLinVel, "framelinvel"),
    (SensorType::FrameAngVel, "frameangvel"),
    (SensorType::FrameLinAcc, "framelinacc"),
    (SensorType::FrameAngAcc, "frameangacc"),
    (SensorType::SubtreeCom, "subtreecom"),
    (SensorType::SubtreeLinVel, "subtreelinvel"),
    (SensorType::SubtreeAngMom, "subtreeangmom"),
    (SensorType::EPotential, "e_potential"),
    (SensorType::EKinetic, "e_kinetic"),
    (SensorType::Clock, "clock"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use dualstep::mjcf::load_model_str;

    const SLED: &str = r#"
    <mujoco>
      <worldbody>
        <body>
          <joint name="rail" type="slide" axis="1 0 0" stiffness="2"/>
          <geom size=".1" mass="1"/>
          <body pos="0 0 .3" gravcomp="1">
            <joint name="knee" axis="0 1 0" damping=".1"/>
            <geom size=".1" mass="1" pos=".1 0 0"/>
          </body>
        </body>
      </worldbody>
      <actuator>
        <general name="lag" joint="knee" dyntype="filter" dynprm=".1"/>
        <motor joint="knee"/>
      </actuator>
      <sensor><jointvel joint="rail"/><framepos objtype="body" objname="world"/></sensor>
    </mujoco>"#;

    fn touch(m: &Model, group: Group, name: &str) -> Touch {
        let found = features(m).into_iter().find(|f| f.group == group && f.name == name);
        found.unwrap().touch
    }

    #[test]
    fn features_touch_their_rows_and_columns() {
        let m = load_model_str(SLED, "sled.xml", std::path::Path::new(".")).unwrap();
        let touches = |group, name, rows: &[usize], columns: &[usize], sensors: &[usize]| {
            let found = touch(&m, group, name);
            assert_eq!((&*found.rows, &*found.columns, &*found.sensors), (rows, columns, sensors));
        };
        // states: rail.q knee.q rail.v knee.v lag.act; controls lag, actuator1
        touches(Group::Joint, "slide", &[0, 2], &[0, 2], &[]);
        touches(Group::Force, "joint spring", &[0, 2], &[0], &[]);
        touches(Group::Force, "joint damper", &[1, 3], &[3], &[]);
        touches(Group::Force, "gravity compensation", &[0, 2, 1, 3], &[0, 1], &[]);
        touches(Group::Dynamics, "filter", &[4, 3], &[5, 4], &[]);
        touches(Group::Dynamics, "none", &[3], &[6], &[]);
        touches(Group::Sensor, "framepos", &[], &[], &[1, 2, 3]);
        assert!(touch(&m, Group::Joint, "ball").is_empty());
        assert!(touch(&m, Group::Dynamics, "muscle").is_empty());
    }

    #[test]
    fn combinations_are_those_of_the_model() {
        let m = load_model_str(SLED, "sled.xml", std::path::Path::new(".")).unwrap();
        let found = combinations(&m);
        let dofs = |key: Combination| found.iter().find(|(k, _)| *k == key).map(|(_, d)| &d[..]);
        assert_eq!(dofs(["slide", NO_ACTUATOR, "joint spring"]), Some(&[0][..]));
        assert_eq!(dofs(["hinge", "filter", "joint damper"]), Some(&[1][..]));
        assert_eq!(dofs(["hinge", "none", "gravity compensation"]), Some(&[1][..]));
        assert_eq!(dofs(["hinge", "none", "joint spring"]), None);
    }
}
