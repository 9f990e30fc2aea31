//! The benchmark `ppo`: a whole training, timed without instruments inside.

use std::time::Instant;

use serde::Deserialize;
use torchforge_env::{ActionSpace, AutoresetMode, Discrete, DiscreteEnvironment, Environment, VectorEnv};
use torchforge_nn::{Error, PpoLossOptions, TensorWriter};
use torchforge_rl::{Episode, Ppo, PpoActor, PpoMetrics, PpoOptions, TrainingError, cleanrl};

use crate::action_log::Logged;
use crate::backend::{AnyPpo, any_ppo};
use crate::environment::discrete;
use crate::metrics::Metric;
use crate::parity::PpoParity;
use crate::training::{self, Agent, Made, Training, only_case, unmade};
use crate::{Arguments, Backend, Case, Failure};

/// A case's keys of matrix.yaml, the profile's among them.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    environment: String,
    environments: usize,
    rollout_steps: usize,
    minibatches: usize,
    epochs: usize,
    iterations: u64,
    parity_updates: usize,
}

impl Parameters {
    fn read(case: &Case) -> Result<Self, Failure> {
        let parameters: Self = case.parameters()?;
        if parameters.environments == 0 || parameters.parity_updates == 0 {
            return Err(case.fault("environments or parity_updates is 0; give at least 1"));
        }
        Ok(parameters)
    }
}

/// Trains the one case asked for. The process began at `started`.
pub(crate) fn run(arguments: &Arguments, started: Instant) -> Result<(), Failure> {
    run_in(arguments, started, |case, name| discrete(name).map_err(|fault| case.fault(&fault)))
}

/// Trains as `torchforge ppo` does, in environments that `environment` makes, each of the case and the name in it.
///
/// Files, lines and times are as those of [`run_dqn_in`](crate::run_dqn_in).
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
    let options = PpoOptions {
        iterations: parameters.iterations,
        rollout_steps: parameters.rollout_steps,
        minibatches: parameters.minibatches,
        epochs: parameters.epochs,
        trace: true,
        ..PpoOptions::default()
    };
    // Before the environments are made, of which there may be too many.
    options.minibatch_rows(parameters.environments).map_err(|error| unmade(case, &error))?;
    let environments = || -> Result<Vec<E>, Failure> {
        (0..parameters.environments).map(|_| environment(case, &parameters.environment)).collect()
    };
    let first = environments()?;
    let backend = arguments.backend()?;
    let actions = first[0].action_space().count as usize;
    let parity = parity(first[0].observation_len(), actions, parameters.parity_updates, backend);
    let rows = parameters.environments.saturating_mul(parameters.rollout_steps);
    let steps = parameters.iterations.saturating_mul(rows as u64);
    let mut environments = training::environments(arguments, first, environments);
    let make = |seed| {
        let environments: Vec<_> = environments()?.into_iter().map(Logged::new).collect();
        let logs = environments.iter().map(Logged::log).collect();
        let environments = vector(environments).map_err(|error| case.fault(&error.to_string()))?;
        let loss = PpoLossOptions::default();
        let made = agent(environments, options, loss, seed, backend).map_err(|error| unmade(case, &error))?;
        Ok(Made { logs, ..made })
    };
    let seed = arguments.seed;
    training::run(arguments, Training { case, make, seed, steps, parity, started })
}

/// So many environments of that name, stepped together; otherwise what is wrong.
pub(crate) fn environments(name: &str, count: usize) -> Result<VectorEnv<DiscreteEnvironment>, String> {
    let environments = (0..count).map(|_| discrete(name)).collect::<Result<_, _>>()?;
    vector(environments).map_err(|error| error.to_string())
}

/// Environments that are stepped together, as PPO needs them.
pub(crate) fn vector<E: Environment>(environments: Vec<E>) -> Result<VectorEnv<E>, torchforge_env::Error> {
    VectorEnv::new(environments, AutoresetMode::SameStep)
}

/// The parity updates of actor and critic for so many inputs and actions.
pub(crate) fn parity(inputs: usize, actions: usize, updates: usize, backend: Backend) -> PpoParity {
    let [actor, critic] = cleanrl::ppo_sizes(inputs, actions);
    let (loss, gae) = (PpoLossOptions::default(), PpoOptions::default().gae);
    PpoParity { actor, critic, loss, adam: cleanrl::ppo_adam(), gae, updates, backend }
}

/// A fresh agent.
pub(crate) fn agent<E>(
    environments: VectorEnv<E>,
    options: PpoOptions,
    loss: PpoLossOptions,
    seed: u64,
    backend: Backend,
) -> Result<Made<Ppo<E, AnyPpo>>, TrainingError>
where
    E: Environment<Action = u32, ActionSpace = Discrete>,
{
    let actions = environments.action_space().count as usize;
    let [actor, critic] = cleanrl::ppo_networks(environments.observation_len(), actions, seed)?;
    let mut trace = TensorWriter::new();
    actor.write_grams("initial.actor.", &mut trace);
    critic.write_grams("initial.critic.", &mut trace);
    let rows = options.minibatch_rows(environments.len())?;
    let networks = any_ppo(backend, [&actor, &critic], environments.len(), rows, loss, cleanrl::ppo_adam())?;
    Ok(Made { agent: Ppo::new(environments, networks, options, seed)?, trace, logs: Vec::new() })
}

/// Networks whose parameters a file can hold.
pub(crate) trait WriteNetworks {
    /// Writes all of them.
    fn write_networks(&self, tensors: &mut TensorWriter) -> Result<(), Error>;
}

impl WriteNetworks for AnyPpo {
    fn write_networks(&self, tensors: &mut TensorWriter) -> Result<(), Error> {
        self.write("", tensors)
    }
}

impl<E, P> Agent for Ppo<E, P>
where
    E: Environment<ActionSpace: ActionSpace<Value: Copy + Default>>,
    P: PpoActor<E::ActionSpace> + WriteNetworks,
{
    /// After each iteration.
    const PROGRESS_STEPS: u64 = 1;

    fn advance(&mut self, episodes: &mut Vec<Episode>) -> Result<(), TrainingError> {
        self.iterate(episodes)
    }

    fn advance_observed(
        &mut self,
        episodes: &mut Vec<Episode>,
        observe: &mut dyn FnMut(&[Metric]),
    ) -> Result<(), TrainingError> {
        self.iterate_observed(episodes, &mut |of: PpoMetrics| {
            observe(&[
                ("iterations", of.iterations.into()),
                ("environment_steps", of.environment_steps.into()),
                ("gradient_steps", of.gradient_steps.into()),
                ("learning_rate", of.learning_rate.into()),
                ("policy_loss", of.loss.policy.into()),
                ("value_loss", of.loss.value.into()),
                ("entropy", of.loss.entropy.into()),
                ("gradient_norm", of.loss.gradient_norm.into()),
                ("old_approx_kl", of.shift.old_approx_kl.into()),
                ("approx_kl", of.shift.approx_kl.into()),
                ("clip_fraction", of.shift.clip_fraction.into()),
                ("explained_variance", of.explained_variance.into()),
            ]);
        })
    }

    fn environment_steps(&self) -> u64 {
        self.environment_steps()
    }

    fn gradient_steps(&self) -> u64 {
        self.gradient_steps()
    }

    fn write_weights(&self, tensors: &mut TensorWriter) -> Result<(), Error> {
        self.networks().write_networks(tensors)?;
        // Without them what was learnt from normalised observations is worth nothing.
        if let Some(statistics) = self.observation_statistics().next() {
            statistics.write(tensors);
        }
        Ok(())
    }

    fn write_trace(&self, tensors: &mut TensorWriter) {
        let trace = self.trace();
        tensors.push_vector("learning_rate", &trace.learning_rates);
        tensors.push_whole("update_steps", &trace.update_steps);
        tensors.push_whole("batch_rows", &trace.batch_rows);
        tensors.push_whole("wrong_flags", &[trace.wrong_flags]);
    }
}
