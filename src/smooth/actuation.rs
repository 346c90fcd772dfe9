//! Actuator dynamics and forces.

use super::muscle;
use crate::data::Data;
use crate::model::options::disable;
use crate::model::{BiasType, DynType, GainType, JointType, Model, TrnType};
use crate::scalar::Scalar;

/// Rates of change of activations, actuator forces, and those in joint space.
///
/// - reads  `ctrl` (nu), `act` (na), `actuator_length`, `actuator_velocity` (nactuator),
///   `actuator_moment`, `qfrc_gravcomp` (nv)
/// - writes `act_dot` (na); `actuator_force` (nactuator); `qfrc_actuator` (nv) [N, N·m]
///
/// force = gain · (ctrl or act) + bias, clamped; qfrc = momentᵀ · force, clamped per joint. A rotational
/// position servo takes the representative of its setpoint nearest to the current angle.
///
/// Source: MuJoCo `mj_fwdActuation`; manual, "Actuation model".
pub fn actuation<T: Scalar>(m: &Model, d: &mut Data<T>) {
    d.actuator_force.fill(T::zero());
    d.qfrc_actuator.fill(T::zero());
    d.act_dot.fill(T::zero());
    if m.nactuator == 0 || m.opt.disabled(disable::ACTUATION) {
        return;
    }
    for a in 0..m.nactuator {
        let u = control(m, d, a);
        if let Some(adr) = m.actuator_actadr[a] {
            d.act_dot[adr] = act_dot(m, a, u, d.act[adr]);
        }
        if !m.actuator_disabled(a) {
            let [gain, bias] = gain_bias(m, d, a);
            d.actuator_force[a] = gain * input(m, d, a, u) + bias;
        }
    }
    limit_tendon_forces(m, d);
    for a in 0..m.nactuator {
        if m.actuator_forcelimited[a] {
            d.actuator_force[a] = clip(d.actuator_force[a], &m.actuator_forcerange[a]);
        }
        let f = d.actuator_force[a];
        for k in m.moment_rowadr[a]..m.moment_rowadr[a] + m.moment_rownnz[a] {
            d.qfrc_actuator[m.moment_colind[k]] += d.actuator_moment[k] * f;
        }
    }
    joint_level(m, d);
}

/// `x` within `range`; outside, the constant end of the range (its tangent is zero).
///
/// At the very end the tangent of `x` is kept, where MuJoCo's differences are one-sided.
pub fn clip<T: Scalar>(x: T, range: &[f64; 2]) -> T {
    if x.re() < range[0] {
        T::lift(range[0])
    } else if x.re() > range[1] {
        T::lift(range[1])
    } else {
        x
    }
}

impl Model {
    /// True if the actuator's group is switched off. Source: MuJoCo `mj_actuatorDisabled`.
    pub fn actuator_disabled(&self, a: usize) -> bool {
        let group = self.actuator_group[a];
        (0..31).contains(&group) && self.opt.disableactuator >> group & 1 == 1
    }
}

/// Control of actuator `a`, clamped to its range; zero for an actuator without one.
pub fn control<T: Scalar>(m: &Model, d: &Data<T>, a: usize) -> T {
    if m.actuator_ctrlnum[a] == 0 {
        return T::zero();
    }
    let adr = m.actuator_ctrladr[a];
    if m.actuator_ctrllimited[adr] && !m.opt.disabled(disable::CLAMPCTRL) {
        clip(d.ctrl[adr], &m.actuator_ctrlrange[adr])
    } else {
        d.ctrl[adr]
    }
}

fn act_dot<T: Scalar>(m: &Model, a: usize, u: T, act: T) -> T {
    let prm = &m.actuator_dynprm[a];
    match m.actuator_dyntype[a] {
        DynType::None => T::zero(),
        DynType::Integrator => u,
        DynType::Filter | DynType::FilterExact => (u - act) / T::lift(prm[0].max(crate::MINVAL)),
        DynType::Muscle => muscle::dynamics(u, act, prm),
    }
}

/// Activation of actuator `a` one timestep later, at the rate `act_dot`.
///
/// Source: MuJoCo `mj_nextActivation`.
pub fn next_activation<T: Scalar>(m: &Model, a: usize, act: T, act_dot: T) -> T {
    let h = m.opt.timestep;
    let next = if m.actuator_dyntype[a] == DynType::FilterExact {
        // a(h) = a + ȧ τ (1 − exp(−h/τ))
        let tau = m.actuator_dynprm[a][0].max(crate::MINVAL);
        act + act_dot * T::lift(tau * (1.0 - (-h / tau).exp()))
    } else {
        act + act_dot * T::lift(h)
    };
    if m.actuator_actlimited[a] { clip(next, &m.actuator_actrange[a]) } else { next }
}

/// What the gain of actuator `a` multiplies at the current state.
pub fn gain_input<T: Scalar>(m: &Model, d: &Data<T>, a: usize) -> T {
    input(m, d, a, control(m, d, a))
}

/// What the gain multiplies: the control, or the (next) activation; wrapped for rotational servos.
fn input<T: Scalar>(m: &Model, d: &Data<T>, a: usize, u: T) -> T {
    let x = match m.actuator_actadr[a] {
        None => u,
        Some(adr) if m.actuator_actearly[a] => next_activation(m, a, d.act[adr], d.act_dot[adr]),
        Some(adr) => d.act[adr],
    };
    match wrap_period(m, a) {
        Some(period) => wrap_setpoint(x, d.actuator_length[a], period),
        None => x,
    }
}

/// Gain and bias at the current length and velocity.
pub fn gain_bias<T: Scalar>(m: &Model, d: &Data<T>, a: usize) -> [T; 2] {
    let (length, velocity) = (d.actuator_length[a], d.actuator_velocity[a]);
    let (lengthrange, acc0) = (&m.actuator_lengthrange[a], m.actuator_acc0[a]);
    let affine = |p: &[f64]| T::lift(p[0]) + T::lift(p[1]) * length + T::lift(p[2]) * velocity;

    let gainprm = &m.actuator_gainprm[a];
    let gain = match m.actuator_gaintype[a] {
        GainType::Fixed => T::lift(gainprm[0]),
        GainType::Affine => affine(gainprm),
        GainType::Muscle => muscle::gain(length, velocity, lengthrange, acc0, gainprm),
    };
    let biasprm = &m.actuator_biasprm[a];
    let bias = match m.actuator_biastype[a] {
        BiasType::None => T::zero(),
        BiasType::Affine => affine(biasprm),
        BiasType::Muscle => muscle::bias(length, lengthrange, acc0, biasprm)[0],
    };
    [gain, bias]
}

/// Period of the length of a rotational position servo: 2π times the norm of its gear; none for others.
///
/// A servo has a fixed gain that its affine bias mirrors, and no or integrated activation. Its length is an
/// angle if it acts on a ball joint, or on the rotation of a site relative to a reference site.
pub fn wrap_period(m: &Model, a: usize) -> Option<f64> {
    let servo = m.actuator_gaintype[a] == GainType::Fixed
        && m.actuator_biastype[a] == BiasType::Affine
        && m.actuator_gainprm[a][0] == -m.actuator_biasprm[a][1]
        && matches!(m.actuator_dyntype[a], DynType::None | DynType::Integrator);
    if !servo {
        return None;
    }
    let gear = &m.actuator_gear[a];
    let norm = |g: &[f64]| g.iter().map(|x| x * x).sum::<f64>().sqrt();
    let period = match (m.actuator_trntype[a], m.actuator_trnid[a]) {
        (TrnType::Site, [_, Some(_)]) if gear[..3] == [0.0; 3] => norm(&gear[3..]),
        (TrnType::Joint | TrnType::JointInParent, [Some(j), _])
            if m.jnt_type[j] == JointType::Ball =>
        {
            norm(&gear[..3])
        }
        _ => 0.0,
    };
    (period > 0.0).then_some(period * std::f64::consts::TAU)
}

/// The representative of setpoint `u` nearest to `length`.
pub fn wrap_setpoint<T: Scalar>(u: T, length: T, period: f64) -> T {
    u - T::lift(period * ((u - length).re() / period).round())
}

/// Scales the actuators of a tendon whose total force is out of its `actuatorfrcrange`.
fn limit_tendon_forces<T: Scalar>(m: &Model, d: &mut Data<T>) {
    for t in (0..m.ntendon).filter(|&t| m.tendon_actfrclimited[t]) {
        let acts = |a: &usize| {
            m.actuator_trntype[*a] == TrnType::Tendon && m.actuator_trnid[*a][0] == Some(t)
        };
        let mut total = T::zero();
        for a in (0..m.nactuator).filter(acts) {
            total += d.actuator_force[a];
        }
        let [lo, hi] = m.tendon_actfrcrange[t];
        let scale = if total.re() < lo && total.re() != 0.0 {
            T::lift(lo) / total
        } else if total.re() > hi && total.re() != 0.0 {
            T::lift(hi) / total
        } else {
            continue;
        };
        for a in (0..m.nactuator).filter(acts) {
            d.actuator_force[a] *= scale;
        }
    }
}

/// Gravity compensation by actuators, then the limits of the total force at scalar joints.
fn joint_level<T: Scalar>(m: &Model, d: &mut Data<T>) {
    let gravity = !m.opt.disabled(disable::GRAVITY);
    for j in 0..m.njnt {
        let adr = m.jnt_dofadr[j];
        if m.jnt_actgravcomp[j] && gravity {
            for i in adr..adr + m.jnt_type[j].nv() {
                d.qfrc_actuator[i] += d.qfrc_gravcomp[i];
            }
        }
        if m.jnt_actfrclimited[j] {
            d.qfrc_actuator[adr] = clip(d.qfrc_actuator[adr], &m.jnt_actfrcrange[j]);
        }
    }
}
