//! Position derivatives of inverse dynamics and of forces that stay fixed in the world.
//!
//! A tangent of the position along degree of freedom k, with axis S, moves everything beyond its joint rigidly:
//! motions m by S ×ₘ m, forces f by S ×f f, as seen from a fixed origin (here the centre of mass of the tree at
//! this configuration, so that the pipeline's `cdof`, `cinert`, `cvel` serve as they are). With p and A the
//! velocity and acceleration before the joint and Ṡ = p ×ₘ S, the force of a body beyond k changes by
//!
//! δf = S ×f f + B Ṡ + I S̈,   S̈ = A ×ₘ S + p ×ₘ Ṡ,
//!
//! with the map B of `mjd_rne_vel`, [`dualstep::smooth::qderiv::MomentumFlow`]. Summed over subtrees:
//!
//! - ∂τ_i/∂q_k = S_i · (S_k ×f F_k + Bᶜ_k Ṡ_k + Iᶜ_k S̈_k)        where k does not move the axis of i
//! - ∂τ_i/∂q_k = (Bᶜ_iᵀ S_i) · Ṡ_k + (Iᶜ_i S_i) · S̈_k               where it does
//!
//! The three axes of a ball joint move together, each moving the others.
//!
//! Source: Carpentier and Mansard 2018; Singh, Russell, Wensing 2022, "Efficient analytical derivatives of
//! rigid-body dynamics using spatial vector algebra".

use dualstep::math::SpatialVec;
use dualstep::model::options::disable;
use dualstep::model::{JointType, WORLD};
use dualstep::smooth::qderiv::QDeriv;
use dualstep::{Data, Model, Scalar};
use nalgebra::{Matrix3, Vector3};

/// Scratch of the tree recursions, allocated once.
#[derive(Clone, Debug)]
pub struct RnePos<T: Scalar> {
    /// First degree of freedom of the rotation that each belongs to; itself for scalar joints and translations.
    group: Vec<usize>,
    /// Velocity and acceleration of each body, gravity included.
    acc: Vec<SpatialVec<T>>,
    /// Force on each subtree.
    pub(crate) force: Vec<SpatialVec<T>>,
    /// S̈ of each degree of freedom.
    pub(crate) S_ddot: Vec<SpatialVec<T>>,
    /// Fixed wrench on each subtree, and Σ r fᵀ − (r·f) 1 over its points of attack.
    pub(crate) wrench: Vec<SpatialVec<T>>,
    pub(crate) lever: Vec<Matrix3<T>>,
}

impl<T: Scalar> RnePos<T> {
    /// Scratch for the model.
    pub fn new(m: &Model) -> Self {
        let zero = || vec![SpatialVec::zero(); m.nbody];
        Self {
            group: (0..m.nv).map(|i| rotation_group(m, i)).collect(),
            acc: zero(),
            force: zero(),
            S_ddot: vec![SpatialVec::zero(); m.nv],
            wrench: zero(),
            lever: vec![Matrix3::zeros(); m.nbody],
        }
    }
}

impl<T: Scalar> RnePos<T> {
    /// True if both degrees of freedom belong to the same ball.
    pub(crate) fn same_rotation(&self, i: usize, k: usize) -> bool {
        self.group[i] == self.group[k]
    }
}

/// First degree of freedom of the ball (or of the rotation of the free joint) that `dof` belongs to.
fn rotation_group(m: &Model, dof: usize) -> usize {
    let j = m.dof_jntid[dof];
    let adr = m.jnt_dofadr[j];
    match m.jnt_type[j] {
        JointType::Ball => adr,
        JointType::Free if dof >= adr + 3 => adr + 3,
        JointType::Free | JointType::Slide | JointType::Hinge => dof,
    }
}

/// `out` (nv × nv, row-major) −= ∂(M(q)·qacc + bias(q, v))/∂q at fixed `qacc` (nv).
///
/// - reads  `qvel`, `cdof`, `cdof_dot` (nv), `cvel`, `cinert`, `crb` (nbody); `flow` of `qderiv` (nbody), which
///   `mjd_rne_vel` writes
///
/// Source: see the module. Cost O(nv · depth).
pub fn mjd_rne_pos<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    qacc: &[T],
    qderiv: &QDeriv<T>,
    s: &mut RnePos<T>,
    out: &mut [T],
) {
    body_forces(m, d, qacc, s);
    for k in 0..m.nv {
        let (b, nv) = (m.dof_bodyid[k], m.nv);
        let (S, B) = (&d.cdof[k], &qderiv.flow[b]);
        let X = S.cross_force(&s.force[b])
            + B.apply(&d.cdof_dot[k].rot)
            + d.crb[b].mul_vec(&s.S_ddot[k]);
        let (G, H) = (d.crb[b].mul_vec(S), B.apply_transposed(S));
        let moved = |i: usize| H.dot(&d.cdof_dot[i].rot) + G.dot(&s.S_ddot[i]);
        out[k * nv + k] -= moved(k);
        for i in m.dofs_to_root(k).skip(1) {
            out[k * nv + i] -= moved(i);
            out[i * nv + k] -= if s.group[i] == s.group[k] {
                // same ball: k moves the axis of i as well; same body, so the same composites
                let (G, H) = (d.crb[b].mul_vec(&d.cdof[i]), B.apply_transposed(&d.cdof[i]));
                H.dot(&d.cdof_dot[k].rot) + G.dot(&s.S_ddot[k])
            } else {
                d.cdof[i].dot(&X)
            };
        }
    }
}

/// Forces on subtrees at acceleration `qacc`, and S̈ of every axis.
fn body_forces<T: Scalar>(m: &Model, d: &Data<T>, qacc: &[T], s: &mut RnePos<T>) {
    let gravity = if m.opt.disabled(disable::GRAVITY) {
        Vector3::zeros()
    } else {
        dualstep::scalar::lift3(&m.opt.gravity)
    };
    s.acc[WORLD] = SpatialVec::new(Vector3::zeros(), -gravity);
    for b in m.bodies_base_to_tip() {
        let parent = m.body_parentid[b];
        let (mut p, mut a) = (d.cvel[parent], s.acc[parent]);
        let mut k = m.body_dofs(b).start;
        while k < m.body_dofs(b).end {
            // all axes of a rotation start from the velocity and acceleration before it
            let len =
                m.body_dofs(b).skip_while(|i| *i < k).take_while(|i| s.group[*i] == s.group[k]);
            let end = k + len.count();
            let (before_v, before_a) = (p, a);
            for i in k..end {
                s.S_ddot[i] =
                    before_a.cross_motion(&d.cdof[i]) + before_v.cross_motion(&d.cdof_dot[i]);
                p += d.cdof[i] * d.qvel[i];
                a += d.cdof_dot[i] * d.qvel[i] + d.cdof[i] * qacc[i];
            }
            k = end;
        }
        s.acc[b] = a;
        let momentum = d.cinert[b].mul_vec(&d.cvel[b]);
        s.force[b] = d.cinert[b].mul_vec(&a) + d.cvel[b].cross_force(&momentum);
    }
    for b in m.bodies_tip_to_base() {
        let f = s.force[b];
        s.force[m.body_parentid[b]] += f;
    }
}

/// A force and torque fixed in the world that act on a body.
#[derive(Clone, Copy, Debug)]
pub struct WorldWrench<T: Scalar> {
    /// Body acted on.
    pub body: usize,
    /// Point of attack, which moves with the body \[m\].
    pub point: Vector3<T>,
    /// Force \[N\].
    pub force: Vector3<T>,
    /// Torque [N·m].
    pub torque: Vector3<T>,
}

/// `out` (nv × nv, row-major) += ∂(Σ Jᵀ·wrench)/∂q for wrenches that stay fixed while their points move.
///
/// Source: the same rigid motions as in [`mjd_rne_pos`]; a point moves by u = lin + rot × r, so that the wrench
/// about the origin changes by (u × f : 0). Cost O(nv · depth).
pub fn mjd_world_wrenches<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    wrenches: impl Iterator<Item = WorldWrench<T>>,
    s: &mut RnePos<T>,
    out: &mut [T],
) {
    s.wrench.fill(SpatialVec::zero());
    s.lever.fill(Matrix3::zeros());
    let mut any = false;
    for w in wrenches {
        any = true;
        let r = w.point - d.subtree_com[m.body_rootid[w.body]];
        s.wrench[w.body] += SpatialVec::new(r.cross(&w.force) + w.torque, w.force);
        s.lever[w.body] += r * w.force.transpose() - Matrix3::identity() * r.dot(&w.force);
    }
    if !any {
        return;
    }
    for b in m.bodies_tip_to_base() {
        let (w, l) = (s.wrench[b], s.lever[b]);
        s.wrench[m.body_parentid[b]] += w;
        s.lever[m.body_parentid[b]] += l;
    }
    for k in 0..m.nv {
        let b = m.dof_bodyid[k];
        let (W, N) = (&s.wrench[b], &s.lever[b]);
        // change of the subtree's torque when axis S moves it
        let turned = |S: &SpatialVec<T>| S.lin.cross(&W.lin) + N * S.rot;
        let S_k = &d.cdof[k];
        for i in m.dofs_to_root(k) {
            let S_i = &d.cdof[i];
            // row k, moved by i
            out[k * m.nv + i] += S_i.cross_motion(S_k).dot(W) + S_k.rot.dot(&turned(S_i));
            if i != k {
                let mut entry = S_i.rot.dot(&turned(S_k));
                if s.group[i] == s.group[k] {
                    entry += S_k.cross_motion(S_i).dot(W);
                }
                out[i * m.nv + k] += entry;
            }
        }
    }
}
