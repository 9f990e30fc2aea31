//! The benchmarks `update` and `nn-step`: consecutive updates from given weights and minibatches, with nothing around
//! them.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use torchforge_env::Environment;
use torchforge_nn::{Error, TensorWriter};
use torchforge_referee::{Digest, Operation};
use torchforge_rl::cleanrl::SAC_HIDDEN;

use crate::environment::{continuous, discrete};
use crate::operation::{self, Repetitions};
use crate::parity::{AFTER, Given, Order, Parity, Updates};
use crate::{Arguments, Case, Failure, dqn, files, ppo, sac};

/// A case's keys of matrix.yaml.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// Whose update.
    algorithm: Learner,
    /// Updates in one repetition.
    calls: u32,
    /// Width of both hidden layers, where it is not the training's.
    hidden: Option<usize>,
    /// Rows of a minibatch, where they are not the training's.
    batch: Option<usize>,
    /// Values in an observation of the critics.
    observation: Option<usize>,
    /// Values in an action of the critics.
    action: Option<usize>,
}

/// Who learns.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Learner {
    Dqn,
    Ppo,
    Sac,
    /// SAC's critics alone, with sizes of the case's own.
    Critics,
}

impl Parameters {
    fn read(case: &Case) -> Result<(Self, Repetitions), Failure> {
        let (parameters, repetitions): (Self, _) = Repetitions::read(case)?;
        if parameters.calls == 0 {
            return Err(case.fault("calls is 0; give at least 1"));
        }
        Ok((parameters, repetitions))
    }

    /// What the critics' sizes are made of: values in an observation and in an action, and the width of hidden layers.
    fn critics(&self, case: &Case) -> Result<([usize; 2], usize), Failure> {
        match (self.observation, self.action, self.hidden) {
            (Some(observation), Some(action), Some(hidden)) => Ok(([observation, action], hidden)),
            _ => Err(case.fault("critics need observation, action and hidden")),
        }
    }
}

/// The environments that the input's networks are of.
const DISCRETE: &str = "CartPole-v1";
const CONTINUOUS: &str = "Pendulum-v1";

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let input = arguments.input()?;
    let backend = arguments.backend()?;
    operation::serve(arguments, |case| {
        let (parameters, repetitions) = Parameters::read(case)?;
        let calls = parameters.calls as usize;
        let path = input.join(&case.id).join("parity.safetensors");
        let rows = parameters.batch;
        let operation = match parameters.algorithm {
            Learner::Dqn => {
                let environment = discrete(DISCRETE).map_err(|fault| case.fault(&fault))?;
                let layers = dqn::layers_of(&environment, parameters.hidden);
                Calls::boxed(dqn::parity(layers, calls, backend), path, rows)?
            }
            Learner::Ppo => {
                let environment = discrete(DISCRETE).map_err(|fault| case.fault(&fault))?;
                let (inputs, actions) =
                    (environment.observation_len(), environment.action_space().count as usize);
                Calls::boxed(ppo::parity(inputs, actions, calls, backend), path, rows)?
            }
            Learner::Sac => {
                let environment = continuous(CONTINUOUS).map_err(|fault| case.fault(&fault))?;
                Calls::boxed(sac::parity(&environment, SAC_HIDDEN, calls, backend), path, rows)?
            }
            Learner::Critics => {
                let (lengths, hidden) = parameters.critics(case)?;
                Calls::boxed(sac::critics_parity(lengths, hidden, calls, backend), path, rows)?
            }
        };
        Ok((operation, repetitions))
    })
}

/// All updates of a repetition, whoever computes them: fresh networks, and minibatches in the order of the numbers.
struct Calls<P: Parity> {
    path: PathBuf,
    parity: P,
    given: P::Given,
    order: Order,
    networks: P::Updates,
}

impl<P: Parity + 'static> Calls<P> {
    fn boxed(parity: P, path: PathBuf, rows: Option<usize>) -> Result<Box<dyn Operation>, Failure> {
        let (given, networks) = files::with_tensors(&path, |tensors| {
            let given = parity.read(tensors)?;
            Order::check(given.rewards(), rows)?;
            let networks = parity.start(&given)?;
            Ok((given, networks))
        })?;
        Ok(Box::new(Self { path, parity, given, order: Order::default(), networks }))
    }

    /// The parameters that the last repetition left.
    fn learnt(&self) -> Result<TensorWriter, torchforge_referee::Error> {
        let mut learnt = TensorWriter::new();
        self.told(self.networks.write(AFTER, &mut learnt))?;
        Ok(learnt)
    }

    /// The result of something that the file may be to blame for.
    fn told<T>(&self, result: Result<T, Error>) -> Result<T, torchforge_referee::Error> {
        Ok(result.map_err(|error| files::unusable(&self.path, &error))?)
    }
}

impl<P: Parity + 'static> Operation for Calls<P> {
    fn calls(&self) -> usize {
        self.parity.updates()
    }

    fn prepare(&mut self, numbers: &[u64]) -> Result<(), torchforge_referee::Error> {
        self.order.draw(numbers, self.given.rewards());
        self.networks = self.told(self.parity.start(&self.given))?;
        Ok(())
    }

    fn run(&mut self) -> Result<(), torchforge_referee::Error> {
        let (given, networks) = (&self.given, &mut self.networks);
        let made = self.order.calls().try_for_each(|call| networks.update(given, call));
        self.told(made)
    }

    /// Over the parameters that the timed updates left.
    fn digest(&self, digest: &mut Digest) -> Result<(), torchforge_referee::Error> {
        self.learnt()?.data().for_each(|tensor| digest.bytes(tensor));
        Ok(())
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("updates", self.calls() as u64)]
    }

    fn figures(&self) -> Vec<(&'static str, f64)> {
        let bytes = program_bytes().map(|bytes| ("program_bytes", bytes as f64));
        let seconds = compile_seconds().map(|seconds| ("compile_seconds", seconds));
        bytes.into_iter().chain(seconds).collect()
    }

    /// The timed updates as far as they led, and updates in the file's own order, as a training writes them.
    fn write(&mut self, folder: &Path) -> Result<(), torchforge_referee::Error> {
        files::write(&folder.join("drawn.safetensors"), &self.learnt()?.into_bytes())?;
        Ok(files::write(&folder.join("update.safetensors"), &self.parity.of(&self.path)?)?)
    }
}

/// The size of this program's own file: what it costs to carry a backend. None where the system does not show it.
fn program_bytes() -> Option<u64> {
    std::env::current_exe().and_then(std::fs::metadata).map(|found| found.len()).ok()
}

/// The processor time that it took to compile this program, with all that it holds: what the build of its image wrote
/// beside it. None where nothing did.
fn compile_seconds() -> Option<f64> {
    let mut path = std::env::current_exe().ok()?.into_os_string();
    path.push(".compile-seconds");
    let seconds: f64 = std::fs::read_to_string(path).ok()?.trim().parse().ok()?;
    (seconds.is_finite() && seconds > 0.0).then_some(seconds)
}
