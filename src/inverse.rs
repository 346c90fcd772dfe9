//! Inverse dynamics: the force that gives an acceleration.

use nalgebra::Vector3;
use thiserror::Error;

use crate::data::Data;
use crate::forward::{fwd_position, fwd_velocity, with_solver};
use crate::integrate::is_free_body;
use crate::linalg::tree_ldl;
use crate::model::options::{disable, enable};
use crate::model::{Integrator, Model};
use crate::scalar::Scalar;
use crate::sensor::{sensor_acc, sensor_pos, sensor_vel};
use crate::smooth::jacobian::apply_ft;
use crate::smooth::qderiv::mjd_smooth_vel;
use crate::smooth::{actuation, mul_m, poly};
use crate::solver::inverse_constraint;
use crate::status::StepError;

/// Why there is no inverse dynamics.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum InverseError {
    /// The inertia matrix could not be factored.
    #[error(transparent)]
    Step(#[from] StepError),
    /// The flag `invdiscrete` is on, and there is no discrete inverse of the integrator.
    #[error(
        "discrete-time inverse dynamics (flag `invdiscrete`) is not supported with the integrator \
         {integrator:?}: switch the flag off, or use Euler, implicit or implicitfast"
    )]
    Discrete {
        /// The integrator of the model.
        integrator: Integrator,
    },
}

/// Inverse dynamics: what `qfrc_applied`, the actuators and `xfrc_applied` together must exert in joint
/// space for the acceleration `qacc`.
///
/// - reads  `qpos` (nq), `qvel`, `qacc` (nv), `mocap_pos`, `mocap_quat`; `time` and forces where a sensor
///   reports them
/// - writes `qfrc_inverse`, `qfrc_constraint` (nv) [N, N·m]; `sensordata`; forces of `efc`; what `fwd_position` and `fwd_velocity` write
///
/// qfrc_inverse = M q̈ + bias − passive − constraint.
///
/// With the flag `invdiscrete`, `qacc` is (v⁺ − v)/h over one step of the integrator instead, and M becomes
/// the matrix that the integrator solves with:
///
/// | integrator | matrix |
/// |---|---|
/// | Euler | M + hD, D the damping of degrees of freedom; M where implicit damping is disabled |
/// | implicit | M − h qDeriv |
/// | implicitfast | M − h qDeriv without the derivative of the bias, but for bodies that float alone |
///
/// Then `ctrl` and `act` are read as well, and `actuator_force` is written: saturated actuators have no
/// derivative.
///
/// # Errors
/// An inertia matrix that is not positive definite; `invdiscrete` with another integrator.
///
/// Source: Featherstone 2008, ch. 5; MuJoCo `mj_inverse`, `mj_discreteAcc`.
pub fn inverse<T: Scalar>(m: &Model, d: &mut Data<T>) -> Result<(), InverseError> {
    let discrete = m.opt.enabled(enable::INVDISCRETE);
    let integrator = m.opt.integrator;
    if discrete && matches!(integrator, Integrator::RK4 | Integrator::ImplicitSpringDamper) {
        return Err(InverseError::Discrete { integrator });
    }
    fwd_position(m, d);
    sensor_pos(m, d);
    fwd_velocity(m, d);
    sensor_vel(m, d);

    // M q̈, q̈ the acceleration in continuous time
    let mut force = std::mem::take(&mut d.qfrc_inverse);
    mul_m(m, d, &d.qacc, &mut force);
    if discrete {
        match integrator {
            Integrator::Euler => add_damping(m, d, &mut force),
            _ => add_qDeriv(m, d, &mut force),
        }
    }
    constrain_and_sense(m, d, discrete.then_some(force.as_slice()));
    for i in 0..m.nv {
        force[i] += d.qfrc_bias[i] - d.qfrc_passive[i] - d.qfrc_constraint[i];
    }
    d.qfrc_inverse = force;
    Ok(())
}

/// How far inverse dynamics, at the acceleration that forward dynamics has found, is from the forces that went in: norms of
/// the differences of constraint forces and of applied forces [N, N·m]. Zero but for rounding and for what the constraint
/// solver left; a check of a solver's settings.
///
/// - reads  everything that `forward` writes
///
/// # Errors
/// As [`inverse`].
///
/// Source: MuJoCo `mj_compareFwdInv`, flag `fwdinv`.
pub fn compare_forward_inverse(m: &Model, d: &Data<f64>) -> Result<[f64; 2], InverseError> {
    let mut applied: Vec<f64> =
        d.qfrc_applied.iter().zip(&d.qfrc_actuator).map(|(x, y)| x + y).collect();
    for b in m.bodies_base_to_tip() {
        let [fx, fy, fz, tx, ty, tz] = d.xfrc_applied[b];
        let (force, torque) = (Vector3::new(fx, fy, fz), Vector3::new(tx, ty, tz));
        apply_ft(m, d, &force, &torque, &d.xipos[b], b, &mut applied);
    }
    let mut back = d.clone();
    inverse(m, &mut back)?;
    let distance =
        |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| (x - y) * (x - y)).sum::<f64>().sqrt();
    Ok([
        distance(&d.qfrc_constraint, &back.qfrc_constraint),
        distance(&applied, &back.qfrc_inverse),
    ])
}

/// `force` (nv) += h D q̈, D the derivative of the damping force of each degree of freedom.
fn add_damping<T: Scalar>(m: &Model, d: &Data<T>, force: &mut [T]) {
    if m.opt.disabled(disable::EULERDAMP | disable::DAMPER) {
        return;
    }
    let h = T::lift(m.opt.timestep);
    for i in 0..m.nv {
        let damping = poly::derivative_odd(&m.dof_damping_eff[i], d.qvel[i]);
        force[i] += h * damping * d.qacc[i];
    }
}

/// `force` (nv) −= h qDeriv q̈, in the form that the integrator uses.
fn add_qDeriv<T: Scalar>(m: &Model, d: &mut Data<T>, force: &mut [T]) {
    actuation(m, d);
    let mut q = std::mem::take(&mut d.scratch.qderiv);
    let h = T::lift(m.opt.timestep);
    let fast = m.opt.integrator == Integrator::ImplicitFast;
    let alone = |i: usize| fast && is_free_body(m, m.dof_bodyid[i]);

    // implicitfast: entries in the pattern of M, taken from the lower triangle
    if fast {
        mjd_smooth_vel(m, d, &mut q, false);
        for i in (0..m.nv).filter(|&i| !alone(i)) {
            for e in m.M_rowadr[i]..m.M_rowadr[i] + m.M_rownnz[i] {
                let j = m.M_colind[e];
                let x = h * q.qDeriv[i * m.nv + j];
                force[i] -= x * d.qacc[j];
                if i != j {
                    force[j] -= x * d.qacc[i];
                }
            }
        }
    }
    // all rows, those of bodies that float alone: every entry, the derivative of the bias included
    if !fast || (0..m.nv).any(alone) {
        mjd_smooth_vel(m, d, &mut q, true);
        for i in (0..m.nv).filter(|&i| !fast || alone(i)) {
            for j in 0..m.nv {
                force[i] -= h * q.qDeriv[i * m.nv + j] * d.qacc[j];
            }
        }
    }
    d.scratch.qderiv = q;
}

/// Forces of constraints and acceleration sensors, at `qacc` or, where given, at the acceleration M⁻¹ `force`.
fn constrain_and_sense<T: Scalar>(m: &Model, d: &mut Data<T>, force: Option<&[T]>) {
    let mut given = std::mem::take(&mut d.scratch.v[0]);
    given.copy_from_slice(&d.qacc);
    if let Some(force) = force {
        d.qacc.copy_from_slice(force);
        tree_ldl::solve(m, &d.qLD, &d.qLDiagInv, &mut d.qacc);
    }
    with_solver(d, |d, contact, efc, ws| inverse_constraint(m, d, efc, contact, ws));
    sensor_acc(m, d);
    d.qacc.copy_from_slice(&given);
    d.scratch.v[0] = given;
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::forward::step;

    /// A free body on its own, and an arm with damped joints and tendon, motors and a saturated servo.
    const MODEL: &str = r#"<mujoco>
      <option timestep="0.01"><flag constraint="disable" invdiscrete="enable"/></option>
      <worldbody>
        <body><freejoint/><geom type="box" size="0.1 0.2 0.3" pos="0.1 0 0.05" density="50"/></body>
        <body>
          <joint name="a" axis="0 1 0" damping="0.5 0.2 0.1" armature="0.01"/>
          <geom type="capsule" size="0.05" fromto="0 0 0 0.3 0 0"/>
          <body pos="0.3 0 0">
            <joint name="b" axis="0 1 1" pos="0 0.02 0" damping="0.1"/>
            <geom type="capsule" size="0.04" fromto="0 0 0 0.2 0.1 0"/>
          </body>
        </body>
      </worldbody>
      <tendon><fixed name="t" damping="0.3"><joint joint="a" coef="1"/><joint joint="b" coef="-2"/></fixed></tendon>
      <actuator>
        <velocity joint="a" kv="0.7"/>
        <velocity joint="b" kv="2" forcerange="-0.1 0.1"/>
        <motor tendon="t"/>
      </actuator>
    </mujoco>"#;

    // one step forwards, then the forces back from (v⁺ − v)/h
    #[test]
    fn discrete_inverse_undoes_a_step() {
        for integrator in [Integrator::Euler, Integrator::Implicit, Integrator::ImplicitFast] {
            let mut m = crate::mjcf::load_model_str(MODEL, "arm.xml", Path::new(".")).unwrap();
            m.opt.integrator = integrator;
            let mut d = Data::<f64>::new(&m);
            d.qvel.copy_from_slice(&[0.1, 0.2, -0.3, 4.0, -5.0, 6.0, 2.0, -3.0]);
            d.ctrl.copy_from_slice(&[0.3, -0.2, 0.4]);
            d.qfrc_applied.copy_from_slice(&[0.1, 0.0, 0.2, 0.3, 0.0, -0.1, 0.5, -0.4]);
            let (qpos, qvel) = (d.qpos.clone(), d.qvel.clone());
            step(&m, &mut d).unwrap();

            let applied: Vec<f64> =
                d.qfrc_applied.iter().zip(&d.qfrc_actuator).map(|(x, y)| x + y).collect();
            for i in 0..m.nv {
                d.qacc[i] = (d.qvel[i] - qvel[i]) / m.opt.timestep;
            }
            d.qpos = qpos;
            d.qvel = qvel;
            inverse(&m, &mut d).unwrap();
            for (x, r) in d.qfrc_inverse.iter().zip(&applied) {
                assert!((x - r).abs() < 1e-11, "{integrator:?}: {:?}, {applied:?}", d.qfrc_inverse);
            }
        }
    }
}
