//! Rows of constraints: against MuJoCo's from golden contacts, and against the derivatives of what they
//! constrain.
//!
//! Fails when, for example: the sign of a row flips, a weld keeps its anchors in the other order, the
//! impedance of a connect sees its components one by one, R of a pyramid misses its factor of 2, or J̇ qvel
//! is left out of the reference of an equality.

use std::collections::BTreeMap;

use dualstep::collision::{Contact, ContactParams, Exclude};
use dualstep::constraint::{Efc, EfcType, make_constraint, max_rows, reference_constraint};
use dualstep::model::options::disable;
use dualstep::model::{Cone, EqType, FrictionModel, JacobianType, Model, ObjType};
use dualstep::scalar::Scalar;
use dualstep::{Data, smooth};
use dualstep_derivatives::tangent::{State, ndx};
use dualstep_validation::compare::err;
use dualstep_validation::conform::pipeline;
use dualstep_validation::random_tree::Random;
use dualstep_validation::{Golden, tolerance};
use nalgebra::Vector3;
use num_dual::Dual64;

use crate::support::{folder, golden_state, load, moved, names, parse, report};

/// Everything that the rows read.
fn prepare<T: Scalar>(m: &Model, d: &mut Data<T>) {
    smooth::kinematics(m, d);
    smooth::com_pos(m, d);
    smooth::tendon(m, d);
    smooth::crb(m, d);
    smooth::factor_m(m, d);
    smooth::com_vel(m, d);
}

/// All rows at the state of `d`.
fn rows<T: Scalar>(m: &Model, d: &mut Data<T>, contacts: &mut [Contact<T>]) -> Efc<T> {
    prepare(m, d);
    let mut efc = Efc::new(m.nv, max_rows(m, contacts.len()));
    make_constraint(m, d, contacts, &mut efc);
    reference_constraint(m, d, contacts, &mut efc);
    efc
}

/// The contacts that the oracle found, as before rows were made from them.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "indices")]
fn golden_contacts(golden: &Golden, state: &str) -> Vec<Contact<f64>> {
    let get =
        |field: &str| golden.flat(&format!("{state}/fwd/contact_{field}")).unwrap_or_default();
    let [dist, pos, frame, friction] = ["dist", "pos", "frame", "friction"].map(get);
    let [solref, solreffriction, solimp] = ["solref", "solreffriction", "solimp"].map(get);
    let [margin, dim, geom, exclude] = ["includemargin", "dim", "geom", "exclude"].map(get);
    let axis = |i: usize| Vector3::from_column_slice(&frame[3 * i..3 * i + 3]);
    let contact = |i: usize| Contact {
        dist: dist[i],
        pos: Vector3::from_column_slice(&pos[3 * i..3 * i + 3]),
        frame: [axis(3 * i), axis(3 * i + 1), axis(3 * i + 2)],
        includemargin: margin[i],
        friction: friction.as_chunks().0[i],
        solref: solref.as_chunks().0[i],
        solreffriction: solreffriction.as_chunks().0[i],
        solimp: solimp.as_chunks().0[i],
        adhesion: 0.0,
        dim: dim[i] as usize,
        geom: [geom[2 * i] as usize, geom[2 * i + 1] as usize],
        exclude: match exclude[i] as i32 {
            1 => Exclude::Gap,
            2 => Exclude::Fused,
            _ => Exclude::None,
        },
        mu: 0.0,
        efc_address: None,
    };
    (0..dist.len()).map(contact).collect()
}

/// Adhesion of the contacts of two geoms, which the golden file does not hold.
fn adhesion(m: &Model, geom: [usize; 2]) -> f64 {
    let named = |p: &usize| {
        let pair = [m.pair_geom1[*p], m.pair_geom2[*p]];
        pair == geom || pair == [geom[1], geom[0]]
    };
    ContactParams::new(m, geom, (0..m.npair).find(named)).adhesion
}

/// How far numbers are from their reference.
type Distance = fn(&[f64], &[f64]) -> f64;

/// Largest |x − ref| / |ref|: for what varies over many orders of magnitude.
fn relative_err(x: &[f64], reference: &[f64]) -> f64 {
    if x.len() != reference.len() {
        return f64::INFINITY;
    }
    let errors = x.iter().zip(reference).map(|(x, r)| (x - r).abs() / r.abs().max(1e-300));
    errors.fold(0.0, |worst, e| if e.is_nan() { f64::INFINITY } else { worst.max(e) })
}

/// Numbers of what was compared, and what is wrong.
#[derive(Default)]
struct Compared {
    states: usize,
    contacts: usize,
    rows: BTreeMap<EfcType, usize>,
    worst: BTreeMap<&'static str, f64>,
    problems: Vec<String>,
}

impl Compared {
    /// The rows of every state of a golden file.
    fn model(&mut self, name: &str, m: &Model, golden: &Golden, tolerance: f64) {
        for state in golden.states() {
            let mut d = Data::<f64>::new(m);
            if let Err(message) = pipeline::set_state(m, golden, state, &mut d) {
                self.problems.push(format!("{name} {state}: {message}"));
                continue;
            }
            self.state(&format!("{name} {state}"), m, &mut d, golden, state, tolerance);
        }
    }

    fn state(
        &mut self,
        what: &str,
        m: &Model,
        d: &mut Data<f64>,
        golden: &Golden,
        state: &str,
        tolerance: f64,
    ) {
        let get = |field: &str| golden.flat(&format!("{state}/fwd/{field}"));
        let mut contacts = golden_contacts(golden, state);
        for contact in &mut contacts {
            contact.adhesion = adhesion(m, contact.geom);
        }
        let efc = rows(m, d, &mut contacts);
        let kinds: Vec<f64> = efc.kind.iter().map(|kind| f64::from(*kind as i32)).collect();
        let ids: Vec<f64> = efc.id.iter().map(|id| *id as f64).collect();
        let address = |c: &Contact<f64>| c.efc_address.map_or(-1.0, |row| row as f64);
        let addresses: Vec<f64> = contacts.iter().map(address).collect();
        let kbip = efc.KBIP.concat();
        self.states += 1;
        self.contacts += contacts.len();
        for kind in &efc.kind {
            *self.rows.entry(*kind).or_default() += 1;
        }
        let fields: [(&'static str, &[f64], Distance); 13] = [
            ("efc_type", &kinds, err),
            ("efc_id", &ids, err),
            ("contact_efc_address", &addresses, err),
            ("efc_J", &efc.dense_J(), err),
            ("efc_pos", &efc.pos, err),
            ("efc_margin", &efc.margin, err),
            ("efc_frictionloss", &efc.frictionloss, err),
            ("efc_diagA", &efc.diagA, relative_err),
            ("efc_KBIP", &kbip, err),
            ("efc_R", &efc.R, relative_err),
            ("efc_D", &efc.D, relative_err),
            ("efc_vel", &efc.vel, err),
            ("efc_aref", &efc.aref, err),
        ];
        for (field, ours, distance) in fields {
            // the Jacobian is left out of the file where it is large
            let Some(reference) = get(field) else { continue };
            let e = distance(ours, &reference);
            let worst = self.worst.entry(field).or_default();
            *worst = worst.max(e);
            if e > tolerance {
                self.problems.push(format!("{what}: {field} {e:.1e}"));
                return;
            }
        }
    }
}

#[test]
fn rows_equal_those_of_the_oracle() {
    let mut compared = Compared::default();
    for name in names() {
        let golden = Golden::load(&folder("golden").join(&name)).expect("golden data");
        compared.model(&name, &load(&name), &golden, tolerance::scaled(tolerance::ROWS));
    }
    report(&compared.problems);
    assert_eq!(compared.rows.len(), 8, "{:?}", compared.rows);
    assert!(compared.rows.values().all(|n| *n >= 4), "{:?}", compared.rows);
}

// the one row of a contact without friction is the normal row of one with friction
#[test]
fn frictionless_contacts_have_the_normal_row() {
    let (m, mut d, contact) = stacked(3);
    let cone = rows(&m, &mut d, &mut [contact]);
    let mut contacts = [Contact { dim: 1, ..contact }];
    let one = rows(&m, &mut d, &mut contacts);
    assert_eq!((one.nefc, one.kind[0]), (1, EfcType::ContactFrictionless));
    assert_eq!(one.dense_row(0), cone.dense_row(0));
    assert_eq!((one.pos[0], one.margin[0]), (-0.01, 0.02));
    assert_eq!((one.R[0], one.vel[0], one.aref[0]), (cone.R[0], cone.vel[0], cone.aref[0]));
}

/// The model with all its equality constraints active, and its state with these.
fn with_all_equalities(name: &str, state: &str) -> (Model, Data<f64>) {
    let m = load(name);
    let mut d = golden_state(name, &m, state);
    d.eq_active.fill(true);
    (m, d)
}

/// Models and states with equality constraints and limits; the first with one of each kind of ours added.
fn constrained() -> Vec<(Model, Data<f64>)> {
    let mut all = Vec::new();
    for state in ["s0", "s1", "s2", "s3"] {
        all.push(with_all_equalities("limits_frictionloss", state));
        let (mut m, mut d) = with_all_equalities("equality_constraints", state);
        // a distance between the first and the last geom, which the loader does not know yet
        m.neq += 1;
        m.eq_type.push(EqType::Distance);
        m.eq_objtype.push(ObjType::Unknown);
        m.eq_obj1id.push(0);
        m.eq_obj2id.push(Some(m.ngeom - 1));
        m.eq_active0.push(true);
        m.eq_solref.push([0.02, 1.0]);
        m.eq_solimp.push([0.9, 0.95, 0.001, 0.5, 2.0]);
        m.eq_data.push(std::array::from_fn(|k| if k == 0 { 0.4 } else { 0.0 }));
        d.eq_active.push(true);
        all.push((m, d));
    }
    all
}

/// Rows without contacts on dual numbers, the positions moving along `dq` (nv).
fn dual_rows(m: &Model, d: &Data<f64>, dq: &[f64]) -> Efc<Dual64> {
    let mut dx = vec![Dual64::from_re(0.0); ndx(m)];
    for (x, v) in dx.iter_mut().zip(dq) {
        *x = Dual64::new(0.0, *v);
    }
    let mut moving = moved(m, d, &dx, &vec![Dual64::from_re(0.0); m.nu]);
    rows(m, &mut moving, &mut [])
}

fn unit(n: usize, i: usize) -> Vec<f64> {
    (0..n).map(|k| if k == i { 1.0 } else { 0.0 }).collect()
}

// each column of J is the derivative of the residual along its degree of freedom
#[test]
fn jacobian_is_the_derivative_of_the_residual() {
    let mut kinds = BTreeMap::<EfcType, usize>::new();
    for (m, mut d) in constrained() {
        let efc = rows(&m, &mut d, &mut []);
        let has_residual =
            |i: &usize| !matches!(efc.kind[*i], EfcType::FrictionDof | EfcType::FrictionTendon);
        let with_residual: Vec<usize> = (0..efc.nefc).filter(has_residual).collect();
        for i in &with_residual {
            *kinds.entry(efc.kind[*i]).or_default() += 1;
        }
        for dof in 0..m.nv {
            let dual = dual_rows(&m, &d, &unit(m.nv, dof));
            assert_eq!(dual.kind, efc.kind);
            for i in &with_residual {
                let (found, expected) = (efc.dense_row(*i)[dof], dual.pos[*i].eps);
                let close = (found - expected).abs() < tolerance::scaled(tolerance::IDENTITY);
                let what = (efc.kind[*i], efc.id[*i]);
                assert!(close, "{what:?} row {i} dof {dof}: {found} against {expected}");
            }
        }
    }
    let found: Vec<EfcType> = kinds.into_keys().collect();
    assert_eq!(found, [EfcType::Equality, EfcType::LimitJoint, EfcType::LimitTendon]);
}

// aref + B vel + K I (pos − margin) is −J̇ qvel for connect and weld, and 0 for the others; vel is the rate
// of the residual
#[test]
fn reference_holds_the_rate_of_the_jacobian() {
    let mut largest = 0.0_f64;
    for (m, mut d) in constrained() {
        let mut random = Random::new(7);
        for v in &mut d.qvel {
            *v = random.signed(2.0);
        }
        let efc = rows(&m, &mut d, &mut []);
        let dual = dual_rows(&m, &d, &d.qvel);
        for i in 0..efc.nefc {
            let [k, b, imp, _] = efc.KBIP[i];
            let rest = efc.aref[i] + b * efc.vel[i] + k * imp * (efc.pos[i] - efc.margin[i]);
            let corrected = efc.kind[i] == EfcType::Equality
                && matches!(m.eq_type[efc.id[i]], EqType::Connect | EqType::Weld);
            let rate: f64 = dual.dense_row(i).iter().zip(&d.qvel).map(|(j, v)| j.eps * v).sum();
            let expected = if corrected { -rate } else { 0.0 };
            let scale = 1.0 + efc.aref[i].abs();
            assert!((rest - expected).abs() < 1e-11 * scale, "row {i}: {rest} against {expected}");
            largest = largest.max(expected.abs());

            if !matches!(efc.kind[i], EfcType::FrictionDof | EfcType::FrictionTendon) {
                assert!((efc.vel[i] - dual.pos[i].eps).abs() < 1e-11, "velocity of row {i}");
            }
        }
    }
    assert!(largest > 1.0, "nothing to correct: {largest}");
}

// impedance on dual numbers: its derivative along a motion is its slope times the velocity
#[test]
fn slope_of_the_impedance_is_its_derivative() {
    let mut sloped = 0;
    for (m, mut d) in constrained() {
        let efc = rows(&m, &mut d, &mut []);
        let dual = dual_rows(&m, &d, &d.qvel);
        for i in 0..efc.nefc {
            let several = efc.kind[i] == EfcType::Equality
                && matches!(m.eq_type[efc.id[i]], EqType::Connect | EqType::Weld);
            let [_, _, imp, slope] = dual.KBIP[i];
            if !several {
                assert!(
                    (imp.eps - slope.re * dual.pos[i].eps).abs() < 1e-9 * (1.0 + imp.eps.abs())
                );
                sloped += usize::from(slope.re != 0.0);
            }
            // R = (1 − I)/I · diagA
            let r = (1.0 - imp.re) / imp.re * efc.diagA[i];
            assert!((efc.R[i] - r).abs() < 1e-12 * r);
            assert!((efc.D[i] * efc.R[i] - 1.0).abs() < 1e-15);
        }
    }
    assert!(sloped > 0, "every impedance is saturated");
}

/// A box on the ground, a box on it, and a contact of `dim` between them.
fn stacked(dim: usize) -> (Model, Data<f64>, Contact<f64>) {
    let m = parse(
        r#"<mujoco>
             <option cone="elliptic" impratio="2"/>
             <default><geom condim="6"/></default>
             <worldbody>
               <body pos="0 0 1"><freejoint/><geom type="box" size="1 1 .5" mass="3"/>
                 <body pos="0 0 1"><joint axis="1 0 1"/><joint type="ball" pos="0.1 0.2 -0.3"/>
                   <geom type="box" size=".5 .5 .5" surfacevel="1 2 3 0.5 0 1"/></body>
               </body>
               <body pos="0 0 3"><freejoint/><geom type="sphere" size=".5"/></body>
             </worldbody>
           </mujoco>"#,
    );
    let mut d = Data::<f64>::new(&m);
    let mut random = Random::new(11);
    let mut dx = vec![0.0; ndx(&m)];
    for x in &mut dx {
        *x = random.signed(0.7);
    }
    let mut state = State::of(&d);
    state.boxplus(&m, &dx);
    state.write(&mut d);
    let normal = Vector3::new(0.6, 0.0, 0.8);
    let tangent = Vector3::new(0.0, 1.0, 0.0);
    let contact = Contact {
        dist: -0.01,
        pos: Vector3::new(0.3, -0.2, 2.4),
        frame: [normal, tangent, normal.cross(&tangent)],
        includemargin: 0.02,
        friction: [0.7, 0.5, 0.02, 0.001, 0.002],
        solref: [0.02, 1.0],
        solreffriction: [0.0; 2],
        solimp: [0.9, 0.95, 0.1, 0.5, 2.0],
        adhesion: 0.0,
        dim,
        geom: [1, 2],
        exclude: Exclude::None,
        mu: 0.0,
        efc_address: None,
    };
    (m, d, contact)
}

// at a point fixed in both bodies: the rows of an elliptic contact are the velocity of the second body's
// point relative to the first's, and the relative angular velocity, in the contact frame; what moves both
// does not move the contact
#[test]
fn contact_rows_are_relative_velocities() {
    for geom in [[1, 2], [2, 1], [0, 1]] {
        let (m, mut d, contact) = stacked(6);
        let contact = Contact { geom, ..contact };
        let efc = rows(&m, &mut d, &mut [contact]);
        assert_eq!(efc.nefc, 6);
        for dof in 0..m.nv {
            let (v, w) = relative_velocity(&m, &d, &contact, dof);
            for (k, axis) in contact.frame.iter().enumerate() {
                let (slide, turn) = (efc.dense_row(k)[dof], efc.dense_row(3 + k)[dof]);
                assert!((slide - axis.dot(&v)).abs() < 1e-14, "{geom:?}, axis {k}, dof {dof}");
                assert!((turn - axis.dot(&w)).abs() < 1e-14, "{geom:?}, axis {k}, dof {dof}");
            }
            assert!(geom != [0, 1] || dof >= 6 || (0..6).all(|i| efc.dense_row(i)[dof] == 0.0));
        }
    }
}

/// Velocity, linear and angular, of the second body of a contact relative to the first at the contact, by a
/// unit velocity of `dof`: from poses on dual numbers.
fn relative_velocity(
    m: &Model,
    d: &Data<f64>,
    contact: &Contact<f64>,
    dof: usize,
) -> (Vector3<f64>, Vector3<f64>) {
    let mut dx = vec![Dual64::from_re(0.0); ndx(m)];
    dx[dof] = Dual64::new(0.0, 1.0);
    let mut moving = moved(m, d, &dx, &[]);
    prepare(m, &mut moving);
    let [(v1, w1), (v2, w2)] = contact.geom.map(|g| {
        let b = m.geom_bodyid[g];
        let local = d.xmat[b].tr_mul(&(contact.pos - d.xpos[b]));
        let point = moving.xpos[b] + moving.xmat[b] * local.map(Dual64::from_re);
        // Ṙ Rᵀ = [ω]×
        let spin = moving.xmat[b].map(|x| x.eps) * d.xmat[b].transpose();
        (point.map(|x| x.eps), Vector3::new(spin[(2, 1)], spin[(0, 2)], spin[(1, 0)]))
    });
    (v2 - v1, w2 - w1)
}

// a pyramid's edges are normal ± friction · axis of the same elliptic contact, velocities included
#[test]
fn pyramid_follows_from_the_cone() {
    for dim in [3, 4, 6] {
        let (mut m, mut d, contact) = stacked(dim);
        for (i, v) in d.qvel.iter_mut().enumerate() {
            *v = 0.3 - 0.1 * i as f64;
        }
        let mut cone_contact = [contact];
        let cone = rows(&m, &mut d, &mut cone_contact);
        m.opt.cone = Cone::Pyramidal;
        let mut contacts = [contact];
        let pyramid = rows(&m, &mut d, &mut contacts);
        assert_eq!((cone.nefc, pyramid.nefc), (dim, 2 * (dim - 1)));
        let edges = |axes: &dyn Fn(usize) -> f64| -> Vec<f64> {
            let edge = |k: usize, sign: f64| axes(0) + sign * contacts[0].friction[k - 1] * axes(k);
            (1..dim).flat_map(|k| [edge(k, 1.0), edge(k, -1.0)]).collect()
        };
        assert!(err(&pyramid.vel, &edges(&|k| cone.vel[k])) < 1e-14);
        for dof in 0..m.nv {
            let column: Vec<f64> = (0..pyramid.nefc).map(|i| pyramid.dense_row(i)[dof]).collect();
            assert!(err(&column, &edges(&|k| cone.dense_row(k)[dof])) < 1e-14);
        }
        // the master friction is that of the cone, divided by √impratio
        assert_eq!(contacts[0].mu, cone_contact[0].mu);
        assert!((contacts[0].mu - 0.7 / 2.0_f64.sqrt()).abs() < 1e-15);
    }
}

// a conveyor moves what lies on it in the tangents and the spin, not along the normal
#[test]
fn surfaces_move() {
    let (m, mut d, contact) = stacked(6);
    let mut still = m.clone();
    still.geom_surfacevel.fill([0.0; 6]);
    let moving = rows(&m, &mut d, &mut [contact]);
    let resting = rows(&still, &mut d, &mut [contact]);
    let R = d.geom_xmat[1];
    let spin = R * Vector3::new(0.5, 0.0, 1.0);
    let v = R * Vector3::new(1.0, 2.0, 3.0) + spin.cross(&(contact.pos - d.geom_xpos[1]));
    let [n, t1, t2] = &contact.frame;
    // the first geom moves: relative velocity is the opposite
    let expected = [0.0, -t1.dot(&v), -t2.dot(&v), -n.dot(&spin), 0.0, 0.0];
    for k in 0..6 {
        assert!((moving.vel[k] - resting.vel[k] - expected[k]).abs() < 1e-14, "axis {k}");
    }
}

// each flag takes away its rows and no others; tanh takes friction loss; excluded contacts have no rows
#[test]
fn flags_take_rows_away() {
    let (m, mut d) = with_all_equalities("limits_frictionloss", "s0");
    let all = rows(&m, &mut d, &mut []);
    assert!(all.nf > 0 && all.nl > 0 && all.ne == 0);
    let with = |flag: u32, m: &Model| {
        let mut m = m.clone();
        m.opt.disableflags |= flag;
        m
    };
    let sizes = |m: &Model, d: &mut Data<f64>, contacts: &mut [Contact<f64>]| {
        let efc = rows(m, d, contacts);
        (efc.ne, efc.nf, efc.nl, efc.nefc)
    };
    let (nf, nl) = (all.nf, all.nl);
    assert_eq!(sizes(&with(disable::FRICTIONLOSS, &m), &mut d, &mut []), (0, 0, nl, nl));
    assert_eq!(sizes(&with(disable::LIMIT, &m), &mut d, &mut []), (0, nf, 0, nf));
    assert_eq!(sizes(&with(disable::CONSTRAINT, &m), &mut d, &mut []), (0, 0, 0, 0));
    let mut smooth = m.clone();
    smooth.opt.friction = FrictionModel::Tanh;
    assert_eq!(sizes(&smooth, &mut d, &mut []), (0, 0, nl, nl));

    let (m, mut d) = with_all_equalities("equality_constraints", "s0");
    let ne = rows(&m, &mut d, &mut []).ne;
    assert_eq!(ne, 3 + 3 + 6 + 6 + 4);
    assert_eq!(sizes(&with(disable::EQUALITY, &m), &mut d, &mut []).0, 0);
    d.eq_active[0] = false;
    assert_eq!(sizes(&m, &mut d, &mut []).0, ne - 3);

    let (m, mut d, contact) = stacked(3);
    let mut contacts = [contact, contact];
    contacts[0].exclude = Exclude::Gap;
    assert_eq!(sizes(&m, &mut d, &mut contacts).3, 3);
    assert_eq!([contacts[0].efc_address, contacts[1].efc_address], [None, Some(0)]);
    assert_eq!(sizes(&with(disable::CONTACT, &m), &mut d, &mut contacts).3, 0);
    assert_eq!(contacts[1].efc_address, None);
}

// the time constant is at least two timesteps, unless refsafe is off
#[test]
fn refsafe_bounds_the_time_constant() {
    let mut m = load("limits_frictionloss");
    let mut d = golden_state("limits_frictionloss", &m, "s0");
    m.opt.timestep = 0.5;
    let damping = |m: &Model, d: &mut Data<f64>| rows(m, d, &mut []).KBIP[0][1];
    let d_max = m.dof_solimp[0][1];
    assert!((damping(&m, &mut d) - 2.0 / d_max).abs() < 1e-12);
    m.opt.disableflags |= disable::REFSAFE;
    assert!((damping(&m, &mut d) - 2.0 / (d_max * 0.05)).abs() < 1e-12);
}

// more rows than there was room for at first
#[test]
fn rows_find_room() {
    let (m, mut d, contact) = stacked(3);
    let mut contacts = [contact, contact];
    prepare(&m, &mut d);
    assert_eq!(max_rows(&m, 2), 12);
    let mut roomy = Efc::new(m.nv, 12);
    make_constraint(&m, &d, &mut contacts, &mut roomy);
    let mut tight = Efc::new(m.nv, 5);
    make_constraint(&m, &d, &mut contacts, &mut tight);
    assert_eq!(tight.nefc, 6);
    assert_eq!((&tight.J, &tight.J_colind, &tight.D), (&roomy.J, &roomy.J_colind, &roomy.D));
}

// MuJoCo's rule of what nothing moves: empty equalities and tendons have no rows, empty contacts have rows
// in the dense Jacobian, and are excluded in the sparse one
#[test]
fn nothing_moves_in_vain() {
    let mut m = parse(
        r#"<mujoco>
             <worldbody>
               <geom type="plane" size="1 1 1"/>
               <body name="fixed" pos="0 0 1"><geom size="1"/></body>
               <body pos="0 0 3"><joint name="j"/><geom size="1"/></body>
             </worldbody>
             <equality><connect body1="fixed" anchor="0 0 0"/></equality>
           </mujoco>"#,
    );
    let mut d = Data::<f64>::new(&m);
    let (_, _, mut contact) = stacked(3);
    contact.geom = [0, 1];
    let mut contacts = [contact];
    let efc = rows(&m, &mut d, &mut contacts);
    assert_eq!((efc.ne, efc.nefc, contacts[0].exclude), (0, 4, Exclude::None));
    m.opt.jacobian = JacobianType::Sparse;
    let efc = rows(&m, &mut d, &mut contacts);
    assert_eq!((efc.nefc, contacts[0].exclude), (0, Exclude::NoDofs));
}

// where norms have no derivative: a ball joint at identity, a connect and a weld without error
#[test]
fn rows_without_error_have_finite_tangents() {
    let m = parse(
        r#"<mujoco>
             <worldbody>
               <body name="a"><joint name="ball" type="ball" range="0 0.001"/><geom size="1"/></body>
               <body name="b"><freejoint/><geom size="1"/></body>
             </worldbody>
             <equality>
               <connect body1="a" body2="b" anchor="0.1 0.2 0"/>
               <weld body1="b" anchor="0.1 0 0"/>
             </equality>
           </mujoco>"#,
    );
    let mut m = m;
    m.jnt_margin[0] = 0.1;
    let d = Data::<f64>::new(&m);
    for dof in 0..m.nv {
        let efc = dual_rows(&m, &d, &unit(m.nv, dof));
        assert_eq!((efc.ne, efc.nl), (9, 1));
        let finite = |x: &[Dual64]| x.iter().all(|x| x.finite());
        assert!(finite(&efc.J) && finite(&efc.pos) && finite(&efc.R) && finite(&efc.D));
        assert!(finite(&efc.vel) && finite(&efc.aref) && efc.KBIP.iter().all(|k| finite(k)));
    }
}
