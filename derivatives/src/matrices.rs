//! The linearization of a step: matrices, names, and where each column comes from.

use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::path::Path;

use dualstep::softening::SofteningError;
use dualstep::solver::SolverStatus;
use dualstep::{Data, Model, Scalar, Softening, StepError};
use ndarray::{Array2, arr0};
use ndarray_npy::{NpzWriter, WriteNpzError};
use thiserror::Error;

use crate::npz::add_names;
use crate::tangent::{ctrl_names, ndx, sensor_names, state_names};

/// Linearization of one step at a state: `dx⁺ = A dx + B du`, `dy = C dx + D du`, with
/// `dx = [dq (nv), dv (nv), da (na)]`, `u` the controls and `y` the sensors.
///
/// C and D belong to the state before the step: sensors are evaluated before the state is integrated.
#[derive(Clone, Debug, PartialEq)]
pub struct Transition {
    /// d next state / d state, (2nv+na) × (2nv+na).
    pub A: Array2<f64>,
    /// d next state / d control, (2nv+na) × nu.
    pub B: Array2<f64>,
    /// d sensors / d state, nsensordata × (2nv+na), before the step.
    pub C: Array2<f64>,
    /// d sensors / d control, nsensordata × nu, before the step.
    pub D: Array2<f64>,
    /// Rows and columns of A, rows of B, columns of C.
    pub state_names: Vec<String>,
    /// Columns of B and D.
    pub ctrl_names: Vec<String>,
    /// Rows of C and D.
    pub sensor_names: Vec<String>,
    /// Where each column of A, then each of B, comes from (2nv+na + nu).
    pub columns: Vec<Column>,
    /// Where each column of C, then each of D, comes from (2nv+na + nu).
    pub sensor_columns: Vec<Column>,
    /// By how much contacts were softened for it: not at all, if it is the derivative of the step.
    pub softening: Softening,
    /// How the constraint solver ended at the state.
    pub solver: Solve,
}

/// How the constraint solver ended where a linearization was taken.
///
/// A derivative is that of the minimum. Closed form and dual numbers go on to it from where the solver of the model's
/// options ends; differences take steps as they are. Of an RK4 step this is the worst of the stages that the method looks at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Solve {
    /// How the solver of the model's options ended.
    pub status: SolverStatus,
    /// Its iterations.
    pub niter: usize,
    /// Norm of the gradient there over the trace of M: what is left of the equation of motion \[m/s²\].
    pub gradient: f64,
    /// True if it reached the minimum but for rounding. If not, a step is not what is differentiated.
    pub reached: bool,
    /// True if the derivative was taken at the minimum. If not, it is off.
    pub at_minimum: bool,
}

impl Default for Solve {
    /// There are no constraints.
    fn default() -> Self {
        let status = SolverStatus::default();
        Self { status, niter: 0, gradient: 0.0, reached: true, at_minimum: true }
    }
}

impl Solve {
    /// That of the last forward dynamics of `d`.
    pub(crate) fn of<T: Scalar>(m: &Model, d: &Data<T>) -> Self {
        let stats = &d.solver;
        let (status, gradient) = stats.before_polish.unwrap_or((stats.status, stats.gradient));
        Self {
            status,
            niter: stats.niter,
            gradient,
            reached: stats.solver_reached_minimum(m.opt.tolerance),
            at_minimum: stats.reached_minimum(m.opt.tolerance),
        }
    }

    /// The worse of the two.
    #[must_use]
    pub(crate) fn worse(self, other: Self) -> Self {
        let key = |s: &Self| (!s.at_minimum, !s.reached, s.gradient);
        if key(&other) > key(&self) { other } else { self }
    }
}

impl fmt::Display for Solve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { status, niter, gradient, .. } = self;
        write!(f, "{status} after {niter} iterations, gradient {gradient:.1e}")
    }
}

/// Where a column comes from, and what is known of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// The method.
    pub origin: Origin,
    /// Why that method.
    pub why: Reason,
    /// On which side of the state the derivative was taken.
    pub side: Side,
    /// What has a kink at the state, so that the other side has another derivative; none if nothing has.
    pub kink: Option<Kink>,
}

/// The method that gave a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Closed form.
    Analytic,
    /// Dual numbers through the pipeline.
    Dual,
    /// Finite differences of steps.
    Fd,
    /// An average over samples around the state.
    Sampled,
    /// None: the column was not asked for and is zero.
    Skipped,
}

/// Why a column comes from its method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The method is the one that was asked for.
    Requested,
    /// The closed form covers it.
    Covered,
    /// The closed form does not reach: the model has a feature that it does not cover.
    NotCovered(Feature),
    /// The column is not among those that were asked for.
    NotRequested,
}

/// Side of the state on which a derivative is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Both: nudged to both sides, or exact where nothing clamps.
    Both,
    /// Above only: nudged forward, or exact at the lower end of a range.
    Above,
    /// Below only: nudged backward, or exact at the upper end of a range.
    Below,
    /// Neither: a control beyond its range, whose column is zero.
    Clamped,
}

/// What has different derivatives on its two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kink {
    /// A control is at an end of its `ctrlrange`.
    ControlRange,
    /// An activation is at an end of its `actrange`.
    ActivationRange,
    /// An actuator's force is at an end of its `forcerange`.
    ForceRange,
    /// The actuators' force on a joint is at an end of its `actuatorfrcrange`.
    JointForceRange,
    /// The actuators' force on a tendon is at an end of its `actuatorfrcrange`.
    TendonForceRange,
    /// A tendon's length is at an end of its spring's dead band.
    SpringDeadBand,
    /// A muscle's activation equals its control, where its time constant jumps from activation to deactivation.
    MuscleTimeConstant,
    /// A muscle's control is 0 or 1: beyond that it changes nothing.
    MuscleControl,
    /// A velocity is zero, where quadratic damping or the force of a muscle turns: a kink for integrators that are
    /// implicit in the slope of the force.
    Rest,
    /// A contact of two geoms is about to be made or to break.
    ContactOnset([usize; 2]),
    /// A contact of two geoms is about to push or to let go, to slip or to stick.
    ContactForce([usize; 2]),
    /// A contact of two geoms jumps to another corner, edge or face of theirs.
    ContactFeature([usize; 2]),
    /// A joint is at the margin of its limit, or the limit is about to push or to let go.
    JointLimit(usize),
    /// A tendon is at the margin of its limit, or the limit is about to push or to let go.
    TendonLimit(usize),
    /// The friction loss of a degree of freedom is about to slip or to stick.
    JointFriction(usize),
    /// The friction loss of a tendon is about to slip or to stick.
    TendonFriction(usize),
    /// An equality constraint comes or goes.
    Equality(usize),
    /// Differences to the two sides of the state are not the same, for whatever reason.
    TwoSided,
}

impl Kink {
    /// As it is shown, with the names of what it is about.
    pub fn describe(&self, m: &Model) -> String {
        let name = |names: &[String], kind: &str, id: usize| match names.get(id).map(String::as_str)
        {
            None | Some("") => format!("{kind} {id}"),
            Some(name) => name.to_owned(),
        };
        let geoms = |[a, b]: [usize; 2]| {
            let [a, b] = [a, b].map(|g| name(&m.names.geom, "geom", g));
            format!("{a} and {b}")
        };
        let tendon = |t: usize| name(&m.names.tendon, "tendon", t);
        match *self {
            Self::ContactOnset(pair) => {
                format!("contact of {} about to be made or to break", geoms(pair))
            }
            Self::ContactForce(pair) => {
                format!("contact of {} about to change its force", geoms(pair))
            }
            Self::ContactFeature(pair) => {
                format!("contact of {} between two features", geoms(pair))
            }
            Self::JointLimit(j) => {
                format!("limit of {} about to switch", name(&m.names.joint, "joint", j))
            }
            Self::TendonLimit(t) => format!("limit of {} about to switch", tendon(t)),
            Self::JointFriction(dof) => {
                let joint = name(&m.names.joint, "joint", m.dof_jntid[dof]);
                format!("friction of {joint} about to slip or to stick")
            }
            Self::TendonFriction(t) => {
                format!("friction of {} about to slip or to stick", tendon(t))
            }
            Self::Equality(e) => {
                format!("equality {} comes or goes", name(&m.names.equality, "equality", e))
            }
            _ => self.to_string(),
        }
    }
}

/// What the closed form of a method does not cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Feature {
    /// Stages of a Runge–Kutta step start from positions that depend on velocities, so that velocity columns
    /// need position derivatives.
    Stages,
    /// Limits or equalities are penalties, and violated.
    Penalty,
    /// A contact of surfaces that move on their bodies (`surfacevel`).
    MovingSurfaces,
    /// An actuator pulls on what its body touches.
    BodyTransmission,
    /// Constraints are active, and their softness follows from the exact diagonal of the inertia (`diagexact`).
    ExactDiagonal,
    /// Sensors of distances between geoms.
    Sensors,
    /// A contact whose geometry does not come out the same in a second run of its collider.
    ContactGeometry,
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stages => "stages of RK4 need derivatives by position for every column",
            Self::Penalty => "limits or equalities as penalties",
            Self::MovingSurfaces => "contacts of moving surfaces",
            Self::BodyTransmission => "an actuator pulls on what its body touches",
            Self::ExactDiagonal => "the exact diagonal of the constraint inertia",
            Self::Sensors => "sensors of distances between geoms",
            Self::ContactGeometry => "a contact whose features are not clear",
        })
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Analytic => "analytic",
            Self::Dual => "dual",
            Self::Fd => "fd",
            Self::Sampled => "sampled",
            Self::Skipped => "skipped",
        })
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Requested => f.write_str("requested"),
            Self::Covered => f.write_str("covered by the closed form"),
            Self::NotCovered(feature) => write!(f, "no closed form: {feature}"),
            Self::NotRequested => f.write_str("not requested"),
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Both => "both",
            Self::Above => "above",
            Self::Below => "below",
            Self::Clamped => "clamped",
        })
    }
}

impl fmt::Display for Kink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ControlRange => "control at an end of its ctrlrange",
            Self::ActivationRange => "activation at an end of its actrange",
            Self::ForceRange => "actuator force at an end of its forcerange",
            Self::JointForceRange => "actuator force on a joint at an end of its actuatorfrcrange",
            Self::TendonForceRange => {
                "actuator force on a tendon at an end of its actuatorfrcrange"
            }
            Self::SpringDeadBand => "tendon length at an end of its spring's dead band",
            Self::MuscleTimeConstant => "muscle between activation and deactivation",
            Self::MuscleControl => "control of a muscle at 0 or 1, beyond which nothing changes",
            Self::Rest => "zero velocity, where the slope of a damper or a muscle turns",
            Self::ContactOnset([a, b]) => {
                return write!(f, "contact of geoms {a} and {b} about to be made or to break");
            }
            Self::ContactForce([a, b]) => {
                return write!(f, "contact of geoms {a} and {b} about to change its force");
            }
            Self::ContactFeature([a, b]) => {
                return write!(f, "contact of geoms {a} and {b} between two features");
            }
            Self::JointLimit(j) => return write!(f, "limit of joint {j} about to switch"),
            Self::TendonLimit(t) => return write!(f, "limit of tendon {t} about to switch"),
            Self::JointFriction(i) => {
                return write!(f, "friction of degree of freedom {i} about to slip or to stick");
            }
            Self::TendonFriction(t) => {
                return write!(f, "friction of tendon {t} about to slip or to stick");
            }
            Self::Equality(e) => return write!(f, "equality {e} comes or goes"),
            Self::TwoSided => "differences to the two sides are not the same",
        })
    }
}

impl Column {
    /// A column that was not asked for.
    pub(crate) const SKIPPED: Self =
        Self { origin: Origin::Skipped, why: Reason::NotRequested, side: Side::Both, kink: None };

    /// True if only one side of the state has this derivative, or was looked at, or the column is zero because
    /// a control is beyond its range.
    pub fn one_sided(&self) -> bool {
        self.side != Side::Both || self.kink.is_some()
    }
}

impl Transition {
    /// Zero matrices of the model's sizes, with their names.
    pub fn new(m: &Model) -> Self {
        let (nx, nu, ns) = (ndx(m), m.nu, m.nsensordata);
        Self {
            A: Array2::zeros((nx, nx)),
            B: Array2::zeros((nx, nu)),
            C: Array2::zeros((ns, nx)),
            D: Array2::zeros((ns, nu)),
            state_names: state_names(m),
            ctrl_names: ctrl_names(m),
            sensor_names: sensor_names(m),
            columns: vec![Column::SKIPPED; nx + nu],
            sensor_columns: vec![Column::SKIPPED; nx + nu],
            softening: Softening::default(),
            solver: Solve::default(),
        }
    }

    /// Names of the columns of [A B] and of [C D]: states, then controls.
    pub fn column_names(&self) -> impl Iterator<Item = &str> {
        self.state_names.iter().chain(&self.ctrl_names).map(String::as_str)
    }

    /// Columns of [A B] for which the two sides of the state differ, or only one was looked at, with their
    /// names.
    pub fn one_sided(&self) -> impl Iterator<Item = (&str, &Column)> {
        self.column_names().zip(&self.columns).filter(|(_, column)| column.one_sided())
    }

    /// Features that the closed form does not cover, each once: why columns come from another method.
    pub fn not_covered(&self) -> Vec<Feature> {
        let mut features = Vec::new();
        for column in self.columns.iter().chain(&self.sensor_columns) {
            match column.why {
                Reason::NotCovered(feature) if !features.contains(&feature) => {
                    features.push(feature);
                }
                _ => {}
            }
        }
        features
    }

    /// Writes a `.npz` file: `A B C D`, their names, and for each column of [A B] and of [C D] its origin, why,
    /// side and kink (strings); of the constraint solver `solver_reached` and `solver_at_minimum` (1 or 0), and
    /// `solver_gradient`, as [`Solve`] has them.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save_npz(&self, path: &Path) -> io::Result<()> {
        let mut npz = NpzWriter::new_compressed(BufWriter::new(File::create(path)?));
        let written = self.write_npz(&mut npz).and_then(|()| npz.finish().map(|_| ()));
        written.map_err(io::Error::other)
    }

    /// As [`save_npz`](Self::save_npz), into a file that is being written.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_npz<W: Write + Seek>(&self, npz: &mut NpzWriter<W>) -> Result<(), WriteNpzError> {
        npz.add_array("A", &self.A)?;
        npz.add_array("B", &self.B)?;
        npz.add_array("C", &self.C)?;
        npz.add_array("D", &self.D)?;
        add_names(npz, "state_names", &self.state_names)?;
        add_names(npz, "ctrl_names", &self.ctrl_names)?;
        add_names(npz, "sensor_names", &self.sensor_names)?;
        for (prefix, columns) in
            [("column", &self.columns), ("sensor_column", &self.sensor_columns)]
        {
            let texts = |of: fn(&Column) -> String| columns.iter().map(of).collect::<Vec<_>>();
            add_names(npz, &format!("{prefix}_origin"), &texts(|c| c.origin.to_string()))?;
            add_names(npz, &format!("{prefix}_why"), &texts(|c| c.why.to_string()))?;
            add_names(npz, &format!("{prefix}_side"), &texts(|c| c.side.to_string()))?;
            let kinks = texts(|c| c.kink.map(|kink| kink.to_string()).unwrap_or_default());
            add_names(npz, &format!("{prefix}_kink"), &kinks)?;
        }
        let Solve { reached, at_minimum, gradient, .. } = self.solver;
        npz.add_array("solver_reached", &arr0(i64::from(reached)))?;
        npz.add_array("solver_at_minimum", &arr0(i64::from(at_minimum)))?;
        npz.add_array("solver_gradient", &arr0(gradient))?;
        Ok(())
    }

    /// Entry of [A B]: row i of the next state, column k of state and control.
    pub(crate) fn state_entry(&mut self, i: usize, k: usize) -> &mut f64 {
        let nx = self.A.ncols();
        if k < nx { &mut self.A[[i, k]] } else { &mut self.B[[i, k - nx]] }
    }

    /// Entries of [A B] in row i, `len` of them from column k on; all of A, or all of B.
    pub(crate) fn state_entries(&mut self, i: usize, k: usize, len: usize) -> &mut [f64] {
        let nx = self.A.ncols();
        let (matrix, k) = if k < nx { (&mut self.A, k) } else { (&mut self.B, k - nx) };
        let start = i * matrix.ncols() + k;
        &mut matrix.as_slice_mut().expect("made row-major")[start..start + len]
    }

    /// Entry of [C D]: row i of the sensors, column k of state and control.
    pub(crate) fn sensor_entry(&mut self, i: usize, k: usize) -> &mut f64 {
        let nx = self.A.ncols();
        if k < nx { &mut self.C[[i, k]] } else { &mut self.D[[i, k - nx]] }
    }

    /// A and B all zero, no column asked for.
    pub(crate) fn clear_state(&mut self) {
        self.A.fill(0.0);
        self.B.fill(0.0);
        self.columns.fill(Column::SKIPPED);
    }

    /// C and D all zero, no column asked for.
    pub(crate) fn clear_sensors(&mut self) {
        self.C.fill(0.0);
        self.D.fill(0.0);
        self.sensor_columns.fill(Column::SKIPPED);
    }
}

/// Why there is no linearization.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum TransitionError {
    /// The nudge is not a positive number.
    #[error("the finite-difference step must be positive and finite, found {0}")]
    Eps(f64),
    /// Contacts cannot be softened like that.
    #[error("softening of contacts: {0}")]
    Softening(#[source] SofteningError),
    /// A column that the linearization does not have.
    #[error("there is no column {column}: [A B] has {count}")]
    Column {
        /// Index that was asked for.
        column: usize,
        /// How many there are, 2nv + na + nu.
        count: usize,
    },
    /// The closed form does not cover something that the model uses at this state.
    #[error("no closed form: {feature}; use dual numbers or differences")]
    NotCovered {
        /// What is not covered.
        feature: Feature,
    },
    /// The step from the state itself fails.
    #[error("the step to linearize fails: {0}")]
    Step(#[source] StepError),
    /// The step from a nudged state fails.
    #[error("the step fails when {name} is nudged: {source}")]
    Nudge {
        /// Which state or control was nudged.
        name: String,
        /// How the step fails.
        source: StepError,
    },
}
