//! `default`: the tree of classes. A class starts as a copy of its parent, reads its own
//! elements, and only then its nested classes, wherever those stand in the file.

use super::attr::{Node, suggest};
use super::{actuator, asset, body, contact_equality, geom, joint, tendon};
use crate::mjcf::error::{MjcfError, MjcfErrorKind};
use crate::mjcf::spec::{DefaultSpec, DefaultTree};

/// Reads a top-level `default` section into the root class.
pub fn read_section(node: Node, tree: &mut DefaultTree) -> Result<(), MjcfError> {
    if let Some(name) = node.text("class")
        && !name.is_empty()
        && name != "main"
    {
        let message = "the top-level default class `main` cannot be renamed";
        return Err(node.error_at("class", MjcfErrorKind::Invalid, message));
    }
    read_class(node, tree, 0)
}

fn read_class(node: Node, tree: &mut DefaultTree, class: usize) -> Result<(), MjcfError> {
    for child in node.children() {
        read_element(child, tree, class)?;
    }
    for child in node.children().filter(|c| c.tag() == "default") {
        read_nested(child, tree, class)?;
    }
    Ok(())
}

fn read_nested(node: Node, tree: &mut DefaultTree, parent: usize) -> Result<(), MjcfError> {
    let name = node.text("class").unwrap_or_default();
    if name.is_empty() {
        let message = "a nested default needs a name: attribute `class`";
        return Err(node.error(MjcfErrorKind::MissingAttribute, message));
    }
    if tree.find(name).is_some() {
        let message = format!("default class `{name}` exists already");
        return Err(node.error_at("class", MjcfErrorKind::Duplicate, message));
    }
    let mut child: DefaultSpec = tree.classes[parent].clone();
    name.clone_into(&mut child.class);
    child.span = node.span();
    child.parent = parent;
    tree.classes.push(child);
    let index = tree.classes.len() - 1;
    read_class(node, tree, index)
}

fn read_element(node: Node, tree: &mut DefaultTree, class: usize) -> Result<(), MjcfError> {
    if actuator::is_actuator(node.tag()) {
        let updated = actuator::read_default(node, tree, class)?;
        tree.classes[class].actuator = updated;
        return Ok(());
    }
    let spec = &mut tree.classes[class];
    match node.tag() {
        "joint" => joint::read_attributes(node, &mut spec.joint),
        "geom" => geom::read_geom_attributes(node, &mut spec.geom),
        "site" => geom::read_site_attributes(node, &mut spec.site),
        "camera" => body::read_camera_attributes(node, &mut spec.camera),
        "light" => body::read_light_attributes(node, &mut spec.light),
        "mesh" => asset::read_mesh_attributes(node, &mut spec.mesh),
        "material" => asset::read_material_attributes(node, &mut spec.material),
        "pair" => contact_equality::read_pair_attributes(node, &mut spec.pair),
        "equality" => contact_equality::read_equality_attributes(node, &mut spec.equality),
        "tendon" => tendon::read_attributes(node, &mut spec.tendon),
        _ => Ok(()), // nested defaults are read later; textures serve display only
    }
}

/// Index of the class that the attribute names, or `inherited` if it is absent.
pub fn class_index(
    node: Node,
    attr: &str,
    tree: &DefaultTree,
    inherited: usize,
) -> Result<usize, MjcfError> {
    let Some(name) = node.text(attr) else { return Ok(inherited) };
    tree.classes.iter().position(|c| c.class == name).ok_or_else(|| {
        let message = format!("attribute `{attr}`: there is no default class `{name}`");
        let error = node.error_at(attr, MjcfErrorKind::UnknownName, message);
        suggest(error, name, tree.classes.iter().map(|c| c.class.as_str()))
    })
}
