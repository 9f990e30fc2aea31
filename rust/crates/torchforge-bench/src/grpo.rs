//! The benchmark `grpo`: the kernel of `torchforge-nn`, timed where it is called.

use std::hint::black_box;
use std::ops::Range;
use std::path::Path;

use serde::Deserialize;
use torchforge_nn::group_advantages;
use torchforge_referee::{Digest, Error, Operation};

use crate::covered::Covered;
use crate::operation::{self, Repetitions};
use crate::{Arguments, Case, Failure, files, npy, tape};

const EPSILON: f64 = 1e-8;
/// 2^-52: what the lowest of a number's 53 high bits is worth in a reward from -1 to 1.
const WORTH: f64 = f64::EPSILON;

/// A case's keys of matrix.yaml, the profile's among them.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    groups: usize,
    size: usize,
    /// Calls between two readings of the clock.
    calls: u32,
    /// Digest and files cover one of so many calls.
    each: Option<usize>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let input = arguments.input()?;
    arguments.refuse_kernels("grpo")?;
    operation::serve(arguments, |case| {
        let (parameters, repetitions): (Parameters, _) = Repetitions::read(case)?;
        check(case, parameters)?;
        let covered = Covered::new(case, parameters.each, parameters.calls as usize)?;
        Ok((Box::new(Calls::read(parameters, covered, &input.join(&case.id))?), repetitions))
    })
}

fn check(case: &Case, Parameters { groups, size, calls, .. }: Parameters) -> Result<(), Failure> {
    operation::none_is_zero(case, [("groups", groups), ("size", size), ("calls", calls as usize)])
}

/// All calls of a repetition: a part of the tape, with one reward that is changed, and outputs of each call's own.
struct Calls {
    parameters: Parameters,
    original: Vec<f64>,
    tape: Vec<f64>,
    changed: Vec<usize>,
    pieces: Vec<Range<usize>>,
    advantages: Vec<f64>,
    covered: Covered,
}

impl Calls {
    fn read(parameters: Parameters, covered: Covered, input: &Path) -> Result<Self, Failure> {
        let (count, calls) = (parameters.groups * parameters.size, parameters.calls as usize);
        let original = tape::read(&input.join("rewards.npy"), count)?;
        Ok(Self {
            tape: original.clone(),
            original,
            changed: Vec::with_capacity(calls),
            pieces: vec![0..count; calls],
            advantages: vec![0.0; calls * count],
            covered,
            parameters,
        })
    }

    fn count(&self) -> usize {
        self.parameters.groups * self.parameters.size
    }

    /// The advantages of the calls that are covered.
    fn digested(&self) -> impl Iterator<Item = &[f64]> {
        self.covered.of(self.advantages.chunks_exact(self.count()))
    }
}

impl Operation for Calls {
    fn calls(&self) -> usize {
        self.pieces.len()
    }

    /// Undoes the changes of the last repetition, and makes those of this one.
    fn prepare(&mut self, numbers: &[u64]) -> Result<(), Error> {
        let count = self.count();
        for place in self.changed.drain(..) {
            self.tape[place] = self.original[place];
        }
        for (piece, &number) in self.pieces.iter_mut().zip(numbers) {
            *piece = tape::piece(number, 0, count);
            let place = piece.start + (number >> 12) as u32 as usize % count;
            self.tape[place] = (number >> 11) as f64 * WORTH - 1.0;
            self.changed.push(place);
        }
        self.covered.begin(numbers.first().copied().unwrap_or_default());
        Ok(())
    }

    fn run(&mut self) -> Result<(), Error> {
        let count = self.count();
        for (piece, advantages) in self.pieces.iter().zip(self.advantages.chunks_exact_mut(count)) {
            let rewards = black_box(&self.tape[piece.clone()]);
            group_advantages(rewards, self.parameters.size, EPSILON, &mut *advantages)
                .expect("the tape was read for this shape");
            black_box(advantages);
        }
        Ok(())
    }

    fn digest(&self, digest: &mut Digest) -> Result<(), Error> {
        self.digested().for_each(|advantages| digest.f64s(advantages));
        Ok(())
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("rewards", self.count() as u64)]
    }

    fn write(&mut self, folder: &Path) -> Result<(), Error> {
        let calls: Vec<&[f64]> = self.digested().collect();
        let shape = [calls.len(), self.parameters.groups, self.parameters.size];
        files::write(&folder.join("advantages.npy"), &npy::encode(&calls.concat(), &shape))?;
        Ok(())
    }
}
