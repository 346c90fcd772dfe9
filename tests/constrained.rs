//! Sensors that feel constraints, inverse dynamics with constraints, and solves that do not converge: closed form against
//! dual numbers, differences and physics.
//!
//! Fails when, for example: the change of a contact's frame is left out of a wrench, or that of its position; what turns
//! with a site is not taken off; a tie's force acts on one body only; a limit's sensor leaves out damping.

use dualstep::forward::{forward, forward_dynamics, step};
use dualstep::inverse::inverse;
use dualstep::model::{Cone, SolverType};
use dualstep::{Data, Model};
use dualstep_derivatives::tangent::ndx;
use dualstep_derivatives::{
    AccelerationDeriv, DerivativeConfig, InverseDeriv, Method, Origin, Transition,
    mjd_acceleration, mjd_inverse, mjd_transition,
};
use dualstep_validation::compare::err;
use dualstep_validation::conform::constraint::converged;
use dualstep_validation::tolerance::{self, CLOSED_FORM_CONTACT, DUAL_MINIMUM};
use num_dual::Dual64;

use crate::support::{
    Direction, INTEGRATORS, combined, golden_state, load, names, parse, report, with_integrator,
};

const CONES: [Cone; 2] = [Cone::Pyramidal, Cone::Elliptic];

/// C dx + D du.
fn rates(t: &Transition, dx: &[f64], du: &[f64]) -> Vec<f64> {
    let dot = |i: usize| -> f64 {
        let by_state: f64 = dx.iter().enumerate().map(|(k, x)| t.C[[i, k]] * x).sum();
        by_state + du.iter().enumerate().map(|(k, u)| t.D[[i, k]] * u).sum::<f64>()
    };
    (0..t.C.nrows()).map(dot).collect()
}

// C and D on all models, cones and integrators, at states with active rows
#[test]
fn sensors_in_closed_form_match_dual_numbers_with_constraints() {
    let (mut found, mut compared, mut fell_back) = (Vec::new(), 0, Vec::new());
    for name in names() {
        let model = converged(&load(&name));
        for (state, cone) in ["s0", "s1", "s3"].into_iter().flat_map(|s| CONES.map(|c| (s, c))) {
            let d = golden_state(&name, &model, state);
            for integrator in INTEGRATORS {
                let mut m = with_integrator(&model, integrator);
                m.opt.cone = cone;
                let mut probe = Data::<f64>::new(&m);
                probe.set_state_from(&d);
                if m.nsensordata == 0 || forward(&m, &mut probe).is_err() || probe.efc.nefc == 0 {
                    continue;
                }
                let by = |method| mjd_transition(&m, &d, &DerivativeConfig::by(method));
                let Ok(exact) = by(Method::Dual) else { continue };
                let ours = by(Method::Auto).unwrap();
                if ours.sensor_columns.iter().any(|c| c.origin != Origin::Analytic) {
                    fell_back.extend(ours.not_covered().iter().map(|f| format!("{name}: {f}")));
                    continue;
                }
                compared += 1;
                for (block, x, y) in [("C", &ours.C, &exact.C), ("D", &ours.D, &exact.D)] {
                    let e = err(x.as_slice().unwrap(), y.as_slice().unwrap());
                    if e.is_nan() || e > tolerance::scaled(CLOSED_FORM_CONTACT) {
                        found.push(format!(
                            "{name} {state} {cone:?} {integrator:?}: {block} is off by {e:e}"
                        ));
                    }
                }
            }
        }
    }
    fell_back.sort();
    fell_back.dedup();
    report(&found);
    assert!(compared > 100, "only {compared} compared; dual numbers: {fell_back:?}");
}

/// Models whose sensors feel constraints.
const FELT: [&str; 4] = ["sensors_constraint", "sensors_contact", "contact_elliptic", "humanoid"];

// against differences of tightly solved states, extrapolated, where they have settled
#[test]
fn sensors_in_contact_match_extrapolated_differences() {
    let (mut found, mut compared) = (Vec::new(), 0);
    for (name, cone) in FELT.into_iter().flat_map(|name| CONES.map(|cone| (name, cone))) {
        let mut m = converged(&load(name));
        m.opt.solver = SolverType::Newton;
        m.opt.cone = cone;
        for state in ["s0", "s1", "s2", "s3"] {
            let d = golden_state(name, &m, state);
            let t = mjd_transition(&m, &d, &DerivativeConfig::by(Method::Analytic)).unwrap();
            if m.nsensordata == 0 {
                continue;
            }
            for seed in 0..3 {
                let direction = Direction::new(&m, seed);
                let along = |h: f64| {
                    let mut d = combined(&m, &d, &[(&direction, h)]);
                    forward(&m, &mut d).unwrap();
                    let zones = (d.efc.kind, d.efc.state, d.contact.len());
                    (d.sensordata, zones)
                };
                let (_, zones) = along(0.0);
                let settled = [2e-5, 5e-6, 1e-6].into_iter().find_map(|h| {
                    let difference = |h: f64| {
                        let ((plus, z1), (minus, z2)) = (along(h), along(-h));
                        let slope = plus.iter().zip(&minus).map(|(x, y)| (x - y) / (2.0 * h));
                        (z1 == zones && z2 == zones).then(|| slope.collect::<Vec<f64>>())
                    };
                    let once = |a: &[f64], b: &[f64], k: f64| -> Vec<f64> {
                        a.iter().zip(b).map(|(a, b)| b + (b - a) / (k - 1.0)).collect()
                    };
                    let (a, b, c) = (difference(4.0 * h)?, difference(2.0 * h)?, difference(h)?);
                    let last = once(&b, &c, 4.0);
                    let value = once(&once(&a, &b, 4.0), &last, 16.0);
                    (err(&value, &last) < 0.3 * DUAL_MINIMUM).then_some(value)
                });
                let Some(expected) = settled else { continue };
                compared += 1;
                let e = err(&rates(&t, &direction.dx, &direction.du), &expected);
                if e.is_nan() || e > tolerance::scaled(DUAL_MINIMUM) {
                    found.push(format!("{name} {cone:?} {state} {seed}: off by {e:e}"));
                }
            }
        }
    }
    report(&found);
    assert!(compared > 15, "only {compared} directions stay in their zones");
}

/// C of a model without actuators.
fn rows(m: &Model, d: &Data<f64>) -> Transition {
    let t = mjd_transition(m, d, &DerivativeConfig::by(Method::Analytic)).unwrap();
    assert!(t.solver.reached, "{}", t.solver);
    t
}

// a ball of mass m on a rail sinks into a floor, by hand: m a = f − m g and f = D (aref − a) give
// f = (aref + g) m D/(m + D), aref = −b v − k I x, D = I/(1 − I)/diagA with diagA = 1/m, so that f = m I (aref + g)
#[test]
fn touch_on_a_floor_by_hand() {
    let m = parse(
        r#"<mujoco>
          <option gravity="0 0 -10" iterations="100" tolerance="0"/>
          <worldbody>
            <geom type="plane" size="1 1 1" condim="1"/>
            <body name="ball" pos="0 0 0.1">
              <joint type="slide" axis="0 0 1"/>
              <geom size="0.1" mass="2" condim="1" priority="1" solref="-400 -30" solimp="0.8 0.8 0.1"/>
              <site name="skin" size="0.2"/>
              <site name="core" size="0.01"/>
            </body>
          </worldbody>
          <sensor>
            <touch site="skin"/><touch site="core"/><force site="skin"/><accelerometer site="skin"/>
            <contact body1="ball" data="found force dist"/>
          </sensor>
        </mujoco>"#,
    );
    let mut d = Data::<f64>::new(&m);
    (d.qpos[0], d.qvel[0]) = (-0.01, 0.1);
    let t = rows(&m, &d);
    let (mass, imp) = (2.0_f64, 0.8_f64);
    // direct stiffness and damping are divided by the largest impedance, squared and not
    let (k, b) = (400.0 / (imp * imp), 30.0 / imp);
    let (by_q, by_v) = (-mass * imp * imp * k, -mass * imp * b);
    let expect = |row: usize, q: f64, v: f64| {
        let found = [t.C[[row, 0]], t.C[[row, 1]]];
        assert!(
            (found[0] - q).abs() < 1e-9 * by_q.abs() && (found[1] - v).abs() < 1e-9 * by_q.abs(),
            "{}: {found:?}, not {:?}",
            t.sensor_names[row],
            [q, v]
        );
    };
    expect(0, by_q, by_v);
    // the contact is not in the small site, and does not push through it
    expect(1, 0.0, 0.0);
    // what the rail carries along z is m (a + g) − f = 0
    expect(4, 0.0, 0.0);
    expect(7, by_q / mass, by_v / mass);
    // found, force along the normal, distance
    expect(8, 0.0, 0.0);
    expect(9, by_q, by_v);
    expect(12, 1.0, 0.0);
}

// a joint beyond its limit, its mass on a rail: pos, vel and force, as above
#[test]
fn limit_sensors_by_hand() {
    let m = parse(
        r#"<mujoco>
          <option gravity="0 0 0" iterations="100" tolerance="0"/>
          <worldbody>
            <body>
              <joint name="rail" type="slide" axis="1 0 0" range="-1 1" limited="true"
                     solreflimit="-400 -30" solimplimit="0.8 0.8 0.1"/>
              <inertial pos="0 0 0" mass="3" diaginertia="1 1 1"/>
            </body>
          </worldbody>
          <actuator><motor joint="rail"/></actuator>
          <sensor>
            <jointlimitpos joint="rail"/><jointlimitvel joint="rail"/><jointlimitfrc joint="rail"/>
          </sensor>
        </mujoco>"#,
    );
    let mut d = Data::<f64>::new(&m);
    (d.qpos[0], d.qvel[0], d.ctrl[0]) = (1.02, 0.3, 1.0);
    let t = rows(&m, &d);
    let imp = 0.8;
    let (k, b) = (400.0 / (imp * imp), 30.0 / imp);
    let expected = [[-1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [3.0 * imp * imp * k, 3.0 * imp * b, imp]];
    for (row, expected) in expected.into_iter().enumerate() {
        let found = [t.C[[row, 0]], t.C[[row, 1]], t.D[[row, 0]]];
        let close =
            found.iter().zip(&expected).all(|(x, y)| (x - y).abs() < 1e-9 * y.abs().max(1.0));
        assert!(close, "{found:?}, not {expected:?}");
    }
}

// f(q, v, a) along directions, by dual numbers through inverse dynamics itself
#[test]
fn inverse_dynamics_with_constraints_matches_dual_numbers() {
    let (mut found, mut compared) = (Vec::new(), 0);
    for (name, cone) in names().into_iter().flat_map(|name| CONES.map(|cone| (name.clone(), cone)))
    {
        let mut m = load(&name);
        m.opt.cone = cone;
        m.opt.enableflags &= !dualstep::model::options::enable::INVDISCRETE;
        for state in ["s0", "s1", "s3"] {
            let mut d = golden_state(&name, &m, state);
            forward_dynamics(&m, &mut d).unwrap();
            // at another acceleration than that of forward dynamics rows have other states
            for scale in [0.0, 5.0] {
                d.qacc.iter_mut().enumerate().for_each(|(i, a)| *a += scale * (i as f64).cos());
                inverse(&m, &mut d).unwrap();
                let mut closed = InverseDeriv::new(&m);
                if mjd_inverse(&m, &d, &mut closed).is_err() || d.efc.nefc == 0 {
                    continue;
                }
                let direction = Direction::new(&m, 7);
                let mut dual = combined(&m, &d, &[(&direction, Dual64::new(0.0, 1.0))]);
                for i in 0..m.nv {
                    dual.qacc[i] = Dual64::new(d.qacc[i], direction.dx[m.nv - 1 - i]);
                }
                inverse(&m, &mut dual).unwrap();
                let expected: Vec<f64> = dual.qfrc_inverse.iter().map(|f| f.eps).collect();
                let (dq, dv) = (&direction.dx[..m.nv], &direction.dx[m.nv..2 * m.nv]);
                let da: Vec<f64> = dq.iter().rev().copied().collect();
                let mut ours = vec![0.0; m.nv];
                for (block, x) in
                    [(&closed.DfDq, dq), (&closed.DfDv, dv), (&closed.DfDa, da.as_slice())]
                {
                    for (out, row) in ours.iter_mut().zip(block.chunks_exact(m.nv)) {
                        *out += row.iter().zip(x).map(|(a, x)| a * x).sum::<f64>();
                    }
                }
                compared += 1;
                let e = err(&ours, &expected);
                if e.is_nan() || e > tolerance::scaled(CLOSED_FORM_CONTACT) {
                    found.push(format!("{name} {cone:?} {state} {scale}: off by {e:e}"));
                }
            }
        }
    }
    report(&found);
    assert!(compared > 60, "only {compared} compared");
}

// ∂f/∂a of inverse dynamics undoes ∂a/∂τ of forward dynamics; with ∂f/∂q and ∂f/∂v it gives ∂a/∂q and ∂a/∂v
#[test]
fn inverse_derivatives_undo_forward_derivatives() {
    let (mut found, mut compared) = (Vec::new(), 0);
    for (name, k) in names().into_iter().flat_map(|n| ["s0", "s1", "s3"].map(|k| (n.clone(), k))) {
        let mut m = converged(&load(&name));
        // controls and activations hold still: the forces of actuators are applied forces
        let state = golden_state(&name, &m, k);
        let mut d = state.clone();
        forward(&m, &mut d).unwrap();
        if d.efc.nefc == 0 {
            continue;
        }
        let applied: Vec<f64> =
            d.qfrc_applied.iter().zip(&d.qfrc_actuator).map(|(x, y)| x + y).collect();
        m.opt.disableflags |= dualstep::model::options::disable::ACTUATION;
        let mut d = state.clone();
        d.qfrc_applied.copy_from_slice(&applied);
        d.xfrc_applied.fill([0.0; 6]);
        forward_dynamics(&m, &mut d).unwrap();
        let (mut inverse, mut forward) = (InverseDeriv::new(&m), AccelerationDeriv::new(&m));
        if mjd_inverse(&m, &d, &mut inverse).is_err()
            || mjd_acceleration(&m, &d, &mut forward).is_err()
        {
            continue;
        }
        let (nv, n) = (m.nv, ndx(&m) + m.nu);
        // 0 = ∂f/∂x + ∂f/∂a ∂a/∂x
        let (mut sum, mut size) = (0.0_f64, 1.0_f64);
        for (i, c) in (0..nv).flat_map(|i| (0..2 * nv).map(move |c| (i, c))) {
            let own = if c < nv { inverse.DfDq[i * nv + c] } else { inverse.DfDv[i * nv + c - nv] };
            let chained: f64 =
                (0..nv).map(|j| inverse.DfDa[i * nv + j] * forward.block[j * n + c]).sum();
            sum = sum.max((own + chained).abs());
            size = size.max(own.abs());
        }
        compared += 1;
        if sum.is_nan() || sum / size > tolerance::scaled(CLOSED_FORM_CONTACT) {
            found.push(format!("{name} {k}: ∂f/∂x + ∂f/∂a ∂a/∂x is {:e}", sum / size));
        }
        // ∂a/∂τ by differences of the applied force
        let mut tau = d.clone();
        let direction: Vec<f64> = (0..nv).map(|i| (i as f64 + 0.3).sin()).collect();
        let mut along = |h: f64| {
            tau.set_state_from(&d);
            for (f, x) in tau.qfrc_applied.iter_mut().zip(&direction) {
                *f += h * x;
            }
            forward_dynamics(&m, &mut tau).unwrap();
            (tau.qacc.clone(), tau.efc.state.clone())
        };
        let h = 1e-6;
        let ((plus, s1), (minus, s2)) = (along(h), along(-h));
        if s1 != d.efc.state || s2 != d.efc.state {
            continue;
        }
        let slope: Vec<f64> = plus.iter().zip(&minus).map(|(x, y)| (x - y) / (2.0 * h)).collect();
        let back: Vec<f64> = inverse
            .DfDa
            .chunks_exact(nv)
            .map(|row| row.iter().zip(&slope).map(|(a, x)| a * x).sum())
            .collect();
        let e = err(&back, &direction);
        if e.is_nan() || e > tolerance::scaled(1e-5) {
            found.push(format!("{name} {k}: ∂f/∂a ∂a/∂τ is off the identity by {e:e}"));
        }
    }
    report(&found);
    assert!(compared > 15, "only {compared} compared");
}

// one iteration is not enough: every method says so, and those that go on to the minimum say that they did
#[test]
fn unconverged_solves_are_reported() {
    let mut m = load("contact_pile");
    let d = golden_state("contact_pile", &m, "s1");
    for (solver, iterations, reached) in [
        (SolverType::Newton, 1, false),
        (SolverType::Pgs, 1, false),
        (SolverType::Newton, 100, true),
    ] {
        (m.opt.solver, m.opt.iterations) = (solver, iterations);
        for integrator in INTEGRATORS {
            let m = with_integrator(&m, integrator);
            for method in [Method::Analytic, Method::Dual, Method::Fd] {
                let mut cold = Data::<f64>::new(&m);
                cold.set_state_from(&d);
                cold.qacc_warmstart.fill(0.0);
                let Ok(t) = mjd_transition(&m, &cold, &DerivativeConfig::by(method)) else {
                    continue;
                };
                let what = format!("{solver:?} {integrator:?} {method:?}: {}", t.solver);
                assert_eq!(t.solver.reached, reached, "{what}");
                assert_eq!(t.solver.at_minimum, reached || method != Method::Fd, "{what}");
            }
        }
    }
    // nothing to solve
    let free =
        parse("<mujoco><worldbody><body><freejoint/><geom size='1'/></body></worldbody></mujoco>");
    let t = mjd_transition(&free, &Data::<f64>::new(&free), &DerivativeConfig::default()).unwrap();
    assert!(t.solver.reached && t.solver.niter == 0);
}

// a ball that slides: its contact force, and what the floor's friction does to the accelerometer, along a trajectory
#[test]
fn rates_of_contact_forces_follow_the_trajectory() {
    let m = parse(
        r#"<mujoco>
          <option timestep="1e-5" integrator="RK4" iterations="100" tolerance="0" cone="elliptic"/>
          <worldbody>
            <geom type="plane" size="5 5 1" friction="0.3"/>
            <body pos="0 0 0.098"><freejoint/>
              <geom name="ball" size="0.1" mass="2" friction="0.3" solimp="0.9 0.95 0.01"/>
              <site name="s" pos="0.02 0 0.03" size="0.3"/>
            </body>
          </worldbody>
          <sensor>
            <touch site="s"/><accelerometer site="s"/><contact geom1="ball" data="force torque pos normal linvel"/>
          </sensor>
        </mujoco>"#,
    );
    let mut d = Data::<f64>::new(&m);
    d.qvel.copy_from_slice(&[1.0, 0.3, 0.0, 0.5, 0.2, 1.0]);
    let at = |d: &Data<f64>| {
        let mut d = d.clone();
        forward(&m, &mut d).unwrap();
        d
    };
    let before = at(&d);
    step(&m, &mut d).unwrap();
    let middle = at(&d);
    step(&m, &mut d).unwrap();
    let after = at(&d);
    let t = rows(&m, &middle);
    let ours = rates(&t, &[middle.qvel.as_slice(), &middle.qacc].concat(), &[]);
    let h = 2.0 * m.opt.timestep;
    let expected: Vec<f64> =
        after.sensordata.iter().zip(&before.sensordata).map(|(x, y)| (x - y) / h).collect();
    let e = err(&ours, &expected);
    assert!(e < 1e-6, "{e:e}: {ours:?}, not {expected:?}");
}
