//! What the constraint solver's tolerance does to differences of steps, and does not do to the closed form.
//!
//! A step ends where its solver stops, short of the minimum by its tolerance, and from a warm start elsewhere than from
//! a cold one. Differences of steps differentiate that as well. The closed form is taken at the minimum.

use dualstep::forward::forward;
use dualstep::model::options::disable;
use dualstep::{Data, Model};
use dualstep_derivatives::check::{comparable, compare_where, fd_convergence, nudges};
use dualstep_derivatives::{
    DerivativeConfig, FdConfig, Method, Transition, mjd_transition, mjd_transition_fd,
};
use serde::Serialize;

use super::constraints::active;
use super::report::Branches;
use super::states::State;

/// Differences in contact under several settings of the solver.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SolverStudy {
    /// State.
    pub state: String,
    /// Rows of constraints there.
    pub rows: usize,
    /// V-curves of centred differences.
    pub curves: Vec<SolverCurve>,
    /// Errors over the tolerance.
    pub tolerances: Vec<ToleranceRow>,
}

/// A V-curve under one setting.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SolverCurve {
    /// Whether nudged steps start from the solution at the state.
    pub warmstart: bool,
    /// Tolerance of the solver.
    pub tolerance: f64,
    /// The largest error of all blocks.
    pub curve: Option<Branches>,
}

/// Both methods at one tolerance.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToleranceRow {
    /// Tolerance of the solver.
    pub tolerance: f64,
    /// Iterations of a cold start.
    pub iterations: usize,
    /// Norm of the gradient over trace M where the solver stops.
    pub gradient: f64,
    /// Error of centred differences with their standard nudge; none if a step fails.
    pub differences: Option<f64>,
    /// Error of the closed form; none if there is none.
    pub closed_form: Option<f64>,
}

/// Tolerances of the V-curves.
const CURVES: [f64; 2] = [1e-8, 0.0];
/// Tolerances of the table.
const TOLERANCES: [f64; 6] = [1e-2, 1e-4, 1e-6, 1e-8, 1e-12, 0.0];

/// At the first of the states where a constraint pushes and no column has a kink; none if there is none.
pub(super) fn solver_study(m: &Model, states: &[State]) -> Option<SolverStudy> {
    let smooth = |t: &Transition| t.columns.iter().all(|column| column.kink.is_none());
    let pushing = states.iter().filter(|state| !active(m, &state.d).is_empty());
    let (state, exact) = pushing
        .filter_map(|state| {
            let config = serial(Method::Dual);
            Some((state, mjd_transition(m, &state.d, &config).ok()?))
        })
        .find(|(_, exact)| smooth(exact))?;
    let mut start = state.d.clone();
    let mut solved = state.d.clone();
    solved.polish(m, true);
    forward(m, &mut solved).ok()?;
    start.qacc_warmstart.copy_from_slice(&solved.qacc);

    let mut curves = Vec::new();
    for warmstart in [true, false] {
        for tolerance in CURVES {
            let m = with(m, tolerance, warmstart);
            let found = fd_convergence(&m, &start, &FdConfig::centered(), &nudges(true), &exact);
            let curve = found.ok().and_then(|c| Branches::of(&c.worst));
            curves.push(SolverCurve { warmstart, tolerance, curve });
        }
    }
    let row = |tolerance| at_tolerance(&with(m, tolerance, false), &start, &exact);
    let tolerances = TOLERANCES.into_iter().map(row).collect();
    Some(SolverStudy { state: state.name.clone(), rows: solved.efc.nefc, curves, tolerances })
}

fn serial(method: Method) -> DerivativeConfig {
    DerivativeConfig { threads: 1, ..DerivativeConfig::by(method) }
}

/// The model with other settings of its solver.
fn with(m: &Model, tolerance: f64, warmstart: bool) -> Model {
    let mut m = m.clone();
    m.opt.tolerance = tolerance;
    if warmstart {
        m.opt.disableflags &= !disable::WARMSTART;
    } else {
        m.opt.disableflags |= disable::WARMSTART;
    }
    m
}

fn at_tolerance(m: &Model, start: &Data<f64>, exact: &Transition) -> ToleranceRow {
    let mut d = start.clone();
    // a step that fails has no linearization either
    let solved = forward(m, &mut d).is_ok();
    let worst = |t: &Transition| {
        let keep = |_, k: usize| comparable(&t.columns[k], &exact.columns[k]);
        compare_where(m, t, exact, keep).iter().map(|found| found.err).fold(0.0, f64::max)
    };
    let fd = mjd_transition_fd(m, start, &FdConfig::centered());
    let closed = mjd_transition(m, start, &serial(Method::Analytic));
    ToleranceRow {
        tolerance: m.opt.tolerance,
        iterations: if solved { d.solver.niter } else { 0 },
        gradient: d.solver.gradient,
        differences: fd.ok().as_ref().map(worst),
        closed_form: closed.ok().as_ref().map(worst),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derivatives::states;
    use dualstep::mjcf::load_model_str;

    #[test]
    fn differences_depend_on_the_tolerance_and_the_closed_form_does_not() {
        let xml = r#"
        <mujoco>
          <option solver="CG"/>
          <worldbody>
            <geom type="plane" size="1 1 1"/>
            <body pos="0 0 .099">
              <freejoint/><geom type="box" size=".1 .1 .1"/>
              <body pos="0 0 .2"><joint axis="1 .3 0"/><geom size=".1" pos=".1 0 .1"/></body>
            </body>
          </worldbody>
          <keyframe><key qvel=".2 .1 0 .3 .2 .1 1"/></keyframe>
        </mujoco>"#;
        let m = load_model_str(xml, "test.xml", std::path::Path::new(".")).unwrap();
        let study = solver_study(&m, &states(&m, 0, 1)[1..]).unwrap();
        assert_eq!((study.rows, study.curves.len()), (16, 4));
        let [loose, .., tight] = &study.tolerances[..] else { panic!() };
        assert!(loose.iterations < tight.iterations);
        assert!(loose.gradient > 1e3 * tight.gradient, "{loose:?} {tight:?}");
        let [a, b] = [loose, tight].map(|row| row.differences.unwrap());
        assert!(a > 10.0 * b, "{study:?}");
        assert!(study.tolerances.iter().all(|row| row.closed_form < Some(1e-12)), "{study:?}");
    }
}
