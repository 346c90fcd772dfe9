//! Centres of mass, and inertias and motion axes about them.

use nalgebra::Vector3;

use crate::data::Data;
use crate::math::{SpatialInertia, SpatialVec};
use crate::model::{JointType, Model, WORLD};
use crate::scalar::Scalar;

/// Maps inertias and motion axes to world axes at the centre of mass of each kinematic tree.
///
/// - reads  `xipos`, `ximat`, `xmat` (nbody); `xanchor`, `xaxis` (njnt)          from [`super::kinematics()`]
/// - writes `subtree_com` (nbody) \[m\]; `cinert` (nbody) [kg, kg·m, kg·m²]; `cdof` (nv), rot:lin
///
/// Source: Featherstone 2008, ch. 2; MuJoCo `mj_comPos`. Cost O(nbody + nv).
pub fn com_pos<T: Scalar>(m: &Model, d: &mut Data<T>) {
    let Data { subtree_com, cinert, cdof, xipos, ximat, xmat, xanchor, xaxis, .. } = d;

    // first moments, summed from tip to base, over the mass of the subtree
    for b in 0..m.nbody {
        subtree_com[b] = xipos[b] * T::lift(m.body_mass[b]);
    }
    for b in m.bodies_tip_to_base() {
        let moment = subtree_com[b];
        subtree_com[m.body_parentid[b]] += moment;
    }
    for b in 0..m.nbody {
        if m.body_subtreemass[b] < crate::MINVAL {
            subtree_com[b] = xipos[b];
        } else {
            subtree_com[b] *= T::lift(1.0 / m.body_subtreemass[b]);
        }
    }

    // inertia of each body about the centre of mass of its tree
    cinert[WORLD] = SpatialInertia::zero();
    for b in m.bodies_base_to_tip() {
        let offset = xipos[b] - subtree_com[m.body_rootid[b]];
        cinert[b] =
            SpatialInertia::from_principal(&m.body_inertia[b], &ximat[b], &offset, m.body_mass[b]);
    }

    // motion axes: (axis : axis × (com − anchor)) for rotation, (0 : axis) for translation
    for j in 0..m.njnt {
        let b = m.jnt_bodyid[j];
        let adr = m.jnt_dofadr[j];
        let lever = subtree_com[m.body_rootid[b]] - xanchor[j];
        let turn = |axis: Vector3<T>| SpatialVec::new(axis, axis.cross(&lever));
        match m.jnt_type[j] {
            JointType::Hinge => cdof[adr] = turn(xaxis[j]),
            JointType::Slide => cdof[adr] = SpatialVec::new(Vector3::zeros(), xaxis[j]),
            JointType::Ball => {
                for k in 0..3 {
                    cdof[adr + k] = turn(xmat[b].column(k).into());
                }
            }
            // translation along world axes, rotation about body axes
            JointType::Free => {
                for k in 0..3 {
                    let mut axis = Vector3::zeros();
                    axis[k] = T::one();
                    cdof[adr + k] = SpatialVec::new(Vector3::zeros(), axis);
                    cdof[adr + 3 + k] = turn(xmat[b].column(k).into());
                }
            }
        }
    }
}
