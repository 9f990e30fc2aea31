//! Deep Q-learning (Mnih et al., 2015), after CleanRL's `dqn.py`.

use rand_core::Rng;
use torchforge_data::{Batch, ReplayBuffer, Transition};
use torchforge_env::{Environment, Pcg64};
use torchforge_nn::{Minibatch, QNetwork};

use crate::Stream;

/// DQN's constants; the defaults are CleanRL's for CartPole, but for the number of steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DqnOptions {
    /// Environment steps of the whole training, which the exploration schedule is stretched over.
    pub steps: u64,
    /// Learning happens in steps after this one, strictly.
    pub learning_starts: u64,
    /// Environment steps from one gradient step to the next.
    pub train_frequency: u64,
    /// Environment steps from one copy into the target network to the next.
    pub target_frequency: u64,
    /// Transitions that the replay buffer holds.
    pub buffer_capacity: usize,
    /// Transitions in a minibatch.
    pub batch: usize,
    /// Discount of a step.
    pub gamma: f64,
    /// Probability of a random action in the first step.
    pub start_epsilon: f64,
    /// Probability of a random action at the end of the schedule and after it.
    pub end_epsilon: f64,
    /// Share of all steps over which the probability falls linearly.
    pub exploration_fraction: f64,
}

impl Default for DqnOptions {
    fn default() -> Self {
        Self {
            steps: 500_000,
            learning_starts: 10_000,
            train_frequency: 10,
            target_frequency: 500,
            buffer_capacity: 10_000,
            batch: 128,
            gamma: 0.99,
            start_epsilon: 1.0,
            end_epsilon: 0.05,
            exploration_fraction: 0.5,
        }
    }
}

impl DqnOptions {
    /// Probability of a random action in `step`.
    fn epsilon(&self, step: u64) -> f64 {
        let duration = self.exploration_fraction * self.steps as f64;
        let slope = (self.end_epsilon - self.start_epsilon) / duration;
        let epsilon = slope * step as f64 + self.start_epsilon;
        if epsilon < self.end_epsilon { self.end_epsilon } else { epsilon }
    }
}

/// Why a training cannot go on.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum DqnError {
    /// A frequency of zero was asked for.
    #[error("{what} is 0: give at least 1")]
    Zero {
        /// The option's name.
        what: &'static str,
    },
    /// The network has another number of outputs than the environment has actions.
    #[error("the network has {outputs} outputs and the environment {actions} actions: make them equal")]
    Outputs {
        /// The network's outputs.
        outputs: usize,
        /// The environment's actions.
        actions: u32,
    },
    /// The environment refused.
    #[error(transparent)]
    Environment(#[from] torchforge_env::Error),
    /// The network refused.
    #[error(transparent)]
    Network(#[from] torchforge_nn::Error),
    /// The replay buffer refused.
    #[error(transparent)]
    Replay(#[from] torchforge_data::Error),
}

/// A finished episode.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Episode {
    /// The environment step, counted from 0 over the whole training, that ended it.
    pub step: u64,
    /// Its number of steps.
    pub length: u64,
    /// The sum of its rewards, undiscounted.
    pub total_reward: f64,
}

/// An agent that learns while it acts in one environment.
pub struct Dqn<E, Q> {
    options: DqnOptions,
    environment: E,
    network: Q,
    replay: ReplayBuffer,
    batch: Batch,
    exploration: Pcg64,
    sampling: Pcg64,
    observation: Vec<f32>,
    next_observation: Vec<f32>,
    episode_length: u64,
    episode_reward: f64,
    environment_steps: u64,
    gradient_steps: u64,
}

impl<E: Environment, Q: QNetwork> Dqn<E, Q> {
    /// Takes all memory and begins the first episode. The environment is reset with `seed`; the agent's
    /// own numbers come from [`Stream`]s of it. Later steps allocate nothing.
    pub fn new(mut environment: E, mut network: Q, options: DqnOptions, seed: u64) -> Result<Self, DqnError> {
        let frequencies =
            [("train frequency", options.train_frequency), ("target frequency", options.target_frequency)];
        if let Some(&(what, _)) = frequencies.iter().find(|(_, steps)| *steps == 0) {
            return Err(DqnError::Zero { what });
        }
        let width = environment.observation_len();
        let mut observation = vec![0.0; width];
        environment.reset(Some(seed), &mut observation)?;
        let (outputs, actions) = (network.q_values(&observation)?.len(), environment.action_count());
        if outputs != actions as usize {
            return Err(DqnError::Outputs { outputs, actions });
        }
        Ok(Self {
            replay: ReplayBuffer::new(options.buffer_capacity, width)?,
            batch: Batch::new(options.batch, width)?,
            exploration: Stream::Exploration.of(seed),
            sampling: Stream::Replay.of(seed),
            next_observation: observation.clone(),
            observation,
            episode_length: 0,
            episode_reward: 0.0,
            environment_steps: 0,
            gradient_steps: 0,
            options,
            environment,
            network,
        })
    }

    /// One environment step and what belongs to it; the episode, if this step ended one.
    ///
    /// An ended episode is followed by the next one's first observation at once, while the replay buffer
    /// gets the real last observation. The value after a truncated episode still counts.
    pub fn step(&mut self) -> Result<Option<Episode>, DqnError> {
        let global_step = self.environment_steps;

        let action = if self.exploration.unit() < self.options.epsilon(global_step) {
            random_action(&mut self.exploration, self.environment.action_count())
        } else {
            greedy_action(self.network.q_values(&self.observation)?)
        };

        let step = self.environment.step(action, &mut self.next_observation)?;
        self.environment_steps += 1;
        self.episode_length += 1;
        self.episode_reward += step.reward;

        self.replay.push(Transition {
            observation: &self.observation,
            next_observation: &self.next_observation,
            action,
            reward: step.reward as f32,
            terminated: step.terminated,
            truncated: step.truncated,
        })?;

        let mut episode = None;
        std::mem::swap(&mut self.observation, &mut self.next_observation);
        if step.done() {
            let (length, total_reward) = (self.episode_length, self.episode_reward);
            episode = Some(Episode { step: global_step, length, total_reward });
            (self.episode_length, self.episode_reward) = (0, 0.0);
            self.environment.reset(None, &mut self.observation)?;
        }

        if global_step > self.options.learning_starts {
            if global_step.is_multiple_of(self.options.train_frequency) {
                self.learn()?;
            }
            if global_step.is_multiple_of(self.options.target_frequency) {
                self.network.copy_to_target();
            }
        }
        Ok(episode)
    }

    fn learn(&mut self) -> Result<(), DqnError> {
        self.replay.sample(&mut self.sampling, &mut self.batch)?;
        self.network.update(Minibatch {
            observations: self.batch.observations(),
            next_observations: self.batch.next_observations(),
            actions: self.batch.actions(),
            rewards: self.batch.rewards(),
            terminations: self.batch.terminations(),
        })?;
        self.gradient_steps += 1;
        Ok(())
    }

    /// Environment steps taken, counted where they are taken.
    pub fn environment_steps(&self) -> u64 {
        self.environment_steps
    }

    /// Gradient steps taken, counted where they are taken.
    pub fn gradient_steps(&self) -> u64 {
        self.gradient_steps
    }

    /// The network that acts and learns.
    pub fn network(&self) -> &Q {
        &self.network
    }
}

/// A uniform action. The bias of a product of 64 bits is below 2^-32 for any number of actions.
fn random_action(rng: &mut Pcg64, count: u32) -> u32 {
    ((u128::from(rng.next_u64()) * u128::from(count)) >> 64) as u32
}

/// The first of the actions with the largest value.
fn greedy_action(values: &[f32]) -> u32 {
    let mut best = 0;
    for (action, &value) in values.iter().enumerate() {
        if value > values[best] {
            best = action;
        }
    }
    best as u32
}
