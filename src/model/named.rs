//! What comes with a model beside its arrays: names, statistics, keyframes.

use nalgebra::Vector3;

use crate::math::Quat;

/// Names in order of index; empty where not given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Names {
    /// Bodies; the first is `world`.
    pub body: Vec<String>,
    /// Joints.
    pub joint: Vec<String>,
    /// Geoms.
    pub geom: Vec<String>,
    /// Sites.
    pub site: Vec<String>,
    /// Cameras.
    pub camera: Vec<String>,
    /// Meshes.
    pub mesh: Vec<String>,
    /// Height fields.
    pub hfield: Vec<String>,
    /// Contact pairs.
    pub pair: Vec<String>,
    /// Exclusions.
    pub exclude: Vec<String>,
    /// Equality constraints.
    pub equality: Vec<String>,
    /// Tendons.
    pub tendon: Vec<String>,
    /// Actuators.
    pub actuator: Vec<String>,
    /// Sensors.
    pub sensor: Vec<String>,
    /// Keyframes.
    pub key: Vec<String>,
}

/// Statistics of the model at qpos0 (`mjStatistic`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistic {
    /// Mean diagonal of the inertia matrix.
    pub meaninertia: f64,
    /// Mean body mass \[kg\].
    pub meanmass: f64,
    /// Mean body size \[m\].
    pub meansize: f64,
    /// Spatial extent \[m\].
    pub extent: f64,
    /// Centre \[m\].
    pub center: Vector3<f64>,
}

/// A stored state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Keyframe {
    /// Time \[s\].
    pub time: f64,
    /// Positions (nq).
    pub qpos: Vec<f64>,
    /// Velocities (nv).
    pub qvel: Vec<f64>,
    /// Activations (na).
    pub act: Vec<f64>,
    /// Controls (nu).
    pub ctrl: Vec<f64>,
    /// Mocap positions (nmocap).
    pub mpos: Vec<Vector3<f64>>,
    /// Mocap orientations (nmocap).
    pub mquat: Vec<Quat<f64>>,
}
