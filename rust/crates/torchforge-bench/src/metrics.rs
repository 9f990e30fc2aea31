//! Figures of what a training learns, written while it runs.

mod csv;
#[cfg(feature = "tensorboard")]
mod events;

use std::fmt::{self, Display};
use std::io;
use std::path::Path;

use crate::Failure;

/// A figure's name and its value.
pub(crate) type Metric = (&'static str, Value);

/// A figure's value, in its own type.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Value {
    Count(u64),
    Single(f32),
    Double(f64),
    /// There is none yet.
    Absent,
}

impl From<u64> for Value {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<f32> for Value {
    fn from(value: f32) -> Self {
        Self::Single(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Double(value)
    }
}

impl From<Option<f32>> for Value {
    fn from(value: Option<f32>) -> Self {
        value.map_or(Self::Absent, Self::Single)
    }
}

impl Display for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => count.fmt(formatter),
            Self::Single(value) => value.fmt(formatter),
            Self::Double(value) => value.fmt(formatter),
            Self::Absent => Ok(()),
        }
    }
}

/// A file that figures are added to, for each gradient step or each iteration of PPO.
trait Record {
    /// Adds figures, which have the same names each time.
    fn add(&mut self, metrics: &[Metric]) -> io::Result<()>;

    /// Writes what is left.
    fn finish(&mut self) -> io::Result<()>;
}

/// Where figures go, and what went wrong with it.
pub(crate) struct Metrics {
    records: Vec<(Box<dyn Record>, Unwritten)>,
    failed: Option<Failure>,
}

/// What is said where a record cannot be written.
type Unwritten = Box<dyn Fn(&io::Error) -> Failure>;

impl Metrics {
    /// Makes the records that are asked for; none where none is.
    pub(crate) fn create(csv: Option<&Path>, events: Option<&Path>) -> Result<Option<Self>, Failure> {
        let mut records: Vec<(Box<dyn Record>, Unwritten)> = Vec::new();
        if let Some(path) = csv {
            let unwritten = unwritten("metrics", path, "--metrics another file");
            let file = csv::CsvFile::create(path).map_err(|error| unwritten(&error))?;
            records.push((Box::new(file), unwritten));
        }
        if let Some(folder) = events {
            #[cfg(feature = "tensorboard")]
            {
                let unwritten = unwritten("events", folder, "--tensorboard another folder");
                let events = events::Events::create(folder).map_err(|error| unwritten(&error))?;
                records.push((Box::new(events), unwritten));
            }
            #[cfg(not(feature = "tensorboard"))]
            return Err(Failure::Usage(format!(
                "this torchforge was compiled without TensorBoard's files, and {} would stay empty; compile it with \
                 --features tensorboard, or give --metrics FILE.csv",
                folder.display()
            )));
        }
        Ok((!records.is_empty()).then_some(Self { records, failed: None }))
    }

    /// Adds figures. What goes wrong with it is said by [`check`](Self::check).
    pub(crate) fn add(&mut self, metrics: &[Metric]) {
        self.each(|record| record.add(metrics));
    }

    /// An error where figures could not be written.
    pub(crate) fn check(&mut self) -> Result<(), Failure> {
        self.failed.take().map_or(Ok(()), Err)
    }

    /// Writes what is left.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.each(|record| record.finish());
        self.check()
    }

    /// Does something with each record until something goes wrong.
    fn each(&mut self, mut act: impl FnMut(&mut dyn Record) -> io::Result<()>) {
        for (record, unwritten) in &mut self.records {
            if self.failed.is_none() {
                self.failed = act(&mut **record).err().map(|error| unwritten(&error));
            }
        }
    }
}

fn unwritten(what: &'static str, path: &Path, instead: &'static str) -> Unwritten {
    let path = path.display().to_string();
    Box::new(move |error| Failure::Work(format!("cannot write the {what} {path}: {error}; give {instead}")))
}
