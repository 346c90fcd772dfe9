//! Derivatives of sensors of actuators: lengths, velocities, forces.

use dualstep::model::options::disable;
use dualstep::model::{SensorType, TrnType};
use dualstep::{Data, Model, Scalar};

use super::{Rows, Scratch};
use crate::actuator::{force_clamped, free_force_derivative, gradients, pulling, tendon_scale};
use crate::smooth::{SmoothDeriv, saturated};
use crate::tangent::ndx;

/// Actuators whose outputs sensor `i` reads.
fn outputs(m: &Model, i: usize) -> std::ops::Range<usize> {
    let a = m.sensor_objid[i].unwrap_or(0);
    m.actuator_outadr[a]..m.actuator_outadr[a] + m.actuator_outnum[a]
}

/// Adds ∂length/∂q.
pub(super) fn lengths<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    i: usize,
    s: &mut Scratch<T>,
    rows: &mut Rows<T>,
) {
    let Some(out) = &mut s.actuators else { return };
    for (row, a) in outputs(m, i).enumerate() {
        gradients(m, d, a, T::zero(), out);
        add(0, &out.length_grad, T::one(), row, rows);
    }
}

/// Adds ∂velocity/∂q and the moment; nothing where actuation is disabled.
pub(super) fn velocities<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    i: usize,
    s: &mut Scratch<T>,
    rows: &mut Rows<T>,
) {
    let Some(out) = s.actuators.as_mut().filter(|_| !m.opt.disabled(disable::ACTUATION)) else {
        return;
    };
    for (row, a) in outputs(m, i).enumerate() {
        gradients(m, d, a, T::zero(), out);
        add(0, &out.velocity_grad, T::one(), row, rows);
        add_moment(m, d, a, T::one(), row, rows);
    }
}

/// Adds the derivatives of forces of actuators: of one, at a joint, at a tendon.
pub(super) fn force_rows<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    i: usize,
    s: &mut Scratch<T>,
    rows: &mut Rows<T>,
) {
    let Some(out) = s.actuators.as_mut().filter(|_| !m.opt.disabled(disable::ACTUATION)) else {
        return;
    };
    let id = m.sensor_objid[i].unwrap_or(0);
    match m.sensor_type[i] {
        SensorType::ActuatorFrc => {
            for (row, a) in outputs(m, i).enumerate() {
                force(m, d, a, out, row, rows);
            }
        }
        SensorType::TendonActFrc => {
            for a in pulling(m, id) {
                force(m, d, m.actuator_outadr[a], out, 0, rows);
            }
        }
        SensorType::JointActFrc => joint_force(m, d, id, out, rows),
        // contacts and limits: they read zero
        _ => {}
    }
}

/// Force of an actuator without any limit, as far as it is switched on.
fn free_force<T: Scalar>(m: &Model, d: &Data<T>, a: usize) -> T {
    if m.actuator_disabled(a) { T::zero() } else { free_force_derivative(m, d, a).force }
}

/// Adds the derivative of an actuator's force: of gain · input + bias, scaled down where the total of its tendon is
/// limited, none where it is clamped itself.
fn force<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    a: usize,
    out: &mut SmoothDeriv<T>,
    row: usize,
    rows: &mut Rows<T>,
) {
    let raw = free_force(m, d, a);
    let tendon = m.actuator_trnid[a][0]
        .filter(|&t| m.actuator_trntype[a] == TrnType::Tendon && m.tendon_actfrclimited[t]);
    let limited = tendon.and_then(|t| Some((t, tendon_scale(m, t, |b| free_force(m, d, b))?)));
    let scale = limited.map_or(T::one(), |(_, (_, scale))| scale);
    if force_clamped(m, a, (raw * scale).re()) {
        return;
    }
    free(m, d, a, scale, out, row, rows);
    if let Some((t, (total, scale))) = limited {
        // the total takes its share away
        for b in pulling(m, t) {
            free(m, d, b, -raw * scale / total, out, row, rows);
        }
    }
}

/// Adds `weight` times the derivative of gain · input + bias.
fn free<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    a: usize,
    weight: T,
    out: &mut SmoothDeriv<T>,
    row: usize,
    rows: &mut Rows<T>,
) {
    if m.actuator_disabled(a) {
        return;
    }
    let f = free_force_derivative(m, d, a);
    gradients(m, d, a, T::zero(), out);
    add(0, &out.length_grad, weight * f.length, row, rows);
    add(0, &out.velocity_grad, weight * f.velocity, row, rows);
    add_moment(m, d, a, weight * f.velocity, row, rows);
    if let Some(act) = m.actuator_actadr[a] {
        rows.add(row, 2 * m.nv + act, weight * f.act);
    }
    if m.actuator_ctrlnum[a] > 0 {
        rows.add(row, ndx(m) + m.actuator_ctrladr[a], weight * f.ctrl);
    }
}

/// Adds the derivative of the total force at a scalar joint, of which `out` holds that of the actuators, and of gravity
/// compensation in `gravcomp`; none where it is clamped.
fn joint_force<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    joint: usize,
    out: &SmoothDeriv<T>,
    rows: &mut Rows<T>,
) {
    if m.nactuator == 0 {
        return;
    }
    let dof = m.jnt_dofadr[joint];
    let compensated = m.jnt_actgravcomp[joint] && !m.opt.disabled(disable::GRAVITY);
    if m.jnt_actfrclimited[joint] && saturated(m, d, joint) {
        return;
    }
    let (nv, na, nu) = (m.nv, m.na, m.nu);
    let parts = [(0, &out.dq, nv), (nv, &out.dv, nv), (2 * nv, &out.da, na), (ndx(m), &out.du, nu)];
    for (first, matrix, n) in parts {
        add(first, &matrix[dof * n..(dof + 1) * n], T::one(), 0, rows);
    }
    if compensated {
        add(0, &out.gravcomp[dof * nv..(dof + 1) * nv], T::one(), 0, rows);
    }
}

/// Adds `weight` times a vector to the columns from `first` on.
fn add<T: Scalar>(first: usize, x: &[T], weight: T, row: usize, rows: &mut Rows<T>) {
    for (k, x) in x.iter().enumerate() {
        rows.add(row, first + k, weight * *x);
    }
}

/// Adds `weight` times the moment to the columns of the velocity.
fn add_moment<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    a: usize,
    weight: T,
    row: usize,
    rows: &mut Rows<T>,
) {
    for e in m.moment_rowadr[a]..m.moment_rowadr[a] + m.moment_rownnz[a] {
        rows.add(row, m.nv + m.moment_colind[e], weight * d.actuator_moment[e]);
    }
}
