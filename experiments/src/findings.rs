//! What an experiment finds, and how it is kept: tables, a figure, and a `summary.json` that says from what
//! code, configuration and machine they are.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::config::Config;
use crate::plot::{Figure, PlotError};

/// Numbers with names for their rows and columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// What the numbers are.
    pub title: String,
    /// Names of the columns, with units.
    pub columns: Vec<String>,
    /// Rows, and their names.
    pub rows: Vec<(String, Vec<f64>)>,
}

impl Table {
    /// A table without rows.
    pub fn new(title: impl Into<String>, columns: &[&str]) -> Self {
        let columns = columns.iter().map(|&column| column.to_owned()).collect();
        Self { title: title.into(), columns, rows: Vec::new() }
    }

    /// Adds a row.
    ///
    /// # Panics
    /// If the row has not as many numbers as there are columns.
    pub fn push(&mut self, name: impl Into<String>, values: &[f64]) {
        assert_eq!(values.len(), self.columns.len(), "a number for each column");
        self.rows.push((name.into(), values.to_vec()));
    }

    /// The number in a row and a column.
    pub fn get(&self, row: &str, column: &str) -> Option<f64> {
        let k = self.columns.iter().position(|name| name == column)?;
        self.rows.iter().find(|(name, _)| name == row).map(|(_, values)| values[k])
    }

    /// As Markdown.
    pub fn markdown(&self) -> String {
        let mut text = format!("| {} | {} |\n|", self.title, self.columns.join(" | "));
        text.push_str(&"---|".repeat(self.columns.len() + 1));
        for (name, values) in &self.rows {
            let numbers: Vec<String> = values.iter().map(|x| number(*x)).collect();
            // writing to a string cannot fail
            let _ = write!(text, "\n| {name} | {} |", numbers.join(" | "));
        }
        text.push('\n');
        text
    }

    fn json(&self) -> Value {
        let row = |values: &[f64]| {
            let named = self.columns.iter().cloned().zip(values.iter().map(|x| json!(x)));
            Value::Object(named.collect())
        };
        let rows = self.rows.iter().map(|(name, values)| (name.clone(), row(values)));
        Value::Object(rows.collect())
    }
}

/// A number with three significant digits; a dash for what is not there.
pub fn number(x: f64) -> String {
    let magnitude = x.abs();
    if !x.is_finite() {
        "–".to_owned()
    } else if x == 0.0 {
        "0".to_owned()
    } else if (0.0095..9999.5).contains(&magnitude) {
        let decimals = if magnitude >= 99.95 {
            0
        } else if magnitude >= 9.995 {
            1
        } else {
            2
        };
        format!("{x:.decimals$}").replace('-', "−")
    } else {
        format!("{x:.1e}").replace('-', "−")
    }
}

/// What an experiment finds.
#[derive(Clone, Debug, PartialEq)]
pub struct Findings {
    /// The numbers in short.
    pub tables: Vec<Table>,
    /// The numbers at length.
    pub figure: Figure,
}

impl Findings {
    /// A number of one of the tables.
    pub fn get(&self, table: &str, row: &str, column: &str) -> Option<f64> {
        self.tables.iter().find(|t| t.title == table)?.get(row, column)
    }
}

/// Where and how an experiment was run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Circumstances {
    /// Its name.
    pub experiment: String,
    /// The commit of the code, with a plus sign if files differed from it; `unknown` outside of a checkout.
    pub commit: String,
    /// SHA-256 of the configuration.
    pub config_sha256: String,
    /// The seed.
    pub seed: u64,
    /// The processor.
    pub cpu: String,
    /// Processors that were available.
    pub cores: usize,
    /// Operating system and architecture.
    pub os: String,
    /// False for a build without optimization: times mean nothing then.
    pub optimized: bool,
    /// How long it took \[s\].
    pub wall_time_s: f64,
}

impl Circumstances {
    /// Those of an experiment that took so long, here and now.
    pub fn new(experiment: &str, config: &Config, seed: u64, wall_time_s: f64) -> Self {
        Self {
            experiment: experiment.to_owned(),
            commit: commit(),
            config_sha256: config.hash(),
            seed,
            cpu: cpu(),
            cores: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            os: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            optimized: !cfg!(debug_assertions),
            wall_time_s,
        }
    }
}

/// The commit of the checkout around the current folder, if it is one of this project.
pub(crate) fn commit() -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    let known = || {
        let root = git(&["rev-parse", "--show-toplevel"])?;
        // a folder that is no checkout of this project has other files
        Path::new(&root).join("experiments/src/findings.rs").exists().then_some(())?;
        let hash = git(&["rev-parse", "--short=12", "HEAD"])?;
        // what experiments write is no change of the code
        let code = [":(top)*.rs", ":(top)*.toml", ":(top)*.xml", ":(top)Cargo.lock"];
        let changes = git(&[&["status", "--porcelain", "--"], &code[..]].concat())?;
        Some(if changes.is_empty() { hash } else { hash + "+" })
    };
    known().unwrap_or_else(|| "unknown".to_owned())
}

/// Name of the processor.
pub(crate) fn cpu() -> String {
    // Linux
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    if let Some((_, name)) = model {
        return name.trim().to_owned();
    }
    // macOS
    let output = Command::new("sysctl").args(["-n", "machdep.cpu.brand_string"]).output();
    let name = output.ok().and_then(|output| String::from_utf8(output.stdout).ok());
    name.map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "unknown".to_owned())
}

/// Content of `summary.json`: the circumstances, the tables, and the points of the figure.
pub fn summary(circumstances: &Circumstances, findings: &Findings) -> Value {
    let tables: Map<String, Value> =
        findings.tables.iter().map(|table| (table.title.clone(), table.json())).collect();
    let charts: Vec<Value> = findings
        .figure
        .charts
        .iter()
        .map(|chart| {
            let curves: Map<String, Value> = chart
                .curves
                .iter()
                .map(|curve| {
                    let points = curve.points.iter().map(|(x, y)| json!([short(*x), short(*y)]));
                    (curve.name.clone(), points.collect())
                })
                .collect();
            json!({ "chart": chart.title, "x": chart.x.label(), "y": chart.y.label(), "curves": curves })
        })
        .collect();
    json!({ "circumstances": circumstances, "tables": tables, "figure": charts })
}

/// Six significant digits: more than a figure shows.
fn short(x: f64) -> f64 {
    format!("{x:.5e}").parse().unwrap_or(x)
}

/// JSON, indented, but with arrays of numbers on one line.
pub fn compact(value: &Value) -> String {
    let mut text = String::new();
    write_json(value, 0, &mut text);
    text.push('\n');
    text
}

fn write_json(value: &Value, depth: usize, text: &mut String) {
    let indent = |text: &mut String, depth: usize| {
        text.push('\n');
        text.push_str(&"  ".repeat(depth));
    };
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            text.push('{');
            for (k, (key, value)) in fields.iter().enumerate() {
                text.push_str(if k > 0 { "," } else { "" });
                indent(text, depth + 1);
                let _ = write!(text, "{}: ", Value::from(key.as_str()));
                write_json(value, depth + 1, text);
            }
            indent(text, depth);
            text.push('}');
        }
        Value::Array(items) if items.iter().any(Value::is_object) => {
            text.push('[');
            for (k, item) in items.iter().enumerate() {
                text.push_str(if k > 0 { "," } else { "" });
                indent(text, depth + 1);
                write_json(item, depth + 1, text);
            }
            indent(text, depth);
            text.push(']');
        }
        other => {
            let _ = write!(text, "{other}");
        }
    }
}

/// Why findings could not be kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeepError {
    /// The figure.
    #[error(transparent)]
    Plot(#[from] PlotError),
    /// A file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file, or its folder.
        path: std::path::PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Writes `figure.svg`, `summary.json`, and the given texts, into a folder that is made if need be.
///
/// # Errors
/// If a file cannot be written.
pub fn keep(
    folder: &Path,
    circumstances: &Circumstances,
    findings: &Findings,
    texts: &[(&str, String)],
) -> Result<(), KeepError> {
    let write = |path: &Path, text: &str| {
        fs::write(path, text).map_err(|source| KeepError::Write { path: path.to_owned(), source })
    };
    fs::create_dir_all(folder)
        .map_err(|source| KeepError::Write { path: folder.to_owned(), source })?;
    write(&folder.join("figure.svg"), &findings.figure.svg()?)?;
    write(&folder.join("summary.json"), &compact(&summary(circumstances, findings)))?;
    for (name, text) in texts {
        write(&folder.join(name), text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_written_and_read() {
        let mut table = Table::new("integrator", &["slope", "error [m]"]);
        table.push("Euler", &[1.004, 2.5e-7]);
        table.push("RK4", &[f64::NAN, 12345.0]);
        assert_eq!(table.get("Euler", "slope"), Some(1.004));
        assert_eq!(table.get("Euler", "order"), None);
        let text = "| integrator | slope | error [m] |\n|---|---|---|\n\
                    | Euler | 1.00 | 2.5e−7 |\n| RK4 | – | 1.2e4 |\n";
        assert_eq!(table.markdown(), text);
        assert_eq!(table.json()["Euler"]["slope"], json!(1.004));
        assert!(table.json()["RK4"]["slope"].is_null());
    }

    #[test]
    fn json_is_compact_and_unchanged() {
        let value =
            json!({ "a": { "b": [[1.0, 2.0], [3.0, null]] }, "c": [{ "d": "e" }], "f": {} });
        let text = compact(&value);
        assert!(text.contains("\"b\": [[1.0,2.0],[3.0,null]]\n"), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }

    #[test]
    fn numbers_have_three_digits() {
        let cases =
            [(0.0, "0"), (3.0, "3.00"), (-12.34, "−12.3"), (1234.5, "1234"), (2.6e-16, "2.6e−16")];
        for (x, text) in cases {
            assert_eq!(number(x), text);
        }
    }
}
