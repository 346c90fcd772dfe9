//! Derivatives of actuator forces by position, velocity, activation and control.
//!
//! qfrc = momentᵀ f(l, l̇, x): ∂qfrc/∂q = momentᵀ (f_l ∂l/∂q + f_l̇ ∂l̇/∂q) + (∂moment/∂q)ᵀ f, with l̇ = moment · v.
//! Moments of scalar joints and of tendons are constant; those of balls, free joints in the parent's frame and
//! sites turn with the bodies.

use dualstep::math::{Quat, SpatialVec};
use dualstep::model::options::disable;
use dualstep::model::{BiasType, DynType, GainType, JointType, TrnType};
use dualstep::smooth::actuation::{control, gain_bias, gain_input};
use dualstep::smooth::jacobian::dof_point_velocity;
use dualstep::smooth::muscle;
use dualstep::{Data, Model, Scalar};
use nalgebra::Vector3;

use crate::quat::{right_jacobian_inverse, skew};
use crate::smooth::SmoothDeriv;

/// How an actuator's force depends on its length, velocity, activation and control.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ForceDerivative<T> {
    pub(crate) force: T,
    pub(crate) length: T,
    pub(crate) velocity: T,
    pub(crate) act: T,
    pub(crate) ctrl: T,
}

/// `out` += derivatives of the actuators' part of `qfrc_actuator`, before the limits at joints.
///
/// - reads  everything up to and including `smooth::actuation`
///
/// Source: manual, "Actuation model"; derivatives ours.
pub fn mjd_actuator<T: Scalar>(m: &Model, d: &Data<T>, out: &mut SmoothDeriv<T>) {
    if m.opt.disabled(disable::ACTUATION) {
        return;
    }
    for a in 0..m.nactuator {
        if m.actuator_disabled(a) {
            continue;
        }
        let f = force_derivative(m, d, a);
        let row = m.moment_rowadr[a]..m.moment_rowadr[a] + m.moment_rownnz[a];
        let (colind, moment) = (&m.moment_colind[row.clone()], &d.actuator_moment[row]);
        gradients(m, d, a, f.force, out);

        for (&i, &mi) in colind.iter().zip(moment) {
            let (by_velocity, by_length) = (mi * f.velocity, mi * f.length);
            for (&k, &mk) in colind.iter().zip(moment) {
                out.dv[i * m.nv + k] += by_velocity * mk;
            }
            for k in 0..m.nv {
                out.dq[i * m.nv + k] +=
                    by_length * out.length_grad[k] + by_velocity * out.velocity_grad[k];
            }
            if let Some(act) = m.actuator_actadr[a] {
                out.da[i * m.na + act] += mi * f.act;
            }
            if m.actuator_ctrlnum[a] > 0 {
                out.du[i * m.nu + m.actuator_ctrladr[a]] += mi * f.ctrl;
            }
        }
    }
}

/// Force and its derivatives; zero where the force is clamped.
fn force_derivative<T: Scalar>(m: &Model, d: &Data<T>, a: usize) -> ForceDerivative<T> {
    let free = free_force_derivative(m, d, a);
    let force = d.actuator_force[a];
    if force_clamped(m, a, free.force.re()) {
        let zero = T::zero();
        return ForceDerivative { force, length: zero, velocity: zero, act: zero, ctrl: zero };
    }
    ForceDerivative { force, ..free }
}

/// True if the range of the actuator's force clamps `force`.
pub(crate) fn force_clamped(m: &Model, a: usize, force: f64) -> bool {
    let [lo, hi] = m.actuator_forcerange[a];
    m.actuator_forcelimited[a] && (force < lo || force > hi)
}

/// Force before any limit, and its derivatives.
pub(crate) fn free_force_derivative<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    a: usize,
) -> ForceDerivative<T> {
    let [gain, bias] = gain_bias(m, d, a);
    let x = gain_input(m, d, a);
    let (l, v) = (d.actuator_length[a], d.actuator_velocity[a]);
    let (range, acc0) = (&m.actuator_lengthrange[a], m.actuator_acc0[a]);
    let affine = |p: &[f64]| [T::lift(p[1]), T::lift(p[2])];
    let [gain_l, gain_v] = match m.actuator_gaintype[a] {
        GainType::Fixed => [T::zero(); 2],
        GainType::Affine => affine(&m.actuator_gainprm[a]),
        GainType::Muscle => muscle::gain_derivative(l, v, range, acc0, &m.actuator_gainprm[a]),
    };
    let [bias_l, bias_v] = match m.actuator_biastype[a] {
        BiasType::None => [T::zero(); 2],
        BiasType::Affine => affine(&m.actuator_biasprm[a]),
        BiasType::Muscle => [muscle::bias(l, range, acc0, &m.actuator_biasprm[a])[1], T::zero()],
    };
    let [x_act, x_ctrl] = input_derivative(m, d, a);
    ForceDerivative {
        force: gain * x + bias,
        length: gain_l * x + bias_l,
        velocity: gain_v * x + bias_v,
        act: gain * x_act,
        ctrl: gain * x_ctrl,
    }
}

/// Derivatives of what the gain multiplies, by activation and by control.
fn input_derivative<T: Scalar>(m: &Model, d: &Data<T>, a: usize) -> [T; 2] {
    match m.actuator_actadr[a] {
        None => [T::zero(), control_derivative(m, d, a)],
        Some(_) if m.actuator_actearly[a] => next_activation_derivative(m, d, a),
        Some(_) => [T::one(), T::zero()],
    }
}

/// 1 within the control's range, 0 outside; at a limit that of the inside.
fn control_derivative<T: Scalar>(m: &Model, d: &Data<T>, a: usize) -> T {
    if m.actuator_ctrlnum[a] == 0 {
        return T::zero();
    }
    let adr = m.actuator_ctrladr[a];
    let [lo, hi] = m.actuator_ctrlrange[adr];
    let u = d.ctrl[adr].re();
    let clamped = m.actuator_ctrllimited[adr] && !m.opt.disabled(disable::CLAMPCTRL);
    if clamped && (u < lo || u > hi) { T::zero() } else { T::one() }
}

/// Derivatives of the activation after a step, by activation and by control.
///
/// Source: MuJoCo `mj_nextActivation`; derivatives ours.
pub fn next_activation_derivative<T: Scalar>(m: &Model, d: &Data<T>, a: usize) -> [T; 2] {
    let Some(adr) = m.actuator_actadr[a] else { return [T::zero(); 2] };
    if activation_clamped(m, a, d.act[adr].re(), d.act_dot[adr].re()) {
        return [T::zero(); 2];
    }
    let span = T::lift(activation_span(m, a));
    let [by_act, by_ctrl] = activation_rate_derivative(m, d, a);
    [T::one() + span * by_act, span * by_ctrl]
}

/// Derivatives of the activation's rate of change, by activation and by control.
pub fn activation_rate_derivative<T: Scalar>(m: &Model, d: &Data<T>, a: usize) -> [T; 2] {
    let Some(adr) = m.actuator_actadr[a] else { return [T::zero(); 2] };
    if m.opt.disabled(disable::ACTUATION) {
        return [T::zero(); 2];
    }
    let prm = &m.actuator_dynprm[a];
    let tau = prm[0].max(dualstep::MINVAL);
    let [by_act, by_ctrl] = match m.actuator_dyntype[a] {
        DynType::None => [T::zero(); 2],
        DynType::Integrator => [T::zero(), T::one()],
        DynType::Filter | DynType::FilterExact => [T::lift(-1.0 / tau), T::lift(1.0 / tau)],
        DynType::Muscle => {
            let u = control(m, d, a);
            let [_, by_ctrl, by_act] = muscle::dynamics_and_derivative(u, d.act[adr], prm);
            [by_act, by_ctrl]
        }
    };
    [by_act, by_ctrl * control_derivative(m, d, a)]
}

/// How much of its rate an activation moves in a step: the timestep, or τ(1 − e^{−h/τ}) of the exact filter; nothing
/// if the actuator is switched off.
pub(crate) fn activation_span(m: &Model, a: usize) -> f64 {
    let h = m.opt.timestep;
    if m.actuator_disabled(a) || m.opt.disabled(disable::ACTUATION) {
        0.0
    } else if m.actuator_dyntype[a] == DynType::FilterExact {
        let tau = m.actuator_dynprm[a][0].max(dualstep::MINVAL);
        tau * (1.0 - (-h / tau).exp())
    } else {
        h
    }
}

/// True if the activation after a step at this rate leaves its range, and so is clamped.
pub(crate) fn activation_clamped(m: &Model, a: usize, act: f64, rate: f64) -> bool {
    let [lo, hi] = m.actuator_actrange[a];
    let next = act + rate * activation_span(m, a);
    m.actuator_actlimited[a] && !m.opt.disabled(disable::ACTUATION) && (next < lo || next > hi)
}

/// Writes ∂l/∂q and ∂l̇/∂q of actuator `a` into `out`, and adds (∂moment/∂q)ᵀ f to `out.dq`.
pub(crate) fn gradients<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    a: usize,
    f: T,
    out: &mut SmoothDeriv<T>,
) {
    out.length_grad.fill(T::zero());
    out.velocity_grad.fill(T::zero());
    let [Some(id), refsite] = m.actuator_trnid[a] else { return };
    match m.actuator_trntype[a] {
        TrnType::Joint | TrnType::JointInParent => joint(m, d, a, id, f, out),
        TrnType::Tendon => constant_moment(m, d, a, out),
        TrnType::Site => match refsite {
            None => site(m, d, a, id, f, out),
            Some(reference) => site_relative(m, d, a, [id, reference], f, out),
        },
        TrnType::SliderCrank | TrnType::Body | TrnType::So3 => {}
    }
}

/// The moment is the gradient of the length and does not change.
fn constant_moment<T: Scalar>(m: &Model, d: &Data<T>, a: usize, out: &mut SmoothDeriv<T>) {
    for k in m.moment_rowadr[a]..m.moment_rowadr[a] + m.moment_rownnz[a] {
        out.length_grad[m.moment_colind[k]] = d.actuator_moment[k];
    }
}

impl<T: Scalar> SmoothDeriv<T> {
    /// ∂moment_i/∂q_k of the current actuator.
    fn add_moment(&mut self, m: &Model, d: &Data<T>, i: usize, k: usize, value: T, f: T) {
        self.dq[i * m.nv + k] += value * f;
        self.velocity_grad[k] += value * d.qvel[i];
    }
}

fn joint<T: Scalar>(m: &Model, d: &Data<T>, a: usize, j: usize, f: T, out: &mut SmoothDeriv<T>) {
    let dof = m.jnt_dofadr[j];
    let (turn, q) = match m.jnt_type[j] {
        JointType::Slide | JointType::Hinge => return constant_moment(m, d, a, out),
        JointType::Ball => (dof, m.jnt_qposadr[j]),
        JointType::Free => (dof + 3, m.jnt_qposadr[j] + 3),
    };
    let adr = m.moment_rowadr[a] + (turn - dof);
    let moment = Vector3::from_column_slice(&d.actuator_moment[adr..adr + 3]);
    if m.jnt_type[j] == JointType::Ball {
        // l = log(q)·gear; turning the gear's axis by q does not change that
        let x = Quat::from_slice(&d.qpos[q..q + 4]).normalized().log();
        let g = &m.actuator_gear[a];
        let gear = Vector3::new(T::lift(g[0]), T::lift(g[1]), T::lift(g[2]));
        let grad = right_jacobian_inverse(&x).tr_mul(&gear);
        out.length_grad[dof..dof + 3].copy_from_slice(grad.as_slice());
    }
    if m.actuator_trntype[a] == TrnType::JointInParent {
        // moment = Rᵀ gear: δ(Rᵀ g) = (Rᵀ g) × δ
        let turned = skew(&moment);
        for i in 0..3 {
            for k in 0..3 {
                out.add_moment(m, d, turn + i, turn + k, turned[(i, k)], f);
            }
        }
    }
}

/// Change of the power of a wrench on axis i when axis k moves. The wrench moves with a body that both move; k
/// is beyond i, so that only k's motion of the wrench counts.
fn carried<T: Scalar>(S_i: &SpatialVec<T>, S_k: &SpatialVec<T>, W: &SpatialVec<T>) -> T {
    S_i.dot(&S_k.cross_force(W))
}

fn site<T: Scalar>(m: &Model, d: &Data<T>, a: usize, s: usize, f: T, out: &mut SmoothDeriv<T>) {
    let b = m.site_bodyid[s];
    let r = d.site_xpos[s] - d.subtree_com[m.body_rootid[b]];
    let g = gear(m, a);
    let (force, torque) = (d.site_xmat[s] * g[0], d.site_xmat[s] * g[1]);
    let W = SpatialVec::new(r.cross(&force) + torque, force);
    for k in m.body_dofs_to_root(b) {
        for i in m.dofs_to_root(k) {
            if out.moves(m, k, i) {
                continue;
            }
            let value = carried(&d.cdof[i], &d.cdof[k], &W);
            out.add_moment(m, d, i, k, value, f);
        }
    }
}

fn gear<T: Scalar>(m: &Model, a: usize) -> [Vector3<T>; 2] {
    let g = m.actuator_gear[a].map(T::lift);
    [Vector3::new(g[0], g[1], g[2]), Vector3::new(g[3], g[4], g[5])]
}

/// A site seen from a reference site: the wrench is fixed in the reference and acts at the site; its opposite
/// acts on the reference. Degrees of freedom that move both change nothing.
fn site_relative<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    a: usize,
    [s, reference]: [usize; 2],
    f: T,
    out: &mut SmoothDeriv<T>,
) {
    let (b, b_ref) = (m.site_bodyid[s], m.site_bodyid[reference]);
    let (root, root_ref) = (m.body_rootid[b], m.body_rootid[b_ref]);
    let (p, p_ref) = (d.site_xpos[s], d.site_xpos[reference]);
    let R_ref = d.site_xmat[reference];
    let g = gear(m, a);
    let (F, N) = (R_ref * g[0], R_ref * g[1]);

    let quat = d.xquat[b] * Quat::lift(&m.site_quat[s]);
    let quat_ref = d.xquat[b_ref] * Quat::lift(&m.site_quat[reference]);
    let x = quat.difference(quat_ref);
    let J = right_jacobian_inverse(&x);
    let angle_by_site = d.site_xmat[s] * J.tr_mul(&g[1]);
    let angle_by_ref = R_ref * (J * g[1]);

    let row = m.moment_rowadr[a]..m.moment_rowadr[a] + m.moment_rownnz[a];
    let columns = &m.moment_colind[row];
    let on_site = |k: usize| m.body_dofs_to_root(b).any(|i| i == k);
    let wrench = |root: usize, at: &Vector3<T>| {
        let r = at - d.subtree_com[root];
        (r, SpatialVec::new(r.cross(&F) + N, F))
    };
    let ((r, W), (_, W_ref)) = (wrench(root, &p), wrench(root_ref, &p_ref));

    for &k in columns {
        let S_k = &d.cdof[k];
        let k_site = on_site(k);
        // the site's point moves, or the reference turns and moves
        let (rot, lin) = dof_point_velocity(d, k, if k_site { root } else { root_ref }, &p);
        out.length_grad[k] = if k_site {
            F.dot(&lin) + angle_by_site.dot(&rot)
        } else {
            -F.dot(&lin) - angle_by_ref.dot(&rot)
        };
        for &i in columns {
            let S_i = &d.cdof[i];
            let value = match (on_site(i), k_site) {
                (true, true) => {
                    let torque = lin.cross(&F);
                    let own = S_i.rot.dot(&torque);
                    let moved = k != i && out.moves(m, k, i);
                    if moved { own + S_k.cross_motion(S_i).dot(&W) } else { own }
                }
                (true, false) => {
                    let force = rot.cross(&F);
                    S_i.dot(&SpatialVec::new(r.cross(&force) + rot.cross(&N), force))
                }
                (false, true) => T::zero(),
                (false, false) if out.moves(m, k, i) => T::zero(),
                (false, false) => -carried(S_i, S_k, &W_ref),
            };
            out.add_moment(m, d, i, k, value, f);
        }
    }
}
