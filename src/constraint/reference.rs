//! Velocity and reference acceleration of the rows.

use crate::collision::Contact;
use crate::data::Data;
use crate::model::Model;
use crate::scalar::Scalar;

use super::efc::Efc;
use super::{contact, equality};

/// Velocity and reference acceleration of all rows.
///
/// - reads  `qvel`, `cvel`, `cdof`, `cdof_dot`, and what the rows were made from; `J`, `pos`, `margin`, `KBIP`
/// - writes `vel`, `aref` (nefc)
///
/// vel = J qvel, and of moving surfaces; aref = −B vel − K I (pos − margin), and −J̇ qvel for connects and
/// welds, and R · adhesion for contacts of surfaces that attract each other.
///
/// Source: MuJoCo `mj_referenceConstraint`.
pub fn reference_constraint<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    contacts: &[Contact<T>],
    efc: &mut Efc<T>,
) {
    for i in 0..efc.nefc {
        let (columns, entries) = efc.row(i);
        let terms = columns.iter().zip(entries).map(|(&j, x)| *x * d.qvel[j]);
        efc.vel[i] = terms.fold(T::zero(), |sum, x| sum + x);
    }
    contact::add_surface_velocity(m, d, contacts, efc);
    for i in 0..efc.nefc {
        let [k, b, imp, _] = efc.KBIP[i];
        efc.aref[i] = -b * efc.vel[i] - k * imp * (efc.pos[i] - efc.margin[i]);
    }
    contact::add_adhesion(contacts, efc);
    equality::subtract_bias(m, d, efc);
}
