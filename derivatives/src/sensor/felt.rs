//! Sensors that read forces of constraints: limits, touch, contacts, and wrenches across joints.
//!
//! They listen while [`crate::constraint`] goes through the rows. A force is f(q, v, a): what it answers to q and v goes to
//! the rows of the sensor, what it answers to a to its derivative by `qacc`, for the chain rule. Which contacts a sensor
//! reads stays as it is: where a contact leaves a site, or another one becomes the nearest, there is a kink.

use dualstep::constraint::{EfcType, contact_force, limit_row};
use dualstep::math::SpatialVec;
use dualstep::model::{SensorType, WORLD};
use dualstep::sensor::{
    CONTACT_FIELDS, chosen_contacts, contact_matches, reports_net_force, touches,
};
use dualstep::{Data, MINVAL, Model};
use nalgebra::{Matrix3, Vector3};

use super::object::Subtrees;
use super::{CONSTRAINTS, SensorDeriv, has};
use crate::columns::ncolumns;
use crate::constraint::{Answer, By, Listener, Pull, Source, moves, velocity_slope};

/// Working memory of the sensors of a model that read forces of constraints, allocated once.
#[derive(Clone, Debug)]
pub(super) struct Felt {
    /// These sensors.
    sensors: Vec<usize>,
    /// Contacts that have a slot of a contact sensor to themselves.
    slots: Vec<Slot>,
    /// Centres of net forces.
    nets: Vec<Net>,
    /// What reads the source at hand.
    targets: Vec<Target>,
}

/// A slot of a contact sensor.
#[derive(Clone, Copy, Debug)]
struct Slot {
    sensor: usize,
    contact: usize,
    /// First of its values among those of the sensor.
    value: usize,
    /// Seen from the second body.
    flip: bool,
}

/// The net force that a sensor reports.
#[derive(Clone, Copy, Debug)]
struct Net {
    sensor: usize,
    /// Where it acts, and the sum of the magnitudes that weigh the positions.
    pos: Vector3<f64>,
    total: f64,
    force: Vector3<f64>,
}

/// What of a sensor reads a source, and how.
#[derive(Clone, Copy, Debug)]
enum Target {
    /// The first of the forces.
    Force { sensor: usize },
    /// A side of the wrench acts on what the sensor's body carries.
    Load(Load),
    /// A slot of a contact sensor.
    Contact(Slot),
    /// A contact adds to a net force.
    Share { net: Net, sign: f64, force: Vector3<f64>, pos: Vector3<f64> },
}

/// One side of a wrench, as a force or torque sensor at a site of `body` reads it.
#[derive(Clone, Copy, Debug)]
struct Load {
    sensor: usize,
    body: usize,
    torque: bool,
    /// Axes of the site, and its place from the origin of its tree.
    axes: Matrix3<f64>,
    arm: Vector3<f64>,
    /// Which side, its sign, its point from the origin of its tree, and the wrench on it there.
    side: usize,
    sign: f64,
    point: Vector3<f64>,
    wrench: SpatialVec<f64>,
}

impl Felt {
    /// Room for the sensors of the model.
    pub(super) fn new(m: &Model) -> Self {
        use SensorType as S;
        let felt = |&i: &usize| {
            let read = matches!(m.sensor_type[i], S::Force | S::Torque);
            read || CONSTRAINTS.contains(&m.sensor_type[i])
        };
        let sensors: Vec<usize> = (0..m.nsensor).filter(felt).collect();
        let contact = |i: &&usize| m.sensor_type[**i] == S::Contact;
        let values: usize = sensors.iter().filter(contact).map(|i| m.sensor_dim[*i]).sum();
        Self {
            slots: Vec::with_capacity(values),
            nets: Vec::with_capacity(sensors.len()),
            // both sides of a wrench
            targets: Vec::with_capacity(2 * sensors.len() + values),
            sensors,
        }
    }

    /// Finds the contacts that contact sensors read.
    fn choose(&mut self, m: &Model, d: &Data<f64>) {
        self.slots.clear();
        self.nets.clear();
        self.targets.clear();
        for &i in self.sensors.iter().filter(|&&i| m.sensor_type[i] == SensorType::Contact) {
            if reports_net_force(m, i) {
                self.nets.push(Net::new(m, d, i));
                continue;
            }
            let width: usize = selected(m, i).map(|(_, size)| size).sum();
            let number = m.sensor_dim[i].checked_div(width).unwrap_or(0);
            for (k, (contact, flip)) in chosen_contacts(m, d, i).take(number).enumerate() {
                self.slots.push(Slot { sensor: i, contact, value: k * width, flip });
            }
        }
    }
}

/// Fields of contact sensor `i`: number and size.
fn selected(m: &Model, i: usize) -> impl Iterator<Item = (usize, usize)> {
    let data = m.sensor_intprm[i][0];
    CONTACT_FIELDS.into_iter().enumerate().filter(move |(bit, _)| data >> bit & 1 == 1)
}

impl Net {
    fn new(m: &Model, d: &Data<f64>, sensor: usize) -> Self {
        let mut net = Self { sensor, pos: Vector3::zeros(), total: 0.0, force: Vector3::zeros() };
        for contact in &d.contact {
            let Some(flip) = contact_matches(m, d, sensor, contact) else { continue };
            let f = contact_force(m, contact, &d.efc);
            let [n, t1, t2] = &contact.frame;
            let force = n * f[0] + t1 * f[1] + t2 * f[2];
            net.force += force * sign(flip);
            net.pos += contact.pos * force.norm();
            net.total += force.norm();
        }
        net.total = net.total.max(MINVAL);
        net.pos /= net.total;
        net
    }
}

fn sign(flip: bool) -> f64 {
    if flip { -1.0 } else { 1.0 }
}

/// The sensors of a model, listening.
pub(crate) struct Listening<'a> {
    m: &'a Model,
    d: &'a Data<f64>,
    felt: &'a mut Felt,
    subtrees: &'a Subtrees,
    to: Sums<'a>,
}

/// Where answers add up.
struct Sums<'a> {
    nv: usize,
    columns: usize,
    adr: &'a [usize],
    block: &'a mut [f64],
    by_qacc: &'a mut [f64],
    /// First row of each sensor in `by_qacc`.
    place: &'a [Option<usize>],
}

impl Sums<'_> {
    /// Adds the derivative of one value of a sensor.
    fn add(&mut self, sensor: usize, value: usize, by: By, dof: usize, x: f64) {
        let row = (self.adr[sensor] + value) * self.columns;
        match by {
            By::Position => self.block[row + dof] += x,
            By::Velocity => self.block[row + self.nv + dof] += x,
            By::Acceleration => {
                if let Some(first) = self.place[sensor] {
                    self.by_qacc[(first + value) * self.nv + dof] += x;
                }
            }
        }
    }

    fn add3(&mut self, sensor: usize, value: usize, (by, dof): (By, usize), x: &Vector3<f64>) {
        for k in 0..3 {
            self.add(sensor, value + k, by, dof, x[k]);
        }
    }
}

impl SensorDeriv<f64> {
    /// All derivatives zero; then the sensors listen, unless they are disabled.
    pub(crate) fn listen<'a>(&'a mut self, m: &'a Model, d: &'a Data<f64>) -> Listening<'a> {
        self.clear();
        self.felt.choose(m, d);
        let Self { block, by_qacc, place, felt, scratch, .. } = self;
        let (nv, columns) = (m.nv, ncolumns(m));
        let to = Sums { nv, columns, adr: &m.sensor_adr, block, by_qacc, place };
        Listening { m, d, felt, subtrees: &scratch.subtrees, to }
    }
}

impl Listening<'_> {
    /// Sides of a wrench that force and torque sensors read.
    fn loads(&mut self, pull: &Pull) {
        let (m, d) = (self.m, self.d);
        for &sensor in &self.felt.sensors {
            let torque = match m.sensor_type[sensor] {
                SensorType::Force => false,
                SensorType::Torque => true,
                _ => continue,
            };
            let site = m.sensor_objid[sensor].unwrap_or(0);
            let body = m.site_bodyid[site];
            for side in 0..2 {
                let (on, sign) = (pull.bodies[side], pull.signs[side]);
                // the world bears what it gets
                if on == WORLD || !self.subtrees.contains(body, on) {
                    continue;
                }
                let origin = |b: usize| d.subtree_com[m.body_rootid[b]];
                self.felt.targets.push(Target::Load(Load {
                    sensor,
                    body,
                    torque,
                    axes: d.site_xmat[site],
                    arm: d.site_xpos[site] - origin(body),
                    side,
                    sign,
                    point: pull.points[side] - origin(on),
                    wrench: pull.wrench,
                }));
            }
        }
    }

    /// Sensors of a contact.
    fn contact(&mut self, index: usize, pull: &Pull) {
        let (m, d) = (self.m, self.d);
        let contact = &d.contact[index];
        let Felt { sensors, slots, nets, targets } = &mut *self.felt;
        for &sensor in &*sensors {
            let site = m.sensor_objid[sensor].unwrap_or(0);
            if m.sensor_type[sensor] == SensorType::Touch && touches(m, d, site, contact) {
                targets.push(Target::Force { sensor });
            }
        }
        let own = slots.iter().filter(|slot| slot.contact == index);
        targets.extend(own.map(|slot| Target::Contact(*slot)));
        for &net in &*nets {
            if let Some(flip) = contact_matches(m, d, net.sensor, contact) {
                let (force, pos) = (pull.wrench.lin, contact.pos);
                targets.push(Target::Share { net, sign: sign(flip), force, pos });
            }
        }
    }

    /// Sensors of a limit.
    fn limit(&mut self, row: usize) {
        let (m, efc) = (self.m, &self.d.efc);
        for &sensor in &self.felt.sensors {
            let kind = match m.sensor_type[sensor] {
                SensorType::JointLimitFrc => EfcType::LimitJoint,
                SensorType::TendonLimitFrc => EfcType::LimitTendon,
                _ => continue,
            };
            if limit_row(efc, kind, m.sensor_objid[sensor].unwrap_or(0)) == Some(row) {
                self.felt.targets.push(Target::Force { sensor });
            }
        }
    }
}

impl Listener for Listening<'_> {
    fn looks_at(&self, index: usize) -> bool {
        self.felt.slots.iter().any(|slot| slot.contact == index)
    }

    fn attend(&mut self, source: Source) -> bool {
        self.felt.targets.clear();
        match source {
            Source::Limit(row) => self.limit(row),
            Source::Tie(pull) => self.loads(pull),
            Source::Contact(index, pull) => {
                self.loads(pull);
                self.contact(index, pull);
            }
        }
        !self.felt.targets.is_empty()
    }

    fn hear(&mut self, answer: &Answer) {
        let (m, d, to) = (self.m, self.d, &mut self.to);
        for target in &self.felt.targets {
            match target {
                Target::Force { sensor } => {
                    to.add(*sensor, 0, answer.by, answer.dof, answer.force[0]);
                }
                Target::Load(load) => load.add(m, d, answer, to),
                Target::Contact(slot) => slot.add(m, answer, to),
                Target::Share { net, sign, force, pos } => {
                    net.add(m, *sign, (force, pos), answer, to);
                }
            }
        }
    }
}

impl Load {
    /// What acts on the subtree is not carried across the joints: r × f + t and f about the origin, less what turns with the
    /// site.
    fn add(&self, m: &Model, d: &Data<f64>, answer: &Answer, to: &mut Sums) {
        let (push, moved) = (&self.wrench.lin, &answer.wrench);
        let torque =
            moved.rot + answer.points[self.side].cross(push) + self.point.cross(&moved.lin);
        let mut change = SpatialVec::new(torque, moved.lin);
        if answer.by == By::Position && moves(m, answer.dof, self.body) {
            let now = SpatialVec::new(self.wrench.rot + self.point.cross(push), *push);
            change -= d.cdof[answer.dof].cross_force(&now);
        }
        let half = if self.torque { change.rot - self.arm.cross(&change.lin) } else { change.lin };
        to.add3(self.sensor, 0, (answer.by, answer.dof), &(self.axes.tr_mul(&half) * -self.sign));
    }
}

impl Slot {
    /// Fields of the contact, as `dualstep::sensor` writes them.
    fn add(&self, m: &Model, answer: &Answer, to: &mut Sums) {
        let column = (answer.by, answer.dof);
        let turned = |v: &Vector3<f64>| v * sign(self.flip);
        let seen = |v: &[f64]| Vector3::new(v[0], v[1], v[2] * sign(self.flip));
        let mut value = self.value;
        for (field, size) in selected(m, self.sensor) {
            let change = match field {
                1 => seen(&answer.force[..3]),
                2 => seen(&answer.force[3..]),
                4 => answer.points[0],
                5 => turned(&answer.frame[0]),
                6 => turned(&answer.frame[1]),
                7 => seen(&answer.velocity[..3]),
                8 => seen(&answer.velocity[3..]),
                // how many were found does not change
                _ => Vector3::zeros(),
            };
            if size == 3 {
                to.add3(self.sensor, value, column, &change);
            } else if field == 3 {
                to.add(self.sensor, value, answer.by, answer.dof, answer.dist);
            }
            value += size;
        }
    }
}

impl Net {
    /// Force, torque and position of the net force: Σ f, Σ (t + (p − p̄) × f), p̄ = Σ |f| p / Σ |f|.
    fn add(
        &self,
        m: &Model,
        sign: f64,
        (force, pos): (&Vector3<f64>, &Vector3<f64>),
        answer: &Answer,
        to: &mut Sums,
    ) {
        let (moved, shift) = (&answer.wrench, &answer.points[0]);
        let weight = force.norm();
        let slope = if weight > 0.0 { force.dot(&moved.lin) / weight } else { 0.0 };
        // below the smallest total the sum is divided by that
        let from = if self.total > MINVAL { pos - self.pos } else { *pos };
        let centre = (from * slope + shift * weight) / self.total;
        let torque = moved.rot + shift.cross(force) + (pos - self.pos).cross(&moved.lin);
        let mut value = 0;
        for (field, size) in selected(m, self.sensor) {
            let change = match field {
                1 => moved.lin * sign,
                2 => torque * sign - centre.cross(&self.force),
                4 => centre,
                _ => Vector3::zeros(),
            };
            if size == 3 {
                to.add3(self.sensor, value, (answer.by, answer.dof), &change);
            }
            value += size;
        }
    }
}

/// Distances and velocities of limits: row J of the limit, and ∂(J qvel)/∂q.
pub(super) fn limits(m: &Model, d: &Data<f64>, block: &mut [f64]) {
    use SensorType as S;
    if !has(m, &CONSTRAINTS) {
        return;
    }
    let n = ncolumns(m);
    for i in 0..m.nsensor {
        let (kind, velocity) = match m.sensor_type[i] {
            S::JointLimitPos => (EfcType::LimitJoint, false),
            S::TendonLimitPos => (EfcType::LimitTendon, false),
            S::JointLimitVel => (EfcType::LimitJoint, true),
            S::TendonLimitVel => (EfcType::LimitTendon, true),
            _ => continue,
        };
        let Some(row) = limit_row(&d.efc, kind, m.sensor_objid[i].unwrap_or(0)) else { continue };
        let out = &mut block[m.sensor_adr[i] * n..][..n];
        let (columns, J) = d.efc.row(row);
        let first = if velocity { m.nv } else { 0 };
        for (&j, x) in columns.iter().zip(J) {
            out[first + j] += x;
        }
        if velocity {
            velocity_slope(m, d, row, |j, x| out[j] += x);
        }
    }
}
