//! Derivatives of actuator forces by position, velocity, activation and control.
//!
//! qfrc = momentᵀ f(l, l̇, x): ∂qfrc/∂q = momentᵀ (f_l ∂l/∂q + f_l̇ ∂l̇/∂q) + (∂moment/∂q)ᵀ f, with l̇ = moment · v.
//! Moments of scalar joints and of tendons are constant; those of balls, free joints in the parent's frame and
//! sites turn with the bodies.

use dualstep::math::{Quat, SpatialVec};
use dualstep::model::options::disable;
use dualstep::model::{BiasType, DynType, GainType, JointType, TrnType};
use dualstep::scalar::Dual;
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
    let mut responses = std::mem::take(&mut out.responses);
    respond(m, d, &mut responses);
    for a in (0..m.nactuator).filter(|&a| !m.actuator_disabled(a)) {
        gradients(m, d, a, d.actuator_force[a], out);
        let Response { force: f, weight: Some(weight) } = responses[a] else { continue };
        let row = m.moment_rowadr[a]..m.moment_rowadr[a] + m.moment_rownnz[a];
        let (colind, moment) = (&m.moment_colind[row.clone()], &d.actuator_moment[row]);
        for (&i, &arm) in colind.iter().zip(lever(m, d, a)) {
            let arm = arm * weight;
            let (by_length, by_velocity) = (arm * f.length, arm * f.velocity);
            for (&k, &mk) in colind.iter().zip(moment) {
                out.dv[i * m.nv + k] += by_velocity * mk;
                out.dq[i * m.nv + k] +=
                    by_length * out.length_grad[k] + by_velocity * out.velocity_grad[k];
            }
            if let Some(act) = m.actuator_actadr[a] {
                out.da[i * m.na + act] += arm * f.act;
            }
            if m.actuator_ctrlnum[a] > 0 {
                out.du[i * m.nu + m.actuator_ctrladr[a]] += arm * f.ctrl;
            }
        }
    }
    out.responses = responses;
}

/// How joint forces answer to an actuator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Response<T> {
    /// Its force before any limit.
    force: ForceDerivative<T>,
    /// Change of `qfrc_actuator` with that force, as a multiple of [`lever`]; none if the force is clamped.
    weight: Option<T>,
}

impl<T: Scalar> Response<T> {
    /// Of an actuator that is switched off.
    pub(crate) fn none() -> Self {
        let zero = T::zero();
        let force =
            ForceDerivative { force: zero, length: zero, velocity: zero, act: zero, ctrl: zero };
        Self { force, weight: None }
    }
}

/// Jacobian of the actuator's tendon, or its moment: one number for each degree of freedom of its pattern.
fn lever<'a, T: Scalar>(m: &Model, d: &'a Data<T>, a: usize) -> &'a [T] {
    match (m.actuator_trntype[a], m.actuator_trnid[a]) {
        (TrnType::Tendon, [Some(t), _]) => {
            &d.ten_J[m.ten_J_rowadr[t]..m.ten_J_rowadr[t] + m.ten_J_rownnz[t]]
        }
        _ => &d.actuator_moment[m.moment_rowadr[a]..m.moment_rowadr[a] + m.moment_rownnz[a]],
    }
}

/// Responses of all actuators.
///
/// A tendon whose total force F leaves its range at the limit L scales its actuators, f′ₐ = s fₐ with s = L/F, so
/// that δf′ₐ = s δfₐ − (f′ₐ/F) Σ δf_b. An actuator that is then clamped by its own range does not change. Each δf_b
/// thus acts on the tendon by s g_b, if b is not clamped, less Σ gₐ f′ₐ / F over those that are not, g the gears.
fn respond<T: Scalar>(m: &Model, d: &Data<T>, out: &mut [Response<T>]) {
    for a in 0..m.nactuator {
        out[a] = Response::none();
        if !m.actuator_disabled(a) {
            out[a].force = free_force_derivative(m, d, a);
            let clamped = force_clamped(m, a, out[a].force.force.re());
            let gear = match m.actuator_trntype[a] {
                TrnType::Tendon => T::lift(m.actuator_gear[a][0]),
                _ => T::one(),
            };
            out[a].weight = (!clamped).then_some(gear);
        }
    }
    for t in (0..m.ntendon).filter(|&t| m.tendon_actfrclimited[t]) {
        let Some((total, scale)) = tendon_scale(m, t, |a| out[a].force.force) else { continue };
        let mut common = T::zero();
        for a in pulling(m, t).filter(|&a| !m.actuator_disabled(a)) {
            let force = out[a].force.force * scale;
            out[a].weight = None;
            if !force_clamped(m, a, force.re()) {
                let gear = T::lift(m.actuator_gear[a][0]);
                common += gear * force / total;
                out[a].weight = Some(gear * scale);
            }
        }
        for a in pulling(m, t).filter(|&a| !m.actuator_disabled(a)) {
            out[a].weight = Some(out[a].weight.unwrap_or_else(T::zero) - common);
        }
    }
}

/// Actuators that pull on a tendon.
pub(crate) fn pulling(m: &Model, tendon: usize) -> impl Iterator<Item = usize> {
    (0..m.nactuator).filter(move |&a| {
        m.actuator_trntype[a] == TrnType::Tendon && m.actuator_trnid[a][0] == Some(tendon)
    })
}

/// Total of the forces on a limited tendon, and what scales it onto its limit; none if it is within.
pub(crate) fn tendon_scale<T: Scalar>(
    m: &Model,
    tendon: usize,
    force: impl Fn(usize) -> T,
) -> Option<(T, T)> {
    let total = pulling(m, tendon).fold(T::zero(), |sum, a| sum + force(a));
    let [lo, hi] = m.tendon_actfrcrange[tendon];
    let limit = if total.re() < lo { lo } else { hi };
    let beyond = (total.re() < lo || total.re() > hi) && total.re() != 0.0;
    beyond.then(|| (total, T::lift(limit) / total))
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

/// ∂force/∂velocity before any limit in place of the force, and its derivatives.
///
/// Only gains of muscles bend over length and velocity.
pub(crate) fn slope_derivative(m: &Model, d: &Data<f64>, a: usize) -> ForceDerivative<f64> {
    let x = gain_input(m, d, a);
    let [slope, by_length, by_velocity] = match m.actuator_gaintype[a] {
        GainType::Fixed => [0.0; 3],
        GainType::Affine => [m.actuator_gainprm[a][2], 0.0, 0.0],
        GainType::Muscle => {
            let seed = |x: f64, k: usize| {
                Dual::<2>::from_parts(|part| if part == 0 { x } else { (part == k).into() })
            };
            let (l, v) = (seed(d.actuator_length[a], 1), seed(d.actuator_velocity[a], 2));
            let (range, acc0) = (&m.actuator_lengthrange[a], m.actuator_acc0[a]);
            let [_, slope] = muscle::gain_derivative(l, v, range, acc0, &m.actuator_gainprm[a]);
            std::array::from_fn(|part| slope.part(part))
        }
    };
    let bias = match m.actuator_biastype[a] {
        BiasType::Affine => m.actuator_biasprm[a][2],
        BiasType::None | BiasType::Muscle => 0.0,
    };
    let [x_act, x_ctrl] = input_derivative(m, d, a);
    ForceDerivative {
        force: slope * x + bias,
        length: by_length * x,
        velocity: by_velocity * x,
        act: slope * x_act,
        ctrl: slope * x_ctrl,
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

/// ∂moment/∂q of one actuator at a time, over the degrees of freedom of its pattern: no others change it.
#[derive(Clone, Debug)]
pub(crate) struct MomentGradient<T> {
    /// Row-major (n × n), n the length of the pattern: row the entry of the moment, column the position. Empty if the
    /// moment is constant.
    values: Vec<T>,
    n: usize,
    /// Place of each degree of freedom in the pattern (nv).
    place: Vec<usize>,
}

impl<T: Scalar> MomentGradient<T> {
    /// Room for the actuators of the model.
    pub(crate) fn new(m: &Model) -> Self {
        let n = m.moment_rownnz.iter().max().copied().unwrap_or(0);
        Self { values: Vec::with_capacity(n * n), n: 0, place: vec![0; m.nv] }
    }

    /// Starts the gradient of an actuator: none if its moment is constant.
    fn start(&mut self, pattern: &[usize], constant: bool) {
        self.n = pattern.len();
        self.values.clear();
        if !constant {
            self.values.resize(self.n * self.n, T::zero());
            for (place, &dof) in pattern.iter().enumerate() {
                self.place[dof] = place;
            }
        }
    }

    /// ∂moment_i/∂q_k = value, by degrees of freedom.
    fn set(&mut self, i: usize, k: usize, value: T) {
        self.values[self.place[i] * self.n + self.place[k]] = value;
    }

    /// Rows, in the order of the pattern; none if the moment is constant.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &[T]> {
        self.values.chunks_exact(self.n.max(1))
    }
}

/// Degrees of freedom that an actuator can act on.
pub(crate) fn pattern(m: &Model, a: usize) -> &[usize] {
    &m.moment_colind[m.moment_rowadr[a]..m.moment_rowadr[a] + m.moment_rownnz[a]]
}

/// Writes ∂l/∂q, ∂l̇/∂q and ∂moment/∂q of actuator `a` into `out`, and adds (∂moment/∂q)ᵀ f to `out.dq`.
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
    let dofs = pattern(m, a);
    let constant = match m.actuator_trntype[a] {
        TrnType::Joint => true,
        TrnType::JointInParent => matches!(m.jnt_type[id], JointType::Slide | JointType::Hinge),
        _ => m.actuator_trntype[a] != TrnType::Site,
    };
    out.moment_grad.start(dofs, constant);
    match m.actuator_trntype[a] {
        TrnType::Joint | TrnType::JointInParent => joint(m, d, a, id, out),
        TrnType::Tendon => constant_moment(m, d, a, out),
        TrnType::Site => match refsite {
            None => site(m, d, a, id, out),
            Some(reference) => site_relative(m, d, a, [id, reference], out),
        },
        TrnType::SliderCrank | TrnType::Body | TrnType::So3 => {}
    }
    for (&i, row) in dofs.iter().zip(out.moment_grad.rows()) {
        for (&k, &value) in dofs.iter().zip(row) {
            out.dq[i * m.nv + k] += value * f;
            out.velocity_grad[k] += value * d.qvel[i];
        }
    }
}

/// The moment is the gradient of the length and does not change.
fn constant_moment<T: Scalar>(m: &Model, d: &Data<T>, a: usize, out: &mut SmoothDeriv<T>) {
    for k in m.moment_rowadr[a]..m.moment_rowadr[a] + m.moment_rownnz[a] {
        out.length_grad[m.moment_colind[k]] = d.actuator_moment[k];
    }
}

fn joint<T: Scalar>(m: &Model, d: &Data<T>, a: usize, j: usize, out: &mut SmoothDeriv<T>) {
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
                out.moment_grad.set(turn + i, turn + k, turned[(i, k)]);
            }
        }
    }
}

/// Change of the power of a wrench on axis i when axis k moves. The wrench moves with a body that both move; k
/// is beyond i, so that only k's motion of the wrench counts.
fn carried<T: Scalar>(S_i: &SpatialVec<T>, S_k: &SpatialVec<T>, W: &SpatialVec<T>) -> T {
    S_i.dot(&S_k.cross_force(W))
}

fn site<T: Scalar>(m: &Model, d: &Data<T>, a: usize, s: usize, out: &mut SmoothDeriv<T>) {
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
            out.moment_grad.set(i, k, value);
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
            out.moment_grad.set(i, k, value);
        }
    }
}
