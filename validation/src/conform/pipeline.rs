//! The calls into the simulator, and how a golden state gets into `Data`.

use std::path::Path;

use dualstep::math::Quat;
use dualstep::mjcf::MjcfErrorKind;
use dualstep::model::options::disable;
use dualstep::{Data, Model};
use dualstep_derivatives::{DerivativeConfig, FdConfig, mjd_transition, mjd_transition_fd};
use nalgebra::Vector3;

use super::Status;
use crate::golden::Golden;

/// Loads a model.
///
/// # Errors
/// The status that the report gets, and why.
pub fn load_model(path: &Path) -> Result<Model, (Status, String)> {
    dualstep::mjcf::load_model(path).map_err(|e| {
        let unsupported = e.kind() == MjcfErrorKind::Unsupported;
        (if unsupported { Status::Unsupported } else { Status::Error }, e.to_string())
    })
}

/// The model without constraints.
pub fn without_constraints(m: &Model) -> Model {
    let mut smooth = m.clone();
    smooth.opt.disableflags |= disable::CONSTRAINT;
    smooth
}

/// Everything that depends on state and inputs, energies and momenta of subtrees included.
pub(super) fn forward(m: &Model, d: &mut Data<f64>) -> Result<(), String> {
    dualstep::forward::forward(m, d).map_err(|e| e.to_string())?;
    // these are computed on request only
    dualstep::energy::energy(m, d);
    dualstep::smooth::subtree_vel(m, d);
    Ok(())
}

/// One step.
pub(super) fn step(m: &Model, d: &mut Data<f64>) -> Result<(), String> {
    dualstep::forward::step(m, d).map_err(|e| e.to_string())
}

/// The joint-space inertia as a dense matrix, nv × nv.
pub(super) fn full_m(m: &Model, d: &Data<f64>) -> Vec<f64> {
    dualstep::smooth::full_m(m, d)
}

/// Transition matrices `A B C D` by centred differences with the oracle's nudge, row-major: at a kink the oracle's
/// differences are an average of both sides, and zero for a control beyond its range even where nothing clamps it.
pub(super) fn transition(m: &Model, d: &Data<f64>) -> Result<[Vec<f64>; 4], String> {
    let config = FdConfig::uniform(true, ORACLE_NUDGE);
    let found = mjd_transition_fd(m, d, &config).map_err(|e| e.to_string())?;
    Ok([found.A, found.B, found.C, found.D].map(|matrix| matrix.iter().copied().collect()))
}

/// Transition matrices `A B C D` by the method that a user gets, row-major; none where a column has a kink, at the
/// state or within a nudge of the oracle's.
pub(super) fn exact_transition(m: &Model, d: &Data<f64>) -> Result<Option<[Vec<f64>; 4]>, String> {
    let config = DerivativeConfig::default();
    let found = mjd_transition(m, d, &config).map_err(|e| e.to_string())?;
    let nudge = FdConfig { polish: true, ..FdConfig::uniform(true, ORACLE_NUDGE) };
    let nudged = mjd_transition_fd(m, d, &nudge).map_err(|e| e.to_string())?;
    let mut columns = found.columns.iter().chain(&found.sensor_columns).chain(&nudged.columns);
    if columns.any(|column| column.kink.is_some()) {
        return Ok(None);
    }
    Ok(Some([found.A, found.B, found.C, found.D].map(|matrix| matrix.iter().copied().collect())))
}

/// The oracle's nudge.
const ORACLE_NUDGE: f64 = 1e-6;

/// Puts a golden state and its inputs into `d`; time and warm start are zero, as the oracle's were.
///
/// # Errors
/// Names the field that is missing or has another size than the model's.
pub fn set_state(m: &Model, golden: &Golden, state: &str, d: &mut Data<f64>) -> Result<(), String> {
    let input = |field: &str, len: usize| {
        let key = format!("{state}/in/{field}");
        let values = golden.flat(&key).ok_or_else(|| format!("{key} is missing"))?;
        if values.len() == len {
            Ok(values)
        } else {
            Err(format!("{key} has {} numbers, the model {len}", values.len()))
        }
    };
    d.reset(m);
    d.qpos = input("qpos", m.nq)?;
    d.qvel = input("qvel", m.nv)?;
    d.act = input("act", m.na)?;
    d.ctrl = input("ctrl", m.nu)?;
    d.qfrc_applied = input("qfrc_applied", m.nv)?;
    d.xfrc_applied = input("xfrc_applied", 6 * m.nbody)?.as_chunks().0.to_vec();
    let mocap_pos = input("mocap_pos", 3 * m.nmocap)?;
    d.mocap_pos = mocap_pos.chunks_exact(3).map(Vector3::from_column_slice).collect();
    let mocap_quat = input("mocap_quat", 4 * m.nmocap)?;
    d.mocap_quat = mocap_quat.chunks_exact(4).map(Quat::from_slice).collect();
    d.eq_active = input("eq_active", m.neq)?.iter().map(|&active| active != 0.0).collect();
    Ok(())
}
