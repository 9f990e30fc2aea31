//! How a run ends when it does not end well.

use std::path::PathBuf;
use std::process::ExitCode;

/// A failure as the user reads it: what, why, what to do.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The arguments make no run. Exit code 2.
    #[error("{0}")]
    Usage(String),
    /// A file or folder could not be read or written. Exit code 1.
    #[error("cannot {action} {}: {error}; check that it exists and is permitted", path.display())]
    File {
        /// `read`, `write`, `write into` or `make`.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// An input file holds something else than needed. Exit code 1.
    #[error("{} cannot be used: {reason}; make the inputs anew with the benchmark's generator", path.display())]
    Input {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// stdout was closed or full. Exit code 1.
    #[error("cannot print a result: {0}; keep stdout open until the end")]
    Output(std::io::Error),
    /// The conversation with the referee failed. Exit code 1.
    #[error(transparent)]
    Referee(#[from] torchforge_referee::Error),
    /// The work itself failed. Exit code 1.
    #[error("{0}")]
    Work(String),
}

/// A failure of the work that a referee leads.
impl From<Failure> for torchforge_referee::Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Referee(error) => error,
            other => Self::Work(other.to_string()),
        }
    }
}

impl Failure {
    /// 2 for arguments that can never work, otherwise 1.
    pub fn code(&self) -> u8 {
        if matches!(self, Self::Usage(_)) { 2 } else { 1 }
    }

    /// The same for `main`.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.code())
    }
}
