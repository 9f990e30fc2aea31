//! The benchmark `ffi` with nothing to cross: the environments of `torchforge-env`, stepped where they are.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use serde::Deserialize;
use torchforge_env::{AutoresetMode, DiscreteEnvironment, Environment as _, StepBatch, VectorEnv};

use crate::operation::{self, Repetitions};
use crate::protocol::{self, Figure};
use crate::{Arguments, Case, Failure, files, npy};
use torchforge_referee::Memory;

const NAME: &str = "CartPole-v1";
/// Of the environments, whatever the process's seed, which orders the cases alone.
const SEED: u64 = 42;

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
    operation::cases(arguments, Parameters::read, |case, (parameters, repetitions)| {
        measure(case, parameters, repetitions, &input.join(&case.id), arguments.output.as_deref())
    })
}

fn measure(
    case: &Case,
    parameters: Parameters,
    repetitions: Repetitions,
    input: &Path,
    output: Option<&Path>,
) -> Result<(), Failure> {
    let (calls, n) = (parameters.calls as usize, parameters.environments);
    let path = input.join("actions.npy");
    let actions = npy::decode(&files::read(&path)?, &[calls, n])
        .and_then(|values| whole(&values))
        .map_err(|reason| Failure::Input { path, reason })?;
    let mut stepped = Stepped::new(parameters).map_err(failed)?;

    let seconds = repetitions
        .seconds(parameters.calls, || {
            stepped.reset()?;
            let start = Instant::now();
            for actions in black_box(&actions).chunks_exact(n) {
                stepped.step(actions)?;
            }
            black_box(&mut stepped);
            Ok(start.elapsed())
        })
        .map_err(failed)?;

    if let Some(output) = output {
        let folder = files::case_folder(output, &case.id)?;
        let last = stepped.observations.iter().map(|&value| f64::from(value)).collect::<Vec<_>>();
        files::write(&folder.join("last_observations.npy"), &npy::encode(&last, &[n, stepped.width()]))?;
        stepped.record(&actions, &folder)?;
    }
    protocol::measurement(
        &case.id,
        Memory::now(),
        BTreeMap::from([("seconds", Figure::Each(seconds))]),
        BTreeMap::from([("environment_steps", (calls * n) as u64)]),
    )
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

    fn reset(&mut self) -> Result<(), torchforge_env::Error> {
        match &mut self.environments {
            Environments::One(environment) => environment.reset(Some(SEED), &mut self.observations),
            Environments::Several(environments) => environments.reset(Some(SEED), &mut self.observations),
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

    /// The same steps once more, with all that they give, into the files of a case.
    fn record(&mut self, actions: &[u32], folder: &Path) -> Result<(), Failure> {
        let n = self.rewards.len();
        let (mut observations, mut rewards) = (Vec::new(), Vec::new());
        let (mut terminated, mut truncated) = (Vec::new(), Vec::new());
        self.reset().map_err(failed)?;
        for actions in actions.chunks_exact(n) {
            self.step(actions).map_err(failed)?;
            observations.extend(self.observations.iter().map(|&value| f64::from(value)));
            rewards.extend_from_slice(&self.rewards);
            terminated.extend(self.terminated.iter().map(|&flag| f64::from(u8::from(flag))));
            truncated.extend(self.truncated.iter().map(|&flag| f64::from(u8::from(flag))));
        }
        let calls = actions.len() / n;
        let write = |name: &str, values: &[f64], shape: &[usize]| {
            files::write(&folder.join(name), &npy::encode(values, shape))
        };
        write("observations.npy", &observations, &[calls, n, self.width()])?;
        write("rewards.npy", &rewards, &[calls, n])?;
        write("terminated.npy", &terminated, &[calls, n])?;
        write("truncated.npy", &truncated, &[calls, n])
    }
}
