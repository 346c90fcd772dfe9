//! Contacts: geometry on small dual numbers, motions and forces by hand.
//!
//! A contact depends on the relative pose of two bodies: six numbers. The pair runs through its collider once more with
//! the second geom's displacement as a dual number, which gives the derivatives of distance, position and frame while
//! features stay as they are. With the motion of each degree of freedom at the contact these become columns.

use dualstep::collision::{Contact, PairCollider, Touch, make_frame};
use dualstep::constraint::{EfcType, contact_force};
use dualstep::math::SpatialVec;
use dualstep::scalar::{Dual, lift3};
use dualstep::{Data, Model, Scalar};
use nalgebra::{Matrix3, Vector3};
use num_dual::Dual64;

use super::answer::{Answer, By, Listener, Pull, Source};
use super::motion::{Motions, at, unit_motion};
use super::response::Rows;
use crate::matrices::Feature;
use crate::rne_pos::WorldWrench;

/// Rows of a contact at most.
const MAX_ROWS: usize = 10;

/// Relative displacement of the second geom: turn, shift.
type Jet = Dual<6>;

/// Working memory of contacts.
#[derive(Clone, Debug)]
pub(super) struct ContactScratch {
    collider: PairCollider<Jet>,
    columns: Vec<Column>,
}

impl ContactScratch {
    pub(super) fn new(m: &Model) -> Self {
        Self { collider: PairCollider::new(m), columns: Vec::with_capacity(2 * m.nv) }
    }
}

/// A degree of freedom that moves one of the bodies, or both.
#[derive(Clone, Copy, Debug)]
struct Column {
    dof: usize,
    /// Which of the two it moves.
    moves: [bool; 2],
    /// Motion at the contact.
    motion: SpatialVec<f64>,
}

/// What a displacement does to a contact.
#[derive(Clone, Copy, Debug)]
struct Change {
    dist: f64,
    pos: Vector3<f64>,
    frame: [Vector3<f64>; 3],
}

/// Everything about one contact that its columns share.
struct Touching<'a> {
    m: &'a Model,
    d: &'a Data<f64>,
    contact: &'a Contact<f64>,
    bodies: [usize; 2],
    rows: Rows,
    /// Force along the axes, adhesion included.
    net: [f64; 6],
    /// The same in the world: rot:lin.
    wrench: SpatialVec<f64>,
    /// Relative motions at the contact: velocity, and the acceleration that is linear in `qacc`.
    v: SpatialVec<f64>,
    alpha: SpatialVec<f64>,
}

/// dq += ∂(Jᵀf)/∂q but for wrenches fixed in the world.
pub(super) fn add(
    m: &Model,
    d: &Data<f64>,
    x: &[f64],
    motions: &Motions,
    w: &mut ContactScratch,
    dq: &mut [f64],
    listener: &mut impl Listener,
) -> Result<(), Feature> {
    let mut first = 0;
    while first < d.contact.len() {
        let geom = d.contact[first].geom;
        let number = d.contact[first..].iter().take_while(|c| c.geom == geom).count();
        let (begin, group) = (first, &d.contact[first..first + number]);
        first += number;
        let rows = |c: &Contact<f64>| c.efc_address.map(|row| rows_of(d, c, row, x));
        let pushes =
            |c: &Contact<f64>| rows(c).is_some_and(|r| !r.is_slack(d)) || c.adhesion != 0.0;
        let pushing = group.iter().any(pushes);
        if !pushing && !(begin..first).any(|i| listener.looks_at(i)) {
            continue;
        }
        if pushing && geom.iter().any(|g| m.geom_surfacevel[*g] != [0.0; 6]) {
            return Err(Feature::MovingSurfaces);
        }
        let origin = group[0].pos;
        let ContactScratch { collider, columns } = &mut *w;
        let jets = displaced(m, d, geom, &origin, collider);
        if jets.len() != number {
            return Err(Feature::ContactGeometry);
        }
        // jets are exact; contacts are, unless they come from a step, which stops at the tolerance of its search
        let same = (2.0 * m.opt.ccd_tolerance).max(1e-9);
        for ((i, contact), jet) in (begin..).zip(group).zip(jets) {
            if (jet.dist.re - contact.dist).abs() > same * contact.dist.abs().max(1.0) {
                return Err(Feature::ContactGeometry);
            }
            if !pushes(contact) && !listener.looks_at(i) {
                continue;
            }
            let rows = rows(contact).unwrap_or_else(Rows::none);
            let touching = Touching::new(m, d, contact, rows, motions);
            touching.columns(columns);
            let listens = listener.attend(Source::Contact(i, &touching.pull()));
            for &column in &*columns {
                let change = touching.change(&column, jet, &origin);
                let answer = touching.by_position(&column, &change, motions);
                touching.add(&column, &answer, columns, dq);
                if listens {
                    listener.hear(&answer);
                    for by in [By::Velocity, By::Acceleration] {
                        listener.hear(&touching.by_motion(&column, by));
                    }
                }
            }
        }
    }
    Ok(())
}

/// The rows of a contact that begin at `row`.
fn rows_of(d: &Data<f64>, contact: &Contact<f64>, row: usize, x: &[f64]) -> Rows {
    let len = match d.efc.kind[row] {
        EfcType::ContactPyramidal => 2 * (contact.dim - 1),
        _ => contact.dim,
    };
    Rows::new(d, row, len, Some(contact), x)
}

/// Where a pair touches, as its second geom turns about `origin` and shifts.
fn displaced<'a>(
    m: &Model,
    d: &Data<f64>,
    geom: [usize; 2],
    origin: &Vector3<f64>,
    collider: &'a mut PairCollider<Jet>,
) -> &'a [Touch<Jet>] {
    let seed = |k: usize| Jet::from_parts(|part| f64::from(u8::from(part == k + 1)));
    let turn = Vector3::new(seed(0), seed(1), seed(2));
    let shift = Vector3::new(seed(3), seed(4), seed(5));
    let mut pos = geom.map(|g| lift3::<Jet>(&d.geom_xpos[g]));
    let mut mat = geom.map(|g| d.geom_xmat[g].map(Jet::lift));
    pos[1] += shift + turn.cross(&(pos[1] - lift3(origin)));
    mat[1] += Matrix3::from_columns(&[0, 1, 2].map(|k| turn.cross(&mat[1].column(k).into_owned())));
    collider.touches(m, geom, &pos, &mat)
}

impl<'a> Touching<'a> {
    fn new(
        m: &'a Model,
        d: &'a Data<f64>,
        contact: &'a Contact<f64>,
        rows: Rows,
        motions: &Motions,
    ) -> Self {
        let bodies = contact.geom.map(|g| m.geom_bodyid[g]);
        let net = contact_force(m, contact, &d.efc);
        let [n, t1, t2] = &contact.frame;
        let along = |f: &[f64]| n * f[0] + t1 * f[1] + t2 * f[2];
        let arm = |b: usize| contact.pos - d.subtree_com[m.body_rootid[b]];
        let [s1, s2] = bodies.map(|b| &motions.body[b]);
        let [r1, r2] = bodies.map(arm);
        Self {
            m,
            d,
            contact,
            bodies,
            rows,
            net,
            wrench: SpatialVec::new(along(&net[3..]), along(&net[..3])),
            v: at(&s2.v, &r2) - at(&s1.v, &r1),
            alpha: at(&s2.alpha, &r2) - at(&s1.alpha, &r1),
        }
    }

    /// All degrees of freedom that move one of the bodies.
    fn columns(&self, out: &mut Vec<Column>) {
        out.clear();
        for (k, body) in self.bodies.into_iter().enumerate() {
            for dof in self.m.body_dofs_to_root(body) {
                if let Some(known) = out.iter_mut().find(|c| k == 1 && c.dof == dof) {
                    known.moves[1] = true;
                } else {
                    let motion = unit_motion(self.m, self.d, dof, &self.contact.pos);
                    out.push(Column { dof, moves: [k == 0, k == 1], motion });
                }
            }
        }
    }

    /// What moving `column` does to the contact. What moves both bodies carries along what their geometry defines, but
    /// not tangents that are chosen in the world.
    fn change(&self, column: &Column, jet: &Touch<Jet>, origin: &Vector3<f64>) -> Change {
        let SpatialVec { rot, lin } = column.motion;
        let carried = if column.moves[0] { 1.0 } else { 0.0 };
        // displacement of the second geom relative to the first
        let sign = f64::from(u8::from(column.moves[1])) - carried;
        let shift = lin + rot.cross(&(origin - self.contact.pos));
        let relative = [rot.x, rot.y, rot.z, shift.x, shift.y, shift.z].map(|x| sign * x);
        let along = |x: &Jet| (0..6).map(|k| x.part(k + 1) * relative[k]).sum::<f64>();
        let turned = |x: &Vector3<Jet>| {
            let change = rot.cross(&x.map(|x| x.re)) * carried + x.map(|x| along(&x));
            x.zip_map(&change, |x, change| Dual64::new(x.re, change))
        };
        let frame = make_frame(&turned(&jet.normal), &turned(&jet.tangent));
        Change {
            dist: along(&jet.dist),
            pos: lin * carried + jet.pos.map(|x| along(&x)),
            frame: frame.map(|axis| axis.map(|x| x.eps)),
        }
    }

    /// The wrench on the second body, and its opposite on the first.
    fn pull(&self) -> Pull {
        let (bodies, wrench) = (self.bodies, self.wrench);
        Pull { bodies, signs: [-1.0, 1.0], points: [self.contact.pos; 2], wrench }
    }

    /// Relative motions along the axes change by the change of the contact, and by that of the motions: acceleration that
    /// is linear in `qacc`, velocity.
    fn motion_change(&self, column: &Column, change: &Change, motions: &Motions) -> [[f64; 6]; 2] {
        let (mut v, mut alpha) = (SpatialVec::zero(), SpatialVec::zero());
        for (k, sign) in [(0, -1.0), (1, 1.0)] {
            if column.moves[k] {
                let r = self.contact.pos - self.d.subtree_com[self.m.body_rootid[self.bodies[k]]];
                let moved = motions.by_position(self.d, self.bodies[k], column.dof);
                v += at(&moved.v, &r) * sign;
                alpha += at(&moved.alpha, &r) * sign;
            }
        }
        let along = |now: &SpatialVec<f64>, moved: &SpatialVec<f64>| -> [f64; 6] {
            let lin = moved.lin + now.rot.cross(&change.pos);
            let (frame, turned) = (&self.contact.frame, &change.frame);
            std::array::from_fn(|i| match i {
                0..3 => turned[i].dot(&now.lin) + frame[i].dot(&lin),
                _ => turned[i - 3].dot(&now.rot) + frame[i - 3].dot(&moved.rot),
            })
        };
        [along(&self.alpha, &alpha), along(&self.v, &v)]
    }

    /// Forces along the axes, given the changes of the motions along them and of the distance.
    fn force_change(&self, Ja: &[f64; 6], Jv: &[f64; 6], dist: f64) -> [f64; 6] {
        let mut axes = [0.0; 6];
        if self.rows.is_slack(self.d) {
            return axes;
        }
        let (efc, Rows { first, len, .. }) = (&self.d.efc, &self.rows);
        let dlnD = self.rows.stiffening * dist;
        let mut dx = [0.0; MAX_ROWS];
        for (r, dx) in dx[..*len].iter_mut().enumerate() {
            let i = first + r;
            let [K, B, imp, slope] = efc.KBIP[i];
            let x = efc.pos[i] - efc.margin[i];
            let daref = -B * self.row(r, Jv)
                - K * (slope * x + imp) * dist
                - self.adhesion_share(r) * efc.R[i] * dlnD;
            *dx = self.row(r, Ja) - daref;
        }
        let mut df = [0.0; MAX_ROWS];
        self.rows.force(self.d, &dx[..*len], dlnD, &mut df);
        self.axes(&df[..*len], &mut axes);
        axes
    }

    /// How the contact and its forces answer to a displacement.
    fn by_position(&self, column: &Column, change: &Change, motions: &Motions) -> Answer {
        let [Ja, Jv] = self.motion_change(column, change, motions);
        let force = self.force_change(&Ja, &Jv, change.dist);
        let mut wrench = self.along(&force);
        for k in 0..3 {
            wrench.lin += change.frame[k] * self.net[k];
            wrench.rot += change.frame[k] * self.net[k + 3];
        }
        let Change { dist, pos, frame } = *change;
        let points = [pos; 2];
        Answer {
            force,
            wrench,
            points,
            dist,
            frame,
            velocity: Jv,
            ..Answer::none(By::Position, column.dof)
        }
    }

    /// How its forces answer to a velocity, or an acceleration.
    fn by_motion(&self, column: &Column, by: By) -> Answer {
        let [first, second] = column.moves.map(|moves| f64::from(u8::from(moves)));
        let SpatialVec { rot, lin } = column.motion * (second - first);
        let axes = self.contact.frame;
        let along: [f64; 6] = std::array::from_fn(|i| match i {
            0..3 => axes[i].dot(&lin),
            _ => axes[i - 3].dot(&rot),
        });
        let zero = [0.0; 6];
        let (force, velocity) = match by {
            By::Velocity => (self.force_change(&zero, &along, 0.0), along),
            _ => (self.force_change(&along, &zero, 0.0), zero),
        };
        let wrench = self.along(&force);
        Answer { force, wrench, velocity, ..Answer::none(by, column.dof) }
    }

    /// The wrench of forces along the axes.
    fn along(&self, f: &[f64; 6]) -> SpatialVec<f64> {
        let [n, t1, t2] = &self.contact.frame;
        let sum = |f: &[f64]| n * f[0] + t1 * f[1] + t2 * f[2];
        SpatialVec::new(sum(&f[3..]), sum(&f[..3]))
    }

    fn is_pyramid(&self) -> bool {
        self.d.efc.kind[self.rows.first] == EfcType::ContactPyramidal
    }

    /// Component of row `r`, given those along the axes: an edge of a pyramid is normal ± friction · axis.
    fn row(&self, r: usize, axes: &[f64; 6]) -> f64 {
        if self.is_pyramid() {
            let slope = self.contact.friction[r / 2] * axes[r / 2 + 1];
            if r.is_multiple_of(2) { axes[0] + slope } else { axes[0] - slope }
        } else {
            axes[r]
        }
    }

    /// From forces of the rows to forces along the axes.
    fn axes(&self, rows: &[f64], axes: &mut [f64; 6]) {
        if self.is_pyramid() {
            for (k, edges) in rows.chunks_exact(2).enumerate() {
                axes[0] += edges[0] + edges[1];
                axes[k + 1] = self.contact.friction[k] * (edges[0] - edges[1]);
            }
        } else {
            axes[..rows.len()].copy_from_slice(rows);
        }
    }

    /// Part of the adhesion that the reference acceleration of row `r` carries.
    fn adhesion_share(&self, r: usize) -> f64 {
        match (self.is_pyramid(), r) {
            (true, _) => self.contact.adhesion / self.rows.len as f64,
            (false, 0) => self.contact.adhesion,
            _ => 0.0,
        }
    }

    /// Adds a column: Jᵀ times the change of the wrench, whose point does not move with the bodies.
    fn add(&self, column: &Column, answer: &Answer, columns: &[Column], dq: &mut [f64]) {
        let SpatialVec { rot: torque, lin: force } = &answer.wrench;
        let push = &self.wrench.lin;
        // displacement of the material point of each body
        let material = column.moves.map(|m| if m { column.motion.lin } else { Vector3::zeros() });
        let torques = material.map(|x| torque + (answer.points[0] - x).cross(push));
        let nv = self.m.nv;
        for row in columns {
            let SpatialVec { rot, lin } = &row.motion;
            let entry = match row.moves {
                [true, true] => rot.dot(&(torques[1] - torques[0])),
                [_, second] => {
                    let k = usize::from(second);
                    let power = lin.dot(force) + rot.dot(&torques[k]);
                    if second { power } else { -power }
                }
            };
            dq[row.dof * nv + column.dof] += entry;
        }
    }
}

/// Wrenches of all contacts on their bodies, adhesion included.
pub(super) fn wrenches<'a>(
    m: &'a Model,
    d: &'a Data<f64>,
) -> impl Iterator<Item = WorldWrench<f64>> + 'a {
    let pushing = d.contact.iter().filter(|c| c.efc_address.is_some());
    pushing.flat_map(move |contact| {
        let net = contact_force(m, contact, &d.efc);
        let [n, t1, t2] = &contact.frame;
        let along = |f: &[f64]| n * f[0] + t1 * f[1] + t2 * f[2];
        let (force, torque) = (along(&net[..3]), along(&net[3..]));
        [(0, -1.0), (1, 1.0)].map(|(k, sign)| WorldWrench {
            body: m.geom_bodyid[contact.geom[k]],
            point: contact.pos,
            force: force * sign,
            torque: torque * sign,
        })
    })
}
