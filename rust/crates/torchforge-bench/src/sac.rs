//! The benchmark `sac`: a whole training, timed without instruments inside.

use std::time::Instant;

use serde::Deserialize;
use torchforge_env::{ActionSpace, Continuous, Environment};
use torchforge_nn::{DenseSac, Error, PolicyLoss, SacLossOptions, TensorWriter};
use torchforge_rl::{Episode, Sac, SacMetrics, SacOptions, TrainingError, cleanrl};

use crate::backend::{AnySac, any_sac};
use crate::environment::continuous;
use crate::metrics::{Maybe, Metric};
use crate::parity::SacParity;
use crate::training::{self, Agent, Made, Training, only_case, unmade, write_truncations};
use crate::{Arguments, Backend, Case, Failure};

/// A case's keys of matrix.yaml, the profile's among them.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    environment: String,
    learning_starts: u64,
    batch: usize,
    steps: u64,
    parity_updates: usize,
}

impl Parameters {
    fn read(case: &Case) -> Result<Self, Failure> {
        let parameters: Self = case.parameters()?;
        if parameters.steps == 0 || parameters.batch == 0 || parameters.parity_updates == 0 {
            return Err(case.fault("steps, batch or parity_updates is 0; give at least 1"));
        }
        Ok(parameters)
    }
}

/// Trains the one case asked for. The process began at `started`.
pub(crate) fn run(arguments: &Arguments, started: Instant) -> Result<(), Failure> {
    let case = only_case(arguments)?;
    let parameters = Parameters::read(case)?;
    let environment = || continuous(&parameters.environment).map_err(|fault| case.fault(&fault));
    let first = environment()?;
    let options = SacOptions {
        steps: parameters.steps,
        learning_starts: parameters.learning_starts,
        batch: parameters.batch,
        trace: true,
        ..SacOptions::default()
    };
    let backend = arguments.backend()?;
    let parity = parity(&first, parameters.parity_updates, backend);
    let mut environments = training::environments(arguments, first, environment);
    let make = |seed| {
        training::logged(environments()?, |environment| {
            agent(environment, options, SacLossOptions::default(), seed, backend)
                .map_err(|error| unmade(case, &error))
        })
    };
    let seed = arguments.seed;
    training::run(arguments, Training { case, make, seed, steps: parameters.steps, parity, started })
}

/// The layers of the actor and of a critic.
pub(crate) fn layers<E: Environment<ActionSpace = Continuous>>(environment: &E) -> [[usize; 4]; 2] {
    cleanrl::sac_sizes(environment.observation_len(), environment.action_space().width())
}

/// The parity updates of the networks for an environment.
pub(crate) fn parity<E>(environment: &E, updates: usize, backend: Backend) -> SacParity
where
    E: Environment<ActionSpace = Continuous>,
{
    let [actor, critic] = layers(environment);
    let policy_frequency = SacOptions::default().policy_frequency as usize;
    let range = cleanrl::action_range(environment.action_space());
    let loss = SacLossOptions::default();
    SacParity { actor, critic, range, loss, policy_frequency, updates, backend }
}

/// A fresh agent.
pub(crate) fn agent<E>(
    environment: E,
    options: SacOptions,
    loss: SacLossOptions,
    seed: u64,
    backend: Backend,
) -> Result<Made<Sac<E, AnySac>>, TrainingError>
where
    E: Environment<Action = [f32], ActionSpace = Continuous>,
{
    let range = cleanrl::action_range(environment.action_space());
    let networks =
        cleanrl::sac_networks(environment.observation_len(), environment.action_space().width(), seed)?;
    let mut trace = TensorWriter::new();
    // Before a library takes them over: only our own say how far their weights reach.
    DenseSac::new(networks.clone(), range.clone(), 1, loss)?.write_bounds("initial.", &mut trace);
    let networks = any_sac(backend, networks, range, options.batch, loss)?;
    Ok(Made { agent: Sac::new(environment, networks, options, seed)?, trace, logs: Vec::new() })
}

impl<E> Agent for Sac<E, AnySac>
where
    E: Environment<Action = [f32], ActionSpace = Continuous>,
{
    const PROGRESS_STEPS: u64 = 64;

    fn advance(&mut self, episodes: &mut Vec<Episode>) -> Result<(), TrainingError> {
        episodes.extend(self.step()?);
        Ok(())
    }

    fn advance_observed(
        &mut self,
        episodes: &mut Vec<Episode>,
        observe: &mut dyn FnMut(&[Metric<'_>]),
    ) -> Result<(), TrainingError> {
        episodes.extend(self.step_observed(&mut |of: SacMetrics| {
            let policy = |figure: fn(PolicyLoss) -> f32| Maybe(of.policy.map(figure));
            observe(&[
                ("environment_step", &of.environment_step),
                ("gradient_steps", &of.gradient_steps),
                ("qf1_loss", &of.critics.each[0]),
                ("qf2_loss", &of.critics.each[1]),
                ("qf1_mean_value", &of.critics.values[0]),
                ("qf2_mean_value", &of.critics.values[1]),
                ("actor_loss", &policy(|loss| loss.policy)),
                ("alpha", &policy(|loss| loss.alpha)),
                ("alpha_loss", &policy(|loss| loss.temperature)),
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
        self.networks().write("", tensors)
    }

    fn write_trace(&self, tensors: &mut TensorWriter) {
        let trace = self.trace();
        tensors.push_whole("update_steps", &trace.update_steps);
        tensors.push_whole("policy_steps", &trace.policy_steps);
        tensors.push_whole("target_steps", &trace.target_steps);
        tensors.push_whole("buffer_rows", &trace.buffer_rows);
        tensors.push_whole("batch_rows", &trace.batch_rows);
        tensors.push_whole("buffer_capacity", &[self.buffer_capacity() as u64]);
        write_truncations(self.truncations(), tensors);
    }
}
