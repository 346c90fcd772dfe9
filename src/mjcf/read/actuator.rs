//! `actuator`: `general` and its shortcuts, which are lowered to it.
//!
//! Default classes hold one actuator, written with any of these elements. An actuator inherits
//! its mechanical attributes (gear, ranges, …) from its class. The parameters of its own kind
//! (kp, area, …) it inherits from the nearest class, going up, whose default was written with the
//! same shortcut, or with `general` and the gain type of the shortcut; if there is none they are
//! the documented ones. `general` itself inherits whatever its class has.

use super::attr::{Keyword, Node};
use super::default::class_index;
use super::joint::LIMITED;
use crate::mjcf::error::{MjcfError, MjcfErrorKind};
use crate::mjcf::spec::{
    ActuatorSpec, BiasType, DefaultTree, DynType, GainType, Limited, Spec, TrnType,
};

const DYN: &[Keyword<Option<DynType>>] = &[
    ("none", Some(DynType::None)),
    ("integrator", Some(DynType::Integrator)),
    ("filter", Some(DynType::Filter)),
    ("filterexact", Some(DynType::FilterExact)),
    ("muscle", Some(DynType::Muscle)),
    ("dcmotor", None),
    ("pid", None),
    ("user", None),
];

const GAIN: &[Keyword<Option<GainType>>] = &[
    ("fixed", Some(GainType::Fixed)),
    ("affine", Some(GainType::Affine)),
    ("muscle", Some(GainType::Muscle)),
    ("dcmotor", None),
    ("so3", None),
    ("pid", None),
    ("user", None),
];

const BIAS: &[Keyword<Option<BiasType>>] = &[
    ("none", Some(BiasType::None)),
    ("affine", Some(BiasType::Affine)),
    ("muscle", Some(BiasType::Muscle)),
    ("dcmotor", None),
    ("so3", None),
    ("user", None),
];

const INPUT_POS: i32 = 1;
const INPUT_VEL: i32 = 2;
const INPUT_PRESSURE: i32 = 32;
const INPUT: &[Keyword<i32>] =
    &[("pos", INPUT_POS), ("vel", INPUT_VEL), ("pressure", INPUT_PRESSURE)];

/// Elements of the section that are refused, and why.
const UNSUPPORTED: &[(&str, &str)] = &[
    ("dcmotor", "DC motors (`dcmotor`) are"),
    ("orientation", "orientation servos are"),
    ("pid", "PID servos (`pid`) are"),
    ("plugin", "plugins are"),
];

/// Whether a default class holds this element as its actuator.
pub(super) fn is_actuator(tag: &str) -> bool {
    tag == "general" || lowering(tag).is_some() || UNSUPPORTED.iter().any(|(name, _)| *name == tag)
}

/// Reads an `actuator` section.
pub(super) fn read_section(section: Node, spec: &mut Spec) -> Result<(), MjcfError> {
    for node in section.children() {
        let class = class_index(node, "class", &spec.defaults, 0)?;
        let mut actuator = read_parameters(node, &spec.defaults, class)?;
        node.name().clone_into(&mut actuator.name);
        actuator.span = node.span();
        node.vector("lengthrange", &mut actuator.lengthrange)?;
        read_transmission(node, &mut actuator)?;
        if actuator.gaintype == GainType::Muscle && actuator.ctrlspec != 0 {
            let message = "attribute `input` has no meaning for muscle gains";
            return Err(node.error_at("input", MjcfErrorKind::Invalid, message));
        }
        spec.actuators.push(actuator);
    }
    Ok(())
}

/// Reads the actuator of a default class; a class may hold several, which add up.
pub(super) fn read_default(
    node: Node,
    tree: &DefaultTree,
    class: usize,
) -> Result<ActuatorSpec, MjcfError> {
    read_parameters(node, tree, class)
}

/// What both an actuator and a default class may give, on top of the class.
fn read_parameters(
    node: Node,
    tree: &DefaultTree,
    class: usize,
) -> Result<ActuatorSpec, MjcfError> {
    if let Some((_, feature)) = UNSUPPORTED.iter().find(|(name, _)| *name == node.tag()) {
        return Err(node.unsupported(feature));
    }
    let mut actuator = tree.classes[class].actuator.clone();
    node.tag().clone_into(&mut actuator.element);
    read_mechanical(node, &mut actuator)?;
    match lowering(node.tag()) {
        Some(shortcut) => {
            let source = inherited_parameters(tree, class, node.tag(), shortcut.gaintype);
            reset_parameters(&mut actuator);
            (shortcut.lower)(node, &mut actuator, &source)?;
        }
        None => read_general(node, &mut actuator)?,
    }
    Ok(actuator)
}

/// Attributes that all actuators share.
fn read_mechanical(node: Node, actuator: &mut ActuatorSpec) -> Result<(), MjcfError> {
    for attr in ["nsample", "delay"] {
        if node.optional_scalar(attr)?.is_some_and(|x| x != 0.0) {
            return Err(node.unsupported_at(attr, "delays and histories of actuators are"));
        }
    }
    node.integer("group", &mut actuator.group)?;
    node.keyword("ctrllimited", LIMITED, &mut actuator.ctrllimited)?;
    node.keyword("forcelimited", LIMITED, &mut actuator.forcelimited)?;
    node.keyword("actlimited", LIMITED, &mut actuator.actlimited)?;
    node.vector("ctrlrange", &mut actuator.ctrlrange)?;
    node.vector("forcerange", &mut actuator.forcerange)?;
    node.vector("actrange", &mut actuator.actrange)?;
    node.vector_upto("gear", &mut actuator.gear)?;
    node.vector_upto("damping", &mut actuator.damping)?;
    node.scalar("armature", &mut actuator.armature)?;
    node.optional_scalar("cranklength")?;
    if let Some(user) = node.list("user")? {
        actuator.user = user;
    }
    Ok(())
}

/// The target. If several are given the last kind in this list wins, as in MuJoCo.
fn read_transmission(node: Node, actuator: &mut ActuatorSpec) -> Result<(), MjcfError> {
    if node.has("cranksite") {
        return Err(node.unsupported_at("cranksite", "slider-crank transmissions are"));
    }
    let kinds = [
        ("joint", TrnType::Joint),
        ("jointinparent", TrnType::JointInParent),
        ("tendon", TrnType::Tendon),
        ("site", TrnType::Site),
        ("body", TrnType::Body),
    ];
    for (attr, trntype) in kinds {
        if node.string(attr, &mut actuator.target) {
            actuator.trntype = trntype;
        }
    }
    for attr in ["cranklength", "slidersite"] {
        if node.has(attr) && actuator.trntype != TrnType::Undefined {
            let message = format!("attribute `{attr}` belongs to slider-crank transmissions");
            return Err(node.error_at(attr, MjcfErrorKind::Invalid, message));
        }
    }
    let has_refsite = node.string("refsite", &mut actuator.refsite);
    if has_refsite && !matches!(actuator.trntype, TrnType::Site | TrnType::Undefined) {
        let message = "attribute `refsite` belongs to site transmissions";
        return Err(node.error_at("refsite", MjcfErrorKind::Invalid, message));
    }
    Ok(())
}

fn read_general(node: Node, actuator: &mut ActuatorSpec) -> Result<(), MjcfError> {
    let unsupported = |attr: &str| {
        let value = node.text(attr).unwrap_or_default();
        node.unsupported_at(attr, &format!("the actuator {attr} `{value}` is"))
    };
    let inherited_gain = actuator.gaintype;
    let mut dyntype = Some(actuator.dyntype);
    let mut gaintype = Some(actuator.gaintype);
    let mut biastype = Some(actuator.biastype);
    node.keyword("dyntype", DYN, &mut dyntype)?;
    node.keyword("gaintype", GAIN, &mut gaintype)?;
    node.keyword("biastype", BIAS, &mut biastype)?;
    actuator.dyntype = dyntype.ok_or_else(|| unsupported("dyntype"))?;
    actuator.gaintype = gaintype.ok_or_else(|| unsupported("gaintype"))?;
    actuator.biastype = biastype.ok_or_else(|| unsupported("biastype"))?;
    node.vector_upto("dynprm", &mut actuator.dynprm)?;
    node.vector_upto("gainprm", &mut actuator.gainprm)?;
    node.vector_upto("biasprm", &mut actuator.biasprm)?;
    node.integer("actdim", &mut actuator.actdim)?;
    node.boolean("actearly", &mut actuator.actearly)?;
    node.scalar("inheritrange", &mut actuator.inheritrange)?;
    // a declared input does not outlive the gain that it was declared for
    if actuator.gaintype != inherited_gain {
        actuator.ctrlspec = 0;
    }
    if let Some(input) = node.text("input") {
        let input = input.trim();
        actuator.ctrlspec =
            if input.is_empty() { 0 } else { node.find_keyword("input", input, INPUT)? };
    }
    Ok(())
}

/// A shortcut: its gain type and how its attributes become those of `general`.
struct Shortcut {
    gaintype: GainType,
    lower: fn(Node, &mut ActuatorSpec, &ActuatorSpec) -> Result<(), MjcfError>,
}

fn lowering(tag: &str) -> Option<Shortcut> {
    let (gaintype, lower): (_, fn(Node, &mut ActuatorSpec, &ActuatorSpec) -> _) = match tag {
        "motor" => (GainType::Fixed, lower_motor),
        "position" => (GainType::Fixed, lower_position),
        "velocity" => (GainType::Fixed, lower_velocity),
        "intvelocity" => (GainType::Fixed, lower_intvelocity),
        "cylinder" => (GainType::Fixed, lower_cylinder),
        "damper" => (GainType::Affine, lower_damper),
        "muscle" => (GainType::Muscle, lower_muscle),
        "adhesion" => (GainType::Fixed, lower_adhesion),
        _ => return None,
    };
    Some(Shortcut { gaintype, lower })
}

/// The actuator from whose parameters a shortcut starts: the nearest default that fits it.
fn inherited_parameters(
    tree: &DefaultTree,
    class: usize,
    tag: &str,
    gaintype: GainType,
) -> ActuatorSpec {
    let mut index = class;
    loop {
        let class = &tree.classes[index];
        let actuator = &class.actuator;
        if actuator.element == tag
            || (actuator.element == "general" && actuator.gaintype == gaintype)
        {
            return actuator.clone();
        }
        if index == class.parent {
            return documented_parameters(tag);
        }
        index = class.parent;
    }
}

fn documented_parameters(tag: &str) -> ActuatorSpec {
    let mut actuator = ActuatorSpec::default();
    match tag {
        "damper" => actuator.gainprm[0] = 0.0,
        "muscle" => {
            actuator.dynprm[..3].copy_from_slice(&[0.01, 0.04, 0.0]);
            let gain = [0.75, 1.05, -1.0, 200.0, 0.5, 1.6, 1.5, 1.3, 1.2];
            actuator.gainprm[..9].copy_from_slice(&gain);
        }
        _ => {}
    }
    actuator
}

/// Gain, bias, dynamics and activation layout as of a plain motor, which every shortcut starts
/// from.
fn reset_parameters(actuator: &mut ActuatorSpec) {
    let ActuatorSpec {
        gaintype,
        gainprm,
        biastype,
        biasprm,
        dyntype,
        dynprm,
        actdim,
        actearly,
        ctrlspec,
        ..
    } = ActuatorSpec::default();
    (actuator.gaintype, actuator.gainprm) = (gaintype, gainprm);
    (actuator.biastype, actuator.biasprm) = (biastype, biasprm);
    (actuator.dyntype, actuator.dynprm) = (dyntype, dynprm);
    (actuator.actdim, actuator.actearly, actuator.ctrlspec) = (actdim, actearly, ctrlspec);
}

#[expect(clippy::unnecessary_wraps, reason = "one signature for all shortcuts")]
fn lower_motor(_: Node, _: &mut ActuatorSpec, _: &ActuatorSpec) -> Result<(), MjcfError> {
    Ok(())
}

/// Force kp·(u − length) − kv·velocity, u filtered if there is a time constant.
fn lower_position(
    node: Node,
    actuator: &mut ActuatorSpec,
    source: &ActuatorSpec,
) -> Result<(), MjcfError> {
    lower_servo(node, actuator, source)?;
    actuator.ctrlspec = INPUT_POS;
    let mut timeconst = (source.dyntype == DynType::FilterExact).then_some(source.dynprm[0]);
    timeconst = non_negative(node, "timeconst")?.or(timeconst);
    if let Some(timeconst) = timeconst {
        actuator.dynprm[0] = timeconst;
        if timeconst > 0.0 {
            actuator.dyntype = DynType::FilterExact;
        }
    }
    inherit_range(node, "ctrlrange", &mut actuator.inheritrange, &mut actuator.ctrlrange)
}

/// A position servo whose setpoint is the integral of the control.
fn lower_intvelocity(
    node: Node,
    actuator: &mut ActuatorSpec,
    source: &ActuatorSpec,
) -> Result<(), MjcfError> {
    lower_servo(node, actuator, source)?;
    actuator.ctrlspec = INPUT_VEL;
    actuator.dyntype = DynType::Integrator;
    inherit_range(node, "actrange", &mut actuator.inheritrange, &mut actuator.actrange)
}

fn lower_servo(
    node: Node,
    actuator: &mut ActuatorSpec,
    source: &ActuatorSpec,
) -> Result<(), MjcfError> {
    let mut kp = source.gainprm[0];
    node.scalar("kp", &mut kp)?;
    let kv = non_negative(node, "kv")?;
    let dampratio = non_negative(node, "dampratio")?;
    // a damping ratio is kept with the opposite sign until the compiler knows the inertia
    let damping = match (kv, dampratio) {
        (Some(_), Some(_)) => {
            let message = "attributes `kv` and `dampratio` exclude each other";
            return Err(node.error_at("dampratio", MjcfErrorKind::Invalid, message));
        }
        (Some(kv), None) => -kv,
        (None, Some(dampratio)) => dampratio,
        (None, None) => source.biasprm[2],
    };
    actuator.gainprm[0] = kp;
    actuator.biastype = BiasType::Affine;
    actuator.biasprm[1] = -kp;
    actuator.biasprm[2] = damping;
    actuator.inheritrange = source.inheritrange;
    node.scalar("inheritrange", &mut actuator.inheritrange)?;
    Ok(())
}

/// A range and `inheritrange` exclude each other; what the element itself gives overrides the
/// other if that comes from a default.
fn inherit_range(
    node: Node,
    attr: &str,
    inheritrange: &mut f64,
    range: &mut [f64; 2],
) -> Result<(), MjcfError> {
    let has_range = node.list(attr)?.is_some();
    let has_inherit = node.optional_scalar("inheritrange")?.is_some();
    if has_range && !has_inherit {
        *inheritrange = 0.0;
    }
    if has_inherit && !has_range && *inheritrange > 0.0 {
        *range = [0.0; 2];
    }
    if *inheritrange > 0.0 && *range != [0.0; 2] {
        let message = format!("`{attr}` and `inheritrange` exclude each other");
        return Err(node.error_at("inheritrange", MjcfErrorKind::Invalid, message));
    }
    Ok(())
}

/// Force kv·(u − velocity).
fn lower_velocity(
    node: Node,
    actuator: &mut ActuatorSpec,
    source: &ActuatorSpec,
) -> Result<(), MjcfError> {
    let mut kv = source.gainprm[0];
    node.scalar("kv", &mut kv)?;
    actuator.gainprm[0] = kv;
    actuator.biastype = BiasType::Affine;
    actuator.biasprm[2] = -kv;
    actuator.ctrlspec = INPUT_VEL;
    Ok(())
}

/// Force −kv·velocity·u, u never negative.
fn lower_damper(
    node: Node,
    actuator: &mut ActuatorSpec,
    source: &ActuatorSpec,
) -> Result<(), MjcfError> {
    let kv = non_negative(node, "kv")?.unwrap_or(-source.gainprm[2]);
    if actuator.ctrlrange[0] < 0.0 || actuator.ctrlrange[1] < 0.0 {
        let message = "the control range of a damper must not be negative";
        return Err(node.error_at("ctrlrange", MjcfErrorKind::Invalid, message));
    }
    actuator.gaintype = GainType::Affine;
    actuator.gainprm = [0.0; 10];
    actuator.gainprm[2] = -kv;
    actuator.ctrllimited = Limited::True;
    Ok(())
}

/// Pressure a with ȧ = (u − a)/timeconst, force area·a + bias.
fn lower_cylinder(
    node: Node,
    actuator: &mut ActuatorSpec,
    source: &ActuatorSpec,
) -> Result<(), MjcfError> {
    let mut bias = [source.biasprm[0], source.biasprm[1], source.biasprm[2]];
    let mut area = source.gainprm[0];
    let mut timeconst = source.dynprm[0];
    node.vector("bias", &mut bias)?;
    node.scalar("area", &mut area)?;
    node.scalar("timeconst", &mut timeconst)?;
    if let Some(diameter) = node.optional_scalar("diameter")?
        && diameter >= 0.0
    {
        area = std::f64::consts::FRAC_PI_4 * diameter * diameter;
    }
    actuator.gainprm[0] = area;
    actuator.biastype = BiasType::Affine;
    actuator.biasprm[..3].copy_from_slice(&bias);
    actuator.dyntype = DynType::Filter;
    actuator.dynprm[0] = timeconst;
    actuator.ctrlspec = INPUT_PRESSURE;
    Ok(())
}

/// Muscle parameters; a negative one means: not given.
fn lower_muscle(
    node: Node,
    actuator: &mut ActuatorSpec,
    source: &ActuatorSpec,
) -> Result<(), MjcfError> {
    let (mut gainprm, mut dynprm) = (source.gainprm, source.dynprm);
    let range = node.optional_vector::<2>("range")?.unwrap_or([-1.0; 2]);
    let timeconst = node.optional_vector::<2>("timeconst")?.unwrap_or([-1.0; 2]);
    let set = |slot: &mut f64, value: f64| {
        if value >= 0.0 {
            *slot = value;
        }
    };
    for i in 0..2 {
        set(&mut gainprm[i], range[i]);
        set(&mut dynprm[i], timeconst[i]);
    }
    let names = ["force", "scale", "lmin", "lmax", "vmax", "fpmax", "fvmax"];
    for (name, slot) in names.into_iter().zip(&mut gainprm[2..9]) {
        set(slot, node.optional_scalar(name)?.unwrap_or(-1.0));
    }
    if let Some(tausmooth) = non_negative(node, "tausmooth")? {
        dynprm[2] = tausmooth;
    }
    (actuator.gaintype, actuator.gainprm) = (GainType::Muscle, gainprm);
    actuator.biastype = BiasType::Muscle;
    actuator.biasprm[..9].copy_from_slice(&gainprm[..9]);
    (actuator.dyntype, actuator.dynprm) = (DynType::Muscle, dynprm);
    Ok(())
}

/// Force gain·u that pulls a body to what it touches.
fn lower_adhesion(
    node: Node,
    actuator: &mut ActuatorSpec,
    source: &ActuatorSpec,
) -> Result<(), MjcfError> {
    actuator.gainprm[0] = non_negative(node, "gain")?.unwrap_or(source.gainprm[0]);
    if actuator.ctrlrange[0] < 0.0 || actuator.ctrlrange[1] < 0.0 {
        let message = "the control range of an adhesion actuator must not be negative";
        return Err(node.error_at("ctrlrange", MjcfErrorKind::Invalid, message));
    }
    actuator.ctrllimited = Limited::True;
    Ok(())
}

fn non_negative(node: Node, attr: &str) -> Result<Option<f64>, MjcfError> {
    match node.optional_scalar(attr)? {
        Some(value) if value < 0.0 => {
            let message = format!("attribute `{attr}` must not be negative, found {value}");
            Err(node.error_at(attr, MjcfErrorKind::BadValue, message))
        }
        value => Ok(value),
    }
}

#[cfg(test)]
mod tests;
