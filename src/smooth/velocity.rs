//! Velocities of tendons and actuators.

use crate::data::Data;
use crate::model::Model;
use crate::model::options::disable;
use crate::scalar::Scalar;

/// Velocities of tendons and actuators: Jacobian and moment times `qvel`.
///
/// - reads  `qvel` (nv), `ten_J`, `actuator_moment`
/// - writes `ten_velocity` (ntendon), `actuator_velocity` (nactuator); the latter zero without actuation
///
/// Source: MuJoCo `mj_fwdVelocity`.
pub fn actuator_tendon_velocity<T: Scalar>(m: &Model, d: &mut Data<T>) {
    let Data { qvel, ten_J, ten_velocity, actuator_moment, actuator_velocity, .. } = d;
    let dot = |row: std::ops::Range<usize>, colind: &[usize], J: &[T]| {
        row.fold(T::zero(), |sum, k| sum + J[k] * qvel[colind[k]])
    };
    for t in 0..m.ntendon {
        let row = m.ten_J_rowadr[t]..m.ten_J_rowadr[t] + m.ten_J_rownnz[t];
        ten_velocity[t] = dot(row, &m.ten_J_colind, ten_J);
    }
    let enabled = !m.opt.disabled(disable::ACTUATION);
    for a in 0..m.nactuator {
        let row = m.moment_rowadr[a]..m.moment_rowadr[a] + m.moment_rownnz[a];
        actuator_velocity[a] =
            if enabled { dot(row, &m.moment_colind, actuator_moment) } else { T::zero() };
    }
}
