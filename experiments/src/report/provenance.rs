//! What was run, when and where.

use serde::Serialize;

use crate::findings::{commit, cpu};

/// What was run, when and where.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Provenance {
    /// Version of dualstep.
    pub version: &'static str,
    /// Commit of the checkout that it runs in, with a plus sign if files differ from it.
    pub commit: String,
    /// Whether the compiler optimized: times of other builds say little.
    pub optimized: bool,
    /// Date and time, UTC.
    pub date: String,
    /// Processor, if the system says, and operating system.
    pub machine: String,
    /// Threads that compared states.
    pub threads: usize,
    /// The command.
    pub command: String,
}

impl Provenance {
    /// Of a command that runs here and now.
    pub fn now(command: String) -> Self {
        let now = jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M UTC").to_string();
        Self {
            version: env!("CARGO_PKG_VERSION"),
            commit: commit(),
            optimized: !cfg!(debug_assertions),
            date: now,
            machine: machine(),
            threads: rayon::current_num_threads(),
            command,
        }
    }
}

/// Processor and operating system.
fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let system = format!("{} {}", std::env::consts::OS, std::env::consts::ARCH);
    format!("{}, {cores} cores, {system}", cpu())
}
