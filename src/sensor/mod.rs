//! Sensors: what they read at each stage of the pipeline.
//!
//! A sensor is evaluated at the first stage that knows its inputs, and before integration: `sensordata`
//! belongs to the state *before* the step. The values of one sensor are few, so each stage has one
//! function from (model, data, sensor) to at most four numbers; the loop, the cut-off and the copy into
//! `sensordata` are here.

mod acc;
mod pos;
mod vel;

use crate::data::Data;
use crate::energy::{energy_pos, energy_vel};
use crate::model::options::disable;
use crate::model::{DataType, Model, SensorType, Stage};
use crate::scalar::Scalar;
use crate::smooth::{rne_post_constraint, subtree_vel};

/// Values of one sensor; only the first `sensor_dim` of them count.
type Values<T> = [T; 4];

/// How far a sensor type is simulated now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// The values are MuJoCo's.
    Full,
    /// The values come from contacts or limits, which are not simulated yet. They are zero, as in MuJoCo
    /// with constraints disabled.
    ZeroWithoutConstraints,
    /// The values are zero for now; MuJoCo's are not.
    Missing,
}

/// How far sensors of this type are simulated now.
pub fn support(sensor: SensorType) -> Support {
    use SensorType as S;
    match sensor {
        S::Touch
        | S::Contact
        | S::Tactile
        | S::JointLimitPos
        | S::JointLimitVel
        | S::JointLimitFrc
        | S::TendonLimitPos
        | S::TendonLimitVel
        | S::TendonLimitFrc => Support::ZeroWithoutConstraints,
        S::Rangefinder
        | S::CamProjection
        | S::InsideSite
        | S::GeomDist
        | S::GeomNormal
        | S::GeomFromTo
        | S::Plugin => Support::Missing,
        // user sensors among them: zero, as in MuJoCo without a callback
        _ => Support::Full,
    }
}

/// True if sensors of this type produce MuJoCo's values now, see [`support`].
pub fn supported(sensor: SensorType) -> bool {
    support(sensor) == Support::Full
}

/// True if a sensor of one of these types exists and sensors are not disabled.
fn asked<const N: usize>(m: &Model, types: [SensorType; N]) -> bool {
    !m.opt.disabled(disable::SENSOR) && m.sensor_type.iter().any(|t| types.contains(t))
}

/// Sensors that depend on positions (and energies, with the current velocity).
///
/// - reads  what `fwd_position` writes, `qvel`, `time`
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
    for i in (0..m.nsensor).filter(|&i| m.sensor_needstage[i] == stage) {
        let v = values(m, d, i);
        let adr = m.sensor_adr[i];
        for (k, out) in d.sensordata[adr..adr + m.sensor_dim[i]].iter_mut().enumerate() {
            *out = v.get(k).map_or(T::zero(), |&x| cut_off(m, i, x));
        }
    }
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
    if cutoff <= 0.0 {
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
fn vector<T: Scalar>(v: &nalgebra::Vector3<T>) -> Values<T> {
    [v.x, v.y, v.z, T::zero()]
}

/// No value yet.
fn nothing<T: Scalar>() -> Values<T> {
    [T::zero(); 4]
}

/// One value per force output of an actuator.
fn per_output<T: Scalar>(m: &Model, i: usize, field: &[T]) -> Values<T> {
    let actuator = object(m, i);
    let (adr, num) = (m.actuator_outadr[actuator], m.actuator_outnum[actuator]);
    std::array::from_fn(|k| if k < num { field[adr + k] } else { T::zero() })
}

#[cfg(test)]
mod tests;
