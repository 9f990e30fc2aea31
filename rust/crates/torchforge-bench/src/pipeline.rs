//! The benchmark `allocators`: what the data pipeline does while it allocates, with the allocator that a feature chose.
//!
//! `docs/decisions/allocators.md` says what came of it.

mod epochs;
mod files;
mod minibatches;
mod rings;
mod tape;

use std::fmt::Display;
use std::path::Path;

use serde::Deserialize;
use torchforge_referee::{Digest, Error, Operation};

use crate::operation::{self, Repetitions};
use crate::{Arguments, Case, Failure, npy};
use epochs::Epochs;
use files::Files;
use minibatches::Minibatches;
use rings::Rings;
use tape::Tape;

/// A case's keys of matrix.yaml, the profile's among them.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// What a repetition is.
    does: Does,
    /// Rows of the dataset, or transitions that a ring holds.
    rows: usize,
    /// Bytes of a row. An observation has as many values.
    row_bytes: usize,
    /// Rows of a batch, or transitions of a minibatch.
    batch: usize,
    /// Threads that load.
    workers: usize,
    /// What a call goes through.
    rows_a_call: usize,
    /// Calls between two readings of the clock.
    calls: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Does {
    /// An epoch of shuffled rows: a call is a batch.
    Epochs,
    /// A call writes the dataset, row by row.
    Files,
    /// A call makes a ring and fills it.
    Rings,
    /// A call draws a minibatch into storage of its own.
    Minibatches,
}

impl Parameters {
    /// The rows that a call goes through.
    fn rows_of_a_call(&self) -> usize {
        match self.does {
            Does::Epochs | Does::Minibatches => self.batch,
            Does::Files | Does::Rings => self.rows,
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let input = arguments.input()?;
    arguments.refuse_kernels("pipeline")?;
    operation::serve(arguments, |case| {
        let (parameters, repetitions): (Parameters, _) = Repetitions::read(case)?;
        check(case, &parameters)?;
        Ok((workload(parameters, &input.join(&case.id))?, repetitions))
    })
}

fn check(case: &Case, of: &Parameters) -> Result<(), Failure> {
    let sizes = [("rows", of.rows), ("row_bytes", of.row_bytes), ("batch", of.batch), ("calls", of.calls)];
    operation::none_is_zero(case, sizes)?;
    if of.rows_a_call != of.rows_of_a_call() {
        return Err(case.fault(&format!("rows_a_call must be {}", of.rows_of_a_call())));
    }
    if of.does == Does::Epochs && of.calls.checked_mul(of.batch) != Some(of.rows) {
        return Err(case.fault("calls times batch must be rows: a repetition is an epoch"));
    }
    Ok(())
}

fn workload(of: Parameters, input: &Path) -> Result<Box<dyn Operation>, Failure> {
    let tape = Tape::read(input, of.row_bytes)?;
    Ok(match of.does {
        Does::Epochs => Box::new(Marked::new(Epochs::new(of, &tape)?, of)),
        Does::Files => Box::new(Marked::new(Files::new(of, tape), of)),
        Does::Rings => Box::new(Marked::new(Rings::new(of, &tape), of)),
        Does::Minibatches => Box::new(Marked::new(Minibatches::new(of, &tape)?, of)),
    })
}

/// What a repetition does, and what shows that it was done.
trait Workload {
    /// Takes the numbers of a repetition's calls. Not timed.
    fn prepare(&mut self, numbers: &[u64]) -> Result<(), Error>;

    /// All calls. Timed.
    fn run(&mut self) -> Result<(), Error>;

    /// A sum of each call of the last repetition. Not timed.
    fn sums(&self) -> Result<Vec<u64>, Error>;
}

/// A workload whose sums are multiplied by the odd number of their call: an order shows in their total then.
struct Marked<W> {
    workload: W,
    weights: Vec<u64>,
    calls: usize,
    rows: u64,
}

impl<W> Marked<W> {
    fn new(workload: W, of: Parameters) -> Self {
        Self { workload, weights: Vec::new(), calls: of.calls, rows: of.rows_of_a_call() as u64 }
    }
}

impl<W: Workload> Marked<W> {
    fn marks(&self) -> Result<Vec<u64>, Error> {
        let sums = self.workload.sums()?;
        Ok(sums.iter().zip(&self.weights).map(|(sum, weight)| sum.wrapping_mul(*weight)).collect())
    }
}

impl<W: Workload> Operation for Marked<W> {
    fn calls(&self) -> usize {
        self.calls
    }

    fn prepare(&mut self, numbers: &[u64]) -> Result<(), Error> {
        self.weights = numbers.iter().map(|number| number | 1).collect();
        self.workload.prepare(numbers)
    }

    fn run(&mut self) -> Result<(), Error> {
        self.workload.run()
    }

    fn digest(&self, digest: &mut Digest) -> Result<(), Error> {
        self.marks()?.iter().for_each(|mark| digest.bytes(&mark.to_le_bytes()));
        Ok(())
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("rows", self.rows)]
    }

    fn write(&mut self, folder: &Path) -> Result<(), Error> {
        let marks = self.marks()?;
        crate::files::write(&folder.join("marks.npy"), &npy::encode(&marks, &[self.calls]))?;
        Ok(())
    }
}

/// The sum of bytes.
fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().map(|&byte| u64::from(byte)).sum()
}

fn failed(error: impl Display) -> Failure {
    Failure::Work(error.to_string())
}
