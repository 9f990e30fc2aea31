//! The benchmark `token-kl`: the kernels of `torchforge-nn`, timed where they are called.

use std::hint::black_box;
use std::ops::Range;
use std::path::Path;

use serde::Deserialize;
use torchforge_nn::{token_kl, token_kl_k3};
use torchforge_referee::{Digest, Error, Operation};

use crate::covered::Covered;
use crate::operation::{self, Repetitions};
use crate::{Arguments, Case, Failure, files, npy, tape};

/// A case's keys of matrix.yaml, the profile's among them.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    batch: usize,
    length: usize,
    /// Schulman's estimator in `f32`, or the exact sum in `f64`.
    k3: bool,
    /// Calls between two readings of the clock.
    calls: u32,
    /// Digest and files cover one of so many calls.
    each: Option<usize>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let input = arguments.input()?;
    arguments.refuse_kernels("token-kl")?;
    operation::serve(arguments, |case| {
        let (parameters, repetitions): (Parameters, _) = Repetitions::read(case)?;
        check(case, parameters)?;
        let covered = Covered::new(case, parameters.each, parameters.calls as usize)?;
        let input = input.join(&case.id);
        let calls: Box<dyn Operation> = if parameters.k3 {
            Box::new(Calls::<f32>::read(parameters, covered, &input)?)
        } else {
            Box::new(Calls::<f64>::read(parameters, covered, &input)?)
        };
        Ok((calls, repetitions))
    })
}

fn check(case: &Case, Parameters { batch, length, calls, .. }: Parameters) -> Result<(), Failure> {
    operation::none_is_zero(case, [("batch", batch), ("length", length), ("calls", calls as usize)])
}

/// A precision with its computation.
trait Precision: Copy + Default {
    fn rounded(value: f64) -> Self;
    /// One value a sequence.
    fn compute(policy: &[Self], reference: &[Self], sequences: &mut [Self]);
    fn add(values: &[Self], digest: &mut Digest);
    fn file(values: &[Self], shape: &[usize]) -> Vec<u8>;
}

impl Precision for f64 {
    fn rounded(value: f64) -> Self {
        value
    }

    fn compute(policy: &[Self], reference: &[Self], sequences: &mut [Self]) {
        let length = policy.len() / sequences.len();
        let pairs = policy.chunks_exact(length).zip(reference.chunks_exact(length));
        for (sequence, (policy, reference)) in sequences.iter_mut().zip(pairs) {
            *sequence = token_kl(policy, reference).expect("the tapes were read for this shape");
        }
    }

    fn add(values: &[Self], digest: &mut Digest) {
        digest.f64s(values);
    }

    fn file(values: &[Self], shape: &[usize]) -> Vec<u8> {
        npy::encode(values, shape)
    }
}

impl Precision for f32 {
    fn rounded(value: f64) -> Self {
        value as f32
    }

    fn compute(policy: &[Self], reference: &[Self], sequences: &mut [Self]) {
        token_kl_k3(policy, reference, sequences).expect("the tapes were read for this shape");
    }

    fn add(values: &[Self], digest: &mut Digest) {
        digest.f32s(values);
    }

    fn file(values: &[Self], shape: &[usize]) -> Vec<u8> {
        npy::encode(values, shape)
    }
}

/// All calls of a repetition: parts of the two tapes and outputs of each call's own.
struct Calls<T> {
    parameters: Parameters,
    policy: Vec<T>,
    reference: Vec<T>,
    pieces: Vec<[Range<usize>; 2]>,
    sequences: Vec<T>,
    covered: Covered,
}

impl<T: Precision> Calls<T> {
    fn read(parameters: Parameters, covered: Covered, input: &Path) -> Result<Self, Failure> {
        let (count, calls) = (parameters.batch * parameters.length, parameters.calls as usize);
        let load = |name: &str| -> Result<Vec<T>, Failure> {
            Ok(tape::read(&input.join(name), count)?.into_iter().map(T::rounded).collect())
        };
        Ok(Self {
            policy: load("policy.npy")?,
            reference: load("reference.npy")?,
            pieces: vec![[0..count, 0..count]; calls],
            sequences: vec![T::default(); calls * parameters.batch],
            covered,
            parameters,
        })
    }

    fn count(&self) -> usize {
        self.parameters.batch * self.parameters.length
    }

    /// The values of the calls that are covered.
    fn digested(&self) -> Vec<T> {
        self.covered.of(self.sequences.chunks_exact(self.parameters.batch)).flatten().copied().collect()
    }
}

impl<T: Precision> Operation for Calls<T> {
    fn calls(&self) -> usize {
        self.pieces.len()
    }

    fn prepare(&mut self, numbers: &[u64]) -> Result<(), Error> {
        let count = self.count();
        for (pieces, &number) in self.pieces.iter_mut().zip(numbers) {
            *pieces = [0, 1].map(|tape| tape::piece(number, tape, count));
        }
        self.covered.begin(numbers.first().copied().unwrap_or_default());
        Ok(())
    }

    fn run(&mut self) -> Result<(), Error> {
        let outputs = self.sequences.chunks_exact_mut(self.parameters.batch);
        for ([policy, reference], sequences) in self.pieces.iter().zip(outputs) {
            let policy = black_box(&self.policy[policy.clone()]);
            let reference = black_box(&self.reference[reference.clone()]);
            T::compute(policy, reference, &mut *sequences);
            black_box(sequences);
        }
        Ok(())
    }

    fn digest(&self, digest: &mut Digest) -> Result<(), Error> {
        T::add(&self.digested(), digest);
        Ok(())
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("tokens", self.count() as u64)]
    }

    fn write(&mut self, folder: &Path) -> Result<(), Error> {
        let values = self.digested();
        let shape = [values.len() / self.parameters.batch, self.parameters.batch];
        files::write(&folder.join("kl.npy"), &T::file(&values, &shape))?;
        Ok(())
    }
}
