//! Stages *derivative_smooth* and *derivative*: transition matrices of one step, without and with constraints.
//!
//! The reference is MuJoCo's own finite differences, which carry noise: what counts is by how much an
//! error exceeds ten times that noise. States where the noise is large, or where MuJoCo's step resets the
//! state, say nothing and are skipped.

use dualstep::model::SensorType;
use dualstep::model::options::{disable, enable};
use dualstep::sensor::supported;
use dualstep::{Data, Model};

use super::constraint::{converged, is_useful};
use super::smooth::{has_principal_axes, oracle_resets};
use super::{Differences, pipeline};
use crate::compare::err;
use crate::golden::{Golden, StateHeader};
use crate::tolerance::{FD_NOISE_FACTOR, FD_NOISE_USELESS};

/// Compares A, B, C, D of `fd_smooth`, where the oracle has them, with differences as the oracle takes them.
pub fn compare(m: &Model, golden: &Golden) -> Differences {
    let m = pipeline::without_constraints(m);
    compare_matrices(&m, golden, "fd_smooth", |d| pipeline::transition(&m, d).map(Some))
}

/// Compares A, B, C, D of `fd_conv`, where the oracle has them, with those of `mjd_transition`.
///
/// States with a kink are left out and counted: those that `mjd_transition` reports, and those where a nudge of the
/// oracle's size crosses one, as our own differences with that nudge see. Differences are an average over both sides
/// there.
pub fn compare_constrained(m: &Model, golden: &Golden) -> Differences {
    let m = converged(m);
    compare_matrices(&m, golden, "fd_conv", |d| {
        if unclamped_beyond_range(&m, d) { Ok(None) } else { pipeline::exact_transition(&m, d) }
    })
}

/// True if a control is beyond its range and nothing clamps it: the oracle does not nudge it there.
fn unclamped_beyond_range(m: &Model, d: &Data<f64>) -> bool {
    let beyond = |u: usize| {
        let [lo, hi] = m.actuator_ctrlrange[u];
        m.actuator_ctrllimited[u] && (d.ctrl[u] <= lo || d.ctrl[u] >= hi)
    };
    m.opt.disabled(disable::CLAMPCTRL) && (0..m.nu).any(beyond)
}

fn compare_matrices(
    m: &Model,
    golden: &Golden,
    group: &str,
    transition: impl Fn(&Data<f64>) -> Result<Option<[Vec<f64>; 4]>, String>,
) -> Differences {
    let mut d = Data::new(m);
    let mut out = Differences::default();
    for (state, header) in &golden.header.states {
        let matrix = |name: &str| golden.flat(&format!("{state}/{group}/{name}"));
        if matrix("A").is_none() {
            continue;
        }
        let constrained = group == "fd_conv";
        let resets = !constrained && oracle_resets(golden, state);
        let solved = !constrained || is_useful(header);
        let useful = noise(header, constrained).filter(|_| solved && !resets);
        let Some(noise) = useful else {
            out.skipped += 1;
            continue;
        };
        match pipeline::set_state(m, golden, state, &mut d).and_then(|()| transition(&d)) {
            Err(message) => out.push(&message, Some(state), f64::INFINITY),
            Ok(None) => out.kinks += 1,
            Ok(Some(ours)) => {
                out.compared += 1;
                for ((name, ours), noise) in ["A", "B", "C", "D"].into_iter().zip(&ours).zip(noise)
                {
                    if let Some(mut theirs) = matrix(name) {
                        if matches!(name, "C" | "D") {
                            leave_out(m, &mut theirs);
                        }
                        out.push(name, Some(state), beyond_noise(err(ours, &theirs), noise));
                    }
                }
            }
        }
    }
    out
}

/// Noise of A, B, C, D; none if it is so large that the differences say nothing.
fn noise(header: &StateHeader, constrained: bool) -> Option<[f64; 4]> {
    let (a, b) = if constrained {
        (header.fd_conv_A_noise, header.fd_conv_B_noise)
    } else {
        (header.fd_smooth_A_noise, header.fd_smooth_B_noise)
    };
    let (a, b) = (a.unwrap_or(0.0), b.unwrap_or(0.0));
    // the oracle measures no noise of C and D, whose columns are those of A and B
    (a <= FD_NOISE_USELESS && b <= FD_NOISE_USELESS).then_some([a, b, a, b])
}

/// Makes the rows of C or D that are not compared not finite: sensors to come; those in principal axes of
/// inertia, whose signs are arbitrary; and kinetic energy where the model's `energy` flag is on, since
/// MuJoCo's sensor then shows the energy of the evaluation before, so differences of another column.
fn leave_out(m: &Model, matrix: &mut [f64]) {
    let ncol = matrix.len().checked_div(m.nsensordata).unwrap_or(0);
    for s in 0..m.nsensor {
        let arbitrary = has_principal_axes(m, m.sensor_objtype[s], m.sensor_objid[s])
            && is_orientation(m.sensor_type[s]);
        let stale = m.sensor_type[s] == SensorType::EKinetic && m.opt.enabled(enable::ENERGY);
        if arbitrary || stale || !supported(m, s) {
            let first = m.sensor_adr[s] * ncol;
            let rows = first..first + m.sensor_dim[s] * ncol;
            if let Some(rows) = matrix.get_mut(rows) {
                rows.fill(f64::NAN);
            }
        }
    }
}

/// True for sensors that describe a frame's axes.
fn is_orientation(sensor: SensorType) -> bool {
    use SensorType::{FrameQuat, FrameXAxis, FrameYAxis, FrameZAxis};
    matches!(sensor, FrameQuat | FrameXAxis | FrameYAxis | FrameZAxis)
}

/// What the noise does not explain.
fn beyond_noise(err: f64, noise: f64) -> f64 {
    (err - FD_NOISE_FACTOR * noise).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dualstep::model::ObjType;

    #[test]
    fn noise_is_forgiven_ten_times() {
        assert_eq!(beyond_noise(1e-6, 1e-7), 0.0);
        assert_eq!(beyond_noise(0.5, 0.01), 0.4);
        assert_eq!(beyond_noise(f64::INFINITY, 1e-7), f64::INFINITY);
    }

    #[test]
    fn useless_references_are_skipped() {
        let header = |a, b| StateHeader {
            fd_smooth_A_noise: a,
            fd_smooth_B_noise: b,
            ..StateHeader::default()
        };
        assert_eq!(noise(&header(Some(1e-9), Some(1e-8)), false), Some([1e-9, 1e-8, 1e-9, 1e-8]));
        assert_eq!(noise(&header(Some(1e-9), None), false), Some([1e-9, 0.0, 1e-9, 0.0]));
        assert_eq!(noise(&header(Some(1e-9), Some(0.02)), false), None);
        assert_eq!(noise(&header(Some(1.0), None), false), None);
    }

    #[test]
    fn rows_of_sensors_to_come_are_left_out() {
        let m = Model {
            nsensor: 3,
            nsensordata: 6,
            sensor_type: vec![SensorType::Clock, SensorType::FrameQuat, SensorType::Tactile],
            sensor_objtype: vec![ObjType::Unknown, ObjType::Body, ObjType::Mesh],
            sensor_objid: vec![None, Some(1), Some(0)],
            sensor_adr: vec![0, 1, 5],
            sensor_dim: vec![1, 4, 1],
            ..Model::default()
        };
        let mut C = vec![1.0; 6 * 2];
        leave_out(&m, &mut C);
        assert_eq!(C.iter().filter(|c| c.is_finite()).count(), 2);
        assert!(C[0].is_finite() && C[1].is_finite());
    }
}
