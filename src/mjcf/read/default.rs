//! `default`: the tree of classes. A class starts as a copy of its parent, reads its own
//! elements, and only then its nested classes, wherever those stand in the file.

use super::attr::Node;
use super::{actuator, asset, body, contact_equality, geom, joint, tendon};
use crate::mjcf::error::{MjcfError, MjcfErrorKind};
use crate::mjcf::spec::{DefaultSpec, DefaultTree};

/// Reads a top-level `default` section into the root class.
pub(super) fn read_section(node: Node, tree: &mut DefaultTree) -> Result<(), MjcfError> {
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
pub(super) fn class_index(
    node: Node,
    attr: &str,
    tree: &DefaultTree,
    inherited: usize,
) -> Result<usize, MjcfError> {
    let Some(name) = node.text(attr) else { return Ok(inherited) };
    tree.classes.iter().position(|c| c.class == name).ok_or_else(|| {
        let message = format!("attribute `{attr}`: there is no default class `{name}`");
        let error = node.error_at(attr, MjcfErrorKind::UnknownName, message);
        error.with_nearest(name, tree.classes.iter().map(|c| c.class.as_str()))
    })
}

#[cfg(test)]
mod tests {
    use crate::mjcf::read::tests::{geoms, read_text, refusal};
    use crate::mjcf::spec::{GeomType, Orientation};

    /// A class copies its parent after the parent has read its own elements, even those that
    /// stand below the nested class; `childclass` reaches through bodies and frames.
    #[test]
    fn classes_inherit() {
        let spec = read_text(
            r#"<mujoco>
              <default>
                <default class="arm">
                  <geom type="capsule" friction=".7"/>
                  <default class="hand"><geom size=".5"/></default>
                </default>
                <geom size="1 2 3" density="10"/>
              </default>
              <worldbody>
                <geom/>
                <body childclass="arm">
                  <geom/>
                  <body><frame childclass="hand"><geom/><geom class="main"/></frame></body>
                </body>
              </worldbody>
            </mujoco>"#,
        )
        .unwrap();
        let geoms = geoms(&spec);
        let classes: Vec<_> = geoms.iter().map(|g| (g.kind, g.size, g.friction[0])).collect();
        assert_eq!(
            classes,
            [
                (GeomType::Sphere, [1.0, 2.0, 3.0], 1.0),
                (GeomType::Capsule, [1.0, 2.0, 3.0], 0.7),
                (GeomType::Capsule, [0.5, 2.0, 3.0], 0.7),
                (GeomType::Sphere, [1.0, 2.0, 3.0], 1.0),
            ]
        );
        assert!(geoms.iter().all(|g| g.density == 10.0));
        let parents: Vec<_> = spec.defaults.classes.iter().map(|c| c.parent).collect();
        assert_eq!(parents, [0, 0, 1]);
    }

    /// Since MuJoCo 3.16 an orientation replaces that of the class in whatever notation.
    #[test]
    fn orientation_replaces_that_of_the_class() {
        let spec = read_text(
            r#"<mujoco><default><geom euler="90 0 0"/></default>
              <worldbody><geom/><geom quat="0 0 0 1"/><geom zaxis="1 0 0"/></worldbody></mujoco>"#,
        )
        .unwrap();
        let orientations: Vec<_> = geoms(&spec).iter().map(|g| g.orientation).collect();
        assert_eq!(
            orientations,
            [
                Orientation::Euler([90.0, 0.0, 0.0]),
                Orientation::Quat([0.0, 0.0, 0.0, 1.0]),
                Orientation::ZAxis([1.0, 0.0, 0.0]),
            ]
        );
    }

    #[test]
    fn refusals() {
        let (message, help) = refusal(
            r#"<mujoco><default><default class="hand"/></default>
              <worldbody><geom class="hnad"/></worldbody></mujoco>"#,
        );
        assert_eq!(
            message,
            "model.xml:2:39: <geom> attribute `class`: there is no default class `hnad`"
        );
        assert_eq!(help, "did you mean `hand`?");
        let refused = |default: &str| refusal(&format!("<mujoco>{default}</mujoco>")).0;
        assert_eq!(
            refused(r#"<default class="top"/>"#),
            "model.xml:1:25: <default> the top-level default class `main` cannot be renamed"
        );
        assert_eq!(
            refused("<default><default/></default>"),
            "model.xml:1:19: <default> a nested default needs a name: attribute `class`"
        );
        assert_eq!(
            refused(r#"<default><default class="main"/></default>"#),
            "model.xml:1:34: <default> default class `main` exists already"
        );
    }
}
