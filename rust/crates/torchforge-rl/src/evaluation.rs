//! Playing episodes without learning.

use torchforge_env::{ActionSpace, Continuous, Environment, Pcg64};
use torchforge_nn::{CategoricalPolicy, DqnUpdate, NormalPolicy, SacUpdate, fill_standard_normal};

use crate::dqn::greedy_action;
use crate::ppo::{ObservationStatistics, PpoActor, sample_categorical};
use crate::stream::below;
use crate::training::{Unfinished, not_zero, within};
use crate::{Episode, Stream, TrainingError};

/// Chooses actions.
pub trait Policy {
    /// One action: that of the [`Environment`].
    type Action: ?Sized;

    /// The action to take after this observation.
    ///
    /// # Errors
    ///
    /// What the policy refuses, such as [`TrainingError::NotFinite`] of networks that diverged.
    fn act(&mut self, observation: &[f32]) -> Result<&Self::Action, TrainingError>;
}

/// Steps of an episode, at most: far more than any task has, and seconds of work.
const MOST_STEPS: u64 = 1 << 24;

/// Plays so many episodes. The environment is reset with `seed` once; its generator goes on from episode to episode.
///
/// ```
/// use torchforge_env::{CartPole, TimeLimit};
/// use torchforge_rl::{Policy, Returns, TrainingError, evaluate};
///
/// /// Pushes the cart to where the pole leans.
/// struct Lean(u32);
///
/// impl Policy for Lean {
///     type Action = u32;
///
///     fn act(&mut self, observation: &[f32]) -> Result<&u32, TrainingError> {
///         self.0 = u32::from(observation[2] + observation[3] > 0.0);
///         Ok(&self.0)
///     }
/// }
///
/// let mut environment = TimeLimit::new(CartPole::new(), 500);
/// let returns = Returns::of(&evaluate(&mut environment, &mut Lean(0), 10, 1)?);
/// assert!(returns.mean > 150.0 && returns.deviation.is_some());
/// # Ok::<(), TrainingError>(())
/// ```
///
/// # Errors
///
/// [`TrainingError::Zero`] for no episodes, [`TrainingError::Endless`] where one has no end, and what the environment or the
/// policy refuses.
pub fn evaluate<E, P>(
    environment: &mut E,
    policy: &mut P,
    episodes: u64,
    seed: u64,
) -> Result<Vec<Episode>, TrainingError>
where
    E: Environment,
    P: Policy<Action = E::Action>,
{
    not_zero(&[("episodes", episodes)])?;
    let mut observation = vec![0.0; environment.observation_len()];
    let (mut played, mut unfinished) = (Vec::new(), Unfinished::default());
    environment.reset(Some(seed), &mut observation)?;
    for global_step in 0.. {
        let step = environment.step(policy.act(&observation)?, &mut observation)?;
        played.extend(unfinished.add(global_step, step.reward, step.done()));
        if unfinished.length() >= MOST_STEPS {
            return Err(TrainingError::Endless { steps: MOST_STEPS });
        }
        if played.len() as u64 == episodes {
            break;
        }
        if step.done() {
            environment.reset(None, &mut observation)?;
        }
    }
    Ok(played)
}

/// What episodes brought, undiscounted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Returns {
    /// Their mean; not a number where there are none.
    pub mean: f64,
    /// The standard deviation of a sample (n - 1); none of fewer than two.
    pub deviation: Option<f64>,
}

impl Returns {
    /// Mean and deviation over all these episodes.
    pub fn of(episodes: &[Episode]) -> Self {
        let count = episodes.len() as f64;
        let mean = episodes.iter().map(|episode| episode.total_reward).sum::<f64>() / count;
        let squares = episodes.iter().map(|episode| (episode.total_reward - mean).powi(2)).sum::<f64>();
        Self { mean, deviation: (episodes.len() > 1).then(|| (squares / (count - 1.0)).sqrt()) }
    }
}

/// DQN's policy: the action of the largest value, or with probability epsilon any.
#[derive(Debug)]
pub struct DqnPolicy<Q> {
    network: Q,
    epsilon: f64,
    random: Pcg64,
    action: u32,
}

impl<Q: DqnUpdate> DqnPolicy<Q> {
    /// Greedy where `epsilon` is 0. The random numbers come of `seed`.
    ///
    /// # Errors
    ///
    /// [`TrainingError::Option`] where `epsilon` is no probability, and [`TrainingError::NotFinite`] for a network that
    /// diverged.
    pub fn new(network: Q, epsilon: f64, seed: u64) -> Result<Self, TrainingError> {
        within("epsilon", epsilon, 0.0..=1.0, "a number from 0 to 1")?;
        not_diverged(network.first_not_finite())?;
        Ok(Self { network, epsilon, random: Stream::Exploration.of(seed), action: 0 })
    }
}

impl<Q: DqnUpdate> Policy for DqnPolicy<Q> {
    type Action = u32;

    fn act(&mut self, observation: &[f32]) -> Result<&u32, TrainingError> {
        let values = self.network.q_values(observation)?;
        check_finite("a value", values)?;
        self.action = if self.random.unit() < self.epsilon {
            below(&mut self.random, values.len() as u32)
        } else {
            greedy_action(values)
        };
        Ok(&self.action)
    }
}

/// PPO's policy, on networks that evaluate one row.
#[derive(Debug)]
pub struct PpoPolicy<P> {
    networks: P,
    random: Option<Pcg64>,
    action: u32,
}

impl<P: CategoricalPolicy> PpoPolicy<P> {
    /// The most probable action, always.
    ///
    /// # Errors
    ///
    /// [`TrainingError::NotFinite`] for networks that diverged.
    pub fn deterministic(networks: P) -> Result<Self, TrainingError> {
        not_diverged(networks.first_not_finite())?;
        Ok(Self { networks, random: None, action: 0 })
    }

    /// The same policy with actions as probable as in training; the random numbers come of `seed`.
    pub fn stochastic(self, seed: u64) -> Self {
        Self { random: Some(Stream::Exploration.of(seed)), ..self }
    }
}

impl<P: CategoricalPolicy> Policy for PpoPolicy<P> {
    type Action = u32;

    fn act(&mut self, observation: &[f32]) -> Result<&u32, TrainingError> {
        let probabilities = self.networks.evaluate(observation)?.probabilities;
        check_finite("a probability", probabilities)?;
        self.action = match &mut self.random {
            Some(random) => sample_categorical(random.unit(), probabilities),
            None => greedy_action(probabilities),
        };
        Ok(&self.action)
    }
}

/// PPO's policy of continuous actions, on networks that evaluate one row.
#[derive(Debug)]
pub struct NormalPpoPolicy<P> {
    networks: P,
    actions: Continuous,
    statistics: Option<ObservationStatistics>,
    random: Option<Pcg64>,
    observation: Vec<f32>,
    action: Vec<f32>,
}

impl<P: NormalPolicy> NormalPpoPolicy<P> {
    /// The means, always, within the bounds of such actions. Where it learnt from normalised observations, these are the
    /// statistics that it ended with: they change no more.
    ///
    /// # Errors
    ///
    /// [`TrainingError::Outputs`] where the networks' actions are others, and [`TrainingError::NotFinite`] where they
    /// diverged.
    pub fn deterministic(
        networks: P,
        actions: Continuous,
        statistics: Option<ObservationStatistics>,
    ) -> Result<Self, TrainingError> {
        networks.check_outputs(&actions)?;
        not_diverged(networks.first_not_finite())?;
        let action = vec![0.0; actions.width()];
        Ok(Self { networks, actions, statistics, random: None, observation: Vec::new(), action })
    }

    /// The same policy with actions drawn as in training; the random numbers come of `seed`.
    pub fn stochastic(self, seed: u64) -> Self {
        Self { random: Some(Stream::Exploration.of(seed)), ..self }
    }
}

impl<P: NormalPolicy> Policy for NormalPpoPolicy<P> {
    type Action = [f32];

    fn act(&mut self, observation: &[f32]) -> Result<&[f32], TrainingError> {
        self.observation.clear();
        self.observation.extend_from_slice(observation);
        if let Some(statistics) = &self.statistics {
            statistics.normalise(&mut self.observation);
        }
        match &mut self.random {
            Some(random) => fill_standard_normal(random, &mut self.action),
            None => self.action.fill(0.0),
        }
        NormalPolicy::act(&mut self.networks, &self.observation, &mut self.action, &mut [0.0])?;
        check_finite("an action", &self.action)?;
        P::clip(&self.actions, &mut self.action);
        Ok(&self.action)
    }
}

/// SAC's policy.
#[derive(Debug)]
pub struct SacPolicy<S> {
    networks: S,
    random: Option<Pcg64>,
    noise: Vec<f32>,
    action: Vec<f32>,
}

impl<S: SacUpdate> SacPolicy<S> {
    /// The middle of the policy, always: the squashed mean.
    ///
    /// # Errors
    ///
    /// [`TrainingError::NotFinite`] for networks that diverged.
    pub fn deterministic(networks: S) -> Result<Self, TrainingError> {
        not_diverged(networks.first_not_finite())?;
        let len = networks.action_len();
        Ok(Self { networks, random: None, noise: vec![0.0; len], action: vec![0.0; len] })
    }

    /// The same policy with actions drawn as in training; the random numbers come of `seed`.
    pub fn stochastic(self, seed: u64) -> Self {
        Self { random: Some(Stream::Exploration.of(seed)), ..self }
    }
}

impl<S: SacUpdate> Policy for SacPolicy<S> {
    type Action = [f32];

    fn act(&mut self, observation: &[f32]) -> Result<&[f32], TrainingError> {
        if let Some(random) = &mut self.random {
            fill_standard_normal(random, &mut self.noise);
        }
        self.networks.act(observation, &self.noise, &mut self.action)?;
        check_finite("an action", &self.action)?;
        Ok(&self.action)
    }
}

/// An error where a tensor is not finite. A ReLU hides one, so values alone do not show it.
fn not_diverged(found: Option<String>) -> Result<(), TrainingError> {
    found.map_or(Ok(()), |name| Err(TrainingError::NotFinite { what: format!("tensor {name}") }))
}

/// An error where networks that learn no more give what is no number.
fn check_finite(what: &str, values: &[f32]) -> Result<(), TrainingError> {
    if values.iter().all(|value| value.is_finite()) {
        return Ok(());
    }
    Err(TrainingError::NotFinite { what: what.into() })
}
