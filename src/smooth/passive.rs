//! Passive forces: springs, dampers, gravity compensation, adhesion.

use nalgebra::Vector3;

use super::jacobian::apply_ft;
use super::poly;
use super::transmission::add_normal;
use crate::collision::Exclude;
use crate::data::Data;
use crate::math::Quat;
use crate::model::options::disable;
use crate::model::{FrictionModel, JointType, Model};
use crate::scalar::{Scalar, lift3};

/// Speed scale of the smooth friction model: −frictionloss · tanh([`TANH_GAIN`] · v).
pub const TANH_GAIN: f64 = 1000.0;

/// Forces of joint and tendon springs and dampers, of gravity compensation, and of surfaces that attract each other.
///
/// - reads  `qpos` (nq), `qvel` (nv), `ten_length`, `ten_velocity` (ntendon), `ten_J`; `xipos`, `cdof`,
///   `subtree_com`; `contact`
/// - writes `qfrc_spring`, `qfrc_damper`, `qfrc_gravcomp`, `qfrc_passive` (nv) [N, N·m]
///
/// With both springs and dampers disabled all of them vanish, gravity compensation too. Gravity
/// compensation of joints with `actuatorgravcomp` is left to the actuators.
///
/// Source: MuJoCo `mj_passive`; manual, "Passive forces".
pub fn passive<T: Scalar>(m: &Model, d: &mut Data<T>) {
    d.qfrc_spring.fill(T::zero());
    d.qfrc_damper.fill(T::zero());
    d.qfrc_gravcomp.fill(T::zero());
    d.qfrc_passive.fill(T::zero());
    let springs = !m.opt.disabled(disable::SPRING);
    let dampers = !m.opt.disabled(disable::DAMPER);
    if !springs && !dampers {
        return;
    }
    if springs {
        joint_springs(m, d);
        tendon_springs(m, d);
    }
    if dampers {
        dof_dampers(m, d);
        tendon_dampers(m, d);
    }
    let compensated = gravity_compensation(m, d);

    for i in 0..m.nv {
        d.qfrc_passive[i] = d.qfrc_spring[i] + d.qfrc_damper[i];
        if compensated && !m.jnt_actgravcomp[m.dof_jntid[i]] {
            d.qfrc_passive[i] += d.qfrc_gravcomp[i];
        }
    }
    adhesion(m, d);
    if m.opt.friction == FrictionModel::Tanh {
        tanh_friction(m, d);
    }
}

/// Stiffness polynomial of a joint.
pub fn joint_stiffness(m: &Model, j: usize) -> [f64; 3] {
    [m.jnt_stiffness[j], m.jnt_stiffnesspoly[j][0], m.jnt_stiffnesspoly[j][1]]
}

/// Stiffness polynomial of a tendon.
pub fn tendon_stiffness(m: &Model, t: usize) -> [f64; 3] {
    [m.tendon_stiffness[t], m.tendon_stiffnesspoly[t][0], m.tendon_stiffnesspoly[t][1]]
}

/// Displacement of a translational spring of joint `j` whose positions start at `q` \[m\].
pub fn translation_offset<T: Scalar>(m: &Model, d: &Data<T>, q: usize) -> Vector3<T> {
    Vector3::from_fn(|k, _| d.qpos[q + k] - T::lift(m.qpos_spring[q + k]))
}

/// Rotation vector from the rest orientation of a spring to the quaternion at `q`, body frame \[rad\].
pub fn rotation_offset<T: Scalar>(m: &Model, d: &Data<T>, q: usize) -> Vector3<T> {
    let rest = &m.qpos_spring[q..q + 4];
    let rest = Quat::lift(&Quat::from_slice(rest));
    Quat::from_slice(&d.qpos[q..q + 4]).normalized().difference(rest)
}

/// Extension of a tendon's spring beyond its dead band.
pub fn tendon_extension<T: Scalar>(m: &Model, d: &Data<T>, t: usize) -> T {
    let [lower, upper] = m.tendon_lengthspring[t];
    let length = d.ten_length[t];
    // a spring without a dead band pulls on both sides, and has a slope at its rest length too
    if length.re() > upper || lower == upper {
        length - T::lift(upper)
    } else if length.re() < lower {
        length - T::lift(lower)
    } else {
        T::zero()
    }
}

fn joint_springs<T: Scalar>(m: &Model, d: &mut Data<T>) {
    for j in 0..m.njnt {
        let k = joint_stiffness(m, j);
        if poly::is_zero(&k) {
            continue;
        }
        let (q, adr) = (m.jnt_qposadr[j], m.jnt_dofadr[j]);
        match m.jnt_type[j] {
            JointType::Slide | JointType::Hinge => {
                let x = d.qpos[q] - T::lift(m.qpos_spring[q]);
                d.qfrc_spring[adr] = -x * poly::coefficient(&k, x);
            }
            JointType::Ball => {
                let x = rotation_offset(m, d, q);
                radial_spring(&k, &x, &mut d.qfrc_spring[adr..adr + 3]);
            }
            JointType::Free => {
                let x = translation_offset(m, d, q);
                radial_spring(&k, &x, &mut d.qfrc_spring[adr..adr + 3]);
                let x = rotation_offset(m, d, q + 3);
                radial_spring(&k, &x, &mut d.qfrc_spring[adr + 3..adr + 6]);
            }
        }
    }
}

/// f −= x · coefficient(|x|).
fn radial_spring<T: Scalar>(k: &[f64; 3], x: &Vector3<T>, f: &mut [T]) {
    // at x = 0 the norm has no derivative, and the linear term is all that matters
    let r2 = x.norm_squared();
    let c = if r2.re() == 0.0 || (k[1] == 0.0 && k[2] == 0.0) {
        T::lift(k[0])
    } else {
        poly::coefficient(k, r2.sqrt())
    };
    for i in 0..3 {
        f[i] -= x[i] * c;
    }
}

fn dof_dampers<T: Scalar>(m: &Model, d: &mut Data<T>) {
    for i in 0..m.nv {
        let b = &m.dof_damping_eff[i];
        let v = d.qvel[i];
        d.qfrc_damper[i] = -v * poly::coefficient_odd(b, v);
    }
}

fn tendon_springs<T: Scalar>(m: &Model, d: &mut Data<T>) {
    for t in 0..m.ntendon {
        let k = tendon_stiffness(m, t);
        if !poly::is_zero(&k) {
            let x = tendon_extension(m, d, t);
            let f = -x * poly::coefficient(&k, x);
            add_tendon_force(m, &d.ten_J, t, f, &mut d.qfrc_spring);
        }
    }
}

fn tendon_dampers<T: Scalar>(m: &Model, d: &mut Data<T>) {
    for t in 0..m.ntendon {
        let b = &m.tendon_damping_eff[t];
        if !poly::is_zero(b) {
            let v = d.ten_velocity[t];
            let f = -v * poly::coefficient_odd(b, v);
            add_tendon_force(m, &d.ten_J, t, f, &mut d.qfrc_damper);
        }
    }
}

/// qfrc += Jᵀ f for tendon `t`.
fn add_tendon_force<T: Scalar>(m: &Model, ten_J: &[T], t: usize, f: T, qfrc: &mut [T]) {
    for k in m.ten_J_rowadr[t]..m.ten_J_rowadr[t] + m.ten_J_rownnz[t] {
        qfrc[m.ten_J_colind[k]] += ten_J[k] * f;
    }
}

/// True if gravity acts and some body compensates it. As in MuJoCo, negative factors alone do not count: some body
/// must have a positive one (`mjModel.flg_gravcomp`).
pub fn compensates_gravity(m: &Model) -> bool {
    !m.opt.disabled(disable::GRAVITY)
        && m.opt.gravity.norm_squared() > 0.0
        && m.body_gravcomp.iter().any(|&factor| factor > 0.0)
}

/// Weight times `gravcomp`, upward at each centre of mass. False if there is none.
fn gravity_compensation<T: Scalar>(m: &Model, d: &mut Data<T>) -> bool {
    if !compensates_gravity(m) {
        return false;
    }
    let mut qfrc = std::mem::take(&mut d.qfrc_gravcomp);
    for b in m.bodies_base_to_tip().filter(|&b| m.body_gravcomp[b] != 0.0) {
        let force = lift3(&(m.opt.gravity * -(m.body_mass[b] * m.body_gravcomp[b])));
        apply_ft(m, d, &force, &Vector3::zeros(), &d.xipos[b], b, &mut qfrc);
    }
    d.qfrc_gravcomp = qfrc;
    true
}

/// Attraction of surfaces along the normals of their contacts.
///
/// Source: MuJoCo manual, Computation, "Adhesion"; `mj_adhesion`.
fn adhesion<T: Scalar>(m: &Model, d: &mut Data<T>) {
    let mut qfrc = std::mem::take(&mut d.qfrc_passive);
    for contact in d.contact.iter().filter(|c| c.adhesion != 0.0) {
        if matches!(contact.exclude, Exclude::None | Exclude::Gap) {
            add_normal(m, d, contact, T::lift(contact.adhesion), &mut qfrc);
        }
    }
    d.qfrc_passive = qfrc;
}

/// Smooth friction of degrees of freedom and tendons, the named alternative to constraint rows.
fn tanh_friction<T: Scalar>(m: &Model, d: &mut Data<T>) {
    if m.opt.disabled(disable::FRICTIONLOSS) {
        return;
    }
    let friction = |loss: f64, v: T| -(v * T::lift(TANH_GAIN)).tanh() * T::lift(loss);
    for i in 0..m.nv {
        d.qfrc_passive[i] += friction(m.dof_frictionloss[i], d.qvel[i]);
    }
    for t in 0..m.ntendon {
        let f = friction(m.tendon_frictionloss[t], d.ten_velocity[t]);
        add_tendon_force(m, &d.ten_J, t, f, &mut d.qfrc_passive);
    }
}
