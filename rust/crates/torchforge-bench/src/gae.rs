//! The benchmark `gae`: the kernel of `torchforge-rl`, timed where it is called.

use std::hint::black_box;
use std::path::Path;

use serde::Deserialize;
use torchforge_referee::{Digest, Error, Operation};
use torchforge_rl::{GaeOptions, Trajectory, gae_batched};

use crate::covered::Covered;
use crate::operation::{self, Repetitions};
use crate::{Arguments, Case, Failure, files, npy};

const GAMMA: f64 = 0.99;
const LAMBDA: f64 = 0.95;
/// A call's gamma is [`GAMMA`] less a whole multiple of `GAMMA_STEP`, of fewer than `GAMMA_STEPS` of them: 2^-30 and 2^20.
const GAMMA_STEP: f64 = 1.0 / 1_073_741_824.0;
const GAMMA_STEPS: u64 = 1 << 20;

/// A case's keys of matrix.yaml, the profile's among them.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    batch: usize,
    length: usize,
    /// Calls between two readings of the clock.
    calls: u32,
    /// Digest and files cover one of so many calls.
    each: Option<usize>,
}

impl Parameters {
    fn read(case: &Case) -> Result<(Self, Repetitions), Failure> {
        let (parameters, repetitions): (Self, _) = Repetitions::read(case)?;
        let Self { batch, length, calls, .. } = parameters;
        operation::none_is_zero(case, [("batch", batch), ("length", length), ("calls", calls as usize)])?;
        Ok((parameters, repetitions))
    }

    fn shape(&self) -> Vec<usize> {
        if self.batch == 1 { vec![self.length] } else { vec![self.batch, self.length] }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let input = arguments.input()?;
    arguments.refuse_kernels("gae")?;
    operation::serve(arguments, |case| {
        let (parameters, repetitions) = Parameters::read(case)?;
        let covered = Covered::new(case, parameters.each, parameters.calls as usize)?;
        Ok((Box::new(Calls::read(parameters, covered, &input.join(&case.id))?), repetitions))
    })
}

/// All calls of a repetition: one trajectory, a gamma and outputs of each call's own.
struct Calls {
    parameters: Parameters,
    rewards: Vec<f64>,
    values: Vec<f64>,
    dones: Vec<f64>,
    last_values: Vec<f64>,
    options: Vec<GaeOptions>,
    advantages: Vec<f64>,
    returns: Vec<f64>,
    covered: Covered,
}

impl Calls {
    fn read(parameters: Parameters, covered: Covered, input: &Path) -> Result<Self, Failure> {
        let shape = parameters.shape();
        let load = |name: &str| {
            let path = input.join(name);
            npy::decode(&files::read(&path)?, &shape).map_err(|reason| Failure::Input { path, reason })
        };
        let (rewards, values, dones) = (load("rewards.npy")?, load("values.npy")?, load("dones.npy")?);
        let all = rewards.len() * parameters.calls as usize;
        Ok(Self {
            last_values: vec![0.0; parameters.batch],
            options: vec![GaeOptions { gamma: GAMMA, lambda: LAMBDA }; parameters.calls as usize],
            advantages: vec![0.0; all],
            returns: vec![0.0; all],
            parameters,
            rewards,
            values,
            dones,
            covered,
        })
    }

    /// Advantages and returns of the calls that are covered.
    fn digested(&self) -> [impl Iterator<Item = &[f64]>; 2] {
        [&self.advantages, &self.returns]
            .map(|outputs| self.covered.of(outputs.chunks_exact(self.rewards.len())))
    }
}

impl Operation for Calls {
    fn calls(&self) -> usize {
        self.options.len()
    }

    fn prepare(&mut self, numbers: &[u64]) -> Result<(), Error> {
        for (options, number) in self.options.iter_mut().zip(numbers) {
            options.gamma = GAMMA - (number % GAMMA_STEPS) as f64 * GAMMA_STEP;
        }
        self.covered.begin(numbers.first().copied().unwrap_or_default());
        Ok(())
    }

    fn run(&mut self) -> Result<(), Error> {
        let (rewards, values, dones) = (&self.rewards[..], &self.values[..], &self.dones[..]);
        let len = rewards.len();
        let outputs = self.advantages.chunks_exact_mut(len).zip(self.returns.chunks_exact_mut(len));
        for (&options, (advantages, returns)) in self.options.iter().zip(outputs) {
            let (inputs, last_values) =
                (black_box(Trajectory { rewards, values, dones }), black_box(&self.last_values[..]));
            gae_batched(inputs, last_values, black_box(options), &mut *advantages, &mut *returns)
                .expect("the arrays were read with one shape");
            black_box((advantages, returns));
        }
        Ok(())
    }

    fn digest(&self, digest: &mut Digest) -> Result<(), Error> {
        self.digested().into_iter().flatten().for_each(|values| digest.f64s(values));
        Ok(())
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("elements", self.rewards.len() as u64)]
    }

    fn write(&mut self, folder: &Path) -> Result<(), Error> {
        for (name, calls) in ["advantages.npy", "returns.npy"].into_iter().zip(self.digested()) {
            let calls: Vec<&[f64]> = calls.collect();
            let shape = [&[calls.len()], &self.parameters.shape()[..]].concat();
            files::write(&folder.join(name), &npy::encode(&calls.concat(), &shape))?;
        }
        Ok(())
    }
}
