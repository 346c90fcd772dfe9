//! Nothing is allocated after construction: not in a step, with any integrator, nor in forward and inverse
//! dynamics, nor in the constraint solver, nor in a linearization by any method. A counting allocator checks it on
//! every model of the project, among them ones with tendons, muscles and all kinds of sensors.
//!
//! Fails when, for example, a stage collects into a vector, or `RK4` clones a state instead of copying into
//! its scratch. (A binary of its own, because the allocator is global.)
#![expect(unsafe_code, reason = "an allocator is an unsafe trait; this one only counts")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::path::Path;

use dualstep::collision::{Collision, Contact, Exclude, collision};
use dualstep::constraint::{Efc, EfcState, EfcType};
use dualstep::model::{Integrator, SolverType};
use dualstep::scalar::Dual;
use dualstep::solver::{SolverWorkspace, solve};
use dualstep::{Data, Model, Scalar, forward, inverse, smooth, step};
use dualstep_derivatives::rollout::{
    QuadraticCost, RolloutConfig, RolloutGradient, RolloutWorkspace, Sweep, rollout_gradient_into,
};
use dualstep_derivatives::tangent::State;
use dualstep_derivatives::{
    DerivativeConfig, InverseDeriv, Method, SensorDeriv, Transition, TransitionWorkspace,
    mjd_inverse, mjd_sensors, mjd_smooth_sensors, mjd_transition_into,
};
use ndarray::Array2;

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
    let n = allocations(|| mjd_smooth_sensors(m, &d, &mut sensors));
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

// in contact, where the pieces of the closed form differentiate constraints themselves
#[test]
fn nothing_is_allocated_by_derivatives_in_contact() {
    let mut constrained = 0;
    for (name, m) in models() {
        let mut d = Data::<f64>::new(&m);
        d.reset_keyframe(&m, 0);
        if forward(&m, &mut d).is_err() {
            continue;
        }
        constrained += usize::from(d.efc.nefc > 0 && m.nsensor > 0);
        let (mut sensors, mut inverse) = (SensorDeriv::new(&m), InverseDeriv::new(&m));
        let mut run = || {
            drop(mjd_sensors(&m, &d, &mut sensors));
            drop(mjd_inverse(&m, &d, &mut inverse));
        };
        // lists of contacts grow to what a state needs, and stay
        run();
        assert_eq!(allocations(run), 0, "{name}");
    }
    assert!(constrained > 2, "{constrained}");
}

// on one thread: the counter counts there, and threads are rayon's business
#[test]
fn nothing_is_allocated_by_collision_detection() {
    for (name, m) in models() {
        let mut d = Data::<f64>::new(&m);
        smooth::kinematics(&m, &mut d);
        let mut found = Collision::new(&m);
        // lists grow to what a configuration needs, and stay
        collision(&m, &d, &mut found);
        let number = allocations(|| collision(&m, &d, &mut found));
        assert_eq!(number, 0, "{name}");
    }
}

#[test]
fn nothing_is_allocated_in_a_linearization() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let mut done = 0;
    for (name, m) in models() {
        for integrator in INTEGRATORS {
            let mut m = m.clone();
            m.opt.integrator = integrator;
            let mut d = Data::<f64>::new(&m);
            d.qvel.fill(0.1);
            d.ctrl.fill(0.2);
            d.xfrc_applied.fill([0.01; 6]);
            for method in [Method::Fd, Method::Analytic, Method::Dual] {
                let config = DerivativeConfig::by(method);
                let mut workspace = pool.install(|| TransitionWorkspace::new(&m, &config)).unwrap();
                let mut transition = Transition::new(&m);
                let n = pool.install(|| {
                    // explicit integrators leave the range of numbers on the stiffest models
                    let mut run = || mjd_transition_into(&m, &d, &mut workspace, &mut transition);
                    done += usize::from(run().is_ok());
                    allocations(|| drop(run()))
                });
                assert_eq!(n, 0, "{name}, {integrator:?}, {method:?}");
            }
        }
    }
    assert!(done > 450, "{done}");
}

#[test]
fn nothing_is_allocated_in_the_gradient_of_a_rollout() {
    let mut done = 0;
    for (name, m) in models() {
        for integrator in INTEGRATORS {
            let mut m = m.clone();
            m.opt.integrator = integrator;
            let d = Data::<f64>::new(&m);
            let ctrl = Array2::from_elem((6, m.nu), 0.1);
            let mut cost = QuadraticCost::new(&m, State::of(&d));
            cost.state_weight.fill(1.0);
            cost.terminal_weight.fill(1.0);
            let sweep = [Sweep::Matrices, Sweep::Products][done % 2];
            let sensors = sweep == Sweep::Matrices;
            cost.sensor_weight.fill(if sensors { 1.0 } else { 0.0 });
            let derivative = DerivativeConfig { sensors, ..DerivativeConfig::default() };
            let config = RolloutConfig { derivative, sweep, checkpoint: Some(4) };
            // sensors fall back on dual numbers, whose chunks rayon shares out
            let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
            let mut w = pool.install(|| RolloutWorkspace::new(&m, 6, &config)).unwrap();
            let mut out = RolloutGradient::new(&m, 6);
            let n = pool.install(|| {
                let mut run =
                    || rollout_gradient_into(&m, &d, ctrl.view(), &mut cost, &mut w, &mut out);
                // explicit integrators leave the range of numbers on the stiffest models
                done += usize::from(run().is_ok());
                allocations(|| drop(run()))
            });
            assert_eq!(n, 0, "{name}, {integrator:?}");
        }
    }
    assert!(done > 180, "{done}");
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

/// Rows of all kinds with entries here and there, the last six of them two elliptic contacts.
fn rows<T: Scalar>(m: &Model) -> (Efc<T>, Vec<Contact<T>>) {
    use EfcType::{ContactElliptic, Equality, FrictionDof, LimitJoint};
    let mut efc = Efc::<T>::new(m.nv, 16);
    efc.kind =
        [&[Equality; 2][..], &[FrictionDof; 3], &[LimitJoint; 4], &[ContactElliptic; 6]].concat();
    let n = efc.kind.len();
    (efc.ne, efc.nf, efc.nl, efc.nefc) = (2, 3, 4, n);
    efc.id = (0..n).map(|i| usize::from(i >= n - 3)).collect();
    let entry = |k: usize| if k.is_multiple_of(3) { 0.0 } else { (k as f64 * 0.7).sin() };
    let J: Vec<T> = (0..n * m.nv).map(|k| T::lift(entry(k))).collect();
    efc.set_dense_J(&J);
    efc.R = vec![T::lift(0.1); n];
    efc.D = vec![T::lift(10.0); n];
    efc.aref = (0..n).map(|i| T::lift(1.0 + i as f64)).collect();
    efc.frictionloss = vec![0.2; n];
    efc.force = vec![T::zero(); n];
    efc.state = vec![EfcState::Satisfied; n];
    let axis = nalgebra::Vector3::zeros();
    let contact = Contact {
        dist: T::zero(),
        pos: axis,
        frame: [axis; 3],
        includemargin: 0.0,
        friction: [1.0; 5],
        solref: [0.0; 2],
        solreffriction: [0.0; 2],
        solimp: [0.0; 5],
        adhesion: 0.0,
        dim: 3,
        geom: [0; 2],
        exclude: Exclude::default(),
        mu: 1.0,
        efc_address: None,
    };
    (efc, vec![contact; 2])
}

fn check_solver<T: Scalar>(m: &Model) {
    let mut d = Data::<T>::new(m);
    forward(m, &mut d).unwrap();
    let (mut efc, contacts) = rows::<T>(m);
    let mut ws = SolverWorkspace::new(m, efc.nefc);
    let n = allocations(|| {
        for _ in 0..2 {
            solve(m, &mut d, &mut efc, &contacts, &mut ws);
        }
    });
    assert!(ws.stats.niter > 0 && ws.stats.noslip_niter > 0, "{:?}", ws.stats);
    assert_eq!(n, 0, "{:?}", m.opt.solver);
}

#[test]
fn nothing_is_allocated_by_the_solver() {
    let (_, mut m) = models().into_iter().find(|(name, _)| name.ends_with("humanoid.xml")).unwrap();
    m.opt.noslip_iterations = 3;
    for solver in [SolverType::Newton, SolverType::Cg, SolverType::Pgs] {
        m.opt.solver = solver;
        check_solver::<f64>(&m);
        check_solver::<Dual<8>>(&m);
    }
}
