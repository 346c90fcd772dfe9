//! What forces of constraints answer to, for those who read them.
//!
//! The force of a row is f = −s′(J a − aref), a function of position, velocity and acceleration. While
//! [`super::mjd_constraint`] adds up what follows for joint forces, a [`Listener`] hears of each force by itself.

use dualstep::math::SpatialVec;
use nalgebra::Vector3;

/// What a force is differentiated by, the others being fixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// Position.
    Position,
    /// Velocity.
    Velocity,
    /// Acceleration.
    Acceleration,
}

/// A wrench between two bodies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pull {
    pub(crate) bodies: [usize; 2],
    /// With which sign it acts on each.
    pub(crate) signs: [f64; 2],
    /// Where it acts, in the world.
    pub(crate) points: [Vector3<f64>; 2],
    /// Torque and force, world axes.
    pub(crate) wrench: SpatialVec<f64>,
}

/// Whose forces are about to be told.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source<'a> {
    /// A limit, by its row.
    Limit(usize),
    /// A connect, weld or distance.
    Tie(&'a Pull),
    /// A contact, by its number.
    Contact(usize, &'a Pull),
}

/// How a force, and what it acts at, changes with one degree of freedom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    pub(crate) by: By,
    pub(crate) dof: usize,
    /// The force of a limit; the forces of a contact along its axes: normal, tangents, spin, rolls.
    pub(crate) force: [f64; 6],
    /// Wrench, and its points, of ties and contacts.
    pub(crate) wrench: SpatialVec<f64>,
    pub(crate) points: [Vector3<f64>; 2],
    /// Distance, frame, and relative velocity along its axes, of contacts.
    pub(crate) dist: f64,
    pub(crate) frame: [Vector3<f64>; 3],
    pub(crate) velocity: [f64; 6],
}

impl Answer {
    /// No change.
    pub(crate) fn none(by: By, dof: usize) -> Self {
        Self {
            by,
            dof,
            force: [0.0; 6],
            wrench: SpatialVec::zero(),
            points: [Vector3::zeros(); 2],
            dist: 0.0,
            frame: [Vector3::zeros(); 3],
            velocity: [0.0; 6],
        }
    }
}

/// Who reads forces of constraints.
pub(crate) trait Listener {
    /// True if contact `index` is read even where it does not push.
    fn looks_at(&self, index: usize) -> bool;
    /// True if someone reads the source; its answers follow.
    fn attend(&mut self, source: Source) -> bool;
    /// Takes an answer of the source that was last attended to.
    fn hear(&mut self, answer: &Answer);
}

/// Nobody reads them.
pub(crate) struct Nobody;

impl Listener for Nobody {
    fn looks_at(&self, _: usize) -> bool {
        false
    }

    fn attend(&mut self, _: Source) -> bool {
        false
    }

    fn hear(&mut self, _: &Answer) {}
}
