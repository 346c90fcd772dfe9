//! Mesh assets: from a file or inline numbers to a centred, axis-aligned triangle mesh.
//!
//! ```text
//! MeshSpec ── load ──> vertices (f32), faces ── process ──> Mesh
//!             stl, obj, msh, builtin             hull, refpos/refquat/scale, volume, principal axes
//! ```
//!
//! A compiled mesh lives in its own inertial frame: origin at the centre of mass, axes along the
//! principal axes. [`Mesh::pos`] and [`Mesh::quat`] place that frame in the frame of the file, and
//! a geom that uses the mesh has them composed into its own frame ([`Mesh::geom_frame`]).
//!
//! Vertices are single precision where MuJoCo's are: as loaded, and as stored in the end. All in
//! between is double precision, summed in MuJoCo's order, because the principal axes of a
//! symmetric mesh are decided by the last bit.
//!
//! Source: MuJoCo `user_mesh.cc`; its manual, *XML reference*, `asset/mesh`.

pub mod builtin;
pub mod error;
pub mod geom;
pub mod hull;
pub mod load;
pub mod obj;
pub mod process;
pub mod simplex;

use std::path::PathBuf;

pub use builtin::Builtin;
pub use error::{MeshError, MeshErrorKind};
pub use geom::{FitShape, GeomMass, MassProperties};
pub use hull::Hull;

/// How the volume, centre of mass and inertia of a mesh are computed (`mesh/inertia`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MeshInertia {
    /// Of the convex hull.
    Convex,
    /// Of the surface as given: signed tetrahedra, so it must be closed and consistently oriented.
    Exact,
    /// As exact, but every tetrahedron counted positive: too heavy where the mesh is not convex.
    #[default]
    Legacy,
    /// Of the surface: mass per area.
    Shell,
}

/// A mesh asset as written in the model. Either `file`, or `builtin`, or `vertex` is given.
#[derive(Debug, Clone, PartialEq)]
pub struct MeshSpec {
    /// Name; appears in errors.
    pub name: String,
    /// Resolved path of the file.
    pub file: Option<PathBuf>,
    /// Media type that overrides the extension of the file; MuJoCo only heeds
    /// `model/vnd.mujoco.msh`.
    pub content_type: Option<String>,
    /// Scaling along the axes of the file; negative values mirror.
    pub scale: [f64; 3],
    /// Subtracted from the vertices, before rotation and scaling.
    pub refpos: [f64; 3],
    /// Its conjugate rotates the vertices (w, x, y, z); normalized here.
    pub refquat: [f64; 4],
    /// Volume and inertia mode.
    pub inertia: MeshInertia,
    /// Accepted and unused: normals matter to renderers only.
    pub smoothnormal: bool,
    /// At most this many vertices in the convex hull.
    pub maxhullvert: Option<usize>,
    /// A convex hull is wanted even where loading does not need one: true when a geom of type
    /// mesh uses the mesh and can collide. Flat meshes have none, and are an error then.
    pub needhull: bool,
    /// Inline vertices, (3·nvert).
    pub vertex: Vec<f64>,
    /// Inline normals, (3·nvert); checked, and unused.
    pub normal: Vec<f64>,
    /// Inline texture coordinates, (2·nvert); checked, and unused.
    pub texcoord: Vec<f64>,
    /// Inline faces, (3·nface), counter-clockwise from outside. Signed, so that a negative index
    /// can be reported. Without faces the convex hull of the vertices is used.
    pub face: Vec<i64>,
    /// Procedural mesh.
    pub builtin: Option<Builtin>,
}

impl Default for MeshSpec {
    fn default() -> Self {
        Self {
            name: String::new(),
            file: None,
            content_type: None,
            scale: [1.0; 3],
            refpos: [0.0; 3],
            refquat: [1.0, 0.0, 0.0, 0.0],
            inertia: MeshInertia::default(),
            smoothnormal: false,
            maxhullvert: None,
            needhull: false,
            vertex: Vec::new(),
            normal: Vec::new(),
            texcoord: Vec::new(),
            face: Vec::new(),
            builtin: None,
        }
    }
}

/// A compiled mesh, in its own inertial frame.
#[derive(Debug, Clone, PartialEq)]
pub struct Mesh {
    /// Name of the asset.
    pub name: String,
    /// Scaling that was applied, `mesh_scale`.
    pub scale: [f64; 3],
    /// Vertices in the mesh frame [m], rounded to single precision; `mesh_vert`, (nvert).
    pub vert: Vec<[f64; 3]>,
    /// Triangles, counter-clockwise from outside; `mesh_face`, (nface).
    pub face: Vec<[usize; 3]>,
    /// Convex hull, where one was needed.
    pub hull: Option<Hull>,
    /// Origin of the mesh frame in the frame of the file [m], `mesh_pos`.
    pub pos: [f64; 3],
    /// Orientation of the mesh frame in the frame of the file (w, x, y, z), `mesh_quat`.
    pub quat: [f64; 4],
    /// Mode by which `volume` and `box_size` were computed.
    pub inertia: MeshInertia,
    /// Volume [m³]; for shells the area [m²].
    pub volume: f64,
    /// Half-sizes [m] of the solid box with the same mass and inertia.
    pub box_size: [f64; 3],
    /// Lower corner of the bounding box in the mesh frame [m].
    pub lower: [f64; 3],
    /// Upper corner of the bounding box in the mesh frame [m].
    pub upper: [f64; 3],
}

/// Load and process one mesh.
///
/// # Errors
/// [`MeshError`], which names the mesh, the file and what is wrong with it.
pub fn compile(spec: &MeshSpec) -> Result<Mesh, MeshError> {
    load::load(spec).and_then(|raw| process::process(spec, raw)).map_err(|kind| MeshError {
        name: spec.name.clone(),
        file: spec.file.clone(),
        kind,
    })
}
