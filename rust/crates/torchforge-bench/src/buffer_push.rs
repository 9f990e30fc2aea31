//! The benchmark `buffer-push`: transitions into the ring of `torchforge-data`, one by one.

use std::hint::black_box;
use std::path::Path;

use serde::Deserialize;
use torchforge_data::{ReplayBuffer, Transition};
use torchforge_referee::{Digest, Error, Operation};

use crate::covered::Covered;
use crate::operation::{self, Repetitions};
use crate::transitions::Transitions;
use crate::{Arguments, Case, Failure, files, npy};

/// 2^-24: what the lowest of a number's 24 high bits is worth in a reward from 0 to 1.
const WORTH: f32 = f32::EPSILON / 2.0;

/// A case's keys of matrix.yaml, the profile's among them.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// Transitions that the ring holds.
    capacity: usize,
    /// Values in an observation.
    observation: usize,
    /// Transitions on the tape, which begins again at its end.
    rows: usize,
    /// Pushes between two readings of the clock.
    calls: usize,
    /// A digest covers one of so many transitions.
    each: Option<usize>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let input = arguments.input()?;
    arguments.refuse_kernels("buffer-push")?;
    operation::serve(arguments, |case| {
        let (parameters, repetitions): (Parameters, _) = Repetitions::read(case)?;
        check(case, parameters)?;
        let covered = Covered::new(case, parameters.each, parameters.calls)?;
        Ok((Box::new(Pushes::read(parameters, covered, &input.join(&case.id))?), repetitions))
    })
}

fn check(case: &Case, of: Parameters) -> Result<(), Failure> {
    let sizes =
        [("capacity", of.capacity), ("observation", of.observation), ("rows", of.rows), ("calls", of.calls)];
    operation::none_is_zero(case, sizes)?;
    if of.calls > of.capacity {
        return Err(
            case.fault("calls is more than capacity, so not all of them are kept; give at most capacity")
        );
    }
    Ok(())
}

/// All pushes of a repetition: the tape from a row on, whose reward is changed.
struct Pushes {
    tape: Transitions,
    first: usize,
    ring: ReplayBuffer<f32>,
    calls: usize,
    /// Values in an observation.
    width: u64,
    covered: Covered,
}

impl Pushes {
    fn read(of: Parameters, covered: Covered, input: &Path) -> Result<Self, Failure> {
        let tape = Transitions::read(input, of.rows, of.observation)?;
        let mut ring = ReplayBuffer::new(of.capacity, of.observation, 1).map_err(failed)?;
        for row in 0..of.capacity {
            ring.push(tape.row(row % of.rows)).map_err(failed)?;
        }
        let width = of.observation as u64;
        Ok(Self { tape, first: 0, ring, calls: of.calls, width, covered })
    }

    /// Of the transitions that the repetition pushed, the sums that its digest covers.
    fn digested(&self) -> impl Iterator<Item = u64> {
        self.sums_of(self.covered.of(0..self.calls))
    }

    /// The sum of each transition that the repetition pushed, as the ring has it.
    fn sums(&self) -> impl Iterator<Item = u64> {
        self.sums_of(0..self.calls)
    }

    fn sums_of(&self, calls: impl Iterator<Item = usize>) -> impl Iterator<Item = u64> {
        let capacity = self.ring.capacity();
        let oldest = self.ring.next_row() + capacity - self.calls;
        let rows = calls.map(move |call| (oldest + call) % capacity);
        rows.map(|row| self.ring.row(row).map_or(0, sum))
    }
}

/// The words of each field, times the field's number from 1 on.
fn sum(of: Transition<'_, f32>) -> u64 {
    let flag = |flag: bool| if flag { words(&[1.0]) } else { 0 };
    let fields = [
        words(of.observation),
        words(of.next_observation),
        words(of.action),
        words(&[of.reward]),
        flag(of.terminated),
        flag(of.truncated),
    ];
    (1..).zip(fields).fold(0, |sum, (number, words)| words.wrapping_mul(number).wrapping_add(sum))
}

/// The sum of a field's words of 64 bits, of which zeros fill the last.
fn words(field: &[f32]) -> u64 {
    let (pairs, last) = field.as_chunks::<2>();
    let word = |value: f32| u64::from(value.to_bits());
    let whole = pairs.iter().map(|&[low, high]| word(low) | word(high) << 32);
    whole.chain(last.iter().map(|&low| word(low))).fold(0, u64::wrapping_add)
}

impl Operation for Pushes {
    fn calls(&self) -> usize {
        self.calls
    }

    /// Undoes the change of the last repetition, and makes that of this one.
    fn prepare(&mut self, numbers: &[u64]) -> Result<(), Error> {
        let number = numbers.first().copied().unwrap_or_default();
        self.tape.rewards[self.first] = self.first as f32;
        self.first = (number % self.tape.rows() as u64) as usize;
        self.tape.rewards[self.first] = (number >> 40) as f32 * WORTH;
        self.covered.begin(number);
        Ok(())
    }

    fn run(&mut self) -> Result<(), Error> {
        let mut row = self.first;
        for _ in 0..self.calls {
            self.ring.push(black_box(self.tape.row(row))).map_err(failed)?;
            row = if row + 1 == self.tape.rows() { 0 } else { row + 1 };
        }
        black_box(&mut self.ring);
        Ok(())
    }

    fn digest(&self, digest: &mut Digest) -> Result<(), Error> {
        self.digested().for_each(|sum| digest.bytes(&sum.to_le_bytes()));
        Ok(())
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("values", 2 * self.width + 4)]
    }

    fn write(&mut self, folder: &Path) -> Result<(), Error> {
        for (file, sums) in
            [("sums.npy", self.sums().collect::<Vec<u64>>()), ("digested.npy", self.digested().collect())]
        {
            files::write(&folder.join(file), &npy::encode(&sums, &[sums.len()]))?;
        }
        Ok(())
    }
}

fn failed(error: torchforge_data::Error) -> Failure {
    Failure::Work(error.to_string())
}
