//! Derivatives of a rollout's cost along directions, by dual numbers through all its steps: the oracle of the adjoint.

use dualstep::forward::{Outputs, Reuse, forward, step_skip};
use dualstep::integrate::{differentiate_pos, integrate_pos};
use dualstep::scalar::Dual;
use dualstep::{Data, Model, Scalar};
use ndarray::{Array1, Array2, ArrayView2, Zip};

use super::RolloutError;
use super::adjoint::RolloutGradient;
use super::cost::{Cost, CostGradient, Stage};
use crate::tangent::{State, ndx};

/// Directions in one rollout.
const WIDTH: usize = 8;

/// A change of the initial state and of all controls.
#[derive(Clone, Debug, PartialEq)]
pub struct Direction {
    /// dx_0, by the state tangent (2nv + na).
    pub state: Array1<f64>,
    /// du_t (T × nu).
    pub ctrl: Array2<f64>,
}

/// The derivative along a direction that a gradient says: ∂J/∂x_0 · dx_0 + Σ ∂J/∂u_t · du_t.
///
/// # Panics
/// If sizes differ.
pub fn along(gradient: &RolloutGradient, direction: &Direction) -> f64 {
    let by_ctrl =
        Zip::from(&gradient.ctrl).and(&direction.ctrl).fold(0.0, |sum, g, du| sum + g * du);
    gradient.initial().dot(&direction.state) + by_ctrl
}

/// Derivative of the rollout's cost along each direction, exact to rounding: the state's tangent is carried through every
/// step on dual numbers, and the cost's own gradient is multiplied by it. Shares no derivative code with the adjoint but
/// that gradient.
///
/// Cost: a rollout on dual numbers for each 8 directions.
///
/// # Errors
/// A step fails.
///
/// # Panics
/// If sizes are those of another model or another number of steps.
pub fn rollout_dual(
    m: &Model,
    d: &Data<f64>,
    ctrl: ArrayView2<f64>,
    cost: &mut dyn Cost,
    directions: &[Direction],
) -> Result<Vec<f64>, RolloutError> {
    let mut found = Vec::with_capacity(directions.len());
    let mut runner = Runner::new(m, cost.needs_sensors());
    for chunk in directions.chunks(WIDTH) {
        found.extend_from_slice(&runner.run(m, d, ctrl, cost, chunk)?[..chunk.len()]);
    }
    Ok(found)
}

/// What a rollout on dual numbers writes.
struct Runner {
    d: Data<Dual<WIDTH>>,
    sensors: bool,
    /// Tangent of the state (2nv + na), and the position without one.
    tangent: Vec<Dual<WIDTH>>,
    lifted: Vec<Dual<WIDTH>>,
    /// Real parts of the state, and of its sensors.
    state: State<f64>,
    ctrl: Vec<f64>,
    sensordata: Vec<f64>,
    gradient: CostGradient,
}

impl Runner {
    fn new(m: &Model, sensors: bool) -> Self {
        let zeros = |n| vec![Dual::lift(0.0); n];
        Self {
            d: Data::new(m),
            sensors,
            tangent: zeros(ndx(m)),
            lifted: zeros(m.nq),
            state: State::new(m),
            ctrl: vec![0.0; m.nu],
            sensordata: vec![0.0; if sensors { m.nsensordata } else { 0 }],
            gradient: CostGradient::new(m),
        }
    }

    fn run(
        &mut self,
        m: &Model,
        base: &Data<f64>,
        ctrl: ArrayView2<f64>,
        cost: &mut dyn Cost,
        directions: &[Direction],
    ) -> Result<[f64; WIDTH], RolloutError> {
        for direction in directions {
            assert_eq!(direction.state.len(), ndx(m), "a direction of another model");
            assert_eq!(direction.ctrl.dim(), ctrl.dim(), "a direction of another rollout");
        }
        let along = |of: &dyn Fn(&Direction) -> f64| {
            Dual::<WIDTH>::from_parts(|p| {
                p.checked_sub(1).and_then(|k| directions.get(k)).map_or(0.0, of)
            })
        };
        self.d.set_state_from(base);
        for (i, x) in self.tangent.iter_mut().enumerate() {
            *x = along(&|direction| direction.state[i]);
        }
        let (dq, rest) = self.tangent.split_at(m.nv);
        integrate_pos(m, &mut self.d.qpos, dq, Dual::lift(1.0));
        for (x, dx) in self.d.qvel.iter_mut().chain(&mut self.d.act).zip(rest) {
            *x += *dx;
        }
        let mut slope = [0.0; WIDTH];
        let steps = ctrl.nrows();
        let outputs = if self.sensors { Outputs::All } else { Outputs::State };
        for step in 0..=steps {
            let failed = |source| RolloutError::Step { step, source };
            self.read_state(m);
            let time = self.d.time.re();
            let end = step == steps;
            if end {
                self.d
                    .ctrl
                    .iter_mut()
                    .zip(&base.ctrl)
                    .for_each(|(to, from)| *to = Dual::lift(*from));
                if self.sensors {
                    forward(m, &mut self.d).map_err(failed)?;
                }
            } else {
                for i in 0..m.nu {
                    self.ctrl[i] = ctrl[[step, i]];
                    self.d.ctrl[i] = along(&|x| x.ctrl[[step, i]]) + Dual::lift(self.ctrl[i]);
                }
                step_skip(m, &mut self.d, Reuse::Nothing, outputs).map_err(failed)?;
            }
            for (to, from) in self.sensordata.iter_mut().zip(&self.d.sensordata) {
                *to = from.re();
            }
            self.gradient.clear();
            let State { qpos, qvel, act } = &self.state;
            let (ctrl, sensordata) = (if end { &[] } else { &self.ctrl[..] }, &self.sensordata[..]);
            let at = Stage { step, time, qpos, qvel, act, ctrl, sensordata };
            if end {
                cost.terminal(m, &at, Some(&mut self.gradient));
            } else {
                cost.running(m, &at, Some(&mut self.gradient));
            }
            self.add(&mut slope);
        }
        Ok(slope)
    }

    /// Real part and tangent of the state.
    fn read_state(&mut self, m: &Model) {
        let Self { d, state, tangent, lifted, .. } = self;
        let pairs =
            [(&mut state.qpos, &d.qpos), (&mut state.qvel, &d.qvel), (&mut state.act, &d.act)];
        for (to, from) in pairs {
            to.iter_mut().zip(from).for_each(|(to, from)| *to = from.re());
        }
        lifted.iter_mut().zip(&state.qpos).for_each(|(to, from)| *to = Dual::lift(*from));
        let (dq, rest) = tangent.split_at_mut(m.nv);
        differentiate_pos(m, dq, Dual::lift(1.0), lifted, &d.qpos);
        rest.iter_mut().zip(d.qvel.iter().chain(&d.act)).for_each(|(to, from)| *to = *from);
    }

    /// The cost's gradient times the tangents.
    fn add(&self, slope: &mut [f64; WIDTH]) {
        let CostGradient { state, ctrl, sensor } = &self.gradient;
        let pairs = state.iter().zip(&self.tangent).chain(ctrl.iter().zip(&self.d.ctrl));
        for (g, x) in pairs.chain(sensor.iter().zip(&self.d.sensordata)) {
            for (k, slope) in slope.iter_mut().enumerate() {
                *slope += g * x.part(k + 1);
            }
        }
    }
}
