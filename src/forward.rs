//! The pipeline: lists of calls.

use crate::collision::{Contact, collision};
use crate::constraint::{Efc, make_constraint, make_penalty, penalty_force, reference_constraint};
use crate::data::Data;
use crate::energy::{energy_pos, energy_vel};
use crate::integrate::{
    euler, implicit, implicit_spring_damper, implicitfast, rk4, solves_for_acceleration,
};
use crate::model::options::{disable, enable};
use crate::model::{Integrator, Model, SensorType};
use crate::scalar::Scalar;
use crate::sensor::{sensor_acc, sensor_pos, sensor_vel};
use crate::smooth;
use crate::solver::{SolverStatus, SolverWorkspace, solve};
use crate::status::{StepError, StepStage, check_finite};

/// Everything that depends on position: kinematics, inertia, tendons, contacts, rows of constraints, transmissions.
///
/// Source: MuJoCo `mj_fwdPosition`.
pub fn fwd_position<T: Scalar>(m: &Model, d: &mut Data<T>) {
    position(m, d);
    smooth::factor_m(m, d);
}

/// As [`fwd_position`], without the factor of the inertia.
fn position<T: Scalar>(m: &Model, d: &mut Data<T>) {
    smooth::kinematics(m, d);
    smooth::com_pos(m, d);
    smooth::camera(m, d);
    smooth::tendon(m, d);
    smooth::crb(m, d);
    if m.opt.enabled(enable::DIAGEXACT) {
        smooth::factor_m(m, d);
    }
    contacts_and_rows(m, d);
    smooth::transmission(m, d);
}

/// Contacts, and the rows of all constraints.
fn contacts_and_rows<T: Scalar>(m: &Model, d: &mut Data<T>) {
    let mut contact = std::mem::take(&mut d.contact);
    let mut efc = std::mem::take(&mut d.efc);
    if let Some(mut found) = d.scratch.collision.take() {
        std::mem::swap(&mut found.contact, &mut contact);
        collision(m, d, &mut found);
        std::mem::swap(&mut found.contact, &mut contact);
        d.scratch.collision = Some(found);
    }
    make_constraint(m, d, &mut contact, &mut efc);
    d.contact = contact;
    d.efc = efc;
    let mut penalty = std::mem::take(&mut d.penalty);
    make_penalty(m, d, &mut penalty);
    d.penalty = penalty;
}

/// Everything that depends on velocity: velocities, passive and bias forces, reference accelerations of constraints.
///
/// Source: MuJoCo `mj_fwdVelocity`.
pub fn fwd_velocity<T: Scalar>(m: &Model, d: &mut Data<T>) {
    smooth::actuator_tendon_velocity(m, d);
    smooth::com_vel(m, d);
    smooth::passive(m, d);
    penalty_force(m, d);
    reference(m, d);
    smooth::rne(m, d);
}

/// Velocities and reference accelerations of the rows.
fn reference<T: Scalar>(m: &Model, d: &mut Data<T>) {
    let mut efc = std::mem::take(&mut d.efc);
    reference_constraint(m, d, &d.contact, &mut efc);
    d.efc = efc;
}

/// Accelerations from actuation, passive, bias, applied and constraint forces.
///
/// # Errors
/// A row of a constraint, or the force along it, is not finite.
///
/// Source: MuJoCo `mj_fwdActuation`, `mj_fwdAcceleration`, `mj_fwdConstraint`.
pub fn fwd_acceleration<T: Scalar>(m: &Model, d: &mut Data<T>) -> Result<(), StepError> {
    force(m, d);
    smooth::acceleration(m, d);
    fwd_constraint(m, d)
}

/// Forces of the constraints, and the acceleration with them. How that went: `solver`.
///
/// # Errors
/// A row of a constraint, or the force along it, is not finite.
///
/// Source: MuJoCo `mj_fwdConstraint`.
pub fn fwd_constraint<T: Scalar>(m: &Model, d: &mut Data<T>) -> Result<(), StepError> {
    let status = with_solver(d, |d, contact, efc, ws| solve(m, d, efc, contact, ws));
    if status == SolverStatus::NonFinite {
        check_finite(StepStage::Acceleration, "qacc_smooth", &d.qacc_smooth)?;
        check_finite(StepStage::Position, "efc.J", &d.efc.J)?;
        check_finite(StepStage::Position, "efc.pos", &d.efc.pos)?;
        check_finite(StepStage::Position, "efc.D", &d.efc.D)?;
        check_finite(StepStage::Velocity, "efc.aref", &d.efc.aref)?;
        return Err(StepError::Solver);
    }
    Ok(())
}

/// Calls the solver with what it reads and writes beside `Data`.
pub(crate) fn with_solver<T: Scalar, R: Default>(
    d: &mut Data<T>,
    call: impl FnOnce(&mut Data<T>, &[Contact<T>], &mut Efc<T>, &mut SolverWorkspace<T>) -> R,
) -> R {
    let Some(mut solver) = d.scratch.solver.take() else { return R::default() };
    let contact = std::mem::take(&mut d.contact);
    let mut efc = std::mem::take(&mut d.efc);
    std::mem::swap(&mut solver.stats, &mut d.solver);
    let result = call(d, &contact, &mut efc, &mut solver);
    std::mem::swap(&mut solver.stats, &mut d.solver);
    d.contact = contact;
    d.efc = efc;
    d.scratch.solver = Some(solver);
    result
}

/// As [`fwd_acceleration`], the forces only.
fn force<T: Scalar>(m: &Model, d: &mut Data<T>) {
    smooth::actuation(m, d);
    smooth::smooth_force(m, d);
}

/// Forward dynamics without sensors and energy: `qacc` and `act_dot` at the state.
///
/// # Errors
/// A row of a constraint, or the force along it, is not finite.
///
/// Source: MuJoCo `mj_forwardSkip`.
pub fn forward_dynamics<T: Scalar>(m: &Model, d: &mut Data<T>) -> Result<(), StepError> {
    fwd_position(m, d);
    fwd_velocity(m, d);
    fwd_acceleration(m, d)
}

/// What a forward pass may take over from the one before it, because the state it depends on is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reuse {
    /// Nothing.
    Nothing,
    /// What depends on position and time only.
    Position,
    /// What depends on position, velocity and time only, not on activations, controls and applied forces.
    Velocity,
}

/// What a forward pass or a step is run for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outputs {
    /// Everything.
    All,
    /// The next state only: no sensors, no energy, and `qacc` with the factor of the inertia only where the
    /// integrator or the constraint solver reads them.
    State,
}

impl Outputs {
    /// True if `qacc` is among them, where `d` holds the rows of the constraints.
    pub fn include_qacc<T: Scalar>(self, m: &Model, d: &Data<T>) -> bool {
        self == Self::All || !solves_for_acceleration(m) || d.efc.nefc > 0
    }
}

/// Forward dynamics, sensors, and energy where the model asks for it.
///
/// Sensors and energy belong to this state, before any integration.
///
/// # Errors
/// A row of a constraint, or the force along it, is not finite.
///
/// Source: MuJoCo `mj_forward`.
pub fn forward<T: Scalar>(m: &Model, d: &mut Data<T>) -> Result<(), StepError> {
    forward_skip(m, d, Reuse::Nothing, Outputs::All)
}

/// As [`forward`], where `d` still holds what an earlier pass computed from the same positions (velocities), and
/// for some outputs only. What is to be reused must have been among the outputs of the earlier pass.
///
/// # Errors
/// As [`forward`].
///
/// Source: MuJoCo `mj_forwardSkip`.
pub fn forward_skip<T: Scalar>(
    m: &Model,
    d: &mut Data<T>,
    reuse: Reuse,
    outputs: Outputs,
) -> Result<(), StepError> {
    let all = outputs == Outputs::All;
    let energy = all && m.opt.enabled(enable::ENERGY);
    let sensors = all && m.nsensor > 0 && !m.opt.disabled(disable::SENSOR);

    if reuse < Reuse::Position {
        position(m, d);
        if outputs.include_qacc(m, d) {
            smooth::factor_m(m, d);
        } else {
            d.singular = None;
        }
        if energy {
            energy_pos(m, d);
        }
    }
    // kinetic energy is a sensor of the position stage, but depends on velocity
    let kinetic = reuse < Reuse::Velocity && m.sensor_type.contains(&SensorType::EKinetic);
    if sensors && (reuse < Reuse::Position || kinetic) {
        sensor_pos(m, d);
    }
    if reuse < Reuse::Velocity {
        fwd_velocity(m, d);
        if energy {
            energy_vel(m, d);
        }
        if sensors {
            sensor_vel(m, d);
        }
    }
    if outputs.include_qacc(m, d) {
        fwd_acceleration(m, d)?;
    } else {
        force(m, d);
        d.qfrc_constraint.fill(T::zero());
    }
    if sensors {
        sensor_acc(m, d);
    }
    Ok(())
}

/// Advances the state by one timestep.
///
/// # Errors
/// A number in the state, the inputs or the acceleration is not finite or above 1e10 in magnitude, a number of the new
/// state is not finite, or the matrix of the implicit integrator is singular. The state is then as it was before the
/// call. (MuJoCo resets the simulation instead.)
///
/// Source: MuJoCo `mj_step`.
pub fn step<T: Scalar>(m: &Model, d: &mut Data<T>) -> Result<(), StepError> {
    step_skip(m, d, Reuse::Nothing, Outputs::All)
}

/// As [`step`], where `d` still holds what an earlier step or forward pass computed from the same positions
/// (velocities), and for some outputs only, as in [`forward_skip`]. RK4 leaves results of its last stage behind, so
/// after it there is nothing to reuse.
///
/// # Errors
/// As [`step`].
///
/// # Panics
/// If something is to be reused with RK4.
pub fn step_skip<T: Scalar>(
    m: &Model,
    d: &mut Data<T>,
    reuse: Reuse,
    outputs: Outputs,
) -> Result<(), StepError> {
    assert!(reuse == Reuse::Nothing || m.opt.integrator != Integrator::RK4);
    let time = d.time;
    d.scratch.qpos.copy_from_slice(&d.qpos);
    d.scratch.qvel.copy_from_slice(&d.qvel);
    d.scratch.act.copy_from_slice(&d.act);

    let result = try_step(m, d, reuse, outputs);
    if result.is_err() {
        d.time = time;
        d.qpos.copy_from_slice(&d.scratch.qpos);
        d.qvel.copy_from_slice(&d.scratch.qvel);
        d.act.copy_from_slice(&d.scratch.act);
    }
    result
}

/// Refuses a state or controls that are not finite or above 1e10 in magnitude, as [`step`] does before it begins.
///
/// # Errors
/// The first such number.
///
/// Source: MuJoCo `mj_checkPos`, `mj_checkVel`.
pub fn check_input<T: Scalar>(d: &Data<T>) -> Result<(), StepError> {
    check_finite(StepStage::Input, "qpos", &d.qpos)?;
    check_finite(StepStage::Input, "qvel", &d.qvel)?;
    check_finite(StepStage::Input, "act", &d.act)?;
    check_finite(StepStage::Input, "ctrl", &d.ctrl)
}

/// Refuses an acceleration that is not finite or above 1e10 in magnitude, as [`step`] does before it integrates.
///
/// # Errors
/// The first such number.
///
/// Source: MuJoCo `mj_checkAcc`.
pub fn check_acceleration<T: Scalar>(qacc: &[T]) -> Result<(), StepError> {
    check_finite(StepStage::Acceleration, "qacc", qacc)
}

fn try_step<T: Scalar>(
    m: &Model,
    d: &mut Data<T>,
    reuse: Reuse,
    outputs: Outputs,
) -> Result<(), StepError> {
    check_input(d)?;
    forward_skip(m, d, reuse, outputs)?;
    if outputs.include_qacc(m, d) {
        check_acceleration(&d.qacc)?;
    }

    match m.opt.integrator {
        Integrator::Euler => euler(m, d),
        Integrator::RK4 => rk4(m, d, forward_dynamics)?,
        Integrator::Implicit => implicit(m, d)?,
        Integrator::ImplicitFast => implicitfast(m, d),
        Integrator::ImplicitSpringDamper => implicit_spring_damper(m, d),
    }

    if !outputs.include_qacc(m, d) {
        // the acceleration over the step, which the integrator has found
        check_acceleration(&d.scratch.v[0])?;
    }
    check_finite(StepStage::Integration, "qpos", &d.qpos)?;
    check_finite(StepStage::Integration, "qvel", &d.qvel)?;
    check_finite(StepStage::Integration, "act", &d.act)
}
