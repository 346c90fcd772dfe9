//! Bodies, frames, and what hangs on them besides joints, geoms and sites.

use super::{GeomSpec, JointSpec, Orientation, SiteSpec};
use crate::mjcf::xml::Span;

/// A `body`, or the `worldbody` (`mjsBody`).
#[derive(Clone, Debug)]
pub struct BodySpec {
    /// Name, possibly empty; `world` for the world body.
    pub name: String,
    /// Place of the element.
    pub span: Span,
    /// Default class of the descendants, as inherited; empty: the main class.
    pub childclass: String,
    /// Position in the frame of the parent \[m\].
    pub pos: [f64; 3],
    /// Orientation in the frame of the parent.
    pub orientation: Orientation,
    /// The `inertial` element, if there is one.
    pub inertial: Option<InertialSpec>,
    /// Whether the body is placed by `mocap_pos` and `mocap_quat`.
    pub mocap: bool,
    /// Fraction of the body's weight that is compensated.
    pub gravcomp: f64,
    /// Sleep policy.
    pub sleep: SleepPolicy,
    /// Whether the body may be treated as simple (diagonal inertia block) if it qualifies.
    pub simple: bool,
    /// Whether the body may be fused with its parent if it is static.
    pub fuse: bool,
    /// User data.
    pub user: Vec<f64>,
    /// Everything inside, in file order.
    pub children: Vec<BodyChild>,
}

impl Default for BodySpec {
    fn default() -> Self {
        Self {
            name: String::new(),
            span: Span::default(),
            childclass: String::new(),
            pos: [0.0; 3],
            orientation: Orientation::default(),
            inertial: None,
            mocap: false,
            gravcomp: 0.0,
            sleep: SleepPolicy::Auto,
            simple: true,
            fuse: true,
            user: Vec::new(),
            children: Vec::new(),
        }
    }
}

/// An element inside a body or a frame.
#[derive(Clone, Debug)]
pub enum BodyChild {
    /// A joint (never inside the world body).
    Joint(JointSpec),
    /// A geom.
    Geom(GeomSpec),
    /// A site.
    Site(SiteSpec),
    /// A camera.
    Camera(CameraSpec),
    /// A light.
    Light(LightSpec),
    /// A child body.
    Body(BodySpec),
    /// A coordinate transformation of further children.
    Frame(FrameSpec),
}

/// A `frame` (`mjsFrame`): its transformation applies to its direct children, which belong to
/// the enclosing body.
#[derive(Clone, Debug, Default)]
pub struct FrameSpec {
    /// Name, possibly empty.
    pub name: String,
    /// Place of the element.
    pub span: Span,
    /// Default class of the descendants, as inherited; empty: the main class.
    pub childclass: String,
    /// Position in the enclosing body or frame \[m\].
    pub pos: [f64; 3],
    /// Orientation in the enclosing body or frame.
    pub orientation: Orientation,
    /// Everything inside, in file order.
    pub children: Vec<BodyChild>,
}

/// An `inertial`: mass and inertia given, not inferred.
#[derive(Clone, Debug, Default)]
pub struct InertialSpec {
    /// Place of the element.
    pub span: Span,
    /// Centre of mass in the frame of the body \[m\].
    pub pos: [f64; 3],
    /// Orientation of the inertial frame in the frame of the body.
    pub orientation: Orientation,
    /// Mass \[kg\].
    pub mass: f64,
    /// Principal moments in the inertial frame [kg·m²]; zeros if the file gives none.
    pub diaginertia: [f64; 3],
    /// Frames between the body and this element, outermost first: their transformations apply to
    /// `pos` and `orientation` as to any other child.
    pub frames: Vec<([f64; 3], Orientation)>,
    /// Full tensor xx, yy, zz, xy, xz, yz [kg·m²]; with it, `orientation` is not given.
    pub fullinertia: Option<[f64; 6]>,
}

/// Whether the tree of a body may sleep (`mjtSleepPolicy`, the part a user may set).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SleepPolicy {
    /// The compiler decides.
    #[default]
    Auto,
    /// Never.
    Never,
    /// Allowed.
    Allowed,
    /// Asleep at the start.
    Init,
}

/// How a camera or light moves (`mjtCamLight`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CamLightMode {
    /// Position and orientation fixed in the body.
    #[default]
    Fixed,
    /// Position follows the body, orientation fixed in the world.
    Track,
    /// Position follows the centre of mass of the subtree, orientation fixed in the world.
    TrackCom,
    /// Position fixed in the body, looks at the target body.
    TargetBody,
    /// Position fixed in the body, looks at the centre of mass of the target's subtree.
    TargetBodyCom,
}

/// A `camera` (`mjsCamera`): its frame, and the intrinsics that sensors use.
#[derive(Clone, Debug)]
pub struct CameraSpec {
    /// Name, possibly empty.
    pub name: String,
    /// Place of the element.
    pub span: Span,
    /// Position in the frame of the body \[m\].
    pub pos: [f64; 3],
    /// Orientation in the frame of the body.
    pub orientation: Orientation,
    /// Tracking mode.
    pub mode: CamLightMode,
    /// Target body, possibly empty.
    pub targetbody: String,
    /// Whether the projection is orthographic.
    pub orthographic: bool,
    /// Resolution \[pixel\].
    pub resolution: [i32; 2],
    /// Kinds of image that a rangefinder reads, `mjtCamOutBit`: rgb 1, depth 2, distance 4,
    /// normal 8, segmentation 16.
    pub output: i32,
    /// Vertical field of view \[degree\]; extent \[m\] if orthographic.
    pub fovy: f64,
    /// Inter-pupillary distance \[m\].
    pub ipd: f64,
    /// Sensor size \[m\]; zeros: unused.
    pub sensor_size: [f64; 2],
    /// Focal length \[m\].
    pub focal_length: [f64; 2],
    /// Focal length \[pixel\].
    pub focal_pixel: [f64; 2],
    /// Principal point \[m\].
    pub principal_length: [f64; 2],
    /// Principal point \[pixel\].
    pub principal_pixel: [f64; 2],
    /// User data.
    pub user: Vec<f64>,
}

impl Default for CameraSpec {
    fn default() -> Self {
        Self {
            name: String::new(),
            span: Span::default(),
            pos: [0.0; 3],
            orientation: Orientation::default(),
            mode: CamLightMode::Fixed,
            targetbody: String::new(),
            orthographic: false,
            resolution: [1, 1],
            output: 1,
            fovy: 45.0,
            ipd: 0.068,
            sensor_size: [0.0; 2],
            focal_length: [0.0; 2],
            focal_pixel: [0.0; 2],
            principal_length: [0.0; 2],
            principal_pixel: [0.0; 2],
            user: Vec::new(),
        }
    }
}

/// A `light`: only what names and places it. How it shines is read by nobody here.
#[derive(Clone, Debug)]
pub struct LightSpec {
    /// Name, possibly empty.
    pub name: String,
    /// Place of the element.
    pub span: Span,
    /// Position in the frame of the body \[m\].
    pub pos: [f64; 3],
    /// Direction in the frame of the body.
    pub dir: [f64; 3],
    /// Tracking mode.
    pub mode: CamLightMode,
    /// Target body, possibly empty.
    pub targetbody: String,
    /// Whether the light is on.
    pub active: bool,
}

impl Default for LightSpec {
    fn default() -> Self {
        Self {
            name: String::new(),
            span: Span::default(),
            pos: [0.0; 3],
            dir: [0.0, 0.0, -1.0],
            mode: CamLightMode::Fixed,
            targetbody: String::new(),
            active: true,
        }
    }
}
