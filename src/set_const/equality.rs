//! Relative poses that connect and weld constraints take from the reference configuration.

use nalgebra::Vector3;

use crate::data::Data;
use crate::math::Quat;
use crate::model::{EqType, Model, ObjType};

/// Completes `eq_data` of connect constraints (anchor in the second body, 3..6) and of welds that were
/// given without a relative pose (3..10; marked by `eq_data[11]`), for body semantics.
///
/// Source: MuJoCo `mj_setConst`.
pub(super) fn relative_poses(m: &mut Model, d: &Data<f64>) {
    for e in 0..m.neq {
        let (b1, Some(b2)) = (m.eq_obj1id[e], m.eq_obj2id[e]) else { continue };
        if m.eq_objtype[e] != ObjType::Body {
            continue;
        }
        let data = &mut m.eq_data[e];
        let anchor = Vector3::new(data[0], data[1], data[2]);
        match m.eq_type[e] {
            EqType::Connect => {
                let point = d.xpos[b1] + d.xmat[b1] * anchor;
                let local = d.xmat[b2].tr_mul(&(point - d.xpos[b2]));
                data[3..6].copy_from_slice(local.as_slice());
            }
            EqType::Weld if data[11] != 0.0 => {
                let point = d.xpos[b2] + d.xmat[b2] * anchor;
                let local = d.xmat[b1].tr_mul(&(point - d.xpos[b1]));
                data[3..6].copy_from_slice(local.as_slice());
                let relative = d.xquat[b1].conj() * d.xquat[b2];
                data[6..10].copy_from_slice(&relative.to_array());
            }
            EqType::Weld => {
                let quat = Quat::from_slice(&data[6..10]).normalized();
                data[6..10].copy_from_slice(&quat.to_array());
            }
            EqType::Joint | EqType::Tendon | EqType::Distance => {}
        }
    }
}
