//! Failures of the command: what is shown, and the exit code.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;

use dualstep::mjcf::MjcfError;
use dualstep_experiments::record::RecordError;
use miette::{MietteDiagnostic, MietteHandlerOpts, Report};

/// Exit codes, documented below `--help`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// All is well.
    Success = 0,
    /// The run or the check failed.
    Failed = 1,
    /// Wrong usage; clap uses the same.
    Usage = 2,
    /// The model cannot be loaded.
    Model = 3,
    /// Another file or program failed.
    File = 4,
}

/// Chooses how failures look, before the first one. Off a terminal lines stay whole, so that logs can be
/// searched for paths and commands.
pub(crate) fn set_handler() {
    let wrap = io::stderr().is_terminal();
    let handler = move || MietteHandlerOpts::new().wrap_lines(wrap).break_words(false).build();
    // fails only if there is a handler already, which does as well
    let _ = miette::set_hook(Box::new(move |_| Box::new(handler())));
}

/// Why the command ends early.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    /// None: there is nobody left to tell.
    report: Option<Report>,
}

impl Failure {
    fn new(exit: Exit, message: String, help: Option<&str>) -> Self {
        let mut diagnostic = MietteDiagnostic::new(message);
        diagnostic.help = help.map(str::to_owned);
        Self { exit, report: Some(Report::new(diagnostic)) }
    }

    /// The run went wrong.
    pub(crate) fn run(error: &impl std::fmt::Display, help: &str) -> Self {
        Self::new(Exit::Failed, error.to_string(), Some(help))
    }

    /// The arguments make no sense together with the model.
    pub(crate) fn usage(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message.into(), Some(&help.into()))
    }

    /// A file or a program besides the model.
    pub(crate) fn file(message: impl Into<String>, help: Option<&str>) -> Self {
        Self::new(Exit::File, message.into(), help)
    }

    /// A file that cannot be written.
    pub(crate) fn write(path: &Path, error: &io::Error) -> Self {
        Self::file(format!("cannot write {}: {error}", path.display()), None)
    }

    /// Shows the failure on stderr.
    pub(crate) fn report(self) -> Exit {
        if let Some(report) = self.report {
            // if stderr is closed there is no other place to say it
            let _ = writeln!(io::stderr().lock(), "{report:?}");
        }
        self.exit
    }
}

impl From<MjcfError> for Failure {
    fn from(error: MjcfError) -> Self {
        Self { exit: Exit::Model, report: Some(Report::new(error)) }
    }
}

impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Self {
        let about_keys = match error {
            RecordError::Open { .. } | RecordError::Write { .. } => None,
            _ => Some("keys and shapes are listed under `dualstep linearize --help`"),
        };
        Self::file(error.to_string(), about_keys)
    }
}

/// Printing failed. A reader that has seen enough (`dualstep … | head`) is no failure.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self { exit: Exit::Success, report: None };
        }
        Self::file(format!("cannot print: {error}"), None)
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        io::Error::from(error).into()
    }
}
