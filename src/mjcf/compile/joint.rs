//! Joints: anchor and axis in the body frame, limits in radians.

use nalgebra::Vector3;

use crate::mjcf::error::{MjcfError, MjcfErrorKind};
use crate::mjcf::spec::{JointSpec, JointType, Limited};

use super::context::Context;
use super::tree::Placed;

/// Axes shorter than this have no direction.
const MIN_AXIS: f64 = 1e-7;

/// A joint in its body.
#[derive(Clone, Debug)]
pub struct Joint<'a> {
    /// As written.
    pub spec: &'a JointSpec,
    /// Anchor in the body frame \[m\].
    pub pos: Vector3<f64>,
    /// Unit axis in the body frame; (0, 0, 1) for free and ball joints.
    pub axis: Vector3<f64>,
    /// Limits [m or rad].
    pub range: [f64; 2],
    /// Whether the limits are active.
    pub limited: bool,
    /// Whether the total actuator force is limited.
    pub actfrclimited: bool,
    /// Value in the reference configuration [m or rad].
    pub qpos0: f64,
    /// Value at which the spring is at rest [m or rad].
    pub qpos_spring: f64,
}

impl<'a> Joint<'a> {
    /// Resolves units, frames and limits.
    ///
    /// # Errors
    /// Contradictory limits, an axis without direction, bad spring-damper parameters.
    pub fn new(ctx: &Context<'a>, placed: &Placed<'a, JointSpec>) -> Result<Self, MjcfError> {
        let spec = placed.spec;
        let invalid =
            |attr, message: &str| ctx.attr_error(spec.span, attr, MjcfErrorKind::Invalid, message);
        ctx.check_user(spec.span, &spec.user, ctx.spec.size.nuser_jnt)?;
        if spec.springdamper != [0.0; 2] && spec.springdamper.iter().any(|&x| x <= 0.0) {
            return Err(invalid("springdamper", "both numbers of springdamper must be positive"));
        }
        if spec.springyield != 0.0 {
            return Err(ctx.unsupported(spec.span, "plastic joint springs (springyield) are"));
        }

        let (pos, axis) = Self::anchor(ctx, placed)?;
        let range_limited = match spec.kind {
            JointType::Free => Limited::False,
            _ => spec.limited,
        };
        let limited = ctx.limited(spec.span, "", range_limited, &spec.range)?;
        if limited && spec.kind == JointType::Ball && spec.range[0] != 0.0 {
            return Err(invalid("range", "range[0] must be 0 in a ball joint"));
        }
        if limited && spec.kind != JointType::Ball && spec.range[0] >= spec.range[1] {
            return Err(invalid("range", "range[0] must be smaller than range[1]"));
        }

        let scalar = matches!(spec.kind, JointType::Hinge | JointType::Slide);
        let force_limited = if scalar { spec.actfrclimited } else { Limited::False };
        let actfrclimited =
            ctx.limited(spec.span, "actuatorfrc", force_limited, &spec.actfrcrange)?;
        if actfrclimited && spec.actfrcrange[0] >= spec.actfrcrange[1] {
            let message = "actuatorfrcrange[0] must be smaller than actuatorfrcrange[1]";
            return Err(invalid("actuatorfrcrange", message));
        }

        // degrees to radians: limits of hinges and balls where active, references of hinges
        let degree = ctx.spec.compiler.degree;
        let rotates = matches!(spec.kind, JointType::Hinge | JointType::Ball);
        let angle = |x: f64, applies: bool| if degree && applies { x.to_radians() } else { x };
        let hinge = spec.kind == JointType::Hinge;
        Ok(Self {
            spec,
            pos,
            axis,
            range: spec.range.map(|x| angle(x, limited && rotates)),
            limited,
            actfrclimited,
            qpos0: angle(spec.ref_, hinge),
            qpos_spring: angle(spec.springref, hinge),
        })
    }

    /// Anchor and axis in the body frame.
    fn anchor(
        ctx: &Context<'_>,
        placed: &Placed<'_, JointSpec>,
    ) -> Result<(Vector3<f64>, Vector3<f64>), MjcfError> {
        let spec = placed.spec;
        let (mut pos, mut axis) = (Vector3::from(spec.pos), Vector3::from(spec.axis));
        if let Some(frame) = placed.frame {
            pos = frame.point(&pos);
            axis = frame.quat.to_matrix() * axis;
        }
        match spec.kind {
            JointType::Free => return Ok((Vector3::zeros(), Vector3::z())),
            JointType::Ball => return Ok((pos, Vector3::z())),
            JointType::Slide | JointType::Hinge => {}
        }
        let norm = axis.norm();
        // the negated comparison refuses NaN as well
        if norm >= MIN_AXIS {
            return Ok((pos, axis / norm));
        }
        let message = "the axis is too small to have a direction";
        Err(ctx.attr_error(spec.span, "axis", MjcfErrorKind::Invalid, message))
    }

    /// Degrees of freedom.
    pub fn nv(&self) -> usize {
        match self.spec.kind {
            JointType::Free => 6,
            JointType::Ball => 3,
            JointType::Slide | JointType::Hinge => 1,
        }
    }
}
