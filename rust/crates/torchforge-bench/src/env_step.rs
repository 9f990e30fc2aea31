//! The benchmark `ffi` with nothing to cross: the environments of `torchforge-env`, stepped where they are.

use std::hint::black_box;
use std::path::Path;

use serde::Deserialize;
use torchforge_env::{AutoresetMode, DiscreteEnvironment, Environment as _, StepBatch, VectorEnv};
use torchforge_referee::{Digest, Error, Operation};

use crate::operation::{self, Repetitions};
use crate::{Arguments, Case, Failure, files, npy};

const NAME: &str = "CartPole-v1";
/// Of the number of a repetition's first call the lower bits are the environments' seed, one of so many.
const SEEDS: u64 = 1 << 31;
/// From this bit on they say where among the file's actions the repetition begins.
const OFFSET_BITS: u32 = 32;

/// A case's keys of matrix.yaml, the profile's among them.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    environments: usize,
    /// Several environments a call, which reset themselves; otherwise one.
    vector: bool,
    /// Steps in one repetition; the input file holds all of their actions.
    calls: u32,
}

impl Parameters {
    fn read(case: &Case) -> Result<(Self, Repetitions), Failure> {
        let (parameters, repetitions): (Self, _) = Repetitions::read(case)?;
        if parameters.environments == 0 || parameters.calls == 0 {
            return Err(case.fault("environments or calls is 0; give at least 1"));
        }
        if !parameters.vector && parameters.environments > 1 {
            return Err(case.fault("without vector there is one environment; give environments 1"));
        }
        Ok((parameters, repetitions))
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let input = arguments.input()?;
    arguments.refuse_kernels("env-step")?;
    operation::serve(arguments, |case| {
        let (parameters, repetitions) = Parameters::read(case)?;
        Ok((Box::new(Steps::read(parameters, &input.join(&case.id))?), repetitions))
    })
}

/// All steps of a repetition: the file's actions, begun where the first call's number says, from a seed of its own.
struct Steps {
    stepped: Stepped,
    /// Rows of the actions of one call.
    actions: Vec<u32>,
    seed: u64,
    /// The row that the first call takes.
    offset: usize,
}

impl Steps {
    fn read(parameters: Parameters, input: &Path) -> Result<Self, Failure> {
        let path = input.join("actions.npy");
        let shape = [parameters.calls as usize, parameters.environments];
        let actions = npy::decode(&files::read(&path)?, &shape)
            .and_then(|values| whole(&values))
            .map_err(|reason| Failure::Input { path, reason })?;
        Ok(Self { stepped: Stepped::new(parameters).map_err(failed)?, actions, seed: 0, offset: 0 })
    }
}

impl Operation for Steps {
    fn calls(&self) -> usize {
        self.actions.len() / self.stepped.rewards.len()
    }

    fn prepare(&mut self, numbers: &[u64]) -> Result<(), Error> {
        let number = numbers.first().copied().unwrap_or_default();
        self.seed = number % SEEDS;
        self.offset = ((number >> OFFSET_BITS) % self.calls() as u64) as usize;
        self.stepped.reset(self.seed).map_err(failed)?;
        Ok(())
    }

    fn run(&mut self) -> Result<(), Error> {
        self.stepped.step_all(black_box(&self.actions), self.offset, |_| ()).map_err(failed)?;
        black_box(&mut self.stepped);
        Ok(())
    }

    fn digest(&self, digest: &mut Digest) -> Result<(), Error> {
        digest.f64s(&self.stepped.last_observations());
        Ok(())
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("environment_steps", self.actions.len() as u64)]
    }

    /// The last observations of what was timed; then the same steps once more, with all that they give.
    fn write(&mut self, folder: &Path) -> Result<(), Error> {
        let (calls, n, width) = (self.calls(), self.stepped.rewards.len(), self.stepped.width());
        let write = |name: &str, values: &[f64], shape: &[usize]| {
            files::write(&folder.join(name), &npy::encode(values, shape))
        };
        write("last_observations.npy", &self.stepped.last_observations(), &[n, width])?;

        let (mut observations, mut rewards) = (Vec::new(), Vec::new());
        let (mut terminated, mut truncated) = (Vec::new(), Vec::new());
        let flag = |&flag: &bool| f64::from(u8::from(flag));
        self.stepped.reset(self.seed).map_err(failed)?;
        let taken = self.stepped.step_all(&self.actions, self.offset, |stepped| {
            observations.extend(stepped.last_observations());
            rewards.extend_from_slice(&stepped.rewards);
            terminated.extend(stepped.terminated.iter().map(flag));
            truncated.extend(stepped.truncated.iter().map(flag));
        });
        taken.map_err(failed)?;
        write("observations.npy", &observations, &[calls, n, width])?;
        write("rewards.npy", &rewards, &[calls, n])?;
        write("terminated.npy", &terminated, &[calls, n])?;
        Ok(write("truncated.npy", &truncated, &[calls, n])?)
    }
}

fn failed(error: torchforge_env::Error) -> Failure {
    Failure::Work(error.to_string())
}

/// The actions of a file: each 0 or 1.
fn whole(values: &[f64]) -> Result<Vec<u32>, String> {
    values
        .iter()
        .map(|&value| match value {
            0.0 => Ok(0),
            1.0 => Ok(1),
            other => Err(format!("it holds {other}, which is no action of {NAME}")),
        })
        .collect()
}

/// One environment that is reset from outside, or several that reset themselves.
enum Environments {
    One(DiscreteEnvironment),
    Several(VectorEnv<DiscreteEnvironment>),
}

/// What is stepped, and where it writes: nothing is allocated in a step.
struct Stepped {
    environments: Environments,
    observations: Vec<f32>,
    final_observations: Vec<f32>,
    rewards: Vec<f64>,
    terminated: Vec<bool>,
    truncated: Vec<bool>,
}

impl Stepped {
    fn new(parameters: Parameters) -> Result<Self, torchforge_env::Error> {
        let n = parameters.environments;
        let made = || {
            let made = torchforge_env::make(NAME).and_then(torchforge_env::AnyEnvironment::discrete);
            made.expect("it is one of the registered")
        };
        let len = made().observation_len();
        let environments = if parameters.vector {
            let all = (0..n).map(|_| made()).collect();
            Environments::Several(VectorEnv::new(all, AutoresetMode::NextStep)?)
        } else {
            Environments::One(made())
        };
        Ok(Self {
            environments,
            observations: vec![0.0; n * len],
            final_observations: vec![0.0; n * len],
            rewards: vec![0.0; n],
            terminated: vec![false; n],
            truncated: vec![false; n],
        })
    }

    /// Values in one environment's observation.
    fn width(&self) -> usize {
        self.observations.len() / self.rewards.len()
    }

    /// The observations of the last step.
    fn last_observations(&self) -> Vec<f64> {
        self.observations.iter().copied().map(f64::from).collect()
    }

    fn reset(&mut self, seed: u64) -> Result<(), torchforge_env::Error> {
        match &mut self.environments {
            Environments::One(environment) => environment.reset(Some(seed), &mut self.observations),
            Environments::Several(environments) => environments.reset(Some(seed), &mut self.observations),
        }
    }

    /// A step everywhere. One environment whose episode ends is reset; what is kept is what its last step gave.
    fn step(&mut self, actions: &[u32]) -> Result<(), torchforge_env::Error> {
        match &mut self.environments {
            Environments::One(environment) => {
                let step = environment.step(&actions[0], &mut self.observations)?;
                (self.rewards[0], self.terminated[0], self.truncated[0]) =
                    (step.reward, step.terminated, step.truncated);
                if step.done() { environment.reset(None, &mut self.final_observations) } else { Ok(()) }
            }
            Environments::Several(environments) => {
                let mut batch = StepBatch {
                    observations: &mut self.observations,
                    rewards: &mut self.rewards,
                    terminated: &mut self.terminated,
                    truncated: &mut self.truncated,
                    final_observations: &mut self.final_observations,
                };
                environments.step(actions, &mut batch)
            }
        }
    }

    /// The steps of all rows of actions, from the row at `offset` to the one before it; `each` sees what a step gave.
    fn step_all(
        &mut self,
        actions: &[u32],
        offset: usize,
        mut each: impl FnMut(&Self),
    ) -> Result<(), torchforge_env::Error> {
        let n = self.rewards.len();
        let (before, after) = actions.split_at(offset * n);
        for actions in after.chunks_exact(n).chain(before.chunks_exact(n)) {
            self.step(actions)?;
            each(self);
        }
        Ok(())
    }
}
