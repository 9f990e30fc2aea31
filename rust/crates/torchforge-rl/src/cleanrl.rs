//! CleanRL's agents for an environment: its architectures, initialisation and optimisers.
//!
//! `dqn.py`, `ppo.py`, `ppo_continuous_action.py` and `sac_continuous_action.py` of CleanRL (Huang et al., 2022). Networks come from a seed's
//! [`Stream::Weights`], so each seed gives one agent, to the byte.

use torchforge_env::{ActionSpace, Continuous, Discrete, Environment, VectorEnv};
use torchforge_nn::{
    ActionRange, Activation, AdamOptions, DenseDqn, DensePpo, DenseSac, Error, Mlp, NormalNetworks,
    NormalPpo, PpoLossOptions, SacLossOptions, SacNetworks,
};

use crate::{Dqn, DqnOptions, Ppo, PpoOptions, Sac, SacOptions, Stream, TrainingError};

/// DQN's discount of a step.
pub const DQN_GAMMA: f64 = 0.99;
/// Environments that PPO steps together.
pub const PPO_ENVIRONMENTS: usize = 4;
/// Widths of the hidden layers of SAC's networks.
pub const SAC_HIDDEN: [usize; 2] = [256, 256];

const DQN_HIDDEN: [usize; 2] = [120, 84];
const PPO_HIDDEN: [usize; 2] = [64, 64];
/// Gains of PPO's last layers: a policy that is nearly uniform at first, and values of ordinary size.
const ACTOR_GAIN: f64 = 0.01;
const CRITIC_GAIN: f64 = 1.0;
/// PPO's Adam, but for the learning rate, which falls.
const PPO_ADAM_EPSILON: f64 = 1e-5;

/// Sizes of DQN's network.
pub fn dqn_sizes(observation_len: usize, actions: usize) -> [usize; 4] {
    let [first, second] = DQN_HIDDEN;
    [observation_len, first, second, actions]
}

/// DQN's fresh network of a seed.
///
/// # Errors
///
/// [`Error::Sizes`] where there are no observations or no actions.
pub fn dqn_network(observation_len: usize, actions: usize, seed: u64) -> Result<Mlp, Error> {
    Mlp::new(&dqn_sizes(observation_len, actions), &mut Stream::Weights.of(seed))
}

/// Sizes of PPO's actor and of its critic.
pub fn ppo_sizes(observation_len: usize, actions: usize) -> [[usize; 4]; 2] {
    let [first, second] = PPO_HIDDEN;
    [actions, 1].map(|outputs| [observation_len, first, second, outputs])
}

/// PPO's fresh actor and critic of a seed: orthogonal weights, tanh between the layers.
///
/// # Errors
///
/// [`Error::Sizes`] where there are no observations or no actions.
pub fn ppo_networks(observation_len: usize, actions: usize, seed: u64) -> Result<[Mlp; 2], Error> {
    let [actor, critic] = ppo_sizes(observation_len, actions);
    let mut weights = Stream::Weights.of(seed);
    let mut network = |sizes: &[usize], last_gain| {
        let gains = [2_f64.sqrt(), 2_f64.sqrt(), last_gain];
        Mlp::orthogonal(sizes, Activation::Tanh, &gains, &mut weights)
    };
    Ok([network(&actor, ACTOR_GAIN)?, network(&critic, CRITIC_GAIN)?])
}

/// PPO's fresh networks of a seed where actions are continuous: those of [`ppo_networks`], and deviations of 1.
///
/// # Errors
///
/// As of [`ppo_networks`].
pub fn ppo_continuous_networks(
    observation_len: usize,
    action_len: usize,
    seed: u64,
) -> Result<NormalNetworks, Error> {
    let [actor, critic] = ppo_networks(observation_len, action_len, seed)?;
    Ok(NormalNetworks { actor, log_deviations: vec![0.0; action_len], critic })
}

/// PPO's loss where actions are continuous: without the entropy.
pub fn ppo_continuous_loss() -> PpoLossOptions {
    PpoLossOptions { entropy_weight: 0.0, ..PpoLossOptions::default() }
}

/// PPO's optimiser.
pub fn ppo_adam() -> AdamOptions {
    let PpoOptions { learning_rate, .. } = PpoOptions::default();
    AdamOptions { learning_rate, epsilon: PPO_ADAM_EPSILON, ..AdamOptions::default() }
}

/// Sizes of SAC's actor, whose outputs are means and log deviations, and of its critics.
pub fn sac_sizes(observation_len: usize, action_len: usize) -> [[usize; 4]; 2] {
    sac_sizes_of(SAC_HIDDEN, observation_len, action_len)
}

/// [`sac_sizes`] with other [hidden layers](SAC_HIDDEN).
pub fn sac_sizes_of(hidden: [usize; 2], observation_len: usize, action_len: usize) -> [[usize; 4]; 2] {
    let [first, second] = hidden;
    [[observation_len, first, second, 2 * action_len], [observation_len + action_len, first, second, 1]]
}

/// SAC's fresh networks of a seed: the actor, then the critics; targets are equal to the critics.
///
/// # Errors
///
/// [`Error::Sizes`] where there are no observations or no actions.
pub fn sac_networks(observation_len: usize, action_len: usize, seed: u64) -> Result<SacNetworks, Error> {
    sac_networks_of(SAC_HIDDEN, observation_len, action_len, seed)
}

/// [`sac_networks`] with other [hidden layers](SAC_HIDDEN).
///
/// # Errors
///
/// [`Error::Sizes`] where there are no observations or no actions, or a layer has no width.
pub fn sac_networks_of(
    hidden: [usize; 2],
    observation_len: usize,
    action_len: usize,
    seed: u64,
) -> Result<SacNetworks, Error> {
    let [actor, critic] = sac_sizes_of(hidden, observation_len, action_len);
    let mut weights = Stream::Weights.of(seed);
    let actor = Mlp::new(&actor, &mut weights)?;
    let critics = [Mlp::new(&critic, &mut weights)?, Mlp::new(&critic, &mut weights)?];
    Ok(SacNetworks { actor, targets: critics.clone(), critics, log_alpha: 0.0 })
}

/// Half the range of an environment's actions, and its middle.
pub fn action_range(space: &Continuous) -> ActionRange {
    let pairs = || space.low.iter().zip(&space.high);
    ActionRange {
        scale: pairs().map(|(low, high)| (high - low) / 2.0).collect(),
        bias: pairs().map(|(low, high)| (high + low) / 2.0).collect(),
    }
}

impl<E> Dqn<E, DenseDqn>
where
    E: Environment<Action = u32, ActionSpace = Discrete>,
{
    /// CleanRL's `dqn.py` in this environment.
    ///
    /// # Errors
    ///
    /// As of [`Dqn::new`].
    pub fn cleanrl(environment: E, seed: u64) -> Result<Self, TrainingError> {
        Self::cleanrl_with(environment, DqnOptions::default(), seed)
    }

    /// [`cleanrl`](Self::cleanrl) with other options.
    ///
    /// # Errors
    ///
    /// As of [`Dqn::new`].
    pub fn cleanrl_with(environment: E, options: DqnOptions, seed: u64) -> Result<Self, TrainingError> {
        let actions = environment.action_space().count as usize;
        let network = dqn_network(environment.observation_len(), actions, seed)?;
        let adam = AdamOptions::default();
        let network = DenseDqn::from_networks(network.clone(), network, options.batch, DQN_GAMMA, adam)?;
        Self::new(environment, network, options, seed)
    }
}

impl<E> Ppo<E, DensePpo>
where
    E: Environment<Action = u32, ActionSpace = Discrete>,
{
    /// CleanRL's `ppo.py` in these environments, of which it has [four](PPO_ENVIRONMENTS).
    ///
    /// # Errors
    ///
    /// As of [`Ppo::new`].
    pub fn cleanrl(environments: VectorEnv<E>, seed: u64) -> Result<Self, TrainingError> {
        Self::cleanrl_with(environments, PpoOptions::default(), seed)
    }

    /// [`cleanrl`](Self::cleanrl) with other options.
    ///
    /// # Errors
    ///
    /// As of [`Ppo::new`].
    pub fn cleanrl_with(
        environments: VectorEnv<E>,
        options: PpoOptions,
        seed: u64,
    ) -> Result<Self, TrainingError> {
        Self::cleanrl_with_loss(environments, options, PpoLossOptions::default(), seed)
    }

    /// [`cleanrl_with`](Self::cleanrl_with) another loss.
    ///
    /// # Errors
    ///
    /// As of [`Ppo::new`].
    pub fn cleanrl_with_loss(
        environments: VectorEnv<E>,
        options: PpoOptions,
        loss: PpoLossOptions,
        seed: u64,
    ) -> Result<Self, TrainingError> {
        let actions = environments.action_space().count as usize;
        let [actor, critic] = ppo_networks(environments.observation_len(), actions, seed)?;
        let adam = AdamOptions { learning_rate: options.learning_rate, ..ppo_adam() };
        let (count, batch) = (environments.len(), options.minibatch_rows(environments.len())?);
        let networks = DensePpo::new(actor, critic, count, batch, loss, adam)?;
        Self::new(environments, networks, options, seed)
    }
}

impl<E> Ppo<E, NormalPpo>
where
    E: Environment<Action = [f32], ActionSpace = Continuous>,
{
    /// CleanRL's `ppo_continuous_action.py` in these environments, of which it has one.
    ///
    /// # Errors
    ///
    /// As of [`Ppo::new`].
    pub fn cleanrl_continuous(environments: VectorEnv<E>, seed: u64) -> Result<Self, TrainingError> {
        Self::cleanrl_continuous_with(environments, PpoOptions::continuous(), ppo_continuous_loss(), seed)
    }

    /// [`cleanrl_continuous`](Self::cleanrl_continuous) with other options and another loss.
    ///
    /// # Errors
    ///
    /// As of [`Ppo::new`].
    pub fn cleanrl_continuous_with(
        environments: VectorEnv<E>,
        options: PpoOptions,
        loss: PpoLossOptions,
        seed: u64,
    ) -> Result<Self, TrainingError> {
        let action_len = environments.action_space().width();
        let networks = ppo_continuous_networks(environments.observation_len(), action_len, seed)?;
        // The optimiser is that of `ppo.py`.
        let adam = AdamOptions { learning_rate: options.learning_rate, ..ppo_adam() };
        let (count, batch) = (environments.len(), options.minibatch_rows(environments.len())?);
        let networks = networks.into_ppo(count, batch, loss, adam)?;
        Self::new(environments, networks, options, seed)
    }
}

impl<E> Sac<E, DenseSac>
where
    E: Environment<Action = [f32], ActionSpace = Continuous>,
{
    /// CleanRL's `sac_continuous_action.py` in this environment.
    ///
    /// # Errors
    ///
    /// As of [`Sac::new`].
    pub fn cleanrl(environment: E, seed: u64) -> Result<Self, TrainingError> {
        Self::cleanrl_with(environment, SacOptions::default(), seed)
    }

    /// [`cleanrl`](Self::cleanrl) with other options.
    ///
    /// # Errors
    ///
    /// As of [`Sac::new`].
    pub fn cleanrl_with(environment: E, options: SacOptions, seed: u64) -> Result<Self, TrainingError> {
        Self::cleanrl_with_loss(environment, options, SacLossOptions::default(), seed)
    }

    /// [`cleanrl_with`](Self::cleanrl_with) another loss.
    ///
    /// # Errors
    ///
    /// As of [`Sac::new`].
    pub fn cleanrl_with_loss(
        environment: E,
        options: SacOptions,
        loss: SacLossOptions,
        seed: u64,
    ) -> Result<Self, TrainingError> {
        let space = environment.action_space();
        let networks = sac_networks(environment.observation_len(), space.width(), seed)?;
        let networks = DenseSac::new(networks, action_range(space), options.batch, loss)?;
        Self::new(environment, networks, options, seed)
    }
}
