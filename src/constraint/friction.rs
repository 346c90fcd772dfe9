//! Friction loss of degrees of freedom and tendons: one row each, always active.

use crate::data::Data;
use crate::model::{FrictionModel, Model};
use crate::scalar::Scalar;

use super::efc::{Block, Efc, EfcType, Rows, is_sparse};

/// Appends the rows. Their residual is 0; the solver bounds the force by ± `frictionloss`.
///
/// None if friction loss is the smooth passive force of [`FrictionModel::Tanh`].
///
/// Source: MuJoCo `mj_instantiateFriction`.
pub(super) fn instantiate<T: Scalar>(m: &Model, d: &Data<T>, efc: &mut Efc<T>) {
    if m.opt.friction == FrictionModel::Tanh {
        return;
    }
    let block = |kind, id, frictionloss| Block {
        len: 1,
        kind,
        id,
        pos: T::zero(),
        margin: 0.0,
        frictionloss,
    };
    for i in 0..m.nv {
        if m.dof_frictionloss[i] != 0.0 {
            efc.set_columns(std::iter::once(i));
            efc.push(&block(EfcType::FrictionDof, i, m.dof_frictionloss[i])).J[0] = T::one();
        }
    }
    for t in 0..m.ntendon {
        if m.tendon_frictionloss[t] > 0.0 {
            let start = efc.nefc;
            efc.set_columns(tendon_dofs(m, t));
            let mut rows = efc.push(&block(EfcType::FrictionTendon, t, m.tendon_frictionloss[t]));
            add_tendon(m, d, t, T::one(), &mut rows);
            efc.drop_if_empty(start, is_sparse(m) && m.ten_J_rownnz[t] > 0);
        }
    }
}

/// Degrees of freedom that may change the length of tendon `t`.
pub(super) fn tendon_dofs(m: &Model, t: usize) -> impl Iterator<Item = usize> {
    let first = m.ten_J_rowadr[t];
    m.ten_J_colind[first..first + m.ten_J_rownnz[t]].iter().copied()
}

/// Row 0 += scale · gradient of the length of tendon `t`.
pub(super) fn add_tendon<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    t: usize,
    scale: T,
    rows: &mut Rows<'_, T>,
) {
    for (dof, x) in tendon_dofs(m, t).zip(&d.ten_J[m.ten_J_rowadr[t]..]) {
        rows.add(0, dof, scale * *x);
    }
}
