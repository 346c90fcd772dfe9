//! Closed form against dual numbers, with sensors of every type on every object of every model, and by hand.

use std::path::{Path, PathBuf};

use dualstep::forward::forward;
use dualstep::math::Quat;
use dualstep::mjcf::load_model_str;
use dualstep::model::{CamMode, DataType, GeomType, JointType, ObjType, SameFrame};
use num_dual::Dual64;

mod constrained;

use super::*;
use crate::columns::{Input, Wanted, input};
use crate::dual::{DualWorkspace, mjd_transition_dual_into};
use crate::matrices::{Reason, Transition};
use crate::testing::smooth_model;

/// Adds a site and a camera to every body, the world included; cameras of all modes in turn.
fn add_frames(m: &mut Model) {
    use CamMode::{Fixed, TargetBody, TargetBodyCom, Track, TrackCom};
    for b in 0..m.nbody {
        let turn = |k: f64| Quat::exp(&Vector3::new(0.3 * k, -0.5, 0.7 - 0.1 * k));
        m.nsite += 1;
        m.site_type.push(GeomType::Sphere);
        m.site_bodyid.push(b);
        m.site_dataid.push(None);
        m.site_group.push(0);
        m.site_sameframe.push(SameFrame::None);
        m.site_size.push(Vector3::repeat(0.01));
        m.site_pos.push(Vector3::new(0.1, -0.07, 0.05 * b as f64));
        m.site_quat.push(turn(b as f64));
        m.names.site.push(format!("added site {b}"));

        m.ncam += 1;
        m.cam_mode.push([Track, TrackCom, TargetBody, TargetBodyCom, Fixed][b % 5]);
        m.cam_bodyid.push(b);
        m.cam_targetbodyid.push(Some((2 * b + 1) % m.nbody));
        m.cam_pos.push(Vector3::new(0.3, 0.2, -0.4));
        m.cam_quat.push(turn(-1.0));
        m.cam_poscom0.push(Vector3::new(1.0, 2.0, 0.5));
        m.cam_pos0.push(Vector3::new(-0.5, 0.2, 0.1));
        m.cam_fovy.push(45.0);
        m.cam_orthographic.push(false);
        m.cam_resolution.push([200, 100]);
        m.cam_sensorsize.push([0.0; 2]);
        m.cam_intrinsic.push([0.0; 4]);
        m.cam_mat0.push([0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0]);
        m.names.camera.push(format!("added camera {b}"));
    }
}

/// A sensor of `dim` values; one in seven has a cut-off.
fn add_sensor(
    m: &mut Model,
    sensor: SensorType,
    stage: Stage,
    dim: usize,
    object: (ObjType, Option<usize>),
    reference: Option<(ObjType, usize)>,
) {
    m.sensor_type.push(sensor);
    m.sensor_datatype.push(if dim == 4 { DataType::Quaternion } else { DataType::Real });
    m.sensor_needstage.push(stage);
    m.sensor_objtype.push(object.0);
    m.sensor_objid.push(object.1);
    m.sensor_reftype.push(reference.map_or(ObjType::Unknown, |r| r.0));
    m.sensor_refid.push(reference.map(|r| r.1));
    m.sensor_intprm.push([0; 3]);
    m.sensor_dim.push(dim);
    m.sensor_adr.push(m.nsensordata);
    m.sensor_cutoff.push(if m.nsensor % 7 == 3 { 0.2 } else { 0.0 });
    m.sensor_noise.push(0.0);
    m.sensor_delay.push(0.0);
    m.sensor_interval.push([0.0; 2]);
    m.names.sensor.push(format!("{sensor:?} of {:?} {:?} in {reference:?}", object.0, object.1));
    m.nsensor += 1;
    m.nsensordata += dim;
}

fn without_sensors(m: Model) -> Model {
    Model {
        nsensor: 0,
        nsensordata: 0,
        sensor_type: vec![],
        sensor_datatype: vec![],
        sensor_needstage: vec![],
        sensor_objtype: vec![],
        sensor_objid: vec![],
        sensor_reftype: vec![],
        sensor_refid: vec![],
        sensor_intprm: vec![],
        sensor_dim: vec![],
        sensor_adr: vec![],
        sensor_cutoff: vec![],
        sensor_noise: vec![],
        sensor_delay: vec![],
        sensor_interval: vec![],
        ..m
    }
}

/// Every `step`-th frame of a model, and another one as its reference.
fn add_frame_sensors(m: &mut Model, step: usize) {
    use SensorType as S;
    let mut frames: Vec<(ObjType, usize)> = vec![];
    for (kind, n) in [
        (ObjType::Body, m.nbody),
        (ObjType::XBody, m.nbody),
        (ObjType::Geom, m.ngeom),
        (ObjType::Site, m.nsite),
        (ObjType::Camera, m.ncam),
    ] {
        frames.extend((0..n).map(|id| (kind, id)));
    }
    for (i, &(kind, id)) in frames.iter().enumerate().step_by(step) {
        let object = (kind, Some(id));
        let other = frames[(i * 17 + 5) % frames.len()];
        for reference in [None, Some(other)] {
            for sensor in [S::FramePos, S::FrameXAxis, S::FrameYAxis, S::FrameZAxis] {
                add_sensor(m, sensor, Stage::Pos, 3, object, reference);
            }
            add_sensor(m, S::FrameQuat, Stage::Pos, 4, object, reference);
            for sensor in [S::FrameLinVel, S::FrameAngVel] {
                add_sensor(m, sensor, Stage::Vel, 3, object, reference);
            }
        }
        for sensor in [S::FrameLinAcc, S::FrameAngAcc] {
            add_sensor(m, sensor, Stage::Acc, 3, object, None);
        }
        if kind == ObjType::Site {
            let camera = Some((ObjType::Camera, i % m.ncam));
            add_sensor(m, S::CamProjection, Stage::Pos, 2, object, camera);
            // all fields: distance, direction, origin, point, normal, depth
            add_sensor(m, S::Rangefinder, Stage::Pos, 14, object, None);
            m.sensor_intprm[m.nsensor - 1] = [63, 0, 0];
            m.sensor_cutoff[m.nsensor - 1] = 0.0;
            add_sensor(m, S::Magnetometer, Stage::Pos, 3, object, None);
            add_sensor(m, S::Velocimeter, Stage::Vel, 3, object, None);
            add_sensor(m, S::Gyro, Stage::Vel, 3, object, None);
            for sensor in [S::Accelerometer, S::Force, S::Torque] {
                add_sensor(m, sensor, Stage::Acc, 3, object, None);
            }
        }
    }
}

/// The model with sensors of every type on every `step`-th object.
fn with_all_sensors(m: &Model, step: usize) -> Model {
    use SensorType as S;
    let mut m = m.clone();
    add_frames(&mut m);
    add_frame_sensors(&mut m, step);
    for b in 0..m.nbody {
        let object = (ObjType::Body, Some(b));
        add_sensor(&mut m, S::SubtreeCom, Stage::Pos, 3, object, None);
        add_sensor(&mut m, S::SubtreeLinVel, Stage::Vel, 3, object, None);
        add_sensor(&mut m, S::SubtreeAngMom, Stage::Vel, 3, object, None);
    }
    for j in 0..m.njnt {
        let object = (ObjType::Joint, Some(j));
        match m.jnt_type[j] {
            JointType::Slide | JointType::Hinge => {
                add_sensor(&mut m, S::JointPos, Stage::Pos, 1, object, None);
                add_sensor(&mut m, S::JointVel, Stage::Vel, 1, object, None);
                add_sensor(&mut m, S::JointActFrc, Stage::Acc, 1, object, None);
            }
            JointType::Ball => {
                add_sensor(&mut m, S::BallQuat, Stage::Pos, 4, object, None);
                add_sensor(&mut m, S::BallAngVel, Stage::Vel, 3, object, None);
            }
            JointType::Free => {}
        }
    }
    for t in 0..m.ntendon {
        let object = (ObjType::Tendon, Some(t));
        add_sensor(&mut m, S::TendonPos, Stage::Pos, 1, object, None);
        add_sensor(&mut m, S::TendonVel, Stage::Vel, 1, object, None);
        add_sensor(&mut m, S::TendonActFrc, Stage::Acc, 1, object, None);
    }
    for a in 0..m.nactuator {
        let object = (ObjType::Actuator, Some(a));
        add_sensor(&mut m, S::ActuatorPos, Stage::Pos, 1, object, None);
        add_sensor(&mut m, S::ActuatorVel, Stage::Vel, 1, object, None);
        add_sensor(&mut m, S::ActuatorFrc, Stage::Acc, 1, object, None);
    }
    for (sensor, stage) in [
        (S::EPotential, Stage::Pos),
        (S::EKinetic, Stage::Pos),
        (S::Clock, Stage::Pos),
        (S::User, Stage::Acc),
    ] {
        add_sensor(&mut m, sensor, stage, 1, (ObjType::Unknown, None), None);
    }
    m
}

/// A keyframe, or the reference configuration, at rest for state 0; other states off it, in motion, under forces.
fn state(m: &Model, state: usize) -> Data<f64> {
    let wave = |i: usize| ((i * 7 + state * 3) as f64).sin();
    let mut d = Data::new(m);
    d.reset_keyframe(m, state % m.nkey.max(1));
    let rest = if state == 0 { 0.0 } else { 1.0 };
    let dq: Vec<f64> = (0..m.nv).map(|i| 0.4 * wave(i + 5) * rest).collect();
    dualstep::integrate::integrate_pos(m, &mut d.qpos, &dq, 1.0);
    for i in 0..m.nv {
        d.qvel[i] = 1.5 * wave(i) * rest;
        d.qfrc_applied[i] = wave(i + 8) * rest;
    }
    for i in 0..m.nu {
        d.ctrl[i] = (if state.is_multiple_of(2) { 0.3 } else { 3.0 }) * wave(i + 1);
    }
    for i in 0..m.na {
        d.act[i] = 0.3 + 0.2 * wave(i + 2);
    }
    for b in 1..m.nbody {
        d.xfrc_applied[b] = std::array::from_fn(|k| wave(b + k) * rest);
    }
    d
}

fn closed_form(m: &Model, d: &Data<f64>) -> Vec<f64> {
    let mut d = d.clone();
    forward(m, &mut d).unwrap();
    let mut out = SensorDeriv::new(m);
    // what an evaluation before left must not shine through
    out.block.fill(f64::NAN);
    mjd_sensors(m, &d, &mut out).unwrap();
    let first = out.block.clone();
    mjd_sensors(m, &d, &mut out).unwrap();
    // rows that the closed form does not cover are not numbers
    let same = out.block.iter().zip(&first).all(|(x, y)| x == y || x.is_nan() && y.is_nan());
    assert!(same, "two evaluations differ");
    out.block
}

/// C and D by dual numbers.
fn by_duals(m: &Model, d: &Data<f64>) -> Transition {
    let mut transition = Transition::new(m);
    let wanted = Wanted { state: false, ..Wanted::all(m) };
    let mut workspace = DualWorkspace::of(m, wanted, Reason::Requested);
    mjd_transition_dual_into(m, d, &mut workspace, &mut transition).unwrap();
    transition
}

/// Largest difference from dual numbers, relative to the largest entry of the sensor's rows, and where it is.
fn worst(m: &Model, block: &[f64], exact: &Transition) -> (f64, String) {
    worst_above(m, block, exact, 1.0)
}

/// The same where entries below `floor` do not count as the largest.
fn worst_above(m: &Model, block: &[f64], exact: &Transition, floor: f64) -> (f64, String) {
    let n = ncolumns(m);
    let mut worst = (0.0, String::new());
    for i in 0..m.nsensor {
        let rows = m.sensor_adr[i]..m.sensor_adr[i] + m.sensor_dim[i];
        let entry = |r: usize, c: usize| match input(m, c) {
            Input::Control(u) => exact.D[[r, u]],
            _ => exact.C[[r, c]],
        };
        if !covers_sensor(m.sensor_type[i]) {
            // not silently: these rows are not numbers
            assert!(block[rows.start * n..rows.end * n].iter().all(|x| x.is_nan()));
            continue;
        }
        let entries = || rows.clone().flat_map(|r| (0..n).map(move |c| (r, c)));
        let scale = entries().fold(floor, |s, (r, c)| s.max(entry(r, c).abs()));
        for (r, c) in entries() {
            let e = (block[r * n + c] - entry(r, c)).abs() / scale;
            // a NaN is worst of all
            if e.is_nan() || e > worst.0 {
                let name = &m.names.sensor[i];
                worst = (e, format!("{name}, value {}, column {c}", r - m.sensor_adr[i]));
            }
        }
    }
    worst
}

fn models() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../validation/models");
    let mut paths: Vec<_> = folder.read_dir().unwrap().map(|e| e.unwrap().path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "xml"));
    paths.sort();
    paths
}

// every sensor by the solve for all columns, then the model's own, which are few, by the transposed solve
#[test]
fn closed_form_matches_dual_numbers_on_all_models() {
    let mut failed = vec![];
    let mut routes = [0, 0];
    for path in models() {
        let own = smooth_model(&path);
        let all = with_all_sensors(&own, own.nbody.div_ceil(12));
        for m in [all, own] {
            for k in 0..5 {
                let d = state(&m, k);
                let (e, place) = worst(&m, &closed_form(&m, &d), &by_duals(&m, &d));
                if e.is_nan() || e > 1e-11 {
                    failed.push(format!("{} state {k}: {e:.1e} at {place}", path.display()));
                }
            }
            routes[usize::from(SensorDeriv::<f64>::new(&m).by_state.is_empty())] += 1;
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
    assert!(routes[0] >= 30 && routes[1] >= 30, "{routes:?}");
}

fn parse(xml: &str) -> Model {
    load_model_str(xml, "test.xml", Path::new(".")).unwrap()
}

fn expect(block: &[f64], expected: &[f64]) {
    assert_eq!(block.len(), expected.len());
    for (k, (x, y)) in block.iter().zip(expected).enumerate() {
        assert!((x - y).abs() < 1e-13, "entry {k}: {block:?}, not {expected:?}");
    }
}

// θ̈ = (u − m g L sin θ)/J with J = I + m L²; at the mass an accelerometer reads −L θ̈ − g sin θ along x and
// L ω² + g cos θ along z
#[test]
fn accelerometer_of_a_pendulum_by_hand() {
    let m = parse(
        r#"<mujoco>
          <option gravity="0 0 -9.81"/>
          <worldbody>
            <body>
              <joint name="hinge" axis="0 1 0"/>
              <inertial pos="0 0 -0.5" mass="2" diaginertia="0.1 0.1 0.1"/>
              <site name="tip" pos="0 0 -0.5"/>
            </body>
          </worldbody>
          <actuator><motor joint="hinge" gear="3"/></actuator>
          <sensor><accelerometer site="tip"/></sensor>
        </mujoco>"#,
    );
    let mut d = Data::new(&m);
    (d.qpos[0], d.qvel[0], d.ctrl[0]) = (0.7, -1.3, 0.4);
    let (mass, g, L, J) = (2.0, 9.81, 0.5, 0.1 + 2.0 * 0.5 * 0.5);
    let (sin, cos) = 0.7_f64.sin_cos();
    let x = [L * mass * g * L * cos / J - g * cos, 0.0, -L * 3.0 / J];
    let z = [-g * sin, 2.0 * L * -1.3, 0.0];
    expect(&closed_form(&m, &d), &[x, [0.0; 3], z].concat());
}

// a fixed point at x = 2, seen from a turntable at angle φ with speed Ω: position (2 cos φ, −2 sin φ), velocity
// −2Ω (sin φ, cos φ)
#[test]
fn a_fixed_site_seen_from_a_turntable_by_hand() {
    let m = parse(
        r#"<mujoco>
          <worldbody>
            <site name="fixed" pos="2 0 0"/>
            <body name="table">
              <joint axis="0 0 1"/>
              <geom size="0.1"/>
            </body>
          </worldbody>
          <sensor>
            <framepos objtype="site" objname="fixed" reftype="xbody" refname="table"/>
            <framelinvel objtype="site" objname="fixed" reftype="xbody" refname="table"/>
          </sensor>
        </mujoco>"#,
    );
    let mut d = Data::new(&m);
    (d.qpos[0], d.qvel[0]) = (0.4, 3.0);
    let (sin, cos) = 0.4_f64.sin_cos();
    let position = [-2.0 * sin, 0.0, -2.0 * cos, 0.0, 0.0, 0.0];
    let velocity = [-6.0 * cos, -2.0 * sin, 6.0 * sin, -2.0 * cos, 0.0, 0.0];
    expect(&closed_form(&m, &d), &[position, velocity].concat());
}

// at the cut-off itself nothing is clamped yet; a camera straight above its target has no horizontal direction
#[test]
fn kinks_take_the_side_of_the_dual_numbers() {
    let m = parse(
        r#"<mujoco>
          <worldbody>
            <body name="target"><joint name="x" type="slide" axis="1 0 0"/><geom size="0.1"/></body>
            <camera name="above" pos="0.5 0 2" mode="targetbody" target="target"/>
          </worldbody>
          <sensor>
            <jointpos joint="x" cutoff="0.5"/>
            <jointpos joint="x" cutoff="0.4"/>
            <framexaxis objtype="camera" objname="above"/>
            <framezaxis objtype="camera" objname="above"/>
          </sensor>
        </mujoco>"#,
    );
    let mut d = Data::new(&m);
    d.qpos[0] = 0.5;
    let block = closed_form(&m, &d);
    assert_eq!([block[0], block[2]], [1.0, 0.0]);
    let (e, place) = worst(&m, &block, &by_duals(&m, &d));
    assert!(e <= 1e-15, "{e} at {place}");
}

/// Row of `block` times the rate of change of the state, for a model without inputs.
fn rate(m: &Model, d: &Data<f64>, block: &[f64], row: usize) -> f64 {
    let rates = d.qvel.iter().chain(&d.qacc).chain(&d.act_dot);
    let row = &block[row * ncolumns(m)..(row + 1) * ncolumns(m)];
    row.iter().zip(rates).map(|(x, y)| x * y).sum()
}

// along a free motion energy stays, positions change by velocities and these by accelerations, and momentum by weight
#[test]
fn rates_of_sensors_are_sensors() {
    use SensorType as S;
    let path = models().into_iter().find(|p| p.ends_with("sensors_imu_subtree.xml")).unwrap();
    let mut m = without_sensors(smooth_model(path));
    let site = (ObjType::Site, Some(1));
    add_sensor(&mut m, S::FramePos, Stage::Pos, 3, site, None);
    add_sensor(&mut m, S::FrameLinVel, Stage::Vel, 3, site, None);
    add_sensor(&mut m, S::FrameLinAcc, Stage::Acc, 3, site, None);
    let base = (ObjType::Body, Some(1));
    add_sensor(&mut m, S::SubtreeCom, Stage::Pos, 3, base, None);
    add_sensor(&mut m, S::SubtreeLinVel, Stage::Vel, 3, base, None);
    add_sensor(&mut m, S::SubtreeAngMom, Stage::Vel, 3, base, None);
    add_sensor(&mut m, S::EPotential, Stage::Pos, 1, (ObjType::Unknown, None), None);
    add_sensor(&mut m, S::EKinetic, Stage::Pos, 1, (ObjType::Unknown, None), None);
    m.sensor_cutoff.fill(0.0);

    let mut d = state(&m, 2);
    d.qfrc_applied.fill(0.0);
    d.xfrc_applied.fill([0.0; 6]);
    forward(&m, &mut d).unwrap();
    let block = closed_form(&m, &d);
    let g = m.opt.gravity;
    for k in 0..3 {
        let close = |row: usize, y: f64| {
            let x = rate(&m, &d, &block, row);
            assert!(
                (x - y).abs() < 1e-11 * y.abs().max(1.0),
                "value {k} of row {row}: {x}, not {y}"
            );
        };
        close(k, d.sensordata[3 + k]);
        // what an accelerometer reads is the acceleration less gravity
        close(3 + k, d.sensordata[6 + k] + g[k]);
        close(9 + k, d.sensordata[12 + k]);
        close(12 + k, g[k]);
        close(15 + k, 0.0);
    }
    let energy = rate(&m, &d, &block, 18) + rate(&m, &d, &block, 19);
    assert!(energy.abs() < 1e-11, "{energy}");
}

// tangents of the closed form on dual numbers: second derivatives along a direction, against differences
#[test]
fn second_derivatives_follow_on_dual_numbers() {
    let names = ["sensors_frame.xml", "sensors_imu_subtree.xml", "sensors_joint.xml"];
    for (name, k) in names.into_iter().flat_map(|name| [(name, 0), (name, 1)]) {
        let path = models().into_iter().find(|p| p.ends_with(name)).unwrap();
        let m = smooth_model(path);
        let base = state(&m, k);
        let direction: Vec<f64> = (0..m.nv).map(|i| (i as f64 + 0.5).cos()).collect();
        let mut d = Data::<Dual64>::new(&m);
        d.set_state_from(&base);
        let dq: Vec<Dual64> = direction.iter().map(|x| Dual64::new(0.0, *x)).collect();
        dualstep::integrate::integrate_pos(&m, &mut d.qpos, &dq, Dual64::lift(1.0));
        for (v, x) in d.qvel.iter_mut().zip(&direction) {
            v.eps = *x;
        }
        forward(&m, &mut d).unwrap();
        let mut out = SensorDeriv::new(&m);
        mjd_smooth_sensors(&m, &d, &mut out);

        let h = 1e-5;
        let moved = |s: f64| {
            let mut d = base.clone();
            dualstep::integrate::integrate_pos(&m, &mut d.qpos, &direction, s);
            d.qvel.iter_mut().zip(&direction).for_each(|(v, x)| *v += s * x);
            closed_form(&m, &d)
        };
        let (plus, minus) = (moved(h), moved(-h));
        let scale = out.block.iter().fold(1.0_f64, |s, x| s.max(x.eps.abs()));
        for (k, x) in out.block.iter().enumerate() {
            let fd = (plus[k] - minus[k]) / (2.0 * h);
            assert!((x.eps - fd).abs() < 1e-7 * scale, "{name}, entry {k}: {} and {fd}", x.eps);
        }
    }
}

// forces that a caller has already differentiated serve as well
#[test]
fn given_forces_give_the_same_rows() {
    for path in models() {
        let m = smooth_model(path);
        let mut d = state(&m, 1);
        let block = closed_form(&m, &d);
        forward(&m, &mut d).unwrap();
        let mut forces = SmoothDeriv::new(&m);
        mjd_smooth(&m, &d, &d.qacc, &mut forces);
        let mut out = SensorDeriv::new(&m);
        mjd_sensors_from(&m, &d, &forces, &mut out);
        let same = out.block.iter().zip(&block).all(|(x, y)| x == y || x.is_nan() && y.is_nan());
        assert!(same && out.block.len() == block.len());
    }
}

#[test]
fn disabled_sensors_have_zero_rows() {
    let path = models().into_iter().find(|p| p.ends_with("sensors_frame.xml")).unwrap();
    let mut m = smooth_model(path);
    m.opt.disableflags |= disable::SENSOR;
    assert!(closed_form(&m, &state(&m, 1)).iter().all(|x| *x == 0.0));
}
