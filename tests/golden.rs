//! Every model of `validation/models` against what MuJoCo computed for it, stage by stage.
//!
//! Each stage starts from golden inputs. A failure names, for each model, the first field in pipeline
//! order that is off, which is the culprit: what follows inherits its error. `SIM_TOL_SCALE=0` shows the
//! true residuals.

use std::path::{Path, PathBuf};

use dualstep_validation::conform::{compare, pipeline};
use dualstep_validation::{Golden, Stage, tolerance};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("validation").join(name)
}

/// Names of the models, sorted.
fn models() -> Vec<String> {
    let entries = std::fs::read_dir(folder("models")).expect("validation/models exists");
    let files = entries.map(|entry| entry.expect("a readable folder").path());
    let mut names: Vec<String> = files
        .filter(|file| file.extension().is_some_and(|e| e == "xml"))
        .filter_map(|file| Some(file.file_stem()?.to_str()?.to_owned()))
        .collect();
    names.sort();
    names
}

/// First culprit and worst field of a model; none if all is well.
fn problem(name: &str, stage: Stage, tolerance: f64) -> Result<Option<String>, String> {
    let golden = Golden::load(&folder("golden").join(name)).map_err(|e| e.to_string())?;
    let path = folder("models").join(&golden.header.model);
    let model = pipeline::load_model(&path).map_err(|(_, message)| message)?;
    let found = compare(stage, &model, &golden);
    if found.fields.is_empty() && found.skipped == 0 && must_have_data(stage, &golden) {
        return Ok(Some("nothing was compared".into()));
    }
    Ok(found.first_above(tolerance).map(|first| match found.worst() {
        Some(worst) if worst != first => format!("{first}; the worst: {worst}"),
        _ => first.to_string(),
    }))
}

/// Every stage has data for every model, but transition matrices only where they are not too large.
fn must_have_data(stage: Stage, golden: &Golden) -> bool {
    stage != Stage::DerivativeSmooth || golden.keys().any(|key| key.contains("/fd_smooth/"))
}

fn check(stage: Stage, tolerance: f64) {
    let tolerance = tolerance::scaled(tolerance);
    let problems: Vec<String> = models()
        .iter()
        .filter_map(|name| match problem(name, stage, tolerance) {
            Ok(found) => found.map(|found| format!("{name}: {found}")),
            Err(message) => Some(format!("{name}: {message}")),
        })
        .collect();
    assert!(
        problems.is_empty(),
        "stage {stage}, tolerance {tolerance:e}, {} of {} models:\n{}",
        problems.len(),
        models().len(),
        problems.join("\n")
    );
}

#[test]
fn every_model_has_golden_data() {
    let models = models();
    assert!(models.len() >= 25, "only {} models", models.len());
    for name in models {
        let golden = Golden::load(&folder("golden").join(&name)).expect("golden data");
        assert_eq!(golden.header.mujoco, "4.0.1", "{name} is from another oracle");
        assert!(!golden.states().is_empty(), "{name} has no states");
    }
}

#[test]
fn compile() {
    check(Stage::Compile, tolerance::COMPILE);
}

#[test]
fn smooth() {
    check(Stage::Smooth, tolerance::SMOOTH);
}

#[test]
fn step_smooth() {
    check(Stage::StepSmooth, tolerance::STEP_SMOOTH);
}

#[test]
fn derivative_smooth() {
    check(Stage::DerivativeSmooth, tolerance::DERIVATIVE_SMOOTH);
}

#[test]
fn constraint() {
    check(Stage::Constraint, tolerance::CONVERGED);
}

#[test]
fn step() {
    check(Stage::Step, tolerance::STEP);
}
