//! Length ranges of actuators: how far they get when they pull and push with all their might.

use std::fmt;

use crate::MINVAL;
use crate::data::Data;
use crate::forward::{fwd_position, step};
use crate::linalg::tree_ldl;
use crate::model::options::disable;
use crate::model::{Integrator, Model};

/// How to simulate (`mjLROpt`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LengthRangeOptions {
    /// Norm of the acceleration that the force is to cause at rest.
    pub accel: f64,
    /// Largest norm of the force; 0: no bound.
    pub maxforce: f64,
    /// Time constant with which velocities decay \[s\].
    pub timeconst: f64,
    /// Timestep \[s\]; 0: that of the model.
    pub timestep: f64,
    /// Simulated time \[s\].
    pub inttotal: f64,
    /// Time at the end in which lengths are taken \[s\].
    pub interval: f64,
    /// Largest change of a length within that time, relative to the range.
    pub tolrange: f64,
}

impl Default for LengthRangeOptions {
    /// As `mj_defaultLROpt`.
    fn default() -> Self {
        Self {
            accel: 20.0,
            maxforce: 0.0,
            timeconst: 1.0,
            timestep: 0.01,
            inttotal: 10.0,
            interval: 2.0,
            tolrange: 0.05,
        }
    }
}

/// Why there is no length range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LengthRangeError {
    /// A step failed.
    Unstable,
    /// The actuator does not get longer than it gets short.
    Empty([f64; 2]),
    /// A length still changes at the end: nothing limits it.
    Unlimited([f64; 2]),
}

impl fmt::Display for LengthRangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unstable => f.write_str("the simulation of its length range is unstable"),
            Self::Empty([low, high]) => {
                write!(f, "the simulation of its length range found no range: ({low}, {high})")
            }
            Self::Unlimited([low, high]) => {
                write!(f, "the simulation of its length range did not settle: ({low}, {high})")
            }
        }
    }
}

impl std::error::Error for LengthRangeError {}

/// The model as length ranges are simulated: limits and equalities only.
pub fn length_range_model(m: &Model, options: &LengthRangeOptions) -> Model {
    let mut m = m.clone();
    m.opt.disableflags = disable::FRICTIONLOSS
        | disable::CONTACT
        | disable::SPRING
        | disable::DAMPER
        | disable::GRAVITY
        | disable::ACTUATION
        | disable::SENSOR;
    if options.timestep > 0.0 {
        m.opt.timestep = options.timestep;
    }
    if m.opt.integrator == Integrator::RK4 {
        m.opt.integrator = Integrator::Euler;
    }
    m
}

/// Shortest and longest that actuator `a` gets, in a model of [`length_range_model`].
///
/// From the reference configuration a force along its moment arms accelerates the model, one way and then the other,
/// and velocities decay, until joint limits and equalities stop it.
///
/// # Errors
/// If the simulation fails, or says nothing.
///
/// Source: MuJoCo `mj_setLengthRange`; manual, Modeling, "Muscles", length range.
pub fn length_range(
    m: &Model,
    a: usize,
    options: &LengthRangeOptions,
) -> Result<[f64; 2], LengthRangeError> {
    let mut d = Data::<f64>::new(m);
    let shortest = extreme(m, &mut d, a, -1.0, options)?;
    let longest = extreme(m, &mut d, a, 1.0, options)?;
    let range = [shortest[0], longest[1]];
    let size = range[1] - range[0];
    if size <= 0.0 {
        return Err(LengthRangeError::Empty(range));
    }
    for [low, high] in [shortest, longest] {
        if high - low > options.tolrange * size {
            return Err(LengthRangeError::Unlimited([low, high]));
        }
    }
    Ok(range)
}

/// Smallest and largest length at the end of a pull (`side` −1) or push (1).
fn extreme(
    m: &Model,
    d: &mut Data<f64>,
    a: usize,
    side: f64,
    options: &LengthRangeOptions,
) -> Result<[f64; 2], LengthRangeError> {
    d.reset(m);
    let mut found: Option<[f64; 2]> = None;
    while d.time < options.inttotal {
        let decay = (-m.opt.timestep / options.timeconst.max(0.01)).exp();
        for v in &mut d.qvel {
            *v *= decay;
        }
        fwd_position(m, d);
        let length = d.actuator_length[a];
        pull(m, d, a, side, options);
        step(m, d).map_err(|_| LengthRangeError::Unstable)?;
        if d.time > options.inttotal - options.interval {
            let [low, high] = found.unwrap_or([length; 2]);
            found = Some([low.min(length), high.max(length)]);
        }
    }
    Ok(found.unwrap_or([0.0; 2]))
}

/// Applies a force along the moment arms that accelerates the model as much as is asked.
fn pull(m: &Model, d: &mut Data<f64>, a: usize, side: f64, options: &LengthRangeOptions) {
    let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
    let row = m.moment_rowadr[a]..m.moment_rowadr[a] + m.moment_rownnz[a];
    let mut force = vec![0.0; m.nv];
    for k in row {
        force[m.moment_colind[k]] = d.actuator_moment[k];
    }
    let mut acceleration = force.clone();
    tree_ldl::solve(m, &d.qLD, &d.qLDiagInv, &mut acceleration);
    let mut scale = side * options.accel / norm(&acceleration).max(MINVAL);
    let size = norm(&force) * scale.abs();
    if options.maxforce > 0.0 && size > options.maxforce {
        scale *= options.maxforce / size;
    }
    for (applied, f) in d.qfrc_applied.iter_mut().zip(&force) {
        *applied = f * scale;
    }
}
