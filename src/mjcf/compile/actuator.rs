//! Actuators: transmission, dynamics, limits.

use crate::mjcf::error::{MjcfError, MjcfErrorKind};
use crate::mjcf::spec::{ActuatorSpec, BiasType, DynType, GainType, Limited, TrnType};
use crate::model::{self, JointType, Model};

use super::context::Context;
use super::convert;
use super::names::Indices;

/// Writes all actuators in file order; each has one control and one force.
///
/// Left to `set_const`: `actuator_acc0`, `actuator_length0`, `actuator_lengthrange` of muscles, the
/// damping ratio in `biasprm[2]` (positive there means: a ratio), the peak force in `gainprm[2]` and
/// `biasprm[2]` of muscles (negative there means: from `acc0`).
///
/// # Errors
/// Unknown targets, contradictory parameters or limits.
pub fn write(ctx: &Context<'_>, names: &Indices<'_>, m: &mut Model) -> Result<(), MjcfError> {
    for spec in &ctx.spec.actuators {
        check(ctx, spec)?;
        let trnid = transmission(ctx, names, spec)?;
        let (ctrlrange, actrange) = inherit_range(ctx, spec, trnid, m)?;
        let limits = Limits::new(ctx, spec, ctrlrange, actrange)?;
        write_one(spec, trnid, &limits, m);
    }
    m.nactuator = m.actuator_trntype.len();
    m.nu = m.nactuator;
    Ok(())
}

fn write_one(spec: &ActuatorSpec, trnid: [Option<usize>; 2], limits: &Limits, m: &mut Model) {
    let id = m.actuator_trntype.len();
    let actnum = usize::from(spec.dyntype != DynType::None);
    let [d0, d1, d2] = spec.damping;
    m.names.actuator.push(spec.name.clone());
    m.actuator_trntype.push(match spec.trntype {
        TrnType::Joint | TrnType::Undefined => model::TrnType::Joint,
        TrnType::JointInParent => model::TrnType::JointInParent,
        TrnType::Tendon => model::TrnType::Tendon,
        TrnType::Site => model::TrnType::Site,
        TrnType::Body => model::TrnType::Body,
    });
    m.actuator_trnid.push(trnid);
    m.actuator_dyntype.push(convert::dyn_type(spec.dyntype));
    m.actuator_gaintype.push(convert::gain_type(spec.gaintype));
    m.actuator_biastype.push(convert::bias_type(spec.biastype));
    m.actuator_ctrladr.push(id);
    m.actuator_ctrlnum.push(1);
    m.actuator_ctrlspec.push(spec.ctrlspec);
    m.actuator_outadr.push(id);
    m.actuator_outnum.push(1);
    m.actuator_actadr.push((actnum > 0).then_some(m.na));
    m.actuator_actnum.push(actnum);
    m.na += actnum;
    m.actuator_cranklength.push(0.0);
    m.actuator_dynprm.push(spec.dynprm);
    m.actuator_gainprm.push(spec.gainprm);
    m.actuator_biasprm.push(spec.biasprm);
    m.actuator_actlimited.push(limits.act);
    m.actuator_actrange.push(limits.actrange);
    m.actuator_actearly.push(spec.actearly);
    m.actuator_delay.push(0.0);
    m.actuator_damping.push(d0);
    m.actuator_dampingpoly.push([d1, d2]);
    m.actuator_armature.push(spec.armature);
    m.actuator_group.push(spec.group);
    m.actuator_forcelimited.push(limits.force);
    m.actuator_forcerange.push(spec.forcerange);
    m.actuator_ctrllimited.push(limits.ctrl);
    m.actuator_ctrlrange.push(limits.ctrlrange);
    m.actuator_gear.push(spec.gear);
    m.actuator_acc0.push(0.0);
    m.actuator_length0.push(0.0);
    m.actuator_lengthrange.push(spec.lengthrange);
}

/// Target and reference site.
fn transmission(
    ctx: &Context<'_>,
    names: &Indices<'_>,
    spec: &ActuatorSpec,
) -> Result<[Option<usize>; 2], MjcfError> {
    let find = |index: &super::names::Index<'_>, attr, name: &str| {
        index.find(ctx, spec.span, attr, name).map(Some)
    };
    let target = spec.target.as_str();
    Ok(match spec.trntype {
        TrnType::Joint => [find(&names.joint, "joint", target)?, None],
        TrnType::JointInParent => [find(&names.joint, "jointinparent", target)?, None],
        TrnType::Tendon => [find(&names.tendon, "tendon", target)?, None],
        TrnType::Site if spec.refsite.is_empty() => [find(&names.site, "site", target)?, None],
        TrnType::Site => {
            [find(&names.site, "site", target)?, find(&names.site, "refsite", &spec.refsite)?]
        }
        TrnType::Body => [find(&names.body, "body", target)?, None],
        TrnType::Undefined => {
            let message = "an actuator needs a target: joint, jointinparent, tendon, site or body";
            return Err(ctx.error(spec.span, MjcfErrorKind::MissingAttribute, message));
        }
    })
}

/// Parameters that contradict each other.
fn check(ctx: &Context<'_>, spec: &ActuatorSpec) -> Result<(), MjcfError> {
    let invalid =
        |attr, message: &str| Err(ctx.attr_error(spec.span, attr, MjcfErrorKind::Invalid, message));
    ctx.check_user(spec.span, &spec.user, ctx.spec.size.nuser_actuator)?;
    if matches!(spec.trntype, TrnType::Site | TrnType::Body) {
        if spec.damping != [0.0; 3] {
            return invalid("damping", "damping needs a joint or tendon transmission");
        }
        if spec.armature != 0.0 {
            return invalid("armature", "armature needs a joint or tendon transmission");
        }
    }
    match (spec.actdim, spec.dyntype == DynType::None) {
        (..=-1 | 0, true) | (..=-1 | 1, false) => {}
        (1, true) => return invalid("actdim", "an actuator without dynamics has no activation"),
        (0, false) => return invalid("actdim", "an actuator with dynamics has an activation"),
        _ => return invalid("actdim", "only user-defined dynamics have more than one activation"),
    }
    let muscles = [
        (spec.gaintype == GainType::Muscle, &spec.gainprm),
        (spec.biastype == BiasType::Muscle, &spec.biasprm),
    ];
    for (_, prm) in muscles.into_iter().filter(|(is_muscle, _)| *is_muscle) {
        let [range0, range1, _, scale, lmin, lmax, vmax, fpmax, fvmax, _] = *prm;
        if range0 >= range1 {
            return invalid("range", "a muscle needs range[0] < range[1]");
        }
        if lmin >= 1.0 || lmax <= 1.0 {
            return invalid("lmin", "a muscle needs lmin < 1 < lmax");
        }
        if [scale, vmax, fpmax, fvmax].iter().any(|&x| x <= 0.0) {
            return invalid("scale", "a muscle needs positive scale, vmax, fpmax and fvmax");
        }
    }
    Ok(())
}

/// Control and activation ranges; with `inheritrange` from the range of the target, about its middle.
fn inherit_range(
    ctx: &Context<'_>,
    spec: &ActuatorSpec,
    trnid: [Option<usize>; 2],
    m: &Model,
) -> Result<([f64; 2], [f64; 2]), MjcfError> {
    let as_written = (spec.ctrlrange, spec.actrange);
    let is_servo = spec.gaintype == GainType::Fixed
        && spec.biastype == BiasType::Affine
        && spec.gainprm[0] == -spec.biasprm[1];
    if !is_servo || spec.inheritrange <= 0.0 {
        return Ok(as_written);
    }
    let invalid = |message: &str| {
        Err(ctx.attr_error(spec.span, "inheritrange", MjcfErrorKind::Invalid, message))
    };
    let scalar = |j: usize| matches!(m.jnt_type[j], JointType::Hinge | JointType::Slide);
    let [low, high] = match (spec.trntype, trnid[0]) {
        (TrnType::Joint, Some(j)) if scalar(j) => m.jnt_range[j],
        (TrnType::Joint, _) => return invalid("inheritrange needs a hinge or slide joint"),
        (TrnType::Tendon, Some(t)) => m.tendon_range[t],
        _ => return invalid("inheritrange needs a joint or tendon"),
    };
    if low == high {
        return invalid("inheritrange is given, but the target has no range");
    }
    let (mean, radius) = (0.5 * (high + low), 0.5 * (high - low) * spec.inheritrange);
    let range = [mean - radius, mean + radius];
    match spec.dyntype {
        DynType::None | DynType::FilterExact => Ok((range, spec.actrange)),
        DynType::Integrator => Ok((spec.ctrlrange, range)),
        DynType::Filter | DynType::Muscle => {
            invalid("inheritrange is only for position and intvelocity servos")
        }
    }
}

/// Which ranges apply.
struct Limits {
    ctrl: bool,
    force: bool,
    act: bool,
    ctrlrange: [f64; 2],
    actrange: [f64; 2],
}

impl Limits {
    fn new(
        ctx: &Context<'_>,
        spec: &ActuatorSpec,
        ctrlrange: [f64; 2],
        actrange: [f64; 2],
    ) -> Result<Self, MjcfError> {
        let resolve = |attr: &str, limited: Limited, range: &[f64; 2]| {
            let is_limited = ctx.limited(spec.span, attr, limited, range)?;
            if is_limited && range[0] >= range[1] {
                let attr = format!("{attr}range");
                let message = format!("{attr}[0] must be smaller than {attr}[1]");
                return Err(ctx.attr_error(spec.span, &attr, MjcfErrorKind::Invalid, message));
            }
            Ok(is_limited)
        };
        let act = resolve("act", spec.actlimited, &actrange)?;
        if act && spec.dyntype == DynType::None {
            let message = "actrange is given, but the actuator has no activation";
            return Err(ctx.attr_error(spec.span, "actrange", MjcfErrorKind::Invalid, message));
        }
        Ok(Self {
            ctrl: resolve("ctrl", spec.ctrllimited, &ctrlrange)?,
            force: resolve("force", spec.forcelimited, &spec.forcerange)?,
            act,
            ctrlrange,
            actrange,
        })
    }
}
