//! Fixed tendons.

use crate::mjcf::error::{MjcfError, MjcfErrorKind};
use crate::mjcf::spec::TendonSpec;
use crate::model::{JointType, Model, TendonType, WrapType};

use super::context::Context;
use super::names::Indices;

/// Writes all tendons and their paths in file order.
///
/// Left to `set_const`: `tendon_length0`, `tendon_invweight0`, and `tendon_lengthspring` where it is
/// (−1, −1).
///
/// # Errors
/// Unknown joints, joints that are not scalar or appear twice, contradictory limits.
pub fn write(ctx: &Context<'_>, names: &Indices<'_>, m: &mut Model) -> Result<(), MjcfError> {
    for spec in &ctx.spec.tendons {
        let adr = m.wrap_type.len();
        write_path(ctx, names, spec, m)?;
        let (limited, actfrclimited) = limits(ctx, names, spec)?;
        let [k0, k1, k2] = spec.stiffness;
        let [d0, d1, d2] = spec.damping;
        m.names.tendon.push(spec.name.clone());
        m.tendon_type.push(TendonType::Fixed);
        m.tendon_adr.push(adr);
        m.tendon_num.push(m.wrap_type.len() - adr);
        m.tendon_group.push(spec.group);
        m.tendon_limited.push(limited);
        m.tendon_actfrclimited.push(actfrclimited);
        m.tendon_solref_lim.push(spec.solref_limit);
        m.tendon_solimp_lim.push(spec.solimp_limit);
        m.tendon_solref_fri.push(spec.solref_friction);
        m.tendon_solimp_fri.push(spec.solimp_friction);
        m.tendon_range.push(spec.range);
        m.tendon_actfrcrange.push(spec.actfrcrange);
        m.tendon_margin.push(spec.margin);
        m.tendon_stiffness.push(k0);
        m.tendon_stiffnesspoly.push([k1, k2]);
        m.tendon_damping.push(d0);
        m.tendon_dampingpoly.push([d1, d2]);
        m.tendon_armature.push(spec.armature);
        m.tendon_frictionloss.push(spec.frictionloss);
        m.tendon_lengthspring.push(spec.springlength);
        m.tendon_springyield.push(spec.springyield);
        m.tendon_length0.push(0.0);
        m.tendon_invweight0.push(0.0);
    }
    m.ntendon = m.tendon_type.len();
    m.nwrap = m.wrap_type.len();
    Ok(())
}

/// The joints of a tendon, each once.
fn write_path(
    ctx: &Context<'_>,
    names: &Indices<'_>,
    spec: &TendonSpec,
    m: &mut Model,
) -> Result<(), MjcfError> {
    if spec.path.is_empty() {
        return Err(ctx.invalid(spec.span, "a tendon needs at least one joint"));
    }
    let start = m.wrap_type.len();
    for wrap in &spec.path {
        let id = names.joint.find(ctx, wrap.span, "joint", &wrap.joint)?;
        let invalid = |message: &str| {
            Err(ctx.attr_error(wrap.span, "joint", MjcfErrorKind::Invalid, message))
        };
        if !matches!(m.jnt_type[id], JointType::Hinge | JointType::Slide) {
            return invalid("only hinge and slide joints can be part of a tendon");
        }
        if m.wrap_objid[start..].contains(&Some(id)) {
            return invalid("the joint is part of this tendon already");
        }
        m.wrap_type.push(WrapType::Joint);
        m.wrap_objid.push(Some(id));
        m.wrap_prm.push(wrap.coef);
    }
    Ok(())
}

/// Checks the numbers; whether length and actuator force are limited.
fn limits(
    ctx: &Context<'_>,
    names: &Indices<'_>,
    spec: &TendonSpec,
) -> Result<(bool, bool), MjcfError> {
    let invalid =
        |attr, message: &str| Err(ctx.attr_error(spec.span, attr, MjcfErrorKind::Invalid, message));
    ctx.check_user(spec.span, &spec.user, ctx.spec.size.nuser_tendon)?;
    if spec.springyield != 0.0 {
        return Err(ctx.unsupported(spec.span, "plastic tendon springs (springyield) are"));
    }
    if spec.armature < 0.0 {
        return invalid("armature", "armature cannot be negative");
    }
    if !spec.material.is_empty() {
        names.material.find(ctx, spec.span, "material", &spec.material)?;
    }
    let limited = ctx.limited(spec.span, "", spec.limited, &spec.range)?;
    if limited && spec.range[0] >= spec.range[1] {
        return invalid("range", "range[0] must be smaller than range[1]");
    }
    let force = &spec.actfrcrange;
    let actfrclimited = ctx.limited(spec.span, "actuatorfrc", spec.actfrclimited, force)?;
    if actfrclimited && (force[0] >= force[1] || force[0] > 0.0 || force[1] < 0.0) {
        return invalid("actuatorfrcrange", "actuatorfrcrange must be an interval around 0");
    }
    if spec.springlength[0] > spec.springlength[1] {
        return invalid("springlength", "springlength[0] must not exceed springlength[1]");
    }
    Ok((limited, actfrclimited))
}
