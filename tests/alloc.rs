//! Nothing is allocated after construction: not in a step, with any integrator, nor in forward and inverse
//! dynamics. A counting allocator checks it on every model of the project, among them ones with tendons,
//! muscles and all kinds of sensors.
//!
//! The same for a linearization in closed form.
//!
//! Fails when, for example, a stage collects into a vector, or `RK4` clones a state instead of copying into
//! its scratch. (A binary of its own, because the allocator is global.)
#![expect(unsafe_code, reason = "an allocator is an unsafe trait; this one only counts")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::path::Path;

use dualstep::model::Integrator;
use dualstep::scalar::Dual;
use dualstep::{Data, Model, Scalar, forward, inverse, step};
use dualstep_derivatives::{
    DerivativeConfig, Method, SensorDeriv, Transition, TransitionWorkspace, mjd_sensors,
    mjd_transition_into,
};

/// The system's allocator, which counts calls by thread.
struct Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

fn count() {
    // a thread that is ending has no counter any more
    let _ = COUNT.try_with(|n| n.set(n.get() + 1));
}

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations that `work` makes on this thread.
fn allocations(work: impl FnOnce()) -> usize {
    let before = COUNT.get();
    work();
    COUNT.get() - before
}

const INTEGRATORS: [Integrator; 5] = [
    Integrator::Euler,
    Integrator::RK4,
    Integrator::Implicit,
    Integrator::ImplicitFast,
    Integrator::ImplicitSpringDamper,
];

/// All models of the project, by name.
fn models() -> Vec<(String, Model)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("validation/models");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|e| e == "xml"));
    files
        .map(|path| (path.display().to_string(), dualstep::mjcf::load_model(&path).unwrap()))
        .collect()
}

fn check<T: Scalar>(what: &str, m: &Model) {
    let mut d = Data::<T>::new(m);
    d.qvel.fill(T::lift(0.1));
    d.ctrl.fill(T::lift(0.2));
    d.xfrc_applied.fill([T::lift(0.01); 6]);
    // explicit integrators leave the range of numbers on the stiffest models: that is free, too
    let mut done = 0;
    let n = allocations(|| (0..3).for_each(|_| done += usize::from(step(m, &mut d).is_ok())));
    assert!(done > 0, "{what}: no step succeeds");
    assert_eq!(n, 0, "{what}: allocations in three steps");
    let n = allocations(|| forward(m, &mut d).unwrap());
    assert_eq!(n, 0, "{what}: allocations in forward dynamics");
    let mut sensors = SensorDeriv::new(m);
    let n = allocations(|| mjd_sensors(m, &d, &mut sensors));
    assert_eq!(n, 0, "{what}: allocations in the derivatives of sensors");
    // refused, without allocating, where there is no discrete inverse
    let n = allocations(|| {
        let _ = inverse::inverse(m, &mut d);
    });
    assert_eq!(n, 0, "{what}: allocations in inverse dynamics");
}

#[test]
fn the_counter_counts() {
    assert_eq!(allocations(|| drop(std::hint::black_box(vec![0; 100]))), 1);
}

#[test]
fn nothing_is_allocated_after_construction() {
    let models = models();
    assert!(models.iter().any(|(_, m)| m.nsensor > 0 && m.ntendon > 0));
    assert!(
        models.iter().any(|(_, m)| m.actuator_dyntype.contains(&dualstep::model::DynType::Muscle))
    );
    for (name, m) in models {
        for integrator in INTEGRATORS {
            let mut m = m.clone();
            m.opt.integrator = integrator;
            check::<f64>(&format!("{name}, {integrator:?}"), &m);
            check::<Dual<8>>(&format!("{name}, {integrator:?}, duals"), &m);
        }
    }
}

#[test]
fn nothing_is_allocated_by_a_linearization_in_closed_form() {
    for (name, m) in models() {
        for integrator in INTEGRATORS {
            let mut m = m.clone();
            m.opt.integrator = integrator;
            let mut d = Data::<f64>::new(&m);
            d.qvel.fill(0.1);
            d.ctrl.fill(0.2);
            let config = DerivativeConfig::by(Method::Analytic);
            let mut workspace = TransitionWorkspace::new(&m, &config).unwrap();
            let mut transition = Transition::new(&m);
            let n = allocations(|| {
                mjd_transition_into(&m, &d, &mut workspace, &mut transition).unwrap();
            });
            assert_eq!(n, 0, "{name}, {integrator:?}: allocations in a linearization");
        }
    }
}

// an error is a value: reporting it costs nothing either
#[test]
fn nothing_is_allocated_when_a_step_fails() {
    for (name, m) in models() {
        let mut d = Data::<f64>::new(&m);
        let Some(last) = d.qvel.last_mut() else { continue };
        *last = f64::NAN;
        let n = allocations(|| assert!(step(&m, &mut d).is_err()));
        assert_eq!(n, 0, "{name}");
    }
}
