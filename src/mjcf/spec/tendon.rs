//! Tendons.

use super::{DEFAULT_RGBA, DEFAULT_SOLIMP, DEFAULT_SOLREF, Limited};
use crate::mjcf::xml::Span;

/// One term of a fixed tendon: `coef` times the value of `joint`.
#[derive(Clone, Debug, Default)]
pub struct WrapSpec {
    /// Place of the element.
    pub span: Span,
    /// Joint name.
    pub joint: String,
    /// Coefficient.
    pub coef: f64,
}

/// A fixed tendon (`mjsTendon`): a linear combination of joint values. Spatial tendons are
/// refused when the file is read.
#[derive(Clone, Debug)]
pub struct TendonSpec {
    /// Name, possibly empty.
    pub name: String,
    /// Place of the element.
    pub span: Span,
    /// The terms.
    pub path: Vec<WrapSpec>,
    /// Spring polynomial: k0 + k1·|x| + k2·x², multiplying the displacement.
    pub stiffness: [f64; 3],
    /// Resting length and its deadband [low, high]; (−1, −1): the length at `qpos_spring`.
    pub springlength: [f64; 2],
    /// Plastic yield threshold; 0: elastic.
    pub springyield: f64,
    /// Damping polynomial: b0 + b1·|v| + b2·v², multiplying the velocity.
    pub damping: [f64; 3],
    /// Dry friction.
    pub frictionloss: f64,
    /// Solver reference of the dry friction.
    pub solref_friction: [f64; 2],
    /// Solver impedance of the dry friction.
    pub solimp_friction: [f64; 5],
    /// Inertia of the tendon's velocity.
    pub armature: f64,
    /// Whether `range` applies.
    pub limited: Limited,
    /// Whether `actfrcrange` applies.
    pub actfrclimited: Limited,
    /// Length limits.
    pub range: [f64; 2],
    /// Range of the total actuator force on the tendon.
    pub actfrcrange: [f64; 2],
    /// Distance at which the limit becomes active.
    pub margin: f64,
    /// Solver reference of the limit.
    pub solref_limit: [f64; 2],
    /// Solver impedance of the limit.
    pub solimp_limit: [f64; 5],
    /// Material name, possibly empty.
    pub material: String,
    /// Width for rendering \[m\].
    pub width: f64,
    /// Colour if there is no material.
    pub rgba: [f64; 4],
    /// Group for visualization.
    pub group: i32,
    /// User data.
    pub user: Vec<f64>,
}

impl Default for TendonSpec {
    fn default() -> Self {
        Self {
            name: String::new(),
            span: Span::default(),
            path: Vec::new(),
            stiffness: [0.0; 3],
            springlength: [-1.0; 2],
            springyield: 0.0,
            damping: [0.0; 3],
            frictionloss: 0.0,
            solref_friction: DEFAULT_SOLREF,
            solimp_friction: DEFAULT_SOLIMP,
            armature: 0.0,
            limited: Limited::Auto,
            actfrclimited: Limited::Auto,
            range: [0.0; 2],
            actfrcrange: [0.0; 2],
            margin: 0.0,
            solref_limit: DEFAULT_SOLREF,
            solimp_limit: DEFAULT_SOLIMP,
            material: String::new(),
            width: 0.003,
            rgba: DEFAULT_RGBA,
            group: 0,
            user: Vec::new(),
        }
    }
}
