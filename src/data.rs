//! State and everything computed from it, allocated once.

use nalgebra::{Matrix3, Vector3};

use crate::collision::{Collision, Contact};
use crate::constraint::{Efc, max_rows, row_capacity};
use crate::integrate::{KeptFactor, Rk4Scratch};
use crate::linalg::implicit_solve::ImplicitSolve;
use crate::math::{Quat, SpatialInertia, SpatialVec};
use crate::model::{Integrator, LimitModel, Model};
use crate::scalar::Scalar;
use crate::smooth::qderiv::QDeriv;
use crate::solver::{SolverStats, SolverWorkspace};
use crate::status::FactorError;

/// State, inputs and all derived quantities of one simulation. Fields stand in pipeline order, grouped by
/// the stage that writes them. World frame and SI units unless said otherwise.
#[derive(Clone, Debug)]
pub struct Data<T: Scalar> {
    // ---- state
    /// Simulation time \[s\].
    pub time: T,
    /// Generalized positions (nq).
    pub qpos: Vec<T>,
    /// Generalized velocities (nv).
    pub qvel: Vec<T>,
    /// Actuator activations (na).
    pub act: Vec<T>,
    /// Acceleration that starts the constraint solver (nv).
    pub qacc_warmstart: Vec<T>,

    // ---- inputs
    /// Controls (nu).
    pub ctrl: Vec<T>,
    /// Applied generalized forces (nv).
    pub qfrc_applied: Vec<T>,
    /// Applied force and torque at the bodies' centres of mass, force first as in MuJoCo (nbody).
    pub xfrc_applied: Vec<[T; 6]>,
    /// Positions of mocap bodies (nmocap).
    pub mocap_pos: Vec<Vector3<T>>,
    /// Orientations of mocap bodies (nmocap).
    pub mocap_quat: Vec<Quat<T>>,
    /// Which equality constraints are active (neq).
    pub eq_active: Vec<bool>,

    // ---- position dependent: written by smooth::kinematics
    /// Body frame: position (nbody).
    pub xpos: Vec<Vector3<T>>,
    /// Body frame: orientation (nbody).
    pub xquat: Vec<Quat<T>>,
    /// Body frame: orientation (nbody).
    pub xmat: Vec<Matrix3<T>>,
    /// Centre of mass (nbody).
    pub xipos: Vec<Vector3<T>>,
    /// Principal axes of inertia (nbody).
    pub ximat: Vec<Matrix3<T>>,
    /// Joint anchor (njnt).
    pub xanchor: Vec<Vector3<T>>,
    /// Joint axis (njnt).
    pub xaxis: Vec<Vector3<T>>,
    /// Geom position (ngeom).
    pub geom_xpos: Vec<Vector3<T>>,
    /// Geom orientation (ngeom).
    pub geom_xmat: Vec<Matrix3<T>>,
    /// Site position (nsite).
    pub site_xpos: Vec<Vector3<T>>,
    /// Site orientation (nsite).
    pub site_xmat: Vec<Matrix3<T>>,

    // ---- position dependent: written by smooth::com_pos
    /// Centre of mass of each subtree (nbody).
    pub subtree_com: Vec<Vector3<T>>,
    /// Motion axis of each degree of freedom, about the tree's centre of mass (nv).
    pub cdof: Vec<SpatialVec<T>>,
    /// Body inertia about the tree's centre of mass (nbody).
    pub cinert: Vec<SpatialInertia<T>>,
    /// Camera position (ncam).
    pub cam_xpos: Vec<Vector3<T>>,
    /// Camera orientation (ncam).
    pub cam_xmat: Vec<Matrix3<T>>,

    // ---- position dependent: written by smooth::tendon, smooth::transmission
    /// Tendon length (ntendon).
    pub ten_length: Vec<T>,
    /// Tendon Jacobian, rows of the model's pattern `ten_J_*`.
    pub ten_J: Vec<T>,
    /// Actuator length (nactuator).
    pub actuator_length: Vec<T>,
    /// Moment arms, rows of the model's pattern `moment_*`.
    pub actuator_moment: Vec<T>,

    // ---- position dependent: written by smooth::crb, smooth::factor_m
    /// Inertia of each subtree about the tree's centre of mass (nbody).
    pub crb: Vec<SpatialInertia<T>>,
    /// Joint-space inertia, rows of the model's pattern `M_*` (nM).
    pub qM: Vec<T>,
    /// Its factor LᵀDL in the same pattern: L off the diagonal, D on it (nM).
    pub qLD: Vec<T>,
    /// Reciprocals of D (nv).
    pub qLDiagInv: Vec<T>,
    /// A pivot that was not positive and was raised, in the last factorization of the inertia or of an
    /// integrator's matrix: the model is ill-conditioned there (MuJoCo's `mjWARN_INERTIA`).
    pub singular: Option<FactorError>,

    // ---- position dependent: written by collision, constraint::make_constraint
    /// Contacts.
    pub contact: Vec<Contact<T>>,
    /// Limits and equalities that are penalties, if the options say so: written by constraint::make_penalty.
    pub penalty: Efc<T>,
    /// Rows of all constraints. Velocities and reference accelerations come with the velocity stage, forces and
    /// states with the solver.
    pub efc: Efc<T>,

    // ---- velocity dependent: written by forward::fwd_velocity
    /// Tendon velocity (ntendon).
    pub ten_velocity: Vec<T>,
    /// Actuator velocity (nactuator).
    pub actuator_velocity: Vec<T>,
    /// Body velocity about the tree's centre of mass, rot:lin (nbody).
    pub cvel: Vec<SpatialVec<T>>,
    /// Rate of change of `cdof`, rot:lin (nv).
    pub cdof_dot: Vec<SpatialVec<T>>,
    /// Bias force: Coriolis, centrifugal, gravitational (nv).
    pub qfrc_bias: Vec<T>,
    /// Passive: springs (nv).
    pub qfrc_spring: Vec<T>,
    /// Passive: dampers (nv).
    pub qfrc_damper: Vec<T>,
    /// Passive: gravity compensation (nv).
    pub qfrc_gravcomp: Vec<T>,
    /// Passive, total (nv). Gravity compensation of joints with `actuatorgravcomp` is not in it.
    pub qfrc_passive: Vec<T>,
    /// Velocity of each subtree's centre of mass, where a sensor asks (nbody).
    pub subtree_linvel: Vec<Vector3<T>>,
    /// Angular momentum of each subtree about its centre of mass, where a sensor asks (nbody).
    pub subtree_angmom: Vec<Vector3<T>>,

    // ---- force and acceleration: written by forward::fwd_actuation, fwd_acceleration
    /// Rate of change of the activations (na).
    pub act_dot: Vec<T>,
    /// Actuator force (nactuator).
    pub actuator_force: Vec<T>,
    /// Actuator force in joint space (nv).
    pub qfrc_actuator: Vec<T>,
    /// All forces but those of constraints (nv).
    pub qfrc_smooth: Vec<T>,
    /// Acceleration without constraints (nv).
    pub qacc_smooth: Vec<T>,
    /// Constraint force in joint space (nv).
    pub qfrc_constraint: Vec<T>,
    /// Acceleration (nv).
    pub qacc: Vec<T>,
    /// How the last solve of the constraints went.
    pub solver: SolverStats,

    // ---- written by constraint::rne_post_constraint, where a sensor asks
    /// Body acceleration about the tree's centre of mass, gravity included, rot:lin (nbody).
    pub cacc: Vec<SpatialVec<T>>,
    /// Force on a body from its parent, about the tree's centre of mass, rot:lin (nbody).
    pub cfrc_int: Vec<SpatialVec<T>>,
    /// External force on a body, about the tree's centre of mass, rot:lin (nbody).
    pub cfrc_ext: Vec<SpatialVec<T>>,

    // ---- written by sensor, energy, inverse
    /// Sensor values (nsensordata).
    pub sensordata: Vec<T>,
    /// Potential and kinetic energy \[J\].
    pub energy: [T; 2],
    /// Inverse dynamics: applied force that gives `qacc` (nv).
    pub qfrc_inverse: Vec<T>,

    // ---- scratch of the stages; holds nothing between them
    pub(crate) scratch: Scratch<T>,
}

/// Working arrays of the stages.
#[derive(Clone, Debug)]
pub(crate) struct Scratch<T: Scalar> {
    /// Acceleration of each body, for rne (nbody).
    pub(crate) cacc: Vec<SpatialVec<T>>,
    /// Force on each body, for rne (nbody).
    pub(crate) cfrc: Vec<SpatialVec<T>>,
    /// Vectors over degrees of freedom (nv).
    pub(crate) v: [Vec<T>; 2],
    /// Matrix of the integrator, and its factor.
    pub(crate) factor: KeptFactor<T>,
    /// Velocity derivative of the smooth forces, and the solver of `implicit`; empty unless the integrator
    /// needs them.
    pub(crate) qderiv: QDeriv<T>,
    pub(crate) solve: ImplicitSolve,
    /// Stages of RK4; empty unless it is the integrator.
    pub(crate) rk4: Rk4Scratch<T>,
    /// Collision detection, and the constraint solver; absent only while they work.
    pub(crate) collision: Option<Box<Collision<T>>>,
    pub(crate) solver: Option<Box<SolverWorkspace<T>>>,
    /// State before the step (nq, nv, na), to restore it after an error and for RK4.
    pub(crate) qpos: Vec<T>,
    pub(crate) qvel: Vec<T>,
    pub(crate) act: Vec<T>,
}

impl<T: Scalar> Data<T> {
    /// Everything at the reference configuration: `qpos0`, zero velocity, activation, control and force.
    /// Derived quantities are zero until a stage writes them (NaN in debug builds).
    pub fn new(m: &Model) -> Self {
        let unset = if cfg!(debug_assertions) { T::lift(f64::NAN) } else { T::zero() };
        let s = |n: usize| vec![unset; n];
        let z = |n: usize| vec![T::zero(); n];
        let v3 = |n: usize| vec![Vector3::repeat(unset); n];
        let m33 = |n: usize| vec![Matrix3::repeat(unset); n];
        let sv =
            |n: usize| vec![SpatialVec::new(Vector3::repeat(unset), Vector3::repeat(unset)); n];
        let inertia = SpatialInertia::zero();
        let nJten = m.ten_J_colind.len();
        let nJmom = m.moment_colind.len();
        let needs_qDeriv = m.opt.integrator.needs_qDeriv();
        let rk4 = m.opt.integrator == Integrator::RK4;
        let (ncon, rows) = row_capacity(m);
        let penalty = m.opt.limits == LimitModel::Penalty;
        let solver = Box::new(SolverWorkspace::new(m, rows));
        let mut d = Self {
            time: T::zero(),
            qpos: z(m.nq),
            qvel: z(m.nv),
            act: z(m.na),
            qacc_warmstart: z(m.nv),
            ctrl: z(m.nu),
            qfrc_applied: z(m.nv),
            xfrc_applied: vec![[T::zero(); 6]; m.nbody],
            mocap_pos: vec![Vector3::zeros(); m.nmocap],
            mocap_quat: vec![Quat::identity(); m.nmocap],
            eq_active: m.eq_active0.clone(),
            xpos: v3(m.nbody),
            xquat: vec![Quat::identity(); m.nbody],
            xmat: m33(m.nbody),
            xipos: v3(m.nbody),
            ximat: m33(m.nbody),
            xanchor: v3(m.njnt),
            xaxis: v3(m.njnt),
            geom_xpos: v3(m.ngeom),
            geom_xmat: m33(m.ngeom),
            site_xpos: v3(m.nsite),
            site_xmat: m33(m.nsite),
            subtree_com: v3(m.nbody),
            cdof: sv(m.nv),
            cinert: vec![inertia; m.nbody],
            cam_xpos: v3(m.ncam),
            cam_xmat: m33(m.ncam),
            ten_length: s(m.ntendon),
            ten_J: s(nJten),
            actuator_length: s(m.nactuator),
            actuator_moment: s(nJmom),
            crb: vec![inertia; m.nbody],
            qM: s(m.nM),
            qLD: s(m.nM),
            qLDiagInv: s(m.nv),
            singular: None,
            contact: Vec::with_capacity(ncon),
            penalty: Efc::new(m.nv, if penalty { max_rows(m, 0) } else { 0 }),
            efc: Efc::new(m.nv, rows),
            ten_velocity: s(m.ntendon),
            actuator_velocity: s(m.nactuator),
            cvel: sv(m.nbody),
            cdof_dot: sv(m.nv),
            qfrc_bias: s(m.nv),
            qfrc_spring: s(m.nv),
            qfrc_damper: s(m.nv),
            qfrc_gravcomp: s(m.nv),
            qfrc_passive: s(m.nv),
            subtree_linvel: v3(m.nbody),
            subtree_angmom: v3(m.nbody),
            act_dot: s(m.na),
            actuator_force: s(m.nactuator),
            qfrc_actuator: s(m.nv),
            qfrc_smooth: s(m.nv),
            qacc_smooth: s(m.nv),
            qfrc_constraint: z(m.nv),
            qacc: s(m.nv),
            solver: SolverStats::new(m.opt.iterations + m.opt.noslip_iterations),
            cacc: sv(m.nbody),
            cfrc_int: sv(m.nbody),
            cfrc_ext: sv(m.nbody),
            sensordata: z(m.nsensordata),
            energy: [unset; 2],
            qfrc_inverse: s(m.nv),
            scratch: Scratch {
                cacc: sv(m.nbody),
                cfrc: sv(m.nbody),
                v: [s(m.nv), s(m.nv)],
                factor: KeptFactor::new(m),
                qderiv: if needs_qDeriv { QDeriv::new(m) } else { QDeriv::default() },
                solve: ImplicitSolve::new(if needs_qDeriv { m.nv } else { 0 }),
                rk4: if rk4 { Rk4Scratch::new(m.nv, m.na) } else { Rk4Scratch::default() },
                collision: Some(Box::new(Collision::new(m))),
                solver: Some(solver),
                qpos: s(m.nq),
                qvel: s(m.nv),
                act: s(m.na),
            },
        };
        d.reset(m);
        d
    }

    /// Back to the reference configuration, as `mj_resetData`.
    pub fn reset(&mut self, m: &Model) {
        self.time = T::zero();
        lift_into(&m.qpos0, &mut self.qpos);
        self.qvel.fill(T::zero());
        self.act.fill(T::zero());
        self.qacc_warmstart.fill(T::zero());
        self.ctrl.fill(T::zero());
        self.qfrc_applied.fill(T::zero());
        self.xfrc_applied.fill([T::zero(); 6]);
        self.sensordata.fill(T::zero());
        self.qfrc_constraint.fill(T::zero());
        self.eq_active.copy_from_slice(&m.eq_active0);
        // a mocap body starts at its place in the model
        for b in 0..m.nbody {
            if let Some(id) = m.body_mocapid[b] {
                self.mocap_pos[id] = crate::scalar::lift3(&m.body_pos[b]);
                self.mocap_quat[id] = Quat::lift(&m.body_quat[b]);
            }
        }
    }

    /// State of keyframe `key`, as `mj_resetDataKeyframe`. False, and nothing changed, if there is no such
    /// keyframe.
    pub fn reset_keyframe(&mut self, m: &Model, key: usize) -> bool {
        let Some(k) = m.keys.get(key) else { return false };
        self.reset(m);
        self.time = T::lift(k.time);
        lift_into(&k.qpos, &mut self.qpos);
        lift_into(&k.qvel, &mut self.qvel);
        lift_into(&k.act, &mut self.act);
        lift_into(&k.ctrl, &mut self.ctrl);
        for (to, from) in self.mocap_pos.iter_mut().zip(&k.mpos) {
            *to = crate::scalar::lift3(from);
        }
        for (to, from) in self.mocap_quat.iter_mut().zip(&k.mquat) {
            *to = Quat::lift(from);
        }
        true
    }

    /// Pairs of geoms that were close enough to touch at the last collision detection, and whose types have no
    /// collider.
    pub fn without_collider(&self) -> &[[usize; 2]] {
        self.scratch.collision.as_ref().map_or(&[], |collision| &collision.unsupported)
    }

    /// Whether from now on iterations go on to where they lead: the constraint solver to its minimum, whatever solver and
    /// tolerance the options ask for, and without the no-slip pass; the search for contacts of curved shapes to their
    /// nearest points. That is what a linearization differentiates. Off at first.
    pub fn polish(&mut self, m: &Model, on: bool) {
        if let Some(solver) = &mut self.scratch.solver {
            solver.polish(m, on);
        }
        if let Some(collision) = &mut self.scratch.collision {
            collision.exact(on);
        }
    }

    /// Copies state and inputs of a simulation on real numbers, with zero tangent.
    ///
    /// # Panics
    /// If `from` belongs to a model of other sizes.
    pub fn set_state_from(&mut self, from: &Data<f64>) {
        self.time = T::lift(from.time);
        lift_into(&from.qpos, &mut self.qpos);
        lift_into(&from.qvel, &mut self.qvel);
        lift_into(&from.act, &mut self.act);
        lift_into(&from.qacc_warmstart, &mut self.qacc_warmstart);
        lift_into(&from.ctrl, &mut self.ctrl);
        lift_into(&from.qfrc_applied, &mut self.qfrc_applied);
        for (to, from) in self.xfrc_applied.iter_mut().zip(&from.xfrc_applied) {
            *to = from.map(T::lift);
        }
        for (to, from) in self.mocap_pos.iter_mut().zip(&from.mocap_pos) {
            *to = crate::scalar::lift3(from);
        }
        for (to, from) in self.mocap_quat.iter_mut().zip(&from.mocap_quat) {
            *to = Quat::lift(from);
        }
        self.eq_active.copy_from_slice(&from.eq_active);
    }
}

/// Copies constants, with zero tangent.
fn lift_into<T: Scalar>(from: &[f64], to: &mut [T]) {
    assert_eq!(from.len(), to.len(), "state of another model");
    for (t, f) in to.iter_mut().zip(from) {
        *t = T::lift(*f);
    }
}
