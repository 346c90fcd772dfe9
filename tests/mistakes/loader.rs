//! Mistakes of loaders.

use dualstep::{Data, forward};
use dualstep_validation::compare::err;
use dualstep_validation::tolerance::{self, IDENTITY};
use nalgebra::Vector3;

use crate::support::parse;

fn assert_close(found: &[f64], expected: &[f64]) {
    assert!(err(found, expected) <= tolerance::scaled(IDENTITY), "{found:?} is not {expected:?}");
}

/// Vectors may be shorter than their attribute: the rest keeps its default.
///
/// Fails when `vector_upto` in `src/mjcf/read/attr.rs` asks for all numbers.
#[test]
fn short_vectors_refused() {
    let m = parse(
        r#"<mujoco><worldbody>
          <geom name="one" type="sphere" size=".1" friction=".7"/>
          <geom name="two" type="sphere" size=".1" friction=".7 .1" solref="0.05"/>
        </worldbody></mujoco>"#,
    );
    assert_eq!(m.geom_friction, [[0.7, 0.005, 0.0001], [0.7, 0.1, 0.0001]]);
    assert_eq!(m.geom_solref[1], [0.05, 1.0]);
}

/// A body turns about the anchor of its joint, and takes its children along: by hand, a quarter turn about (1, 0, 0).
///
/// Fails when `body_pose` in `src/smooth/kinematics.rs` leaves `xpos` where it was.
#[test]
fn joint_anchors_not_carried_to_children() {
    let m = parse(
        r#"<mujoco><worldbody><body name="arm">
          <joint axis="0 0 1" pos="1 0 0"/>
          <geom size="0.1"/>
          <body name="hand" pos="1 0.5 0"><joint axis="0 0 1" pos="0 0.5 0"/><geom size="0.1"/></body>
        </body></worldbody></mujoco>"#,
    );
    let mut d = Data::<f64>::new(&m);
    d.qpos[0] = std::f64::consts::FRAC_PI_2;
    forward(&m, &mut d).unwrap();
    // the body's origin is (−1, 0, 0) from the anchor, turned (0, −1, 0)
    assert_close(d.xpos[1].as_slice(), &[1.0, -1.0, 0.0]);
    assert_close(d.xpos[2].as_slice(), &[0.5, 0.0, 0.0]);
    assert_close(d.xanchor[1].as_slice(), &[0.0, 0.0, 0.0]);
}

/// Angles are degrees unless the compiler is told otherwise: in orientations, ranges, references.
///
/// Fails when `degree` in `src/mjcf/spec/option.rs` defaults to false.
#[test]
fn radians_assumed_where_degrees_are_the_default() {
    let body = r#"<worldbody><body euler="0 0 ANGLE"><joint range="0 ANGLE" ref="ANGLE"/>
        <geom size="0.1"/></body></worldbody></mujoco>"#;
    let quarter = std::f64::consts::FRAC_PI_2;
    let degrees = parse(&format!("<mujoco>{}", body.replace("ANGLE", "90")));
    let radians = parse(&format!(
        r#"<mujoco><compiler angle="radian"/>{}"#,
        body.replace("ANGLE", &quarter.to_string())
    ));
    for m in [degrees, radians] {
        let half = std::f64::consts::FRAC_1_SQRT_2;
        assert_close(&m.body_quat[1].to_array(), &[half, 0.0, 0.0, half]);
        assert_close(&m.jnt_range[0], &[0.0, quarter]);
        assert_close(&m.qpos0, &[quarter]);
    }
}

/// Positions of a free joint are those of the body in the world: its offset is where it starts, and is not added.
///
/// Fails when `body_pose` in `src/smooth/kinematics.rs` adds `body_pos` to a free joint's position.
#[test]
fn free_joint_keeping_its_bodys_offset() {
    let m = parse(
        r#"<mujoco><worldbody><body pos="1 2 3" euler="0 0 90"><freejoint/><geom size="0.1"/>
        </body></worldbody></mujoco>"#,
    );
    assert_close(&m.qpos0[..3], &[1.0, 2.0, 3.0]);
    let mut d = Data::<f64>::new(&m);
    d.qpos[..3].copy_from_slice(&[4.0, 0.0, -1.0]);
    forward(&m, &mut d).unwrap();
    assert_close(d.xpos[1].as_slice(), &[4.0, 0.0, -1.0]);
}

/// A rotor in two gimbals of one body, by hand. In the body's axes the first axis is (cos q₂, 0, sin q₂), so that
/// T = ½ (Iₓ cos² q₂ + I_z sin² q₂) q̇₁² + ½ I_y q̇₂², and the bias follows from Lagrange's equations.
///
/// Fails when `com_vel` in `src/smooth/com_vel.rs` carries the axes of all joints along with the parent's velocity
/// alone.
#[test]
fn bias_wrong_on_bodies_with_several_joints() {
    let m = parse(
        r#"<mujoco><option gravity="0 0 0"/><worldbody><body>
          <joint axis="1 0 0"/><joint axis="0 1 0"/>
          <inertial pos="0 0 0" mass="1" diaginertia="0.2 0.3 0.4"/>
        </body></worldbody></mujoco>"#,
    );
    let mut d = Data::<f64>::new(&m);
    let ([q1, q2], [v1, v2]) = ([0.3, 0.8_f64], [2.0, -1.5]);
    d.qpos.copy_from_slice(&[q1, q2]);
    d.qvel.copy_from_slice(&[v1, v2]);
    forward(&m, &mut d).unwrap();
    let slope = 2.0 * (0.4 - 0.2) * q2.sin() * q2.cos();
    assert_close(&d.qfrc_bias, &[slope * v1 * v2, -0.5 * slope * v1 * v1]);
    let first = Vector3::new(q2.cos(), 0.0, q2.sin());
    let expected = Vector3::new(0.2, 0.3, 0.4).component_mul(&first).dot(&first);
    let M = dualstep::smooth::full_m(&m, &d);
    assert_close(&M, &[expected, 0.0, 0.0, 0.3]);
}
