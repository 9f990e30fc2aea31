//! PPO where actions are continuous: trainings for people alone, because no benchmark has one.

use torchforge_env::{ActionSpace, ContinuousEnvironment, Environment, VectorEnv};
use torchforge_nn::{Error, NormalNetworks, NormalPpo, PpoLossOptions, SimdPath, TensorReader, TensorWriter};
use torchforge_rl::{NormalPpoPolicy, ObservationStatistics, Ppo, PpoOptions, TrainingError, cleanrl};

use crate::backend::Kernels;
use crate::ppo::WriteNetworks;
use crate::training::Made;

/// CleanRL's name of what only such networks have.
pub(crate) const LOG_DEVIATIONS: &str = "actor_logstd";

/// A fresh agent.
pub(crate) fn agent(
    environments: Result<VectorEnv<ContinuousEnvironment>, torchforge_env::Error>,
    options: PpoOptions,
    loss: PpoLossOptions,
    seed: u64,
    Kernels { path, threads }: Kernels,
) -> Result<Made<Ppo<ContinuousEnvironment, NormalPpo>>, TrainingError> {
    let environments = environments?;
    let (count, action_len) = (environments.len(), environments.action_space().width());
    let networks = cleanrl::ppo_continuous_networks(environments.observation_len(), action_len, seed)?;
    let (rows, adam) = (options.minibatch_rows(count)?, cleanrl::ppo_adam());
    let networks = networks.into_ppo(count, rows, loss, adam)?;
    let networks = networks.on_path(path)?.on_threads(threads)?;
    let agent = Ppo::new(environments, networks, options, seed)?;
    Ok(Made { agent, trace: TensorWriter::new(), logs: Vec::new() })
}

impl WriteNetworks for NormalPpo {
    fn write_networks(&self, tensors: &mut TensorWriter) -> Result<(), Error> {
        self.write(tensors);
        Ok(())
    }
}

/// The policy of a file of weights.
pub(crate) fn policy(
    environment: &ContinuousEnvironment,
    given: &TensorReader<'_>,
    path: SimdPath,
) -> Result<NormalPpoPolicy<NormalPpo>, TrainingError> {
    let (width, actions) = (environment.observation_len(), environment.action_space());
    let [actor, critic] = cleanrl::ppo_sizes(width, actions.width());
    let networks = NormalNetworks::read(&actor, &critic, given)?;
    let (loss, adam) = (cleanrl::ppo_continuous_loss(), cleanrl::ppo_adam());
    // Nothing is learnt, but of less than two rows no update could be.
    let networks = networks.into_ppo(1, 2, loss, adam)?.on_path(path)?;
    let statistics = ObservationStatistics::read(given, width)?;
    NormalPpoPolicy::deterministic(networks, actions.clone(), statistics)
}
