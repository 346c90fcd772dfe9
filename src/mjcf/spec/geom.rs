//! Geoms and sites.

use super::{DEFAULT_RGBA, DEFAULT_SOLIMP, DEFAULT_SOLREF, Orientation};
use crate::mjcf::xml::Span;

/// Shape of a geom or site (`mjtGeom`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GeomType {
    /// Infinite plane; size: half-lengths for rendering.
    Plane,
    /// Height field.
    HField,
    /// Sphere; size: radius.
    #[default]
    Sphere,
    /// Capsule along z; size: radius, half-length of the cylinder.
    Capsule,
    /// Ellipsoid; size: half-axes.
    Ellipsoid,
    /// Cylinder along z; size: radius, half-length.
    Cylinder,
    /// Box; size: half-lengths.
    Box,
    /// Mesh.
    Mesh,
    /// Signed distance field.
    Sdf,
}

/// Where the mass of a geom sits (`mjtGeomInertia`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GeomInertia {
    /// In the volume; density in kg/m³.
    #[default]
    Volume,
    /// On the surface; density in kg/m².
    Shell,
}

/// A `geom` (`mjsGeom`).
#[derive(Clone, Debug)]
pub struct GeomSpec {
    /// Name, possibly empty.
    pub name: String,
    /// Place of the element.
    pub span: Span,
    /// Shape.
    pub kind: GeomType,
    /// Position in the frame of the body \[m\].
    pub pos: [f64; 3],
    /// Orientation in the frame of the body.
    pub orientation: Orientation,
    /// End points of a capsule, cylinder, box or ellipsoid; replaces `pos`, `orientation` and one
    /// entry of `size`. \[m\]
    pub fromto: Option<[f64; 6]>,
    /// Size by shape, see [`GeomType`]; entries not given are those of the default class. \[m\]
    pub size: [f64; 3],
    /// Contact type bits.
    pub contype: i32,
    /// Contact affinity bits.
    pub conaffinity: i32,
    /// Contact dimensionality: 1, 3, 4 or 6; checked by the compiler.
    pub condim: i32,
    /// Contact priority.
    pub priority: i32,
    /// Friction: sliding, torsional \[m\], rolling \[m\].
    pub friction: [f64; 3],
    /// Weight when solver parameters of two geoms are mixed.
    pub solmix: f64,
    /// Solver reference.
    pub solref: [f64; 2],
    /// Solver impedance.
    pub solimp: [f64; 5],
    /// Distance at which contacts are detected \[m\].
    pub margin: f64,
    /// Additional detection buffer \[m\].
    pub gap: f64,
    /// Surface velocity in the local frame: linear [m/s], angular [rad/s].
    pub surfacevel: [f64; 6],
    /// Adhesive force of contacts \[N\].
    pub adhesion: f64,
    /// Mass \[kg\]; if given it replaces `density`.
    pub mass: Option<f64>,
    /// Density [kg/m³, or kg/m² for a shell].
    pub density: f64,
    /// Volume or surface mass.
    pub typeinertia: GeomInertia,
    /// Whether the ellipsoid fluid model is used.
    pub fluid_ellipsoid: bool,
    /// Fluid coefficients: blunt drag, slender drag, angular drag, Kutta lift, Magnus lift.
    pub fluid_coefs: [f64; 5],
    /// Material name, possibly empty.
    pub material: String,
    /// Colour if there is no material.
    pub rgba: [f64; 4],
    /// Whether it casts a shadow.
    pub castshadow: bool,
    /// Group, for visualization and `inertiagrouprange`.
    pub group: i32,
    /// Height field name, possibly empty.
    pub hfieldname: String,
    /// Mesh name, possibly empty. With a primitive `kind` that primitive is fitted to the mesh.
    pub meshname: String,
    /// Factor on the size of a fitted primitive.
    pub fitscale: f64,
    /// User data.
    pub user: Vec<f64>,
}

impl Default for GeomSpec {
    fn default() -> Self {
        Self {
            name: String::new(),
            span: Span::default(),
            kind: GeomType::Sphere,
            pos: [0.0; 3],
            orientation: Orientation::default(),
            fromto: None,
            size: [0.0; 3],
            contype: 1,
            conaffinity: 1,
            condim: 3,
            priority: 0,
            friction: [1.0, 0.005, 0.0001],
            solmix: 1.0,
            solref: DEFAULT_SOLREF,
            solimp: DEFAULT_SOLIMP,
            margin: 0.0,
            gap: 0.0,
            surfacevel: [0.0; 6],
            adhesion: 0.0,
            mass: None,
            density: 1000.0,
            typeinertia: GeomInertia::Volume,
            fluid_ellipsoid: false,
            fluid_coefs: [0.5, 0.25, 1.5, 1.0, 1.0],
            material: String::new(),
            rgba: DEFAULT_RGBA,
            castshadow: true,
            group: 0,
            hfieldname: String::new(),
            meshname: String::new(),
            fitscale: 1.0,
            user: Vec::new(),
        }
    }
}

/// A `site` (`mjsSite`): a frame of interest with a shape for sensing and display, without mass.
#[derive(Clone, Debug)]
pub struct SiteSpec {
    /// Name, possibly empty.
    pub name: String,
    /// Place of the element.
    pub span: Span,
    /// Shape.
    pub kind: GeomType,
    /// Position in the frame of the body \[m\].
    pub pos: [f64; 3],
    /// Orientation in the frame of the body.
    pub orientation: Orientation,
    /// End points, as [`GeomSpec::fromto`]. \[m\]
    pub fromto: Option<[f64; 6]>,
    /// Size by shape \[m\].
    pub size: [f64; 3],
    /// Mesh name, possibly empty.
    pub meshname: String,
    /// Material name, possibly empty.
    pub material: String,
    /// Group for visualization.
    pub group: i32,
    /// Colour if there is no material.
    pub rgba: [f64; 4],
    /// User data.
    pub user: Vec<f64>,
}

impl Default for SiteSpec {
    fn default() -> Self {
        Self {
            name: String::new(),
            span: Span::default(),
            kind: GeomType::Sphere,
            pos: [0.0; 3],
            orientation: Orientation::default(),
            fromto: None,
            size: [0.005; 3],
            meshname: String::new(),
            material: String::new(),
            group: 0,
            rgba: DEFAULT_RGBA,
            user: Vec::new(),
        }
    }
}
