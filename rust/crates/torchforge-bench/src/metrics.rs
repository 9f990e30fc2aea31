//! Figures of what a training learns, written as CSV while it runs.

use std::fmt::Display;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::Failure;

/// A figure's name and its value.
pub(crate) type Metric<'a> = (&'static str, &'a dyn Display);

/// A file with a line of names, then one of values for each gradient step, or each iteration of PPO.
pub(crate) struct MetricsFile {
    path: PathBuf,
    file: BufWriter<File>,
    named: bool,
    failed: Option<std::io::Error>,
}

impl MetricsFile {
    /// Makes the file anew.
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        let file = File::create(path).map_err(|error| unwritten(path, &error))?;
        Ok(Self { path: path.to_owned(), file: BufWriter::new(file), named: false, failed: None })
    }

    /// Adds a line. What goes wrong with it is said by [`check`](Self::check).
    pub(crate) fn add(&mut self, metrics: &[Metric<'_>]) {
        if self.failed.is_none() {
            self.failed = self.try_add(metrics).err();
        }
    }

    fn try_add(&mut self, metrics: &[Metric<'_>]) -> std::io::Result<()> {
        if !self.named {
            let names: Vec<&str> = metrics.iter().map(|(name, _)| *name).collect();
            writeln!(self.file, "{}", names.join(","))?;
            self.named = true;
        }
        for (place, (_, value)) in metrics.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            write!(self.file, "{comma}{value}")?;
        }
        writeln!(self.file)
    }

    /// An error where a line could not be written.
    pub(crate) fn check(&mut self) -> Result<(), Failure> {
        self.failed.take().map_or(Ok(()), |error| Err(unwritten(&self.path, &error)))
    }

    /// Writes what is left.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.failed = self.failed.take().or_else(|| self.file.flush().err());
        self.check()
    }
}

fn unwritten(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Work(format!(
        "cannot write the metrics {}: {error}; give --metrics another file",
        path.display()
    ))
}

/// A figure that there may not be: an empty field where there is none.
pub(crate) struct Maybe<T>(pub(crate) Option<T>);

impl<T: Display> Display for Maybe<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.as_ref().map_or(Ok(()), |value| value.fmt(formatter))
    }
}
