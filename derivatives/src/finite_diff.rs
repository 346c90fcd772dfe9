//! Transition matrices by finite differences of whole steps, as MuJoCo's `mjd_transitionFD`.
//!
//! A column of A or B is the difference of the states after a step from two nudged states, divided by the
//! distance of the nudges. Nudges and differences live on the state tangent ([`crate::tangent`]), so
//! quaternions stay unit. Sensors are evaluated before the state is integrated: C and D belong to the
//! pre-step state.
//!
//! Columns are independent and computed in parallel. Each starts from a copy of the same state, and no sum
//! crosses columns, so the result is the same, bit for bit, for any number of threads.

use dualstep::forward::{Outputs, Reuse, forward, step_skip};
use dualstep::integrate::integrate_pos;
use dualstep::model::Integrator;
use dualstep::{Data, Model, StepError};
use rayon::prelude::*;

use crate::columns::{Input, Wanted, input, ncolumns};
use crate::kinks::{self, Signature};
use crate::matrices::{Column, Kink, Origin, Reason, Side, Solve, Transition, TransitionError};
use crate::tangent::{State, ndx};

/// How to take the differences.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FdConfig {
    /// Centred differences, twice the cost and an error of order eps² instead of eps.
    pub centered: bool,
    /// Sizes of the nudges.
    pub eps: FdSteps,
    /// Steps go on to the minimum of the constraint solver, whatever tolerance the model asks for. Otherwise, as in
    /// MuJoCo, what a solver leaves of the way to the minimum is differenced as well. Off by default.
    pub polish: bool,
}

/// Sizes of the nudges, for each block of columns in the unit of what is nudged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FdSteps {
    /// Of positions \[m, rad\].
    pub qpos: f64,
    /// Of velocities \[m/s, rad/s\].
    pub qvel: f64,
    /// Of activations.
    pub act: f64,
    /// Of controls.
    pub ctrl: f64,
}

impl FdSteps {
    /// The same size for all.
    pub fn uniform(eps: f64) -> Self {
        Self { qpos: eps, qvel: eps, act: eps, ctrl: eps }
    }

    /// Sizes that balance truncation with a noise in the step's result, relative to its size: its cube root for
    /// centred differences, its square root for one-sided ones.
    ///
    /// Without an iterative solver the noise is rounding, [`f64::EPSILON`].
    pub fn for_noise(noise: f64, centered: bool) -> Self {
        Self::uniform(if centered { noise.cbrt() } else { noise.sqrt() })
    }

    fn of(&self, input: Input) -> f64 {
        match input {
            Input::Position(_) => self.qpos,
            Input::Velocity(_) => self.qvel,
            Input::Activation(_) => self.act,
            Input::Control(_) => self.ctrl,
        }
    }

    /// The first that is no positive number.
    fn invalid(&self) -> Option<f64> {
        let all = [self.qpos, self.qvel, self.act, self.ctrl];
        all.into_iter().find(|eps| !(*eps > 0.0 && eps.is_finite()))
    }
}

impl FdConfig {
    /// Centred differences with nudges of [`FdSteps::for_noise`] at rounding: 6e-6.
    pub fn centered() -> Self {
        Self { centered: true, eps: FdSteps::for_noise(f64::EPSILON, true), polish: false }
    }

    /// Forward differences with nudges of [`FdSteps::for_noise`] at rounding: 1.5e-8.
    pub fn forward() -> Self {
        Self { centered: false, eps: FdSteps::for_noise(f64::EPSILON, false), polish: false }
    }

    /// Differences with nudges of one size.
    pub fn uniform(centered: bool, eps: f64) -> Self {
        Self { centered, eps: FdSteps::uniform(eps), polish: false }
    }
}

impl Default for FdConfig {
    fn default() -> Self {
        Self::centered()
    }
}

/// Nudges above which differences to the two sides differ by curvature as well.
const NUDGE: f64 = 1e-5;

/// Difference of the two sides of a column, relative to its largest entry, above which they count as different
/// functions. The stiffest contacts change their slope by a hundredth over a nudge.
const ONE_SIDED: f64 = 0.05;

/// Everything that [`mjd_transition_fd_into`] writes on its way: one set of data for each thread.
#[derive(Debug)]
pub struct FdWorkspace {
    wanted: Wanted,
    why: Reason,
    /// State after the step, and sensors before it.
    next: Outcome,
    /// Kinks at the state.
    columns: Vec<Column>,
    /// Rows of the step from the state.
    signature: Signature,
    workers: Vec<Worker>,
}

/// The step from the state itself, with which those from nudged states are compared.
struct Reference<'a> {
    next: &'a Outcome,
    signature: &'a Signature,
}

/// What a step gives.
#[derive(Debug)]
struct Outcome {
    state: State<f64>,
    sensordata: Vec<f64>,
}

/// Data of one thread, and the columns it computed.
#[derive(Debug)]
struct Worker {
    /// What steps are run for.
    outputs: Outputs,
    d: Data<f64>,
    /// Unit tangent of the positions (nv), zero between uses.
    direction: Vec<f64>,
    plus: Outcome,
    minus: Outcome,
    /// Columns of [A; C] and [B; D], one after the other.
    columns: Vec<f64>,
    sides: Vec<Side>,
    /// Kinks that a nudge crosses.
    kinks: Vec<Option<Kink>>,
    /// A column by differences to one side, and to the other.
    one_sided: [Vec<f64>; 2],
}

impl FdWorkspace {
    /// A workspace for the model, for as many threads as the current rayon pool has.
    pub fn new(m: &Model) -> Self {
        Self::of(m, Wanted::all(m), Reason::Requested, rayon::current_num_threads())
    }

    pub(crate) fn of(m: &Model, wanted: Wanted, why: Reason, threads: usize) -> Self {
        let nworkers = threads.clamp(1, wanted.columns.len().max(1));
        let share = wanted.columns.len().div_ceil(nworkers);
        let worker = || Worker {
            outputs: if wanted.sensors { Outputs::All } else { Outputs::State },
            d: Data::new(m),
            direction: vec![0.0; m.nv],
            plus: Outcome::new(m),
            minus: Outcome::new(m),
            columns: vec![0.0; share * (ndx(m) + m.nsensordata)],
            sides: vec![Side::Both; share],
            kinks: vec![None; share],
            one_sided: [(); 2].map(|()| vec![0.0; ndx(m) + m.nsensordata]),
        };
        let workers = std::iter::repeat_with(worker).take(nworkers).collect();
        let columns = vec![Column::SKIPPED; ncolumns(m)];
        let signature = Signature::new(m);
        Self { wanted, why, next: Outcome::new(m), columns, signature, workers }
    }
}

/// A, B, C and D of one step at the state of `d`, which stays as it is.
///
/// Controls are nudged within their range only: at a limit the difference is one-sided, as in `MuJoCo`, and
/// [`Transition::columns`] says so.
///
/// Source: MuJoCo `mjd_transitionFD`. Cost: 1 + (2nv + na + nu) steps, twice as many centred; what depends on
/// positions (velocities) only is not computed again where those stay.
///
/// # Errors
/// If a step fails; the message names what was nudged.
pub fn mjd_transition_fd(
    m: &Model,
    d: &Data<f64>,
    config: &FdConfig,
) -> Result<Transition, TransitionError> {
    let mut transition = Transition::new(m);
    mjd_transition_fd_into(m, d, config, &mut FdWorkspace::new(m), &mut transition)?;
    Ok(transition)
}

/// As [`mjd_transition_fd`], into matrices and through a workspace that are used again.
///
/// # Errors
/// If a step fails; the message names what was nudged.
///
/// # Panics
/// If `workspace` or `transition` belong to a model of other sizes.
pub fn mjd_transition_fd_into(
    m: &Model,
    d: &Data<f64>,
    config: &FdConfig,
    workspace: &mut FdWorkspace,
    transition: &mut Transition,
) -> Result<(), TransitionError> {
    if let Some(eps) = config.eps.invalid() {
        return Err(TransitionError::Eps(eps));
    }
    let FdWorkspace { wanted, why, next, columns, signature, workers } = workspace;
    for worker in &mut *workers {
        worker.d.polish(m, config.polish);
    }

    // the step itself: the reference of one-sided differences
    let first = &mut workers[0];
    first.d.set_state_from(d);
    forward(m, &mut first.d).map_err(TransitionError::Step)?;
    columns.fill(Column { origin: Origin::Fd, why: *why, ..Column::SKIPPED });
    kinks::mark(m, &first.d, &config.eps, columns);
    transition.solver = Solve::of(m, &first.d);
    step_skip(m, &mut first.d, reuse(m, Input::Control(0)), Outputs::All)
        .map_err(TransitionError::Step)?;
    next.read(&first.d);
    signature.read(&first.d);

    // worker w computes columns w, w + W, w + 2W, … of those that are wanted
    let (count, wanted) = (workers.len(), &*wanted);
    let reference = Reference { next, signature };
    let failure = workers
        .par_iter_mut()
        .enumerate()
        .filter_map(|(w, worker)| worker.run(m, d, config, &reference, (w, count), wanted).err())
        .min_by_key(|(column, _)| *column);
    if let Some((column, source)) = failure {
        let name = transition.column_names().nth(column).unwrap_or_default().to_owned();
        return Err(TransitionError::Nudge { name, source });
    }
    for (w, worker) in workers.iter().enumerate() {
        worker.hand_over(m, (w, count), wanted, columns, transition);
    }
    Ok(())
}

impl Outcome {
    fn new(m: &Model) -> Self {
        Self { state: State::new(m), sensordata: vec![0.0; m.nsensordata] }
    }

    fn read(&mut self, d: &Data<f64>) {
        self.state.read(d);
        self.sensordata.copy_from_slice(&d.sensordata);
    }

    /// `(self − from) / h` into a column: the state's tangent, then the sensors.
    fn minus(&self, m: &Model, from: &Self, h: f64, column: &mut [f64]) {
        let (state, sensors) = column.split_at_mut(ndx(m));
        self.state.boxminus(m, &from.state, h, state);
        for (dy, (y, from)) in sensors.iter_mut().zip(self.sensordata.iter().zip(&from.sensordata))
        {
            *dy = (y - from) / h;
        }
    }
}

impl Worker {
    /// Computes this worker's share of the columns; on failure, the column and why.
    fn run(
        &mut self,
        m: &Model,
        base: &Data<f64>,
        config: &FdConfig,
        reference: &Reference<'_>,
        (first, stride): (usize, usize),
        wanted: &Wanted,
    ) -> Result<(), (usize, StepError)> {
        let length = ndx(m) + m.nsensordata;
        // what the nudges do not touch is computed once; an error here was met in the step itself
        self.d.set_state_from(base);
        forward(m, &mut self.d).map_err(|source| (first, source))?;
        // from the back: controls and activations leave positions and velocities alone, velocities leave
        // positions alone
        let columns = wanted.columns.iter().skip(first).step_by(stride).enumerate();
        for (slot, &column) in columns.rev() {
            let out = slot * length..(slot + 1) * length;
            let (side, kink) = self
                .difference(m, base, config, reference, input(m, column), out)
                .map_err(|source| (column, source))?;
            (self.sides[slot], self.kinks[slot]) = (side, kink);
        }
        Ok(())
    }

    /// One column: `dx⁺` and `dy` by an input, into `columns[out]`; on which side, and which kink lies between.
    fn difference(
        &mut self,
        m: &Model,
        base: &Data<f64>,
        config: &FdConfig,
        reference: &Reference<'_>,
        input: Input,
        out: std::ops::Range<usize>,
    ) -> Result<(Side, Option<Kink>), StepError> {
        let (eps, next) = (config.eps.of(input), reference.next);
        let mut kink = None;
        let forward = allowed(m, base, input, eps);
        let backward = (config.centered || !forward) && allowed(m, base, input, -eps);
        if forward {
            self.nudged_step(m, base, input, eps)?;
            self.plus.read(&self.d);
            kink = reference.signature.difference(&self.d, eps);
        }
        if backward {
            self.nudged_step(m, base, input, -eps)?;
            self.minus.read(&self.d);
            kink = kink.or_else(|| reference.signature.difference(&self.d, eps));
        }
        if forward && backward && kink.is_none() && eps <= NUDGE {
            kink = self.sides_differ(m, next, eps).then_some(Kink::TwoSided);
        }
        let column = &mut self.columns[out];
        let side = match (forward, backward) {
            (true, true) => {
                self.plus.minus(m, &self.minus, 2.0 * eps, column);
                Side::Both
            }
            (true, false) => {
                self.plus.minus(m, next, eps, column);
                Side::Above
            }
            (false, true) => {
                next.minus(m, &self.minus, eps, column);
                Side::Below
            }
            (false, false) => {
                column.fill(0.0);
                Side::Clamped
            }
        };
        Ok((side, kink))
    }

    /// True if the differences to the two sides are not those of a smooth function.
    fn sides_differ(&mut self, m: &Model, next: &Outcome, eps: f64) -> bool {
        let [above, below] = &mut self.one_sided;
        self.plus.minus(m, next, eps, above);
        next.minus(m, &self.minus, eps, below);
        let differ = |range: std::ops::Range<usize>| {
            let pairs = || above[range.clone()].iter().zip(&below[range.clone()]);
            let largest = pairs().fold(1.0_f64, |most, (x, y)| most.max(x.abs()).max(y.abs()));
            pairs().any(|(x, y)| (x - y).abs() > ONE_SIDED * largest)
        };
        differ(0..ndx(m)) || differ(ndx(m)..above.len())
    }

    /// A step from the state of `base`, moved by `eps` along an input.
    fn nudged_step(
        &mut self,
        m: &Model,
        base: &Data<f64>,
        input: Input,
        eps: f64,
    ) -> Result<(), StepError> {
        self.d.set_state_from(base);
        match input {
            Input::Position(i) => {
                self.direction[i] = 1.0;
                integrate_pos(m, &mut self.d.qpos, &self.direction, eps);
                self.direction[i] = 0.0;
            }
            Input::Velocity(i) => self.d.qvel[i] += eps,
            Input::Activation(i) => self.d.act[i] += eps,
            Input::Control(i) => self.d.ctrl[i] += eps,
        }
        step_skip(m, &mut self.d, reuse(m, input), self.outputs)
    }

    /// Copies this worker's columns to their places in A, B, C and D.
    fn hand_over(
        &self,
        m: &Model,
        (first, stride): (usize, usize),
        wanted: &Wanted,
        kinks: &[Column],
        to: &mut Transition,
    ) {
        let (nx, ns) = (ndx(m), m.nsensordata);
        for (slot, &column) in wanted.columns.iter().skip(first).step_by(stride).enumerate() {
            let (state, sensors) =
                self.columns[slot * (nx + ns)..(slot + 1) * (nx + ns)].split_at(nx);
            let known = kinks[column];
            let kink = known.kink.or(self.kinks[slot]);
            let origin = Column { side: self.sides[slot], kink, ..known };
            if wanted.state {
                for (i, value) in state.iter().enumerate() {
                    *to.state_entry(i, column) = *value;
                }
                to.columns[column] = origin;
            }
            if wanted.sensors {
                for (i, value) in sensors.iter().enumerate() {
                    *to.sensor_entry(i, column) = *value;
                }
                to.sensor_columns[column] = origin;
            }
        }
    }
}

/// What a nudge leaves alone. Stages of a Runge–Kutta step leave nothing.
fn reuse(m: &Model, input: Input) -> Reuse {
    match input {
        _ if m.opt.integrator == Integrator::RK4 => Reuse::Nothing,
        Input::Position(_) => Reuse::Nothing,
        Input::Velocity(_) => Reuse::Position,
        Input::Activation(_) | Input::Control(_) => Reuse::Velocity,
    }
}

/// Whether the nudge stays within the range of a control; other inputs have none.
fn allowed(m: &Model, d: &Data<f64>, input: Input, eps: f64) -> bool {
    let Input::Control(i) = input else { return true };
    let [low, high] = m.actuator_ctrlrange[i];
    let within = |u: f64| (low..=high).contains(&u);
    !m.actuator_ctrllimited[i] || (within(d.ctrl[i]) && within(d.ctrl[i] + eps))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dualstep::forward::step;
    use dualstep::mjcf::load_model_str;
    use ndarray::Array2;

    // a mass on rails with a spring: semi-implicit Euler is v⁺ = v + h (u − k q)/M, q⁺ = q + h v⁺
    const SPRING: &str = r#"
    <mujoco>
      <option timestep=".01"/>
      <worldbody>
        <body>
          <joint name="rail" type="slide" axis="1 0 0" stiffness="3"/>
          <geom size=".1" mass="2"/>
        </body>
      </worldbody>
      <actuator><motor name="push" joint="rail" ctrllimited="true" ctrlrange="-1 1"/></actuator>
      <sensor><jointpos name="where" joint="rail"/><actuatorfrc name="effort" actuator="push"/></sensor>
    </mujoco>"#;

    const BALLS: &str = r#"
    <mujoco>
      <worldbody>
        <body>
          <freejoint/>
          <geom type="box" size=".1 .2 .3" density="500"/>
          <body pos="0 .3 .3">
            <joint name="hip" type="ball" damping=".1" stiffness="1"/>
            <geom type="capsule" fromto="0 0 0 .3 .1 .4" size=".05"/>
          </body>
        </body>
      </worldbody>
      <actuator><motor joint="hip" gear="1 .2 .3"/></actuator>
    </mujoco>"#;

    fn load(xml: &str) -> (Model, Data<f64>) {
        let m = load_model_str(xml, "test.xml", std::path::Path::new(".")).unwrap();
        let d = Data::new(&m);
        (m, d)
    }

    fn close(a: &Array2<f64>, b: &[f64]) {
        let worst = a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(worst < 1e-8, "{a} against {b:?}");
    }

    #[test]
    fn spring_on_rails_by_hand() {
        let (m, mut d) = load(SPRING);
        d.qpos[0] = 0.4;
        let before = d.clone();
        let (h, k, mass) = (0.01, 3.0, 2.0);
        for centered in [false, true] {
            let config = FdConfig::uniform(centered, 1e-6);
            let t = mjd_transition_fd(&m, &d, &config).unwrap();
            close(&t.A, &[1.0 - h * h * k / mass, h, -h * k / mass, 1.0]);
            close(&t.B, &[h * h / mass, h / mass]);
            close(&t.C, &[1.0, 0.0, 0.0, 0.0]);
            close(&t.D, &[0.0, 1.0]);
            assert_eq!(t.state_names, ["rail.q", "rail.v"]);
        }
        assert_eq!((d.time, d.qpos), (before.time, before.qpos));
    }

    #[test]
    fn controls_at_a_limit_are_nudged_inwards() {
        let (m, mut d) = load(SPRING);
        let cases =
            [(1.0, Side::Below), (-1.0, Side::Above), (0.3, Side::Both), (1.5, Side::Clamped)];
        for (ctrl, expected) in cases {
            d.ctrl[0] = ctrl;
            let t = mjd_transition_fd(&m, &d, &FdConfig::default()).unwrap();
            let sides: Vec<Side> = t.columns.iter().map(|column| column.side).collect();
            assert_eq!(sides, [Side::Both, Side::Both, expected]);
            let gain = if expected == Side::Clamped { 0.0 } else { 0.005 };
            close(&t.B, &[0.01 * gain, gain]);
        }
        assert_eq!(mjd_transition_fd(&m, &d, &FdConfig::default()).unwrap().one_sided().count(), 1);
    }

    #[test]
    fn bitwise_equal_for_any_number_of_threads() {
        let (m, mut d) = load(BALLS);
        d.qvel.iter_mut().enumerate().for_each(|(i, v)| *v = 0.3 * (i as f64 + 1.0).cos());
        d.ctrl[0] = 0.7;
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| mjd_transition_fd(&m, &d, &FdConfig::default()).unwrap())
        };
        let one = on(1);
        assert!(one.A.iter().all(|x| x.is_finite()));
        for threads in [2, 3, 16, 64] {
            assert_eq!(one, on(threads));
        }
    }

    // kinetic energy belongs to the sensors of the position stage: reusing those would lose d E / d v = M v
    #[test]
    fn kinetic_energy_depends_on_velocity() {
        let (m, mut d) = load(&SPRING.replace("</sensor>", "<e_kinetic/></sensor>"));
        d.qvel[0] = 0.5;
        let t = mjd_transition_fd(&m, &d, &FdConfig::default()).unwrap();
        assert!(t.C[[2, 0]].abs() < 1e-8 && (t.C[[2, 1]] - 1.0).abs() < 1e-8);
    }

    // columns reuse what their nudge leaves alone: the same bits as whole steps
    #[test]
    fn reuse_changes_nothing() {
        use Integrator::{Euler, Implicit, ImplicitFast, ImplicitSpringDamper, RK4};
        let (mut m, _) = load(BALLS);
        for integrator in [Euler, RK4, Implicit, ImplicitFast, ImplicitSpringDamper] {
            m.opt.integrator = integrator;
            let mut d = Data::new(&m);
            d.qvel.iter_mut().enumerate().for_each(|(i, v)| *v = 0.3 * (i as f64 + 1.0).cos());
            d.ctrl[0] = 0.7;
            let t = mjd_transition_fd(&m, &d, &FdConfig::uniform(true, 1e-6)).unwrap();
            for column in 0..ndx(&m) + m.nu {
                let after = |eps: f64| {
                    let mut d = d.clone();
                    match input(&m, column) {
                        Input::Position(i) => {
                            let mut direction = vec![0.0; m.nv];
                            direction[i] = 1.0;
                            integrate_pos(&m, &mut d.qpos, &direction, eps);
                        }
                        Input::Velocity(i) => d.qvel[i] += eps,
                        Input::Activation(i) => d.act[i] += eps,
                        Input::Control(i) => d.ctrl[i] += eps,
                    }
                    step(&m, &mut d).unwrap();
                    State::of(&d)
                };
                let mut expected = vec![0.0; ndx(&m)];
                after(1e-6).boxminus(&m, &after(-1e-6), 2e-6, &mut expected);
                let (matrix, j) =
                    if column < ndx(&m) { (&t.A, column) } else { (&t.B, column - ndx(&m)) };
                assert_eq!(matrix.column(j).to_vec(), expected, "{integrator:?}, column {column}");
            }
        }
    }

    #[test]
    fn a_workspace_can_be_used_again() {
        let (m, mut d) = load(BALLS);
        let config = FdConfig::default();
        let fresh = mjd_transition_fd(&m, &d, &config).unwrap();
        let mut workspace = FdWorkspace::new(&m);
        let mut t = Transition::new(&m);
        d.ctrl[0] = 1.0;
        mjd_transition_fd_into(&m, &d, &config, &mut workspace, &mut t).unwrap();
        assert_ne!(fresh.A, t.A);
        d.ctrl[0] = 0.0;
        mjd_transition_fd_into(&m, &d, &config, &mut workspace, &mut t).unwrap();
        assert_eq!(fresh, t);
    }

    #[test]
    fn bad_input_is_an_error() {
        let (m, mut d) = load(SPRING);
        for eps in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let config = FdConfig::uniform(true, eps);
            let error = mjd_transition_fd(&m, &d, &config).unwrap_err();
            assert!(matches!(error, TransitionError::Eps(_)));
        }
        d.qvel[0] = f64::NAN;
        let error = mjd_transition_fd(&m, &d, &FdConfig::default()).unwrap_err();
        assert!(error.to_string().starts_with("the step to linearize fails: qvel[0] is NaN"));
    }
}
