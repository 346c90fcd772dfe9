//! Gradients of rollouts by the adjoint against dual numbers through all their steps, on the project's models, in contact
//! and under all integrators.
//!
//! Fails when, for example: the costate is not carried through the constraint forces, the controls of a step act on its
//! successor, or a recomputed step starts its solver elsewhere.

use dualstep::integrate::solves_for_acceleration;
use dualstep::model::Integrator;
use dualstep::{Data, Model, step};
use dualstep_derivatives::rollout::{
    Direction, QuadraticCost, RolloutConfig, RolloutGradient, Sweep, along, rollout_dual,
    rollout_gradient,
};
use dualstep_derivatives::tangent::{State, ndx};
use dualstep_validation::random_tree::Random;
use dualstep_validation::tolerance::{self, ROLLOUT};
use ndarray::{Array1, Array2};

use crate::support::{INTEGRATORS, load, names, with_integrator};

/// A cost of everything, whose target is the reference configuration.
fn cost(m: &Model, sensors: bool) -> QuadraticCost {
    let mut cost = QuadraticCost::new(m, State::of(&Data::new(m)));
    cost.state_weight.fill(1.0);
    cost.ctrl_weight.fill(0.1);
    cost.terminal_weight.fill(2.0);
    // sensors are large where their units are
    cost.sensor_weight.fill(if sensors { 1e-3 } else { 0.0 });
    cost
}

fn random_controls(m: &Model, steps: usize, random: &mut Random) -> Array2<f64> {
    Array2::from_shape_simple_fn((steps, m.nu), || random.signed(0.3))
}

fn directions(m: &Model, steps: usize, random: &mut Random, count: usize) -> Vec<Direction> {
    (0..count)
        .map(|_| Direction {
            state: (0..ndx(m)).map(|_| random.signed(1.0)).collect::<Array1<f64>>(),
            ctrl: Array2::from_shape_simple_fn((steps, m.nu), || random.signed(1.0)),
        })
        .collect()
}

/// Largest difference relative to the largest derivative.
fn error(gradient: &RolloutGradient, directions: &[Direction], duals: &[f64]) -> f64 {
    let scale = duals.iter().fold(1.0_f64, |s, x| s.max(x.abs()));
    let errors = directions.iter().zip(duals).map(|(x, dual)| (along(gradient, x) - dual).abs());
    errors.fold(0.0, f64::max) / scale
}

// one second, from standing to lying on the floor
#[test]
fn a_humanoid_falls_for_200_steps() {
    let m = load("humanoid");
    let (d, mut random) = (Data::new(&m), Random::new(5));
    let ctrl = random_controls(&m, 200, &mut random);
    let mut cost = cost(&m, false);
    let mut moving = d.clone();
    let mut contacts = 0;
    for row in ctrl.rows() {
        moving.ctrl.copy_from_slice(&row.to_vec());
        step(&m, &mut moving).unwrap();
        contacts += moving.contact.len();
    }
    assert!(contacts > 200, "{contacts}");
    let whole = RolloutConfig::default();
    let found = rollout_gradient(&m, &d, ctrl.view(), &mut cost, &whole).unwrap();
    let directions = directions(&m, 200, &mut random, 8);
    let duals = rollout_dual(&m, &d, ctrl.view(), &mut cost, &directions).unwrap();
    let worst = error(&found, &directions, &duals);
    assert!(worst <= tolerance::scaled(ROLLOUT), "{worst}");
    // every 14th state is stored, the others are computed again
    let config = RolloutConfig { checkpoint: Some(14), ..whole };
    assert!(found == rollout_gradient(&m, &d, ctrl.view(), &mut cost, &config).unwrap());
}

#[test]
fn all_models_under_all_integrators() {
    let (steps, mut done, mut bad) = (12, 0, Vec::new());
    for name in names() {
        let m = load(&name);
        for integrator in INTEGRATORS {
            let m = with_integrator(&m, integrator);
            // a step there is not continuous under these: differences and dual numbers disagree on a single one
            if name == "flags_diagexact" && solves_for_acceleration(&m) {
                continue;
            }
            let mut random = Random::new(7);
            let mut d = Data::new(&m);
            d.qvel.iter_mut().for_each(|v| *v = random.signed(0.2));
            let ctrl = random_controls(&m, steps, &mut random);
            let directions = directions(&m, steps, &mut random, 3);
            let mut cost = cost(&m, integrator == Integrator::Euler);
            let config = RolloutConfig { checkpoint: Some(5), ..RolloutConfig::default() };
            // explicit integrators leave the range of numbers on the stiffest models
            let Ok(found) = rollout_gradient(&m, &d, ctrl.view(), &mut cost, &config) else {
                continue;
            };
            let duals = rollout_dual(&m, &d, ctrl.view(), &mut cost, &directions).unwrap();
            let worst = error(&found, &directions, &duals);
            if worst.is_nan() || worst > tolerance::scaled(ROLLOUT) {
                bad.push(format!("{name}, {integrator:?}: {worst}"));
            }
            // without A and B
            let config = RolloutConfig { sweep: Sweep::Products, ..config };
            cost.sensor_weight.fill(0.0);
            let found = rollout_gradient(&m, &d, ctrl.view(), &mut cost, &config).unwrap();
            let duals = rollout_dual(&m, &d, ctrl.view(), &mut cost, &directions).unwrap();
            let worst = error(&found, &directions, &duals);
            if worst.is_nan() || worst > tolerance::scaled(ROLLOUT) {
                bad.push(format!("{name}, {integrator:?}, products: {worst}"));
            }
            done += 1;
        }
    }
    assert!(bad.is_empty(), "{bad:#?}");
    assert!(done > 180, "{done}");
}
