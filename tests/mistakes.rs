//! Mistakes that other engines shipped, all of them invisible on planar, undamped chains with one joint a body
//! and anchors at the origin: one test each, against values by hand or extrapolated differences of steps.
//!
//! Each says what was changed to see it fail.

mod loader;

use dualstep::model::Integrator;
use dualstep::{Data, Model, step};
use dualstep_derivatives::dynamics::{
    AccelerationDeriv, InverseDeriv, mjd_acceleration, mjd_inverse,
};
use dualstep_derivatives::tangent::{State, ndx};
use dualstep_derivatives::{
    DerivativeConfig, Method, QDeriv, Transition, TransitionWorkspace, covers_sensor,
    mjd_smooth_vel, mjd_transition, mjd_transition_into,
};
use dualstep_validation::compare::err;
use dualstep_validation::conform::pipeline;
use dualstep_validation::tolerance::{self, CLOSED_FORM, EXTRAPOLATED, FD_BY_HAND};
use nalgebra::{Matrix3, Rotation3, Vector3};

use crate::support::{
    INTEGRATORS, golden_state, load, moved, names, parse, report, with_integrator,
};

const METHODS: [Method; 5] =
    [Method::Fd, Method::Hybrid, Method::Analytic, Method::Dual, Method::Auto];

fn linearize(m: &Model, d: &Data<f64>, method: Method) -> Transition {
    mjd_transition(m, d, &DerivativeConfig::by(method)).unwrap()
}

/// Entry of A, B, C or D by the names of its row and column.
fn entry(t: &Transition, row: &str, column: &str) -> f64 {
    let place = |names: &[String], name: &str| names.iter().position(|n| n == name);
    let (state, sensor) = (place(&t.state_names, row), place(&t.sensor_names, row));
    let (by_state, by_ctrl) = (place(&t.state_names, column), place(&t.ctrl_names, column));
    match (state, sensor, by_state, by_ctrl) {
        (Some(i), _, Some(k), _) => t.A[[i, k]],
        (Some(i), _, _, Some(k)) => t.B[[i, k]],
        (_, Some(i), Some(k), _) => t.C[[i, k]],
        (_, Some(i), _, Some(k)) => t.D[[i, k]],
        _ => panic!("no entry {row} by {column}"),
    }
}

/// Compares entries with values by hand, for all methods.
fn by_hand(m: &Model, d: &Data<f64>, expected: &[(&str, &str, f64)]) {
    by_hand_with(m, d, [Method::Fd, Method::Hybrid], FD_BY_HAND, expected);
    by_hand_exactly(m, d, expected);
}

/// As [`by_hand`], for those that do not nudge.
fn by_hand_exactly(m: &Model, d: &Data<f64>, expected: &[(&str, &str, f64)]) {
    by_hand_with(m, d, [Method::Analytic, Method::Dual, Method::Auto], CLOSED_FORM, expected);
}

fn by_hand_with<const N: usize>(
    m: &Model,
    d: &Data<f64>,
    methods: [Method; N],
    limit: f64,
    expected: &[(&str, &str, f64)],
) {
    let mut problems = Vec::new();
    for method in methods {
        let t = linearize(m, d, method);
        for &(row, column, value) in expected {
            let found = entry(&t, row, column);
            let e = err(&[found], &[value]);
            if e.is_nan() || e > tolerance::scaled(limit) {
                problems.push(format!("{method:?}: {row} by {column} is {found}, not {value}"));
            }
        }
    }
    report(&problems);
}

/// State after a step from the state of `d` moved along a column of [A B].
fn nudged(m: &Model, d: &Data<f64>, column: usize, by: f64) -> State<f64> {
    let mut direction = vec![0.0; ndx(m) + m.nu];
    direction[column] = by;
    let (dx, du) = direction.split_at(ndx(m));
    let mut d = moved(m, d, dx, du);
    step(m, &mut d).unwrap();
    State::of(&d)
}

/// Centred differences of steps, extrapolated twice (Richardson): an error of order ε⁶.
fn extrapolated(m: &Model, d: &Data<f64>) -> Transition {
    let mut t = Transition::new(m);
    let mut dx = vec![0.0; ndx(m)];
    for column in 0..ndx(m) + m.nu {
        let mut centred = |eps: f64| {
            let (plus, minus) = (nudged(m, d, column, eps), nudged(m, d, column, -eps));
            plus.boxminus(m, &minus, 2.0 * eps, &mut dx);
            dx.clone()
        };
        let [wide, half, quarter] = [4e-3, 2e-3, 1e-3].map(&mut centred);
        for i in 0..ndx(m) {
            let once = (4.0 * half[i] - wide[i]) / 3.0;
            let again = (4.0 * quarter[i] - half[i]) / 3.0;
            let value = (16.0 * again - once) / 15.0;
            match column.checked_sub(ndx(m)) {
                None => t.A[[i, column]] = value,
                Some(u) => t.B[[i, u]] = value,
            }
        }
    }
    t
}

/// Compares closed form and dual numbers with extrapolated differences, for every integrator.
fn by_differences(model: &Model, d: &Data<f64>) {
    let mut problems = Vec::new();
    for integrator in INTEGRATORS {
        let m = with_integrator(model, integrator);
        let expected = extrapolated(&m, d);
        for method in [Method::Analytic, Method::Dual] {
            let t = linearize(&m, d, method);
            for (name, x, y) in [("A", &t.A, &expected.A), ("B", &t.B, &expected.B)] {
                let e = err(x.as_slice().unwrap(), y.as_slice().unwrap());
                if e.is_nan() || e > tolerance::scaled(EXTRAPOLATED) {
                    problems.push(format!("{integrator:?}, {method:?}: {name} {e:e}"));
                }
            }
        }
    }
    report(&problems);
}

/// Euler's equations by hand: ω̇₁ = (I₂ − I₃) ω₂ ω₃ / I₁.
///
/// Fails when `bias` in `derivatives/src/smooth.rs` subtracts `qderiv.qDeriv` from `out.dv`.
#[test]
fn coriolis_derivative_subtracted() {
    let m = parse(
        r#"<mujoco><option gravity="0 0 0" timestep="0.01"/><worldbody><body>
          <freejoint name="top"/>
          <inertial pos="0 0 0" mass="2" diaginertia="0.2 0.3 0.4"/>
        </body></worldbody></mujoco>"#,
    );
    let mut d = Data::new(&m);
    let ([x, y, z], h) = ([1.0, 2.0, -3.0], 0.01);
    d.qvel[3..].copy_from_slice(&[x, y, z]);
    let (about_x, about_y, about_z) =
        (h * (0.3 - 0.4) / 0.2, h * (0.4 - 0.2) / 0.3, h * (0.2 - 0.3) / 0.4);
    by_hand(
        &m,
        &d,
        &[
            ("top.rot_x.v", "top.rot_x.v", 1.0),
            ("top.rot_x.v", "top.rot_y.v", about_x * z),
            ("top.rot_x.v", "top.rot_z.v", about_x * y),
            ("top.rot_y.v", "top.rot_z.v", about_y * x),
            ("top.rot_y.v", "top.rot_x.v", about_y * z),
            ("top.rot_z.v", "top.rot_x.v", about_z * y),
            ("top.rot_z.v", "top.rot_y.v", about_z * x),
            ("top.x.v", "top.x.v", 1.0),
        ],
    );
}

/// A damped mass on a spring, by hand: (m + hb) a = u − k q − b v.
///
/// Fails when `acceleration` in `derivatives/src/analytic.rs` takes the factor of M for that of M + hD.
#[test]
fn euler_columns_not_routed_through_m_plus_hd() {
    let m = parse(
        r#"<mujoco><option timestep="0.02"/><worldbody><body>
          <joint name="rail" type="slide" axis="1 0 0" damping="5" stiffness="30"/>
          <geom type="sphere" size="0.1" mass="2"/>
        </body></worldbody>
        <actuator><motor name="push" joint="rail" gear="3"/></actuator></mujoco>"#,
    );
    let mut d = Data::new(&m);
    (d.qpos[0], d.qvel[0], d.ctrl[0]) = (0.3, -0.7, 0.5);
    let (h, k, b) = (0.02, 30.0, 5.0);
    let H = 2.0 + h * b;
    by_hand(
        &m,
        &d,
        &[
            ("rail.v", "rail.q", -h * k / H),
            ("rail.v", "rail.v", 1.0 - h * b / H),
            ("rail.v", "push", 3.0 * h / H),
            ("rail.q", "rail.q", 1.0 - h * h * k / H),
            ("rail.q", "rail.v", h * (1.0 - h * b / H)),
            ("rail.q", "push", 3.0 * h * h / H),
        ],
    );
}

/// A damper whose slope D depends on the speed, by hand: ∂a/∂v = −(D + h D′ a) / (m + hD).
///
/// Fails when `- h * slope * a` in `diagonal_slopes` of `derivatives/src/analytic.rs` is dropped (Euler,
/// implicit_spring_damper), or `dampers` in `derivatives/src/implicit.rs` (implicit, implicitfast).
#[test]
fn second_order_term_of_implicit_missing() {
    let model = parse(
        r#"<mujoco><option timestep="0.02"/><worldbody><body>
          <joint name="rail" type="slide" axis="1 0 0" damping="1 3 2"/>
          <geom type="sphere" size="0.1" mass="2"/>
        </body></worldbody>
        <actuator><motor name="push" joint="rail"/></actuator></mujoco>"#,
    );
    let (h, v, u) = (0.02, -1.5, 6.0_f64);
    let speed = -v;
    let force = u + speed * (1.0 + 3.0 * speed + 2.0 * speed * speed);
    let (D, D_v) = (1.0 + 6.0 * speed + 6.0 * speed * speed, -6.0 - 12.0 * speed);
    let H = 2.0 + h * D;
    let a = force / H;
    for integrator in INTEGRATORS.into_iter().filter(|i| *i != Integrator::RK4) {
        let m = with_integrator(&model, integrator);
        let mut d = Data::new(&m);
        (d.qvel[0], d.ctrl[0]) = (v, u);
        by_hand(&m, &d, &[("rail.v", "rail.v", 1.0 - h * (D + h * D_v * a) / H)]);
    }
}

/// The gyroscopic part of the second-order term, on a spinning chain: differences of steps.
///
/// Fails when `subtract` of `derivatives/src/implicit.rs` is not called (implicit; implicitfast on the body that
/// floats alone), or its `out.dq` or `out.dv` is left out.
#[test]
fn second_order_term_of_implicit_missing_for_gyroscopic_forces() {
    let m = parse(
        r#"<mujoco><option timestep="0.02"/><worldbody>
        <body name="alone" pos="1 0 0"><freejoint/>
          <geom type="box" size="0.1 0.2 0.3" pos="0.05 0.02 0.03"/>
        </body>
        <body name="top"><freejoint/>
          <geom type="box" size="0.1 0.2 0.3" pos="0.05 0.02 0.03"/>
          <body pos="0.1 0.2 0"><joint type="ball" pos="0 0.1 0"/>
            <geom type="capsule" fromto="0 0 0 0.1 0.3 0.1" size="0.05"/>
          </body>
        </body></worldbody></mujoco>"#,
    );
    let mut d = Data::new(&m);
    d.qvel.copy_from_slice(&[
        0.1, 0.2, 0.3, 4.0, -6.0, 3.0, -0.3, 0.1, 0.2, -5.0, 2.0, 6.0, 3.0, 4.0, -2.0,
    ]);
    by_differences(&m, &d);
}

/// A ball of isotropic inertia under a torque, by hand: ω⁺ = ω + hτ/I, and the tangent of the orientation turns
/// by R(hω⁺)ᵀ and moves by h J_r(hω⁺) dω⁺, not at the velocity before the step.
///
/// Fails when `assemble` in `derivatives/src/analytic.rs` integrates with `w.d.qvel[i]`.
#[test]
fn quaternion_jacobian_at_the_velocity_before_the_step() {
    let m = parse(
        r#"<mujoco><option gravity="0 0 0" timestep="0.1"/><worldbody><body>
          <joint name="ball" type="ball"/>
          <inertial pos="0 0 0" mass="1" diaginertia="0.5 0.5 0.5"/>
        </body></worldbody></mujoco>"#,
    );
    let mut d = Data::new(&m);
    let (omega, torque, h) = (Vector3::new(1.0, -2.0, 0.5), Vector3::new(3.0, 1.0, -2.0), 0.1);
    d.qvel.copy_from_slice(omega.as_slice());
    d.qfrc_applied.copy_from_slice(torque.as_slice());
    let turn = (omega + torque * (h / 0.5)) * h;

    let R = Rotation3::new(turn).into_inner();
    // J_r(u) = Σ (−[u])ᵏ / (k + 1)!
    let U = Matrix3::new(0.0, -turn.z, turn.y, turn.z, 0.0, -turn.x, -turn.y, turn.x, 0.0);
    let (mut J, mut term) = (Matrix3::<f64>::zeros(), Matrix3::<f64>::identity());
    for k in 0..20 {
        J += term;
        term = -term * U / f64::from(k + 2);
    }
    let axes = ["x", "y", "z"];
    let name = |i: usize, kind: &str| format!("ball.rot_{}.{kind}", axes[i]);
    let mut expected = Vec::new();
    for i in 0..3 {
        for k in 0..3 {
            expected.push((name(i, "q"), name(k, "q"), R[(k, i)]));
            expected.push((name(i, "q"), name(k, "v"), h * J[(i, k)]));
        }
    }
    let expected: Vec<_> = expected.iter().map(|(r, c, x)| (r.as_str(), c.as_str(), *x)).collect();
    by_hand(&m, &d, &expected);
}

/// Joints of one body move one after the other, each carrying those that follow: differences of steps.
///
/// Fails when `body_forces` in `derivatives/src/rne_pos.rs` takes velocity and acceleration before the first
/// joint of the body for all of them.
#[test]
fn several_joints_on_one_body() {
    let m = parse(
        r#"<mujoco><option timestep="0.01"/><worldbody>
        <body><joint axis="1 0.2 0" pos="0.1 0 0.2" damping="0.1"/>
          <joint type="slide" axis="0 1 0.3"/>
          <joint axis="0.3 0 1" pos="0 0.2 -0.1"/>
          <geom type="box" size="0.1 0.15 0.2" pos="0.1 0.05 0"/>
          <body pos="0.2 0.1 0"><joint axis="0 1 0"/><joint axis="1 0 0" pos="0 0.1 0"/>
            <geom type="capsule" fromto="0 0 0 0.1 0.3 0.1" size="0.05"/>
          </body>
        </body></worldbody></mujoco>"#,
    );
    let mut d = Data::new(&m);
    d.qpos.copy_from_slice(&[0.4, 0.1, -0.7, 0.5, 0.3]);
    d.qvel.copy_from_slice(&[2.0, -0.5, 3.0, -2.0, 1.5]);
    by_differences(&m, &d);
}

/// Three axes that turn together below a hinge, and a free body whose numbers come after the hinge's: MJCF refuses
/// free joints anywhere but below the world, so the child is a ball, and the free body stands beside.
///
/// Fails when `rotation_group` in `derivatives/src/rne_pos.rs` takes the axes of a ball for three hinges in a
/// row.
#[test]
fn free_child_under_a_hinge() {
    let nested = r#"<mujoco><worldbody><body><joint/><geom size="1"/>
        <body><freejoint/><geom size="1"/></body></body></worldbody></mujoco>"#;
    let refused = dualstep::mjcf::load_model_str(nested, "test.xml", std::path::Path::new("."));
    let message = refused.unwrap_err().to_string();
    assert!(message.contains("a free joint is only allowed in a child of the world"), "{message}");

    let m = parse(
        r#"<mujoco><option timestep="0.01"/><worldbody>
        <body><joint axis="0.1 1 0" pos="0.1 0 0.1"/>
          <geom type="box" size="0.1 0.15 0.2" pos="0.1 0.05 0"/>
          <body pos="0.2 0.1 0"><joint type="ball" pos="0.05 0 0.1" damping="0.05"/>
            <geom type="capsule" fromto="0 0 0 0.1 0.3 0.1" size="0.05"/>
          </body>
        </body>
        <body pos="0 0 1"><freejoint/><geom type="box" size="0.1 0.2 0.3" pos="0.05 0 0"/></body>
        </worldbody></mujoco>"#,
    );
    let mut d = Data::new(&m);
    let start = [0.3, 0.4, -0.5, 0.2, 0.1, -0.2, 0.3, 0.5, 0.2, -0.6];
    dualstep::integrate::integrate_pos(&m, &mut d.qpos, &start, 1.0);
    d.qvel.copy_from_slice(&[2.0, 1.0, -3.0, 2.0, 0.2, 0.1, -0.3, 2.0, -3.0, 1.0]);
    by_differences(&m, &d);
}

/// A pendulum whose body frame swings about an anchor away from it, by hand: J = I + m l².
///
/// Fails when the lever in `src/smooth/com_pos.rs` goes from the body's origin instead of the anchor.
#[test]
fn a_hinge_anchors_lever_missing_from_cvel() {
    let m = parse(
        r#"<mujoco><option gravity="0 0 -10" timestep="0.01"/><worldbody><body name="bob">
          <joint name="pin" axis="0 1 0" pos="0 0 0.5"/>
          <inertial pos="0 0 0" mass="2" diaginertia="0.1 0.1 0.1"/>
        </body></worldbody>
        <sensor><framelinvel name="speed" objtype="xbody" objname="bob"/></sensor></mujoco>"#,
    );
    let mut d = Data::new(&m);
    let (q, v, l, h) = (0.4_f64, 1.5, 0.5, 0.01);
    (d.qpos[0], d.qvel[0]) = (q, v);
    let J = 0.1 + 2.0 * l * l;
    // x = −l sin q, z = −l cos q
    by_hand(
        &m,
        &d,
        &[
            ("speed.x", "pin.v", -l * q.cos()),
            ("speed.z", "pin.v", l * q.sin()),
            ("speed.x", "pin.q", l * q.sin() * v),
            ("speed.z", "pin.q", l * q.cos() * v),
            ("pin.v", "pin.q", -h * 2.0 * 10.0 * l * q.cos() / J),
            ("pin.v", "pin.v", 1.0),
        ],
    );
}

/// Sensors belong to the state before the step: that of the position does not see the velocity, and the kinetic energy
/// is that of the velocity before it.
///
/// Fails when the sensors of `derivatives/src/dual.rs` are read after `step` as well as `forward`, or `w.d` takes a
/// step before `mjd_sensors` in `derivatives/src/analytic.rs`.
#[test]
fn c_and_d_one_step_late() {
    let m = parse(
        r#"<mujoco><option timestep="0.1"/><worldbody><body>
          <joint name="rail" type="slide" axis="1 0 0" stiffness="30"/>
          <geom type="sphere" size="0.1" mass="2"/>
        </body></worldbody>
        <actuator><general name="push" joint="rail" dyntype="filter" dynprm="0.5" gainprm="3"/></actuator>
        <sensor>
          <jointpos name="position" joint="rail"/><jointvel name="velocity" joint="rail"/>
          <actuatorfrc name="force" actuator="push"/><e_kinetic name="energy"/>
        </sensor></mujoco>"#,
    );
    let mut d = Data::new(&m);
    (d.qpos[0], d.qvel[0], d.act[0], d.ctrl[0]) = (0.2, 1.3, 0.3, 0.9);
    for integrator in INTEGRATORS {
        by_hand(
            &with_integrator(&m, integrator),
            &d,
            &[
                ("position", "rail.q", 1.0),
                ("position", "rail.v", 0.0),
                ("velocity", "rail.q", 0.0),
                ("velocity", "rail.v", 1.0),
                ("force", "push.act", 3.0),
                ("energy", "rail.v", 2.0 * 1.3),
                ("position", "push", 0.0),
                ("velocity", "push", 0.0),
                ("force", "push", 0.0),
            ],
        );
    }
}

fn bits(t: &Transition) -> Vec<u64> {
    let all = t.A.iter().chain(&t.B).chain(&t.C).chain(&t.D);
    all.map(|x| x.to_bits()).collect()
}

/// A workspace that has seen another state gives the same bits as a new one.
///
/// Fails when `mjd_smooth` in `derivatives/src/smooth.rs` does not clear its matrices, `assemble` in
/// `derivatives/src/analytic.rs` not the tangent of the position, `Worker::seed` in `derivatives/src/dual.rs` not
/// the direction, or `mjd_smooth_vel` not `qDeriv`.
#[test]
fn buffers_accumulating_over_repeated_calls() {
    for name in
        ["actuator_transmission", "integrator_implicit", "passive_forces", "sensors_imu_subtree"]
    {
        let model = load(name);
        let (first, other) = (golden_state(name, &model, "s1"), golden_state(name, &model, "s2"));
        for integrator in INTEGRATORS {
            let m = with_integrator(&model, integrator);
            for method in METHODS {
                let config = DerivativeConfig::by(method);
                let once = bits(&mjd_transition(&m, &first, &config).unwrap());
                let mut workspace = TransitionWorkspace::new(&m, &config).unwrap();
                let mut t = Transition::new(&m);
                for d in [&first, &first, &other, &first] {
                    mjd_transition_into(&m, d, &mut workspace, &mut t).unwrap();
                }
                assert!(bits(&t) == once, "{name}, {integrator:?}, {method:?}");
            }
        }
        continuous_time_twice(&model, &first, &other);
    }
}

/// The same for derivatives of forces and accelerations.
fn continuous_time_twice(m: &Model, first: &Data<f64>, other: &Data<f64>) {
    let mut q = QDeriv::new(m);
    let mut inverse = InverseDeriv::new(m);
    let mut acceleration = AccelerationDeriv::new(m);
    let mut run = |d: &Data<f64>| -> Vec<u64> {
        let mut d = d.clone();
        dualstep::forward(m, &mut d).unwrap();
        mjd_smooth_vel(m, &d, &mut q, true);
        mjd_inverse(m, &d, &mut inverse).unwrap();
        mjd_acceleration(m, &d, &mut acceleration).unwrap();
        let all = q.qDeriv.iter().chain(&inverse.DfDq).chain(&inverse.DfDv).chain(&inverse.DfDa);
        all.chain(&acceleration.block).map(|x| x.to_bits()).collect()
    };
    let once = run(first);
    let _ = run(other);
    assert!(run(first) == once);
}

/// Fails when `nudged_step` in `derivatives/src/finite_diff.rs` does not start from the state of `base`: the columns
/// of a worker then depend on one another.
#[test]
fn results_that_change_with_the_thread_count() {
    for name in ["humanoid", "actuator_transmission", "sensors_imu_subtree"] {
        let model = pipeline::without_constraints(&load(name));
        let d = golden_state(name, &model, "s1");
        for integrator in [Integrator::Euler, Integrator::Implicit, Integrator::RK4] {
            let m = with_integrator(&model, integrator);
            for method in METHODS {
                let run = |threads: usize| {
                    let pool =
                        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                    let config = DerivativeConfig { threads, ..DerivativeConfig::by(method) };
                    pool.install(|| bits(&mjd_transition(&m, &d, &config).unwrap()))
                };
                let one = run(1);
                for threads in [2, 5] {
                    assert!(run(threads) == one, "{name}, {integrator:?}, {method:?}, {threads}");
                }
            }
        }
    }
}

/// Where norms, logarithms and clamps have no derivative of their own, that of the branch that is taken counts: on all
/// models at rest in their reference pose every entry is finite.
///
/// Fails when the series of `Quat::log` in `src/math/quat.rs` is not taken near zero (0/0 in the tangent).
#[test]
fn gradients_of_unselected_branches() {
    for name in names() {
        let model = pipeline::without_constraints(&load(&name));
        for integrator in INTEGRATORS {
            let m = with_integrator(&model, integrator);
            let d = Data::new(&m);
            let covered = m.sensor_type.iter().all(|&sensor| covers_sensor(sensor));
            let closed_form = if covered { Method::Analytic } else { Method::Auto };
            for method in [closed_form, Method::Dual] {
                let t = linearize(&m, &d, method);
                let all = t.A.iter().chain(&t.B).chain(&t.C).chain(&t.D);
                assert!(all.copied().all(f64::is_finite), "{name}, {integrator:?}, {method:?}");
            }
        }
    }
}

/// A ball on a spring whose stiffness depends on the angle |x|, at x = 0, by hand: only the linear term is left.
/// The motor is beyond its range and has no part in it.
///
/// Fails when `radial_stiffness` in `derivatives/src/smooth.rs`, or `radial_spring` in `src/smooth/passive.rs`, has
/// no case for x = 0 (0/0), or `control_derivative` in `derivatives/src/actuator.rs` is 1 beyond the range.
#[test]
fn gradients_of_unselected_branches_at_a_slack_spring_and_a_clamp() {
    let m = parse(
        r#"<mujoco><option gravity="0 0 0" timestep="0.1"/><worldbody><body>
          <joint name="ball" type="ball" stiffness="2 3 4"/>
          <inertial pos="0 0 0" mass="1" diaginertia="0.5 0.5 0.5"/>
        </body></worldbody>
        <actuator><motor name="turn" joint="ball" gear="1 0 0" ctrlrange="-1 1"/></actuator></mujoco>"#,
    );
    let mut d = Data::new(&m);
    by_hand_exactly(
        &m,
        &d,
        &[
            ("ball.rot_x.v", "ball.rot_x.q", -0.1 * 2.0 / 0.5),
            ("ball.rot_x.v", "ball.rot_y.q", 0.0),
            ("ball.rot_x.v", "ball.rot_x.v", 1.0),
            ("ball.rot_x.v", "turn", 0.1 / 0.5),
        ],
    );
    d.ctrl[0] = 1.5;
    by_hand_exactly(&m, &d, &[("ball.rot_x.v", "turn", 0.0), ("ball.rot_y.v", "turn", 0.0)]);
}

/// A damper switched off by its control, whose slope −c u is zero and has a derivative, by hand:
/// a = (f − c u v) / (m + h c u), so that at u = 0 ∂a/∂u = −c v/m − h c f/m².
///
/// Fails when `mjd_actuator_vel` in `src/smooth/qderiv/actuator_vel.rs` skips slopes whose real part is zero, or
/// `actuator` in `derivatives/src/implicit.rs` does not add to `du`.
#[test]
fn gradients_of_unselected_branches_at_a_slope_of_zero() {
    let model = parse(
        r#"<mujoco><option timestep="0.1"/><worldbody><body>
          <joint name="rail" type="slide" axis="1 0 0"/>
          <geom type="sphere" size="0.1" mass="2"/>
        </body></worldbody>
        <actuator><damper name="brake" joint="rail" kv="3" ctrlrange="0 1"/></actuator></mujoco>"#,
    );
    for integrator in [Integrator::Implicit, Integrator::ImplicitFast] {
        let m = with_integrator(&model, integrator);
        let mut d = Data::new(&m);
        (d.qvel[0], d.qfrc_applied[0]) = (0.7, 5.0);
        let by_u = -3.0 * 0.7 / 2.0 - 0.1 * 3.0 * 5.0 / 4.0;
        by_hand_exactly(&m, &d, &[("rail.v", "brake", 0.1 * by_u)]);
    }
}
