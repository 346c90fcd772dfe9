//! Fixed tendons.

use crate::data::Data;
use crate::model::{Model, WrapType};
use crate::scalar::Scalar;

/// Lengths and Jacobians of fixed tendons: length = Σ coefᵢ qᵢ.
///
/// - reads  `qpos` (nq)
/// - writes `ten_length` (ntendon); `ten_J` (rows of the model's pattern)
///
/// Spatial tendons are refused by the loader.
///
/// Source: MuJoCo `mj_tendon`.
pub fn tendon<T: Scalar>(m: &Model, d: &mut Data<T>) {
    for t in 0..m.ntendon {
        let row = m.ten_J_rowadr[t]..m.ten_J_rowadr[t] + m.ten_J_rownnz[t];
        d.ten_J[row.clone()].fill(T::zero());
        let mut length = T::zero();
        for w in m.tendon_adr[t]..m.tendon_adr[t] + m.tendon_num[t] {
            let (WrapType::Joint, Some(j)) = (m.wrap_type[w], m.wrap_objid[w]) else { continue };
            let coef = T::lift(m.wrap_prm[w]);
            length += coef * d.qpos[m.jnt_qposadr[j]];
            for k in row.clone() {
                if m.ten_J_colind[k] == m.jnt_dofadr[j] {
                    d.ten_J[k] = coef;
                }
            }
        }
        d.ten_length[t] = length;
    }
}
