//! The benchmark `sac`: a whole training, timed without instruments inside.

use std::time::Instant;

use serde::Deserialize;
use torchforge_env::{ActionSpace, Continuous, Environment};
use torchforge_nn::{ActionRange, DenseSac, Error, Mlp, PolicyLoss, SacLossOptions, TensorWriter};
use torchforge_rl::cleanrl::{self, SAC_HIDDEN};
use torchforge_rl::{Episode, Sac, SacMetrics, SacOptions, TrainingError};

use crate::backend::{AnySac, any_sac};
use crate::environment::continuous;
use crate::metrics::Metric;
use crate::parity::SacParity;
use crate::training::{self, Agent, Made, Training, only_case, unmade, write_truncations};
use crate::{Arguments, Backend, Case, Failure};

/// No hidden layer is wider.
pub(crate) const WIDEST: usize = 4096;

/// A case's keys of matrix.yaml, the profile's among them.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    environment: String,
    learning_starts: u64,
    batch: usize,
    steps: u64,
    parity_updates: usize,
    /// Of each hidden layer.
    #[serde(default = "hidden")]
    hidden: usize,
}

fn hidden() -> usize {
    SAC_HIDDEN[0]
}

impl Parameters {
    fn read(case: &Case) -> Result<Self, Failure> {
        let parameters: Self = case.parameters()?;
        if parameters.steps == 0 || parameters.batch == 0 || parameters.parity_updates == 0 {
            return Err(case.fault("steps, batch or parity_updates is 0; give at least 1"));
        }
        if parameters.hidden == 0 || parameters.hidden > WIDEST {
            return Err(case.fault(&format!("hidden must be from 1 to {WIDEST}")));
        }
        Ok(parameters)
    }
}

/// Trains the one case asked for. The process began at `started`.
pub(crate) fn run(arguments: &Arguments, started: Instant) -> Result<(), Failure> {
    run_in(arguments, started, |case, name| continuous(name).map_err(|fault| case.fault(&fault)))
}

/// Trains as `torchforge sac` does, in the environment that `environment` makes of the case and the name in it.
///
/// Files, lines and times are as those of [`run_dqn_in`](crate::run_dqn_in).
pub fn run_in<E>(
    arguments: &Arguments,
    started: Instant,
    environment: impl Fn(&Case, &str) -> Result<E, Failure>,
) -> Result<(), Failure>
where
    E: Environment<Action = [f32], ActionSpace = Continuous>,
{
    let case = only_case(arguments)?;
    let parameters = Parameters::read(case)?;
    let environment = || environment(case, &parameters.environment);
    let first = environment()?;
    let options = SacOptions {
        steps: parameters.steps,
        learning_starts: parameters.learning_starts,
        batch: parameters.batch,
        trace: true,
        ..SacOptions::default()
    };
    let backend = arguments.backend()?;
    let hidden = [parameters.hidden; 2];
    let parity = parity(&first, hidden, parameters.parity_updates, backend);
    let mut environments = training::environments(arguments, first, environment);
    let make = |seed| {
        training::logged(environments()?, |environment| {
            agent(environment, hidden, options, SacLossOptions::default(), seed, backend)
                .map_err(|error| unmade(case, &error))
        })
    };
    let seed = arguments.seed;
    training::run(arguments, Training { case, make, seed, steps: parameters.steps, parity, started })
}

/// The layers of the actor and of a critic.
pub(crate) fn layers<E: Environment<ActionSpace = Continuous>>(
    environment: &E,
    hidden: [usize; 2],
) -> [[usize; 4]; 2] {
    cleanrl::sac_sizes_of(hidden, environment.observation_len(), environment.action_space().width())
}

/// The parity updates of the networks for an environment.
pub(crate) fn parity<E>(environment: &E, hidden: [usize; 2], updates: usize, backend: Backend) -> SacParity
where
    E: Environment<ActionSpace = Continuous>,
{
    let [actor, critic] = layers(environment, hidden);
    let policy_frequency = Some(SacOptions::default().policy_frequency as usize);
    let range = cleanrl::action_range(environment.action_space());
    let loss = SacLossOptions::default();
    SacParity { actor, critic, range, loss, policy_frequency, updates, backend }
}

/// The parity updates of the critics alone, for observations and actions of these lengths.
pub(crate) fn critics_parity(
    [observation, action]: [usize; 2],
    hidden: usize,
    updates: usize,
    backend: Backend,
) -> SacParity {
    let [actor, critic] = cleanrl::sac_sizes_of([hidden; 2], observation, action);
    let (range, loss) = (given_range(action), SacLossOptions::default());
    SacParity { actor, critic, range, loss, policy_frequency: None, updates, backend }
}

/// The range of actions that belong to no environment: Pendulum's, for each of their values.
pub(crate) fn given_range(action: usize) -> ActionRange {
    ActionRange { bias: vec![0.0; action], scale: vec![2.0; action] }
}

/// A fresh agent.
pub(crate) fn agent<E>(
    environment: E,
    hidden: [usize; 2],
    options: SacOptions,
    loss: SacLossOptions,
    seed: u64,
    backend: Backend,
) -> Result<Made<Sac<E, AnySac>>, TrainingError>
where
    E: Environment<Action = [f32], ActionSpace = Continuous>,
{
    let range = cleanrl::action_range(environment.action_space());
    let (observation, action) = (environment.observation_len(), environment.action_space().width());
    let networks = cleanrl::sac_networks_of(hidden, observation, action, seed)?;
    let mut trace = TensorWriter::new();
    let [actor, critic] = [&networks.actor, &networks.critics[0]].map(Mlp::sizes);
    trace.push_whole("hidden", &[actor[1], actor[2], critic[1], critic[2]].map(|width| width as u64));
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
        observe: &mut dyn FnMut(&[Metric]),
    ) -> Result<(), TrainingError> {
        episodes.extend(self.step_observed(&mut |of: SacMetrics| {
            let policy = |figure: fn(PolicyLoss) -> f32| of.policy.map(figure);
            observe(&[
                ("environment_step", of.environment_step.into()),
                ("gradient_steps", of.gradient_steps.into()),
                ("qf1_loss", of.critics.each[0].into()),
                ("qf2_loss", of.critics.each[1].into()),
                ("qf1_mean_value", of.critics.values[0].into()),
                ("qf2_mean_value", of.critics.values[1].into()),
                ("actor_loss", policy(|loss| loss.policy).into()),
                ("alpha", policy(|loss| loss.alpha).into()),
                ("alpha_loss", policy(|loss| loss.temperature).into()),
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
