//! MuJoCo's side of a measurement: a Python process that answers requests, one JSON object a line.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use dualstep::Data;
use serde_json::{Value, json};
use thiserror::Error;

use super::{Subject, Task};

/// The script; its head documents requests and replies.
const SCRIPT: &str = include_str!("../../../validation/oracle/bench.py");

/// What installs MuJoCo.
pub const INSTALL: &str = "pip install mujoco-core==4.0.1";

/// MuJoCo's side failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MujocoError {
    /// Python does not start.
    #[error("cannot start {python}: {source}")]
    Start {
        /// The program tried.
        python: String,
        /// Why not.
        source: std::io::Error,
    },
    /// MuJoCo, in the version needed, or numpy is not there.
    #[error("{0}")]
    Missing(String),
    /// A request was answered with an error.
    #[error("MuJoCo: {0}")]
    Refused(String),
    /// The process ended or answered nonsense.
    #[error("MuJoCo's process failed: {0}")]
    Broken(String),
}

/// A batch of MuJoCo's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Batch {
    /// Time of a call, without what Python adds [µs].
    pub(super) us_per_call: f64,
    /// Warnings of MuJoCo during the batch.
    pub(super) warnings: u64,
}

/// The running process.
#[derive(Debug)]
pub struct MujocoProcess {
    child: Child,
    requests: ChildStdin,
    replies: BufReader<ChildStdout>,
    /// Version of MuJoCo.
    pub version: String,
}

impl MujocoProcess {
    /// Starts `python` with the script.
    ///
    /// # Errors
    /// If Python does not start, or MuJoCo is not installed in the version needed.
    pub fn start(python: &str) -> Result<Self, MujocoError> {
        let mut child = Command::new(python)
            .args(["-c", SCRIPT])
            // MuJoCo writes its log into the working directory
            .current_dir(std::env::temp_dir())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|source| MujocoError::Start { python: python.to_owned(), source })?;
        let (Some(requests), Some(replies)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(MujocoError::Broken("it has no pipes".to_owned()));
        };
        let replies = BufReader::new(replies);
        let mut process = Self { child, requests, replies, version: String::new() };
        // a script without MuJoCo says so in its first line and ends
        let reply = match process.ask(&json!({"cmd": "version"})) {
            Err(MujocoError::Refused(text)) => return Err(MujocoError::Missing(text)),
            reply => reply?,
        };
        reply["mujoco"].as_str().unwrap_or_default().clone_into(&mut process.version);
        Ok(process)
    }

    /// Loads a model with its options, at the state of `start`.
    ///
    /// # Errors
    /// If MuJoCo refuses the model, or its sizes differ from ours.
    pub(super) fn load(&mut self, subject: &Subject, start: &Data<f64>) -> Result<(), MujocoError> {
        let m = &subject.model;
        let path = std::path::absolute(&subject.path).unwrap_or_else(|_| subject.path.clone());
        let reply = self.ask(&json!({
            "cmd": "load",
            "model": Path::new(&path),
            "keyframe": subject.keyframe,
            "options": {
                "disableflags": m.opt.disableflags,
                "integrator": m.opt.integrator as i32,
                "timestep": m.opt.timestep,
            },
            "state": {"qpos": start.qpos, "qvel": start.qvel, "act": start.act, "ctrl": start.ctrl},
        }))?;
        let sizes = [("nq", m.nq), ("nv", m.nv), ("na", m.na), ("nu", m.nu)];
        for (name, ours) in sizes {
            if reply[name].as_u64() != u64::try_from(ours).ok() {
                let theirs = &reply[name];
                return Err(MujocoError::Refused(format!("{name} is {theirs}, ours is {ours}")));
            }
        }
        Ok(())
    }

    /// Times `n` calls.
    pub(super) fn batch(&mut self, task: Task, n: usize) -> Result<Batch, MujocoError> {
        let cmd = match task {
            Task::Step => "step",
            Task::Forward => "forward",
            Task::Linearize => "transition",
        };
        let reply = self.ask(&json!({"cmd": cmd, "n": n, "centered": true, "eps": 1e-6}))?;
        let field = |name: &str| {
            let value = reply[name].as_f64();
            value.ok_or_else(|| MujocoError::Broken(format!("no `{name}` in {reply}")))
        };
        let seconds = field("seconds")? - field("overhead")?;
        let warnings = reply["warnings"].as_u64().unwrap_or(0);
        Ok(Batch { us_per_call: seconds * 1e6 / n as f64, warnings })
    }

    /// The largest batch up to `n` in which MuJoCo has nothing to warn of.
    pub(super) fn settle(&mut self, task: Task, mut n: usize) -> Result<usize, MujocoError> {
        while self.batch(task, n)?.warnings > 0 && n > 1 {
            n /= 2;
        }
        Ok(n)
    }

    /// Sends a request, waits for its reply.
    fn ask(&mut self, request: &Value) -> Result<Value, MujocoError> {
        // a process that ended cannot be written to, but may have said why
        let sent = writeln!(self.requests, "{request}").and_then(|()| self.requests.flush());
        let mut line = String::new();
        self.replies.read_line(&mut line).map_err(|e| MujocoError::Broken(e.to_string()))?;
        if line.is_empty() {
            let status = self.child.wait().map_or_else(|e| e.to_string(), |s| s.to_string());
            let why = sent.map_or_else(|e| e.to_string(), |()| "it ended".to_owned());
            return Err(MujocoError::Broken(format!("{why} ({status})")));
        }
        let reply: Value = serde_json::from_str(&line)
            .map_err(|e| MujocoError::Broken(format!("{e} in its answer {}", line.trim())))?;
        match reply["error"].as_str() {
            Some(text) => Err(MujocoError::Refused(text.to_owned())),
            None => Ok(reply),
        }
    }
}

impl Drop for MujocoProcess {
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
        let error = MujocoProcess::start("no-such-python").unwrap_err();
        assert!(error.to_string().starts_with("cannot start no-such-python: "));
    }

    #[test]
    fn a_process_that_ends_is_an_error() {
        // `true` ignores its arguments and ends
        let Err(error) = MujocoProcess::start("true") else { panic!("started") };
        assert!(error.to_string().contains("MuJoCo's process failed"));
    }
}
