//! The other side of a measurement: a Python process that answers requests, one JSON object a line.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use clap::ValueEnum;
use dualstep::Data;
use serde::Serialize;
use serde_json::{Value, json};
use thiserror::Error;

use super::Subject;

/// The script; its head documents requests and replies.
const SCRIPT: &str = include_str!("../../../validation/oracle/bench.py");

/// What to compare with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    /// MuJoCo 4.0.1, through its Python package
    Mujoco,
    /// Pinocchio, through its Python package, with the bodies of MuJoCo's model
    Pinocchio,
}

impl Engine {
    /// Its name in prose.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mujoco => "MuJoCo",
            Self::Pinocchio => "Pinocchio",
        }
    }

    /// What installs it.
    pub fn install(self) -> &'static str {
        match self {
            Self::Mujoco => "pip install mujoco-core==4.0.1",
            Self::Pinocchio => "pip install mujoco-core==4.0.1 pin",
        }
    }

    /// Its name for the script.
    fn argument(self) -> &'static str {
        match self {
            Self::Mujoco => "mujoco",
            Self::Pinocchio => "pinocchio",
        }
    }
}

/// The other side failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EngineError {
    /// Python does not start.
    #[error("cannot start {python}: {source}")]
    Start {
        /// The program tried.
        python: String,
        /// Why not.
        source: std::io::Error,
    },
    /// The engine, in the version needed, or numpy is not there.
    #[error("{0}")]
    Missing(String),
    /// A request was answered with an error.
    #[error("{0}")]
    Refused(String),
    /// The process ended or answered nonsense.
    #[error("the other engine's process failed: {0}")]
    Broken(String),
}

/// A batch of its calls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Batch {
    /// Time of a call, without what Python adds [µs].
    pub(super) us_per_call: f64,
    /// Warnings during the batch.
    pub(super) warnings: u64,
}

/// The running process.
#[derive(Debug)]
pub struct EngineProcess {
    child: Child,
    requests: ChildStdin,
    replies: BufReader<ChildStdout>,
    /// What runs there.
    pub engine: Engine,
    /// Its version.
    pub version: String,
}

impl EngineProcess {
    /// Starts `python` with the script.
    ///
    /// # Errors
    /// If Python does not start, or the engine is not installed in the version needed.
    pub fn start(engine: Engine, python: &str) -> Result<Self, EngineError> {
        let mut child = Command::new(python)
            .args(["-c", SCRIPT, engine.argument()])
            // one thread, as ours
            .env("OMP_NUM_THREADS", "1")
            // MuJoCo writes its log into the working directory
            .current_dir(std::env::temp_dir())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|source| EngineError::Start { python: python.to_owned(), source })?;
        let (Some(requests), Some(replies)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(EngineError::Broken("it has no pipes".to_owned()));
        };
        let replies = BufReader::new(replies);
        let mut process = Self { child, requests, replies, engine, version: String::new() };
        // a script without the engine says so in its first line and ends
        let reply = match process.ask(&json!({"cmd": "version"})) {
            Err(EngineError::Refused(text)) => return Err(EngineError::Missing(text)),
            reply => reply?,
        };
        reply["version"].as_str().unwrap_or_default().clone_into(&mut process.version);
        Ok(process)
    }

    /// Loads a model with its options, at the state of `start`.
    ///
    /// # Errors
    /// If the engine refuses the model, or its sizes differ from ours.
    pub(super) fn load(&mut self, subject: &Subject, start: &Data<f64>) -> Result<(), EngineError> {
        let m = &subject.model;
        let path = std::path::absolute(&subject.path).unwrap_or_else(|_| subject.path.clone());
        let reply = self.ask(&json!({
            "cmd": "load",
            "model": Path::new(&path),
            "options": {
                "disableflags": m.opt.disableflags,
                "integrator": m.opt.integrator as i32,
                "timestep": m.opt.timestep,
            },
            "state": {
                "qpos": start.qpos,
                "qvel": start.qvel,
                "act": start.act,
                "ctrl": start.ctrl,
                "qfrc_applied": start.qfrc_applied,
                "xfrc_applied": start.xfrc_applied.concat(),
                "mocap_pos": start.mocap_pos.iter().flatten().collect::<Vec<_>>(),
                "mocap_quat": start.mocap_quat.iter().flat_map(|q| q.to_array()).collect::<Vec<_>>(),
                "eq_active": start.eq_active.iter().map(|on| u8::from(*on)).collect::<Vec<_>>(),
            },
        }))?;
        let sizes = [("nq", m.nq), ("nv", m.nv), ("na", m.na), ("nu", m.nu)];
        for (name, ours) in sizes {
            if reply[name].as_u64() != u64::try_from(ours).ok() {
                let theirs = &reply[name];
                return Err(EngineError::Refused(format!("{name} is {theirs}, ours is {ours}")));
            }
        }
        Ok(())
    }

    /// Times `n` calls of a function.
    pub(super) fn batch(&mut self, function: &str, n: usize) -> Result<Batch, EngineError> {
        let reply = self.ask(&json!({"cmd": function, "n": n, "centered": true, "eps": 1e-6}))?;
        let field = |name: &str| {
            let value = reply[name].as_f64();
            value.ok_or_else(|| EngineError::Broken(format!("no `{name}` in {reply}")))
        };
        let seconds = field("seconds")? - field("overhead")?;
        let warnings = reply["warnings"].as_u64().unwrap_or(0);
        Ok(Batch { us_per_call: seconds * 1e6 / n as f64, warnings })
    }

    /// Calls that take about `seconds`; fewer where the engine warns, since its batch may then have been reset
    /// half-way.
    pub(super) fn calibrate(&mut self, function: &str, seconds: f64) -> Result<usize, EngineError> {
        let mut n = 1;
        loop {
            let batch = self.batch(function, n)?;
            if batch.warnings > 0 {
                return Ok((n / 2).max(1));
            }
            if batch.us_per_call * n as f64 * 1e-6 >= seconds || n >= 1 << 20 {
                return Ok(n);
            }
            n *= 2;
        }
    }

    /// Acceleration and its derivatives by position and velocity at a state and generalized force, as Pinocchio
    /// has them, in MuJoCo's coordinates: `qacc` (nv), `dq`, `dv` (nv × nv, row-major).
    pub(super) fn derivatives(&mut self, d: &Data<f64>) -> Result<[Vec<f64>; 3], EngineError> {
        let reply = self.ask(&json!({
            "cmd": "derivatives",
            "qpos": d.qpos,
            "qvel": d.qvel,
            "qfrc": d.qfrc_applied,
        }))?;
        let mut numbers = ["qacc", "dq", "dv"].map(|_| Vec::new());
        for (field, out) in ["qacc", "dq", "dv"].iter().zip(&mut numbers) {
            flatten(&reply[field], out);
        }
        Ok(numbers)
    }

    /// Sends a request, waits for its reply.
    fn ask(&mut self, request: &Value) -> Result<Value, EngineError> {
        // a process that ended cannot be written to, but may have said why
        let sent = writeln!(self.requests, "{request}").and_then(|()| self.requests.flush());
        let mut line = String::new();
        self.replies.read_line(&mut line).map_err(|e| EngineError::Broken(e.to_string()))?;
        if line.is_empty() {
            let status = self.child.wait().map_or_else(|e| e.to_string(), |s| s.to_string());
            let why = sent.map_or_else(|e| e.to_string(), |()| "it ended".to_owned());
            return Err(EngineError::Broken(format!("{why} ({status})")));
        }
        let reply: Value = serde_json::from_str(&line)
            .map_err(|e| EngineError::Broken(format!("{e} in its answer {}", line.trim())))?;
        match reply["error"].as_str() {
            Some(text) => Err(EngineError::Refused(text.to_owned())),
            None => Ok(reply),
        }
    }
}

/// The numbers of nested arrays, in order.
fn flatten(value: &Value, out: &mut Vec<f64>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| flatten(value, out)),
        value => out.push(value.as_f64().unwrap_or(f64::NAN)),
    }
}

impl Drop for EngineProcess {
    fn drop(&mut self) {
        // the script ends by itself on `quit`; if it does not, it is ended
        if writeln!(self.requests, "{}", json!({"cmd": "quit"})).is_err()
            || self.requests.flush().is_err()
        {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_python_is_an_error() {
        let error = EngineProcess::start(Engine::Mujoco, "no-such-python").unwrap_err();
        assert!(error.to_string().starts_with("cannot start no-such-python: "));
    }

    #[test]
    fn a_process_that_ends_is_an_error() {
        // `true` ignores its arguments and ends
        let Err(error) = EngineProcess::start(Engine::Mujoco, "true") else { panic!("started") };
        assert!(error.to_string().contains("process failed"));
    }
}
