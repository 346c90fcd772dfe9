//! Assets: meshes and height fields in full, textures and materials by name.

use crate::mjcf::xml::Span;

/// How the inertia of a mesh is computed (`mjtMeshInertia`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MeshInertia {
    /// Of the convex hull.
    Convex,
    /// Exact, for closed and well-oriented meshes.
    Exact,
    /// Counting overlapping volume more than once.
    #[default]
    Legacy,
    /// Of the surface.
    Shell,
}

/// A procedural mesh (`mjtMeshBuiltin`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants are the keywords of the attribute")]
pub enum MeshBuiltin {
    Sphere,
    Hemisphere,
    Cone,
    Supersphere,
    Supertorus,
    Wedge,
    Plate,
    Grid,
    Box,
    Cylinder,
    Ellipsoid,
    Square,
    Disc,
}

/// A `mesh` asset (`mjsMesh`). Its source is exactly one of `file`, `vertex` or `builtin`.
#[derive(Clone, Debug)]
pub struct MeshSpec {
    /// Name; if the file gives none, the file name without path and extension.
    pub name: String,
    /// Place of the element.
    pub span: Span,
    /// Media type that overrides the file's extension, possibly empty.
    pub content_type: String,
    /// File as written, relative to [`super::CompilerSpec::meshdir`]; possibly empty.
    pub file: String,
    /// Place of the `file` attribute's value.
    pub file_span: Span,
    /// Vertex positions, three per vertex \[m\], before `scale`.
    pub vertex: Vec<f64>,
    /// Normals, three per vertex.
    pub normal: Vec<f64>,
    /// Texture coordinates, two per vertex.
    pub texcoord: Vec<f64>,
    /// Vertex indices, three per face; checked by the compiler.
    pub face: Vec<i32>,
    /// Procedural mesh and its parameters.
    pub builtin: Option<(MeshBuiltin, Vec<f64>)>,
    /// Factor on each coordinate.
    pub scale: [f64; 3],
    /// Reference position, subtracted from the vertices \[m\].
    pub refpos: [f64; 3],
    /// Reference orientation, whose inverse rotates the vertices.
    pub refquat: [f64; 4],
    /// Inertia mode.
    pub inertia: MeshInertia,
    /// Whether normals across sharp edges are averaged.
    pub smoothnormal: bool,
    /// Largest number of vertices of the convex hull; −1: no bound.
    pub maxhullvert: i32,
    /// Material name, possibly empty.
    pub material: String,
}

impl Default for MeshSpec {
    fn default() -> Self {
        Self {
            name: String::new(),
            span: Span::default(),
            content_type: String::new(),
            file: String::new(),
            file_span: Span::default(),
            vertex: Vec::new(),
            normal: Vec::new(),
            texcoord: Vec::new(),
            face: Vec::new(),
            builtin: None,
            scale: [1.0; 3],
            refpos: [0.0; 3],
            refquat: [1.0, 0.0, 0.0, 0.0],
            inertia: MeshInertia::Legacy,
            smoothnormal: false,
            maxhullvert: -1,
            material: String::new(),
        }
    }
}

/// An `hfield` asset (`mjsHField`).
#[derive(Clone, Debug, Default)]
pub struct HFieldSpec {
    /// Name; if the file gives none, the file name without path and extension.
    pub name: String,
    /// Place of the element.
    pub span: Span,
    /// Media type that overrides the file's extension, possibly empty.
    pub content_type: String,
    /// File as written, relative to [`super::CompilerSpec::meshdir`]; possibly empty.
    pub file: String,
    /// Place of the `file` attribute's value.
    pub file_span: Span,
    /// Half-lengths x and y, largest elevation, depth of the base \[m\].
    pub size: [f64; 4],
    /// Number of rows; 0 if the file has it.
    pub nrow: i32,
    /// Number of columns; 0 if the file has it.
    pub ncol: i32,
    /// Elevation data given inline.
    pub elevation: ElevationSpec,
}

/// Elevations as written: rows from top to bottom, so in the opposite order of the model's.
pub type ElevationSpec = Vec<f64>;

/// A `texture` asset, known by name only.
#[derive(Clone, Debug, Default)]
pub struct TextureSpec {
    /// Name; if the file gives none, the file name without path and extension.
    pub name: String,
    /// Place of the element.
    pub span: Span,
    /// File as written, relative to [`super::CompilerSpec::texturedir`]; possibly empty.
    pub file: String,
}

/// A `material` asset, known by name and colour.
#[derive(Clone, Debug)]
pub struct MaterialSpec {
    /// Name.
    pub name: String,
    /// Place of the element.
    pub span: Span,
    /// Names of its textures.
    pub textures: Vec<String>,
    /// Colour.
    pub rgba: [f64; 4],
}

impl Default for MaterialSpec {
    fn default() -> Self {
        Self { name: String::new(), span: Span::default(), textures: Vec::new(), rgba: [1.0; 4] }
    }
}
