//! Forces of constraints, as the user asks for them.

use crate::collision::Contact;
use crate::model::{Cone, Model};
use crate::scalar::Scalar;

use super::efc::{Efc, EfcType};

/// Force and torque that a contact exerts on its second body at `contact.pos`, in the frame of the contact: normal and two
/// tangents \[N\], torque about them [N·m]. The first body has the opposite. Zero for contacts without rows.
///
/// It is what the surfaces exert on each other in total: where they attract each other, the normal force can be negative.
///
/// - reads `force` of the rows; for pyramidal cones, the friction of the contact
///
/// The force of a pyramid is the sum of those along its edges, normal ± friction · axis.
///
/// Source: MuJoCo `mj_contactForce`, `mju_decodePyramid`.
pub fn contact_force<T: Scalar>(m: &Model, contact: &Contact<T>, efc: &Efc<T>) -> [T; 6] {
    let mut wrench = [T::zero(); 6];
    let Some(start) = contact.efc_address else { return wrench };
    let force = &efc.force[start..];
    if contact.dim > 1 && m.opt.cone == Cone::Pyramidal {
        for k in 1..contact.dim {
            let (plus, minus) = (force[2 * (k - 1)], force[2 * (k - 1) + 1]);
            wrench[0] += plus + minus;
            wrench[k] = (plus - minus) * T::lift(contact.friction[k - 1]);
        }
    } else {
        wrench[..contact.dim].copy_from_slice(&force[..contact.dim]);
    }
    wrench[0] -= T::lift(contact.adhesion);
    wrench
}

/// The first row of the limit of joint or tendon `id`; none if the limit is not active. Of a range with both ends active
/// it is the lower one.
pub fn limit_row<T: Scalar>(efc: &Efc<T>, kind: EfcType, id: usize) -> Option<usize> {
    let first = efc.ne + efc.nf;
    (first..first + efc.nl).find(|&i| efc.kind[i] == kind && efc.id[i] == id)
}
