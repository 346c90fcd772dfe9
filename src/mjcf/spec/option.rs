//! Settings that are not objects: compiler, option, size, statistic.

use super::{DEFAULT_SOLIMP, DEFAULT_SOLREF};
use crate::mjcf::xml::Span;
use crate::set_const::LengthRangeOptions;

/// When body inertias are inferred from geoms (`mjtInertiaFromGeom`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InertiaFromGeom {
    /// Never; an inertial element is required.
    False,
    /// Always, overriding inertial elements.
    True,
    /// Where there is no inertial element.
    #[default]
    Auto,
}

/// The `compiler` element (`mjsCompiler`).
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent settings, as in MJCF")]
pub struct CompilerSpec {
    /// Place of the last `compiler` element.
    pub span: Span,
    /// Whether `limited="auto"` follows from the presence of a range.
    pub autolimits: bool,
    /// Least mass of a moving body \[kg\].
    pub boundmass: f64,
    /// Least diagonal inertia of a moving body [kg·m²].
    pub boundinertia: f64,
    /// Total mass to rescale to; ≤ 0: none \[kg\].
    pub settotalmass: f64,
    /// Whether inertias that break A + B ≥ C are replaced by their mean.
    pub balanceinertia: bool,
    /// Whether primitives are fitted to a mesh's bounding box, not its inertia box.
    pub fitaabb: bool,
    /// Whether angles are in degrees.
    pub degree: bool,
    /// Axes of euler angles: `xyz` rotate with the frame, `XYZ` stay fixed.
    pub eulerseq: [char; 3],
    /// Whether geoms that only serve display are dropped.
    pub discardvisual: bool,
    /// Whether bodies without joints are merged into their parents.
    pub fusestatic: bool,
    /// When inertias are inferred from geoms.
    pub inertiafromgeom: InertiaFromGeom,
    /// Geom groups that count for inertia, first and last.
    pub inertiagrouprange: [i32; 2],
    /// Whether free joints are aligned with the inertial frame.
    pub alignfree: bool,
    /// Whether directories are stripped from asset file names.
    pub strippath: bool,
    /// Directory of meshes and height fields, possibly empty.
    pub meshdir: String,
    /// Directory of textures, possibly empty.
    pub texturedir: String,
    /// Settings for the automatic length ranges of actuators.
    pub lengthrange: LengthRangeSpec,
}

impl Default for CompilerSpec {
    fn default() -> Self {
        Self {
            span: Span::default(),
            autolimits: true,
            boundmass: 0.0,
            boundinertia: 0.0,
            settotalmass: -1.0,
            balanceinertia: false,
            fitaabb: false,
            degree: true,
            eulerseq: ['x', 'y', 'z'],
            discardvisual: false,
            fusestatic: false,
            inertiafromgeom: InertiaFromGeom::Auto,
            inertiagrouprange: [0, 5],
            alignfree: false,
            strippath: false,
            meshdir: String::new(),
            texturedir: String::new(),
            lengthrange: LengthRangeSpec::default(),
        }
    }
}

/// Which actuators get an automatic length range (`mjtLRMode`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LengthRangeMode {
    /// None.
    None,
    /// Those with a muscle gain or bias.
    #[default]
    Muscle,
    /// Those with a muscle or user gain or bias.
    MuscleUser,
    /// All.
    All,
}

/// The `lengthrange` element of `compiler` (`mjLROpt`).
#[derive(Clone, Debug)]
pub struct LengthRangeSpec {
    /// Which actuators to process.
    pub mode: LengthRangeMode,
    /// Keep a length range that is given.
    pub useexisting: bool,
    /// Use joint and tendon limits where there are some.
    pub uselimit: bool,
    /// How to simulate.
    pub simulation: LengthRangeOptions,
}

impl Default for LengthRangeSpec {
    fn default() -> Self {
        Self {
            mode: LengthRangeMode::Muscle,
            useexisting: true,
            uselimit: false,
            simulation: LengthRangeOptions::default(),
        }
    }
}

/// Integrator (`mjtIntegrator`, the supported part).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Integrator {
    /// Semi-implicit Euler, implicit in joint damping.
    #[default]
    Euler,
    /// Runge–Kutta of order 4.
    Rk4,
    /// Implicit in velocity.
    Implicit,
    /// Implicit in velocity without the derivative of the bias, symmetrized.
    ImplicitFast,
}

/// Friction cone (`mjtCone`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cone {
    /// Pyramid.
    #[default]
    Pyramidal,
    /// Elliptic cone.
    Elliptic,
}

/// Storage of the constraint Jacobian (`mjtJacobian`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JacobianType {
    /// Dense.
    Dense,
    /// Sparse.
    Sparse,
    /// Dense below 60 dofs.
    #[default]
    Auto,
}

/// Constraint solver (`mjtSolver`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Solver {
    /// Projected Gauss–Seidel, dual.
    Pgs,
    /// Conjugate gradients, primal.
    Cg,
    /// Newton, primal.
    #[default]
    Newton,
}

/// The `option` element with its flags (`mjOption`).
#[derive(Clone, Debug)]
pub struct OptionSpec {
    /// Place of the last `option` element.
    pub span: Span,
    /// Timestep \[s\].
    pub timestep: f64,
    /// Ratio of frictional to normal contact impedance.
    pub impratio: f64,
    /// Tolerance of the solver.
    pub tolerance: f64,
    /// Tolerance of its line search.
    pub ls_tolerance: f64,
    /// Tolerance of the no-slip solver.
    pub noslip_tolerance: f64,
    /// Tolerance of the convex collision solver.
    pub ccd_tolerance: f64,
    /// Velocity below which a tree may sleep.
    pub sleep_tolerance: f64,
    /// Gravity [m/s²].
    pub gravity: [f64; 3],
    /// Velocity of the medium [m/s].
    pub wind: [f64; 3],
    /// Magnetic flux.
    pub magnetic: [f64; 3],
    /// Density of the medium [kg/m³].
    pub density: f64,
    /// Viscosity of the medium [Pa·s].
    pub viscosity: f64,
    /// Contact override: margin.
    pub o_margin: f64,
    /// Contact override: solver reference.
    pub o_solref: [f64; 2],
    /// Contact override: solver impedance.
    pub o_solimp: [f64; 5],
    /// Contact override: friction.
    pub o_friction: [f64; 5],
    /// Integrator.
    pub integrator: Integrator,
    /// Friction cone.
    pub cone: Cone,
    /// Jacobian storage.
    pub jacobian: JacobianType,
    /// Constraint solver.
    pub solver: Solver,
    /// Largest number of solver iterations.
    pub iterations: i32,
    /// Largest number of line-search iterations.
    pub ls_iterations: i32,
    /// Largest number of no-slip iterations.
    pub noslip_iterations: i32,
    /// Largest number of convex-collision iterations.
    pub ccd_iterations: i32,
    /// Disabled standard features: bits of [`crate::model::options::disable`].
    pub disableflags: u32,
    /// Enabled optional features: bits of [`crate::model::options::enable`].
    pub enableflags: u32,
    /// Disabled actuator groups, a bit for each of 0..=30.
    pub disableactuator: u32,
    /// Starting points of the SDF collider.
    pub sdf_initpoints: i32,
    /// Iterations of the SDF collider.
    pub sdf_iterations: i32,
}

impl Default for OptionSpec {
    fn default() -> Self {
        Self {
            span: Span::default(),
            timestep: 0.002,
            impratio: 1.0,
            tolerance: 1e-8,
            ls_tolerance: 0.01,
            noslip_tolerance: 1e-6,
            ccd_tolerance: 1e-6,
            sleep_tolerance: 1e-3,
            gravity: [0.0, 0.0, -9.81],
            wind: [0.0; 3],
            magnetic: [0.0, -0.5, 0.0],
            density: 0.0,
            viscosity: 0.0,
            o_margin: 0.0,
            o_solref: DEFAULT_SOLREF,
            o_solimp: DEFAULT_SOLIMP,
            o_friction: [1.0, 1.0, 0.005, 0.0001, 0.0001],
            integrator: Integrator::Euler,
            cone: Cone::Pyramidal,
            jacobian: JacobianType::Auto,
            solver: Solver::Newton,
            iterations: 100,
            ls_iterations: 50,
            noslip_iterations: 0,
            ccd_iterations: 35,
            disableflags: 0,
            enableflags: 0,
            disableactuator: 0,
            sdf_initpoints: 40,
            sdf_iterations: 10,
        }
    }
}

/// The `size` element. −1 means: to be found by the compiler. Memory sizes are accepted and
/// not kept.
#[derive(Clone, Debug)]
pub struct SizeSpec {
    /// Number of entries of `userdata`.
    pub nuserdata: i32,
    /// Number of keyframes to allocate at least.
    pub nkey: i32,
    /// User numbers per body.
    pub nuser_body: i32,
    /// User numbers per joint.
    pub nuser_jnt: i32,
    /// User numbers per geom.
    pub nuser_geom: i32,
    /// User numbers per site.
    pub nuser_site: i32,
    /// User numbers per camera.
    pub nuser_cam: i32,
    /// User numbers per tendon.
    pub nuser_tendon: i32,
    /// User numbers per actuator.
    pub nuser_actuator: i32,
    /// User numbers per sensor.
    pub nuser_sensor: i32,
}

impl Default for SizeSpec {
    fn default() -> Self {
        Self {
            nuserdata: 0,
            nkey: 0,
            nuser_body: -1,
            nuser_jnt: -1,
            nuser_geom: -1,
            nuser_site: -1,
            nuser_cam: -1,
            nuser_tendon: -1,
            nuser_actuator: -1,
            nuser_sensor: -1,
        }
    }
}

/// The `statistic` element: statistics that replace the computed ones.
#[derive(Clone, Debug, Default)]
pub struct StatisticSpec {
    /// Mean diagonal inertia.
    pub meaninertia: Option<f64>,
    /// Mean body mass \[kg\].
    pub meanmass: Option<f64>,
    /// Mean body size \[m\].
    pub meansize: Option<f64>,
    /// Extent of the model \[m\].
    pub extent: Option<f64>,
    /// Centre of the model \[m\].
    pub center: Option<[f64; 3]>,
}
