//! States at which derivatives are compared: where formulas are simple, where they are not, and where a step has two
//! derivatives.

use dualstep::integrate::integrate_pos;
use dualstep::model::JointType;
use dualstep::{Data, Model};
use nalgebra::Vector3;

use crate::conform::pipeline::set_state;
use crate::golden::Golden;
use crate::random_tree::Random;

/// A state with its name.
#[derive(Clone, Debug)]
pub struct State {
    /// What it is called in reports.
    pub name: String,
    /// The state.
    pub d: Data<f64>,
    /// Whether forces are applied to bodies and joints.
    pub applied: bool,
}

/// Where orientations are, relative to the reference configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Orientation {
    /// Anywhere.
    Uniform,
    /// Turned by nearly 2π: almost the same orientation, almost the opposite quaternion.
    Antipode,
    /// Turned by nearly π: where the difference of two orientations jumps.
    HalfTurn,
}

/// The reference configuration at rest, all keyframes, and `count` random states: positions about the reference
/// configuration on their manifold (within the limits of joints that have some), velocities up to 1, controls within
/// their ranges, in every third state at an end of them, activations within theirs, forces of up to 1 applied in
/// every second state; orientations anywhere, near the opposite quaternion and near a half turn in turns. The same
/// seed gives the same states on every machine.
pub fn states(m: &Model, count: usize, seed: u64) -> Vec<State> {
    let mut all = vec![State { name: "reference".to_owned(), d: Data::new(m), applied: false }];
    for key in 0..m.nkey {
        let name = match m.names.key.get(key).map_or("", String::as_str) {
            "" => format!("keyframe {key}"),
            name => format!("keyframe {name}"),
        };
        let mut d = Data::new(m);
        d.reset_keyframe(m, key);
        all.push(State { name, d, applied: false });
    }
    all.extend((0..count).map(|i| random(m, i, seed)));
    all
}

/// The states that the oracle was asked at.
///
/// # Errors
/// Names the field that is missing or has another size than the model's.
pub fn golden_states(m: &Model, golden: &Golden) -> Result<Vec<State>, String> {
    let mut all = Vec::new();
    for name in golden.states() {
        let mut d = Data::new(m);
        set_state(m, golden, name, &mut d)?;
        let applied =
            d.qfrc_applied.iter().chain(d.xfrc_applied.iter().flatten()).any(|f| *f != 0.0);
        all.push(State { name: format!("golden {name}"), d, applied });
    }
    Ok(all)
}

fn random(m: &Model, index: usize, seed: u64) -> State {
    let mut random = Random::new(seed ^ (index as u64 + 1).wrapping_mul(0xA076_1D64_78BD_642F));
    let orientation = match index % 4 {
        1 => Orientation::Antipode,
        3 => Orientation::HalfTurn,
        _ => Orientation::Uniform,
    };
    let (at_limits, applied) = (index % 3 == 2, index % 2 == 1);
    let mut name = format!("random {index}");
    let turns = |kind: &JointType| matches!(kind, JointType::Free | JointType::Ball);
    if m.jnt_type.iter().any(turns) {
        name.push_str(match orientation {
            Orientation::Uniform => "",
            Orientation::Antipode => ", near antipode",
            Orientation::HalfTurn => ", near half turn",
        });
    }
    if at_limits && m.actuator_ctrllimited.contains(&true) {
        name.push_str(", controls at limits");
    }
    if applied {
        name.push_str(", forces applied");
    }

    let mut d = Data::new(m);
    positions(m, orientation, &mut random, &mut d);
    for v in &mut d.qvel {
        *v = random.signed(1.0);
    }
    for i in 0..m.nu {
        d.ctrl[i] = match m.actuator_ctrlrange[i] {
            _ if !m.actuator_ctrllimited[i] => random.signed(1.0),
            [lo, _] if at_limits && random.unit() < 0.5 => lo,
            [_, hi] if at_limits => hi,
            [lo, hi] => lo + (hi - lo) * random.unit(),
        };
    }
    for a in 0..m.nactuator {
        let Some(adr) = m.actuator_actadr[a] else { continue };
        let [lo, hi] = if m.actuator_actlimited[a] { m.actuator_actrange[a] } else { [0.0, 1.0] };
        for act in &mut d.act[adr..adr + m.actuator_actnum[a]] {
            *act = lo + (hi - lo) * random.unit();
        }
    }
    if applied {
        for f in &mut d.qfrc_applied {
            *f = random.signed(1.0);
        }
        for f in d.xfrc_applied.iter_mut().skip(1).flatten() {
            *f = random.signed(1.0);
        }
    }
    State { name, d, applied }
}

/// Moves positions away from where they are.
fn positions(m: &Model, orientation: Orientation, random: &mut Random, d: &mut Data<f64>) {
    let mut dq = vec![0.0; m.nv];
    for j in 0..m.njnt {
        let (adr, dof) = (m.jnt_qposadr[j], m.jnt_dofadr[j]);
        match m.jnt_type[j] {
            JointType::Free => {
                dq[dof..dof + 3].fill_with(|| random.signed(0.5));
                rotation(orientation, random, &mut dq[dof + 3..dof + 6]);
            }
            JointType::Ball => rotation(orientation, random, &mut dq[dof..dof + 3]),
            JointType::Slide | JointType::Hinge if m.jnt_limited[j] => {
                let [lo, hi] = m.jnt_range[j];
                dq[dof] = lo + (hi - lo) * random.unit() - d.qpos[adr];
            }
            JointType::Slide => dq[dof] = random.signed(0.3),
            JointType::Hinge => dq[dof] = random.signed(1.0),
        }
    }
    integrate_pos(m, &mut d.qpos, &dq, 1.0);
}

/// A rotation vector \[rad\].
fn rotation(orientation: Orientation, random: &mut Random, to: &mut [f64]) {
    use std::f64::consts::{PI, TAU};
    let [_, x, y, z] = random.quat();
    let axis = Vector3::new(x, y, z).normalize();
    let short = 1e-2 * (0.1 + random.unit());
    let angle = match orientation {
        Orientation::Uniform => random.signed(PI),
        Orientation::Antipode => TAU - short,
        Orientation::HalfTurn => PI - short,
    };
    to.copy_from_slice((axis * angle).as_slice());
}

#[cfg(test)]
mod tests {
    use super::*;
    use dualstep::mjcf::load_model_str;

    const BALL: &str = r#"
    <mujoco>
      <worldbody>
        <body>
          <joint type="ball"/>
          <geom size=".1" mass="1"/>
          <body pos="0 0 .3">
            <joint name="knee" axis="0 1 0" range="10 20"/>
            <geom size=".1" mass="1"/>
          </body>
        </body>
      </worldbody>
      <actuator>
        <motor joint="knee" ctrlrange="-2 3"/>
        <muscle joint="knee" lengthrange="-1 1" ctrlrange="0 1"/>
      </actuator>
      <keyframe><key qpos="1 0 0 0 .2"/><key name="bent"/></keyframe>
    </mujoco>"#;

    #[test]
    fn states_are_where_they_say() {
        let m = load_model_str(BALL, "ball.xml", std::path::Path::new(".")).unwrap();
        let all = states(&m, 6, 7);
        let names: Vec<&str> = all.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names[..4], ["reference", "keyframe 0", "keyframe bent", "random 0"]);
        assert_eq!(names[4], "random 1, near antipode, forces applied");
        assert_eq!(names[8], "random 5, near antipode, controls at limits, forces applied");
        let of = |name: usize| &all[name].d;
        // the scalar part of the ball's quaternion: cosine of half the angle
        assert!(of(4).qpos[0] < -0.9999 && of(6).qpos[0].abs() < 0.01);
        assert!(of(5).ctrl.iter().zip(&m.actuator_ctrlrange).all(|(u, range)| range.contains(u)));
        for s in &all[3..] {
            assert!((10_f64..20.0).contains(&s.d.qpos[4].to_degrees()));
            assert!((0.0..1.0).contains(&s.d.act[0]) && s.d.qvel.iter().all(|v| *v != 0.0));
            assert_eq!(s.applied, s.d.qfrc_applied[0] != 0.0);
        }
        let again = states(&m, 6, 7);
        assert!(all.iter().zip(&again).all(|(a, b)| a.d.qpos == b.d.qpos && a.d.ctrl == b.d.ctrl));
        assert_ne!(all[3].d.qpos, states(&m, 6, 8)[3].d.qpos);
    }
}
