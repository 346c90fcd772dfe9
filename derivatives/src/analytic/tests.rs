//! Closed form against dual numbers, on the project's models with every integrator.

use std::f64::consts::PI;
use std::path::{Path, PathBuf};

use dualstep::integrate::integrate_pos;
use dualstep::model::{JointType, WrapType};
use ndarray::Array2;

use super::*;
use crate::dual::mjd_transition_dual;
use crate::testing::smooth_model;
use dualstep::forward::forward;

const INTEGRATORS: [Integrator; 5] = [
    Integrator::Euler,
    Integrator::Implicit,
    Integrator::ImplicitFast,
    Integrator::RK4,
    Integrator::ImplicitSpringDamper,
];

/// Paths of the models, sorted.
fn models() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../validation/models");
    let mut paths: Vec<_> = folder.read_dir().unwrap().map(|e| e.unwrap().path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "xml"));
    paths.sort();
    paths
}

/// Numbers within ±1, another sequence for each seed.
fn wave(seed: usize) -> impl Fn(usize) -> f64 {
    move |i| ((i * 7 + seed * 3) as f64).sin()
}

/// Moves positions by `scale`, and sets velocities, controls, activations and external forces.
fn moved(m: &Model, seed: usize, scale: f64) -> Data<f64> {
    let wave = wave(seed);
    let mut d = Data::<f64>::new(m);
    d.reset_keyframe(m, 0);
    let dq: Vec<f64> = (0..m.nv).map(|i| 0.3 * scale * wave(i + 5)).collect();
    integrate_pos(m, &mut d.qpos, &dq, 1.0);
    for i in 0..m.nv {
        d.qvel[i] = scale * wave(i);
    }
    for i in 0..m.nu {
        d.ctrl[i] = 0.3 * wave(i + 1);
    }
    for i in 0..m.na {
        d.act[i] = 0.3 + 0.2 * wave(i + 2);
    }
    for b in 1..m.nbody {
        d.xfrc_applied[b] = std::array::from_fn(|k| scale * wave(b + k));
    }
    d
}

/// Orientations a little less or more than half a turn away from the reference.
fn near_antipode(m: &Model, beyond: f64) -> Data<f64> {
    let mut d = moved(m, 4, 1.0);
    let mut turn = vec![0.0; m.nv];
    for j in 0..m.njnt {
        let (q, dof) = match m.jnt_type[j] {
            JointType::Ball => (m.jnt_qposadr[j], m.jnt_dofadr[j]),
            JointType::Free => (m.jnt_qposadr[j] + 3, m.jnt_dofadr[j] + 3),
            JointType::Slide | JointType::Hinge => continue,
        };
        d.qpos[q..q + 4].copy_from_slice(&m.qpos0[q..q + 4]);
        for (k, x) in [0.6, -0.48, 0.64].into_iter().enumerate() {
            turn[dof + k] = (PI + beyond) * x;
        }
    }
    integrate_pos(m, &mut d.qpos, &turn, 1.0);
    d
}

/// Controls and activations at (`beyond` = 0) or beyond the ends of their ranges.
fn at_ranges(m: &Model, beyond: f64) -> Data<f64> {
    let mut d = moved(m, 5, 1.0);
    for i in (0..m.nu).filter(|&i| m.actuator_ctrllimited[i]) {
        let [lo, hi] = m.actuator_ctrlrange[i];
        d.ctrl[i] = if i % 2 == 0 { hi + beyond } else { lo - beyond };
    }
    for a in (0..m.nactuator).filter(|&a| m.actuator_actlimited[a]) {
        let ([lo, hi], Some(adr)) = (m.actuator_actrange[a], m.actuator_actadr[a]) else {
            continue;
        };
        d.act[adr] = if a % 2 == 0 { lo - beyond } else { hi + beyond };
    }
    d
}

/// Velocities and controls so large that forces leave their ranges, on both sides.
fn strong(m: &Model, sign: f64) -> Data<f64> {
    let mut d = moved(m, 6, 3.0);
    for i in 0..m.nu {
        let [lo, hi] = m.actuator_ctrlrange[i];
        let large = 30.0 * sign;
        d.ctrl[i] = if m.actuator_ctrllimited[i] { f64::clamp(large, lo, hi) } else { large };
    }
    d
}

/// Every tendon `offset` beyond an end of its spring's dead band, as far as they do not share joints.
fn beside_dead_bands(m: &Model, end: usize, offset: f64) -> Data<f64> {
    let mut d = moved(m, 7, 1.0);
    for t in 0..m.ntendon {
        let path = m.tendon_adr[t]..m.tendon_adr[t] + m.tendon_num[t];
        let last = path.clone().rfind(|&w| m.wrap_type[w] == WrapType::Joint);
        let Some((w, j)) = last.and_then(|w| Some((w, m.wrap_objid[w]?))) else { continue };
        forward(m, &mut d).unwrap();
        let target = m.tendon_lengthspring[t][end] + offset;
        d.qpos[m.jnt_qposadr[j]] += (target - d.ten_length[t]) / m.wrap_prm[w];
    }
    d
}

fn states(m: &Model) -> Vec<(&'static str, Data<f64>)> {
    let mut states = vec![
        ("at rest", moved(m, 0, 0.0)),
        ("in motion", moved(m, 1, 1.0)),
        ("in fast motion", moved(m, 2, 2.0)),
        ("before the antipode", near_antipode(m, -1e-3)),
        ("beyond the antipode", near_antipode(m, 1e-3)),
        ("at the ranges", at_ranges(m, 0.0)),
        ("beyond the ranges", at_ranges(m, 0.2)),
        ("strong forward", strong(m, 1.0)),
        ("strong backward", strong(m, -1.0)),
    ];
    if m.ntendon > 0 {
        for (name, end, offset) in [
            ("below the dead band", 0, -1e-7),
            ("inside the dead band, below", 0, 1e-7),
            ("inside the dead band, above", 1, -1e-7),
            ("above the dead band", 1, 1e-7),
        ] {
            states.push((name, beside_dead_bands(m, end, offset)));
        }
    }
    states
}

/// Largest difference relative to the largest entry, and where.
fn difference(x: &Array2<f64>, y: &Array2<f64>) -> (f64, [usize; 2]) {
    let scale = y.iter().fold(1.0_f64, |s, v| s.max(v.abs()));
    let mut worst = (0.0_f64, [0, 0]);
    for ((i, k), v) in x.indexed_iter() {
        let e = (v - y[[i, k]]).abs() / scale;
        if e.is_nan() || e > worst.0 {
            worst = (e, [i, k]);
        }
    }
    worst
}

#[test]
fn closed_form_matches_dual_numbers_on_all_models() {
    let (mut failed, mut compared, mut blown_up) = (vec![], 0, 0);
    for path in models() {
        let mut m = smooth_model(&path);
        // A and B are compared here, whatever sensors there are
        m.opt.disableflags |= disable::SENSOR;
        for integrator in INTEGRATORS {
            m.opt.integrator = integrator;
            for (name, d) in states(&m) {
                // RK4 blows up on stiff models at their timestep: nothing to differentiate there
                let exact = mjd_transition_dual(&m, &d).ok();
                let Some(exact) = exact.filter(|t| t.A.iter().all(|x| x.abs() < 1e6)) else {
                    blown_up += 1;
                    continue;
                };
                compared += 1;
                let ours = mjd_transition_analytic(&m, &d).unwrap();
                for (block, x, y) in [("A", &ours.A, &exact.A), ("B", &ours.B, &exact.B)] {
                    let (e, [i, k]) = difference(x, y);
                    if e.is_nan() || e > 1e-11 {
                        let (file, row) = (path.file_name().unwrap(), &ours.state_names[i]);
                        failed.push(format!(
                            "{e:e} {file:?} {integrator:?} {name}: {block} {row} / {k}"
                        ));
                    }
                }
            }
        }
    }
    assert!(failed.is_empty(), "{} of {compared}:\n{}", failed.len(), failed.join("\n"));
    assert!(blown_up < compared / 50, "{blown_up} of {compared} steps cannot be compared");
}
