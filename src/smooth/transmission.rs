//! Actuator lengths and moment arms.

use nalgebra::Vector3;

use super::jacobian::dof_point_velocity;
use crate::collision::{Contact, Exclude};
use crate::data::Data;
use crate::math::Quat;
use crate::model::{JointType, Model, TrnType};
use crate::scalar::Scalar;

/// Lengths of actuators and their gradients, scaled by the gear.
///
/// - reads  `qpos` (nq); `ten_length`, `ten_J`; `xmat`, `site_xpos`, `site_xmat`, `cdof`, `subtree_com`; `contact`
/// - writes `actuator_length` (nactuator); `actuator_moment` (rows of the model's pattern)
///
/// Joints, joints in the parent's frame, tendons, sites, sites relative to a reference site, bodies at their contacts.
/// Other transmissions are refused by the loader.
///
/// Source: MuJoCo `mj_transmission`; manual, "Actuation model".
pub fn transmission<T: Scalar>(m: &Model, d: &mut Data<T>) {
    for a in 0..m.nactuator {
        let [Some(id), refsite] = m.actuator_trnid[a] else { continue };
        match m.actuator_trntype[a] {
            TrnType::Joint => joint(m, d, a, id, false),
            TrnType::JointInParent => joint(m, d, a, id, true),
            TrnType::Tendon => tendon(m, d, a, id),
            TrnType::Site => match refsite {
                None => site(m, d, a, id),
                Some(reference) => site_relative(m, d, a, id, reference),
            },
            TrnType::Body => body(m, d, a, id),
            TrnType::SliderCrank | TrnType::So3 => {}
        }
    }
}

fn gear3<T: Scalar>(m: &Model, a: usize, first: usize) -> Vector3<T> {
    let g = &m.actuator_gear[a];
    Vector3::new(T::lift(g[first]), T::lift(g[first + 1]), T::lift(g[first + 2]))
}

fn joint<T: Scalar>(m: &Model, d: &mut Data<T>, a: usize, j: usize, in_parent: bool) {
    let (q, adr) = (m.jnt_qposadr[j], m.moment_rowadr[a]);
    match m.jnt_type[j] {
        JointType::Slide | JointType::Hinge => {
            let gear = T::lift(m.actuator_gear[a][0]);
            d.actuator_length[a] = d.qpos[q] * gear;
            d.actuator_moment[adr] = gear;
        }
        // length: projection of the rotation vector on the gear's axis
        JointType::Ball => {
            let quat = Quat::from_slice(&d.qpos[q..q + 4]).normalized();
            let mut axis = gear3(m, a, 0);
            if in_parent {
                axis = quat.conj().rotate(&axis);
            }
            d.actuator_length[a] = quat.log().dot(&axis);
            d.actuator_moment[adr..adr + 3].copy_from_slice(axis.as_slice());
        }
        // no meaningful length
        JointType::Free => {
            let mut torque = gear3(m, a, 3);
            if in_parent {
                let quat = Quat::from_slice(&d.qpos[q + 3..q + 7]).normalized();
                torque = quat.conj().rotate(&torque);
            }
            d.actuator_length[a] = T::zero();
            d.actuator_moment[adr..adr + 3].copy_from_slice(gear3(m, a, 0).as_slice());
            d.actuator_moment[adr + 3..adr + 6].copy_from_slice(torque.as_slice());
        }
    }
}

fn tendon<T: Scalar>(m: &Model, d: &mut Data<T>, a: usize, t: usize) {
    let gear = T::lift(m.actuator_gear[a][0]);
    d.actuator_length[a] = d.ten_length[t] * gear;
    let (adr, from, nnz) = (m.moment_rowadr[a], m.ten_J_rowadr[t], m.ten_J_rownnz[t]);
    for k in 0..nnz {
        d.actuator_moment[adr + k] = d.ten_J[from + k] * gear;
    }
}

/// Wrench fixed in a site: no length; moment is its power on each degree of freedom.
fn site<T: Scalar>(m: &Model, d: &mut Data<T>, a: usize, s: usize) {
    let force = d.site_xmat[s] * gear3::<T>(m, a, 0);
    let torque = d.site_xmat[s] * gear3::<T>(m, a, 3);
    let root = m.body_rootid[m.site_bodyid[s]];
    d.actuator_length[a] = T::zero();
    for k in m.moment_rowadr[a]..m.moment_rowadr[a] + m.moment_rownnz[a] {
        let (rot, lin) = dof_point_velocity(d, m.moment_colind[k], root, &d.site_xpos[s]);
        d.actuator_moment[k] = lin.dot(&force) + rot.dot(&torque);
    }
}

/// Pose of a site seen from a reference site. Degrees of freedom that move both are not in the pattern, so
/// each column belongs to one of the two chains.
fn site_relative<T: Scalar>(m: &Model, d: &mut Data<T>, a: usize, s: usize, reference: usize) {
    let (b, b_ref) = (m.site_bodyid[s], m.site_bodyid[reference]);
    let (gear_lin, gear_rot) = (gear3::<T>(m, a, 0), gear3::<T>(m, a, 3));
    let is_zero = |g: &[f64]| g.iter().all(|x| *x == 0.0);
    let translates = !is_zero(&m.actuator_gear[a][..3]);
    let rotates = !is_zero(&m.actuator_gear[a][3..]);
    let R_ref = d.site_xmat[reference];
    let mut length = T::zero();

    if translates {
        let p = R_ref.transpose() * (d.site_xpos[s] - d.site_xpos[reference]);
        length += p.dot(&gear_lin);
    }
    if rotates {
        let quat = d.xquat[b] * Quat::lift(&m.site_quat[s]);
        let quat_ref = d.xquat[b_ref] * Quat::lift(&m.site_quat[reference]);
        length += quat.difference(quat_ref).dot(&gear_rot);
    }
    d.actuator_length[a] = length;

    let (force, torque) = (R_ref * gear_lin, R_ref * gear_rot);
    for k in m.moment_rowadr[a]..m.moment_rowadr[a] + m.moment_rownnz[a] {
        let dof = m.moment_colind[k];
        let moves_site = m.body_dofs_to_root(b).any(|i| i == dof);
        let (rot, lin) = if moves_site {
            dof_point_velocity(d, dof, m.body_rootid[b], &d.site_xpos[s])
        } else {
            let at = d.site_xpos[reference];
            let (rot, lin) = dof_point_velocity(d, dof, m.body_rootid[b_ref], &at);
            (-rot, -lin)
        };
        d.actuator_moment[k] = lin.dot(&force) + rot.dot(&torque);
    }
}

/// Contacts of a body: no length; the moment is the mean of the rates at which their distances shrink, so that a force
/// pulls the surfaces together. Contacts in the gap count too.
fn body<T: Scalar>(m: &Model, d: &mut Data<T>, a: usize, b: usize) {
    d.actuator_length[a] = T::zero();
    let adr = m.moment_rowadr[a];
    let mut moment = std::mem::take(&mut d.actuator_moment);
    let row = &mut moment[adr..adr + m.moment_rownnz[a]];
    row.fill(T::zero());
    let mut number = 0;
    for contact in &d.contact {
        let bodies = contact.geom.map(|g| m.geom_bodyid[g]);
        if bodies.contains(&b) && matches!(contact.exclude, Exclude::None | Exclude::Gap) {
            number += 1;
            add_normal(m, d, contact, T::one(), row);
        }
    }
    if number > 1 {
        let number = T::lift(f64::from(number));
        for x in row {
            *x /= number;
        }
    }
    d.actuator_moment = moment;
}

/// `row` (nv) += `scale` · rate of the approach of the two bodies at a contact, along its normal.
///
/// Degrees of freedom that move both bodies cancel, since the point is the same.
pub(super) fn add_normal<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    contact: &Contact<T>,
    scale: T,
    row: &mut [T],
) {
    let [b1, b2] = contact.geom.map(|g| m.geom_bodyid[g]);
    for (b, scale) in [(b1, scale), (b2, -scale)] {
        for dof in m.body_dofs_to_root(b) {
            let (_, lin) = dof_point_velocity(d, dof, m.body_rootid[b], &contact.pos);
            row[dof] += contact.frame[0].dot(&lin) * scale;
        }
    }
}
