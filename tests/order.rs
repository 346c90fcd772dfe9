//! Orders of the integrators, measured: the error at a fixed time against the step, halved several times.
//!
//! Four systems: a chain of ball joints, a free body that spins about no principal axis, a damped pendulum,
//! and an arm whose motors have activations. The truth for all integrators is RK4 at a small step, so they
//! are tested against each other as well as for their order. Errors are taken on the state tangent, so that
//! orientations count as rotations.
//!
//! Fails when, for example: RK4 adds stage velocities of ball joints without `dexp_inv` (order 2 on
//! the chain), the activations are not advanced in its stages (order 1), Euler takes positions from the old
//! velocity and damping from the new (an error constant that the finest steps do not reach), or an implicit
//! matrix has h² for h (order 0).

use dualstep::model::Integrator;
use dualstep::{Data, Model, step};
use dualstep_derivatives::tangent::{State, ndx};

use crate::support::{parse, with_integrator};

/// Where a system starts, and how long it runs [s].
struct System {
    name: &'static str,
    xml: &'static str,
    qvel: &'static [f64],
    ctrl: &'static [f64],
    time: f64,
}

const SYSTEMS: [System; 4] = [
    System {
        name: "chain of ball joints",
        xml: r#"<mujoco>
          <worldbody>
            <body>
              <joint type="ball" stiffness="0.5" damping="0.01"/>
              <geom type="box" size="0.05 0.1 0.2" pos="0.02 0.05 -0.2"/>
              <body pos="0 0 -0.4" euler="20 30 0">
                <joint type="ball" pos="0.01 0 0.02" damping="0.01"/>
                <geom type="box" size="0.05 0.08 0.15" pos="0 0.03 -0.15"/>
              </body>
            </body>
          </worldbody>
        </mujoco>"#,
        qvel: &[1.0, -2.0, 3.0, 2.0, 1.0, -2.0],
        ctrl: &[],
        // stiff: the asymptotic range begins at shorter steps
        time: 0.06,
    },
    System {
        name: "free spinning body",
        xml: r#"<mujoco>
          <worldbody>
            <body euler="10 20 30">
              <freejoint/>
              <geom type="box" size="0.1 0.2 0.3" pos="0.05 0.02 0.03"/>
            </body>
          </worldbody>
        </mujoco>"#,
        qvel: &[0.5, -0.3, 1.0, 3.0, 4.0, -2.0],
        ctrl: &[],
        time: 0.25,
    },
    System {
        name: "damped pendulum",
        xml: r#"<mujoco>
          <worldbody>
            <body>
              <joint axis="0 1 0" damping="0.3" stiffness="1" springref="40"/>
              <geom type="capsule" size="0.05" fromto="0 0 0 0.3 0 -0.3"/>
            </body>
          </worldbody>
        </mujoco>"#,
        qvel: &[2.0],
        ctrl: &[],
        time: 0.25,
    },
    System {
        name: "arm with activations",
        xml: r#"<mujoco>
          <worldbody>
            <body>
              <joint name="a" axis="0 1 0" damping="0.2"/>
              <geom type="capsule" size="0.05" fromto="0 0 0 0.3 0 -0.1"/>
              <body pos="0.3 0 -0.1">
                <joint name="b" axis="0 1 0.5" damping="0.1"/>
                <geom type="capsule" size="0.04" fromto="0 0 0 0.2 0.1 0"/>
              </body>
            </body>
          </worldbody>
          <actuator>
            <general joint="a" dyntype="filter" dynprm="0.1" gainprm="5" biastype="affine" biasprm="0 -1 -0.2"/>
            <general joint="b" dyntype="integrator" gainprm="3"/>
          </actuator>
        </mujoco>"#,
        qvel: &[1.0, -1.0],
        ctrl: &[0.8, -0.6],
        time: 0.06,
    },
];

/// State after `n` steps over the whole time.
fn end(system: &System, m: &Model, integrator: Integrator, n: usize) -> State<f64> {
    let mut m = with_integrator(m, integrator);
    m.opt.timestep = system.time / n as f64;
    let mut d = Data::new(&m);
    d.qvel.copy_from_slice(system.qvel);
    d.ctrl.copy_from_slice(system.ctrl);
    for _ in 0..n {
        step(&m, &mut d).unwrap();
    }
    State::of(&d)
}

/// Length of the tangent between two states.
fn distance(m: &Model, a: &State<f64>, b: &State<f64>) -> f64 {
    let mut dx = vec![0.0; ndx(m)];
    a.boxminus(m, b, 1.0, &mut dx);
    dx.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// Slope of a least-squares line through (x, y).
fn slope(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), p| (x + p.0 / n, y + p.1 / n));
    let (xy, xx) = points
        .iter()
        .fold((0.0, 0.0), |(xy, xx), p| (xy + (p.0 - x) * (p.1 - y), xx + (p.0 - x) * (p.0 - x)));
    xy / xx
}

/// Logarithms of step and error for the given numbers of steps.
fn errors(system: &System, integrator: Integrator, steps: &[usize]) -> Vec<(f64, f64)> {
    let m = parse(system.xml);
    let truth = end(system, &m, Integrator::RK4, 2048);
    steps
        .iter()
        .map(|&n| {
            let e = distance(&m, &end(system, &m, integrator, n), &truth);
            ((system.time / n as f64).ln(), e.ln())
        })
        .collect()
}

fn check(integrator: Integrator, expected: f64, steps: &[usize]) {
    for system in &SYSTEMS {
        let points = errors(system, integrator, steps);
        let found = slope(&points);
        assert!(
            (found - expected).abs() < 0.1,
            "{integrator:?}, {}: order {found}; ln(step), ln(error): {points:?}",
            system.name
        );
    }
}

const FIRST: [usize; 4] = [128, 256, 512, 1024];

#[test]
fn euler_is_of_first_order() {
    check(Integrator::Euler, 1.0, &FIRST);
}

#[test]
fn implicit_is_of_first_order() {
    check(Integrator::Implicit, 1.0, &FIRST);
}

#[test]
fn implicitfast_is_of_first_order() {
    check(Integrator::ImplicitFast, 1.0, &FIRST);
}

#[test]
fn implicit_spring_damper_is_of_first_order() {
    check(Integrator::ImplicitSpringDamper, 1.0, &FIRST);
}

#[test]
fn rk4_is_of_fourth_order_on_rotations_too() {
    check(Integrator::RK4, 4.0, &[16, 32, 64, 128]);
}
