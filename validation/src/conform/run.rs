//! Runs the comparison over a folder of golden data.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use dualstep::Model;
use globset::{Glob, GlobMatcher};
use rayon::prelude::*;

use super::{Differences, ModelReport, Report, Stage, StageReport, Status, compile};
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
    let golden = match Golden::load_keys(&options.golden.join(name), |key| wanted(options, key)) {
        Ok(golden) => golden,
        Err(e) => {
            (report.status, report.message) = (Status::Error, e.to_string());
            return (String::new(), report);
        }
    };
    match load_model(&options.models.join(&golden.header.model)) {
        Ok(model) => report.stages.extend(compare_stages(&options.stages, &model, &golden)),
        Err((status, message)) => (report.status, report.message) = (status, message),
    }
    (golden.header.mujoco, report)
}

/// True for the arrays that the chosen stages need.
fn wanted(_options: &ConformOptions, key: &str) -> bool {
    let group = key.split('/').nth(usize::from(!key.starts_with("model/")));
    matches!(group, Some("model"))
}

fn compare_stages(stages: &[Stage], m: &Model, golden: &Golden) -> BTreeMap<Stage, StageReport> {
    let found = |stage: &Stage| {
        let differences = match stage {
            Stage::Compile => compile::compare(m, golden),
            _ => Differences::default(),
        };
        (*stage, StageReport::from(&differences))
    };
    stages.iter().map(found).collect()
}

/// Loads a model; the error says which status the report gets.
fn load_model(path: &Path) -> Result<Model, (Status, String)> {
    // to become:
    // dualstep::mjcf::load_model(path).map_err(|e| {
    //     let unsupported = e.kind() == dualstep::mjcf::MjcfErrorKind::Unsupported;
    //     (if unsupported { Status::Unsupported } else { Status::Error }, e.to_string())
    // })
    Err((Status::Error, format!("{}: no loader yet", path.display())))
}
