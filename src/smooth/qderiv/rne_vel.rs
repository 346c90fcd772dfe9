//! Velocity derivative of the bias force.
//!
//! The force of body b is f = I a + v ×f (I v). A unit velocity of degree of freedom k, with axis S, changes
//!
//! - the velocity of every body b beyond k by S;
//! - its acceleration Σ ċⱼ vⱼ by ċ_k + S ×ₘ (v_b − v_k), where v_k is the velocity just after the joint of
//!   k: each later axis is carried along by one more S;
//!
//! so that ∂f_b/∂v_k = I_b w_k + B_b S with w_k = ċ_k − S ×ₘ v_k, and the linear map [`MomentumFlow`]
//! B_b S = I_b (S ×ₘ v_b) + S ×f (I_b v_b) + v_b ×f (I_b S). Summed over subtrees, with Iᶜ and Bᶜ:
//!
//! - ∂bias_i/∂v_k = S_i · (Iᶜ_k w_k + Bᶜ_k S_k)            for i at or above k
//! - ∂bias_i/∂v_k = (Iᶜ_i S_i) · w_k + (Bᶜ_iᵀ S_i) · S_k    for i below k
//!
//! Source: the same quantities as in Echeandia and Wensing 2021, "Numerical methods to compute the Coriolis
//! matrix", and Singh, Russell, Wensing 2022; compare MuJoCo `mjd_rne_vel`.

use nalgebra::{Matrix3, Vector3};

use super::QDeriv;
use crate::data::Data;
use crate::math::{SpatialInertia, SpatialVec};
use crate::model::{JointType, Model, WORLD};
use crate::scalar::Scalar;

/// qDeriv −= d bias / d qvel.
///
/// - reads  `qvel` (nv), `cvel`, `cinert`, `crb` (nbody), `cdof`, `cdof_dot` (nv)
/// - writes `out.qDeriv` (adds)
///
/// Source: see the module. Cost O(nbody + nv · depth).
pub fn mjd_rne_vel<T: Scalar>(m: &Model, d: &Data<T>, out: &mut QDeriv<T>) {
    flow_of_subtrees(m, d, out);
    own_accelerations(m, d, out);

    let qDeriv = &mut out.qDeriv[..];
    for k in 0..m.nv {
        let (b, nv) = (m.dof_bodyid[k], m.nv);
        let (S, B) = (&d.cdof[k], &out.flow[b]);
        let F = d.crb[b].mul_vec(&out.w[k]) + B.apply(&S.rot);
        let (G, H) = (d.crb[b].mul_vec(S), B.apply_transposed(S));
        qDeriv[k * nv + k] -= S.dot(&F);
        for i in m.dofs_to_root(k).skip(1) {
            qDeriv[i * nv + k] -= d.cdof[i].dot(&F);
            qDeriv[k * nv + i] -= G.dot(&out.w[i]) + H.dot(&d.cdof[i].rot);
        }
    }
}

/// The linear map B S = I (S ×ₘ v) + S ×f (I v) + v ×f (I S) of a body, or its sum over a subtree: how the force that
/// keeps its momentum flowing changes with its velocity.
///
/// Translations do not change the flow: B S depends on the rotation s of S only. Its force is s × 2p with p the
/// linear momentum of v; its torque, with rotational inertia J, first moment h and v = (ω, u), is
/// ω × (2J − tr J) s + 2h × (s × u).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MomentumFlow<T> {
    /// Torque by rotation.
    pub torque: Matrix3<T>,
    /// Twice the linear momentum: the force is rotation × this.
    pub twice_momentum: Vector3<T>,
}

impl<T: Scalar> MomentumFlow<T> {
    /// The map of nothing.
    pub fn zero() -> Self {
        Self { torque: Matrix3::zeros(), twice_momentum: Vector3::zeros() }
    }

    /// The map of a body with inertia `I` and velocity `v`.
    pub fn new(I: &SpatialInertia<T>, v: &SpatialVec<T>) -> Self {
        let two = T::lift(2.0);
        let (w, u, h) = (&v.rot, v.lin * two, &I.moment);
        let [xx, yy, zz, xy, xz, yz] = I.rot;
        // 2J − tr J
        let (xy, xz, yz) = (xy * two, xz * two, yz * two);
        let (dx, dy, dz) = (xx - yy - zz, yy - zz - xx, zz - xx - yy);
        let column = |a: T, b: T, c: T| w.cross(&Vector3::new(a, b, c));
        let mut torque =
            Matrix3::from_columns(&[column(dx, xy, xz), column(xy, dy, yz), column(xz, yz, dz)]);
        // 2 h × (s × u) = 2 (h·u) s − 2 u (h·s)
        torque -= u * h.transpose();
        let hu = h.dot(&u);
        for k in 0..3 {
            torque[(k, k)] += hu;
        }
        Self { torque, twice_momentum: I.mul_vec(v).lin * two }
    }

    /// B S for the rotation of S; its translation does not matter.
    #[inline]
    pub fn apply(&self, rot: &Vector3<T>) -> SpatialVec<T> {
        SpatialVec::new(self.torque * rot, rot.cross(&self.twice_momentum))
    }

    /// The rotation of Bᵀ S; its translation is zero.
    #[inline]
    pub fn apply_transposed(&self, S: &SpatialVec<T>) -> Vector3<T> {
        self.torque.tr_mul(&S.rot) + self.twice_momentum.cross(&S.lin)
    }
}

impl<T: Scalar> std::ops::AddAssign for MomentumFlow<T> {
    fn add_assign(&mut self, o: Self) {
        self.torque += o.torque;
        self.twice_momentum += o.twice_momentum;
    }
}

/// Bᶜ: the maps B of the bodies, summed from tip to base.
fn flow_of_subtrees<T: Scalar>(m: &Model, d: &Data<T>, out: &mut QDeriv<T>) {
    for b in m.bodies_base_to_tip() {
        out.flow[b] = MomentumFlow::new(&d.cinert[b], &d.cvel[b]);
    }
    for b in m.bodies_tip_to_base() {
        let parent = m.body_parentid[b];
        if parent != WORLD {
            let child = out.flow[b];
            out.flow[parent] += child;
        }
    }
}

/// w_k = ċ_k − S_k ×ₘ v_k, with v_k the velocity after the joint of k. Translations and rotations of a free
/// joint count as two joints in a row.
fn own_accelerations<T: Scalar>(m: &Model, d: &Data<T>, out: &mut QDeriv<T>) {
    for b in m.bodies_base_to_tip() {
        let mut v = d.cvel[m.body_parentid[b]];
        for j in m.body_joints(b) {
            let adr = m.jnt_dofadr[j];
            let mut block = |first: usize, len: usize| {
                for k in first..first + len {
                    v += d.cdof[k] * d.qvel[k];
                }
                for k in first..first + len {
                    out.w[k] = d.cdof_dot[k] - d.cdof[k].cross_motion(&v);
                }
            };
            match m.jnt_type[j] {
                JointType::Hinge | JointType::Slide => block(adr, 1),
                JointType::Ball => block(adr, 3),
                JointType::Free => {
                    block(adr, 3);
                    block(adr + 3, 3);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // the map and its transpose on the six unit motions, by their definition
    #[test]
    fn momentum_flow_is_what_it_is_defined_as() {
        let x = |k: usize| (k as f64 * 1.3 + 0.7).sin();
        let v3 = |k: usize| Vector3::new(x(k), x(k + 1), x(k + 2));
        let I = SpatialInertia { rot: [3.0, 4.0, 5.0, x(1), x(2), x(3)], moment: v3(4), mass: 2.5 };
        let v = SpatialVec::new(v3(7), v3(10));
        let B = MomentumFlow::new(&I, &v);
        let unit = |c: usize| {
            let at = |k: usize| f64::from(u8::from(c == k));
            SpatialVec::new(Vector3::new(at(0), at(1), at(2)), Vector3::new(at(3), at(4), at(5)))
        };
        for S in (0..6).map(unit) {
            let flow = I.mul_vec(&S.cross_motion(&v))
                + S.cross_force(&I.mul_vec(&v))
                + v.cross_force(&I.mul_vec(&S));
            let error = B.apply(&S.rot) - flow;
            assert!(error.dot(&error) < 1e-28, "{S:?}: {error:?}");
            for R in (0..6).map(unit) {
                let transposed = B.apply_transposed(&R).dot(&S.rot);
                assert!((transposed - R.dot(&flow)).abs() < 1e-14, "{R:?} {S:?}");
            }
        }
    }
}
