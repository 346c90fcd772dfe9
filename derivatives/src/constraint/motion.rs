//! Motions of bodies, and how they change when one degree of freedom moves.
//!
//! With P and A the velocity and acceleration before a joint with axis S, everything beyond it moves rigidly while P and
//! A stay. So a body beyond changes its velocity V = P + U and its accelerations by
//!
//! - δV = S × (V − P)
//! - δα = S × (α − α_P)                              α = Σ S q̈: the part of the acceleration that is linear in q̈
//! - δβ = S × (β − β_P) + (P × S) × (V − P)          β = Σ Ṡ q̇: the rest
//!
//! and by the joint's velocity: δV = S, δβ = P × S + S × (V − V⁺), V⁺ the velocity right after the joint. The three axes
//! of a ball move together: P and V⁺ are before and after all of them.
//!
//! Source: rigid motions, as in [`crate::rne_pos`]; Featherstone 2008, ch. 2.

use dualstep::math::SpatialVec;
use dualstep::smooth::jacobian::dof_point_velocity;
use dualstep::{Data, Model};
use nalgebra::Vector3;

use crate::rne_pos::RnePos;

/// Velocity, and the two parts of the acceleration, about the centre of mass of the tree.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    pub(super) v: SpatialVec<f64>,
    pub(super) alpha: SpatialVec<f64>,
    pub(super) beta: SpatialVec<f64>,
}

impl State {
    const fn rest() -> Self {
        let zero =
            SpatialVec { rot: Vector3::new(0.0, 0.0, 0.0), lin: Vector3::new(0.0, 0.0, 0.0) };
        Self { v: zero, alpha: zero, beta: zero }
    }
}

/// Motions of all bodies.
#[derive(Clone, Debug)]
pub(super) struct Motions {
    /// Of each body (nbody).
    pub(super) body: Vec<State>,
    /// Before the joint of each degree of freedom (nv).
    before: Vec<State>,
    /// Velocity after it (nv).
    after: Vec<SpatialVec<f64>>,
}

impl Motions {
    /// Room for the model.
    pub(super) fn new(m: &Model) -> Self {
        Self {
            body: vec![State::rest(); m.nbody],
            before: vec![State::rest(); m.nv],
            after: vec![SpatialVec::zero(); m.nv],
        }
    }

    /// Fills all at the acceleration `qacc` (nv).
    ///
    /// - reads  `cdof`, `cdof_dot`, `qvel`
    pub(super) fn fill(&mut self, m: &Model, d: &Data<f64>, qacc: &[f64], rne: &RnePos<f64>) {
        self.body[0] = State::rest();
        for b in m.bodies_base_to_tip() {
            let mut state = self.body[m.body_parentid[b]];
            let mut k = m.body_dofs(b).start;
            while k < m.body_dofs(b).end {
                let same = |i: &usize| rne.same_rotation(*i, k);
                let end =
                    (k..m.body_dofs(b).end).take_while(same).last().map_or(k, |last| last + 1);
                self.before[k..end].fill(state);
                for i in k..end {
                    state.v += d.cdof[i] * d.qvel[i];
                    state.alpha += d.cdof[i] * qacc[i];
                    state.beta += d.cdof_dot[i] * d.qvel[i];
                }
                self.after[k..end].fill(state.v);
                k = end;
            }
            self.body[b] = state;
        }
    }

    /// How the motions of body `b` change when `dof`, which moves it, is displaced.
    pub(super) fn by_position(&self, d: &Data<f64>, b: usize, dof: usize) -> State {
        let (S, p, x) = (&d.cdof[dof], &self.before[dof], &self.body[b]);
        let relative = x.v - p.v;
        State {
            v: S.cross_motion(&relative),
            alpha: S.cross_motion(&(x.alpha - p.alpha)),
            beta: S.cross_motion(&(x.beta - p.beta)) + p.v.cross_motion(S).cross_motion(&relative),
        }
    }

    /// How they change when the velocity of `dof` does.
    pub(super) fn by_velocity(&self, d: &Data<f64>, b: usize, dof: usize) -> State {
        let (S, p, x) = (&d.cdof[dof], &self.before[dof], &self.body[b]);
        let beta = p.v.cross_motion(S) + S.cross_motion(&(x.v - self.after[dof]));
        State { v: *S, alpha: SpatialVec::zero(), beta }
    }
}

/// The same motion with its linear part at the point `r` from the origin.
pub(super) fn at(x: &SpatialVec<f64>, r: &Vector3<f64>) -> SpatialVec<f64> {
    SpatialVec::new(x.rot, x.lin + x.rot.cross(r))
}

/// Unit motion of a point by `dof`: rot:lin, world axes.
pub(super) fn unit_motion(
    m: &Model,
    d: &Data<f64>,
    dof: usize,
    p: &Vector3<f64>,
) -> SpatialVec<f64> {
    let (rot, lin) = dof_point_velocity(d, dof, m.body_rootid[m.dof_bodyid[dof]], p);
    SpatialVec::new(rot, lin)
}

/// True if `dof` moves body `b`.
pub(crate) fn moves(m: &Model, dof: usize, b: usize) -> bool {
    m.body_dofs_to_root(b).take_while(|&k| k >= dof).any(|k| k == dof)
}
