//! `asset`: meshes and height fields; textures and materials by name.

use super::attr::{Keyword, Node};
use super::default::class_index;
use crate::mjcf::error::{MjcfError, MjcfErrorKind};
use crate::mjcf::spec::{
    HFieldSpec, MaterialSpec, MeshBuiltin, MeshInertia, MeshSpec, Spec, TextureSpec,
};

const INERTIA: &[Keyword<MeshInertia>] = &[
    ("convex", MeshInertia::Convex),
    ("exact", MeshInertia::Exact),
    ("legacy", MeshInertia::Legacy),
    ("shell", MeshInertia::Shell),
];

const BUILTIN: &[Keyword<Option<MeshBuiltin>>] = &[
    ("none", None),
    ("sphere", Some(MeshBuiltin::Sphere)),
    ("hemisphere", Some(MeshBuiltin::Hemisphere)),
    ("cone", Some(MeshBuiltin::Cone)),
    ("supersphere", Some(MeshBuiltin::Supersphere)),
    ("supertorus", Some(MeshBuiltin::Supertorus)),
    ("wedge", Some(MeshBuiltin::Wedge)),
    ("plate", Some(MeshBuiltin::Plate)),
    ("grid", Some(MeshBuiltin::Grid)),
    ("box", Some(MeshBuiltin::Box)),
    ("cylinder", Some(MeshBuiltin::Cylinder)),
    ("ellipsoid", Some(MeshBuiltin::Ellipsoid)),
    ("square", Some(MeshBuiltin::Square)),
    ("disc", Some(MeshBuiltin::Disc)),
];

/// Reads an `asset` section.
pub(super) fn read_section(section: Node, spec: &mut Spec) -> Result<(), MjcfError> {
    for node in section.children() {
        match node.tag() {
            "mesh" => {
                let class = class_index(node, "class", &spec.defaults, 0)?;
                spec.meshes.push(read_mesh(node, &spec.defaults.classes[class].mesh)?);
            }
            "material" => {
                let class = class_index(node, "class", &spec.defaults, 0)?;
                let class = &spec.defaults.classes[class].material;
                let mut material =
                    MaterialSpec { name: node.name(), span: node.span(), ..class.clone() };
                read_material_attributes(node, &mut material)?;
                spec.materials.push(material);
            }
            "hfield" => spec.hfields.push(read_hfield(node)?),
            "texture" => spec.textures.push(read_texture(node)),
            "model" => return Err(node.unsupported("model assets are")),
            _ => {} // skins serve display only
        }
    }
    Ok(())
}

fn read_mesh(node: Node, class: &MeshSpec) -> Result<MeshSpec, MjcfError> {
    let mut mesh = MeshSpec { name: node.name(), span: node.span(), ..class.clone() };
    if let Some(plugin) = node.element.child("plugin") {
        return Err(node.with(plugin).unsupported("plugins are"));
    }
    node.exclusive(&["builtin", "file"])?;
    node.exclusive(&["builtin", "vertex"])?;
    read_mesh_attributes(node, &mut mesh)?;
    node.string("content_type", &mut mesh.content_type);
    node.string("file", &mut mesh.file);
    mesh.file_span = node.element.attr("file").map_or(node.span(), |a| a.span);
    mesh.vertex = node.single_list("vertex")?.unwrap_or_default();
    mesh.normal = node.single_list("normal")?.unwrap_or_default();
    mesh.texcoord = node.single_list("texcoord")?.unwrap_or_default();
    mesh.face = node.integer_list("face")?.unwrap_or_default();
    node.vector("refpos", &mut mesh.refpos)?;
    node.vector("refquat", &mut mesh.refquat)?;
    node.boolean("smoothnormal", &mut mesh.smoothnormal)?;
    node.string("material", &mut mesh.material);
    let mut builtin = None;
    node.keyword("builtin", BUILTIN, &mut builtin)?;
    if let Some(builtin) = builtin {
        node.required_text("params")?;
        mesh.builtin = Some((builtin, node.list("params")?.unwrap_or_default()));
    }
    if mesh.name.is_empty() {
        mesh.name = file_stem(&mesh.file);
    }
    Ok(mesh)
}

/// Reads what both a mesh and a default class may give.
pub(super) fn read_mesh_attributes(node: Node, mesh: &mut MeshSpec) -> Result<(), MjcfError> {
    node.vector("scale", &mut mesh.scale)?;
    node.keyword("inertia", INERTIA, &mut mesh.inertia)?;
    node.integer("maxhullvert", &mut mesh.maxhullvert)?;
    let count = mesh.maxhullvert;
    if count != -1 && count < 4 {
        let message = format!("attribute `maxhullvert` must be −1 or at least 4, found {count}");
        return Err(node.error_at("maxhullvert", MjcfErrorKind::BadValue, message));
    }
    Ok(())
}

/// Reads what both a material and a default class may give, of the part that is kept.
pub(super) fn read_material_attributes(
    node: Node,
    material: &mut MaterialSpec,
) -> Result<(), MjcfError> {
    node.single("rgba", &mut material.rgba)?;
    if let Some(texture) = node.text("texture") {
        material.textures = vec![texture.to_owned()];
    }
    for layer in node.element.children_named("layer") {
        if let Some(texture) = node.with(layer).text("texture") {
            material.textures.push(texture.to_owned());
        }
    }
    Ok(())
}

fn read_hfield(node: Node) -> Result<HFieldSpec, MjcfError> {
    let mut hfield = HFieldSpec { name: node.name(), span: node.span(), ..HFieldSpec::default() };
    node.string("content_type", &mut hfield.content_type);
    node.string("file", &mut hfield.file);
    hfield.file_span = node.element.attr("file").map_or(node.span(), |a| a.span);
    node.integer("nrow", &mut hfield.nrow)?;
    node.integer("ncol", &mut hfield.ncol)?;
    if !node.vector("size", &mut hfield.size)? {
        return Err(node.error(MjcfErrorKind::MissingAttribute, "needs attribute `size`"));
    }
    if hfield.file.is_empty() {
        hfield.elevation = node.single_list("elevation")?.unwrap_or_default();
        let expected = i64::from(hfield.nrow) * i64::from(hfield.ncol);
        let found = hfield.elevation.len();
        if found != 0 && i64::try_from(found) != Ok(expected) {
            let message = format!(
                "attribute `elevation` needs nrow·ncol = {expected} numbers, found {found}"
            );
            return Err(node.error_at("elevation", MjcfErrorKind::BadValue, message));
        }
    }
    if hfield.name.is_empty() {
        hfield.name = file_stem(&hfield.file);
    }
    Ok(hfield)
}

fn read_texture(node: Node) -> TextureSpec {
    let mut texture =
        TextureSpec { name: node.name(), span: node.span(), ..TextureSpec::default() };
    node.string("file", &mut texture.file);
    if texture.name.is_empty() {
        texture.name = file_stem(&texture.file);
    }
    texture
}

/// File name without directories, written either way, and without its last extension.
fn file_stem(file: &str) -> String {
    let name = file.rsplit(['/', '\\']).next().unwrap_or_default();
    name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned()
}

/// `deformable` holds flexes, which are refused, and skins, which serve display only.
pub(super) fn refuse_flexes(section: Node) -> Result<(), MjcfError> {
    match section.children().find(|node| node.tag() == "flex") {
        Some(flex) => Err(flex.unsupported("deformables (`flex`) are")),
        None => Ok(()),
    }
}
