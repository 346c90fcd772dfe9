//! Gradients of rollouts against dual numbers and differences; growth of what is known.

use std::path::Path;

use dualstep::mjcf::load_model_str;
use dualstep::model::Integrator;
use dualstep::{Data, Model, Scalar};
use ndarray::{Array1, Array2, ArrayView2, Zip, array};

use super::*;
use crate::matrices::TransitionError;
use crate::tangent::{State, ndx};
use crate::transition::{DerivativeConfig, Method};

/// A free body with a ball joint on it, an actuator with activation, sensors of all stages; over a floor, or not.
fn model(integrator: Integrator, floor: bool) -> Model {
    let contact = if floor { "" } else { r#"<flag contact="disable"/>"# };
    let text = format!(
        r#"<mujoco>
      <option timestep="0.01">{contact}</option>
      <worldbody>
        <geom type="plane" size="1 1 1"/>
        <body pos="0 0 .12">
          <freejoint/>
          <geom type="sphere" size=".1" density="500"/>
          <body pos="0 .1 .1">
            <site name="s" pos=".1 0 .1"/>
            <joint name="hip" type="ball" damping=".1" stiffness="1"/>
            <geom type="capsule" fromto="0 0 0 .3 .1 .4" size=".05"/>
          </body>
        </body>
      </worldbody>
      <actuator>
        <general joint="hip" gear="1 .2 .3" dyntype="filter" dynprm=".1"/>
        <motor joint="hip" gear="0 1 0"/>
      </actuator>
      <sensor><framepos objtype="site" objname="s"/><gyro site="s"/></sensor>
    </mujoco>"#
    );
    let mut m = load_model_str(&text, "test.xml", Path::new(".")).unwrap();
    m.opt.integrator = integrator;
    m
}

/// Any numbers will do that are neither small nor regular.
fn wave(i: usize, phase: f64) -> f64 {
    (i as f64 * 1.7 + phase).sin()
}

fn start(m: &Model) -> Data<f64> {
    let mut d = Data::new(m);
    d.qvel.iter_mut().enumerate().for_each(|(i, v)| *v = 0.5 * wave(i, 0.4));
    d.act.iter_mut().enumerate().for_each(|(i, x)| *x = 0.3 * wave(i, 0.9));
    d.xfrc_applied[1][0] = 0.3;
    d
}

fn controls(m: &Model, steps: usize) -> Array2<f64> {
    Array2::from_shape_fn((steps, m.nu), |(t, i)| 0.4 * wave(t + 7 * i, 0.1))
}

/// Weights everywhere, a target elsewhere.
fn quadratic(m: &Model) -> QuadraticCost {
    let mut d = Data::new(m);
    d.qpos.iter_mut().enumerate().for_each(|(i, q)| *q += 0.3 * wave(i, 0.2));
    let mut cost = QuadraticCost::new(m, State::of(&d));
    let fill = |x: &mut Vec<f64>, phase: f64| {
        x.iter_mut().enumerate().for_each(|(i, x)| *x = 1.0 + wave(i, phase));
    };
    fill(&mut cost.ctrl, 0.5);
    fill(&mut cost.sensor, 0.6);
    fill(&mut cost.state_weight, 0.7);
    fill(&mut cost.ctrl_weight, 0.8);
    fill(&mut cost.sensor_weight, 0.9);
    fill(&mut cost.terminal_weight, 1.0);
    cost
}

/// The same numbers as [`quadratic`] without sensors' targets, and a product of all that a stage holds.
struct Formula;

impl CostFunction for Formula {
    fn running<T: Scalar>(&self, _: &Model, at: &Stage<'_, T>) -> T {
        let all = [at.qpos, at.qvel, at.act, at.ctrl, at.sensordata].concat();
        let terms = all.iter().enumerate().map(|(i, x)| *x * *x * T::lift(wave(i, 0.3)) + x.sin());
        terms.fold(T::lift(at.time), |sum, x| sum + x) * (at.qvel[0] + T::lift(2.0))
    }

    fn terminal<T: Scalar>(&self, m: &Model, at: &Stage<'_, T>) -> T {
        self.running(m, at) * T::lift(3.0)
    }
}

fn stage(d: &Data<f64>, step: usize) -> Stage<'_> {
    let Data { qpos, qvel, act, ctrl, sensordata, .. } = d;
    Stage { step, time: 0.7, qpos, qvel, act, ctrl, sensordata }
}

#[test]
fn gradients_of_costs_at_a_stage() {
    let m = model(Integrator::Euler, false);
    let mut d = start(&m);
    d.qpos.iter_mut().enumerate().for_each(|(i, q)| *q += 0.4 * wave(i, 1.2));
    d.ctrl.copy_from_slice(&[0.3, -0.4]);
    dualstep::forward(&m, &mut d).unwrap();
    let mut formula = ByDuals::new(&m, Formula);
    let costs: [&mut dyn Cost; 2] = [&mut quadratic(&m), &mut formula];
    for cost in costs {
        for end in [false, true] {
            let mut value = |d: &Data<f64>, g: Option<&mut CostGradient>| {
                let at = stage(d, 3);
                if end {
                    cost.terminal(&m, &Stage { ctrl: &[], ..at }, g)
                } else {
                    cost.running(&m, &at, g)
                }
            };
            let mut gradient = CostGradient::new(&m);
            let with = value(&d, Some(&mut gradient));
            assert_eq!(with, value(&d, None));
            let eps = 1e-5;
            let mut check = |found: f64, nudge: &dyn Fn(&mut Data<f64>, f64)| {
                let [above, below] = [eps, -eps].map(|eps| {
                    let mut d = d.clone();
                    nudge(&mut d, eps);
                    value(&d, None)
                });
                let expected = (above - below) / (2.0 * eps);
                assert!((found - expected).abs() < 1e-7, "{found} is not {expected}");
            };
            for (k, g) in gradient.state.iter().enumerate() {
                check(*g, &|d, eps| {
                    let mut state = State::of(d);
                    let dx: Vec<f64> =
                        (0..ndx(&m)).map(|i| if i == k { eps } else { 0.0 }).collect();
                    state.boxplus(&m, &dx);
                    state.write(d);
                });
            }
            for (k, g) in gradient.ctrl.iter().enumerate() {
                check(*g, &|d, eps| d.ctrl[k] += eps);
            }
            for (k, g) in gradient.sensor.iter().enumerate() {
                check(*g, &|d, eps| d.sensordata[k] += eps);
            }
        }
    }
}

#[test]
fn a_gradient_by_quaternions_becomes_one_by_the_tangent() {
    let m = model(Integrator::Euler, false);
    let mut d = start(&m);
    dualstep::integrate::integrate_pos(&m, &mut d.qpos, &[0.3; 9], 1.0);
    let by_qpos: Vec<f64> = (0..m.nq).map(|i| wave(i, 0.2)).collect();
    let mut found = vec![0.0; m.nv];
    to_tangent(&m, &d.qpos, &by_qpos, &mut found);
    for (k, found) in found.iter().enumerate() {
        let value = |eps: f64| {
            let mut qpos = d.qpos.clone();
            let dq: Vec<f64> = (0..m.nv).map(|i| if i == k { eps } else { 0.0 }).collect();
            dualstep::integrate::integrate_pos(&m, &mut qpos, &dq, 1.0);
            qpos.iter().zip(&by_qpos).map(|(x, g)| x * g).sum::<f64>()
        };
        let expected = (value(1e-5) - value(-1e-5)) / 2e-5;
        assert!((found - expected).abs() < 1e-9, "{k}: {found} is not {expected}");
    }
}

const INTEGRATORS: [Integrator; 5] = [
    Integrator::Euler,
    Integrator::RK4,
    Integrator::Implicit,
    Integrator::ImplicitFast,
    Integrator::ImplicitSpringDamper,
];

/// Every component of the gradient as a direction.
fn units(m: &Model, steps: usize) -> Vec<Direction> {
    let none = Direction { state: Array1::zeros(ndx(m)), ctrl: Array2::zeros((steps, m.nu)) };
    let mut all = vec![none; ndx(m) + steps * m.nu];
    for (k, direction) in all.iter_mut().enumerate() {
        match k.checked_sub(ndx(m)) {
            None => direction.state[k] = 1.0,
            Some(k) => direction.ctrl[[k / m.nu, k % m.nu]] = 1.0,
        }
    }
    all
}

// in flight and on the floor; with costs of states, activations, controls and sensors
#[test]
fn every_component_is_that_of_dual_numbers() {
    let steps = 15;
    for integrator in INTEGRATORS {
        for floor in [false, true] {
            let m = model(integrator, floor);
            let (d, ctrl) = (start(&m), controls(&m, steps));
            let mut formula = ByDuals::new(&m, Formula);
            let costs: [&mut dyn Cost; 2] = [&mut quadratic(&m), &mut formula];
            for cost in costs {
                let config = RolloutConfig::default();
                let found = rollout_gradient(&m, &d, ctrl.view(), cost, &config).unwrap();
                let directions = units(&m, steps);
                let duals = rollout_dual(&m, &d, ctrl.view(), cost, &directions).unwrap();
                let scale = duals.iter().fold(1.0_f64, |s, x| s.max(x.abs()));
                for (direction, dual) in directions.iter().zip(&duals) {
                    let error = (along(&found, direction) - dual).abs() / scale;
                    assert!(error < 1e-10, "{integrator:?}, floor {floor}: {error}");
                }
            }
        }
    }
}

#[test]
fn a_directional_derivative_is_that_of_differences() {
    let steps = 30;
    for integrator in INTEGRATORS {
        let m = model(integrator, false);
        let (d, ctrl) = (start(&m), controls(&m, steps));
        let mut cost = quadratic(&m);
        let config = RolloutConfig::default();
        let gradient = rollout_gradient(&m, &d, ctrl.view(), &mut cost, &config).unwrap();
        let direction = Direction {
            state: (0..ndx(&m)).map(|i| wave(i, 0.3)).collect(),
            ctrl: Array2::from_shape_fn(ctrl.dim(), |(t, i)| wave(t + 3 * i, 0.8)),
        };
        let mut w = RolloutWorkspace::new(&m, steps, &config).unwrap();
        let mut terms = Array1::zeros(steps + 1);
        let mut value = |eps: f64| {
            let mut moved = d.clone();
            let mut state = State::of(&d);
            state.boxplus(&m, (&direction.state * eps).as_slice().unwrap());
            state.write(&mut moved);
            let ctrl = &ctrl + &direction.ctrl * eps;
            rollout_cost(&m, &moved, ctrl.view(), &mut cost, &mut w, &mut terms).unwrap()
        };
        assert_eq!(value(0.0), gradient.cost);
        let differences = (value(1e-5) - value(-1e-5)) / 2e-5;
        let found = along(&gradient, &direction);
        assert!((found / differences - 1.0).abs() < 1e-7, "{integrator:?}: {found} {differences}");
    }
}

// without sensors, for which there are matrices; every path of the constraint forces and of the integrator
#[test]
fn products_are_those_with_the_matrices() {
    let steps = 15;
    for integrator in INTEGRATORS {
        for (floor, damped) in [(false, true), (true, true), (true, false)] {
            let mut m = model(integrator, floor);
            if !damped {
                m.opt.disableflags |= dualstep::model::options::disable::EULERDAMP;
            }
            m.dof_damping_eff[6] = [0.1, 0.05, 0.02];
            let (d, ctrl) = (start(&m), controls(&m, steps));
            let mut cost = quadratic(&m);
            cost.sensor_weight.fill(0.0);
            let config = RolloutConfig::default();
            let by_matrices = rollout_gradient(&m, &d, ctrl.view(), &mut cost, &config).unwrap();
            for checkpoint in [None, Some(4)] {
                let config = RolloutConfig { sweep: Sweep::Products, checkpoint, ..config.clone() };
                let found = rollout_gradient(&m, &d, ctrl.view(), &mut cost, &config).unwrap();
                assert_eq!(found.cost, by_matrices.cost);
                let all = |g: &RolloutGradient| {
                    [
                        g.costate.clone().into_raw_vec_and_offset().0,
                        g.ctrl.clone().into_raw_vec_and_offset().0,
                    ]
                    .concat()
                };
                let (found, expected) = (all(&found), all(&by_matrices));
                let scale = expected.iter().fold(1.0_f64, |s, x| s.max(x.abs()));
                for (x, y) in found.iter().zip(&expected) {
                    assert!(
                        (x - y).abs() < 1e-11 * scale,
                        "{integrator:?}, {floor}, {damped}: {x} {y}"
                    );
                }
            }
        }
    }
}

#[test]
fn checkpoints_and_threads_change_no_bit() {
    let steps = 23;
    for integrator in [Integrator::Euler, Integrator::RK4, Integrator::Implicit] {
        let m = model(integrator, true);
        let (d, ctrl) = (start(&m), controls(&m, steps));
        let mut cost = quadratic(&m);
        let mut all: Option<RolloutGradient> = None;
        for threads in [1, 2, 5] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            for checkpoint in [None, Some(1), Some(4), Some(5), Some(22), Some(99)] {
                let config = RolloutConfig { checkpoint, ..RolloutConfig::default() };
                let mut run = || rollout_gradient(&m, &d, ctrl.view(), &mut cost, &config).unwrap();
                let found = pool.install(&mut run);
                let first = all.get_or_insert_with(|| found.clone());
                assert_eq!(*first, found, "{integrator:?}, {threads} threads, {checkpoint:?}");
            }
        }
    }
}

#[test]
fn a_workspace_can_be_used_again() {
    let m = model(Integrator::Euler, true);
    let (d, mut cost) = (start(&m), quadratic(&m));
    let config = RolloutConfig { checkpoint: Some(4), ..RolloutConfig::default() };
    let mut w = RolloutWorkspace::new(&m, 10, &config).unwrap();
    let mut out = RolloutGradient::new(&m, 10);
    let ctrl = controls(&m, 10);
    rollout_gradient_into(&m, &d, ctrl.view(), &mut cost, &mut w, &mut out).unwrap();
    let first = out.clone();
    let other = &ctrl * 2.0;
    rollout_gradient_into(&m, &d, other.view(), &mut cost, &mut w, &mut out).unwrap();
    assert_ne!(first, out);
    // rows need not lie together
    let flipped = ctrl.t().to_owned();
    rollout_gradient_into(&m, &d, flipped.t(), &mut cost, &mut w, &mut out).unwrap();
    assert_eq!(first, out);
}

#[test]
fn forward_sensitivities_are_those_of_the_adjoint() {
    let steps = 12;
    let m = model(Integrator::Implicit, true);
    let (d, ctrl) = (start(&m), controls(&m, steps));
    let all = linearize_rollout(&m, &d, ctrl.view(), &DerivativeConfig::default()).unwrap();
    let dx0: Array1<f64> = (0..ndx(&m)).map(|i| wave(i, 0.3)).collect();
    let du = Array2::from_shape_fn(ctrl.dim(), |(t, i)| wave(t + 3 * i, 0.8));
    let moved = all.jvp(dx0.view(), du.view());

    // dx_t = ∂x_t/∂x_0 dx_0 + ∂x_t/∂u du
    for t in [0, 1, 7, steps] {
        let flat: Array1<f64> = du.iter().take(t * m.nu).copied().collect();
        let expected = all.by_state(t, 0).dot(&dx0) + all.by_controls(t).dot(&flat);
        let difference = (&expected - &moved.state.row(t)).mapv(f64::abs);
        assert!(difference.sum() < 1e-12, "{t}: {difference}");
    }
    let split = all.by_state(steps, 5).dot(&all.by_state(5, 0)) - all.by_state(steps, 0);
    assert!(split.iter().all(|x| x.abs() < 1e-12));

    // the derivative of a cost along the same direction
    let mut cost = quadratic(&m);
    let config = RolloutConfig::default();
    let gradient = rollout_gradient(&m, &d, ctrl.view(), &mut cost, &config).unwrap();
    let direction = Direction { state: dx0, ctrl: du };
    let mut sum = 0.0;
    let mut state = d.clone();
    for t in 0..steps {
        state.ctrl.copy_from_slice(&ctrl.row(t).to_vec());
        let mut at = state.clone();
        dualstep::forward(&m, &mut at).unwrap();
        let mut g = CostGradient::new(&m);
        cost.running(&m, &stage(&at, t), Some(&mut g));
        sum += Array1::from(g.state).dot(&moved.state.row(t));
        sum += Array1::from(g.ctrl).dot(&direction.ctrl.row(t));
        sum += Array1::from(g.sensor).dot(&moved.sensor.row(t));
        dualstep::step(&m, &mut state).unwrap();
        let mut apart = vec![0.0; ndx(&m)];
        State::of(&state).boxminus(&m, &all.states[t + 1], 1.0, &mut apart);
        // without sensors the solver may start elsewhere
        assert!(apart.iter().all(|x| x.abs() < 1e-12), "{apart:?}");
    }
    let mut g = CostGradient::new(&m);
    state.ctrl.copy_from_slice(&d.ctrl);
    dualstep::forward(&m, &mut state).unwrap();
    cost.terminal(&m, &Stage { ctrl: &[], ..stage(&state, steps) }, Some(&mut g));
    sum += Array1::from(g.state).dot(&moved.state.row(steps));
    let end = crate::mjd_transition(&m, &state, &DerivativeConfig::default()).unwrap();
    sum += Array1::from(g.sensor).dot(&end.C.dot(&moved.state.row(steps)));
    let found = along(&gradient, &direction);
    assert!((sum / found - 1.0).abs() < 1e-10, "{sum} is not {found}");
}

fn growth(A: &Array2<f64>, steps: usize, h: f64) -> Growth {
    let names: Vec<String> = (0..A.nrows()).map(|i| format!("x{i}")).collect();
    Growth::of_matrices((0..steps).map(|_| A.view()), h, &names)
}

#[test]
fn growth_of_what_is_known() {
    let near = |a: f64, b: f64| (a - b).abs() < 1e-9 * b.abs().max(1.0);
    // one direction grows, one decays, one stays; they are not orthogonal
    let turn = array![[1.0, 0.3, 0.2], [0.0, 1.0, 0.5], [0.1, 0.0, 1.0]];
    let inverse = |M: ArrayView2<f64>| {
        let M = nalgebra::DMatrix::from_fn(3, 3, |i, j| M[[i, j]]).try_inverse().unwrap();
        Array2::from_shape_fn((3, 3), |(i, j)| M[(i, j)])
    };
    let A = turn.dot(&Array2::from_diag(&array![1.2, 0.7, 1.0])).dot(&inverse(turn.view()));
    let found = growth(&A, 400, 0.1);
    for (found, factor) in found.exponents.iter().zip([1.2_f64, 1.0, 0.7]) {
        assert!((found - factor.ln() / 0.1).abs() < 0.05, "{found}");
    }
    assert!((found.largest_exponent[400] - found.exponents[0]).abs() < 1e-12);
    // what ends is along the growing eigenvector
    let (end, ours) = (turn.column(0), &found.worst_end);
    assert!(near(ours.dot(&end).abs(), end.dot(&end).sqrt()));

    // a rotation keeps lengths
    let (s, c) = 0.3_f64.sin_cos();
    let found = growth(&array![[c, -s], [s, c]], 50, 0.1);
    assert!(found.log_singular.iter().chain(&found.log_columns).all(|x| x.abs() < 1e-12));

    // a shear: σ of [[1, 2], [0, 1]] is 1 + √2; the column of its first state stays
    let found = growth(&array![[1.0, 1.0], [0.0, 1.0]], 2, 0.1);
    assert!(near(found.log_singular[2], (1.0 + 2.0_f64.sqrt()).ln()));
    assert!(
        near(found.log_columns[[2, 0]], 0.0) && near(found.log_columns[[2, 1]], 5.0_f64.ln() / 2.0)
    );
    let parts = found.main_parts(&found.worst_start, 1);
    assert_eq!((parts.len(), parts[0].0), (1, "x1"));

    // beyond what numbers hold
    let found = growth(&array![[1e100, 0.0], [0.0, 1e90]], 40, 1.0);
    assert!(near(found.log_singular[40], 4000.0 * 10.0_f64.ln()));
    assert!(near(found.log_columns[[20, 1]], 1800.0 * 10.0_f64.ln()));
    for (found, digits) in found.exponents.iter().zip([100.0, 90.0]) {
        assert!((found - digits * 10.0_f64.ln()).abs() < 0.1, "{found}");
    }
}

#[test]
fn growth_along_a_rollout_is_that_of_its_product() {
    let m = model(Integrator::Euler, true);
    let all =
        linearize_rollout(&m, &start(&m), controls(&m, 20).view(), &DerivativeConfig::default());
    let all = all.unwrap();
    let found = Growth::of(&all);
    let product = all.by_state(20, 0);
    for (k, column) in product.columns().into_iter().enumerate() {
        assert!((column.dot(&column).ln() / 2.0 - found.log_columns[[20, k]]).abs() < 1e-10);
    }
    let grown = product.dot(&found.worst_start);
    assert!((grown.dot(&grown).ln() / 2.0 - found.log_singular[20]).abs() < 1e-10);
    let length = grown.dot(&grown).sqrt();
    Zip::from(&grown)
        .and(&found.worst_end)
        .for_each(|a, b| assert!((a / length - b).abs() < 1e-10));
    // determinants are the products of all growths
    let log_determinant = |t: &crate::Transition| {
        let nx = t.A.nrows();
        nalgebra::DMatrix::from_fn(nx, nx, |i, j| t.A[[i, j]]).determinant().abs().ln()
    };
    let expected: f64 = all.transitions.iter().map(log_determinant).sum();
    let sum: f64 = found.exponents.iter().sum::<f64>() * 20.0 * m.opt.timestep;
    assert!((expected - sum).abs() < 1e-8 * expected.abs(), "{expected} is not {sum}");
}

#[test]
fn failures_name_their_step() {
    let m = model(Integrator::Euler, false);
    let (d, mut ctrl) = (start(&m), controls(&m, 10));
    ctrl[[6, 1]] = f64::NAN;
    let config = RolloutConfig { checkpoint: Some(3), ..RolloutConfig::default() };
    let error = rollout_gradient(&m, &d, ctrl.view(), &mut quadratic(&m), &config).unwrap_err();
    assert!(error.to_string().starts_with("step 6 fails: ctrl[1]"), "{error}");
    let directions = units(&m, 10);
    let error = rollout_dual(&m, &d, ctrl.view(), &mut quadratic(&m), &directions[..1]);
    assert!(matches!(error.unwrap_err(), RolloutError::Step { step: 6, .. }));
}

#[test]
fn a_closed_form_that_does_not_reach_is_an_error_with_its_step() {
    // sensors of contacts have none
    let text = r#"<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/>
        <body pos="0 0 0.15"><freejoint/><geom name="ball" size="0.1"/></body></worldbody>
        <sensor><distance geom1="floor" geom2="ball" cutoff="1"/></sensor></mujoco>"#;
    let m = load_model_str(text, "ball.xml", Path::new(".")).unwrap();
    let d = Data::new(&m);
    let mut cost = QuadraticCost::new(&m, State::of(&d));
    cost.sensor_weight.fill(1.0);
    let ctrl = Array2::zeros((5, 0));
    let derivative = DerivativeConfig::by(Method::Analytic);
    let config = RolloutConfig { derivative, ..RolloutConfig::default() };
    let error = rollout_gradient(&m, &d, ctrl.view(), &mut cost, &config).unwrap_err();
    let RolloutError::Transition { source: TransitionError::NotCovered { .. }, .. } = error else {
        panic!("{error}");
    };
    // `auto` goes on with dual numbers; a cost without sensors does not ask
    rollout_gradient(&m, &d, ctrl.view(), &mut cost, &RolloutConfig::default()).unwrap();
    cost.sensor_weight.fill(0.0);
    rollout_gradient(&m, &d, ctrl.view(), &mut cost, &config).unwrap();
}
