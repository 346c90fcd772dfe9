//! Joint-space inertia.

use crate::data::Data;
use crate::linalg::tree_ldl;
use crate::model::{Model, WORLD};
use crate::scalar::Scalar;

/// Joint-space inertia `qM` by the composite-rigid-body algorithm, with the armature of joints and tendons.
///
/// - reads  `cinert` (nbody), `cdof` (nv)                            from [`super::com_pos()`];
///   `ten_J`                                                         from [`super::tendon()`]
/// - writes `crb` (nbody) [kg, kg·m²]; `qM` (nM) [kg, kg·m, kg·m²]
///
/// For dof j on the path from dof i to the root: `M_ij = cdof_jᵀ · crb_body(i) · cdof_i`. A tendon adds
/// armature · Jᵀ J, of which, as in MuJoCo, only the entries within the tree's pattern are kept.
///
/// Source: Featherstone 2008, ch. 6; MuJoCo `mj_crb`, `mj_tendonArmature`. Cost O(nv · depth).
pub fn crb<T: Scalar>(m: &Model, d: &mut Data<T>) {
    let Data { cinert, cdof, crb, qM, .. } = d;

    // crb = cinert, and from tip to base: add each composite inertia to its parent's
    crb.copy_from_slice(cinert);
    for b in m.bodies_tip_to_base() {
        let parent = m.body_parentid[b];
        if parent != WORLD {
            let child = crb[b];
            crb[parent] += child;
        }
    }

    // M(i,j) = cdof_j · (crb_i cdof_i), j from the root down to i; the row's columns are those j
    for i in 0..m.nv {
        let (adr, nnz) = (m.M_rowadr[i], m.M_rownnz[i]);
        if m.dof_simplenum[i] > 0 {
            // simple bodies: a constant diagonal
            qM[adr] = T::lift(m.dof_M0[i]);
            continue;
        }
        let f = crb[m.dof_bodyid[i]].mul_vec(&cdof[i]);
        let row = &mut qM[adr..adr + nnz];
        for (entry, &j) in row.iter_mut().zip(&m.M_colind[adr..adr + nnz]) {
            *entry = cdof[j].dot(&f);
        }
        row[nnz - 1] += T::lift(m.dof_armature_eff[i]);
    }
    tendon_armature(m, d);
}

fn tendon_armature<T: Scalar>(m: &Model, d: &mut Data<T>) {
    for t in 0..m.ntendon {
        let armature = m.tendon_armature_eff[t];
        if armature == 0.0 {
            continue;
        }
        let row = m.ten_J_rowadr[t]..m.ten_J_rowadr[t] + m.ten_J_rownnz[t];
        for k in row.clone() {
            let i = m.ten_J_colind[k];
            let scaled = d.ten_J[k] * T::lift(armature);
            // M(i,j) += armature J_i J_j for j in row i: ancestors of i, and i
            for e in m.M_rowadr[i]..m.M_rowadr[i] + m.M_rownnz[i] {
                let j = m.M_colind[e];
                for l in row.clone() {
                    if m.ten_J_colind[l] == j {
                        d.qM[e] += scaled * d.ten_J[l];
                    }
                }
            }
        }
    }
}

/// Factors `qM` into LᵀDL.
///
/// - reads  `qM` (nM)                                                from [`crb`]
/// - writes `qLD` (nM), `qLDiagInv` (nv); `singular` if a pivot had to be raised
///
/// Source: Featherstone 2008, §6.5; MuJoCo `mj_factorM`. Cost O(nv · depth²).
pub fn factor_m<T: Scalar>(m: &Model, d: &mut Data<T>) {
    d.qLD.copy_from_slice(&d.qM);
    d.singular = tree_ldl::factor(m, "inertia", &mut d.qLD, &mut d.qLDiagInv);
}

/// Dense symmetric copy of `qM`, row-major (nv × nv).
///
/// Source: MuJoCo `mj_fullM`.
pub fn full_m<T: Scalar>(m: &Model, d: &Data<T>) -> Vec<T> {
    let mut dense = vec![T::zero(); m.nv * m.nv];
    for i in 0..m.nv {
        for e in m.M_rowadr[i]..m.M_rowadr[i] + m.M_rownnz[i] {
            let j = m.M_colind[e];
            dense[i * m.nv + j] = d.qM[e];
            dense[j * m.nv + i] = d.qM[e];
        }
    }
    dense
}

/// `out = M v` (nv).
///
/// Source: MuJoCo `mj_mulM`. Cost O(nM).
pub fn mul_m<T: Scalar>(m: &Model, d: &Data<T>, v: &[T], out: &mut [T]) {
    out.fill(T::zero());
    for i in 0..m.nv {
        let (adr, last) = (m.M_rowadr[i], m.M_rowadr[i] + m.M_rownnz[i] - 1);
        let mut sum = d.qM[last] * v[i];
        for e in adr..last {
            let j = m.M_colind[e];
            sum += d.qM[e] * v[j];
            out[j] += d.qM[e] * v[i];
        }
        out[i] += sum;
    }
}
