//! Steps in contact: piles that come to rest, inverse against forward dynamics, derivatives through active rows.

use std::fmt::Write;

use dualstep::constraint::{EfcState, EfcType, contact_force};
use dualstep::forward::{forward, step};
use dualstep::inverse::compare_forward_inverse;
use dualstep::model::{Cone, LimitModel, SolverType};
use dualstep::{Data, Model, Scalar, energy};
use dualstep_derivatives::tangent::{State, ndx};
use dualstep_derivatives::{DerivativeConfig, Method, Origin, mjd_transition};
use dualstep_validation::compare::err;
use dualstep_validation::conform::constraint::converged;
use dualstep_validation::random_tree::Random;
use dualstep_validation::tolerance::{self, CLOSED_FORM_CONTACT, DUAL_MINIMUM, INVERSE_CONTACT};
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
            constrained += usize::from(d.efc.nefc > 0);
            let scale = d.qfrc_constraint.iter().fold(1.0, |s: f64, f| s.max(f.abs()));
            let found_back = compare_forward_inverse(&m, &d).unwrap();
            for (what, e) in ["constraint", "applied"].into_iter().zip(found_back) {
                if e.is_nan() || e / scale > tolerance::scaled(INVERSE_CONTACT) {
                    found.push(format!("{name} {state}: {what} forces are off by {e:e}"));
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

// a ball hangs from a hook by a distance: it swings on a sphere, as stiff as a constraint is
#[test]
fn a_distance_constraint_holds_its_length() {
    let m = parse(
        r#"<mujoco><option timestep="0.001"/>
          <worldbody>
            <geom name="hook" size="0.01" contype="0" conaffinity="0"/>
            <body pos="0.5 0 0"><freejoint/><geom name="ball" size="0.05" contype="0" conaffinity="0"/></body>
          </worldbody>
          <equality><distance geom1="hook" geom2="ball" distance="0.5" solref="0.002 1"/></equality>
        </mujoco>"#,
    );
    let mut d = Data::<f64>::new(&m);
    let mut lowest = 0.0_f64;
    for _ in 0..500 {
        step(&m, &mut d).unwrap();
        let length = (d.qpos[0].powi(2) + d.qpos[1].powi(2) + d.qpos[2].powi(2)).sqrt();
        assert!((length - 0.5).abs() < 1e-3, "{length}");
        lowest = lowest.min(d.qpos[2]);
    }
    assert!(lowest < -0.49, "it swings down to {lowest}");
}

// a mass on a rail, beyond the end of its range, by hand: k = 1/τ², b = 2ζ/τ, and a limit does not pull
#[test]
fn limits_and_equalities_as_penalties_by_hand() {
    let mut m = parse(
        r#"<mujoco><option timestep="0.001" gravity="0 0 0"/>
          <worldbody>
            <body><joint name="a" type="slide" axis="1 0 0" range="-1 1" limited="true" solreflimit="0.05 0.4"/>
              <inertial pos="0 0 0" mass="2" diaginertia="1 1 1"/></body>
            <body><joint name="b" type="slide" axis="1 0 0"/>
              <inertial pos="0 0 0" mass="3" diaginertia="1 1 1"/></body>
          </worldbody>
          <equality><joint joint1="b" polycoef="0.2 0 0 0 0" solref="0.1 1"/></equality>
        </mujoco>"#,
    );
    m.opt.limits = LimitModel::Penalty;
    let mut d = Data::<f64>::new(&m);
    let accelerations = |d: &mut Data<f64>, q: [f64; 2], v: [f64; 2]| {
        d.qpos.copy_from_slice(&q);
        d.qvel.copy_from_slice(&v);
        forward(&m, d).unwrap();
        assert_eq!((d.efc.nefc, d.penalty.nefc), (0, 1 + usize::from(q[0].abs() > 1.0)));
        [d.qacc[0], d.qacc[1]]
    };
    let close = |x: [f64; 2], y: [f64; 2]| {
        assert!((x[0] - y[0]).abs() < 1e-10 && (x[1] - y[1]).abs() < 1e-10, "{x:?}, not {y:?}");
    };
    let tie = |x: f64, v: f64| (-(x - 0.2) * 100.0 - 20.0 * v) / 3.0;
    close(accelerations(&mut d, [0.9, 0.5], [3.0, 1.0]), [0.0, tie(0.5, 1.0)]);
    close(
        accelerations(&mut d, [1.1, 0.5], [3.0, -1.0]),
        [(-0.1 * 400.0 - 16.0 * 3.0) / 2.0, tie(0.5, -1.0)],
    );
    // it leaves faster than the damper would let it: no force
    close(accelerations(&mut d, [1.1, 0.2], [-3.0, 0.0]), [0.0, 0.0]);

    // no closed form yet: dual numbers, and they say so
    d.qpos.copy_from_slice(&[1.1, 0.5]);
    d.qvel.copy_from_slice(&[3.0, -1.0]);
    let t = mjd_transition(&m, &d, &DerivativeConfig::default()).unwrap();
    assert!(t.columns.iter().all(|c| c.origin == Origin::Dual), "{:?}", t.columns[0]);
    let h = 0.001;
    assert!((t.A[[2, 0]] + h * 400.0 / 2.0).abs() < 1e-12);
    assert!((t.A[[2, 2]] - (1.0 - h * 16.0 / 2.0)).abs() < 1e-12);
}
