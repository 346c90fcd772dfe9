//! Simulation options: what MuJoCo reads from `<option>` and `<flag>`, and our named alternatives.

use nalgebra::Vector3;

/// How the state is advanced by one timestep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(i32)]
pub enum Integrator {
    /// Semi-implicit Euler, implicit in joint damping.
    #[default]
    Euler = 0,
    /// Fourth-order Runge–Kutta, with the Munthe-Kaas correction on orientations.
    RK4 = 1,
    /// Implicit in velocity: LU of M − h·qDeriv.
    Implicit = 2,
    /// Implicit in velocity without the Coriolis derivative: Cholesky of the symmetric M − h·qDeriv.
    ImplicitFast = 3,
    /// (M + hD + h²K) v⁺ = M v + h f − hK(q − q_ref). Ours, for smooth-dynamics research.
    ImplicitSpringDamper = 1000,
}

/// Friction cone of contacts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(i32)]
pub enum Cone {
    /// Pyramid inscribed in the elliptic cone.
    #[default]
    Pyramidal = 0,
    /// The elliptic cone itself.
    Elliptic = 1,
}

/// Storage of the constraint Jacobian.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(i32)]
pub enum JacobianType {
    /// Always dense.
    Dense = 0,
    /// Always sparse.
    Sparse = 1,
    /// Dense below 60 degrees of freedom, sparse from there on.
    #[default]
    Auto = 2,
}

/// Constraint solver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(i32)]
pub enum SolverType {
    /// Projected Gauss–Seidel on the dual.
    Pgs = 0,
    /// Conjugate gradients on the primal.
    Cg = 1,
    /// Newton on the primal.
    #[default]
    Newton = 2,
}

/// What dof and tendon `frictionloss` becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum FrictionModel {
    /// Rows of the constraint solver, as in MuJoCo.
    #[default]
    Constraint,
    /// −frictionloss · tanh(1000 v), added to the passive forces. Smooth; ours.
    Tanh,
}

/// What limits and equalities become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LimitModel {
    /// Rows of the constraint solver, as in MuJoCo.
    #[default]
    Constraint,
    /// Springs and dampers with the stiffness of `solref`, added to the passive forces. Ours.
    Penalty,
}

/// Bits of [`Options::disableflags`], with MuJoCo's values (`mjtDisableBit`).
pub mod disable {
    /// Entire constraint solver.
    pub const CONSTRAINT: u32 = 1 << 0;
    /// Equality constraints.
    pub const EQUALITY: u32 = 1 << 1;
    /// Joint and tendon friction loss.
    pub const FRICTIONLOSS: u32 = 1 << 2;
    /// Joint and tendon limits.
    pub const LIMIT: u32 = 1 << 3;
    /// Contacts.
    pub const CONTACT: u32 = 1 << 4;
    /// Passive springs.
    pub const SPRING: u32 = 1 << 5;
    /// Passive dampers.
    pub const DAMPER: u32 = 1 << 6;
    /// Gravity.
    pub const GRAVITY: u32 = 1 << 7;
    /// Clamping of controls to their range.
    pub const CLAMPCTRL: u32 = 1 << 8;
    /// Warm start of the constraint solver.
    pub const WARMSTART: u32 = 1 << 9;
    /// Removal of collisions between parent and child.
    pub const FILTERPARENT: u32 = 1 << 10;
    /// Actuation.
    pub const ACTUATION: u32 = 1 << 11;
    /// Lower bound of two timesteps on the time constant of solref.
    pub const REFSAFE: u32 = 1 << 12;
    /// Sensors.
    pub const SENSOR: u32 = 1 << 13;
    /// Mid-phase collision filter.
    pub const MIDPHASE: u32 = 1 << 14;
    /// Implicit joint damping in the Euler integrator.
    pub const EULERDAMP: u32 = 1 << 15;
    /// Automatic reset on bad numbers (we return an error instead, always).
    pub const AUTORESET: u32 = 1 << 16;
    /// MuJoCo's native convex collision detection.
    pub const NATIVECCD: u32 = 1 << 17;
    /// Constraint islands.
    pub const ISLAND: u32 = 1 << 18;
    /// Several contact points per convex pair.
    pub const MULTICCD: u32 = 1 << 19;
}

/// Bits of [`Options::enableflags`], with MuJoCo's values (`mjtEnableBit`).
pub mod enable {
    /// Global contact parameters override those of geoms.
    pub const OVERRIDE: u32 = 1 << 0;
    /// Energy computation (we always compute it).
    pub const ENERGY: u32 = 1 << 1;
    /// Comparison of forward and inverse dynamics.
    pub const FWDINV: u32 = 1 << 2;
    /// Discrete-time inverse dynamics.
    pub const INVDISCRETE: u32 = 1 << 3;
    /// Sleeping of inactive trees.
    pub const SLEEP: u32 = 1 << 4;
    /// Exact diagonal of the constraint inertia.
    pub const DIAGEXACT: u32 = 1 << 5;
    /// Incremental potential contact of flexes.
    pub const IPC: u32 = 1 << 6;
    /// Speculative contacts.
    pub const SPECULATIVE: u32 = 1 << 7;
}

/// Physics options, with MuJoCo's names and defaults (`mjOption`).
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Simulation timestep \[s\].
    pub timestep: f64,
    /// Ratio of frictional to normal constraint impedance.
    pub impratio: f64,
    /// Termination tolerance of the main solver.
    pub tolerance: f64,
    /// Line-search tolerance of CG and Newton.
    pub ls_tolerance: f64,
    /// Termination tolerance of the no-slip solver.
    pub noslip_tolerance: f64,
    /// Tolerance of the convex collision solver.
    pub ccd_tolerance: f64,
    /// Velocity below which a tree may sleep.
    pub sleep_tolerance: f64,
    /// Gravity, world frame [m/s²].
    pub gravity: Vector3<f64>,
    /// Velocity of the medium, world frame [m/s].
    pub wind: Vector3<f64>,
    /// Magnetic flux, world frame.
    pub magnetic: Vector3<f64>,
    /// Density of the medium [kg/m³].
    pub density: f64,
    /// Viscosity of the medium [Pa·s].
    pub viscosity: f64,
    /// Overriding contact margin.
    pub o_margin: f64,
    /// Overriding contact solref.
    pub o_solref: [f64; 2],
    /// Overriding contact solimp.
    pub o_solimp: [f64; 5],
    /// Overriding contact friction.
    pub o_friction: [f64; 5],
    /// Integrator.
    pub integrator: Integrator,
    /// Friction cone.
    pub cone: Cone,
    /// Constraint Jacobian.
    pub jacobian: JacobianType,
    /// Constraint solver.
    pub solver: SolverType,
    /// Main solver iterations.
    pub iterations: usize,
    /// Line-search iterations.
    pub ls_iterations: usize,
    /// No-slip iterations.
    pub noslip_iterations: usize,
    /// Iterations of the convex collision solver.
    pub ccd_iterations: usize,
    /// Gradient-descent iterations between signed distance fields.
    pub sdf_iterations: usize,
    /// Starting points of the same.
    pub sdf_initpoints: usize,
    /// Bits of [`disable`].
    pub disableflags: u32,
    /// Bits of [`enable`].
    pub enableflags: u32,
    /// Actuator groups that are switched off, one bit a group.
    pub disableactuator: u32,
    /// What friction loss becomes (ours; MuJoCo has [`FrictionModel::Constraint`] only).
    pub friction: FrictionModel,
    /// What limits and equalities become (ours; MuJoCo has [`LimitModel::Constraint`] only).
    pub limits: LimitModel,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            timestep: 0.002,
            impratio: 1.0,
            tolerance: 1e-8,
            ls_tolerance: 0.01,
            noslip_tolerance: 1e-6,
            ccd_tolerance: 1e-6,
            sleep_tolerance: 1e-3,
            gravity: Vector3::new(0.0, 0.0, -9.81),
            wind: Vector3::zeros(),
            magnetic: Vector3::new(0.0, -0.5, 0.0),
            density: 0.0,
            viscosity: 0.0,
            o_margin: 0.0,
            o_solref: [0.02, 1.0],
            o_solimp: [0.9, 0.95, 0.001, 0.5, 2.0],
            o_friction: [1.0, 1.0, 0.005, 0.0001, 0.0001],
            integrator: Integrator::Euler,
            cone: Cone::Pyramidal,
            jacobian: JacobianType::Auto,
            solver: SolverType::Newton,
            iterations: 100,
            ls_iterations: 50,
            noslip_iterations: 0,
            ccd_iterations: 35,
            sdf_iterations: 10,
            sdf_initpoints: 40,
            disableflags: 0,
            enableflags: 0,
            disableactuator: 0,
            friction: FrictionModel::Constraint,
            limits: LimitModel::Constraint,
        }
    }
}

impl Options {
    /// True if the bit of [`disable`] is set.
    #[inline]
    pub fn disabled(&self, bit: u32) -> bool {
        self.disableflags & bit != 0
    }

    /// True if the bit of [`enable`] is set.
    #[inline]
    pub fn enabled(&self, bit: u32) -> bool {
        self.enableflags & bit != 0
    }
}

impl Integrator {
    /// True if the integrator uses the velocity derivative of the smooth forces.
    pub fn needs_qDeriv(self) -> bool {
        matches!(self, Self::Implicit | Self::ImplicitFast)
    }
}
