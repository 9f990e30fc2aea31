//! The benchmark `dqn`: a whole training, timed without instruments inside.

use std::time::Instant;

use serde::Deserialize;
use torchforge_env::{Discrete, Environment};
use torchforge_nn::{AdamOptions, Error, TensorWriter};
use torchforge_rl::{Dqn, DqnMetrics, DqnOptions, Episode, TrainingError, cleanrl};

use crate::backend::{AnyDqn, any_dqn};
use crate::environment::discrete;
use crate::metrics::Metric;
use crate::parity::DqnParity;
use crate::training::{self, Agent, Made, Training, only_case, unmade, write_truncations};
use crate::{Arguments, Backend, Case, Failure};

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

/// Trains the one case asked for. The process began at `started`.
pub(crate) fn run(arguments: &Arguments, started: Instant) -> Result<(), Failure> {
    run_in(arguments, started, |case, name| discrete(name).map_err(|fault| case.fault(&fault)))
}

/// Trains as `torchforge dqn` does, in the environment that `environment` makes of the case and the name in it.
///
/// It prints the same lines and writes the same files. `wall_seconds` is counted from `started`. Under a referee the
/// environment is made anew for each training.
pub fn run_in<E>(
    arguments: &Arguments,
    started: Instant,
    environment: impl Fn(&Case, &str) -> Result<E, Failure>,
) -> Result<(), Failure>
where
    E: Environment<Action = u32, ActionSpace = Discrete>,
{
    let case = only_case(arguments)?;
    let parameters = Parameters::read(case)?;
    let environment = || environment(case, &parameters.environment);
    let first = environment()?;
    let options = DqnOptions {
        steps: parameters.steps,
        learning_starts: parameters.learning_starts,
        train_frequency: parameters.train_frequency,
        trace: true,
        ..DqnOptions::default()
    };
    let backend = arguments.backend()?;
    let parity = parity(layers(&first), parameters.parity_updates, backend);
    let mut environments = training::environments(arguments, first, environment);
    let make = |seed| {
        training::logged(environments()?, |environment| {
            agent(environment, options, seed, backend).map_err(|error| unmade(case, &error))
        })
    };
    let seed = arguments.seed;
    training::run(arguments, Training { case, make, seed, steps: parameters.steps, parity, started })
}

/// The sizes of the network for an environment.
pub(crate) fn layers<E: Environment<ActionSpace = Discrete>>(environment: &E) -> [usize; 4] {
    cleanrl::dqn_sizes(environment.observation_len(), environment.action_space().count as usize)
}

/// The same with both hidden layers of another width, if one is given.
pub(crate) fn layers_of<E>(environment: &E, hidden: Option<usize>) -> [usize; 4]
where
    E: Environment<ActionSpace = Discrete>,
{
    let [inputs, first, second, actions] = layers(environment);
    [inputs, hidden.unwrap_or(first), hidden.unwrap_or(second), actions]
}

/// The parity updates of networks of these sizes.
pub(crate) fn parity(layers: [usize; 4], updates: usize, backend: Backend) -> DqnParity {
    DqnParity { layers, gamma: cleanrl::DQN_GAMMA, updates, backend }
}

/// A fresh agent.
pub(crate) fn agent<E>(
    environment: E,
    options: DqnOptions,
    seed: u64,
    backend: Backend,
) -> Result<Made<Dqn<E, AnyDqn>>, TrainingError>
where
    E: Environment<Action = u32, ActionSpace = Discrete>,
{
    let actions = environment.action_space().count as usize;
    let initial = cleanrl::dqn_network(environment.observation_len(), actions, seed)?;
    let mut trace = TensorWriter::new();
    initial.write_bounds("initial.", &mut trace);
    let network =
        any_dqn(backend, &initial, &initial, options.batch, cleanrl::DQN_GAMMA, AdamOptions::default())?;
    Ok(Made { agent: Dqn::new(environment, network, options, seed)?, trace, logs: Vec::new() })
}

impl<E> Agent for Dqn<E, AnyDqn>
where
    E: Environment<Action = u32, ActionSpace = Discrete>,
{
    const PROGRESS_STEPS: u64 = 1024;

    fn advance(&mut self, episodes: &mut Vec<Episode>) -> Result<(), TrainingError> {
        episodes.extend(self.step()?);
        Ok(())
    }

    fn advance_observed(
        &mut self,
        episodes: &mut Vec<Episode>,
        observe: &mut dyn FnMut(&[Metric]),
    ) -> Result<(), TrainingError> {
        episodes.extend(self.step_observed(&mut |of: DqnMetrics| {
            observe(&[
                ("environment_step", of.environment_step.into()),
                ("gradient_steps", of.gradient_steps.into()),
                ("epsilon", of.epsilon.into()),
                ("loss", of.loss.into()),
                ("mean_q_value", of.mean_value.into()),
            ]);
        })?);
        Ok(())
    }

    fn environment_steps(&self) -> u64 {
        self.environment_steps()
    }

    fn gradient_steps(&self) -> u64 {
        self.gradient_steps()
    }

    fn write_weights(&self, tensors: &mut TensorWriter) -> Result<(), Error> {
        self.network().write("", tensors)
    }

    fn write_trace(&self, tensors: &mut TensorWriter) {
        let trace = self.trace();
        tensors.push_whole("update_steps", &trace.update_steps);
        tensors.push_vector("epsilon", &trace.epsilons);
        tensors.push_whole("buffer_rows", &trace.buffer_rows);
        tensors.push_whole("batch_rows", &trace.batch_rows);
        tensors.push_whole("copy_steps", &trace.copy_steps);
        let remainders = trace.copy_remainders.iter().copied();
        tensors.push("copy_remainder".into(), vec![trace.copy_remainders.len()], remainders);
        write_truncations(self.truncations(), tensors);
    }
}
