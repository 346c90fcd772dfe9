//! The same bits on every run, and for any number of threads.
//!
//! Fails when, for example: `passive` adds to the spring forces of the step before, a sum crosses the columns
//! of a linearization, or a result depends on which thread computed it.

use dualstep::{Data, Model, step};
use dualstep_derivatives::{FdConfig, Transition, mjd_transition_fd};
use rayon::prelude::*;

use crate::support::{INTEGRATORS, golden_state, load, names, with_integrator};

const THREADS: [usize; 3] = [1, 2, 7];

fn bits(x: &[f64]) -> Vec<u64> {
    x.iter().map(|x| x.to_bits()).collect()
}

/// State, sensors and energy of a rollout, at every step.
fn rollout(m: &Model, start: &Data<f64>, steps: usize) -> Vec<u64> {
    let mut d = Data::new(m);
    d.set_state_from(start);
    let mut all = Vec::new();
    for _ in 0..steps {
        // a state that the step refuses is left as it is: part of the result too
        let ok = step(m, &mut d).is_ok();
        all.push(u64::from(ok));
        for x in [&d.qpos, &d.qvel, &d.act, &d.sensordata, &d.qacc_warmstart] {
            all.extend(bits(x));
        }
    }
    all
}

fn pool(threads: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
}

#[test]
fn rollouts_repeat_bit_for_bit() {
    for name in names() {
        let m = load(&name);
        let start = golden_state(&name, &m, "s1");
        for integrator in INTEGRATORS {
            let m = with_integrator(&m, integrator);
            let once = rollout(&m, &start, 20);
            assert_eq!(once[0], 1, "{name}, {integrator:?}: the first step fails");
            assert!(once == rollout(&m, &start, 20), "{name}, {integrator:?}");
        }
    }
}

// a step depends on the state and the inputs, not on what the data went through before
#[test]
fn data_carries_no_memory() {
    for name in names() {
        let model = load(&name);
        let start = golden_state(&name, &model, "s1");
        for integrator in INTEGRATORS {
            let m = with_integrator(&model, integrator);
            let mut fresh = Data::new(&m);
            fresh.set_state_from(&start);
            let mut used = Data::new(&m);
            used.set_state_from(&golden_state(&name, &model, "s2"));
            for _ in 0..3 {
                let _ = step(&m, &mut used);
            }
            used.reset(&m);
            used.set_state_from(&start);
            assert_eq!(step(&m, &mut fresh), step(&m, &mut used), "{name}, {integrator:?}");
            for (x, y) in [
                (&fresh.qpos, &used.qpos),
                (&fresh.qvel, &used.qvel),
                (&fresh.act, &used.act),
                (&fresh.sensordata, &used.sensordata),
            ] {
                assert_eq!(bits(x), bits(y), "{name}, {integrator:?}");
            }
        }
    }
}

#[test]
fn rollouts_do_not_depend_on_the_number_of_threads() {
    for name in ["actuator_dynamics", "joint_anchors_balls", "tendon_fixed", "humanoid"] {
        let m = load(name);
        let starts: Vec<_> = ["s0", "s1", "s2"].map(|s| golden_state(name, &m, s)).into();
        let worlds: Vec<usize> = (0..24).collect();
        let run = |threads: usize| -> Vec<Vec<u64>> {
            pool(threads)
                .install(|| worlds.par_iter().map(|w| rollout(&m, &starts[w % 3], 5 + w)).collect())
        };
        let alone: Vec<_> = worlds.iter().map(|w| rollout(&m, &starts[w % 3], 5 + w)).collect();
        for threads in THREADS {
            assert!(run(threads) == alone, "{name} on {threads} threads");
        }
    }
}

fn matrices(t: &Transition) -> [Vec<u64>; 4] {
    [&t.A, &t.B, &t.C, &t.D].map(|x| x.iter().map(|x| x.to_bits()).collect())
}

#[test]
fn linearizations_do_not_depend_on_the_number_of_threads() {
    for name in names() {
        let m = load(&name);
        let d = golden_state(&name, &m, "s1");
        for centered in [true, false] {
            let config = FdConfig::uniform(centered, 1e-6);
            let run = |threads: usize| {
                pool(threads).install(|| mjd_transition_fd(&m, &d, &config)).unwrap()
            };
            let one = run(1);
            assert!(one.A.iter().any(|x| *x != 0.0) || m.nv == 0, "{name}");
            for threads in THREADS {
                let other = run(threads);
                assert!(matrices(&other) == matrices(&one), "{name} on {threads} threads");
                assert_eq!(other.columns, one.columns, "{name}");
            }
        }
    }
}
