//! Velocity derivative of the bias force.
//!
//! The force of body b is f = I a + v ×f (I v). A unit velocity of degree of freedom k, with axis S, changes
//!
//! - the velocity of every body b beyond k by S;
//! - its acceleration Σ ċⱼ vⱼ by ċ_k + S ×ₘ (v_b − v_k), where v_k is the velocity just after the joint of
//!   k: each later axis is carried along by one more S;
//!
//! so that ∂f_b/∂v_k = I_b w_k + B_b S with w_k = ċ_k − S ×ₘ v_k, and the linear map
//! B_b S = I_b (S ×ₘ v_b) + S ×f (I_b v_b) + v_b ×f (I_b S). Summed over subtrees, with Iᶜ and Bᶜ:
//!
//! - ∂bias_i/∂v_k = S_i · (Iᶜ_k w_k + Bᶜ_k S_k)            for i at or above k
//! - ∂bias_i/∂v_k = (Iᶜ_i S_i) · w_k + (Bᶜ_iᵀ S_i) · S_k    for i below k
//!
//! Source: the same quantities as in Echeandia and Wensing 2021, "Numerical methods to compute the Coriolis
//! matrix", and Singh, Russell, Wensing 2022; compare MuJoCo `mjd_rne_vel`.

use nalgebra::{Matrix3, Matrix6};

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

    for k in 0..m.nv {
        let b = m.dof_bodyid[k];
        let S_k = d.cdof[k];
        let F = d.crb[b].mul_vec(&out.w[k]) + mul(&out.flow[b], &S_k);
        let G = d.crb[b].mul_vec(&S_k);
        let H = mul_transposed(&out.flow[b], &S_k);
        for i in m.dofs_to_root(k) {
            out.qDeriv[i * m.nv + k] -= d.cdof[i].dot(&F);
            if i != k {
                out.qDeriv[k * m.nv + i] -= G.dot(&out.w[i]) + H.dot(&d.cdof[i]);
            }
        }
    }
}

/// Bᶜ: the maps B of the bodies, summed from tip to base.
fn flow_of_subtrees<T: Scalar>(m: &Model, d: &Data<T>, out: &mut QDeriv<T>) {
    for b in m.bodies_base_to_tip() {
        out.flow[b] = momentum_flow(&d.cinert[b], &d.cvel[b]);
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

/// Matrix of S ↦ I (S ×ₘ v) + S ×f (I v) + v ×f (I S), rot:lin.
fn momentum_flow<T: Scalar>(I: &SpatialInertia<T>, v: &SpatialVec<T>) -> Matrix6<T> {
    let p = I.mul_vec(v);
    let mut B = Matrix6::zeros();
    for c in 0..6 {
        let mut S = SpatialVec::zero();
        if c < 3 {
            S.rot[c] = T::one();
        } else {
            S.lin[c - 3] = T::one();
        }
        let column =
            I.mul_vec(&S.cross_motion(v)) + S.cross_force(&p) + v.cross_force(&I.mul_vec(&S));
        B.fixed_view_mut::<3, 1>(0, c).copy_from(&column.rot);
        B.fixed_view_mut::<3, 1>(3, c).copy_from(&column.lin);
    }
    B
}

fn blocks<T: Scalar>(B: &Matrix6<T>) -> [Matrix3<T>; 4] {
    let at = |i, j| B.fixed_view::<3, 3>(i, j).into_owned();
    [at(0, 0), at(0, 3), at(3, 0), at(3, 3)]
}

/// Product of a 6×6 matrix, rot:lin, and a spatial vector.
#[inline]
pub fn mul<T: Scalar>(B: &Matrix6<T>, S: &SpatialVec<T>) -> SpatialVec<T> {
    let [rr, rl, lr, ll] = blocks(B);
    SpatialVec::new(rr * S.rot + rl * S.lin, lr * S.rot + ll * S.lin)
}

/// Product of the transpose of a 6×6 matrix, rot:lin, and a spatial vector.
#[inline]
pub fn mul_transposed<T: Scalar>(B: &Matrix6<T>, S: &SpatialVec<T>) -> SpatialVec<T> {
    let [rr, rl, lr, ll] = blocks(B);
    SpatialVec::new(rr.tr_mul(&S.rot) + lr.tr_mul(&S.lin), rl.tr_mul(&S.rot) + ll.tr_mul(&S.lin))
}
