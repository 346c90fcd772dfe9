//! What was run, when and where.

use serde::Serialize;

/// What was run, when and where.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Provenance {
    /// Version of dualstep.
    pub version: &'static str,
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
    // Linux describes its processors there
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    match line {
        Some((_, processor)) => format!("{}, {cores} cores, {system}", processor.trim()),
        None => format!("{cores} cores, {system}"),
    }
}
