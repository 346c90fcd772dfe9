//! `contact` and `equality`.

use super::attr::Node;
use super::default::class_index;
use crate::mjcf::error::{MjcfError, MjcfErrorKind};
use crate::mjcf::spec::{EqualitySpec, EqualityType, ExcludeSpec, ObjType, PairSpec, Spec};

/// Reads a `contact` section.
pub(super) fn read_contact(section: Node, spec: &mut Spec) -> Result<(), MjcfError> {
    for node in section.children() {
        match node.tag() {
            "pair" => {
                let class = class_index(node, "class", &spec.defaults, 0)?;
                spec.pairs.push(read_pair(node, &spec.defaults.classes[class].pair)?);
            }
            "exclude" => spec.excludes.push(ExcludeSpec {
                name: node.name(),
                span: node.span(),
                bodyname1: node.required_text("body1")?.to_owned(),
                bodyname2: node.required_text("body2")?.to_owned(),
            }),
            _ => {}
        }
    }
    Ok(())
}

fn read_pair(node: Node, class: &PairSpec) -> Result<PairSpec, MjcfError> {
    let mut pair = PairSpec { name: node.name(), span: node.span(), ..class.clone() };
    node.string("geom1", &mut pair.geomname1);
    node.string("geom2", &mut pair.geomname2);
    read_pair_attributes(node, &mut pair)?;
    Ok(pair)
}

/// Reads what both a pair and a default class may give.
pub(super) fn read_pair_attributes(node: Node, pair: &mut PairSpec) -> Result<(), MjcfError> {
    node.integer("condim", &mut pair.condim)?;
    node.vector_upto("friction", &mut pair.friction)?;
    node.vector_upto("solref", &mut pair.solref)?;
    node.vector_upto("solreffriction", &mut pair.solreffriction)?;
    node.vector_upto("solimp", &mut pair.solimp)?;
    node.scalar("gap", &mut pair.gap)?;
    node.scalar("margin", &mut pair.margin)?;
    node.scalar("adhesion", &mut pair.adhesion)?;
    Ok(())
}

/// Reads an `equality` section.
pub(super) fn read_equality_section(section: Node, spec: &mut Spec) -> Result<(), MjcfError> {
    for node in section.children() {
        let class = class_index(node, "class", &spec.defaults, 0)?;
        let class = &spec.defaults.classes[class].equality;
        spec.equalities.push(read_equality(node, class)?);
    }
    Ok(())
}

fn read_equality(node: Node, class: &EqualitySpec) -> Result<EqualitySpec, MjcfError> {
    let mut eq = EqualitySpec { name: node.name(), span: node.span(), ..class.clone() };
    read_equality_attributes(node, &mut eq)?;
    match node.tag() {
        "connect" => read_connect(node, &mut eq)?,
        "weld" => read_weld(node, &mut eq)?,
        "joint" => {
            (eq.kind, eq.objtype) = (EqualityType::Joint, ObjType::Joint);
            read_coupling(node, &mut eq, "joint1", "joint2")?;
        }
        "tendon" => {
            (eq.kind, eq.objtype) = (EqualityType::Tendon, ObjType::Tendon);
            read_coupling(node, &mut eq, "tendon1", "tendon2")?;
        }
        "distance" => {
            (eq.kind, eq.objtype) = (EqualityType::Distance, ObjType::Geom);
            node.required_text("geom1")?.clone_into(&mut eq.name1);
            node.required_text("geom2")?.clone_into(&mut eq.name2);
            eq.data = [0.0; 12];
            node.scalar("distance", &mut eq.data[0])?;
        }
        _ => return Err(node.unsupported("deformables (`flex` constraints) are")),
    }
    Ok(eq)
}

/// Reads what both an equality constraint and a default class may give.
pub(super) fn read_equality_attributes(node: Node, eq: &mut EqualitySpec) -> Result<(), MjcfError> {
    node.boolean("active", &mut eq.active)?;
    node.vector_upto("solref", &mut eq.solref)?;
    node.vector_upto("solimp", &mut eq.solimp)?;
    Ok(())
}

fn read_connect(node: Node, eq: &mut EqualitySpec) -> Result<(), MjcfError> {
    eq.kind = EqualityType::Connect;
    let anchor = node.optional_vector::<3>("anchor")?;
    read_ends(node, eq, &["body1", "body2", "anchor"])?;
    match anchor {
        Some(anchor) => eq.data[..3].copy_from_slice(&anchor),
        None if eq.objtype == ObjType::Body => {
            let message = "needs attribute `anchor` beside `body1`";
            return Err(node.error(MjcfErrorKind::MissingAttribute, message));
        }
        None => {}
    }
    Ok(())
}

fn read_weld(node: Node, eq: &mut EqualitySpec) -> Result<(), MjcfError> {
    eq.kind = EqualityType::Weld;
    read_ends(node, eq, &["body1", "body2", "anchor", "relpose"])?;
    // the anchor of body semantics is the origin unless given; that of sites has no use
    if eq.objtype == ObjType::Body {
        eq.data[..3].fill(0.0);
    }
    if let Some(anchor) = node.optional_vector::<3>("anchor")? {
        eq.data[..3].copy_from_slice(&anchor);
    }
    if let Some(relpose) = node.optional_vector::<7>("relpose")? {
        eq.data[3..10].copy_from_slice(&relpose);
    }
    node.scalar("torquescale", &mut eq.data[10])?;
    Ok(())
}

/// Either two sites, or one or two bodies.
fn read_ends(node: Node, eq: &mut EqualitySpec, of_bodies: &[&str]) -> Result<(), MjcfError> {
    for site in ["site1", "site2"] {
        for other in of_bodies {
            node.exclusive(&[site, other])?;
        }
    }
    match (node.text("site1"), node.text("site2"), node.text("body1")) {
        (Some(site1), Some(site2), _) => {
            eq.objtype = ObjType::Site;
            site1.clone_into(&mut eq.name1);
            site2.clone_into(&mut eq.name2);
            Ok(())
        }
        (None, None, Some(body1)) => {
            eq.objtype = ObjType::Body;
            body1.clone_into(&mut eq.name1);
            node.string("body2", &mut eq.name2);
            Ok(())
        }
        _ => {
            let message = "needs either `body1` or both `site1` and `site2`";
            Err(node.error(MjcfErrorKind::MissingAttribute, message))
        }
    }
}

fn read_coupling(
    node: Node,
    eq: &mut EqualitySpec,
    first: &str,
    second: &str,
) -> Result<(), MjcfError> {
    node.required_text(first)?.clone_into(&mut eq.name1);
    node.string(second, &mut eq.name2);
    let mut polycoef = [0.0; 5];
    polycoef.copy_from_slice(&eq.data[..5]);
    node.vector_upto("polycoef", &mut polycoef)?;
    eq.data[..5].copy_from_slice(&polycoef);
    Ok(())
}
