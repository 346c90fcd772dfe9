//! Joints.

use super::{DEFAULT_SOLIMP, DEFAULT_SOLREF, Limited};
use crate::mjcf::xml::Span;

/// Degrees of freedom of a joint (`mjtJoint`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JointType {
    /// Six: position and orientation in the world.
    Free,
    /// Three: rotation about a point.
    Ball,
    /// One: translation along an axis.
    Slide,
    /// One: rotation about an axis.
    #[default]
    Hinge,
}

/// Whether a free joint is aligned with the inertial frame (`mjtAlignFree`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AlignFree {
    /// No.
    False,
    /// Yes.
    True,
    /// As [`super::CompilerSpec::alignfree`] says.
    #[default]
    Auto,
}

/// A `joint` or `freejoint` (`mjsJoint`). Angles of hinge and ball joints (`ref_`, `springref`,
/// `range`) are in the unit of [`super::CompilerSpec::degree`].
#[derive(Clone, Debug)]
pub struct JointSpec {
    /// Name, possibly empty.
    pub name: String,
    /// Place of the element.
    pub span: Span,
    /// Type.
    pub kind: JointType,
    /// Anchor in the frame of the body \[m\].
    pub pos: [f64; 3],
    /// Axis in the frame of the body, not normalized.
    pub axis: [f64; 3],
    /// Joint value in the reference configuration, `qpos0` [m or angle].
    pub ref_: f64,
    /// Alignment of a free joint with the inertial frame.
    pub align: AlignFree,
    /// Spring polynomial: k0 + k1·|x| + k2·x², multiplying the displacement.
    pub stiffness: [f64; 3],
    /// Joint value at which the spring is at rest, `qpos_spring` [m or angle].
    pub springref: f64,
    /// Plastic yield threshold; 0: elastic.
    pub springyield: f64,
    /// Time constant \[s\] and damping ratio from which stiffness and damping follow; zeros: unused.
    pub springdamper: [f64; 2],
    /// Whether `range` applies.
    pub limited: Limited,
    /// Joint limits [m or angle]; for a ball the second entry is the largest angle.
    pub range: [f64; 2],
    /// Distance at which the limit becomes active.
    pub margin: f64,
    /// Solver reference of the limit.
    pub solref_limit: [f64; 2],
    /// Solver impedance of the limit.
    pub solimp_limit: [f64; 5],
    /// Whether `actfrcrange` applies.
    pub actfrclimited: Limited,
    /// Range of the total actuator force on the joint.
    pub actfrcrange: [f64; 2],
    /// Reflected inertia [kg or kg·m²].
    pub armature: f64,
    /// Damping polynomial: b0 + b1·|v| + b2·v², multiplying the velocity.
    pub damping: [f64; 3],
    /// Dry friction [N or N·m].
    pub frictionloss: f64,
    /// Solver reference of the dry friction.
    pub solref_friction: [f64; 2],
    /// Solver impedance of the dry friction.
    pub solimp_friction: [f64; 5],
    /// Visualization group.
    pub group: i32,
    /// Whether gravity compensation is counted as an actuator force.
    pub actgravcomp: bool,
    /// User data.
    pub user: Vec<f64>,
}

impl Default for JointSpec {
    fn default() -> Self {
        Self {
            name: String::new(),
            span: Span::default(),
            kind: JointType::Hinge,
            pos: [0.0; 3],
            axis: [0.0, 0.0, 1.0],
            ref_: 0.0,
            align: AlignFree::Auto,
            stiffness: [0.0; 3],
            springref: 0.0,
            springyield: 0.0,
            springdamper: [0.0; 2],
            limited: Limited::Auto,
            range: [0.0; 2],
            margin: 0.0,
            solref_limit: DEFAULT_SOLREF,
            solimp_limit: DEFAULT_SOLIMP,
            actfrclimited: Limited::Auto,
            actfrcrange: [0.0; 2],
            armature: 0.0,
            damping: [0.0; 3],
            frictionloss: 0.0,
            solref_friction: DEFAULT_SOLREF,
            solimp_friction: DEFAULT_SOLIMP,
            group: 0,
            actgravcomp: false,
            user: Vec::new(),
        }
    }
}
