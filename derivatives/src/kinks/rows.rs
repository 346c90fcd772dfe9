//! Kinks of constraints: contacts and limits that are about to be made or to break, rows that are about to push or to
//! let go, to slip or to stick.
//!
//! The force of a row is continuous in x = J a − aref but has different slopes on the two sides of a switch: at x = 0
//! for limits and contacts without friction, at |x| = R η for friction loss, on the surfaces of its cone and of the
//! polar cone for an elliptic contact. How x moves with an input follows from ∂a/∂(q, v, act, u); of what the input does
//! at fixed acceleration only the reference acceleration counts, −∂aref = K (I + P·pos) J ∂q + B J ∂v, which is large.
//!
//! Where a row appears, at its margin, the force itself may jump.

use dualstep::collision::{Collision, Contact, collision_within};
use dualstep::constraint::{EfcState, EfcType, max_rows};
use dualstep::math::Quat;
use dualstep::model::{GeomType, Integrator, JointType};
use dualstep::smooth::jacobian::dof_point_velocity;
use dualstep::{Data, Model};

use super::mark_column;
use crate::columns::ncolumns;
use crate::finite_diff::FdSteps;
use crate::matrices::{Column, Kink};

/// By how much more than a nudge of a joint a distance may change: joints turn geoms on levers \[m/rad\].
const LEVER: f64 = 10.0;

/// What the search for kinks of constraints needs.
#[derive(Debug)]
pub(crate) struct RowKinks {
    /// Contacts, and pairs of geoms that nearly touch.
    near: Collision<f64>,
    /// Change of each row of a constraint by a column.
    change: Vec<f64>,
}

impl RowKinks {
    /// Room for the model.
    pub(crate) fn new(m: &Model) -> Self {
        Self { near: Collision::new(m), change: Vec::with_capacity(8) }
    }

    /// Marks the columns that have a kink of a constraint within `eps` of the state; `acceleration(i, k)` is
    /// ∂qacc_i by column k, zero for columns that are not wanted.
    ///
    /// - reads  everything that `forward` writes
    pub(crate) fn mark(
        &mut self,
        m: &Model,
        d: &Data<f64>,
        acceleration: &impl Fn(usize, usize) -> f64,
        eps: &FdSteps,
        columns: &mut [Column],
    ) {
        self.contacts(m, d, eps.qpos, columns);
        coincident(m, d, eps.qpos, columns);
        limits(m, d, eps.qpos, columns);
        self.rows(m, d, acceleration, eps, columns);
        if m.opt.integrator == Integrator::RK4 {
            // later stages start from positions that follow the velocity
            for i in 0..m.nv {
                if let Some(kink) = columns[i].kink {
                    mark_column(&mut columns[m.nv + i], kink);
                }
            }
        }
    }

    /// Contacts whose distance is at their margin.
    fn contacts(&mut self, m: &Model, d: &Data<f64>, eps: f64, columns: &mut [Column]) {
        collision_within(m, d, LEVER * eps, &mut self.near);
        for contact in &self.near.contact {
            let gap = (contact.dist - contact.includemargin).abs();
            if gap > LEVER * eps {
                continue;
            }
            let kink = Kink::ContactOnset(contact.geom);
            for (geom, sign) in contact.geom.into_iter().zip([-1.0, 1.0]) {
                for dof in m.body_dofs_to_root(m.geom_bodyid[geom]) {
                    let other = m.geom_bodyid[contact.geom[usize::from(sign < 0.0)]];
                    // what moves both bodies leaves the distance alone
                    if m.body_dofs_to_root(other).any(|k| k == dof) {
                        continue;
                    }
                    let root = m.body_rootid[m.dof_bodyid[dof]];
                    let (_, lin) = dof_point_velocity(d, dof, root, &contact.pos);
                    let slope = lin.dot(&contact.frame[0]).abs();
                    if slope > 0.0 && gap <= eps * slope {
                        mark_column(&mut columns[dof], kink);
                    }
                }
            }
        }
    }

    /// Rows that are about to switch.
    fn rows(
        &mut self,
        m: &Model,
        d: &Data<f64>,
        acceleration: &impl Fn(usize, usize) -> f64,
        eps: &FdSteps,
        columns: &mut [Column],
    ) {
        let efc = &d.efc;
        let all = (0..m.nv).flat_map(|i| (0..ncolumns(m)).map(move |k| (i, k)));
        let largest = all.fold(0.0_f64, |most, (i, k)| most.max(acceleration(i, k).abs()));
        let nudge = eps.qpos.max(eps.qvel).max(eps.act).max(eps.ctrl);
        let mut row = efc.ne;
        while row < efc.nefc {
            let (kind, id) = (efc.kind[row], efc.id[row]);
            let len = if kind == EfcType::ContactElliptic { d.contact[id].dim } else { 1 };
            let kink = kink_of(d, row);
            let distance = |change: &[f64]| match kind {
                EfcType::ContactElliptic => cone(d, &d.contact[id], row, change),
                EfcType::FrictionDof | EfcType::FrictionTendon => {
                    let x = residual(d, row);
                    let bound = efc.R[row] * efc.frictionloss[row];
                    one(x.abs() - bound, change[0])
                }
                _ => one(residual(d, row), change[0]),
            };
            // most rows are far from any switch
            let slope = (row..row + len).map(|r| steepest(d, r, largest)).sum::<f64>();
            let scale = match kind {
                EfcType::ContactElliptic => {
                    1.0 + (1.0 + d.contact[id].mu) * friction(&d.contact[id])
                }
                _ => 1.0,
            };
            let far = |gap: f64| gap.abs() > nudge * slope * scale;
            self.change.clear();
            self.change.resize(len, 0.0);
            if distance(&self.change).into_iter().flatten().all(|(gap, _)| far(gap)) {
                row += len;
                continue;
            }
            for k in 0..ncolumns(m) {
                self.change.clear();
                for r in row..row + len {
                    self.change.push(change(m, d, r, k, acceleration));
                }
                let nudge = step_of(m, eps, k);
                let close = distance(&self.change)
                    .into_iter()
                    .flatten()
                    .any(|(gap, slope)| slope != 0.0 && gap.abs() <= nudge * slope.abs());
                if close {
                    mark_column(&mut columns[k], kink);
                }
            }
            row += len;
        }
    }
}

/// Contacts of spheres and capsules whose centres or axes meet, so that their normal may be any.
fn coincident(m: &Model, d: &Data<f64>, eps: f64, columns: &mut [Column]) {
    let round = |g: usize| matches!(m.geom_type[g], GeomType::Sphere | GeomType::Capsule);
    for c in d.contact.iter().filter(|c| c.geom.into_iter().all(round)) {
        let apart = c.dist + m.geom_size[c.geom[0]].x + m.geom_size[c.geom[1]].x;
        if apart.abs() > LEVER * eps {
            continue;
        }
        for dof in c.geom.into_iter().flat_map(|g| m.body_dofs_to_root(m.geom_bodyid[g])) {
            mark_column(&mut columns[dof], Kink::ContactFeature(c.geom));
        }
    }
}

/// Distances from switches and their slopes; at most two.
type Gaps = [Option<(f64, f64)>; 2];

fn one(gap: f64, slope: f64) -> Gaps {
    [Some((gap, slope)), None]
}

/// The nudge of a column.
fn step_of(m: &Model, eps: &FdSteps, k: usize) -> f64 {
    match k {
        k if k < m.nv => eps.qpos,
        k if k < 2 * m.nv => eps.qvel,
        k if k < 2 * m.nv + m.na => eps.act,
        _ => eps.ctrl,
    }
}

/// x = J a − aref of a row.
fn residual(d: &Data<f64>, row: usize) -> f64 {
    let (dofs, entries) = d.efc.row(row);
    let Ja: f64 = dofs.iter().zip(entries).map(|(&j, x)| x * d.qacc[j]).sum();
    Ja - d.efc.aref[row]
}

/// Change of x by column k.
fn change(
    m: &Model,
    d: &Data<f64>,
    row: usize,
    k: usize,
    acceleration: &impl Fn(usize, usize) -> f64,
) -> f64 {
    let (dofs, entries) = d.efc.row(row);
    let by_acceleration: f64 = dofs.iter().zip(entries).map(|(&j, x)| x * acceleration(j, k)).sum();
    let entry = |dof: usize| dofs.iter().position(|j| *j == dof).map_or(0.0, |e| entries[e]);
    let [K, B, imp, slope] = d.efc.KBIP[row];
    let reference = match k {
        k if k < m.nv => K * (imp + slope * (d.efc.pos[row] - d.efc.margin[row])) * entry(k),
        k if k < 2 * m.nv => B * entry(k - m.nv),
        _ => 0.0,
    };
    by_acceleration + reference
}

/// A bound on the change of x by any column, given the largest of ∂qacc.
fn steepest(d: &Data<f64>, row: usize, largest: f64) -> f64 {
    let (_, entries) = d.efc.row(row);
    let sum: f64 = entries.iter().map(|x| x.abs()).sum();
    let [K, B, imp, slope] = d.efc.KBIP[row];
    let reference = K.abs() * (imp + (slope * (d.efc.pos[row] - d.efc.margin[row])).abs());
    sum * (largest + reference + B.abs())
}

/// The largest coefficient of an elliptic contact, its own regularized one included.
fn friction(contact: &Contact<f64>) -> f64 {
    contact.friction[..contact.dim - 1].iter().fold(contact.mu, |most, mu| most.max(*mu))
}

/// Distances of an elliptic contact from the surfaces of its cone, N = μT, and of the polar cone, μN = −T.
fn cone(d: &Data<f64>, contact: &Contact<f64>, row: usize, change: &[f64]) -> Gaps {
    let mu = contact.mu;
    let (x, dx) = (residual(d, row) * mu, change[0] * mu);
    let (mut square, mut dot, mut norm) = (0.0, 0.0, 0.0);
    for (k, dx) in change.iter().enumerate().skip(1) {
        let friction = contact.friction[k - 1];
        let (t, dt) = (residual(d, row + k) * friction, dx * friction);
        (square, dot, norm) = (square + t * t, dot + t * dt, norm + dt * dt);
    }
    let (T, dT) = (square.sqrt(), if square > 0.0 { dot / square.sqrt() } else { norm.sqrt() });
    [Some((x - mu * T, dx - mu * dT)), Some((mu * x + T, mu * dx + dT))]
}

/// Joint and tendon limits whose distance is at their margin.
fn limits(m: &Model, d: &Data<f64>, eps: f64, columns: &mut [Column]) {
    let near =
        |dist: f64, margin: f64, slope: f64| slope > 0.0 && (dist - margin).abs() <= eps * slope;
    for j in (0..m.njnt).filter(|&j| m.jnt_limited[j]) {
        let (adr, dof, kink) = (m.jnt_qposadr[j], m.jnt_dofadr[j], Kink::JointLimit(j));
        let [lo, hi] = m.jnt_range[j];
        let distances = match m.jnt_type[j] {
            JointType::Free => continue,
            JointType::Ball => {
                let angle = Quat::from_slice(&d.qpos[adr..adr + 4]).normalized().log().norm();
                [lo.max(hi) - angle; 2]
            }
            JointType::Slide | JointType::Hinge => [d.qpos[adr] - lo, hi - d.qpos[adr]],
        };
        if distances.into_iter().any(|dist| near(dist, m.jnt_margin[j], 1.0)) {
            for column in &mut columns[dof..dof + m.jnt_type[j].nv()] {
                mark_column(column, kink);
            }
        }
    }
    for t in (0..m.ntendon).filter(|&t| m.tendon_limited[t]) {
        let [lo, hi] = m.tendon_range[t];
        let row = m.ten_J_rowadr[t]..m.ten_J_rowadr[t] + m.ten_J_rownnz[t];
        for e in row {
            let slope = d.ten_J[e].abs();
            let distances = [d.ten_length[t] - lo, hi - d.ten_length[t]];
            if distances.into_iter().any(|dist| near(dist, m.tendon_margin[t], slope)) {
                mark_column(&mut columns[m.ten_J_colind[e]], Kink::TendonLimit(t));
            }
        }
    }
}

/// What switches in a row.
fn kink_of(d: &Data<f64>, row: usize) -> Kink {
    let id = d.efc.id[row];
    match d.efc.kind[row] {
        EfcType::Equality => Kink::Equality(id),
        EfcType::FrictionDof => Kink::JointFriction(id),
        EfcType::FrictionTendon => Kink::TendonFriction(id),
        EfcType::LimitJoint => Kink::JointLimit(id),
        EfcType::LimitTendon => Kink::TendonLimit(id),
        EfcType::ContactFrictionless | EfcType::ContactPyramidal | EfcType::ContactElliptic => {
            Kink::ContactForce(d.contact[id].geom)
        }
    }
}

/// Room for contacts and rows that most states do not exceed.
fn row_room(m: &Model) -> (usize, usize) {
    let contacts = (4 * m.ngeom).min(1000);
    (contacts, max_rows(m, contacts))
}

/// The rows of a step and their zones, and where its contacts are: what two steps on the two sides of a kink differ in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Signature {
    rows: Vec<(EfcType, [usize; 2], EfcState)>,
    places: Vec<([usize; 2], [f64; 6])>,
}

impl Signature {
    /// Room for the model.
    pub(crate) fn new(m: &Model) -> Self {
        let (contacts, rows) = row_room(m);
        Self { rows: Vec::with_capacity(rows), places: Vec::with_capacity(contacts) }
    }

    /// Takes down the rows of the last forward pass.
    pub(crate) fn read(&mut self, d: &Data<f64>) {
        self.rows.clear();
        self.rows.extend((0..d.efc.nefc).map(|row| entry(d, row)));
        self.places.clear();
        self.places.extend(d.contact.iter().map(|c| (c.geom, place(c))));
    }

    /// What is different after a nudge of size `eps`, if anything is.
    pub(crate) fn difference(&self, d: &Data<f64>, eps: f64) -> Option<Kink> {
        if let Some(kink) = self.other_row(d) {
            return Some(kink);
        }
        let places = self.places.iter().zip(&d.contact);
        let jumps = |old: &[f64; 6], c: &Contact<f64>| {
            old.iter().zip(place(c)).any(|(x, y)| (x - y).abs() > JUMP * eps)
        };
        let mut jumped = places.filter(|((geom, old), c)| *geom == c.geom && jumps(old, c));
        jumped.next().map(|((geom, _), _)| Kink::ContactFeature(*geom))
    }

    fn other_row(&self, d: &Data<f64>) -> Option<Kink> {
        for (row, known) in self.rows.iter().take(d.efc.nefc).enumerate() {
            let now = entry(d, row);
            if now != *known {
                let same = (now.0, now.1) == (known.0, known.1);
                let appeared = d.efc.nefc > self.rows.len();
                return Some(match (same, appeared) {
                    (true, _) => kink_of(d, row),
                    (false, true) => onset(now),
                    (false, false) => onset(*known),
                });
            }
        }
        if d.efc.nefc > self.rows.len() {
            return Some(onset(entry(d, self.rows.len())));
        }
        self.rows.get(d.efc.nefc).map(|known| onset(*known))
    }
}

/// By how much more than a nudge position \[m\] and normal of a contact may move before they count as those of another
/// feature.
const JUMP: f64 = 100.0;

fn place(c: &Contact<f64>) -> [f64; 6] {
    let normal = c.frame[0];
    [c.pos.x, c.pos.y, c.pos.z, normal.x, normal.y, normal.z]
}

fn entry(d: &Data<f64>, row: usize) -> (EfcType, [usize; 2], EfcState) {
    let (kind, id) = (d.efc.kind[row], d.efc.id[row]);
    let contact = matches!(
        kind,
        EfcType::ContactFrictionless | EfcType::ContactPyramidal | EfcType::ContactElliptic
    );
    let id = if contact { d.contact[id].geom } else { [id, 0] };
    (kind, id, d.efc.state[row])
}

fn onset((kind, id, _): (EfcType, [usize; 2], EfcState)) -> Kink {
    match kind {
        EfcType::Equality => Kink::Equality(id[0]),
        EfcType::FrictionDof => Kink::JointFriction(id[0]),
        EfcType::FrictionTendon => Kink::TendonFriction(id[0]),
        EfcType::LimitJoint => Kink::JointLimit(id[0]),
        EfcType::LimitTendon => Kink::TendonLimit(id[0]),
        EfcType::ContactFrictionless | EfcType::ContactPyramidal | EfcType::ContactElliptic => {
            Kink::ContactOnset(id)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transition::{DerivativeConfig, Method, mjd_transition};
    use dualstep::forward::forward;
    use dualstep::mjcf::load_model_str;

    fn load(xml: &str) -> (Model, Data<f64>) {
        let m = load_model_str(xml, "test.xml", std::path::Path::new(".")).unwrap();
        let d = Data::new(&m);
        (m, d)
    }

    /// A ball on a rail above a floor that it touches exactly.
    fn ball(cone: &str) -> (Model, Data<f64>) {
        load(&format!(
            r#"
            <mujoco>
              <option cone="{cone}"/>
              <worldbody>
                <geom name="floor" type="plane" size="1 1 1"/>
                <body pos="0 0 .1">
                  <joint name="x" type="slide" axis="1 0 0"/>
                  <joint name="z" type="slide" axis="0 0 1"/>
                  <geom name="ball" size=".1"/>
                </body>
              </worldbody>
              <actuator><motor name="lift" joint="z"/></actuator>
            </mujoco>"#
        ))
    }

    fn kinks(m: &Model, d: &Data<f64>, method: Method) -> Vec<(String, Kink)> {
        let t = mjd_transition(m, d, &DerivativeConfig::by(method)).unwrap();
        let named = t.one_sided().filter_map(|(name, c)| Some((name.to_owned(), c.kink?)));
        named.collect()
    }

    /// The input at which a function of the state changes its sign, by bisection.
    fn root(mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> f64 {
        let rises = f(high) > 0.0;
        for _ in 0..200 {
            let middle = f64::midpoint(low, high);
            *if (f(middle) > 0.0) == rises { &mut high } else { &mut low } = middle;
        }
        low
    }

    #[test]
    fn a_contact_that_is_just_made_is_a_kink_by_position() {
        for cone in ["pyramidal", "elliptic"] {
            let (m, d) = ball(cone);
            for method in [Method::Auto, Method::Dual, Method::Fd] {
                let found = kinks(&m, &d, method);
                assert_eq!(found.len(), 1, "{cone} {method:?} {found:?}");
                assert_eq!(found[0].0, "z.q");
                assert_eq!(found[0].1, Kink::ContactOnset([0, 1]));
                assert!(found[0].1.describe(&m).contains("floor and ball"));
            }
            let mut above = d.clone();
            above.qpos[1] = 1e-4;
            let mut inside = d;
            inside.qpos[1] = -1e-4;
            for state in [above, inside] {
                for method in [Method::Auto, Method::Dual, Method::Fd] {
                    assert_eq!(kinks(&m, &state, method), [], "{cone} {method:?}");
                }
            }
        }
    }

    #[test]
    fn spheres_with_one_centre_are_a_kink() {
        let (mut m, mut d) = load(
            r#"
            <mujoco>
              <worldbody>
                <geom size=".1"/>
                <body><joint name="x" type="slide" axis="1 0 0"/><geom size=".2"/></body>
              </worldbody>
            </mujoco>"#,
        );
        for method in [Method::Auto, Method::Dual, Method::Fd] {
            let found = kinks(&m, &d, method);
            assert_eq!(found, [("x.q".to_owned(), Kink::ContactFeature([0, 1]))], "{method:?}");
        }
        m.opt.integrator = Integrator::RK4;
        for method in [Method::Auto, Method::Dual] {
            let found = kinks(&m, &d, method);
            let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, ["x.q", "x.v"], "{method:?}");
        }
        d.qpos[0] = 0.05;
        assert_eq!(kinks(&m, &d, Method::Auto), []);
    }

    // J a = aref: the contact has just let go
    #[test]
    fn a_contact_that_is_about_to_let_go_is_a_kink_by_everything_that_moves_it() {
        let (m, mut d) = ball("elliptic");
        d.qpos[1] = -1e-4;
        let x = |v: f64| {
            let mut d = d.clone();
            d.qvel[1] = v;
            forward(&m, &mut d).unwrap();
            residual(&d, 0)
        };
        d.qvel[1] = root(0.0, 1.0, x);
        for method in [Method::Auto, Method::Dual, Method::Fd] {
            let found = kinks(&m, &d, method);
            let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
            // at the tip of the cone slipping begins as well
            assert_eq!(names, ["z.q", "x.v", "z.v", "lift"], "{method:?}");
            assert!(found.iter().all(|(_, kink)| *kink == Kink::ContactForce([0, 1])));
        }
    }

    #[test]
    fn a_contact_at_the_edge_of_its_cone_is_a_kink() {
        let (m, mut d) = ball("elliptic");
        d.qpos[1] = -1e-3;
        // between sticking and slipping along x
        let gap = |v: f64| {
            let mut d = d.clone();
            d.qvel[0] = v;
            forward(&m, &mut d).unwrap();
            let [_, Some((polar, _))] = cone(&d, &d.contact[0], 0, &[0.0; 3]) else { panic!() };
            polar
        };
        d.qvel[0] = root(0.0, 1.0, gap);
        for method in [Method::Auto, Method::Dual, Method::Fd] {
            let found = kinks(&m, &d, method);
            let slides = |(name, kink): &(String, Kink)| {
                name == "x.v" && *kink == Kink::ContactForce([0, 1])
            };
            assert!(found.iter().any(slides), "{method:?} {found:?}");
        }
    }

    #[test]
    fn limits_and_friction_are_kinks_where_they_switch() {
        let (m, mut d) = load(
            r#"
            <mujoco>
              <worldbody>
                <body><joint name="a" type="slide" range="-1 1" limited="true"/><geom size=".1"/></body>
                <body pos="1 0 0"><joint name="b" axis="0 0 1" frictionloss=".5"/><geom size=".1"/></body>
              </worldbody>
              <actuator><motor name="turn" joint="b"/></actuator>
            </mujoco>"#,
        );
        d.qpos[0] = 1.0;
        // at rest friction takes what it can: the row turns where |x| = R η
        let gap = |u: f64| {
            let mut d = d.clone();
            d.ctrl[0] = u;
            forward(&m, &mut d).unwrap();
            residual(&d, 0).abs() - d.efc.R[0] * d.efc.frictionloss[0]
        };
        assert_eq!(kinks(&m, &d, Method::Auto), [("a.q".to_owned(), Kink::JointLimit(0))]);
        d.ctrl[0] = root(0.1, 2.0, gap);
        for method in [Method::Auto, Method::Dual, Method::Fd] {
            let found = kinks(&m, &d, method);
            let of = |name: &str| found.iter().find(|(n, _)| n == name).map(|(_, kink)| *kink);
            assert_eq!(of("a.q"), Some(Kink::JointLimit(0)), "{method:?}");
            assert_eq!(of("b.v"), Some(Kink::JointFriction(1)), "{method:?}");
            assert_eq!(of("turn"), Some(Kink::JointFriction(1)), "{method:?}");
        }
    }
}
