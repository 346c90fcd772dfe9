//! XML tree → [`Spec`]: one file per section of MJCF, [`attr`] for the attributes themselves.
//!
//! Sections are read in MuJoCo's order, so that default classes exist before they are used, no
//! matter where they stand in the file. What is valid MJCF but not handled ends in an error of
//! kind `Unsupported` that names the feature; what serves display only is skipped.

pub mod actuator;
pub mod asset;
pub mod attr;
pub mod body;
pub mod contact_equality;
pub mod default;
pub mod geom;
pub mod joint;
pub mod keyframe_custom;
pub mod option;
pub mod sensor;
pub mod tendon;

use super::error::MjcfError;
use super::spec::Spec;
use super::xml::Document;
use attr::Node;

/// Reads a whole document, which has passed the schema check.
///
/// # Errors
///
/// An attribute that is missing, does not parse or contradicts another, an unknown default class,
/// or a feature that is not supported. Names of model elements are not checked here.
pub fn read(document: &Document) -> Result<Spec, MjcfError> {
    let root = Node { element: &document.root, sources: &document.sources };
    let mut spec = Spec::default();
    root.string("model", &mut spec.modelname);
    "world".clone_into(&mut spec.worldbody.name);

    let sections: [(&str, fn(Node, &mut Spec) -> Result<(), MjcfError>); 15] = [
        ("compiler", |node, spec| option::read_compiler(node, &mut spec.compiler)),
        ("option", |node, spec| option::read_option(node, &mut spec.option)),
        ("size", |node, spec| option::read_size(node, &mut spec.size)),
        ("statistic", |node, spec| option::read_statistic(node, &mut spec.statistic)),
        ("default", |node, spec| default::read_section(node, &mut spec.defaults)),
        ("extension", |node, _| keyframe_custom::refuse_plugins(node)),
        ("custom", keyframe_custom::read_custom),
        ("asset", asset::read_section),
        ("contact", contact_equality::read_contact),
        ("deformable", |node, _| asset::refuse_flexes(node)),
        ("equality", contact_equality::read_equality_section),
        ("tendon", tendon::read_section),
        ("actuator", actuator::read_section),
        ("sensor", sensor::read_section),
        ("keyframe", keyframe_custom::read_keyframe),
    ];
    for (name, read_section) in sections {
        for section in document.root.children_named(name) {
            read_section(root.with(section), &mut spec)?;
        }
    }
    for section in document.root.children_named("worldbody") {
        body::read_world(root.with(section), &mut spec.worldbody, &spec.defaults)?;
    }
    Ok(spec)
}
