//! `joint` and `freejoint`.

use super::attr::{Keyword, Node};
use crate::mjcf::error::MjcfError;
use crate::mjcf::spec::{AlignFree, JointSpec, JointType, Limited};

/// Keywords of [`Limited`].
pub(super) const LIMITED: &[Keyword<Limited>] =
    &[("false", Limited::False), ("true", Limited::True), ("auto", Limited::Auto)];

const TYPE: &[Keyword<JointType>] = &[
    ("free", JointType::Free),
    ("ball", JointType::Ball),
    ("slide", JointType::Slide),
    ("hinge", JointType::Hinge),
];

const ALIGN: &[Keyword<AlignFree>] =
    &[("false", AlignFree::False), ("true", AlignFree::True), ("auto", AlignFree::Auto)];

/// Reads a `joint` that starts from its class.
pub(super) fn read(node: Node, class: &JointSpec) -> Result<JointSpec, MjcfError> {
    let mut joint = JointSpec { name: node.name(), span: node.span(), ..class.clone() };
    read_attributes(node, &mut joint)?;
    Ok(joint)
}

/// Reads a `freejoint`, which takes nothing from any class.
pub(super) fn read_free(node: Node) -> Result<JointSpec, MjcfError> {
    let mut joint = JointSpec {
        name: node.name(),
        span: node.span(),
        kind: JointType::Free,
        ..JointSpec::default()
    };
    node.integer("group", &mut joint.group)?;
    node.keyword("align", ALIGN, &mut joint.align)?;
    Ok(joint)
}

/// Reads what both a joint and a default class may give.
pub(super) fn read_attributes(node: Node, joint: &mut JointSpec) -> Result<(), MjcfError> {
    node.keyword("type", TYPE, &mut joint.kind)?;
    node.integer("group", &mut joint.group)?;
    node.vector("pos", &mut joint.pos)?;
    node.vector("axis", &mut joint.axis)?;
    node.vector("springdamper", &mut joint.springdamper)?;
    node.keyword("limited", LIMITED, &mut joint.limited)?;
    node.keyword("actuatorfrclimited", LIMITED, &mut joint.actfrclimited)?;
    node.vector_upto("solreflimit", &mut joint.solref_limit)?;
    node.vector_upto("solimplimit", &mut joint.solimp_limit)?;
    node.vector_upto("solreffriction", &mut joint.solref_friction)?;
    node.vector_upto("solimpfriction", &mut joint.solimp_friction)?;
    node.vector_upto("stiffness", &mut joint.stiffness)?;
    node.vector("range", &mut joint.range)?;
    node.vector("actuatorfrcrange", &mut joint.actfrcrange)?;
    node.boolean("actuatorgravcomp", &mut joint.actgravcomp)?;
    node.scalar("margin", &mut joint.margin)?;
    node.scalar("ref", &mut joint.ref_)?;
    node.scalar("springref", &mut joint.springref)?;
    refuse_springyield(node)?;
    node.scalar("armature", &mut joint.armature)?;
    node.vector_upto("damping", &mut joint.damping)?;
    node.scalar("frictionloss", &mut joint.frictionloss)?;
    if let Some(user) = node.list("user")? {
        joint.user = user;
    }
    Ok(())
}

/// A plastic spring has a state of its own, which nothing here simulates.
pub(super) fn refuse_springyield(node: Node) -> Result<(), MjcfError> {
    match node.optional_scalar("springyield")? {
        Some(threshold) if threshold != 0.0 => {
            Err(node.unsupported_at("springyield", "plastic springs (`springyield`) are"))
        }
        _ => Ok(()),
    }
}
