//! Assets: meshes compiled, height fields read.

use std::path::{Path, PathBuf};

use crate::mjcf::error::{MjcfError, MjcfErrorKind};
use crate::mjcf::mesh::{self, Builtin, Mesh};
use crate::mjcf::spec::{GeomType, MeshBuiltin, MeshInertia, MeshSpec};
use crate::mjcf::xml::Span;
use crate::model::Model;

use super::context::Context;
use super::names::Indices;
use super::tree::Tree;

/// Compiled assets, by index in the specification.
#[derive(Clone, Debug, Default)]
pub struct Assets {
    /// Meshes; none for those that nothing needs.
    meshes: Vec<Option<Mesh>>,
    /// Height fields.
    hfields: Vec<Elevation>,
}

/// Elevations of a height field, scaled to [0, 1].
#[derive(Clone, Debug, Default)]
pub struct Elevation {
    /// Rows.
    pub nrow: usize,
    /// Columns.
    pub ncol: usize,
    /// Row-major, the first row at negative y.
    pub data: Vec<f64>,
}

impl Assets {
    /// Compiles all assets; with `discardvisual` not the meshes that only serve display.
    ///
    /// # Errors
    /// A file that cannot be found or read, a mesh that encloses nothing.
    pub fn new(ctx: &Context<'_>, names: &Indices<'_>, tree: &Tree<'_>) -> Result<Self, MjcfError> {
        let uses = mesh_uses(ctx, names, tree);
        let specs = ctx.spec.meshes.iter().zip(&uses);
        let meshes = specs.map(|(spec, used)| match used {
            Use::Nothing => Ok(None),
            used => compile_mesh(ctx, spec, *used == Use::Collision).map(Some),
        });
        let hfields = ctx.spec.hfields.iter().map(|h| super::hfield::compile(ctx, h));
        Ok(Self {
            meshes: meshes.collect::<Result<_, _>>()?,
            hfields: hfields.collect::<Result<_, _>>()?,
        })
    }

    /// A compiled mesh.
    pub fn mesh(&self, id: usize) -> Option<&Mesh> {
        self.meshes.get(id)?.as_ref()
    }

    /// Forgets meshes; the others keep their index.
    pub fn retain_meshes(&mut self, keep: impl Fn(usize) -> bool) {
        for (id, mesh) in self.meshes.iter_mut().enumerate() {
            if !keep(id) {
                *mesh = None;
            }
        }
    }

    /// Index in the model of each mesh of the specification.
    pub fn mesh_ids(&self) -> Vec<Option<usize>> {
        let mut next = 0;
        let id = |mesh: &Option<Mesh>| {
            mesh.as_ref().map(|_| {
                next += 1;
                next - 1
            })
        };
        self.meshes.iter().map(id).collect()
    }

    /// Moves everything into the model.
    pub fn write(self, ctx: &Context<'_>, m: &mut Model) {
        for (mesh, spec) in self.meshes.into_iter().zip(&ctx.spec.meshes) {
            if let Some(mesh) = mesh {
                m.mesh.push(mesh);
                m.names.mesh.push(spec.name.clone());
            }
        }
        m.nmesh = m.mesh.len();
        for (mut h, spec) in self.hfields.into_iter().zip(&ctx.spec.hfields) {
            m.hfield_size.push(spec.size);
            m.hfield_nrow.push(h.nrow);
            m.hfield_ncol.push(h.ncol);
            m.hfield_adr.push(m.hfield_data.len());
            m.hfield_data.append(&mut h.data);
            m.names.hfield.push(spec.name.clone());
        }
        m.nhfield = m.hfield_size.len();
    }
}

/// What a mesh is needed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
enum Use {
    /// Nothing that stays in the model.
    Nothing,
    /// Shape or inertia.
    Shape,
    /// Collision: the convex hull is needed as well.
    Collision,
}

/// What each mesh is needed for.
fn mesh_uses(ctx: &Context<'_>, names: &Indices<'_>, tree: &Tree<'_>) -> Vec<Use> {
    let least = if ctx.spec.compiler.discardvisual { Use::Nothing } else { Use::Shape };
    let mut uses = vec![least; ctx.spec.meshes.len()];
    let mut mark = |name: &str, used: Use| {
        if let Some(id) = names.mesh.get(name)
            && let Some(slot) = uses.get_mut(id)
            && *slot < used
        {
            *slot = used;
        }
    };
    for geom in tree.nodes.iter().flat_map(|n| &n.geoms) {
        let g = geom.spec;
        let paired = !g.name.is_empty()
            && ctx.spec.pairs.iter().any(|p| p.geomname1 == g.name || p.geomname2 == g.name);
        let collides = g.contype != 0 || g.conaffinity != 0 || paired;
        let mesh_geom = matches!(g.kind, GeomType::Mesh | GeomType::Sdf);
        mark(&g.meshname, if collides && mesh_geom { Use::Collision } else { Use::Shape });
    }
    for site in tree.nodes.iter().flat_map(|n| &n.sites) {
        mark(&site.spec.meshname, Use::Shape);
    }
    for sensor in &ctx.spec.sensors {
        if sensor.objtype == crate::mjcf::spec::ObjType::Mesh {
            mark(&sensor.objname, Use::Shape);
        }
    }
    uses
}

fn compile_mesh(ctx: &Context<'_>, spec: &MeshSpec, needhull: bool) -> Result<Mesh, MjcfError> {
    let file = (!spec.file.is_empty()).then(|| find_file(ctx, &spec.file, spec.file_span));
    let as_spec = mesh::MeshSpec {
        name: spec.name.clone(),
        file,
        content_type: (!spec.content_type.is_empty()).then(|| spec.content_type.clone()),
        scale: spec.scale,
        refpos: spec.refpos,
        refquat: spec.refquat,
        inertia: match spec.inertia {
            MeshInertia::Convex => mesh::MeshInertia::Convex,
            MeshInertia::Exact => mesh::MeshInertia::Exact,
            MeshInertia::Legacy => mesh::MeshInertia::Legacy,
            MeshInertia::Shell => mesh::MeshInertia::Shell,
        },
        smoothnormal: spec.smoothnormal,
        maxhullvert: usize::try_from(spec.maxhullvert).ok(),
        needhull,
        vertex: spec.vertex.clone(),
        normal: spec.normal.clone(),
        texcoord: spec.texcoord.clone(),
        face: spec.face.iter().map(|&f| i64::from(f)).collect(),
        builtin: spec.builtin.as_ref().map(|(kind, params)| Builtin {
            kind: builtin_name(*kind).to_owned(),
            params: params.clone(),
        }),
    };
    mesh::compile(&as_spec).map_err(|e| {
        let attr = if spec.file.is_empty() { "vertex" } else { "file" };
        ctx.attr_error(spec.span, attr, MjcfErrorKind::Asset, e.to_string())
    })
}

fn builtin_name(kind: MeshBuiltin) -> &'static str {
    match kind {
        MeshBuiltin::Sphere => "sphere",
        MeshBuiltin::Hemisphere => "hemisphere",
        MeshBuiltin::Cone => "cone",
        MeshBuiltin::Supersphere => "supersphere",
        MeshBuiltin::Supertorus => "supertorus",
        MeshBuiltin::Wedge => "wedge",
        MeshBuiltin::Plate => "plate",
        MeshBuiltin::Grid => "grid",
        MeshBuiltin::Box => "box",
        MeshBuiltin::Cylinder => "cylinder",
        MeshBuiltin::Ellipsoid => "ellipsoid",
        MeshBuiltin::Square => "square",
        MeshBuiltin::Disc => "disc",
    }
}

/// Path of a mesh or height field file: in `meshdir`, under the directory of the main model file, or,
/// if it is not there, of the file that names it. An absolute path stays as it is.
pub fn find_file(ctx: &Context<'_>, file: &str, span: Span) -> PathBuf {
    let compiler = &ctx.spec.compiler;
    let mut file = PathBuf::from(file.replace('\\', "/"));
    if compiler.strippath
        && let Some(name) = file.file_name()
    {
        file = PathBuf::from(name);
    }
    let under = |dir: &Path| dir.join(&compiler.meshdir).join(&file);
    let main = under(ctx.dir);
    let included = under(ctx.sources.dir_of(span));
    if !main.exists() && included.exists() { included } else { main }
}
