//! `geom` and `site`, and the orientations that they share with bodies.

use super::attr::{Keyword, Node};
use crate::mjcf::error::{MjcfError, MjcfErrorKind};
use crate::mjcf::spec::{GeomInertia, GeomSpec, GeomType, Orientation, SiteSpec};

const TYPE: &[Keyword<GeomType>] = &[
    ("plane", GeomType::Plane),
    ("hfield", GeomType::HField),
    ("sphere", GeomType::Sphere),
    ("capsule", GeomType::Capsule),
    ("ellipsoid", GeomType::Ellipsoid),
    ("cylinder", GeomType::Cylinder),
    ("box", GeomType::Box),
    ("mesh", GeomType::Mesh),
    ("sdf", GeomType::Sdf),
];

const SHELL: &[Keyword<GeomInertia>] =
    &[("false", GeomInertia::Volume), ("true", GeomInertia::Shell)];

const FLUID_SHAPE: &[Keyword<bool>] = &[("none", false), ("ellipsoid", true)];

/// Reads a `geom` that starts from its class.
pub(super) fn read_geom(node: Node, class: &GeomSpec) -> Result<GeomSpec, MjcfError> {
    let mut geom = GeomSpec { name: node.name(), span: node.span(), ..class.clone() };
    read_geom_attributes(node, &mut geom)?;
    Ok(geom)
}

/// Reads a `site` that starts from its class.
pub(super) fn read_site(node: Node, class: &SiteSpec) -> Result<SiteSpec, MjcfError> {
    let mut site = SiteSpec { name: node.name(), span: node.span(), ..class.clone() };
    read_site_attributes(node, &mut site)?;
    Ok(site)
}

/// Reads what both a geom and a default class may give.
pub(super) fn read_geom_attributes(node: Node, geom: &mut GeomSpec) -> Result<(), MjcfError> {
    node.keyword("type", TYPE, &mut geom.kind)?;
    if geom.kind == GeomType::Sdf {
        return Err(node.unsupported_at("type", "signed distance fields (`sdf` geoms) are"));
    }
    if let Some(plugin) = node.element.child("plugin") {
        return Err(node.with(plugin).unsupported("plugins are"));
    }
    node.integer("contype", &mut geom.contype)?;
    node.integer("conaffinity", &mut geom.conaffinity)?;
    node.integer("condim", &mut geom.condim)?;
    node.integer("group", &mut geom.group)?;
    node.integer("priority", &mut geom.priority)?;
    node.vector_upto("size", &mut geom.size)?;
    node.string("material", &mut geom.material);
    node.vector_upto("friction", &mut geom.friction)?;
    if let Some(mass) = node.optional_scalar("mass")? {
        geom.mass = Some(mass);
    }
    node.scalar("density", &mut geom.density)?;
    node.keyword("shellinertia", SHELL, &mut geom.typeinertia)?;
    node.scalar("solmix", &mut geom.solmix)?;
    node.vector_upto("solref", &mut geom.solref)?;
    node.vector_upto("solimp", &mut geom.solimp)?;
    node.scalar("margin", &mut geom.margin)?;
    node.scalar("gap", &mut geom.gap)?;
    node.vector_upto("surfacevel", &mut geom.surfacevel)?;
    node.scalar("adhesion", &mut geom.adhesion)?;
    if let Some(fromto) = node.optional_vector("fromto")? {
        geom.fromto = Some(fromto);
    }
    node.vector("pos", &mut geom.pos)?;
    read_orientation(node, &mut geom.orientation)?;
    node.string("hfield", &mut geom.hfieldname);
    node.string("mesh", &mut geom.meshname);
    node.scalar("fitscale", &mut geom.fitscale)?;
    node.single("rgba", &mut geom.rgba)?;
    node.boolean("castshadow", &mut geom.castshadow)?;
    node.keyword("fluidshape", FLUID_SHAPE, &mut geom.fluid_ellipsoid)?;
    node.vector_upto("fluidcoef", &mut geom.fluid_coefs)?;
    if let Some(user) = node.list("user")? {
        geom.user = user;
    }
    Ok(())
}

/// Reads what both a site and a default class may give.
pub(super) fn read_site_attributes(node: Node, site: &mut SiteSpec) -> Result<(), MjcfError> {
    node.keyword("type", TYPE, &mut site.kind)?;
    node.integer("group", &mut site.group)?;
    node.vector("pos", &mut site.pos)?;
    read_orientation(node, &mut site.orientation)?;
    node.string("material", &mut site.material);
    node.string("mesh", &mut site.meshname);
    node.vector_upto("size", &mut site.size)?;
    if let Some(fromto) = node.optional_vector("fromto")? {
        site.fromto = Some(fromto);
    }
    node.single("rgba", &mut site.rgba)?;
    if let Some(user) = node.list("user")? {
        site.user = user;
    }
    Ok(())
}

/// Attributes that give an orientation.
pub(super) const ORIENTATIONS: &[&str] = &["quat", "axisangle", "xyaxes", "zaxis", "euler"];

/// Reads an orientation in any notation. Whatever is given here replaces what a class gave, in
/// whichever notation.
pub(super) fn read_orientation(node: Node, out: &mut Orientation) -> Result<(), MjcfError> {
    node.exclusive(ORIENTATIONS)?;
    if let Some(quat) = node.optional_vector("quat")? {
        if quat == [0.0; 4] {
            let message = "attribute `quat` must not be zero";
            return Err(node.error_at("quat", MjcfErrorKind::BadValue, message));
        }
        *out = Orientation::Quat(quat);
    }
    if let Some(axisangle) = node.optional_vector("axisangle")? {
        *out = Orientation::AxisAngle(axisangle);
    }
    if let Some(xyaxes) = node.optional_vector("xyaxes")? {
        *out = Orientation::XyAxes(xyaxes);
    }
    if let Some(zaxis) = node.optional_vector("zaxis")? {
        *out = Orientation::ZAxis(zaxis);
    }
    if let Some(euler) = node.optional_vector("euler")? {
        *out = Orientation::Euler(euler);
    }
    Ok(())
}
