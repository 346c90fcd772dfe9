//! Sensors: what they read at each stage of the pipeline.
//!
//! A sensor is evaluated at the first stage that knows its inputs, and before integration: `sensordata`
//! belongs to the state *before* the step. The values of most sensors are few, so each stage has one
//! function from (model, data, sensor) to at most four numbers; the loop, the cut-off and the copy into
//! `sensordata` are here. Sensors with more numbers write them themselves: contacts, rangefinders, distances.

mod acc;
mod camera;
mod contact;
mod distance;
mod pos;
mod range;
mod vel;

pub use camera::projection_focal;
pub use contact::{CONTACT_FIELDS, chosen_contacts, contact_matches, reports_net_force, touches};
pub use range::{RANGE_FIELDS, range_hits};

use nalgebra::Vector3;

use crate::constraint::rne_post_constraint;
use crate::data::Data;
use crate::energy::{energy_pos, energy_vel};
use crate::model::options::disable;
use crate::model::{DataType, Model, SensorType, Stage};
use crate::scalar::Scalar;
use crate::smooth::subtree_vel;

/// Values of one sensor; only the first `sensor_dim` of them count.
type Values<T> = [T; 4];

/// True if sensor `i` reads what MuJoCo's does; if not, it reads zero.
///
/// Still to come are tactile sensors, whether a whole geom is inside a site (`enclosed`), and distances between shapes
/// that [`has_distance`](crate::collision::has_distance) does not know.
pub fn supported(m: &Model, i: usize) -> bool {
    use SensorType as S;
    match m.sensor_type[i] {
        S::Tactile | S::Plugin => false,
        S::InsideSite => m.sensor_intprm[i][0] == 0,
        S::GeomDist | S::GeomNormal | S::GeomFromTo => distance::supported(m, i),
        // user sensors among them: zero, as in MuJoCo without a callback
        _ => true,
    }
}

/// True if a sensor of one of these types exists and sensors are not disabled.
fn asked<const N: usize>(m: &Model, types: [SensorType; N]) -> bool {
    !m.opt.disabled(disable::SENSOR) && m.sensor_type.iter().any(|t| types.contains(t))
}

/// Sensors that depend on positions (and energies, with the current velocity).
///
/// - reads  what `fwd_position` writes, contacts and rows among it; `qvel`, `time`
/// - writes `sensordata` of the sensors of [`Stage::Pos`]; `energy` where a sensor asks
///
/// Nothing is written where sensors are disabled. An `e_kinetic` sensor reports the current energy; MuJoCo
/// 4.0.1 reports that of the evaluation before if its `energy` flag is on.
///
/// Source: MuJoCo `mj_sensorPos`.
pub fn sensor_pos<T: Scalar>(m: &Model, d: &mut Data<T>) {
    if asked(m, [SensorType::EPotential]) {
        energy_pos(m, d);
    }
    if asked(m, [SensorType::EKinetic]) {
        energy_vel(m, d);
    }
    evaluate(m, d, Stage::Pos, pos::values);
}

/// Sensors that depend on velocities.
///
/// - reads  what `fwd_position` and `fwd_velocity` write, `qvel`
/// - writes `sensordata` of the sensors of [`Stage::Vel`]; `subtree_linvel`, `subtree_angmom` where one
///   asks
///
/// Source: MuJoCo `mj_sensorVel`.
pub fn sensor_vel<T: Scalar>(m: &Model, d: &mut Data<T>) {
    if asked(m, [SensorType::SubtreeLinVel, SensorType::SubtreeAngMom]) {
        subtree_vel(m, d);
    }
    evaluate(m, d, Stage::Vel, vel::values);
}

/// Sensors that depend on accelerations and forces.
///
/// - reads  everything, `qacc` included
/// - writes `sensordata` of the sensors of [`Stage::Acc`]; `cacc`, `cfrc_int`, `cfrc_ext` where one asks
///
/// Source: MuJoCo `mj_sensorAcc`.
pub fn sensor_acc<T: Scalar>(m: &Model, d: &mut Data<T>) {
    use SensorType as S;
    if asked(m, [S::Accelerometer, S::Force, S::Torque, S::FrameLinAcc, S::FrameAngAcc]) {
        rne_post_constraint(m, d);
    }
    evaluate(m, d, Stage::Acc, acc::values);
}

/// Writes the values of all sensors of one stage.
fn evaluate<T: Scalar>(
    m: &Model,
    d: &mut Data<T>,
    stage: Stage,
    values: fn(&Model, &Data<T>, usize) -> Values<T>,
) {
    if m.opt.disabled(disable::SENSOR) {
        return;
    }
    let mut sensordata = std::mem::take(&mut d.sensordata);
    for i in (0..m.nsensor).filter(|&i| m.sensor_needstage[i] == stage) {
        let adr = m.sensor_adr[i];
        let out = &mut sensordata[adr..adr + m.sensor_dim[i]];
        match m.sensor_type[i] {
            SensorType::Contact => contact::write(m, d, i, out),
            SensorType::Rangefinder => range::write(m, d, i, out),
            SensorType::GeomDist | SensorType::GeomNormal | SensorType::GeomFromTo => {
                distance::write(m, d, i, out);
            }
            _ => {
                let v = values(m, d, i);
                for (k, out) in out.iter_mut().enumerate() {
                    *out = v.get(k).copied().unwrap_or_else(T::zero);
                }
            }
        }
        for x in out {
            *x = cut_off(m, i, *x);
        }
    }
    d.sensordata = sensordata;
}

/// Clamps real values to ±cutoff and positive ones from above; axes and quaternions pass.
///
/// Source: MuJoCo XML reference, sensor attribute `cutoff`.
fn cut_off<T: Scalar>(m: &Model, i: usize, x: T) -> T {
    cutoff_limit(m, i, x.re()).map_or(x, T::lift)
}

/// The end of the range of sensor `i` that `x` is beyond; none within the range.
fn cutoff_limit(m: &Model, i: usize, x: f64) -> Option<f64> {
    let cutoff = m.sensor_cutoff[i];
    // contacts have none; for segments it means something else
    let unbounded = matches!(m.sensor_type[i], SensorType::Contact | SensorType::GeomFromTo);
    if cutoff <= 0.0 || unbounded {
        return None;
    }
    match m.sensor_datatype[i] {
        DataType::Real | DataType::Positive if x > cutoff => Some(cutoff),
        DataType::Real if x < -cutoff => Some(-cutoff),
        _ => None,
    }
}

/// Which values of sensor `i` its cut-off has clamped; of a sensor with more than four values, the first four.
///
/// - reads  what `forward` writes
pub fn clamped<T: Scalar>(m: &Model, d: &Data<T>, i: usize) -> [bool; 4] {
    let values = match m.sensor_needstage[i] {
        Stage::None => nothing(),
        Stage::Pos => pos::values(m, d, i),
        Stage::Vel => vel::values(m, d, i),
        Stage::Acc => acc::values(m, d, i),
    };
    values.map(|x| cutoff_limit(m, i, x.re()).is_some())
}

/// The object of sensor `i`; for global sensors, which have none and never ask, 0.
fn object(m: &Model, i: usize) -> usize {
    m.sensor_objid[i].unwrap_or(0)
}

/// One value.
fn scalar<T: Scalar>(x: T) -> Values<T> {
    [x, T::zero(), T::zero(), T::zero()]
}

/// Three values.
fn vector<T: Scalar>(v: &Vector3<T>) -> Values<T> {
    [v.x, v.y, v.z, T::zero()]
}

/// No value.
fn nothing<T: Scalar>() -> Values<T> {
    [T::zero(); 4]
}

/// Writes three values.
fn put3<T: Scalar>(out: &mut [T], v: &Vector3<T>) {
    out.copy_from_slice(v.as_slice());
}

/// One value per force output of an actuator.
fn per_output<T: Scalar>(m: &Model, i: usize, field: &[T]) -> Values<T> {
    let actuator = object(m, i);
    let (adr, num) = (m.actuator_outadr[actuator], m.actuator_outnum[actuator]);
    std::array::from_fn(|k| if k < num { field[adr + k] } else { T::zero() })
}

#[cfg(test)]
mod tests;
