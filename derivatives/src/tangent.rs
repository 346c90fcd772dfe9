//! The state tangent `dx = [dq (nv), dv (nv), da (na)]`: how a state moves along it, how two states differ
//! by it, and what its components are called.
//!
//! Positions live on a manifold: a quaternion has four numbers and three directions to move in. The
//! tangent of a ball or free joint is the rotation in the body's own frame, as in `MuJoCo`.

use dualstep::integrate::{differentiate_pos, integrate_pos};
use dualstep::model::{DataType, JointType};
use dualstep::{Data, Model, Scalar};

/// Length of the state tangent, 2 nv + na.
pub fn ndx(m: &Model) -> usize {
    2 * m.nv + m.na
}

/// What a step advances: positions, velocities, activations.
#[derive(Clone, Debug, PartialEq)]
pub struct State<T: Scalar> {
    /// Generalized positions (nq).
    pub qpos: Vec<T>,
    /// Generalized velocities (nv).
    pub qvel: Vec<T>,
    /// Activations (na).
    pub act: Vec<T>,
}

impl<T: Scalar> State<T> {
    /// A zero state of the model's sizes; a place to [`read`](Self::read) into.
    pub fn new(m: &Model) -> Self {
        let zeros = |n| vec![T::zero(); n];
        Self { qpos: zeros(m.nq), qvel: zeros(m.nv), act: zeros(m.na) }
    }

    /// The state of `d`.
    pub fn of(d: &Data<T>) -> Self {
        Self { qpos: d.qpos.clone(), qvel: d.qvel.clone(), act: d.act.clone() }
    }

    /// Takes over the state of `d`, without allocating.
    ///
    /// # Panics
    /// If `d` belongs to a model of other sizes.
    pub fn read(&mut self, d: &Data<T>) {
        self.qpos.copy_from_slice(&d.qpos);
        self.qvel.copy_from_slice(&d.qvel);
        self.act.copy_from_slice(&d.act);
    }

    /// Puts the state into `d`; time and inputs stay.
    ///
    /// # Panics
    /// If `d` belongs to a model of other sizes.
    pub fn write(&self, d: &mut Data<T>) {
        d.qpos.copy_from_slice(&self.qpos);
        d.qvel.copy_from_slice(&self.qvel);
        d.act.copy_from_slice(&self.act);
    }

    /// `x ⊞ dx`: moves the state along a tangent (2 nv + na).
    ///
    /// # Panics
    /// If `dx` has another length.
    pub fn boxplus(&mut self, m: &Model, dx: &[T]) {
        assert_eq!(dx.len(), ndx(m), "tangent of another model");
        let (dq, rest) = dx.split_at(m.nv);
        let (dv, da) = rest.split_at(m.nv);
        integrate_pos(m, &mut self.qpos, dq, T::one());
        for (v, dv) in self.qvel.iter_mut().zip(dv) {
            *v += *dv;
        }
        for (a, da) in self.act.iter_mut().zip(da) {
            *a += *da;
        }
    }

    /// `(self ⊟ from) / h` into `dx` (2 nv + na): the tangent that leads from `from` to `self`, divided by
    /// `h`. Positions by `mj_differentiatePos`.
    ///
    /// # Panics
    /// If `dx` has another length.
    pub fn boxminus(&self, m: &Model, from: &Self, h: T, dx: &mut [T]) {
        assert_eq!(dx.len(), ndx(m), "tangent of another model");
        let (dq, rest) = dx.split_at_mut(m.nv);
        let (dv, da) = rest.split_at_mut(m.nv);
        differentiate_pos(m, dq, h, &from.qpos, &self.qpos);
        let inv_h = T::one() / h;
        let pairs = self.qvel.iter().zip(&from.qvel).chain(self.act.iter().zip(&from.act));
        for (dx, (to, from)) in dv.iter_mut().chain(da).zip(pairs) {
            *dx = (*to - *from) * inv_h;
        }
    }
}

/// Components of the translations and rotations of free and ball joints.
const FREE: [&str; 6] = [".x", ".y", ".z", ".rot_x", ".rot_y", ".rot_z"];
const BALL: [&str; 3] = [".rot_x", ".rot_y", ".rot_z"];

/// Names of the degrees of freedom (nv): the joint's name, followed for joints of several dofs by `.x .y .z`
/// (translations, world frame) and `.rot_x .rot_y .rot_z` (rotations, body frame). A joint without a name is
/// `joint3` after its index.
pub fn dof_names(m: &Model) -> Vec<String> {
    let mut names = Vec::with_capacity(m.nv);
    for j in 0..m.njnt {
        let joint = object_name(&m.names.joint, j, "joint");
        match m.jnt_type[j] {
            JointType::Free => names.extend(FREE.iter().map(|part| joint.clone() + part)),
            JointType::Ball => names.extend(BALL.iter().map(|part| joint.clone() + part)),
            JointType::Slide | JointType::Hinge => names.push(joint),
        }
    }
    names
}

/// Names of the state tangent (2 nv + na): [`dof_names`] with `.q`, then the same with `.v`, then
/// `<actuator>.act`.
pub fn state_names(m: &Model) -> Vec<String> {
    let dofs = dof_names(m);
    let positions = dofs.iter().map(|dof| format!("{dof}.q"));
    let velocities = dofs.iter().map(|dof| format!("{dof}.v"));
    let mut names: Vec<String> = positions.chain(velocities).collect();
    let mut act = vec![String::new(); m.na];
    for i in 0..m.nactuator {
        let actuator = object_name(&m.names.actuator, i, "actuator");
        if let Some(adr) = m.actuator_actadr[i] {
            number(&mut act[adr..adr + m.actuator_actnum[i]], &format!("{actuator}.act"));
        }
    }
    names.append(&mut act);
    names
}

/// Names of the controls (nu): the actuator's name, or `actuator3` after its index; numbered `.0 .1 …` where
/// an actuator has several.
pub fn ctrl_names(m: &Model) -> Vec<String> {
    let mut names = vec![String::new(); m.nu];
    for i in 0..m.nactuator {
        let adr = m.actuator_ctrladr[i];
        let actuator = object_name(&m.names.actuator, i, "actuator");
        number(&mut names[adr..adr + m.actuator_ctrlnum[i]], &actuator);
    }
    names
}

/// Names of the numbers in `sensordata` (nsensordata): the sensor's name, or `sensor3` after its index, with
/// `.x .y .z`, `.w .x .y .z` or `.0 .1 …` where it has several.
pub fn sensor_names(m: &Model) -> Vec<String> {
    let mut names = vec![String::new(); m.nsensordata];
    for i in 0..m.nsensor {
        let sensor = object_name(&m.names.sensor, i, "sensor");
        let slots = &mut names[m.sensor_adr[i]..m.sensor_adr[i] + m.sensor_dim[i]];
        let parts: &[&str] = match (slots.len(), m.sensor_datatype[i]) {
            (3, _) => &[".x", ".y", ".z"],
            (4, DataType::Quaternion) => &[".w", ".x", ".y", ".z"],
            _ => {
                number(slots, &sensor);
                continue;
            }
        };
        for (slot, part) in slots.iter_mut().zip(parts) {
            *slot = format!("{sensor}{part}");
        }
    }
    names
}

/// `name`, or `name.0 name.1 …` where there are several.
fn number(slots: &mut [String], name: &str) {
    let single = slots.len() == 1;
    for (k, slot) in slots.iter_mut().enumerate() {
        *slot = if single { name.to_owned() } else { format!("{name}.{k}") };
    }
}

/// Name of an object, or its kind and index; underscores are added where another object has that name.
pub fn object_name(names: &[String], index: usize, kind: &str) -> String {
    match names.get(index) {
        Some(name) if !name.is_empty() => name.clone(),
        _ => {
            let mut name = format!("{kind}{index}");
            while names.contains(&name) {
                name.push('_');
            }
            name
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dualstep::mjcf::load_model_str;

    const MIXED: &str = r#"
    <mujoco>
      <worldbody>
        <body name="base">
          <freejoint name="root"/>
          <geom size=".1" mass="1"/>
          <body pos="0 0 .3">
            <joint type="ball"/>
            <geom size=".1" mass="1"/>
            <body pos="0 0 .3">
              <joint name="knee" axis="0 1 0"/>
              <geom size=".1" mass="1"/>
              <site name="tip"/>
            </body>
          </body>
        </body>
      </worldbody>
      <actuator>
        <general name="lag" joint="knee" dyntype="filter" dynprm=".1"/>
        <motor joint="knee"/>
      </actuator>
      <sensor>
        <jointpos name="angle" joint="knee"/>
        <framequat name="pose" objtype="site" objname="tip"/>
        <gyro site="tip"/>
      </sensor>
    </mujoco>"#;

    fn mixed() -> Model {
        load_model_str(MIXED, "mixed.xml", std::path::Path::new(".")).unwrap()
    }

    #[test]
    fn names_follow_the_scheme() {
        let m = mixed();
        let dofs = dof_names(&m);
        assert_eq!(dofs[..2], ["root.x", "root.y"]);
        assert_eq!(
            dofs[3..],
            [
                "root.rot_x",
                "root.rot_y",
                "root.rot_z",
                "joint1.rot_x",
                "joint1.rot_y",
                "joint1.rot_z",
                "knee"
            ]
            .map(String::from)
        );
        let state = state_names(&m);
        assert_eq!(state.len(), ndx(&m));
        assert_eq!(state[9], "knee.q");
        assert_eq!(state[10], "root.x.v");
        assert_eq!(state[20], "lag.act");
        assert_eq!(ctrl_names(&m), ["lag", "actuator1"]);
        let sensors = sensor_names(&m);
        assert_eq!(sensors[..2], ["angle", "pose.w"]);
        assert_eq!(sensors[5..], ["sensor2.x", "sensor2.y", "sensor2.z"]);
    }

    #[test]
    fn unnamed_objects_avoid_names_that_are_taken() {
        let names = ["joint1".to_owned(), String::new()];
        assert_eq!(object_name(&names, 1, "joint"), "joint1_");
    }

    #[test]
    fn boxminus_undoes_boxplus() {
        let m = mixed();
        let mut d = Data::<f64>::new(&m);
        d.qpos[3..7].copy_from_slice(&[0.5, 0.5, -0.5, 0.5]);
        let from = State::of(&d);
        let dx: Vec<f64> = (0..ndx(&m)).map(|i| 0.1 * (i as f64).sin()).collect();
        let mut to = from.clone();
        to.boxplus(&m, &dx);
        let mut back = vec![0.0; ndx(&m)];
        to.boxminus(&m, &from, 1.0, &mut back);
        for (a, b) in dx.iter().zip(&back) {
            assert!((a - b).abs() < 1e-14, "{a} came back as {b}");
        }
        // and it divides by h
        to.boxminus(&m, &from, 0.5, &mut back);
        assert!((back[9] - 2.0 * dx[9]).abs() < 1e-14);
    }
}
