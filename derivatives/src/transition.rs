//! One call for all methods: a plan says which columns come from which method, and why; the call executes it.

use dualstep::constraint::may_have_rows;
use dualstep::model::Integrator;
use dualstep::{Data, Model, Softening};

use crate::analytic::{AnalyticWorkspace, linearize};
use crate::columns::{Wanted, ncolumns, selection};
use crate::dual::{DualWorkspace, mjd_transition_dual_into};
use crate::finite_diff::{FdConfig, FdWorkspace, mjd_transition_fd_into};
use crate::matrices::{Feature, Reason, Transition, TransitionError};
use crate::sensor::covers_sensors;

/// How to differentiate a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Finite differences of whole steps: what MuJoCo has.
    Fd,
    /// Position columns by finite differences, all others in closed form: what engines have that differentiate
    /// forces by velocity only. Under RK4, whose stages move, all columns are differences.
    Hybrid,
    /// All in closed form; an error where that does not reach.
    Analytic,
    /// Dual numbers through the whole step: the oracle.
    Dual,
    /// In closed form where that covers the state, by dual numbers elsewhere; each column says which, and why.
    #[default]
    Auto,
}

/// How to take a linearization.
#[derive(Clone, Debug, PartialEq)]
pub struct DerivativeConfig {
    /// Method.
    pub method: Method,
    /// Nudges, for columns by differences.
    pub fd: FdConfig,
    /// Which columns of [A B] and [C D] to compute ([`crate::columns`]); all if none. The others are zero.
    pub columns: Option<Vec<usize>>,
    /// Whether to compute C and D; they are zero otherwise.
    pub sensors: bool,
    /// Threads of one linearization; 0: as many as the rayon pool has. The result is the same for any number.
    pub threads: usize,
    /// Soften contacts for the linearization alone: A, B, C and D are the exact derivatives, at the same state, of a step
    /// of the model with these contacts, while the model itself steps as it does. Off by default.
    ///
    /// See [`dualstep::design::smoothing`].
    pub softening: Softening,
}

impl Default for DerivativeConfig {
    fn default() -> Self {
        let (method, fd, softening) =
            (Method::default(), FdConfig::default(), Softening::default());
        Self { method, fd, columns: None, sensors: true, threads: 0, softening }
    }
}

impl DerivativeConfig {
    /// All columns by a method.
    pub fn by(method: Method) -> Self {
        Self { method, ..Self::default() }
    }
}

/// Which columns of which matrices come from which method, and why.
#[derive(Clone, Debug, Default)]
struct Plan {
    fd: Option<(Wanted, Reason)>,
    analytic: Option<(Wanted, Reason)>,
    dual: Option<(Wanted, Reason)>,
    /// Dual numbers at states that the closed form does not cover.
    fallback: Option<Wanted>,
}

impl Plan {
    fn new(m: &Model, config: &DerivativeConfig) -> Result<Self, TransitionError> {
        let columns = selection(m, config.columns.as_deref())?;
        let sensors = config.sensors && m.nsensordata > 0;
        let all = Wanted { columns, state: true, sensors };
        Ok(match config.method {
            Method::Fd => Self { fd: Some((all, Reason::Requested)), ..Self::default() },
            Method::Dual => Self { dual: Some((all, Reason::Requested)), ..Self::default() },
            Method::Hybrid if m.opt.integrator == Integrator::RK4 => {
                Self { fd: Some((all, Reason::NotCovered(Feature::Stages))), ..Self::default() }
            }
            Method::Hybrid => {
                let (positions, others) = all.columns.iter().partition(|&&c| c < m.nv);
                let fd = Wanted { columns: positions, ..all };
                let others = Wanted { columns: others, ..all };
                let fd = Some((fd, Reason::Requested));
                Self { fd, analytic: Some((others, Reason::Requested)), ..Self::default() }
            }
            Method::Analytic => {
                Self { analytic: Some((all, Reason::Requested)), ..Self::default() }
            }
            Method::Auto => {
                let fallback = (may_have_rows(m) || !covers_sensors(m)).then(|| all.clone());
                Self { analytic: Some((all, Reason::Covered)), fallback, ..Self::default() }
            }
        })
    }
}

/// What [`mjd_transition_into`] needs: the plan of a model and a configuration, and the workspaces of its methods.
///
/// Allocates all that a linearization needs.
#[derive(Debug)]
pub struct TransitionWorkspace {
    /// The model with softened contacts, if that is what is differentiated.
    softened: Option<Box<Model>>,
    softening: Softening,
    /// Whether there are columns of A and B, and of C and D, that no method writes.
    leaves_out: [bool; 2],
    fd: Option<(FdConfig, FdWorkspace)>,
    analytic: Option<AnalyticWorkspace>,
    dual: Option<DualWorkspace>,
    /// For all matrices, and for C and D alone.
    fallback: Option<[DualWorkspace; 2]>,
}

impl TransitionWorkspace {
    /// A workspace for the model and the configuration.
    ///
    /// # Errors
    /// If the configuration names columns that the model does not have, or softens contacts by what is no number.
    pub fn new(m: &Model, config: &DerivativeConfig) -> Result<Self, TransitionError> {
        let softened = softened(m, &config.softening)?.map(Box::new);
        let m = softened.as_deref().unwrap_or(m);
        let Plan { fd, analytic, dual, fallback } = Plan::new(m, config)?;
        let some = selection(m, config.columns.as_deref())?.len() < ncolumns(m);
        let threads = match config.threads {
            0 => rayon::current_num_threads(),
            threads => threads,
        };
        let fd = fd.filter(|(wanted, _)| !wanted.is_empty());
        let analytic = analytic.filter(|(wanted, _)| !wanted.is_empty());
        let dual = dual.filter(|(wanted, _)| !wanted.is_empty());
        let fallback = fallback.filter(|wanted| !wanted.is_empty());
        let workspace = Self {
            softened: None,
            softening: config.softening,
            leaves_out: [some, some || !config.sensors],
            fd: fd.map(|(wanted, why)| (config.fd, FdWorkspace::of(m, wanted, why, threads))),
            analytic: analytic.map(|(wanted, why)| AnalyticWorkspace::of(m, wanted, why)),
            dual: dual.map(|(wanted, why)| DualWorkspace::of(m, wanted, why)),
            fallback: fallback.map(|wanted| {
                [wanted.clone(), Wanted { state: false, ..wanted }]
                    .map(|wanted| DualWorkspace::of(m, wanted, Reason::Covered))
            }),
        };
        Ok(Self { softened, ..workspace })
    }
}

/// The model with softened contacts; none if nothing is softened.
///
/// # Errors
/// If a number of the softening is negative or not finite.
pub(crate) fn softened(m: &Model, softening: &Softening) -> Result<Option<Model>, TransitionError> {
    if softening.is_none() {
        return Ok(None);
    }
    let mut softened = m.clone();
    softening.apply(&mut softened).map_err(TransitionError::Softening)?;
    Ok(Some(softened))
}

/// A, B, C and D of one step at the state of `d`, which stays as it is.
///
/// C and D belong to the state before the step.
///
/// # Errors
/// If the step fails, the configuration names columns that the model does not have, or the method does not cover
/// the state.
pub fn mjd_transition(
    m: &Model,
    d: &Data<f64>,
    config: &DerivativeConfig,
) -> Result<Transition, TransitionError> {
    let mut workspace = TransitionWorkspace::new(m, config)?;
    let mut transition = Transition::new(m);
    mjd_transition_into(m, d, &mut workspace, &mut transition)?;
    Ok(transition)
}

/// As [`mjd_transition`], into matrices and through a workspace that are used again. Columns that the workspace's
/// configuration leaves out become zero.
///
/// # Errors
/// If the step fails, or the method does not cover the state.
///
/// # Panics
/// If `workspace` or `transition` belong to a model of other sizes.
pub fn mjd_transition_into(
    m: &Model,
    d: &Data<f64>,
    workspace: &mut TransitionWorkspace,
    transition: &mut Transition,
) -> Result<(), TransitionError> {
    let m = workspace.softened.as_deref().unwrap_or(m);
    transition.softening = workspace.softening;
    let [state, sensors] = workspace.leaves_out;
    if state {
        transition.clear_state();
    }
    if sensors {
        transition.clear_sensors();
    }
    if let Some((config, fd)) = &mut workspace.fd {
        mjd_transition_fd_into(m, d, config, fd, transition)?;
    }
    if let Some(analytic) = &mut workspace.analytic {
        let result = linearize(m, d, analytic, transition);
        let (feature, whole) = match result {
            Ok(None) => return Ok(()),
            Ok(Some(feature)) => (feature, false),
            Err(TransitionError::NotCovered { feature }) => (feature, true),
            Err(error) => return Err(error),
        };
        let Some([all, sensors]) = &mut workspace.fallback else {
            return Err(TransitionError::NotCovered { feature });
        };
        let dual = if whole { all } else { sensors };
        dual.why = Reason::NotCovered(feature);
        mjd_transition_dual_into(m, d, dual, transition)?;
    }
    if let Some(dual) = &mut workspace.dual {
        mjd_transition_dual_into(m, d, dual, transition)?;
    }
    Ok(())
}

/// A, B, C and D with position columns by finite differences and all others in closed form.
///
/// # Errors
/// As [`mjd_transition`]; the closed form may not cover the state.
///
/// Source: the design of engines that differentiate forces by velocity only, MuJoCo's `mjd_smooth_vel` among them.
pub fn mjd_transition_hybrid(m: &Model, d: &Data<f64>) -> Result<Transition, TransitionError> {
    mjd_transition(m, d, &DerivativeConfig::by(Method::Hybrid))
}
