//! Gradients of what a simulation ends in: by its initial state and its controls, and random numbers for papers on them.

use chacha20::ChaCha8Rng;
use chacha20::rand_core::SeedableRng;
use dualstep::{Data, Model, step};
use dualstep_derivatives::tangent::ndx;
use dualstep_derivatives::{
    DerivativeConfig, Transition, TransitionWorkspace, mjd_transition_into,
};
use rand_distr::{Distribution, StandardNormal};

use crate::studies::StudyError;

/// A simulation that remembers the linearizations of its steps.
#[derive(Debug)]
pub struct Rollout<'a> {
    m: &'a Model,
    workspace: TransitionWorkspace,
    transition: Transition,
    d: Data<f64>,
    /// [A B] of each step, row-major (nx × (nx + nu)).
    steps: Vec<f64>,
}

impl<'a> Rollout<'a> {
    /// A simulation of a model; linearizations as the configuration says, on one thread.
    ///
    /// # Errors
    /// If the configuration has no meaning for the model.
    pub fn new(m: &'a Model, config: &DerivativeConfig) -> Result<Self, StudyError> {
        let config = DerivativeConfig { sensors: false, threads: 1, ..config.clone() };
        Ok(Self {
            m,
            workspace: TransitionWorkspace::new(m, &config)?,
            transition: Transition::new(m),
            d: Data::new(m),
            steps: Vec::new(),
        })
    }

    /// Steps from a state, with controls of each step (steps × nu; none: those of the state); the last state. Without
    /// `linearize` nothing can be pulled back.
    ///
    /// # Errors
    /// If a step or a linearization fails.
    pub fn run(
        &mut self,
        start: &Data<f64>,
        controls: &[f64],
        steps: usize,
        linearize: bool,
    ) -> Result<&Data<f64>, StudyError> {
        let nu = self.m.nu;
        self.steps.clear();
        self.d.set_state_from(start);
        for k in 0..steps {
            if !controls.is_empty() {
                self.d.ctrl.copy_from_slice(&controls[k * nu..(k + 1) * nu]);
            }
            if linearize {
                let t = &mut self.transition;
                mjd_transition_into(self.m, &self.d, &mut self.workspace, t)?;
                for (a, b) in t.A.outer_iter().zip(t.B.outer_iter()) {
                    self.steps.extend(a.iter().chain(b.iter()));
                }
            }
            step(self.m, &mut self.d)?;
        }
        Ok(&self.d)
    }

    /// Gradients by the initial state (nx) and by the controls (steps × nu), of a function whose gradient by the last state
    /// is given (nx): the adjoint, backwards through the linearizations.
    pub fn pull_back(&self, by_last: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let (nx, nu) = (ndx(self.m), self.m.nu);
        let mut by_state = by_last.to_vec();
        let mut controls = Vec::with_capacity(self.steps.len() / nx.max(1));
        for rows in self.steps.rchunks_exact(nx * (nx + nu)) {
            let mut back = vec![0.0; nx + nu];
            for (row, weight) in rows.chunks_exact(nx + nu).zip(&by_state) {
                back.iter_mut().zip(row).for_each(|(sum, x)| *sum += weight * x);
            }
            // last control first, until they are all there
            controls.extend(back[nx..].iter().rev());
            by_state.copy_from_slice(&back[..nx]);
        }
        controls.reverse();
        (by_state, controls)
    }
}

/// The nearest whole number of a small quotient: steps in a time.
pub fn count(quotient: f64) -> usize {
    let rounded = quotient.round().clamp(0.0, 1e9);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
    let n = rounded as usize;
    n
}

/// Standard normals: number `stream` of the sequences of a seed.
pub fn normals(seed: u64, stream: u64) -> impl Iterator<Item = f64> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(stream);
    std::iter::repeat_with(move || StandardNormal.sample(&mut random))
}

/// Mean and variance (of the population) of numbers with weights.
pub fn moments(weighted: impl Iterator<Item = (f64, f64)> + Clone) -> (f64, f64) {
    let total: f64 = weighted.clone().map(|(w, _)| w).sum();
    let mean = weighted.clone().map(|(w, x)| w * x).sum::<f64>() / total;
    let square = weighted.map(|(w, x)| w * (x - mean) * (x - mean)).sum::<f64>() / total;
    (mean, square)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dualstep::mjcf::load_model_str;
    use std::path::Path;

    /// Changes a state and controls by an amount.
    type Nudge<'a> = &'a dyn Fn(&mut Data<f64>, &mut Vec<f64>, f64);

    // by the initial state and by each control, against differences of whole simulations
    #[test]
    fn gradients_of_a_pendulum_match_differences() {
        let text = r#"<mujoco><worldbody><body><joint axis="0 1 0" damping=".1"/>
            <geom size=".1" pos=".3 0 0"/></body></worldbody>
            <actuator><motor joint="joint"/></actuator></mujoco>"#
            .replace("<joint axis", "<joint name=\"joint\" axis");
        let m = load_model_str(&text, "pendulum.xml", Path::new(".")).unwrap();
        let mut start = Data::new(&m);
        start.qpos[0] = 0.4;
        let controls: Vec<f64> = (0..40).map(|k| f64::from(k).sin()).collect();
        let config = DerivativeConfig::default();
        let mut rollout = Rollout::new(&m, &config).unwrap();
        let cost = |d: &Data<f64>| d.qpos[0] * d.qpos[0] + d.qvel[0];
        let last = rollout.run(&start, &controls, 40, true).unwrap();
        let by_last = [2.0 * last.qpos[0], 1.0];
        let (by_state, by_controls) = rollout.pull_back(&by_last);
        let e = 1e-6;
        let mut difference = |nudge: Nudge| {
            let [plus, minus] = [e, -e].map(|e| {
                let (mut start, mut controls) = (start.clone(), controls.clone());
                nudge(&mut start, &mut controls, e);
                cost(rollout.run(&start, &controls, 40, false).unwrap())
            });
            (plus - minus) / (2.0 * e)
        };
        assert!((difference(&|d, _, e| d.qpos[0] += e) - by_state[0]).abs() < 1e-7);
        assert!((difference(&|d, _, e| d.qvel[0] += e) - by_state[1]).abs() < 1e-7);
        for k in [0, 7, 39] {
            assert!((difference(&|_, u, e| u[k] += e) - by_controls[k]).abs() < 1e-7, "{k}");
        }
    }

    #[test]
    fn moments_of_a_coin() {
        let (mean, variance) = moments([(3.0, 0.0), (1.0, 4.0)].into_iter());
        assert_eq!((mean, variance), (1.0, 3.0));
        let sample: Vec<f64> = normals(1, 0).take(20_000).collect();
        let (mean, variance) = moments(sample.iter().map(|x| (1.0, *x)));
        assert!(mean.abs() < 0.03 && (variance - 1.0).abs() < 0.03);
    }
}
