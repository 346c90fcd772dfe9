//! The typed model "as written": every element of the file as a struct, defaults filled in.
//!
//! Field names and defaults are those of MuJoCo's `mjSpec` (`mjspec.h`, `mjs_default*`). What a
//! file wrote is kept as it was written: angles in the unit of [`CompilerSpec::degree`],
//! references as names, orientations in their own notation. Default classes, on the other hand,
//! are already resolved: each struct holds the value that applies to it. Turning this into a
//! `Model` (names to indices, frames composed, masses inferred) is the compiler's work.
//!
//! Every struct has a `name` (empty if the file gives none) and the `span` of its element, so
//! that a later stage can point at the place it complains about.

pub mod actuator;
pub mod asset;
pub mod body;
pub mod contact;
pub mod default;
pub mod geom;
pub mod joint;
pub mod option;
pub mod other;
pub mod sensor;
pub mod tendon;

pub use actuator::{ActuatorSpec, BiasType, DynType, GainType, TrnType};
pub use asset::{
    ElevationSpec, HFieldSpec, MaterialSpec, MeshBuiltin, MeshInertia, MeshSpec, TextureSpec,
};
pub use body::{
    BodyChild, BodySpec, CamLightMode, CameraSpec, FrameSpec, InertialSpec, LightSpec, SleepPolicy,
};
pub use contact::{EqualitySpec, EqualityType, ExcludeSpec, PairSpec};
pub use default::{DefaultSpec, DefaultTree};
pub use geom::{GeomInertia, GeomSpec, GeomType, SiteSpec};
pub use joint::{AlignFree, JointSpec, JointType};
pub use option::{
    CompilerSpec, Cone, InertiaFromGeom, Integrator, JacobianType, LengthRangeMode,
    LengthRangeSpec, OptionSpec, SizeSpec, Solver, StatisticSpec,
};
pub use other::{KeySpec, NumericSpec, TextSpec, TupleItem, TupleSpec};
pub use sensor::{DataType, ObjType, SensorSpec, SensorType, Stage};
pub use tendon::{TendonSpec, WrapSpec};

/// A whole model as its file describes it. Lists are in file order, which is the order of ids.
#[derive(Clone, Debug, Default)]
pub struct Spec {
    /// Name of the model, `<mujoco model="…">`.
    pub modelname: String,
    /// Compiler settings.
    pub compiler: CompilerSpec,
    /// Physics options.
    pub option: OptionSpec,
    /// Sizes, most of them hints for memory.
    pub size: SizeSpec,
    /// Overrides of the model statistics.
    pub statistic: StatisticSpec,
    /// Default classes, already applied to everything below; kept for inspection.
    pub defaults: DefaultTree,
    /// The world and all that is in it.
    pub worldbody: BodySpec,
    /// Mesh assets.
    pub meshes: Vec<MeshSpec>,
    /// Height field assets.
    pub hfields: Vec<HFieldSpec>,
    /// Texture assets; only their names matter here.
    pub textures: Vec<TextureSpec>,
    /// Material assets.
    pub materials: Vec<MaterialSpec>,
    /// Explicit contact pairs.
    pub pairs: Vec<PairSpec>,
    /// Body pairs excluded from collision.
    pub excludes: Vec<ExcludeSpec>,
    /// Equality constraints.
    pub equalities: Vec<EqualitySpec>,
    /// Tendons.
    pub tendons: Vec<TendonSpec>,
    /// Actuators.
    pub actuators: Vec<ActuatorSpec>,
    /// Sensors.
    pub sensors: Vec<SensorSpec>,
    /// Keyframes.
    pub keys: Vec<KeySpec>,
    /// Custom numeric fields.
    pub numerics: Vec<NumericSpec>,
    /// Custom text fields.
    pub texts: Vec<TextSpec>,
    /// Custom tuples.
    pub tuples: Vec<TupleSpec>,
}

/// A rotation in the notation of the file. Angles are in the unit of [`CompilerSpec::degree`];
/// nothing is normalized yet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Orientation {
    /// Quaternion (w, x, y, z).
    Quat([f64; 4]),
    /// Axis (x, y, z) and angle.
    AxisAngle([f64; 4]),
    /// Three angles about the axes of [`CompilerSpec::eulerseq`].
    Euler([f64; 3]),
    /// X axis, then an axis in the xy-plane on the side of Y.
    XyAxes([f64; 6]),
    /// Z axis, reached from (0, 0, 1) by the smallest rotation.
    ZAxis([f64; 3]),
}

impl Default for Orientation {
    fn default() -> Self {
        Self::Quat([1.0, 0.0, 0.0, 0.0])
    }
}

/// Whether a limit applies (`mjtLimited`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Limited {
    /// Never.
    False,
    /// Always; the range is then required.
    True,
    /// If a range is given and [`CompilerSpec::autolimits`] is on.
    #[default]
    Auto,
}

/// Default `solref`: time constant \[s\] and damping ratio.
pub const DEFAULT_SOLREF: [f64; 2] = [0.02, 1.0];
/// Default `solimp`: dmin, dmax, width, midpoint, power.
pub const DEFAULT_SOLIMP: [f64; 5] = [0.9, 0.95, 0.001, 0.5, 2.0];
/// Default colour of geoms, sites and tendons.
pub const DEFAULT_RGBA: [f64; 4] = [0.5, 0.5, 0.5, 1.0];
