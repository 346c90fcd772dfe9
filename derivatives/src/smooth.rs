//! Derivatives of the smooth forces at fixed acceleration.
//!
//! With r(q, v, a, …) = M a + bias − passive − actuator − applied, forward dynamics solves r = 0: what follows from
//! these derivatives is in [`crate::dynamics`].

use dualstep::model::options::disable;
use dualstep::model::{FrictionModel, JointType};
use dualstep::smooth::passive::{
    compensates_gravity, joint_stiffness, rotation_offset, tendon_extension, tendon_stiffness,
    translation_offset,
};
use dualstep::smooth::qderiv::{QDeriv, mjd_rne_vel};
use dualstep::smooth::{TANH_GAIN, poly};
use dualstep::{Data, Model, Scalar, scalar};
use nalgebra::{Matrix3, Vector3};

use crate::actuator::{MomentGradient, Response, mjd_actuator};
use crate::columns::{Input, input};
use crate::quat::right_jacobian_inverse;
use crate::rne_pos::{RnePos, WorldWrench, mjd_rne_pos, mjd_world_wrenches};

/// Derivatives of the smooth forces at fixed acceleration, and the scratch to compute them, allocated once.
///
/// Rows are forces (nv); matrices are dense and row-major.
#[derive(Clone, Debug)]
pub struct SmoothDeriv<T: Scalar> {
    /// −∂r/∂q: of qfrc_smooth − M·a by position at fixed a (nv × nv).
    pub dq: Vec<T>,
    /// −∂r/∂v: of qfrc_smooth by velocity (nv × nv). All of it: nothing is left out between branches.
    pub dv: Vec<T>,
    /// Of qfrc_smooth by activation (nv × na).
    pub da: Vec<T>,
    /// Of qfrc_smooth by control (nv × nu).
    pub du: Vec<T>,
    /// Gradient of an actuator's length and velocity by position (nv): scratch of one actuator at a time.
    pub(crate) length_grad: Vec<T>,
    pub(crate) velocity_grad: Vec<T>,
    /// Gradient of its moment.
    pub(crate) moment_grad: MomentGradient<T>,
    /// Answers of joint forces to each actuator (nactuator).
    pub(crate) responses: Vec<Response<T>>,
    pub(crate) qderiv: QDeriv<T>,
    pub(crate) rne: RnePos<T>,
    pub(crate) gravcomp: Vec<T>,
    /// No acceleration (nv).
    rest: Vec<T>,
}

impl<T: Scalar> SmoothDeriv<T> {
    /// Room for the derivatives of the model.
    pub fn new(m: &Model) -> Self {
        let zeros = |n: usize| vec![T::zero(); n];
        Self {
            dq: zeros(m.nv * m.nv),
            dv: zeros(m.nv * m.nv),
            da: zeros(m.nv * m.na),
            du: zeros(m.nv * m.nu),
            length_grad: zeros(m.nv),
            velocity_grad: zeros(m.nv),
            moment_grad: MomentGradient::new(m),
            responses: vec![Response::none(); m.nactuator],
            qderiv: QDeriv::new(m),
            rne: RnePos::new(m),
            gravcomp: zeros(m.nv * m.nv),
            rest: zeros(m.nv),
        }
    }

    /// True if moving along degree of freedom k turns or shifts the axis of i: i is beyond k, or they are of
    /// the same ball.
    pub(crate) fn moves(&self, m: &Model, k: usize, i: usize) -> bool {
        self.rne.same_rotation(k, i) || (k < i && m.same_branch(i, k))
    }
}

/// Derivatives of `qfrc_smooth` by position, into `out.dq` (nv × nv): those of actuators, springs, gravity
/// compensation and applied forces minus that of the bias. The other matrices of `out` follow with it.
///
/// - reads  everything that `forward` writes but `qacc`
///
/// Source: what MuJoCo's `mjd_smooth_vel` leaves out; see [`mjd_smooth`] at no acceleration.
pub fn mjd_smooth_pos<T: Scalar>(m: &Model, d: &Data<T>, out: &mut SmoothDeriv<T>) {
    let rest = std::mem::take(&mut out.rest);
    mjd_smooth(m, d, &rest, out);
    out.rest = rest;
}

/// Derivatives of the smooth forces at the acceleration `qacc` (nv).
///
/// - reads  everything that `forward` writes but `qacc`
/// - writes `out`: −∂r/∂q, −∂r/∂v, and ∂qfrc_smooth/∂act, ∂qfrc_smooth/∂ctrl
///
/// A force that is clamped has zero derivative; actuators of a tendon whose total force is limited share the limit.
///
/// Source: see [`crate::rne_pos`]; springs, dampers, actuators by the chain rule.
pub fn mjd_smooth<T: Scalar>(m: &Model, d: &Data<T>, qacc: &[T], out: &mut SmoothDeriv<T>) {
    for x in [&mut out.dq, &mut out.dv, &mut out.da, &mut out.du] {
        x.fill(T::zero());
    }
    let passive = !(m.opt.disabled(disable::SPRING) && m.opt.disabled(disable::DAMPER));

    // forces of actuators, gravity compensation through them, limits of joints
    mjd_actuator(m, d, out);
    let compensated = passive && gravity_compensation(m, d, out);
    joint_level(m, d, compensated, out);

    if passive {
        springs(m, d, out);
        dampers(m, d, out);
    }
    applied(m, d, out);
    bias(m, d, qacc, out);
}

/// −∂/∂(q, v) of inverse dynamics `M a + bias − passive` into `out.dq` and `out.dv`.
pub(crate) fn minus_inverse<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    qacc: &[T],
    out: &mut SmoothDeriv<T>,
) {
    for x in [&mut out.dq, &mut out.dv, &mut out.da, &mut out.du] {
        x.fill(T::zero());
    }
    if !(m.opt.disabled(disable::SPRING) && m.opt.disabled(disable::DAMPER)) {
        if gravity_compensation(m, d, out) {
            for i in (0..m.nv).filter(|&i| !m.jnt_actgravcomp[m.dof_jntid[i]]) {
                let row = i * m.nv..(i + 1) * m.nv;
                add(&mut out.dq[row.clone()], &out.gravcomp[row]);
            }
        }
        springs(m, d, out);
        dampers(m, d, out);
    }
    bias(m, d, qacc, out);
}

/// −∂(M a + bias).
fn bias<T: Scalar>(m: &Model, d: &Data<T>, qacc: &[T], out: &mut SmoothDeriv<T>) {
    out.qderiv.qDeriv.fill(T::zero());
    mjd_rne_vel(m, d, &mut out.qderiv);
    for (x, y) in out.dv.iter_mut().zip(&out.qderiv.qDeriv) {
        *x += *y;
    }
    // into a matrix of its own, then subtracted
    let mut dq = std::mem::take(&mut out.gravcomp);
    dq.fill(T::zero());
    mjd_rne_pos(m, d, qacc, &out.qderiv, &mut out.rne, &mut dq);
    for (x, y) in out.dq.iter_mut().zip(&dq) {
        *x -= *y;
    }
    out.gravcomp = dq;
}

/// Forces and torques on bodies: fixed in the world, at moving centres of mass.
fn applied<T: Scalar>(m: &Model, d: &Data<T>, out: &mut SmoothDeriv<T>) {
    let bodies = m.bodies_base_to_tip();
    let some = bodies.filter(|&b| d.xfrc_applied[b].iter().any(|x| !x.vanishes()));
    let wrenches = some.map(|b| {
        let [fx, fy, fz, tx, ty, tz] = d.xfrc_applied[b];
        WorldWrench {
            body: b,
            point: d.xipos[b],
            force: Vector3::new(fx, fy, fz),
            torque: Vector3::new(tx, ty, tz),
        }
    });
    mjd_world_wrenches(m, d, wrenches, &mut out.rne, &mut out.dq);
}

/// Writes ∂qfrc_gravcomp/∂q to `out.gravcomp`; false if there is none.
pub(crate) fn gravity_compensation<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    out: &mut SmoothDeriv<T>,
) -> bool {
    if !compensates_gravity(m) {
        return false;
    }
    out.gravcomp.fill(T::zero());
    let bodies = m.bodies_base_to_tip().filter(|&b| m.body_gravcomp[b] != 0.0);
    let wrenches = bodies.map(|b| WorldWrench {
        body: b,
        point: d.xipos[b],
        force: scalar::lift3(&(m.opt.gravity * -(m.body_mass[b] * m.body_gravcomp[b]))),
        torque: Vector3::zeros(),
    });
    mjd_world_wrenches(m, d, wrenches, &mut out.rne, &mut out.gravcomp);
    true
}

/// Adds gravity compensation, by actuators or passive, around the limits of the actuator force at joints.
fn joint_level<T: Scalar>(m: &Model, d: &Data<T>, compensated: bool, out: &mut SmoothDeriv<T>) {
    let actuated = m.nactuator > 0 && !m.opt.disabled(disable::ACTUATION);
    for j in 0..m.njnt {
        let adr = m.jnt_dofadr[j];
        for i in adr..adr + m.jnt_type[j].nv() {
            let row = i * m.nv..(i + 1) * m.nv;
            let by_actuator = m.jnt_actgravcomp[j];
            if compensated && by_actuator && actuated {
                add(&mut out.dq[row.clone()], &out.gravcomp[row.clone()]);
            }
            if actuated && m.jnt_actfrclimited[j] && i == adr && saturated(m, d, j) {
                out.dq[row.clone()].fill(T::zero());
                out.dv[row.clone()].fill(T::zero());
                out.da[i * m.na..(i + 1) * m.na].fill(T::zero());
                out.du[i * m.nu..(i + 1) * m.nu].fill(T::zero());
            }
            if compensated && !by_actuator {
                add(&mut out.dq[row.clone()], &out.gravcomp[row]);
            }
        }
    }
}

/// True if the total actuator force at a scalar joint is beyond its range, and so was clamped. At the very end of
/// the range it was not: the total is summed again, as in the pipeline.
pub(crate) fn saturated<T: Scalar>(m: &Model, d: &Data<T>, j: usize) -> bool {
    let (dof, [lo, hi]) = (m.jnt_dofadr[j], m.jnt_actfrcrange[j]);
    let clamped = d.qfrc_actuator[dof].re();
    if clamped > lo && clamped < hi {
        return false;
    }
    let mut total = 0.0;
    for a in 0..m.nactuator {
        for e in m.moment_rowadr[a]..m.moment_rowadr[a] + m.moment_rownnz[a] {
            if m.moment_colind[e] == dof {
                total += d.actuator_moment[e].re() * d.actuator_force[a].re();
            }
        }
    }
    if m.jnt_actgravcomp[j] && !m.opt.disabled(disable::GRAVITY) {
        total += d.qfrc_gravcomp[dof].re();
    }
    total < lo || total > hi
}

fn add<T: Scalar>(to: &mut [T], from: &[T]) {
    for (x, y) in to.iter_mut().zip(from) {
        *x += *y;
    }
}

fn springs<T: Scalar>(m: &Model, d: &Data<T>, out: &mut SmoothDeriv<T>) {
    if m.opt.disabled(disable::SPRING) {
        return;
    }
    let nv = m.nv;
    for j in 0..m.njnt {
        let k = joint_stiffness(m, j);
        if poly::is_zero(&k) {
            continue;
        }
        let (q, dof) = (m.jnt_qposadr[j], m.jnt_dofadr[j]);
        match m.jnt_type[j] {
            JointType::Slide | JointType::Hinge => {
                let x = d.qpos[q] - T::lift(m.qpos_spring[q]);
                out.dq[dof * nv + dof] -= tangent_stiffness(&k, x);
            }
            JointType::Ball => {
                rotational_spring(&k, &rotation_offset(m, d, q), dof, nv, &mut out.dq);
            }
            JointType::Free => {
                let K = radial_stiffness(&k, &translation_offset(m, d, q));
                subtract_block(&K, dof, nv, &mut out.dq);
                let x = rotation_offset(m, d, q + 3);
                rotational_spring(&k, &x, dof + 3, nv, &mut out.dq);
            }
        }
    }
    for t in 0..m.ntendon {
        let k = tendon_stiffness(m, t);
        let x = tendon_extension(m, d, t);
        if !poly::is_zero(&k) && inside_spring(m, d, t) {
            let slope = -tangent_stiffness(&k, x);
            add_jtbj(m, d, t, slope, &mut out.dq);
        }
    }
}

/// d(x·coefficient(x))/dx.
fn tangent_stiffness<T: Scalar>(k: &[f64; 3], x: T) -> T {
    poly::coefficient(&[k[0], 2.0 * k[1], 3.0 * k[2]], x)
}

/// True outside the dead band of a tendon's spring.
fn inside_spring<T: Scalar>(m: &Model, d: &Data<T>, t: usize) -> bool {
    let [lower, upper] = m.tendon_lengthspring[t];
    let length = d.ten_length[t].re();
    length > upper || length < lower
}

/// d(x·coefficient(|x|))/dx = c 1 + c′/|x| x xᵀ.
fn radial_stiffness<T: Scalar>(k: &[f64; 3], x: &Vector3<T>) -> Matrix3<T> {
    let r2 = x.norm_squared();
    let linear = Matrix3::from_diagonal_element(T::lift(k[0]));
    if r2.re() == 0.0 || (k[1] == 0.0 && k[2] == 0.0) {
        return linear;
    }
    let r = r2.sqrt();
    let c = poly::coefficient(k, r);
    let slope = T::lift(k[1]) + T::lift(2.0 * k[2]) * r;
    Matrix3::from_diagonal_element(c) + x * x.transpose() * (slope / r)
}

fn rotational_spring<T: Scalar>(k: &[f64; 3], x: &Vector3<T>, dof: usize, nv: usize, dq: &mut [T]) {
    let K = radial_stiffness(k, x) * right_jacobian_inverse(x);
    subtract_block(&K, dof, nv, dq);
}

fn subtract_block<T: Scalar>(K: &Matrix3<T>, dof: usize, nv: usize, dq: &mut [T]) {
    for i in 0..3 {
        for k in 0..3 {
            dq[(dof + i) * nv + dof + k] -= K[(i, k)];
        }
    }
}

/// Derivative by speed of the force of a damper with coefficients `b` and of smooth friction.
pub(crate) fn damping_slope<T: Scalar>(m: &Model, b: &[f64; 3], loss: f64, v: T) -> T {
    let mut slope = T::zero();
    if !m.opt.disabled(disable::DAMPER) {
        slope -= poly::derivative_odd(b, v);
    }
    let friction = m.opt.friction == FrictionModel::Tanh && !m.opt.disabled(disable::FRICTIONLOSS);
    if friction && loss != 0.0 {
        // d(f tanh(kv))/dv = f k (1 − tanh²(kv))
        let t = (v * T::lift(TANH_GAIN)).tanh();
        slope -= (T::one() - t * t) * T::lift(loss * TANH_GAIN);
    }
    slope
}

/// True if tendon t resists being moved.
pub(crate) fn tendon_damped(m: &Model, t: usize) -> bool {
    !poly::is_zero(&m.tendon_damping_eff[t]) || m.tendon_frictionloss[t] != 0.0
}

/// Dampers and smooth friction.
fn dampers<T: Scalar>(m: &Model, d: &Data<T>, out: &mut SmoothDeriv<T>) {
    for i in 0..m.nv {
        out.dv[i * m.nv + i] +=
            damping_slope(m, &m.dof_damping_eff[i], m.dof_frictionloss[i], d.qvel[i]);
    }
    for t in (0..m.ntendon).filter(|&t| tendon_damped(m, t)) {
        let (b, loss) = (&m.tendon_damping_eff[t], m.tendon_frictionloss[t]);
        let slope = damping_slope(m, b, loss, d.ten_velocity[t]);
        add_jtbj(m, d, t, slope, &mut out.dv);
    }
}

/// to += s Jᵀ J for tendon t.
fn add_jtbj<T: Scalar>(m: &Model, d: &Data<T>, t: usize, s: T, to: &mut [T]) {
    let row = m.ten_J_rowadr[t]..m.ten_J_rowadr[t] + m.ten_J_rownnz[t];
    for p in row.clone() {
        for q in row.clone() {
            to[m.ten_J_colind[p] * m.nv + m.ten_J_colind[q]] += d.ten_J[p] * s * d.ten_J[q];
        }
    }
}

impl<T: Scalar> SmoothDeriv<T> {
    /// The columns of [dq dv da du] that are wanted, row-major (nv × columns).
    pub(crate) fn gather(&self, m: &Model, columns: &[usize], block: &mut [T]) {
        for (k, &column) in columns.iter().enumerate() {
            let (matrix, width, j) = match input(m, column) {
                Input::Position(j) => (&self.dq, m.nv, j),
                Input::Velocity(j) => (&self.dv, m.nv, j),
                Input::Activation(j) => (&self.da, m.na, j),
                Input::Control(j) => (&self.du, m.nu, j),
            };
            for i in 0..m.nv {
                block[i * columns.len() + k] = matrix[i * width + j];
            }
        }
    }
}
