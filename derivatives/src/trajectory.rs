//! Linearizations at all states of a trajectory, in parallel.

use dualstep::{Data, Model};
use rayon::prelude::*;
use thiserror::Error;

use crate::matrices::{Transition, TransitionError};
use crate::transition::{DerivativeConfig, TransitionWorkspace, mjd_transition_into};

/// A state of a trajectory and its controls. What is not given stays as the base has it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Knot<'a> {
    /// Time \[s\].
    pub time: Option<f64>,
    /// Positions (nq).
    pub qpos: &'a [f64],
    /// Velocities (nv).
    pub qvel: &'a [f64],
    /// Activations (na).
    pub act: &'a [f64],
    /// Controls (nu).
    pub ctrl: &'a [f64],
    /// Acceleration that an iterative solver starts from (nv).
    pub qacc_warmstart: Option<&'a [f64]>,
}

impl Knot<'_> {
    /// The base at this knot.
    fn write(&self, base: &Data<f64>, to: &mut Data<f64>) {
        to.set_state_from(base);
        to.qpos.copy_from_slice(self.qpos);
        to.qvel.copy_from_slice(self.qvel);
        to.act.copy_from_slice(self.act);
        to.ctrl.copy_from_slice(self.ctrl);
        if let Some(time) = self.time {
            to.time = time;
        }
        if let Some(warmstart) = self.qacc_warmstart {
            to.qacc_warmstart.copy_from_slice(warmstart);
        }
    }
}

/// A knot could not be linearized.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("knot {knot}: {source}")]
pub struct TrajectoryError {
    /// Index of the knot.
    pub knot: usize,
    /// Why.
    pub source: TransitionError,
}

/// Everything that [`linearize_trajectory_into`] writes on its way: one set for each thread.
#[derive(Debug)]
pub struct TrajectoryWorkspace {
    workers: Vec<(Data<f64>, TransitionWorkspace)>,
}

impl TrajectoryWorkspace {
    /// A workspace for the model and the configuration, for as many threads as the current rayon pool has.
    ///
    /// # Errors
    /// As [`TransitionWorkspace::new`].
    pub fn new(m: &Model, config: &DerivativeConfig) -> Result<Self, TransitionError> {
        // knots are shared out, so that each is the work of one thread
        let config = DerivativeConfig { threads: 1, ..config.clone() };
        let worker = || Ok((Data::new(m), TransitionWorkspace::new(m, &config)?));
        let count = rayon::current_num_threads().max(1);
        let workers = std::iter::repeat_with(worker).take(count).collect::<Result<_, _>>()?;
        Ok(Self { workers })
    }
}

/// A, B, C and D at each knot. Applied forces, mocap poses and active equalities are those of `base`, which stays
/// as it is; so are time and warm start where a knot has none.
///
/// The result is the same, bit for bit, for any number of threads: no knot knows of another.
///
/// # Errors
/// The first knot that cannot be linearized; the configuration (as knot 0).
///
/// # Panics
/// If a knot belongs to a model of other sizes.
pub fn linearize_trajectory(
    m: &Model,
    base: &Data<f64>,
    knots: &[Knot],
    config: &DerivativeConfig,
) -> Result<Vec<Transition>, TrajectoryError> {
    let mut transitions = vec![Transition::new(m); knots.len()];
    let mut workspace = TrajectoryWorkspace::new(m, config)
        .map_err(|source| TrajectoryError { knot: 0, source })?;
    linearize_trajectory_into(m, base, knots, &mut workspace, &mut transitions)?;
    Ok(transitions)
}

/// As [`linearize_trajectory`], into matrices and through a workspace that are used again.
///
/// # Errors
/// The first knot that cannot be linearized.
///
/// # Panics
/// If there are not as many transitions as knots, or sizes are those of another model.
pub fn linearize_trajectory_into(
    m: &Model,
    base: &Data<f64>,
    knots: &[Knot],
    workspace: &mut TrajectoryWorkspace,
    transitions: &mut [Transition],
) -> Result<(), TrajectoryError> {
    assert_eq!(knots.len(), transitions.len(), "a transition for each knot");
    let share = knots.len().div_ceil(workspace.workers.len()).max(1);
    let failures = workspace
        .workers
        .par_iter_mut()
        .zip(knots.par_chunks(share).zip(transitions.par_chunks_mut(share)))
        .enumerate()
        .filter_map(|(chunk, ((d, workspace), (knots, transitions)))| {
            let mut pairs = knots.iter().zip(transitions).enumerate();
            pairs.find_map(|(k, (knot, transition))| {
                knot.write(base, d);
                let source = mjd_transition_into(m, d, workspace, transition).err()?;
                Some(TrajectoryError { knot: chunk * share + k, source })
            })
        });
    failures.min_by_key(|error| error.knot).map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrices::Origin;
    use crate::transition::{Method, mjd_transition};
    use dualstep::mjcf::load_model_str;
    use dualstep::step;

    const MODEL: &str = r#"
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
      <actuator><general joint="hip" gear="1 .2 .3" dyntype="filter" dynprm=".1"/></actuator>
      <sensor><clock name="clock"/><gyro site="s"/></sensor>
    </mujoco>"#;

    /// A model, and the data of each state of a motion of it.
    fn motion() -> (Model, Vec<Data<f64>>) {
        let text = MODEL.replace("<body pos", "<site name=\"s\"/><body pos");
        let m = load_model_str(&text, "test.xml", std::path::Path::new(".")).unwrap();
        let mut d = Data::new(&m);
        d.qvel.iter_mut().enumerate().for_each(|(i, v)| *v = 0.3 * (i as f64 + 1.0).cos());
        let mut states = vec![];
        for k in 0..7 {
            d.ctrl[0] = f64::from(k) * 0.1;
            states.push(d.clone());
            step(&m, &mut d).unwrap();
        }
        (m, states)
    }

    fn knots(states: &[Data<f64>]) -> Vec<Knot<'_>> {
        states
            .iter()
            .map(|d| Knot {
                time: Some(d.time),
                qpos: &d.qpos,
                qvel: &d.qvel,
                act: &d.act,
                ctrl: &d.ctrl,
                qacc_warmstart: Some(&d.qacc_warmstart),
            })
            .collect()
    }

    #[test]
    fn knots_are_linearized_as_one_by_one_on_any_number_of_threads() {
        let (m, states) = motion();
        for method in [Method::Auto, Method::Fd, Method::Hybrid, Method::Dual] {
            let config = DerivativeConfig::by(method);
            let one_by_one: Vec<Transition> =
                states.iter().map(|d| mjd_transition(&m, d, &config).unwrap()).collect();
            for threads in [1, 2, 3, 16] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let base = states[3].clone();
                let found = pool
                    .install(|| linearize_trajectory(&m, &base, &knots(&states), &config))
                    .unwrap();
                assert_eq!(found, one_by_one, "{method:?} on {threads} threads");
                // nothing of the base has moved
                assert_eq!((base.time, &base.qpos), (states[3].time, &states[3].qpos));
            }
        }
    }

    #[test]
    fn the_first_bad_knot_is_named() {
        let (m, states) = motion();
        let mut bad = states.clone();
        bad[2].qvel[0] = f64::NAN;
        bad[5].qvel[0] = f64::NAN;
        let config = DerivativeConfig::default();
        let error = linearize_trajectory(&m, &states[0], &knots(&bad), &config).unwrap_err();
        assert_eq!(error.knot, 2);
        assert!(error.to_string().starts_with("knot 2: the step to linearize fails: qvel[0]"));
    }

    #[test]
    fn columns_can_be_chosen() {
        let (m, states) = motion();
        let d = &states[4];
        for method in [Method::Auto, Method::Fd, Method::Hybrid, Method::Dual] {
            let all = mjd_transition(&m, d, &DerivativeConfig::by(method)).unwrap();
            let wanted = vec![4, 11, 18, 19, 4];
            let config =
                DerivativeConfig { columns: Some(wanted.clone()), ..DerivativeConfig::by(method) };
            let some = mjd_transition(&m, d, &config).unwrap();
            for k in 0..some.columns.len() {
                let asked = wanted.contains(&k);
                let nx = some.A.ncols();
                let column = |t: &Transition| match k.checked_sub(nx) {
                    None => (t.A.column(k).to_vec(), t.C.column(k).to_vec()),
                    Some(k) => (t.B.column(k).to_vec(), t.D.column(k).to_vec()),
                };
                assert_eq!(some.columns[k].origin == Origin::Skipped, !asked, "{method:?} {k}");
                if asked {
                    let ((x, y), (x_all, y_all)) = (column(&some), column(&all));
                    for (a, b) in x.iter().chain(&y).zip(x_all.iter().chain(&y_all)) {
                        // a chunk of dual numbers without a position keeps its quaternions as they are
                        let rounding = if method == Method::Dual { 1e-13 } else { 0.0 };
                        assert!((a - b).abs() <= rounding, "{method:?} {k}: {a} is not {b}");
                    }
                    assert_eq!(some.columns[k], all.columns[k], "{method:?} {k}");
                } else {
                    let (x, y) = column(&some);
                    assert!(x.iter().chain(&y).all(|v| *v == 0.0), "{method:?} {k}");
                }
            }
            let config = DerivativeConfig { sensors: false, ..DerivativeConfig::by(method) };
            let state_only = mjd_transition(&m, d, &config).unwrap();
            assert_eq!((&state_only.A, &state_only.B), (&all.A, &all.B), "{method:?}");
            assert!(state_only.C.iter().all(|x| *x == 0.0));
            assert!(state_only.sensor_columns.iter().all(|c| c.origin == Origin::Skipped));
        }
        let config = DerivativeConfig { columns: Some(vec![99]), ..DerivativeConfig::default() };
        let error = mjd_transition(&m, d, &config).unwrap_err();
        assert_eq!(error, TransitionError::Column { column: 99, count: 20 });
    }
}
