//! Closed form against dual numbers, with sensors of every type on every object of every model, and by hand.

use std::path::{Path, PathBuf};

use dualstep::forward::forward;
use dualstep::math::Quat;
use dualstep::mjcf::{load_model, load_model_str};
use dualstep::model::{CamMode, DataType, GeomType, JointType, ObjType, SameFrame};
use dualstep::scalar::Dual;
use num_dual::Dual64;

use super::*;
use crate::columns::{Input, Wanted, input};
use crate::dual::{DualWorkspace, mjd_transition_dual_into};
use crate::matrices::{Reason, Transition};

/// Adds a site and a camera to every body, the world included; cameras of all modes in turn.
fn add_frames(m: &mut Model) {
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

        use CamMode::{Fixed, TargetBody, TargetBodyCom, Track, TrackCom};
        m.ncam += 1;
        m.cam_mode.push([Track, TrackCom, TargetBody, TargetBodyCom, Fixed][b % 5]);
        m.cam_bodyid.push(b);
        m.cam_targetbodyid.push(Some((2 * b + 1) % m.nbody));
        m.cam_pos.push(Vector3::new(0.3, 0.2, -0.4));
        m.cam_quat.push(turn(-1.0));
        m.cam_poscom0.push(Vector3::new(1.0, 2.0, 0.5));
        m.cam_pos0.push(Vector3::new(-0.5, 0.2, 0.1));
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
        d.ctrl[i] = (if state % 2 == 0 { 0.3 } else { 3.0 }) * wave(i + 1);
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
    // rows of an evaluation before must not shine through
    out.block.fill(f64::NAN);
    mjd_sensors(m, &d, &mut out);
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
    let n = ncolumns(m);
    let mut worst = (0.0, String::new());
    for i in 0..m.nsensor {
        let rows = m.sensor_adr[i]..m.sensor_adr[i] + m.sensor_dim[i];
        let entry = |r: usize, c: usize| match input(m, c) {
            Input::Control(u) => exact.D[[r, u]],
            _ => exact.C[[r, c]],
        };
        let entries = || rows.clone().flat_map(|r| (0..n).map(move |c| (r, c)));
        let scale = entries().fold(1.0_f64, |s, (r, c)| s.max(entry(r, c).abs()));
        for (r, c) in entries() {
            let e = (block[r * n + c] - entry(r, c)).abs() / scale;
            // a NaN is worst of all
            if !(e <= worst.0) {
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

#[test]
fn closed_form_matches_dual_numbers_on_all_models() {
    let mut failed = vec![];
    let mut compared = 0;
    for path in models() {
        let m = load_model(&path).unwrap();
        let m = with_all_sensors(&m, m.nbody.div_ceil(6));
        for k in 0..4 {
            let d = state(&m, k);
            let (e, place) = worst(&m, &closed_form(&m, &d), &by_duals(&m, &d));
            compared += 1;
            if !(e <= 1e-11) {
                failed.push(format!("{} state {k}: {e:.1e} at {place}", path.display()));
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
    assert!(compared >= 136, "{compared}");
}
