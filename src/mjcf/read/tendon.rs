//! `tendon`: fixed ones; spatial ones are refused.

use super::attr::Node;
use super::default::class_index;
use super::joint::{LIMITED, refuse_springyield};
use crate::mjcf::error::MjcfError;
use crate::mjcf::spec::{Spec, TendonSpec, WrapSpec};

/// Reads a `tendon` section.
pub(super) fn read_section(section: Node, spec: &mut Spec) -> Result<(), MjcfError> {
    for node in section.children() {
        if node.tag() == "spatial" {
            return Err(node.unsupported("spatial tendons are"));
        }
        let class = class_index(node, "class", &spec.defaults, 0)?;
        let class = &spec.defaults.classes[class].tendon;
        let mut tendon = TendonSpec { name: node.name(), span: node.span(), ..class.clone() };
        read_attributes(node, &mut tendon)?;
        for joint in node.children().filter(|child| child.tag() == "joint") {
            tendon.path.push(WrapSpec {
                span: joint.span(),
                joint: joint.required_text("joint")?.to_owned(),
                coef: joint.required_scalar("coef")?,
            });
        }
        spec.tendons.push(tendon);
    }
    Ok(())
}

/// Reads what both a tendon and a default class may give.
pub(super) fn read_attributes(node: Node, tendon: &mut TendonSpec) -> Result<(), MjcfError> {
    node.integer("group", &mut tendon.group)?;
    node.keyword("limited", LIMITED, &mut tendon.limited)?;
    node.keyword("actuatorfrclimited", LIMITED, &mut tendon.actfrclimited)?;
    node.vector("range", &mut tendon.range)?;
    node.vector("actuatorfrcrange", &mut tendon.actfrcrange)?;
    node.vector_upto("solreflimit", &mut tendon.solref_limit)?;
    node.vector_upto("solimplimit", &mut tendon.solimp_limit)?;
    node.vector_upto("solreffriction", &mut tendon.solref_friction)?;
    node.vector_upto("solimpfriction", &mut tendon.solimp_friction)?;
    node.scalar("frictionloss", &mut tendon.frictionloss)?;
    // one value: no deadband
    if node.vector_upto("springlength", &mut tendon.springlength)? == 1 {
        tendon.springlength[1] = tendon.springlength[0];
    }
    refuse_springyield(node)?;
    node.scalar("width", &mut tendon.width)?;
    node.string("material", &mut tendon.material);
    node.scalar("margin", &mut tendon.margin)?;
    node.vector_upto("stiffness", &mut tendon.stiffness)?;
    node.vector_upto("damping", &mut tendon.damping)?;
    node.scalar("armature", &mut tendon.armature)?;
    node.single("rgba", &mut tendon.rgba)?;
    if let Some(user) = node.list("user")? {
        tendon.user = user;
    }
    Ok(())
}
