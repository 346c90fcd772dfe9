//! Sensors of contacts: touch, and selected contacts.

use std::cmp::Ordering;

use nalgebra::Vector3;

use super::{object, put3};
use crate::MINVAL;
use crate::collision::Contact;
use crate::constraint::contact_force;
use crate::data::Data;
use crate::model::{Model, ObjType};
use crate::ray::{inside_site, ray_meets_site};
use crate::scalar::Scalar;
use crate::smooth::object::shift_motion;

/// Sum of the normal forces of the contacts of the site's body that lie in the site, or push through it.
///
/// Source: MuJoCo `mj_sensorAcc`, touch.
pub(super) fn touch<T: Scalar>(m: &Model, d: &Data<T>, site: usize) -> T {
    let felt = d.contact.iter().filter(|contact| touches(m, d, site, contact));
    felt.fold(T::zero(), |sum, contact| sum + contact_force(m, contact, &d.efc)[0])
}

/// True if a touch sensor at a site feels a contact: one of the site's body that pushes, and lies in the site or pushes
/// through it.
///
/// - reads  `site_xpos`, `site_xmat`; the forces of the rows
pub fn touches<T: Scalar>(m: &Model, d: &Data<T>, site: usize, contact: &Contact<T>) -> bool {
    let body = m.site_bodyid[site];
    let bodies = contact.geom.map(|g| m.geom_bodyid[g]);
    if !bodies.contains(&body) || contact_force(m, contact, &d.efc)[0].re() <= 0.0 {
        return false;
    }
    // the force comes from the other body
    let [normal, ..] = &contact.frame;
    let ray = if bodies[1] == body { -normal } else { *normal };
    ray_meets_site(m, d, site, &contact.pos, &ray)
}

/// What becomes of the contacts that match.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reduce {
    /// The first ones.
    None,
    /// Those with the smallest distance.
    MinDist,
    /// Those with the largest force.
    MaxForce,
    /// One that stands for all.
    NetForce,
}

/// Sizes of the fields of a contact sensor in order of their bits: found, force, torque, dist, pos, normal, tangent, linvel,
/// angvel.
pub const CONTACT_FIELDS: [usize; 9] = [1, 3, 3, 1, 3, 3, 3, 3, 3];

/// Fields of one contact, all of them.
struct Fields<T> {
    found: T,
    force: Vector3<T>,
    torque: Vector3<T>,
    dist: T,
    pos: Vector3<T>,
    normal: Vector3<T>,
    tangent: Vector3<T>,
    linvel: Vector3<T>,
    angvel: Vector3<T>,
}

/// Writes the slots of contact sensor `i`: selected contacts, then zeros.
///
/// - reads `contact`; the forces of the rows and `cvel` where they are asked for
///
/// Source: MuJoCo XML reference, sensor/contact; `mj_sensorAcc`.
pub(super) fn write<T: Scalar>(m: &Model, d: &Data<T>, i: usize, out: &mut [T]) {
    out.fill(T::zero());
    let data = m.sensor_intprm[i][0];
    let width: usize = selected(data).sum();
    let found =
        (0..d.contact.len()).filter(|&c| contact_matches(m, d, i, &d.contact[c]).is_some()).count();
    if found == 0 || width == 0 {
        return;
    }
    if reduction(m, i) == Reduce::NetForce {
        copy(data, &net_fields(m, d, i, found), &mut out[..width]);
        return;
    }
    for (slot, (c, flip)) in out.chunks_exact_mut(width).zip(chosen_contacts(m, d, i)) {
        copy(data, &fields(m, d, &d.contact[c], flip, found), slot);
    }
}

fn reduction(m: &Model, i: usize) -> Reduce {
    match m.sensor_intprm[i][1] {
        1 => Reduce::MinDist,
        2 => Reduce::MaxForce,
        3 => Reduce::NetForce,
        _ => Reduce::None,
    }
}

/// True if contact sensor `i` reports the net force of all contacts that match.
pub fn reports_net_force(m: &Model, i: usize) -> bool {
    reduction(m, i) == Reduce::NetForce
}

/// The contacts that contact sensor `i` selects, in the order of its slots, of which there may be fewer; and whether each is
/// seen from its second body. Nothing is selected where the sensor reports the net force.
///
/// - reads `contact`; the forces of the rows where the largest are asked for
pub fn chosen_contacts<'a, T: Scalar>(
    m: &'a Model,
    d: &'a Data<T>,
    i: usize,
) -> impl Iterator<Item = (usize, bool)> + 'a {
    let reduce = reduction(m, i);
    let mut last = None;
    std::iter::from_fn(move || {
        if reduce == Reduce::NetForce {
            return None;
        }
        last = Some(next(m, d, i, reduce, last)?);
        let (_, c) = last?;
        Some((c, contact_matches(m, d, i, &d.contact[c]) == Some(true)))
    })
}

/// Sizes of the fields that `data` selects.
fn selected(data: i32) -> impl Iterator<Item = usize> {
    CONTACT_FIELDS
        .into_iter()
        .enumerate()
        .filter(move |(bit, _)| data >> bit & 1 == 1)
        .map(|(_, n)| n)
}

/// The matching contact that follows `last` in the order of the reduction: ascending keys, then numbers.
fn next<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    i: usize,
    reduce: Reduce,
    last: Option<(f64, usize)>,
) -> Option<(f64, usize)> {
    let order = |a: &(f64, usize), b: &(f64, usize)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
    let key = |contact: &Contact<T>| match reduce {
        Reduce::None | Reduce::NetForce => 0.0,
        Reduce::MinDist => contact.dist.re(),
        Reduce::MaxForce => {
            let force = contact_force(m, contact, &d.efc);
            -force[..3].iter().map(|f| f.re() * f.re()).sum::<f64>()
        }
    };
    let matches = d.contact.iter().enumerate();
    let matches = matches.filter(|(_, c)| contact_matches(m, d, i, c).is_some());
    matches
        .map(|(c, contact)| (key(contact), c))
        .filter(|item| last.is_none_or(|last| order(item, &last) == Ordering::Greater))
        .min_by(order)
}

/// None if a contact does not match contact sensor `i`; else whether its normal points from the second object to the first.
///
/// - reads  `site_xpos`, `site_xmat`
pub fn contact_matches<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    i: usize,
    contact: &Contact<T>,
) -> Option<bool> {
    let (type1, type2) = (m.sensor_objtype[i], m.sensor_reftype[i]);
    let (id1, id2) = (object(m, i), m.sensor_refid[i].unwrap_or(0));
    if type1 == ObjType::Site && !inside_site(m, d, id1, &contact.pos) {
        return None;
    }
    let is = |side: usize, kind: ObjType, id: usize| belongs(m, contact.geom[side], kind, id);
    let [first, second] = [0, 1].map(|side| is(side, type1, id1));
    let [first2, second2] = [0, 1].map(|side| is(side, type2, id2));
    if !(first || second) || !(first2 || second2) {
        return None;
    }
    match (type1, type2) {
        (ObjType::Unknown, ObjType::Unknown) => Some(false),
        (_, ObjType::Unknown) => Some(!first),
        (ObjType::Unknown, _) => Some(!second2),
        _ if first && second2 => Some(false),
        _ if second && first2 => Some(true),
        _ => None,
    }
}

/// True if a geom is the object, or part of it.
fn belongs(m: &Model, g: usize, kind: ObjType, id: usize) -> bool {
    let body = m.geom_bodyid[g];
    match kind {
        ObjType::Unknown | ObjType::Site => true,
        ObjType::Geom => g == id,
        ObjType::Body => body == id,
        ObjType::XBody => {
            let mut b = body;
            while b > id {
                b = m.body_parentid[b];
            }
            b == id
        }
        _ => false,
    }
}

/// Fields of a contact, seen from its first body, or if `flip` from its second: normal and first tangent turn over, and
/// what acts on the one acts on the other in the opposite direction.
#[expect(clippy::cast_precision_loss, reason = "a number of contacts")]
fn fields<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    contact: &Contact<T>,
    flip: bool,
    found: usize,
) -> Fields<T> {
    let [fx, fy, fz, tx, ty, tz] = contact_force(m, contact, &d.efc);
    let [normal, tangent, tangent2] = contact.frame;
    let (linvel, angvel) = relative_velocity(m, d, contact);
    let along = |v: Vector3<T>| Vector3::new(normal.dot(&v), tangent.dot(&v), tangent2.dot(&v));
    let seen = |v: Vector3<T>| if flip { Vector3::new(v.x, v.y, -v.z) } else { v };
    let turned = |v: Vector3<T>| if flip { -v } else { v };
    Fields {
        found: T::lift(found as f64),
        force: seen(Vector3::new(fx, fy, fz)),
        torque: seen(Vector3::new(tx, ty, tz)),
        dist: contact.dist,
        pos: contact.pos,
        normal: turned(normal),
        tangent: turned(tangent),
        linvel: seen(along(linvel)),
        angvel: seen(along(angvel)),
    }
}

/// Velocity of the second body relative to the first at the contact: linear, angular; world frame.
fn relative_velocity<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    contact: &Contact<T>,
) -> (Vector3<T>, Vector3<T>) {
    let [v1, v2] = contact.geom.map(|g| {
        let body = m.geom_bodyid[g];
        shift_motion(&d.cvel[body], &(contact.pos - d.subtree_com[m.body_rootid[body]]))
    });
    (v2.lin - v1.lin, v2.rot - v1.rot)
}

/// One contact with the effect of all that match, in world axes, at the centre of their positions weighted by force.
#[expect(clippy::cast_precision_loss, reason = "a number of contacts")]
fn net_fields<T: Scalar>(m: &Model, d: &Data<T>, i: usize, found: usize) -> Fields<T> {
    // force and torque of the contact in world axes, and its position
    let wrenches = || {
        d.contact.iter().filter_map(|contact| {
            let flip = contact_matches(m, d, i, contact)?;
            let [fx, fy, fz, tx, ty, tz] = contact_force(m, contact, &d.efc);
            let [n, t1, t2] = &contact.frame;
            let world = |x: T, y: T, z: T| n * x + t1 * y + t2 * z;
            let sign = T::lift(if flip { -1.0 } else { 1.0 });
            Some((world(fx, fy, fz) * sign, world(tx, ty, tz) * sign, contact.pos))
        })
    };
    let (mut pos, mut total) = (Vector3::zeros(), T::zero());
    for (force, _, at) in wrenches() {
        // the norm of zero has no derivative
        let square = force.norm_squared();
        if square.re() > 0.0 {
            let weight = square.sqrt();
            pos += at * weight;
            total += weight;
        }
    }
    pos /= if total.re() > MINVAL { total } else { T::lift(MINVAL) };

    let (mut force, mut torque) = (Vector3::zeros(), Vector3::zeros());
    for (f, t, at) in wrenches() {
        force += f;
        torque += t + (at - pos).cross(&f);
    }
    Fields {
        found: T::lift(found as f64),
        force,
        torque,
        dist: T::zero(),
        pos,
        normal: Vector3::x(),
        tangent: Vector3::y(),
        linvel: Vector3::zeros(),
        angvel: Vector3::zeros(),
    }
}

/// Copies the selected fields.
fn copy<T: Scalar>(data: i32, fields: &Fields<T>, out: &mut [T]) {
    let mut adr = 0;
    for (bit, size) in
        CONTACT_FIELDS.into_iter().enumerate().filter(|(bit, _)| data >> bit & 1 == 1)
    {
        let slot = &mut out[adr..adr + size];
        match bit {
            0 => slot[0] = fields.found,
            1 => put3(slot, &fields.force),
            2 => put3(slot, &fields.torque),
            3 => slot[0] = fields.dist,
            4 => put3(slot, &fields.pos),
            5 => put3(slot, &fields.normal),
            6 => put3(slot, &fields.tangent),
            7 => put3(slot, &fields.linvel),
            _ => put3(slot, &fields.angvel),
        }
        adr += size;
    }
}
