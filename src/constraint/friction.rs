//! Friction loss of degrees of freedom and tendons: one row each, always active.

use crate::data::Data;
use crate::model::{FrictionModel, Model};
use crate::scalar::Scalar;
use crate::status::ConstraintOverflow;

use super::efc::{Block, Efc, EfcType, is_sparse};
use super::equality::drop_if_empty;

/// Appends the rows. Their residual is 0; the solver bounds the force by ± `frictionloss`.
///
/// None if friction loss is the smooth passive force of [`FrictionModel::Tanh`].
///
/// Source: MuJoCo `mj_instantiateFriction`.
pub(super) fn instantiate<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    efc: &mut Efc<T>,
) -> Result<(), ConstraintOverflow> {
    if m.opt.friction == FrictionModel::Tanh {
        return Ok(());
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
            let rows = efc.push(&block(EfcType::FrictionDof, i, m.dof_frictionloss[i]))?;
            rows.J[i] = T::one();
        }
    }
    for t in 0..m.ntendon {
        if m.tendon_frictionloss[t] > 0.0 {
            let start = efc.nefc;
            let rows = efc.push(&block(EfcType::FrictionTendon, t, m.tendon_frictionloss[t]))?;
            add_tendon(m, d, t, T::one(), rows.J);
            drop_if_empty(efc, start, is_sparse(m) && m.ten_J_rownnz[t] > 0);
        }
    }
    Ok(())
}

/// row (nv) += scale · gradient of the length of tendon `t`.
pub(super) fn add_tendon<T: Scalar>(m: &Model, d: &Data<T>, t: usize, scale: T, row: &mut [T]) {
    for k in m.ten_J_rowadr[t]..m.ten_J_rowadr[t] + m.ten_J_rownnz[t] {
        row[m.ten_J_colind[k]] += scale * d.ten_J[k];
    }
}
