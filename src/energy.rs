//! Potential and kinetic energy.

use nalgebra::Vector3;

use crate::data::Data;
use crate::model::options::disable;
use crate::model::{JointType, Model};
use crate::scalar::{Scalar, lift3};
use crate::smooth::poly;
use crate::smooth::{
    joint_stiffness, rotation_offset, tendon_extension, tendon_stiffness, translation_offset,
};

/// Both energies of the current state: [`energy_pos`], then [`energy_vel`].
pub fn energy<T: Scalar>(m: &Model, d: &mut Data<T>) {
    energy_pos(m, d);
    energy_vel(m, d);
}

/// Potential energy: gravity, joint springs, tendon springs.
///
/// - reads  `qpos` (nq), `xipos` (nbody), `ten_length` (ntendon)
/// - writes `energy[0]` \[J\]
///
/// V = −Σ m_b g·x_b + Σ_springs ∫₀ˣ k(s) s ds, with k(s) = k₀ + k₁ s + k₂ s². x is the displacement of a
/// scalar joint, the distance or the angle from the rest pose of a free or ball joint, and for a tendon
/// how far its length is outside `tendon_lengthspring`. Gravity and springs count unless disabled; gravity
/// compensation does not enter.
///
/// Source: MuJoCo `mj_energyPos`.
pub fn energy_pos<T: Scalar>(m: &Model, d: &mut Data<T>) {
    let mut V = T::zero();
    if !m.opt.disabled(disable::GRAVITY) {
        let g = lift3(&m.opt.gravity);
        for b in m.bodies_base_to_tip() {
            V -= d.xipos[b].dot(&g) * T::lift(m.body_mass[b]);
        }
    }
    if !m.opt.disabled(disable::SPRING) {
        for j in 0..m.njnt {
            V += joint_spring(m, d, j);
        }
        for t in 0..m.ntendon {
            V += poly::potential(&tendon_stiffness(m, t), tendon_extension(m, d, t));
        }
    }
    d.energy[0] = V;
}

/// Kinetic energy, that of armature included.
///
/// - reads  `qM` (nM), `qvel` (nv)
/// - writes `energy[1]` \[J\]
///
/// T = ½ vᵀ M v, off-diagonal entries of the lower triangle counted twice.
///
/// Source: MuJoCo `mj_energyVel`.
pub fn energy_vel<T: Scalar>(m: &Model, d: &mut Data<T>) {
    let v = &d.qvel;
    let half = T::lift(0.5);
    let mut kinetic = T::zero();
    for i in 0..m.nv {
        let diag = m.M_rowadr[i] + m.M_rownnz[i] - 1;
        let mut row = d.qM[diag] * v[i] * half;
        for k in m.M_rowadr[i]..diag {
            row += d.qM[k] * v[m.M_colind[k]];
        }
        kinetic += row * v[i];
    }
    d.energy[1] = kinetic;
}

/// Energy in the springs of one joint [J].
fn joint_spring<T: Scalar>(m: &Model, d: &Data<T>, j: usize) -> T {
    let k = joint_stiffness(m, j);
    if poly::is_zero(&k) {
        return T::zero();
    }
    let q = m.jnt_qposadr[j];
    match m.jnt_type[j] {
        JointType::Free => {
            radial(&k, &translation_offset(m, d, q)) + radial(&k, &rotation_offset(m, d, q + 3))
        }
        JointType::Ball => radial(&k, &rotation_offset(m, d, q)),
        JointType::Slide | JointType::Hinge => {
            poly::potential(&k, d.qpos[q] - T::lift(m.qpos_spring[q]))
        }
    }
}

/// Potential of a displacement vector, x = |v|. Its square comes first: the norm itself has no derivative
/// at rest, but |v|³ has, and it is zero.
fn radial<T: Scalar>(k: &[f64; 3], v: &Vector3<T>) -> T {
    let s = v.norm_squared();
    let even = s * (T::lift(k[0] / 2.0) + s * T::lift(k[2] / 4.0));
    if k[1] == 0.0 || s.re() == 0.0 { even } else { even + s * s.sqrt() * T::lift(k[1] / 3.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_dual::Dual2_64;

    // along a ray, the radial spring is the scalar one
    #[test]
    fn radial_spring_depends_on_the_distance() {
        let v = Vector3::new(0.6, 0.0, -0.8) * 0.5;
        let expected = poly::potential(&[3.0, 2.0, 1.0], 0.5);
        assert!((radial(&[3.0, 2.0, 1.0], &v) - expected).abs() < 1e-15);
    }

    // at rest: value and gradient 0, curvature k, none of them NaN
    #[test]
    fn radial_spring_is_smooth_at_rest() {
        let x = Dual2_64::new(0.0, 1.0, 0.0);
        let V =
            radial(&[3.0, 2.0, 1.0], &Vector3::new(x, Dual2_64::lift(0.0), Dual2_64::lift(0.0)));
        assert_eq!((V.re, V.v1, V.v2), (0.0, 0.0, 3.0));
    }
}
