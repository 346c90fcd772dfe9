//! Runs the comparison over a folder of golden data.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use dualstep::Model;
use globset::{Glob, GlobMatcher};
use rayon::prelude::*;

use super::{Differences, ModelReport, Report, Stage, StageReport, Status, compile};
use super::{constraint, derivative, pipeline, smooth};
use crate::golden::Golden;

/// What to compare.
#[derive(Clone, Debug)]
pub struct ConformOptions {
    /// Folder of the models.
    pub models: PathBuf,
    /// Folder of the golden data: pairs `<name>.npz`, `<name>.json`.
    pub golden: PathBuf,
    /// Stages to compare.
    pub stages: Vec<Stage>,
    /// Only golden data whose name matches this pattern (`*humanoid*`).
    pub only: Option<Glob>,
}

/// Compares every model that has golden data, in parallel; the report is sorted by name.
///
/// `progress` is told how many models are done, of how many, and the name of the latest; it is called
/// from several threads. A model that cannot be read does not stop the others.
///
/// # Errors
/// If the folder of golden data cannot be read.
pub fn conform(
    options: &ConformOptions,
    progress: &(dyn Fn(usize, usize, &str) + Sync),
) -> std::io::Result<Report> {
    let only = options.only.as_ref().map(Glob::compile_matcher);
    let names = golden_names(&options.golden, only.as_ref())?;
    let done = AtomicUsize::new(0);
    let results: Vec<(String, ModelReport)> = names
        .par_iter()
        .map(|name| {
            let result = conform_model(options, name);
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, names.len(), name);
            result
        })
        .collect();
    let oracle = results.iter().map(|(oracle, _)| oracle).find(|o| !o.is_empty());
    Ok(Report {
        oracle: oracle.cloned().unwrap_or_default(),
        models: results.into_iter().map(|(_, model)| model).collect(),
    })
}

/// A field that is off, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldErrors {
    /// Stage.
    pub stage: Stage,
    /// Name of the field.
    pub field: String,
    /// Model and error, once for every state where it is off.
    pub models: Vec<(String, f64)>,
}

/// Every field above a tolerance, with the models where it is: for finding out what is wrong. Sorted by
/// stage and place in the pipeline; models that cannot be read are left out.
///
/// # Errors
/// If the folder of golden data cannot be read.
pub fn fields_above(options: &ConformOptions, tolerance: f64) -> std::io::Result<Vec<FieldErrors>> {
    let only = options.only.as_ref().map(Glob::compile_matcher);
    let mut out: Vec<FieldErrors> = Vec::new();
    for &stage in &options.stages {
        for name in golden_names(&options.golden, only.as_ref())? {
            let stem = options.golden.join(&name);
            let Ok(golden) = Golden::load_keys(&stem, |key| wanted(&[stage], key)) else {
                continue;
            };
            let path = options.models.join(&golden.header.model);
            let Ok(model) = pipeline::load_model(&path) else { continue };
            let found = compare(stage, &model, &golden);
            for d in found.fields.into_iter().filter(|d| d.err > tolerance) {
                let known = out.iter().position(|f| f.stage == stage && f.field == d.field);
                let at = known.unwrap_or_else(|| {
                    out.push(FieldErrors { stage, field: d.field, models: vec![] });
                    out.len() - 1
                });
                out[at].models.push((name.clone(), d.err));
            }
        }
    }
    Ok(out)
}

/// Names of the pairs of npz and json in a folder, sorted.
fn golden_names(folder: &Path, only: Option<&GlobMatcher>) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let file = entry?.file_name();
        let Some(name) = file.to_str().and_then(|f| f.strip_suffix(".npz")) else { continue };
        let wanted = only.is_none_or(|glob| glob.is_match(name));
        if wanted && folder.join(format!("{name}.json")).exists() {
            names.push(name.to_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// Report of one model, with the oracle's version.
fn conform_model(options: &ConformOptions, name: &str) -> (String, ModelReport) {
    let mut report = ModelReport {
        name: name.to_owned(),
        status: Status::Ok,
        message: String::new(),
        stages: Stage::ALL.into_iter().map(|s| (s, StageReport::default())).collect(),
    };
    let golden =
        match Golden::load_keys(&options.golden.join(name), |key| wanted(&options.stages, key)) {
            Ok(golden) => golden,
            Err(e) => {
                (report.status, report.message) = (Status::Error, e.to_string());
                return (String::new(), report);
            }
        };
    match pipeline::load_model(&options.models.join(&golden.header.model)) {
        Ok(model) => {
            for &stage in &options.stages {
                let found = compare(stage, &model, &golden);
                report.stages.insert(stage, StageReport::from(&found));
            }
        }
        Err((status, message)) => (report.status, report.message) = (status, message),
    }
    (golden.header.mujoco, report)
}

/// True for the arrays that the chosen stages need.
fn wanted(stages: &[Stage], key: &str) -> bool {
    let mut parts = key.split('/');
    let group = match parts.next() {
        Some("model") => "model",
        _ => parts.next().unwrap_or_default(),
    };
    group == "in" || stages.iter().any(|&stage| groups(stage).contains(&group))
}

/// Groups of golden arrays that a stage is compared with.
fn groups(stage: Stage) -> &'static [&'static str] {
    match stage {
        Stage::Compile => &["model"],
        Stage::Smooth => &["fwd", "smooth"],
        Stage::StepSmooth => &["smooth_step1", "smooth"],
        Stage::DerivativeSmooth => &["fd_smooth", "smooth"],
        Stage::Constraint => &["fwd", "conv"],
        Stage::Step => &["conv_step1", "conv_step10"],
        Stage::Derivative => &["fd_conv"],
    }
}

/// Differences of one stage.
pub fn compare(stage: Stage, m: &Model, golden: &Golden) -> Differences {
    match stage {
        Stage::Compile => compile::compare(m, golden),
        Stage::Smooth => smooth::compare(m, golden),
        Stage::StepSmooth => smooth::compare_step(m, golden),
        Stage::DerivativeSmooth => derivative::compare(m, golden),
        Stage::Constraint => constraint::compare(m, golden),
        Stage::Step => constraint::compare_steps(m, golden),
        Stage::Derivative => derivative::compare_constrained(m, golden),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_stages_need_is_read() {
        let stages = [Stage::Compile, Stage::StepSmooth];
        let read = |key| wanted(&stages, key);
        assert!(read("model/body_mass") && read("s0/in/qpos") && read("s3/smooth_step1/act"));
        assert!(!read("s0/smooth_step100/act") && !read("s0/fwd/qM") && read("s0/smooth/qacc"));
    }

    #[test]
    fn names_are_pairs_of_npz_and_json() {
        let folder = std::env::temp_dir().join(format!("dualstep-names-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for file in ["b.npz", "b.json", "a_arm.npz", "a_arm.json", "c.npz", "index.json"] {
            std::fs::write(folder.join(file), "").unwrap();
        }
        assert_eq!(golden_names(&folder, None).unwrap(), ["a_arm", "b"]);
        let glob = Glob::new("*_arm").unwrap().compile_matcher();
        assert_eq!(golden_names(&folder, Some(&glob)).unwrap(), ["a_arm"]);
        // damaged golden data are an error of their model, not of the run
        let options = ConformOptions {
            models: folder.clone(),
            golden: folder.clone(),
            stages: vec![Stage::Compile],
            only: None,
        };
        let report = conform(&options, &|_, _, _| {}).unwrap();
        assert!(report.models.iter().all(|m| m.status == Status::Error));
        assert_eq!(report.models.len(), 2);
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(conform(&options, &|_, _, _| {}).is_err());
    }
}
