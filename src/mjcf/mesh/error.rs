//! What can be wrong with a mesh.

use std::path::PathBuf;

/// A mesh that cannot be compiled.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("mesh `{name}`{}: {kind}", file.as_ref().map_or_else(String::new, |f| format!(" ({})", f.display())))]
pub struct MeshError {
    /// Name of the mesh.
    pub name: String,
    /// The file tried, if any.
    pub file: Option<PathBuf>,
    /// The problem.
    pub kind: MeshErrorKind,
}

/// The problem with a mesh.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MeshErrorKind {
    /// The file cannot be read.
    #[error("cannot read the file: {0}")]
    Io(String),
    /// Neither the extension nor the content type is one MuJoCo reads.
    #[error("unknown mesh format `{0}`; expected .stl, .obj or .msh")]
    UnknownFormat(String),
    /// The content does not follow its format.
    #[error("not a valid {format} file: {problem}")]
    Format {
        /// STL, OBJ or MSH.
        format: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// A feature of MuJoCo that is not supported here.
    #[error("{0} is not supported")]
    Unsupported(String),
    /// A builtin mesh with wrong parameters.
    #[error("builtin `{kind}`: {problem}")]
    Builtin {
        /// Name of the builtin.
        kind: String,
        /// What is wrong with its parameters.
        problem: &'static str,
    },
    /// Data both in the file and inline.
    #[error("repeated {0} specification: given in the file and inline")]
    Repeated(&'static str),
    /// Inline data of a wrong length.
    #[error("{what} data must be a multiple of {of}, found {found} numbers")]
    Multiple {
        /// vertex, normal, texcoord or face.
        what: &'static str,
        /// Numbers an element.
        of: usize,
        /// Numbers given.
        found: usize,
    },
    /// Not enough vertices.
    #[error("at least 4 vertices required, found {0}")]
    TooFewVertices(usize),
    /// A vertex with NaN or infinity.
    #[error("vertex {0} is not finite")]
    NotFinite(usize),
    /// A face that refers to a vertex that is not there.
    #[error("in face {face}, vertex index {index} does not exist")]
    FaceIndex {
        /// Index of the face.
        face: usize,
        /// The index it holds.
        index: i64,
    },
    /// An edge that two faces run through in the same direction; in mode exact only.
    #[error(
        "faces have inconsistent orientation: check those containing the vertices {0} and {1} \
         (counted from 1)"
    )]
    InconsistentFaces(usize, usize),
    /// No convex hull: all vertices in one point.
    #[error("colocated vertices, cannot compute convex hull; consider a small sphere instead")]
    Colocated,
    /// No convex hull: all vertices on a line.
    #[error("collinear vertices, cannot compute convex hull; consider a thin capsule instead")]
    Collinear,
    /// No convex hull: all vertices in a plane.
    #[error(
        "coplanar vertices, cannot compute convex hull; consider a primitive geom type (plane or \
         thin box) instead"
    )]
    Coplanar,
    /// No convex hull, for numerical reasons.
    #[error("the convex hull cannot be computed")]
    Hull,
    /// `maxhullvert` below 4.
    #[error("maxhullvert must be larger than 3, found {0}")]
    MaxHullVert(usize),
    /// No area.
    #[error("mesh surface area is too small")]
    SmallArea,
    /// No volume.
    #[error("mesh volume is too small; try setting inertia to shell")]
    SmallVolume,
    /// The faces point inwards.
    #[error("mesh volume is negative (misoriented triangles)")]
    NegativeVolume,
    /// The inertia is not positive.
    #[error("eigenvalue of mesh inertia must be positive")]
    Eigenvalue,
    /// No solid has such an inertia.
    #[error("eigenvalues of mesh inertia violate A + B >= C")]
    TriangleInequality,
}

impl MeshErrorKind {
    /// Shorthand for [`MeshErrorKind::Format`].
    pub fn format(format: &'static str, problem: impl Into<String>) -> Self {
        Self::Format { format, problem: problem.into() }
    }
}
