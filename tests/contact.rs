//! Steps in contact: piles that come to rest, inverse against forward dynamics, derivatives through active rows.

use std::fmt::Write;

use dualstep::constraint::{EfcState, EfcType, contact_force};
use dualstep::forward::{forward, step};
use dualstep::inverse::inverse;
use dualstep::model::{Cone, SolverType};
use dualstep::smooth::jacobian::apply_ft;
use dualstep::{Data, Model, Scalar, energy};
use dualstep_derivatives::tangent::{State, ndx};
use dualstep_derivatives::{DerivativeConfig, Method, Origin, mjd_transition};
use dualstep_validation::compare::err;
use dualstep_validation::conform::constraint::converged;
use dualstep_validation::random_tree::Random;
use dualstep_validation::tolerance::{self, CLOSED_FORM_CONTACT, DUAL_MINIMUM, INVERSE_CONTACT};
use nalgebra::Vector3;
use num_dual::Dual64;
use proptest::prelude::*;

use crate::support::{
    Direction, INTEGRATORS, combined, golden_state, load, names, parse, report, with_integrator,
};

const SHAPES: [(&str, &str); 5] = [
    ("sphere", "0.1"),
    ("capsule", "0.06 0.08"),
    ("ellipsoid", "0.12 0.08 0.06"),
    ("cylinder", "0.09 0.06"),
    ("box", "0.1 0.08 0.06"),
];
const CONDIMS: [usize; 4] = [1, 3, 4, 6];

/// Bodies of all shapes above a floor, one above the other in a few columns, turned at random.
fn pile(seed: u32, cone: &str, bodies: usize) -> Model {
    let mut random = Random::new(u64::from(seed));
    let first = usize::try_from(seed).unwrap();
    let mut xml = format!(
        r#"<mujoco><option timestep="0.002" cone="{cone}"/><worldbody>
           <geom type="plane" size="5 5 1"/>"#
    );
    for i in 0..bodies {
        let (shape, size) = SHAPES[(i + first) % SHAPES.len()];
        let condim = CONDIMS[(i / 2 + first) % CONDIMS.len()];
        let mut turn = || random.signed(1.0);
        let euler = [turn() * 90.0, turn() * 90.0, turn() * 90.0];
        let (x, y) = (0.05 * turn() + 0.35 * (i % 2) as f64, 0.05 * turn());
        let z = 0.2 + 0.32 * (i / 2) as f64;
        write!(
            xml,
            r#"<body pos="{x} {y} {z}" euler="{} {} {}"><freejoint/>
               <geom type="{shape}" size="{size}" condim="{condim}" friction="0.8 0.01 0.001"/></body>"#,
            euler[0], euler[1], euler[2]
        )
        .unwrap();
    }
    parse(&(xml + "</worldbody></mujoco>"))
}

fn total_energy(m: &Model, d: &mut Data<f64>) -> f64 {
    energy::energy(m, d);
    d.energy[0] + d.energy[1]
}

/// Every contact pushes, and its friction is inside of the cone.
fn forces_are_inside_of_their_cones(m: &Model, d: &Data<f64>) {
    for contact in d.contact.iter().filter(|c| c.efc_address.is_some()) {
        let f = contact_force(m, contact, &d.efc);
        let slack = 1e-9 * f[0].abs().max(1.0);
        assert!(f[0] >= -slack, "a contact pulls: {f:?}");
        let ratios = (1..contact.dim).map(|k| f[k] / contact.friction[k - 1]);
        let used = match m.opt.cone {
            Cone::Elliptic => ratios.map(|x| x * x).sum::<f64>().sqrt(),
            Cone::Pyramidal => ratios.map(f64::abs).sum(),
        };
        assert!(used <= f[0] + slack, "friction {used} of {}", f[0]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10, failure_persistence: None, ..ProptestConfig::default() })]

    // without actuators energy is only lost: never more than at the start, and none is gained at rest
    #[test]
    fn random_piles_settle(seed in 0_u32..10_000, elliptic in any::<bool>()) {
        let m = pile(seed, if elliptic { "elliptic" } else { "pyramidal" }, 8);
        let mut d = Data::<f64>::new(&m);
        forward(&m, &mut d).unwrap();
        let start = total_energy(&m, &mut d);
        let scale = start.abs().max(1.0);
        let mut last = start;
        for k in 0..500 {
            step(&m, &mut d).unwrap();
            forces_are_inside_of_their_cones(&m, &d);
            if k % 50 == 49 {
                forward(&m, &mut d).unwrap();
                let now = total_energy(&m, &mut d);
                prop_assert!(now <= start + 1e-3 * scale, "energy {start} became {now}");
                // at rest: soft contacts may still breathe
                if d.qvel.iter().all(|v| v.abs() < 1e-3) {
                    prop_assert!(now <= last + 1e-6 * scale, "energy {last} became {now} at rest");
                }
                last = now;
            }
        }
        prop_assert!(d.qpos.iter().chain(&d.qvel).all(|x| x.is_finite()));
        prop_assert!(!d.contact.is_empty(), "nothing has landed");
    }
}

/// What forward dynamics applies: actuators, joint forces, forces on bodies.
fn applied(m: &Model, d: &Data<f64>) -> Vec<f64> {
    let mut qfrc: Vec<f64> =
        d.qfrc_applied.iter().zip(&d.qfrc_actuator).map(|(x, y)| x + y).collect();
    for b in 1..m.nbody {
        let [fx, fy, fz, tx, ty, tz] = d.xfrc_applied[b];
        let (force, torque) = (Vector3::new(fx, fy, fz), Vector3::new(tx, ty, tz));
        apply_ft(m, d, &force, &torque, &d.xipos[b], b, &mut qfrc);
    }
    qfrc
}

// inverse dynamics at the acceleration that forward dynamics finds gives back what was applied
#[test]
fn inverse_undoes_forward_with_constraints() {
    let mut found = Vec::new();
    let mut constrained = 0;
    for name in names() {
        let m = converged(&load(&name));
        for state in ["s0", "s1", "s2", "s3"] {
            let mut d = golden_state(&name, &m, state);
            forward(&m, &mut d).unwrap();
            let expected = applied(&m, &d);
            let forces = d.qfrc_constraint.clone();
            inverse(&m, &mut d).unwrap();
            constrained += usize::from(d.efc.nefc > 0);
            let scale = forces.iter().fold(1.0, |s: f64, f| s.max(f.abs()));
            for (what, x, y) in [
                ("qfrc_inverse", &d.qfrc_inverse, &expected),
                ("qfrc_constraint", &d.qfrc_constraint, &forces),
            ] {
                let e = x.iter().zip(y).fold(0.0, |e: f64, (x, y)| e.max((x - y).abs())) / scale;
                if e > tolerance::scaled(INVERSE_CONTACT) {
                    found.push(format!("{name} {state}: {what} is off by {e:e}"));
                }
            }
        }
    }
    assert!(constrained > 20, "only {constrained} states have constraints");
    report(&found);
}

// every block of the linearization, on all models and integrators, at states with active rows
#[test]
fn closed_form_matches_dual_numbers_with_constraints() {
    let mut found = Vec::new();
    let (mut compared, mut fell_back) = (0, Vec::new());
    for name in names() {
        let model = load(&name);
        for state in ["s0", "s1", "s3"] {
            let d = golden_state(&name, &model, state);
            for integrator in INTEGRATORS {
                let m = with_integrator(&model, integrator);
                let mut probe = d.clone();
                forward(&m, &mut probe).unwrap();
                if probe.efc.nefc == 0 {
                    continue;
                }
                let config =
                    |method| DerivativeConfig { sensors: false, ..DerivativeConfig::by(method) };
                let Ok(exact) = mjd_transition(&m, &d, &config(Method::Dual)) else { continue };
                let ours = mjd_transition(&m, &d, &config(Method::Auto)).unwrap();
                if ours.columns.iter().any(|c| c.origin != Origin::Analytic) {
                    fell_back.push(format!("{name}: {}", ours.columns[0].why));
                    continue;
                }
                // RK4 explodes where its timestep is too large for the stiffness of contacts
                if exact.A.iter().any(|x| x.abs() > 1e6) {
                    continue;
                }
                compared += 1;
                for (block, x, y) in [("A", &ours.A, &exact.A), ("B", &ours.B, &exact.B)] {
                    let e = err(x.as_slice().unwrap(), y.as_slice().unwrap());
                    if e > tolerance::scaled(CLOSED_FORM_CONTACT) {
                        found.push(format!(
                            "{name} {state} {integrator:?}: {block} is off by {e:e}"
                        ));
                    }
                }
            }
        }
    }
    fell_back.dedup();
    assert!(compared > 100, "only {compared} compared; dual numbers: {fell_back:?}");
    report(&found);
}

/// Next state, with the zones of all rows and their number.
fn stepped<T: Scalar>(m: &Model, mut d: Data<T>) -> (State<T>, Vec<(EfcType, EfcState)>) {
    step(m, &mut d).unwrap();
    let zones = d.efc.kind.iter().copied().zip(d.efc.state.iter().copied()).collect();
    (State::of(&d), zones)
}

// a whole step on dual numbers against differences of tightly solved steps, where no row changes its zone
#[test]
fn dual_steps_in_contact_match_extrapolated_differences() {
    let (mut found, mut compared) = (Vec::new(), 0);
    for name in [
        "contact_pile",
        "contact_elliptic",
        "humanoid",
        "equality_constraints",
        "limits_frictionloss",
    ] {
        let mut m = converged(&load(name));
        m.opt.solver = SolverType::Newton;
        for state in ["s0", "s1", "s2", "s3"] {
            let d = golden_state(name, &m, state);
            for seed in 0..3 {
                let direction = Direction::new(&m, seed);
                let along = |h: f64| stepped(&m, combined(&m, &d, &[(&direction, h)]));
                let (here, zones) = along(0.0);
                if zones.is_empty() {
                    continue;
                }
                // differences at 4h, 2h, h, extrapolated twice; smaller steps until they settle: impedances turn within
                // fractions of a millimetre
                let settled = [2e-5, 5e-6, 1e-6].into_iter().find_map(|h| {
                    let difference = |h: f64| {
                        let ((plus, z1), (minus, z2)) = (along(h), along(-h));
                        let mut out = vec![0.0; ndx(&m)];
                        plus.boxminus(&m, &minus, 2.0 * h, &mut out);
                        (z1 == zones && z2 == zones).then_some(out)
                    };
                    let (a, b, c) = (difference(4.0 * h)?, difference(2.0 * h)?, difference(h)?);
                    let once = |a: &[f64], b: &[f64], k: f64| -> Vec<f64> {
                        a.iter().zip(b).map(|(a, b)| b + (b - a) / (k - 1.0)).collect()
                    };
                    let last = once(&b, &c, 4.0);
                    let value = once(&once(&a, &b, 4.0), &last, 16.0);
                    (err(&value, &last) < 0.3 * DUAL_MINIMUM).then_some(value)
                });
                let Some(expected) = settled else { continue };

                let (dual, dual_zones) =
                    stepped(&m, combined(&m, &d, &[(&direction, Dual64::new(0.0, 1.0))]));
                assert_eq!(dual_zones, zones);
                let mut tangent = vec![Dual64::lift(0.0); ndx(&m)];
                let from = State {
                    qpos: here.qpos.iter().map(|x| Dual64::lift(*x)).collect(),
                    qvel: here.qvel.iter().map(|x| Dual64::lift(*x)).collect(),
                    act: here.act.iter().map(|x| Dual64::lift(*x)).collect(),
                };
                dual.boxminus(&m, &from, Dual64::lift(1.0), &mut tangent);
                let ours: Vec<f64> = tangent.iter().map(|x| x.eps).collect();
                compared += 1;
                let e = err(&ours, &expected);
                if e > tolerance::scaled(DUAL_MINIMUM) {
                    found.push(format!("{name} {state} {seed}: off by {e:e}"));
                }
            }
        }
    }
    assert!(compared > 15, "only {compared} directions stay in their zones");
    report(&found);
}
