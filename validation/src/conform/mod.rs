//! Whole models against their golden data, stage by stage: what `dualstep conform` runs.

pub mod compile;
pub mod constraint;
pub mod derivative;
mod flat;
pub mod pipeline;
mod report;
mod run;
pub mod smooth;

pub use report::{Excess, ModelReport, Report, StageReport, Status};
pub use run::{ConformOptions, FieldErrors, compare, conform, fields_above};

use serde::Serialize;

/// Part of the pipeline that is compared, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Arrays of the compiled model.
    Compile,
    /// Forward dynamics, as far as no constraint touches it.
    Smooth,
    /// One step without constraints.
    StepSmooth,
    /// Contacts, constraint forces and accelerations.
    Constraint,
    /// Steps with constraints.
    Step,
    /// Transition matrices without constraints.
    DerivativeSmooth,
    /// Transition matrices with constraints.
    Derivative,
}

impl Stage {
    /// All stages, in order.
    pub const ALL: [Self; 7] = [
        Self::Compile,
        Self::Smooth,
        Self::StepSmooth,
        Self::Constraint,
        Self::Step,
        Self::DerivativeSmooth,
        Self::Derivative,
    ];

    /// Name in options and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Compile => "compile",
            Self::Smooth => "smooth",
            Self::StepSmooth => "step_smooth",
            Self::Constraint => "constraint",
            Self::Step => "step",
            Self::DerivativeSmooth => "derivative_smooth",
            Self::Derivative => "derivative",
        }
    }
}

impl std::fmt::Display for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl std::str::FromStr for Stage {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|s| s.name() == name).ok_or_else(|| {
            format!("unknown stage `{name}`; stages are {}", Self::ALL.map(Self::name).join(", "))
        })
    }
}

/// How far one field is from its reference in one state.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Name of the field.
    pub field: String,
    /// Name of the state; none for what does not depend on the state.
    pub state: Option<String>,
    /// [`err`](crate::compare::err) of the field.
    pub err: f64,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} is off by {:.1e}", self.field, self.err)?;
        self.state.as_ref().map_or(Ok(()), |state| write!(f, " in state {state}"))
    }
}

/// What a stage found: one difference a field and state, in pipeline order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Differences {
    /// Fields that were compared.
    pub fields: Vec<Difference>,
    /// Number of states that were compared.
    pub compared: usize,
    /// Number of states left out because the reference itself is not precise there.
    pub skipped: usize,
    /// Number of states left out because the step has a kink there, so that differences mean something else.
    pub kinks: usize,
}

impl Differences {
    fn push(&mut self, field: &str, state: Option<&str>, err: f64) {
        self.fields.push(Difference {
            field: field.to_owned(),
            state: state.map(str::to_owned),
            err,
        });
    }

    /// The largest difference; the first one of equals, so the first in the pipeline.
    pub fn worst(&self) -> Option<&Difference> {
        self.fields.iter().rev().max_by(|a, b| a.err.total_cmp(&b.err))
    }

    /// The first difference above a tolerance: the culprit, since what follows inherits its error.
    pub fn first_above(&self, tolerance: f64) -> Option<&Difference> {
        self.fields.iter().find(|d| d.err.is_nan() || d.err > tolerance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_have_names() {
        for stage in Stage::ALL {
            assert_eq!(stage.name().parse(), Ok(stage));
            assert_eq!(serde_json::to_value(stage).unwrap(), stage.name());
        }
        assert!("smoot".parse::<Stage>().unwrap_err().contains("smooth, step_smooth"));
    }

    #[test]
    fn worst_and_first() {
        let mut d = Differences::default();
        assert_eq!(d.worst(), None);
        for (field, err) in [("a", 1e-9), ("b", 2.0), ("c", 2.0), ("d", 1.0)] {
            d.push(field, Some("s0"), err);
        }
        assert_eq!(d.worst().unwrap().field, "b");
        assert_eq!(d.first_above(1e-10).unwrap().field, "a");
        assert_eq!(d.first_above(1e-8).unwrap().to_string(), "b is off by 2.0e0 in state s0");
        assert_eq!(d.first_above(3.0), None);
    }
}
