//! Where a step has a kink: a control, an activation or a force at the end of a range, a tendon at the end of its
//! spring's dead band. There the derivative depends on the side, and the column says so.

use dualstep::model::options::disable;
use dualstep::model::{BiasType, GainType, TrnType};
use dualstep::smooth::actuation::{gain_bias, gain_input};
use dualstep::smooth::passive::tendon_stiffness;
use dualstep::smooth::poly;
use dualstep::{Data, Model, Scalar};

use crate::actuator::activation_span;
use crate::finite_diff::FdSteps;
use crate::matrices::{Column, Kink, Side};
use crate::tangent::ndx;

/// Marks the columns (2nv + na + nu) that have a kink within `eps` of the state. Columns that were not computed
/// are marked as well: the caller copies from those that were.
///
/// - reads  everything that `forward` writes
pub(crate) fn mark<T: Scalar>(m: &Model, d: &Data<T>, eps: &FdSteps, columns: &mut [Column]) {
    controls(m, d, eps.ctrl, columns);
    if !m.opt.disabled(disable::ACTUATION) {
        activations(m, d, eps.act, columns);
        forces(m, d, eps.ctrl, columns);
    }
    dead_bands(m, d, eps.qpos, columns);
}

/// True if x is at a limit to within eps, relative to the limit if that is large.
fn at(x: f64, limit: f64, eps: f64) -> bool {
    limit.is_finite() && (x - limit).abs() <= eps * limit.abs().max(1.0)
}

fn at_either(x: f64, [lo, hi]: [f64; 2], eps: f64) -> bool {
    at(x, lo, eps) || at(x, hi, eps)
}

fn controls<T: Scalar>(m: &Model, d: &Data<T>, eps: f64, columns: &mut [Column]) {
    if m.opt.disabled(disable::CLAMPCTRL) {
        return;
    }
    for i in (0..m.nu).filter(|&i| m.actuator_ctrllimited[i]) {
        let (u, [lo, hi]) = (d.ctrl[i].re(), m.actuator_ctrlrange[i]);
        let column = &mut columns[ndx(m) + i];
        if at_either(u, [lo, hi], eps) {
            column.kink = Some(Kink::ControlRange);
        }
        // a method that nudges has set the side itself
        if column.side == Side::Both {
            column.side = match u {
                u if u < lo || u > hi => Side::Clamped,
                u if u == lo && u == hi => Side::Clamped,
                u if u == lo => Side::Above,
                u if u == hi => Side::Below,
                _ => Side::Both,
            };
        }
    }
}

fn activations<T: Scalar>(m: &Model, d: &Data<T>, eps: f64, columns: &mut [Column]) {
    for a in (0..m.nactuator).filter(|&a| m.actuator_actlimited[a]) {
        let Some(adr) = m.actuator_actadr[a] else { continue };
        let next = d.act[adr].re() + activation_span(m, a) * d.act_dot[adr].re();
        if at_either(next, m.actuator_actrange[a], eps) {
            columns[2 * m.nv + adr].kink = Some(Kink::ActivationRange);
            if m.actuator_ctrlnum[a] > 0 {
                let column = &mut columns[ndx(m) + m.actuator_ctrladr[a]];
                column.kink = column.kink.or(Some(Kink::ActivationRange));
            }
        }
    }
}

/// Forces of actuators, and their sums at joints and tendons, before they are limited.
fn forces<T: Scalar>(m: &Model, d: &Data<T>, eps: f64, columns: &mut [Column]) {
    for a in (0..m.nactuator).filter(|&a| m.actuator_forcelimited[a] && !m.actuator_disabled(a)) {
        if at_either(raw_force(m, d, a), m.actuator_forcerange[a], eps) {
            mark_actuator(m, a, Kink::ForceRange, columns);
        }
    }
    for j in (0..m.njnt).filter(|&j| m.jnt_actfrclimited[j]) {
        let dof = m.jnt_dofadr[j];
        let force = |a: usize| moment(m, d, a, dof) * d.actuator_force[a].re();
        let mut sum: f64 = (0..m.nactuator).map(force).sum();
        if m.jnt_actgravcomp[j] {
            sum += d.qfrc_gravcomp[dof].re();
        }
        if at_either(sum, m.jnt_actfrcrange[j], eps) {
            for a in (0..m.nactuator).filter(|&a| moment(m, d, a, dof) != 0.0) {
                mark_actuator(m, a, Kink::JointForceRange, columns);
            }
        }
    }
    for t in (0..m.ntendon).filter(|&t| m.tendon_actfrclimited[t]) {
        let on = |a: &usize| {
            m.actuator_trntype[*a] == TrnType::Tendon && m.actuator_trnid[*a][0] == Some(t)
        };
        let sum: f64 = (0..m.nactuator).filter(on).map(|a| raw_force(m, d, a)).sum();
        if at_either(sum, m.tendon_actfrcrange[t], eps) {
            for a in (0..m.nactuator).filter(on) {
                mark_actuator(m, a, Kink::TendonForceRange, columns);
            }
        }
    }
}

/// Force of an actuator before any limit.
fn raw_force<T: Scalar>(m: &Model, d: &Data<T>, a: usize) -> f64 {
    if m.actuator_disabled(a) {
        return 0.0;
    }
    let [gain, bias] = gain_bias(m, d, a);
    (gain * gain_input(m, d, a) + bias).re()
}

/// Moment of an actuator on a degree of freedom.
fn moment<T: Scalar>(m: &Model, d: &Data<T>, a: usize, dof: usize) -> f64 {
    let row = m.moment_rowadr[a]..m.moment_rowadr[a] + m.moment_rownnz[a];
    let entry = row.clone().find(|&e| m.moment_colind[e] == dof);
    entry.map_or(0.0, |e| d.actuator_moment[e].re())
}

/// Columns on which the force of an actuator depends.
fn mark_actuator(m: &Model, a: usize, kink: Kink, columns: &mut [Column]) {
    let mut mark = |column: usize| {
        let column = &mut columns[column];
        column.kink = column.kink.or(Some(kink));
    };
    if m.actuator_ctrlnum[a] > 0 {
        mark(ndx(m) + m.actuator_ctrladr[a]);
    }
    if let Some(adr) = m.actuator_actadr[a] {
        mark(2 * m.nv + adr);
    }
    if m.actuator_gaintype[a] != GainType::Fixed || m.actuator_biastype[a] != BiasType::None {
        let row = m.moment_rowadr[a]..m.moment_rowadr[a] + m.moment_rownnz[a];
        for &dof in &m.moment_colind[row] {
            mark(dof);
            mark(m.nv + dof);
        }
    }
}

fn dead_bands<T: Scalar>(m: &Model, d: &Data<T>, eps: f64, columns: &mut [Column]) {
    if m.opt.disabled(disable::SPRING) {
        return;
    }
    for t in 0..m.ntendon {
        let [lo, hi] = m.tendon_lengthspring[t];
        // without a band the force is continuously differentiable
        let springy = !poly::is_zero(&tendon_stiffness(m, t));
        if springy && lo < hi && at_either(d.ten_length[t].re(), [lo, hi], eps) {
            let row = m.ten_J_rowadr[t]..m.ten_J_rowadr[t] + m.ten_J_rownnz[t];
            for &dof in &m.ten_J_colind[row] {
                columns[dof].kink = columns[dof].kink.or(Some(Kink::SpringDeadBand));
            }
        }
    }
}
