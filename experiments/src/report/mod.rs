//! The report of a validation of derivatives: one HTML page that needs nothing else, and the same as JSON and Markdown.
//!
//! What is compared, and how, is in [`dualstep_validation::derivatives`]; here it becomes tables and figures. HTML and
//! Markdown show the same tables; where HTML has a figure, Markdown has its numbers.

mod constraint_tables;
mod coverage_tables;
mod figures;
mod html;
mod markdown;
mod provenance;
mod tables;
mod text;
mod timing;

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use dualstep::Model;
use dualstep::softening::onset_warning;
use dualstep_validation::derivatives::{
    Compared, Coverage, ModelReport, State, ValidateOptions, Verdict, validate,
};
use serde::Serialize;
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::plot::PlotError;

pub use provenance::Provenance;
pub use timing::{Timing, timings};

/// A report cannot be written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReportError {
    /// A figure.
    #[error(transparent)]
    Plot(#[from] PlotError),
    /// A file.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Everything that a report shows.
#[derive(Clone, Debug, Serialize)]
pub struct Document {
    /// The verdict on all models.
    pub verdict: Verdict,
    /// What was run, when and where.
    pub provenance: Provenance,
    /// What was asked for.
    pub options: Asked,
    /// The models.
    pub models: Vec<Subject>,
    /// Models that could not be loaded.
    pub not_loaded: Vec<NotLoaded>,
    /// Which features were exercised by any model.
    pub coverage: Coverage,
}

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Asked {
    /// Random states of each model.
    pub states: usize,
    /// Their seed.
    pub seed: u64,
    /// All methods under all integrators.
    pub all_integrators: bool,
    /// Closed form against dual numbers only.
    pub closed_form: bool,
    /// Steps of a rollout.
    pub rollout: usize,
    /// Folder of golden data whose states were taken as well.
    pub golden: Option<PathBuf>,
    /// Options of models that were replaced, in words; empty if none.
    pub replaced: Vec<String>,
}

/// A model with all that was found.
#[derive(Clone, Debug, Serialize)]
pub struct Subject {
    /// Where it came from.
    pub source: String,
    /// SHA-256 of the file, without what it includes.
    pub file_sha256: String,
    /// SHA-256 of the compiled model with its options, as this version of dualstep prints it.
    pub model_sha256: String,
    /// What the model has and the simulation leaves out.
    pub left_out: Vec<String>,
    /// What of the model makes derivatives say less than they could.
    pub warnings: Vec<String>,
    /// What was found.
    pub report: ModelReport,
    /// Times of all methods.
    pub timings: Vec<Timing>,
}

/// A model that could not be loaded.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NotLoaded {
    /// Its file.
    pub source: String,
    /// Why.
    pub why: String,
}

impl Subject {
    /// What the simulation leaves out, and warnings.
    pub fn notes(&self) -> impl Iterator<Item = &String> {
        self.left_out.iter().chain(&self.warnings)
    }

    /// Validates a model and times the methods on it. `progress` is called as by [`validate`].
    pub fn new(
        source: String,
        file: &[u8],
        m: &Model,
        options: &ValidateOptions,
        given: &[State],
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Self {
        let report = validate(m, options, given, progress);
        Self {
            source,
            file_sha256: hex(Sha256::new().chain_update(file)),
            model_sha256: model_hash(m),
            left_out: m.unsupported.clone(),
            warnings: onset_warning(m).into_iter().collect(),
            report,
            timings: timings(m, options.seed),
        }
    }
}

impl Document {
    /// Puts models together.
    pub fn new(
        provenance: Provenance,
        options: Asked,
        models: Vec<Subject>,
        not_loaded: Vec<NotLoaded>,
    ) -> Self {
        let mut coverage = Coverage::default();
        for model in &models {
            coverage.merge(&model.report.coverage);
        }
        let verdict = Verdict::of_all(models.iter().map(|model| model.report.verdict()));
        Self { verdict, provenance, options, models, not_loaded, coverage }
    }

    /// Writes `report.html`, `report.md` and `report.json` into a folder, which is made if there is none; returns the
    /// files.
    ///
    /// # Errors
    /// A figure cannot be drawn, a file cannot be written.
    pub fn save(&self, folder: &Path) -> Result<Vec<PathBuf>, ReportError> {
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            match std::fs::write(&path, text) {
                Ok(()) => Ok(path),
                Err(source) => Err(ReportError::Write { path, source }),
            }
        };
        let failed = |source| ReportError::Write { path: folder.to_owned(), source };
        std::fs::create_dir_all(folder).map_err(failed)?;
        let json = serde_json::to_string(self).map_err(|e| failed(e.into()))?;
        Ok(vec![
            write("report.html", &html::page(self)?)?,
            write("report.md", &markdown::page(self))?,
            write("report.json", &json)?,
        ])
    }

    /// The worst error of a method over all models and the integrators under which it was compared, in words; `-` if
    /// it was not.
    pub fn worst(&self, method: Compared) -> Option<f64> {
        let cases = self.models.iter().flat_map(|model| &model.report.cases);
        cases.filter_map(|case| case.worst(method)).map(|f| f.err).reduce(f64::max)
    }
}

/// Of the text that `Debug` gives: every number of it is exact.
fn model_hash(m: &Model) -> String {
    struct Hasher(Sha256);
    impl std::fmt::Write for Hasher {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            self.0.update(text);
            Ok(())
        }
    }
    let mut hasher = Hasher(Sha256::new());
    // hashing does not fail
    let _ = write!(hasher, "{m:?}");
    hex(hasher.0)
}

fn hex(hasher: Sha256) -> String {
    hasher.finalize().iter().fold(String::new(), |mut text, byte| {
        // nor does writing to a string
        let _ = write!(text, "{byte:02x}");
        text
    })
}
