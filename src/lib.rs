//! MuJoCo models, stepped as MuJoCo does, generic over the scalar.
//!
//! A pendulum, released at one radian:
//!
//! ```
//! use dualstep::{Data, mjcf::load_model_str, step};
//!
//! let m = load_model_str(
//!     r#"<mujoco>
//!          <option integrator="RK4" timestep="0.001"/>
//!          <worldbody>
//!            <body pos="0 0 1">
//!              <joint name="pivot" axis="0 1 0"/>
//!              <geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.02"/>
//!            </body>
//!          </worldbody>
//!        </mujoco>"#,
//!     "pendulum.xml",
//!     std::path::Path::new("."),
//! )?;
//! let mut d = Data::<f64>::new(&m);
//! d.qpos[0] = 1.0;
//!
//! // half a period later it stands on the other side, as far from the vertical
//! let mut angles = vec![d.qpos[0]];
//! while d.qvel[0] <= 0.0 {
//!     step(&m, &mut d)?;
//!     angles.push(d.qpos[0]);
//! }
//! let last = angles.iter().copied().fold(f64::INFINITY, f64::min);
//! assert!((last + 1.0).abs() < 1e-5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The same pipeline on dual numbers returns exact derivatives: put a tangent into the state, read it from
//! the next one.
//!
//! ```
//! # use dualstep::{Data, mjcf::load_model_str, step};
//! use dualstep::scalar::{Dual, Scalar};
//! # let m = load_model_str(
//! #     "<mujoco><worldbody><body><joint/><geom size='.1' pos='0 1 0'/></body></worldbody></mujoco>",
//! #     "pendulum.xml",
//! #     std::path::Path::new("."),
//! # )?;
//!
//! let mut d = Data::<Dual<1>>::new(&m);
//! d.qpos[0] = Dual::from_parts(|part| [0.3, 1.0][part]); // 0.3 + ε
//! step(&m, &mut d)?;
//! let (velocity, slope) = (d.qvel[0].part(0), d.qvel[0].part(1)); // d qvel⁺ / d qpos
//! # assert!(velocity == d.qvel[0].re() && slope.is_finite());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The pipeline
//!
//! [`step`] is [`forward()`] and an integrator; [`forward()`] is, in order,
//!
//! ```text
//! kinematics             qpos -> poses of bodies, joints, geoms, sites
//! com_pos                centres of mass; cdof, cinert about them
//! tendon, transmission   lengths and moment arms
//! crb, factor_m          qM and its sparse LᵀDL
//! sensors of position
//! com_vel, passive, rne  cvel; springs, dampers, gravity compensation; qfrc_bias
//! sensors of velocity
//! actuation              ctrl, act -> actuator_force, qfrc_actuator, act_dot
//! smooth_force           qfrc_smooth = passive − bias + actuator + applied
//! acceleration           qacc = M⁻¹ qfrc_smooth
//! sensors of acceleration
//! ```
//!
//! # Map
//!
//! Modules in order; each uses only those above it.
//!
//! | module | |
//! |---|---|
//! | [`scalar`] | the numbers: `f64`, first- and second-order duals |
//! | [`status`] | what can go wrong in a step, as values |
//! | [`math`] | quaternions, spatial vectors and inertias |
//! | [`model`] | [`Model`]: everything constant, always `f64` |
//! | [`linalg`] | LᵀDL along the tree, dense LU, solves on duals |
//! | [`data`] | [`Data`]: state, inputs, and every quantity computed from them |
//! | [`collision`](mod@collision) | which geoms touch, and where: filters, colliders, contact parameters |
//! | [`ray`](mod@ray) | the nearest surface along a line of sight |
//! | [`smooth`] | the stages, one algorithm per file |
//! | [`constraint`] | rows of equalities, friction loss, limits and contacts |
//! | [`solver`] | constraint forces and accelerations: Newton, CG, PGS |
//! | [`energy`](mod@energy), [`sensor`] | potential and kinetic energy; sensors |
//! | [`integrate`] | Euler, RK4, implicit, implicitfast, implicit in springs and dampers |
//! | [`forward`](mod@forward) | the pipeline: lists of calls |
//! | [`inverse`](mod@inverse) | forces that produce a given acceleration |
//! | [`set_const`](mod@set_const) | constants of the model that are results of the pipeline |
//! | [`softening`] | contacts that begin before touch or last longer, and which of a model begin abruptly |
//! | [`mjcf`] | MJCF files to models, with errors that say where |
//! | [`design`] | why it is as it is: one page a question |
//!
//! Arrays carry MuJoCo's names (`qpos`, `cdof`, `qfrc_bias`), spatial vectors are rotation first, units are SI.

pub mod scalar;

pub mod status;
pub mod math;
pub mod model;
pub mod linalg;
pub mod data;
pub mod collision;
pub mod ray;
pub mod smooth;
pub mod constraint;
pub mod solver;
pub mod energy;
pub mod sensor;
pub mod integrate;
pub mod forward;
pub mod inverse;
pub mod set_const;
pub mod softening;
pub mod mjcf;

pub mod design;

pub use data::Data;
pub use forward::{forward, step};
pub use model::Model;
pub use scalar::Scalar;
pub use softening::Softening;
pub use status::{FactorError, StepError};

/// Smallest denominator and norm that count as non-zero (`mjMINVAL`).
pub const MINVAL: f64 = 1e-15;

// the README's example is tested
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
