//! What the tests share: the project's models, states of them, and numbers with tangents.

use std::path::{Path, PathBuf};

use dualstep::model::Integrator;
use dualstep::{Data, Model, Scalar};
use dualstep_derivatives::tangent::{State, ndx};
use dualstep_validation::Golden;
use dualstep_validation::conform::pipeline;
use dualstep_validation::random_tree::Random;

/// All of them.
pub(crate) const INTEGRATORS: [Integrator; 5] = [
    Integrator::Euler,
    Integrator::RK4,
    Integrator::Implicit,
    Integrator::ImplicitFast,
    Integrator::ImplicitSpringDamper,
];

/// A folder of `validation/`.
pub(crate) fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("validation").join(name)
}

/// Names of the models in `validation/models`, sorted.
pub(crate) fn names() -> Vec<String> {
    let entries = std::fs::read_dir(folder("models")).expect("validation/models exists");
    let files = entries.map(|entry| entry.expect("a readable folder").path());
    let mut names: Vec<String> = files
        .filter(|file| file.extension().is_some_and(|e| e == "xml"))
        .filter_map(|file| Some(file.file_stem()?.to_str()?.to_owned()))
        .collect();
    names.sort();
    names
}

/// A model of `validation/models`.
pub(crate) fn load(name: &str) -> Model {
    let path = folder("models").join(format!("{name}.xml"));
    dualstep::mjcf::load_model(path).unwrap_or_else(|e| panic!("{e}"))
}

/// A model from text.
pub(crate) fn parse(xml: &str) -> Model {
    dualstep::mjcf::load_model_str(xml, "test.xml", Path::new("."))
        .unwrap_or_else(|e| panic!("{e}"))
}

/// The model with another integrator.
pub(crate) fn with_integrator(m: &Model, integrator: Integrator) -> Model {
    let mut m = m.clone();
    m.opt.integrator = integrator;
    m
}

/// Data in state `state` (`s0`…) of a model's golden file: positions, velocities, activations, controls,
/// applied forces.
pub(crate) fn golden_state(name: &str, m: &Model, state: &str) -> Data<f64> {
    let wanted = |key: &str| key.contains("/in/");
    let golden = Golden::load_keys(&folder("golden").join(name), wanted).expect("golden data");
    let mut d = Data::new(m);
    pipeline::set_state(m, &golden, state, &mut d).unwrap_or_else(|e| panic!("{name}: {e}"));
    d
}

/// Data on another scalar in the state of `d`, moved along `dx` (2nv + na) and with `du` (nu) added to its
/// controls.
pub(crate) fn moved<T: Scalar>(m: &Model, d: &Data<f64>, dx: &[T], du: &[T]) -> Data<T> {
    let mut out = Data::<T>::new(m);
    out.set_state_from(d);
    let mut state = State::of(&out);
    state.boxplus(m, dx);
    state.write(&mut out);
    for (u, du) in out.ctrl.iter_mut().zip(du) {
        *u += *du;
    }
    out
}

/// A direction to move a state and its controls in, components within ±1.
pub(crate) struct Direction {
    /// Of the state tangent (2nv + na).
    pub(crate) dx: Vec<f64>,
    /// Of the controls (nu).
    pub(crate) du: Vec<f64>,
}

impl Direction {
    /// The direction with a seed.
    pub(crate) fn new(m: &Model, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut vector = |n: usize| (0..n).map(|_| random.signed(1.0)).collect();
        Self { dx: vector(ndx(m)), du: vector(m.nu) }
    }
}

/// Sum of directions, each times its number.
pub(crate) fn combined<T: Scalar>(m: &Model, d: &Data<f64>, terms: &[(&Direction, T)]) -> Data<T> {
    let sum = |part: fn(&Direction) -> &[f64], n: usize| -> Vec<T> {
        (0..n)
            .map(|i| terms.iter().fold(T::zero(), |s, (x, c)| s + *c * T::lift(part(x)[i])))
            .collect()
    };
    moved(m, d, &sum(|x| &x.dx, ndx(m)), &sum(|x| &x.du, m.nu))
}

/// Coefficient `k` of every number.
pub(crate) fn parts<T: Scalar>(x: &[T], k: usize) -> Vec<f64> {
    x.iter().map(|x| x.part(k)).collect()
}

/// Fails with the list of problems, if there is one.
pub(crate) fn report(problems: &[String]) {
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}
