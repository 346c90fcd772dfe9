//! Diagonal of J M⁻¹ Jᵀ: approximately, from inverse weights at qpos0 that the model holds; or exactly.

use crate::collision::Contact;
use crate::data::Data;
use crate::linalg::tree_ldl;
use crate::model::{EqType, Model};
use crate::scalar::Scalar;

use super::efc::{Efc, EfcType};
use super::{block_len, tie};

/// Writes `diagA`: inverse weights of the bodies, joints or tendons that a row acts on, summed.
///
/// Translations and rotations of a body have one weight each. An edge of a pyramid is normal ± μ · axis:
/// its weight is that of the normal plus μ² times that of the axis.
///
/// Source: MuJoCo `mj_diagApprox`.
pub(super) fn diag_approx<T: Scalar>(m: &Model, contacts: &[Contact<T>], efc: &mut Efc<T>) {
    let mut start = 0;
    while start < efc.nefc {
        let len = block_len(m, contacts, efc, start);
        let id = efc.id[start];
        let rows = &mut efc.diagA[start..start + len];
        match efc.kind[start] {
            EfcType::Equality => equality_weights(m, id, rows),
            EfcType::FrictionDof => rows[0] = T::lift(m.dof_invweight0[id]),
            EfcType::LimitJoint => rows[0] = T::lift(m.dof_invweight0[m.jnt_dofadr[id]]),
            EfcType::FrictionTendon | EfcType::LimitTendon => {
                rows[0] = T::lift(m.tendon_invweight0[id]);
            }
            kind => contact_weights(m, kind, &contacts[id], rows),
        }
        start += len;
    }
}

/// Sum of two bodies' inverse weights: translation, rotation.
fn body_weights(m: &Model, [b1, b2]: [usize; 2]) -> [f64; 2] {
    let (w1, w2) = (m.body_invweight0[b1], m.body_invweight0[b2]);
    [w1[0] + w2[0], w1[1] + w2[1]]
}

fn equality_weights<T: Scalar>(m: &Model, e: usize, rows: &mut [T]) {
    let objects = [Some(m.eq_obj1id[e]), m.eq_obj2id[e]].into_iter().flatten();
    match m.eq_type[e] {
        EqType::Joint => {
            rows[0] = T::lift(objects.map(|j| m.dof_invweight0[m.jnt_dofadr[j]]).sum());
        }
        EqType::Tendon => {
            rows[0] = T::lift(objects.map(|t| m.tendon_invweight0[t]).sum());
        }
        EqType::Connect | EqType::Weld | EqType::Distance => {
            let [translation, rotation] = body_weights(m, tie::bodies(m, e));
            for (k, row) in rows.iter_mut().enumerate() {
                *row = T::lift(if k < 3 { translation } else { rotation });
            }
        }
    }
}

fn contact_weights<T: Scalar>(m: &Model, kind: EfcType, contact: &Contact<T>, rows: &mut [T]) {
    let [translation, rotation] = body_weights(m, contact.geom.map(|g| m.geom_bodyid[g]));
    if kind == EfcType::ContactPyramidal {
        for (k, edges) in rows.chunks_exact_mut(2).enumerate() {
            let friction = contact.friction[k];
            let axis = if k < 2 { translation } else { rotation };
            edges.fill(T::lift(translation + friction * friction * axis));
        }
    } else {
        for (k, row) in rows.iter_mut().enumerate() {
            *row = T::lift(if k < 3 { translation } else { rotation });
        }
    }
}

/// Writes `diagA`: J M⁻¹ Jᵀ itself.
///
/// - reads `qLD`, `qLDiagInv`
///
/// Source: MuJoCo manual, flag `diagexact`; `mj_projectConstraint`. Cost O(nM) a row.
pub(super) fn diag_exact<T: Scalar>(m: &Model, d: &Data<T>, efc: &mut Efc<T>) {
    let mut solved = std::mem::take(&mut efc.dense);
    for i in 0..efc.nefc {
        solved.clear();
        solved.resize(m.nv, T::zero());
        let (columns, entries) = efc.row(i);
        for (&j, x) in columns.iter().zip(entries) {
            solved[j] = *x;
        }
        tree_ldl::solve(m, &d.qLD, &d.qLDiagInv, &mut solved);
        let terms = columns.iter().zip(entries).map(|(&j, x)| *x * solved[j]);
        efc.diagA[i] = terms.fold(T::zero(), |sum, x| sum + x);
    }
    efc.dense = solved;
}
