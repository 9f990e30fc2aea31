//! The benchmark `buffer-sample`: minibatches out of the ring of `torchforge-data`.

use std::hint::black_box;
use std::path::Path;

use serde::Deserialize;
use torchforge_data::{Batch, ReplayBuffer};
use torchforge_env::Pcg64;
use torchforge_referee::{Digest, Error, Operation};

use crate::covered::Covered;
use crate::operation::{self, Repetitions};
use crate::transitions::Transitions;
use crate::{Arguments, Case, Failure, files, npy};

/// Equal parts of the ring, whose shares of all draws show how they are distributed.
const PARTS: usize = 16;

/// A case's keys of matrix.yaml, the profile's among them.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// Transitions that the ring holds; all are on the tape.
    capacity: usize,
    /// Values in an observation.
    observation: usize,
    /// Transitions in a minibatch.
    batch: usize,
    /// Minibatches between two readings of the clock.
    calls: usize,
    /// A digest covers one of so many minibatches.
    each: Option<usize>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let input = arguments.input()?;
    arguments.refuse_kernels("buffer-sample")?;
    operation::serve(arguments, |case| {
        let (parameters, repetitions): (Parameters, _) = Repetitions::read(case)?;
        check(case, parameters)?;
        let covered = Covered::new(case, parameters.each, parameters.calls)?;
        Ok((Box::new(Draws::read(parameters, covered, &input.join(&case.id))?), repetitions))
    })
}

fn check(case: &Case, of: Parameters) -> Result<(), Failure> {
    let sizes = [
        ("capacity", of.capacity),
        ("observation", of.observation),
        ("batch", of.batch),
        ("calls", of.calls),
    ];
    operation::none_is_zero(case, sizes)
}

/// All minibatches of a repetition, drawn by one generator.
struct Draws {
    parameters: Parameters,
    tape: Transitions,
    ring: ReplayBuffer<f32>,
    generator: Pcg64,
    batches: Vec<Batch<f32>>,
    covered: Covered,
}

impl Draws {
    fn read(of: Parameters, covered: Covered, input: &Path) -> Result<Self, Failure> {
        let tape = Transitions::read(input, of.capacity, of.observation)?;
        let mut ring = ReplayBuffer::new(of.capacity, of.observation, 1).map_err(failed)?;
        for row in 0..of.capacity {
            ring.push(tape.row(row)).map_err(failed)?;
        }
        let batches = (0..of.calls).map(|_| Batch::new(of.batch, of.observation, 1));
        let batches = batches.collect::<Result<_, _>>().map_err(failed)?;
        Ok(Self { parameters: of, tape, ring, generator: Pcg64::new(0), batches, covered })
    }

    /// The minibatches that the digest covers.
    fn digested(&self) -> impl Iterator<Item = &Batch<f32>> {
        self.covered.of(self.batches.iter())
    }

    /// The row of the tape that each transition of a minibatch is, in all its fields.
    fn rows<'a>(&'a self, batch: &'a Batch<f32>) -> impl Iterator<Item = usize> + 'a {
        let width = self.parameters.observation;
        (0..batch.size()).filter_map(move |place| {
            let row = batch.rewards()[place] as usize;
            let of = (row < self.tape.rows()).then(|| self.tape.row(row))?;
            let values = place * width..(place + 1) * width;
            let same = of.reward == batch.rewards()[place]
                && of.observation == &batch.observations()[values.clone()]
                && of.next_observation == &batch.next_observations()[values]
                && of.action == &batch.actions()[place..=place]
                && of.terminated == (batch.terminations()[place] == 1.0);
            same.then_some(row)
        })
    }
}

impl Operation for Draws {
    fn calls(&self) -> usize {
        self.batches.len()
    }

    fn prepare(&mut self, numbers: &[u64]) -> Result<(), Error> {
        let first = numbers.first().copied().unwrap_or_default();
        self.generator = Pcg64::new(first);
        self.covered.begin(first);
        Ok(())
    }

    fn run(&mut self) -> Result<(), Error> {
        for batch in &mut self.batches {
            self.ring.sample(&mut self.generator, black_box(batch)).map_err(failed)?;
        }
        black_box(&mut self.batches);
        Ok(())
    }

    fn digest(&self, digest: &mut Digest) -> Result<(), Error> {
        for batch in self.digested() {
            digest.f32s(batch.observations());
            digest.f32s(batch.next_observations());
            digest.f32s(batch.actions());
            digest.f32s(batch.rewards());
            digest.f32s(batch.terminations());
        }
        Ok(())
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("transitions", self.parameters.batch as u64)]
    }

    fn write(&mut self, folder: &Path) -> Result<(), Error> {
        let Parameters { observation, batch: size, .. } = self.parameters;
        let all = |field: fn(&Batch<f32>) -> &[f32]| -> Vec<f32> {
            self.digested().flat_map(field).copied().collect()
        };
        let calls = self.digested().count();
        let write = |name: &str, values: &[f32], shape: &[usize]| {
            files::write(&folder.join(name), &npy::encode(values, shape))
        };
        write("observations.npy", &all(Batch::observations), &[calls, size, observation])?;
        write("next_observations.npy", &all(Batch::next_observations), &[calls, size, observation])?;
        write("actions.npy", &all(Batch::actions), &[calls, size, 1])?;
        write("rewards.npy", &all(Batch::rewards), &[calls, size])?;
        write("terminated.npy", &all(Batch::terminations), &[calls, size])?;

        let (mut members, mut shares) = (Vec::new(), [0.0; PARTS]);
        for batch in &self.batches {
            let before: f64 = shares.iter().sum();
            self.rows(batch).for_each(|row| shares[row * PARTS / self.tape.rows()] += 1.0);
            members.push((shares.iter().sum::<f64>() - before) as u64);
        }
        shares.iter_mut().for_each(|share| *share /= (members.len() * size) as f64);
        files::write(&folder.join("members.npy"), &npy::encode(&members, &[members.len()]))?;
        files::write(&folder.join("shares.npy"), &npy::encode(&shares, &[PARTS]))?;
        Ok(())
    }
}

fn failed(error: torchforge_data::Error) -> Failure {
    Failure::Work(error.to_string())
}
