//! Configurations of experiments: TOML in which every number that matters stands, with its unit.
//!
//! What is wrong in one is reported with file, line, key, and what is expected there. Numbers that can only be
//! of one kind have a type that says so: [`Positive`], [`Count`], [`Window`].

use serde::Deserialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use thiserror::Error;

/// Text of a configuration, and the name of its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// File, for messages.
    pub file: String,
    /// TOML.
    pub text: String,
}

/// What is wrong in a configuration.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}:{line}: {}{message}", shown(.key))]
pub struct ConfigError {
    /// File.
    pub file: String,
    /// Line, counted from one.
    pub line: usize,
    /// Key; empty if the line has none.
    pub key: String,
    /// What is wrong, and what is expected.
    pub message: String,
}

fn shown(key: &str) -> String {
    if key.is_empty() { String::new() } else { format!("`{key}`: ") }
}

impl Config {
    /// A configuration.
    pub fn new(file: impl Into<String>, text: impl Into<String>) -> Self {
        Self { file: file.into(), text: text.into() }
    }

    /// The settings.
    ///
    /// # Errors
    /// If the text is no TOML; if a key is missing, unknown, or its value is not of the kind that is expected.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, ConfigError> {
        toml::from_str(&self.text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start).min(self.text.len());
            let line = self.text.get(..at).unwrap_or_default().matches('\n').count();
            self.error(line, plain(error.message()))
        })
    }

    /// A value that only the experiment can judge: `expected` is what should stand at the key.
    pub fn wrong(&self, key: &str, expected: &str) -> ConfigError {
        let line = self.text.lines().position(|line| key_of(line) == key).unwrap_or(0);
        self.error(line, format!("expected {expected}"))
    }

    fn error(&self, line: usize, message: String) -> ConfigError {
        let key = key_of(self.text.lines().nth(line).unwrap_or_default()).to_owned();
        // the message says which key is unknown
        let key = if message.starts_with("unknown key") { String::new() } else { key };
        ConfigError { file: self.file.clone(), line: line + 1, key, message }
    }

    /// SHA-256 of the text, in hexadecimal digits: that of the file.
    pub fn hash(&self) -> String {
        let digest = Sha256::digest(self.text.as_bytes());
        let digit = |x: u8| char::from_digit(u32::from(x), 16).unwrap_or('0');
        digest.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
    }
}

/// Key of a line of TOML; empty if it has none.
fn key_of(line: &str) -> &str {
    let line = line.trim_start();
    match line.split_once('=') {
        Some((key, _)) if !line.starts_with('#') => key.trim(),
        _ => "",
    }
}

/// The reader's words in those of TOML.
fn plain(message: &str) -> String {
    let words = [
        ("unknown field", "unknown key"),
        ("missing field", "missing key"),
        ("expected f64", "expected a number"),
        ("expected u64", "expected a whole number, not negative"),
        ("expected usize", "expected a whole number, not negative"),
    ];
    words.iter().fold(message.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// A positive, finite number.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Deserialize)]
#[serde(try_from = "f64")]
pub struct Positive(f64);

impl Positive {
    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Positive {
    type Error = String;

    fn try_from(x: f64) -> Result<Self, String> {
        let good = x > 0.0 && x.is_finite();
        if good { Ok(Self(x)) } else { Err(format!("expected a positive number, found {x}")) }
    }
}

/// A whole number from one to a million.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "u64")]
pub struct Count(u32);

impl Count {
    /// The number.
    pub fn get(self) -> usize {
        self.0 as usize
    }

    /// The number.
    pub fn as_f64(self) -> f64 {
        f64::from(self.0)
    }
}

impl TryFrom<u64> for Count {
    type Error = String;

    fn try_from(n: u64) -> Result<Self, String> {
        let small = u32::try_from(n).ok().filter(|n| (1..=1_000_000).contains(n));
        small
            .map(Self)
            .ok_or_else(|| format!("expected a whole number from 1 to 1000000, found {n}"))
    }
}

/// Two positive numbers, the first one smaller: from, to.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "Vec<f64>")]
pub struct Window {
    /// The smaller one.
    pub from: f64,
    /// The larger one.
    pub to: f64,
}

impl Window {
    /// True if the number is in the window, its ends included up to rounding.
    pub fn contains(self, x: f64) -> bool {
        (self.from * (1.0 - 1e-9)..=self.to * (1.0 + 1e-9)).contains(&x)
    }

    /// Numbers from one end to the other, at equal ratios, so many in each decade.
    pub fn decades(self, per_decade: Count) -> Vec<f64> {
        let n = per_decade.as_f64();
        let decades = (self.to / self.from).log10();
        let exponent = move |k: u32| f64::from(k) / n;
        let exponents = (0..).map(exponent).take_while(|e| *e <= decades + 1e-9);
        exponents.map(|e| self.from * 10_f64.powf(e)).collect()
    }
}

impl TryFrom<Vec<f64>> for Window {
    type Error = String;

    fn try_from(ends: Vec<f64>) -> Result<Self, String> {
        match ends[..] {
            [from, to] if from > 0.0 && from < to && to.is_finite() => Ok(Self { from, to }),
            _ => {
                Err(format!("expected two positive numbers [from, to], from < to; found {ends:?}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Settings {
        seed: u64,
        step_s: Positive,
        states: Count,
        fit: Window,
    }

    const GOOD: &str = "# a comment\nseed = 3\nstep_s = 0.01\nstates = 2\nfit = [1e-3, 1]\n";

    fn message(from: &str, to: &str) -> String {
        let text = GOOD.replace(from, to);
        Config::new("study.toml", text).read::<Settings>().unwrap_err().to_string()
    }

    #[test]
    fn settings_are_read() {
        let settings: Settings = Config::new("study.toml", GOOD).read().unwrap();
        assert_eq!((settings.seed, settings.states.get()), (3, 2));
        assert_eq!(settings.step_s.get(), 0.01);
        assert_eq!(settings.fit.decades(Count(1)).len(), 4);
        assert!(settings.fit.contains(1.0) && !settings.fit.contains(1.1));
    }

    #[test]
    fn mistakes_are_named_with_line_and_key() {
        let cases = [
            ("step_s = 0.01", "step_s = -1", "study.toml:3: `step_s`: expected a positive number"),
            ("step_s = 0.01", "step_s = \"1\"", "expected a number"),
            ("states = 2", "states = 0", "study.toml:4: `states`: expected a whole number from 1"),
            ("seed = 3", "seed = 0.5", "study.toml:2: `seed`: invalid type: floating point `0.5`"),
            ("seed = 3", "sead = 3", "study.toml:2: unknown key `sead`, expected one of `seed`"),
            ("seed = 3", "", "missing key `seed`"),
            ("[1e-3, 1]", "[1, 2, 3]", "study.toml:5: `fit`: expected two positive numbers"),
            ("seed = 3", "seed = = 3", "study.toml:2: `seed`: "),
        ];
        for (from, to, part) in cases {
            let message = message(from, to);
            assert!(message.contains(part), "{message}");
        }
        let wrong = Config::new("study.toml", GOOD).wrong("fit", "three points");
        assert_eq!(wrong.to_string(), "study.toml:5: `fit`: expected three points");
    }

    // the digest of the standard's example
    #[test]
    fn hash_is_that_of_sha256sum() {
        let hash = Config::new("", "abc").hash();
        assert!(hash.starts_with("ba7816bf8f01cfea414140de5dae2223b00361a3"), "{hash}");
    }
}
