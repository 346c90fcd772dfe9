//! Gradients of rollouts beside their oracle, times of their parts, and pictures of how perturbations grow.

#![expect(clippy::needless_pass_by_value, reason = "views of arrays are passed as `ndarray` does")]

use std::time::Instant;

use dualstep::{Data, Model};
use dualstep_derivatives::rollout::{
    Cost, Direction, Growth, RolloutConfig, RolloutError, RolloutGradient, RolloutWorkspace, along,
    rollout_cost, rollout_dual, rollout_gradient_into,
};
use dualstep_derivatives::tangent::{State, ndx};
use dualstep_derivatives::{Transition, TransitionWorkspace, mjd_transition_into};
use dualstep_validation::random_tree::Random;
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, s};

use crate::bench::Spread;
use crate::plot::{Axis, Chart, Curve, Figure, Mark};

/// Random directions of initial state and controls, of length one each.
pub fn random_directions(m: &Model, steps: usize, seed: u64, count: usize) -> Vec<Direction> {
    let mut random = Random::new(seed);
    let mut direction = || {
        let state: Array1<f64> = (0..ndx(m)).map(|_| random.signed(1.0)).collect();
        let ctrl = Array2::from_shape_simple_fn((steps, m.nu), || random.signed(1.0));
        let squares = state.iter().chain(&ctrl).map(|x| x * x).sum::<f64>();
        let length = if squares > 0.0 { squares.sqrt() } else { 1.0 };
        Direction { state: state / length, ctrl: ctrl / length }
    };
    std::iter::repeat_with(&mut direction).take(count).collect()
}

/// The largest difference of a gradient from dual numbers through the whole rollout, along directions, relative to the
/// largest of these derivatives.
///
/// # Errors
/// A step fails.
pub fn check(
    m: &Model,
    d: &Data<f64>,
    ctrl: ArrayView2<f64>,
    cost: &mut dyn Cost,
    gradient: &RolloutGradient,
    directions: &[Direction],
) -> Result<f64, RolloutError> {
    let duals = rollout_dual(m, d, ctrl, cost, directions)?;
    let scale = duals.iter().fold(f64::MIN_POSITIVE, |s, x| s.max(x.abs()));
    let errors = directions.iter().zip(&duals).map(|(x, dual)| (along(gradient, x) - dual).abs());
    Ok(errors.fold(0.0, f64::max) / scale)
}

/// Times of a rollout and of its derivative \[s\], in turns: medians and quartiles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// The rollout with its cost, without derivatives.
    pub rollout: Spread,
    /// The linearizations of all of its steps.
    pub linearizations: Spread,
    /// Cost and gradient: rollout, linearizations, and the sweep of the adjoint.
    pub gradient: Spread,
}

impl Times {
    /// What the gradient costs beyond the linearizations, in rollouts.
    pub fn beyond_linearizations(&self) -> f64 {
        (self.gradient.median - self.linearizations.median) / self.rollout.median
    }

    /// Measures, `batches` times each, on one thread.
    ///
    /// # Errors
    /// A step fails, or cannot be linearized.
    pub fn measure(
        m: &Model,
        d: &Data<f64>,
        ctrl: ArrayView2<f64>,
        cost: &mut dyn Cost,
        config: &RolloutConfig,
        batches: usize,
    ) -> Result<Self, RolloutError> {
        let mut times = [(); 3].map(|()| Vec::with_capacity(batches));
        let mut parts = Parts::new(m, d, ctrl, config)?;
        for _ in 0..batches {
            for (part, times) in
                [Part::Rollout, Part::Linearizations, Part::Gradient].into_iter().zip(&mut times)
            {
                let begin = Instant::now();
                parts.run(part, m, cost)?;
                times.push(begin.elapsed().as_secs_f64());
            }
        }
        let [rollout, linearizations, gradient] = times.map(|times| Spread::of(&times));
        Ok(Self { rollout, linearizations, gradient })
    }
}

/// A part of what a gradient needs, to run by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The rollout and its cost.
    Rollout,
    /// A, B, and C, D where the cost needs them, of all steps.
    Linearizations,
    /// All of it.
    Gradient,
}

/// Workspaces of the parts, so that each runs through warm ones, on one thread.
#[derive(Debug)]
pub struct Parts {
    base: Data<f64>,
    ctrl: Array2<f64>,
    workspace: RolloutWorkspace,
    gradient: RolloutGradient,
    stage_cost: Array1<f64>,
    /// Time, state and start of the solver, of each step.
    states: Vec<(f64, State<f64>, Vec<f64>)>,
    d: Data<f64>,
    linearizer: TransitionWorkspace,
    transition: Transition,
}

impl Parts {
    /// Workspaces, and the states of the rollout from the state of `d`.
    ///
    /// # Errors
    /// A step fails.
    pub fn new(
        m: &Model,
        d: &Data<f64>,
        ctrl: ArrayView2<f64>,
        config: &RolloutConfig,
    ) -> Result<Self, RolloutError> {
        let steps = ctrl.nrows();
        let failed = |source| RolloutError::Transition { step: 0, source };
        let (mut states, mut moving) = (Vec::with_capacity(steps), d.clone());
        for (step, row) in ctrl.rows().into_iter().enumerate() {
            moving.ctrl.iter_mut().zip(row).for_each(|(to, from)| *to = *from);
            states.push((moving.time, State::of(&moving), moving.qacc_warmstart.clone()));
            dualstep::step(m, &mut moving).map_err(|source| RolloutError::Step { step, source })?;
        }
        Ok(Self {
            base: d.clone(),
            ctrl: ctrl.to_owned(),
            workspace: RolloutWorkspace::on_threads(m, steps, config, 1).map_err(failed)?,
            gradient: RolloutGradient::new(m, steps),
            stage_cost: Array1::zeros(steps + 1),
            states,
            d: d.clone(),
            linearizer: TransitionWorkspace::new(m, &config.derivative).map_err(failed)?,
            transition: Transition::new(m),
        })
    }

    /// Runs a part.
    ///
    /// # Errors
    /// A step fails, or cannot be linearized.
    pub fn run(&mut self, part: Part, m: &Model, cost: &mut dyn Cost) -> Result<(), RolloutError> {
        let Self { base, ctrl, workspace, gradient, stage_cost, .. } = self;
        match part {
            Part::Rollout => {
                rollout_cost(m, base, ctrl.view(), cost, workspace, stage_cost)?;
            }
            Part::Linearizations => self.linearize(m)?,
            Part::Gradient => {
                rollout_gradient_into(m, base, ctrl.view(), cost, workspace, gradient)?;
            }
        }
        Ok(())
    }

    fn linearize(&mut self, m: &Model) -> Result<(), RolloutError> {
        for (step, (time, state, warmstart)) in self.states.iter().enumerate() {
            self.d.time = *time;
            state.write(&mut self.d);
            self.d.qacc_warmstart.copy_from_slice(warmstart);
            self.d.ctrl.iter_mut().zip(self.ctrl.row(step)).for_each(|(to, from)| *to = *from);
            mjd_transition_into(m, &self.d, &mut self.linearizer, &mut self.transition)
                .map_err(|source| RolloutError::Transition { step, source })?;
        }
        Ok(())
    }
}

/// Length of a vector.
pub fn norm(x: ArrayView1<f64>) -> f64 {
    x.dot(&x).sqrt()
}

/// Columns of ∂x_t/∂x_0 that are shown by name.
const SHOWN_COLUMNS: usize = 5;

/// Growth of perturbations, its rate, and the sizes of the gradient along the horizon.
pub fn figure(title: &str, m: &Model, growth: &Growth, gradient: &RolloutGradient) -> Figure {
    let h = m.opt.timestep;
    let over_time = |values: &mut dyn Iterator<Item = f64>| -> Vec<(f64, f64)> {
        values.enumerate().map(|(t, y)| (t as f64 * h, y)).collect()
    };
    // a decade is easier to read than a factor e
    let decades = |x: f64| x * std::f64::consts::LOG10_E;
    let line = |name: &str, points| Curve::new(name, points).mark(Mark::Line);

    let mut sizes = vec![
        line(
            "largest singular value",
            over_time(&mut growth.log_singular.iter().map(|x| decades(*x))),
        )
        .width(4),
    ];
    let last = growth.log_columns.nrows() - 1;
    let mut columns: Vec<usize> = (0..growth.log_columns.ncols()).collect();
    columns
        .sort_by(|a, b| growth.log_columns[[last, *b]].total_cmp(&growth.log_columns[[last, *a]]));
    for k in columns.into_iter().take(SHOWN_COLUMNS) {
        let points = over_time(&mut growth.log_columns.column(k).iter().map(|x| decades(*x)));
        sizes.push(line(&growth.state_names[k], points));
    }

    let rate = |values: &Array1<f64>| over_time(&mut values.iter().copied()).split_off(1);
    let singular = growth.log_singular.indexed_iter();
    let finite: Array1<f64> = singular.map(|(t, x)| x / (t.max(1) as f64 * h)).collect();
    let rates = vec![
        line("Lyapunov exponent", rate(&growth.largest_exponent)),
        line("ln σ / t", rate(&finite)).mark(Mark::Dashed),
        Curve::level("no growth", 0.0),
    ];

    let rows = |part: &dyn Fn(usize) -> f64, n: usize| over_time(&mut (0..n).map(part));
    let (steps, nv) = (gradient.ctrl.nrows(), m.nv);
    let costate = |range: [usize; 2]| {
        rows(&|t| norm(gradient.costate.slice(s![t, range[0]..range[1]])), steps + 1)
    };
    let mut gradients =
        vec![line("by positions", costate([0, nv])), line("by velocities", costate([nv, 2 * nv]))];
    if m.na > 0 {
        gradients.push(line("by activations", costate([2 * nv, 2 * nv + m.na])));
    }
    if m.nu > 0 {
        gradients.push(line("by controls", rows(&|t| norm(gradient.ctrl.row(t)), steps)));
    }
    let chart = |title: &str, y: Axis, curves| Chart {
        title: title.to_owned(),
        x: Axis::linear("time", "s"),
        y,
        curves,
    };
    Figure {
        title: title.to_owned(),
        columns: 3,
        charts: vec![
            chart(
                "growth of initial perturbations",
                Axis::linear("log₁₀ of the factor", "1"),
                sizes,
            ),
            chart("rate of growth", Axis::linear("rate", "1/s"), rates),
            chart(
                "gradient of the cost by each stage",
                Axis::log("norm", "cost per unit"),
                gradients,
            ),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dualstep::mjcf::load_model_str;
    use dualstep_derivatives::DerivativeConfig;
    use dualstep_derivatives::rollout::{QuadraticCost, linearize_rollout, rollout_gradient};

    #[test]
    fn a_gradient_is_checked_timed_and_drawn() {
        let text = r#"<mujoco><worldbody><body><joint name="pivot" axis="0 1 0" damping=".1"/>
            <geom type="capsule" fromto="0 0 0 0 0 1" size=".05"/></body></worldbody>
            <actuator><motor joint="pivot"/></actuator></mujoco>"#;
        let m = load_model_str(text, "pendulum.xml", std::path::Path::new(".")).unwrap();
        let mut d = Data::new(&m);
        d.qpos[0] = 0.1;
        let ctrl = Array2::from_elem((20, 1), 0.1);
        let mut cost = QuadraticCost::new(&m, State::new(&m));
        cost.terminal_weight.fill(1.0);
        let derivative = DerivativeConfig { sensors: false, ..DerivativeConfig::default() };
        let config = RolloutConfig { derivative, ..RolloutConfig::default() };
        let mut found = rollout_gradient(&m, &d, ctrl.view(), &mut cost, &config).unwrap();
        let directions = random_directions(&m, 20, 1, 3);
        let worst = |cost: &mut QuadraticCost, found: &RolloutGradient| {
            check(&m, &d, ctrl.view(), cost, found, &directions).unwrap()
        };
        assert!(worst(&mut cost, &found) < 1e-13);
        let all = linearize_rollout(&m, &d, ctrl.view(), &config.derivative).unwrap();
        let growth = Growth::of(&all);
        // an inverted pendulum falls at λ = √(3g/2l) = 3.8; in so few steps velocity feeds on position and position on
        // velocity: log σ of [[1, h], [λ²h, 1]] is h (λ² + 1)/2
        assert!((6.5..8.0).contains(&growth.largest_exponent[20]), "{growth:?}");
        let svg = figure("pendulum", &m, &growth, &found).svg().unwrap();
        for part in ["pivot.q", "by controls", "no growth"] {
            assert!(svg.contains(part), "{part}");
        }
        found.ctrl[[3, 0]] *= 1.01;
        assert!(worst(&mut cost, &found) > 1e-6);
        let times = Times::measure(&m, &d, ctrl.view(), &mut cost, &config, 3).unwrap();
        assert!(times.gradient.median > 0.0 && times.beyond_linearizations().is_finite());
    }
}
