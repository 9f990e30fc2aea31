//! The benchmark `dqn`: a whole training, timed without instruments inside.

use std::time::Instant;

use serde::Deserialize;
use torchforge_env::{AnyEnvironment, Discrete, DiscreteEnvironment, Environment, ids, make};
use torchforge_nn::{AdamOptions, Mlp, TensorWriter};
use torchforge_rl::{Dqn, DqnOptions, DqnTrace, Stream};

use crate::backend::AnyDqn;
use crate::parity::{DqnParity, Parity};
use crate::protocol::Progress;
use crate::training::{Clock, Trained, failed, only_case, parity_file};
use crate::{Arguments, Backend, Case, Failure};

/// The hidden layers of CleanRL's network; the environment's observation and actions are the outer ones.
pub(crate) const HIDDEN: [usize; 2] = [120, 84];
/// Steps between two looks at the clock for the progress.
const PROGRESS_STEPS: u64 = 1024;

/// A case's keys of matrix.yaml, the profile's among them.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    environment: String,
    steps: u64,
    learning_starts: u64,
    train_frequency: u64,
    parity_updates: usize,
}

impl Parameters {
    fn read(case: &Case) -> Result<Self, Failure> {
        let parameters: Self = case.parameters()?;
        if parameters.steps == 0 || parameters.train_frequency == 0 || parameters.parity_updates == 0 {
            return Err(case.fault("steps, train_frequency or parity_updates is 0; give at least 1"));
        }
        Ok(parameters)
    }
}

/// The environment of that name, if it has discrete actions.
pub(crate) fn environment(case: &Case, name: &str) -> Result<DiscreteEnvironment, Failure> {
    make(name).and_then(AnyEnvironment::discrete).ok_or_else(|| {
        let known: Vec<_> =
            ids().filter(|id| make(id).and_then(AnyEnvironment::discrete).is_some()).collect();
        let known = known.join(", ");
        case.fault(&format!("there is no environment {name:?} with discrete actions; use one of {known}"))
    })
}

/// The sizes of the network for an environment.
pub(crate) fn layers<E>(environment: &E) -> [usize; 4]
where
    E: Environment<Action = u32, ActionSpace = Discrete>,
{
    let [first, second] = HIDDEN;
    [environment.observation_len(), first, second, environment.action_space().count as usize]
}

/// The parity updates of networks of these sizes.
pub(crate) fn parity(layers: [usize; 4], updates: usize, backend: Backend) -> DqnParity {
    DqnParity { layers, gamma: DqnOptions::default().gamma, updates, backend }
}

/// Trains the one case asked for. The process began at `started`.
pub(crate) fn run(arguments: &Arguments, started: Instant) -> Result<(), Failure> {
    run_in(arguments, started, environment)
}

/// Trains as `torchforge dqn` does, in the environment that `environment` makes of the case and the name in it.
///
/// It prints the same lines and writes the same files. `wall_seconds` is counted from `started`.
pub fn run_in<E>(
    arguments: &Arguments,
    started: Instant,
    environment: impl FnOnce(&Case, &str) -> Result<E, Failure>,
) -> Result<(), Failure>
where
    E: Environment<Action = u32, ActionSpace = Discrete>,
{
    let case = only_case(arguments)?;
    let parameters = Parameters::read(case)?;
    let environment = environment(case, &parameters.environment)?;
    let layers = layers(&environment);
    let given = parity_file(arguments, case)?;

    let options = DqnOptions {
        steps: parameters.steps,
        learning_starts: parameters.learning_starts,
        train_frequency: parameters.train_frequency,
        ..DqnOptions::default()
    };
    let adam = AdamOptions::default();
    let backend = arguments.backend();
    let initial = Mlp::new(&layers, &mut Stream::Weights.of(arguments.seed)).map_err(|e| failed(case, &e))?;
    let mut trace = TensorWriter::new();
    initial.write_bounds("initial.", &mut trace);
    let network = AnyDqn::new(backend, &initial, &initial, options.batch, options.gamma, adam)
        .map_err(|e| failed(case, &e))?;
    let mut agent = Dqn::new(environment, network, options, arguments.seed).map_err(|e| failed(case, &e))?;
    let mut episodes = Vec::new();
    let mut progress = Progress::new(parameters.steps, "environment step");

    let clock = Clock::start(started);
    while agent.environment_steps() < parameters.steps {
        episodes.extend(agent.step().map_err(|e| failed(case, &e))?);
        if agent.environment_steps().is_multiple_of(PROGRESS_STEPS) {
            progress.done(agent.environment_steps())?;
        }
    }
    let times = clock.stop();

    write_trace(agent.trace(), &mut trace);
    let mut weights = TensorWriter::new();
    let parameters_now = agent.network().parameters().map_err(|e| failed(case, &e))?;
    initial.write("", &parameters_now, &mut weights);
    let update = parity(layers, parameters.parity_updates, backend).of(&given)?;
    let (environment_steps, gradient_steps) = (agent.environment_steps(), agent.gradient_steps());
    Trained { times, environment_steps, gradient_steps, episodes, weights, trace, update }
        .tell(arguments, case)
}

fn write_trace(trace: &DqnTrace, tensors: &mut TensorWriter) {
    tensors.push_whole("update_steps", &trace.update_steps);
    tensors.push_f64("epsilon", &trace.epsilons);
    tensors.push_whole("buffer_rows", &trace.buffer_rows);
    tensors.push_whole("batch_rows", &trace.batch_rows);
    tensors.push_whole("copy_steps", &trace.copy_steps);
    let remainders = trace.copy_remainders.iter().copied();
    tensors.push("copy_remainder".into(), vec![trace.copy_remainders.len()], remainders);
    let truncations = trace.truncations;
    tensors.push_whole("truncations_stored_as_ends", &[truncations.stored_as_ends]);
    tensors.push("last_observation_error".into(), vec![1], [truncations.last_observation_error]);
}
