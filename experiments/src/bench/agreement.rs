//! Pinocchio's derivatives of the acceleration beside ours: times compare only what gives the same numbers.

use dualstep::forward::forward_dynamics;
use dualstep::integrate::integrate_pos;
use dualstep::model::options::disable;
use dualstep::{Data, Model};
use dualstep_derivatives::dynamics::{AccelerationDeriv, mjd_acceleration};
use serde::Serialize;

use super::engine::EngineProcess;
use super::{BenchError, OursError};

/// Largest difference of an array from Pinocchio's, relative to max(1, its largest entry).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Agreement {
    /// Acceleration.
    pub qacc: f64,
    /// Its derivative by position.
    pub qacc_by_q: f64,
    /// Its derivative by velocity.
    pub qacc_by_v: f64,
}

impl Agreement {
    /// The largest of the three.
    pub fn worst(&self) -> f64 {
        self.qacc.max(self.qacc_by_q).max(self.qacc_by_v)
    }
}

/// Compares at a state that is off `start` in all positions, in motion, under a force on every degree of
/// freedom. Pinocchio has rigid bodies and no forces of their own, so springs, dampers and actuators are off.
///
/// # Errors
/// If Pinocchio's process fails.
pub(super) fn compare(
    m: &Model,
    start: &Data<f64>,
    pinocchio: &mut EngineProcess,
) -> Result<Agreement, BenchError> {
    let mut m = m.clone();
    m.opt.disableflags |= disable::SPRING | disable::DAMPER | disable::ACTUATION;
    let mut d = start.clone();
    // any numbers will do that are neither small nor regular
    let wave = |i: usize, phase: f64| (i as f64 * 1.7 + phase).sin();
    let offset: Vec<f64> = (0..m.nv).map(|i| 0.5 * wave(i, 0.3)).collect();
    integrate_pos(&m, &mut d.qpos, &offset, 1.0);
    for i in 0..m.nv {
        d.qvel[i] = wave(i, 1.1);
        d.qfrc_applied[i] = wave(i, 2.2);
    }
    forward_dynamics(&m, &mut d).map_err(OursError::from)?;
    let mut ours = AccelerationDeriv::new(&m);
    mjd_acceleration(&m, &d, &mut ours).map_err(OursError::from)?;

    let [qacc, dq, dv] = pinocchio.derivatives(&d)?;
    let columns = |first: usize| {
        let rows = ours.block.chunks_exact(2 * m.nv + m.na + m.nu);
        rows.flat_map(move |row| row[first..first + m.nv].to_vec()).collect::<Vec<_>>()
    };
    Ok(Agreement {
        qacc: difference(&d.qacc, &qacc),
        qacc_by_q: difference(&columns(0), &dq),
        qacc_by_v: difference(&columns(m.nv), &dv),
    })
}

/// max|x − y| / max(1, max|y|); infinite if the sizes differ.
fn difference(x: &[f64], y: &[f64]) -> f64 {
    if x.len() != y.len() {
        return f64::INFINITY;
    }
    let scale = y.iter().fold(1.0_f64, |s, v| s.max(v.abs()));
    x.iter().zip(y).fold(0.0_f64, |worst, (x, y)| worst.max((x - y).abs() / scale))
}
