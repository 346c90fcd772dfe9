//! What a comparison found, as data (serialized as `dualstep conform --json` writes it) and as a table.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Serialize, Serializer};

use super::{Differences, Stage};
use crate::tolerance;

/// Result of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Version of MuJoCo that made the golden data.
    pub oracle: String,
    /// One entry a model, sorted by name.
    pub models: Vec<ModelReport>,
}

/// Result for one model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelReport {
    /// Name of the golden file.
    pub name: String,
    /// Whether it could be compared.
    pub status: Status,
    /// Why not; empty where it could.
    pub message: String,
    /// What each stage found.
    pub stages: BTreeMap<Stage, StageReport>,
}

/// Whether a model could be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Yes.
    Ok,
    /// It uses a feature that is not supported; the message names it.
    Unsupported,
    /// The model or the golden data could not be read.
    Error,
}

/// What one stage found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StageReport {
    /// Largest error over fields and states; none where there is no data. Infinite in the library; JSON
    /// has no infinity, there it is the largest number there is, 1.8e308.
    #[serde(serialize_with = "finite")]
    pub worst: Option<f64>,
    /// Field where it was found.
    pub field: Option<String>,
    /// State where it was found.
    pub state: Option<String>,
    /// Number of states that were compared, where the stage counts them.
    pub compared: usize,
    /// Number of states left out because the reference itself is not precise there.
    pub skipped: usize,
    /// Number of states left out because the step has a kink there.
    pub kinks: usize,
}

/// A stage of a model that is further off than its tolerance.
#[derive(Clone, Debug, PartialEq)]
pub struct Excess {
    /// Name of the golden file.
    pub model: String,
    /// The stage.
    pub stage: Stage,
    /// Its largest error, and where.
    pub found: StageReport,
    /// What it may be.
    pub tolerance: f64,
}

impl std::fmt::Display for Excess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { model, stage, found, tolerance } = self;
        write!(f, "{model}: {stage} is {}, tolerance {tolerance:.0e}", found.cell())
    }
}

#[expect(clippy::ref_option, reason = "the signature that serde asks for")]
fn finite<S: Serializer>(worst: &Option<f64>, s: S) -> Result<S::Ok, S::Error> {
    worst.map(|w| if w.is_finite() { w } else { f64::MAX }).serialize(s)
}

impl From<&Differences> for StageReport {
    fn from(found: &Differences) -> Self {
        let worst = found.worst();
        Self {
            worst: worst.map(|d| d.err),
            field: worst.map(|d| d.field.clone()),
            state: worst.and_then(|d| d.state.clone()),
            compared: found.compared,
            skipped: found.skipped,
            kinks: found.kinks,
        }
    }
}

impl Report {
    /// A line a model: name, status, and the worst field of each of the given stages.
    pub fn table(&self, stages: &[Stage]) -> String {
        let width = self.models.iter().map(|m| m.name.len()).max().unwrap_or(0).max(5);
        let mut out = format!("{:width$}  {:11}", "model", "status");
        for stage in stages {
            // writing to a string cannot fail
            let _ = write!(out, "  {stage:CELL$}");
        }
        for model in &self.models {
            let status = format!("{:?}", model.status).to_lowercase();
            let _ = write!(out, "\n{:width$}  {status:11}", model.name);
            if model.status == Status::Ok {
                for stage in stages {
                    let cell = model.stages.get(stage).map_or(String::new(), StageReport::cell);
                    let _ = write!(out, "  {cell:CELL$}");
                }
            } else {
                let _ = write!(out, "  {}", model.message.lines().next().unwrap_or_default());
            }
        }
        out.push('\n');
        let _ = write!(out, "{:width$}  {:11}", "worst", self.count());
        for &stage in stages {
            let worst = match self.worst(stage) {
                None => "-".to_owned(),
                Some(0.0) => "0".to_owned(),
                Some(worst) => format!("{worst:.1e}"),
            };
            let _ = write!(out, "  {worst:CELL$}");
        }
        out.lines().flat_map(|line| [line.trim_end(), "\n"]).collect()
    }

    /// Largest error of a stage over all models.
    pub fn worst(&self, stage: Stage) -> Option<f64> {
        let of_models = self.models.iter().filter_map(|m| m.stages.get(&stage)?.worst);
        of_models.max_by(f64::total_cmp)
    }

    /// States of all models that a stage compared, and that it left out: imprecise reference, kink.
    pub fn states(&self, stage: Stage) -> [usize; 3] {
        let found = self.models.iter().filter_map(|m| m.stages.get(&stage));
        found.fold([0; 3], |[a, b, c], s| [a + s.compared, b + s.skipped, c + s.kinks])
    }

    /// Every stage of a compared model whose largest error is above the tolerance of [`tolerance::of`],
    /// infinite or not a number; in the order of models and stages.
    pub fn excesses(&self) -> Vec<Excess> {
        let compared = self.models.iter().filter(|m| m.status == Status::Ok);
        let stages = compared.flat_map(|m| m.stages.iter().map(move |s| (m, s)));
        let excess = |(m, (&stage, found)): (&ModelReport, (&Stage, &StageReport))| {
            let (worst, tolerance) = (found.worst?, tolerance::of(stage));
            let above = worst.is_nan() || worst > tolerance;
            above.then(|| Excess { model: m.name.clone(), stage, found: found.clone(), tolerance })
        };
        stages.filter_map(excess).collect()
    }

    fn count(&self) -> String {
        let ok = self.models.iter().filter(|m| m.status == Status::Ok).count();
        format!("{ok}/{} ok", self.models.len())
    }
}

/// Width of a stage's column.
const CELL: usize = 30;

impl StageReport {
    fn cell(&self) -> String {
        let (Some(worst), Some(field)) = (self.worst, &self.field) else { return "-".into() };
        // where everything agrees exactly, no field is the worst
        if worst == 0.0 {
            return "0".into();
        }
        let state = self.state.as_ref().map_or(String::new(), |s| format!(" {s}"));
        format!("{worst:.1e} {field}{state}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let mut found = Differences::default();
        found.push("qM", Some("s1"), f64::INFINITY);
        let stages = BTreeMap::from([
            (Stage::Smooth, StageReport::from(&found)),
            (Stage::Step, StageReport::default()),
        ]);
        let ok =
            ModelReport { name: "arm".into(), status: Status::Ok, message: String::new(), stages };
        let mut flex = ok.clone();
        (flex.name, flex.status) = ("flex".into(), Status::Unsupported);
        flex.message = "flex\nhelp".into();
        Report { oracle: "4.0.1".into(), models: vec![ok, flex] }
    }

    #[test]
    fn json_has_the_documented_form() {
        let json = serde_json::to_value(report()).unwrap();
        let expected = serde_json::json!({
            "worst": f64::MAX, "field": "qM", "state": "s1",
            "compared": 0, "skipped": 0, "kinks": 0
        });
        assert_eq!(json["oracle"], "4.0.1");
        assert_eq!(json["models"][0]["stages"]["smooth"], expected);
        assert!(json["models"][0]["stages"]["step"]["worst"].is_null());
        assert_eq!(json["models"][1]["status"], "unsupported");
    }

    #[test]
    fn what_exceeds_its_tolerance_is_named() {
        let excesses = report().excesses();
        let sentences: Vec<_> = excesses.iter().map(ToString::to_string).collect();
        assert_eq!(sentences, ["arm: smooth is inf qM s1, tolerance 1e-10"]);
    }

    #[test]
    fn table_has_a_line_a_model() {
        let table = report().table(&[Stage::Smooth]);
        let lines: Vec<_> = table.lines().collect();
        assert_eq!(lines[0], "model  status       smooth");
        assert_eq!(lines[1], "arm    ok           inf qM s1");
        assert_eq!(lines[2], "flex   unsupported  flex");
        assert_eq!(lines[3], "worst  1/2 ok       inf");
    }
}
