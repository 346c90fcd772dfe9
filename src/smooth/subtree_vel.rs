//! Momentum of every subtree.

use nalgebra::Vector3;

use super::object::shift_motion;
use crate::MINVAL;
use crate::data::Data;
use crate::model::Model;
use crate::scalar::{Scalar, lift3};

/// Velocity of each subtree's centre of mass, and angular momentum about it.
///
/// - reads  `cvel`, `subtree_com`, `xipos`, `ximat` (nbody)
/// - writes `subtree_linvel` (nbody) [m/s], `subtree_angmom` (nbody) [kg·m²/s], world frame
///
/// linvel_i = Σ_k m_k v_k / Σ_k m_k and angmom_i = Σ_k I_k ω_k + m_k (x_k − c_i) × (v_k − linvel_i) over
/// the bodies k of subtree i, gathered from the tips by the parallel-axis rule.
///
/// Source: MuJoCo `mj_subtreeVel`. Cost O(nbody).
pub fn subtree_vel<T: Scalar>(m: &Model, d: &mut Data<T>) {
    let Data { cvel, subtree_com, xipos, ximat, subtree_linvel, subtree_angmom, .. } = d;
    let body_vel = |b: usize| shift_motion(&cvel[b], &(xipos[b] - subtree_com[m.body_rootid[b]]));

    // each body by itself: linear momentum, angular momentum about its own centre of mass
    for b in 0..m.nbody {
        let v = body_vel(b);
        subtree_linvel[b] = v.lin * T::lift(m.body_mass[b]);
        let spin = ximat[b].tr_mul(&v.rot).component_mul(&lift3(&m.body_inertia[b]));
        subtree_angmom[b] = ximat[b] * spin;
    }

    // tip to base: sum linear momenta, then divide by the mass of the subtree
    let speed = |b: usize, p: Vector3<T>| p * T::lift(1.0 / m.body_subtreemass[b].max(MINVAL));
    for b in m.bodies_tip_to_base() {
        let p = subtree_linvel[b];
        subtree_linvel[m.body_parentid[b]] += p;
        subtree_linvel[b] = speed(b, p);
    }
    subtree_linvel[0] = speed(0, subtree_linvel[0]);

    // tip to base: angular momentum of the body, then of the subtree, about the next centre of mass
    for b in m.bodies_tip_to_base() {
        let parent = m.body_parentid[b];
        let p = (body_vel(b).lin - subtree_linvel[b]) * T::lift(m.body_mass[b]);
        subtree_angmom[b] += (xipos[b] - subtree_com[b]).cross(&p);

        let p = (subtree_linvel[b] - subtree_linvel[parent]) * T::lift(m.body_subtreemass[b]);
        let moment = (subtree_com[b] - subtree_com[parent]).cross(&p);
        let own = subtree_angmom[b];
        subtree_angmom[parent] += own + moment;
    }
}
