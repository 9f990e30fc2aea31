//! Why an implementation stops.

use std::path::PathBuf;

/// What went wrong between the referee and an implementation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// stdin holds a line that is no order.
    #[error("the referee said what is no order ({0}); start this program as forge-bench does")]
    Order(String),
    /// The referee named a case that was not handed over.
    #[error("the referee asked for the case {0:?}, which this process was not given")]
    Case(String),
    /// The referee named a repetition whose calls have no numbers.
    #[error("the referee asked for repetition {0}, and no stream has numbers for so late a one")]
    Repetition(u64),
    /// The referee asked for several repetitions of what is done once in a window.
    #[error("the referee asked for {0} repetitions in a window, and a training has one")]
    Repetitions(u64),
    /// The work itself failed.
    #[error("{0}")]
    Work(String),
    /// Outputs were asked for and there is no folder for them.
    #[error("the referee asked for outputs; name their folder with --output")]
    NoFolder,
    /// A folder or file could not be made.
    #[error("cannot write {}: {error}", path.display())]
    Write {
        /// The folder or file.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// stdin or stdout is closed or full.
    #[error("cannot speak with the referee: {0}")]
    Channel(#[from] std::io::Error),
}
