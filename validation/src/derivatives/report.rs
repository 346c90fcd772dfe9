//! What a validation of derivatives found, as data.

use std::fmt;

use dualstep_derivatives::check::{Block, VCurve};
use serde::{Serialize, Serializer};

use super::coverage::Coverage;
use super::kink_sides::KinkSides;
use super::solver_study::SolverStudy;

/// Methods that are compared with dual numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Compared {
    /// The closed form.
    ClosedForm,
    /// Centred differences.
    Centered,
    /// Forward differences.
    Forward,
    /// Positions by centred differences, the rest in closed form.
    Hybrid,
}

impl Compared {
    /// All, in order.
    pub const ALL: [Self; 4] = [Self::ClosedForm, Self::Centered, Self::Forward, Self::Hybrid];
}

impl fmt::Display for Compared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ClosedForm => "closed form",
            Self::Centered => "centred differences",
            Self::Forward => "forward differences",
            Self::Hybrid => "hybrid",
        })
    }
}

/// What a comparison amounts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing could be compared.
    NotCompared,
    /// Every error is within its tolerance.
    Pass,
    /// An error exceeds its tolerance.
    Fail,
}

impl Verdict {
    /// The verdict on several: fails if one fails, passes if one passes and none fails.
    pub fn of_all(verdicts: impl IntoIterator<Item = Self>) -> Self {
        verdicts.into_iter().max().unwrap_or(Self::NotCompared)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotCompared => "not compared",
            Self::Pass => "pass",
            Self::Fail => "fail",
        })
    }
}

/// The worst entry of a block by one method.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The method.
    pub method: Compared,
    /// The block.
    #[serde(serialize_with = "as_text")]
    pub block: Block,
    /// max|x − ref| / max(1, max|ref|), where ref are dual numbers.
    #[serde(serialize_with = "finite")]
    pub err: f64,
    /// What it may be.
    pub tolerance: f64,
    /// Row and column of the entry; empty if all agree to the last bit.
    pub entry: [String; 2],
    /// State.
    pub state: String,
    /// Size of the nudge, for differences: where they are quietest.
    pub eps: Option<f64>,
    /// Error at the standard size of nudge, for differences.
    pub standard: Option<f64>,
}

impl Finding {
    /// Whether the error is within its tolerance.
    pub fn verdict(&self) -> Verdict {
        if self.err <= self.tolerance { Verdict::Pass } else { Verdict::Fail }
    }

    /// What is reported of two findings: one that fails before one that passes, the larger error otherwise.
    #[must_use]
    pub fn worse(self, other: Self) -> Self {
        let key = |f: &Self| (f.verdict(), if f.err.is_nan() { f64::INFINITY } else { f.err });
        let standard = match (self.standard, other.standard) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        };
        let worst = if key(&other) > key(&self) { other } else { self };
        Self { standard, ..worst }
    }
}

/// A block by all methods.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BlockReport {
    /// The block.
    #[serde(serialize_with = "as_text")]
    pub block: Block,
    /// Rows and columns.
    pub size: [usize; 2],
    /// Methods that were compared, each with its worst entry over all states.
    pub findings: Vec<Finding>,
    /// Why others were not.
    pub not_compared: Vec<NotCompared>,
}

impl BlockReport {
    /// What was found by a method.
    pub fn by(&self, method: Compared) -> Option<&Finding> {
        self.findings.iter().find(|f| f.method == method)
    }

    /// The verdict on all methods.
    pub fn verdict(&self) -> Verdict {
        Verdict::of_all(self.findings.iter().map(Finding::verdict))
    }
}

/// A method that was not compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NotCompared {
    /// The method.
    pub method: Compared,
    /// Why.
    pub why: String,
}

/// Errors of differences over the size of the nudge; for each size the largest over all states.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// The block; none for all of [A B; C D].
    #[serde(serialize_with = "maybe_text")]
    pub block: Option<Block>,
    /// Centred differences.
    pub centered: Option<Branches>,
    /// Forward differences.
    pub forward: Option<Branches>,
    /// Largest error of the closed form; none where there is no closed form to compare.
    pub closed_form: Option<f64>,
    /// Largest change of dual numbers where the state is rounded differently.
    pub dual_rounding: f64,
}

/// A V-curve and what it says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Branches {
    /// Sizes of the nudges.
    pub eps: Vec<f64>,
    /// Errors.
    pub err: Vec<f64>,
    /// Size of the nudge with the smallest error, and that error.
    pub minimum: [f64; 2],
    /// Slope where truncation rules; none if that is nowhere.
    pub truncation_slope: Option<f64>,
    /// Slope where rounding rules; none if that is nowhere.
    pub rounding_slope: Option<f64>,
}

impl Branches {
    /// What a curve says; none if it has no points.
    pub fn of(v: &VCurve) -> Option<Self> {
        let (eps, err) = v.minimum()?;
        Some(Self {
            eps: v.eps.clone(),
            err: v.err.clone(),
            minimum: [eps, err],
            truncation_slope: v.truncation_slope(),
            rounding_slope: v.rounding_slope(),
        })
    }
}

/// Largest |closed form − dual| over all states, entry by entry of [A B; C D], over the scale of its block.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeatMap {
    /// Rows: 2nv + na + nsensordata.
    pub rows: usize,
    /// Columns: 2nv + na + nu.
    pub columns: usize,
    /// Entries that are not zero: row, column, error.
    pub entries: Vec<(usize, usize, f64)>,
    /// Columns of [A B] in closed form.
    pub state_columns: Vec<bool>,
    /// Columns of [C D] in closed form.
    pub sensor_columns: Vec<bool>,
}

/// Columns that come from the same method for the same reason.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Origins {
    /// `A B` or `C D`.
    pub matrices: &'static str,
    /// What they differentiate by: `q`, `v`, `act` or `u`.
    pub by: String,
    /// Their names.
    pub columns: Vec<String>,
    /// How many columns differentiate by that.
    pub of: usize,
    /// The method.
    pub origin: String,
    /// Why that method.
    pub why: String,
}

/// Columns that have another derivative on the other side of a state.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OneSided {
    /// Their names.
    pub columns: Vec<String>,
    /// On which side of the state the derivative was taken.
    pub side: String,
    /// What has a kink there.
    pub kink: Option<String>,
    /// In which states.
    pub states: Vec<String>,
    /// Whether differences are compared nevertheless.
    pub differences: bool,
}

/// A model under one integrator.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Case {
    /// The integrator, under MuJoCo's name.
    pub integrator: &'static str,
    /// Whether all methods were compared, or only the closed form.
    pub full: bool,
    /// Number of states that were compared.
    pub compared: usize,
    /// States that were not.
    pub skipped: Vec<Skipped>,
    /// Block by block.
    pub blocks: Vec<BlockReport>,
    /// All of [A B; C D] first, then block by block.
    pub curves: Vec<Curve>,
    /// Entry by entry; none where only the closed form was compared.
    pub heat_map: Option<HeatMap>,
    /// Where columns come from by default.
    pub origins: Vec<Origins>,
    /// One-sided columns.
    pub one_sided: Vec<OneSided>,
    /// The two sides of kinks, each kink in the first state that has it; empty where only the closed form was compared.
    pub kinks: Vec<KinkSides>,
    /// Number of compared states in which a column has a kink other than a control at an end of its range.
    pub kink_states: usize,
    /// Features of the model that have no closed form.
    pub not_covered: Vec<String>,
}

/// A state that could not be compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Skipped {
    /// The state.
    pub state: String,
    /// What failed; none for the reference, dual numbers.
    pub method: Option<Compared>,
    /// Why.
    pub why: String,
}

impl Case {
    /// The verdict on all blocks.
    pub fn verdict(&self) -> Verdict {
        Verdict::of_all(self.blocks.iter().map(BlockReport::verdict))
    }

    /// The worst finding of a method.
    pub fn worst(&self, method: Compared) -> Option<&Finding> {
        let key = |f: &Finding| (f.verdict(), f.err);
        let found = self.blocks.iter().filter_map(|block| block.by(method));
        found.max_by(|a, b| key(a).partial_cmp(&key(b)).unwrap_or(std::cmp::Ordering::Equal))
    }

    /// The verdict on a method.
    pub fn verdict_on(&self, method: Compared) -> Verdict {
        let found = self.blocks.iter().filter_map(|block| block.by(method));
        Verdict::of_all(found.map(Finding::verdict))
    }
}

/// A model under all integrators.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelReport {
    /// The model's name.
    pub name: String,
    /// Sizes.
    pub sizes: Sizes,
    /// \[s\]
    pub timestep: f64,
    /// Names of the states.
    pub states: Vec<String>,
    /// Why the rollout ends before its last step; none if it does not.
    pub rollout_stopped: Option<String>,
    /// Names of the rows of A, of the columns of B, of the rows of C.
    pub names: [Vec<String>; 3],
    /// The model's own integrator first.
    pub cases: Vec<Case>,
    /// Which features of it were exercised, and how they came out.
    pub coverage: Coverage,
    /// Differences under several settings of the constraint solver, under the model's own integrator; none where
    /// nothing pushes, or differences were not asked for.
    pub solver: Option<SolverStudy>,
}

/// Sizes of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Sizes {
    /// Bodies, the world included.
    pub nbody: usize,
    /// Positions.
    pub nq: usize,
    /// Degrees of freedom.
    pub nv: usize,
    /// Activations.
    pub na: usize,
    /// Controls.
    pub nu: usize,
    /// Numbers that sensors give.
    pub nsensordata: usize,
}

impl ModelReport {
    /// The verdict on all integrators.
    pub fn verdict(&self) -> Verdict {
        Verdict::of_all(self.cases.iter().map(Case::verdict))
    }
}

fn as_text<S: Serializer>(value: &impl fmt::Display, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(value)
}

#[expect(clippy::ref_option, reason = "the signature that serde calls")]
fn maybe_text<S: Serializer>(value: &Option<impl fmt::Display>, to: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => to.collect_str(value),
        None => to.serialize_none(),
    }
}

/// JSON has no infinity: the largest number there is.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn finite<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(value.min(f64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dualstep_derivatives::check::{By, Output};

    fn finding(err: f64, tolerance: f64) -> Finding {
        Finding {
            method: Compared::ClosedForm,
            block: Block { of: Output::Velocity, by: By::Position },
            err,
            tolerance,
            entry: [String::new(), String::new()],
            state: String::new(),
            eps: None,
            standard: None,
        }
    }

    #[test]
    fn what_fails_is_reported_before_what_is_larger() {
        let (fails, larger) = (finding(1e-6, 1e-9), finding(1e-3, 1e-2));
        assert_eq!(larger.clone().worse(fails.clone()).err, 1e-6);
        assert_eq!(fails.clone().worse(larger.clone()).verdict(), Verdict::Fail);
        assert_eq!(larger.worse(finding(1e-4, 1e-2)).err, 1e-3);
        assert_eq!(finding(f64::NAN, 1.0).verdict(), Verdict::Fail);
        assert_eq!(finding(f64::INFINITY, 1.0).verdict(), Verdict::Fail);
        assert_eq!(finding(1e-3, 1.0).worse(finding(f64::NAN, 1.0)).verdict(), Verdict::Fail);
    }

    #[test]
    fn one_failure_fails_all_and_nothing_is_no_success() {
        use Verdict::{Fail, NotCompared, Pass};
        assert_eq!(Verdict::of_all([Pass, Fail, NotCompared]), Fail);
        assert_eq!(Verdict::of_all([Pass, NotCompared]), Pass);
        assert_eq!(Verdict::of_all([]), NotCompared);
    }
}
