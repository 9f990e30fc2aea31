//! Deep Q-learning (Mnih et al., 2015), after CleanRL's `dqn.py`.

use std::fmt;

use torchforge_data::{NStep, PriorityOptions};
use torchforge_env::{Discrete, Environment, Pcg64};
use torchforge_nn::{DqnUpdate, Minibatch, NetworkState};

use crate::experience::{Beta, Experience, Memory, Sizes};
use crate::metrics::Observer;
use crate::stream::below;
use crate::training::{finite, finite_weights, not_zero, same_batch, within};
use crate::{Archive, DqnMetrics, DqnTrace, Episode, State, Stream, TrainingError, TruncationTrace};

/// DQN's constants; the defaults are CleanRL's, for CartPole.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DqnOptions {
    /// Environment steps of the whole training, which the exploration schedule is stretched over.
    pub steps: u64,
    /// Learning happens in steps after this one, strictly: with no more `steps` than these, nothing is learnt.
    pub learning_starts: u64,
    /// Environment steps from one gradient step to the next.
    pub train_frequency: u64,
    /// Environment steps from one move of the target network to the next.
    pub target_frequency: u64,
    /// Share of the online network that the target network takes over in a move: with 1 it becomes a copy.
    pub tau: f64,
    /// Transitions that the replay buffer holds.
    pub buffer_capacity: usize,
    /// Transitions in a minibatch.
    pub batch: usize,
    /// Probability of a random action in the first step.
    pub start_epsilon: f64,
    /// Probability of a random action at the end of the schedule and after it.
    pub end_epsilon: f64,
    /// Share of all steps over which the probability falls linearly; with 0 it is `end_epsilon` from the first step on.
    pub exploration_fraction: f64,
    /// Steps of reward that a transition spans: with 1 it is a step as it was made.
    pub n_step: usize,
    /// How transitions are drawn by their errors; none draws them uniformly.
    pub priorities: Option<DqnPriorities>,
    /// Whether the training takes down what it did: a few numbers for each gradient step, for as long as it runs.
    pub trace: bool,
}

impl Default for DqnOptions {
    fn default() -> Self {
        Self {
            steps: 500_000,
            learning_starts: 10_000,
            train_frequency: 10,
            target_frequency: 500,
            tau: 1.0,
            buffer_capacity: 10_000,
            batch: 128,
            start_epsilon: 1.0,
            end_epsilon: 0.05,
            exploration_fraction: 0.5,
            n_step: 1,
            priorities: None,
            trace: false,
        }
    }
}

/// How transitions are drawn by priority (Schaul et al., 2016). The defaults are those of its proportional variant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DqnPriorities {
    /// How errors become priorities.
    pub of_errors: PriorityOptions,
    /// How far weights correct the bias of the draw in the first step, 0 to 1. It rises linearly to 1, the whole of it, at
    /// the last step.
    pub first_beta: f64,
}

impl Default for DqnPriorities {
    fn default() -> Self {
        Self { of_errors: PriorityOptions::default(), first_beta: 0.4 }
    }
}

impl DqnOptions {
    fn validate(&self) -> Result<(), TrainingError> {
        const PROBABILITY: &str = "a number from 0 to 1";
        not_zero(&[
            ("steps", self.steps),
            ("train frequency", self.train_frequency),
            ("target frequency", self.target_frequency),
            ("n-step", self.n_step as u64),
        ])?;
        if let Some(priorities) = self.priorities {
            within("beta", priorities.first_beta, 0.0..=1.0, PROBABILITY)?;
        }
        within("tau", self.tau, f64::MIN_POSITIVE..=1.0, "more than 0 and at most 1")?;
        within("start_epsilon", self.start_epsilon, 0.0..=1.0, PROBABILITY)?;
        within("end_epsilon", self.end_epsilon, 0.0..=1.0, PROBABILITY)?;
        within("end_epsilon", self.end_epsilon, ..=self.start_epsilon, "at most start_epsilon")?;
        within("the exploration fraction", self.exploration_fraction, 0.0..=1.0, PROBABILITY)
    }

    /// Where transitions are kept for a network, which says what a step discounts.
    fn memory<A: Copy + Default>(
        &self,
        network: &mut impl DqnUpdate,
        sizes: Sizes,
    ) -> Result<Memory<A>, TrainingError> {
        if self.n_step == 1 && self.priorities.is_none() {
            return Memory::uniform(sizes);
        }
        let gamma = network.windowed().ok_or(TrainingError::NoWindows)?.gamma();
        // With an exponent of 0 all priorities are equal.
        let equal = PriorityOptions { alpha: 0.0, ..PriorityOptions::default() };
        let priorities =
            self.priorities.unwrap_or(DqnPriorities { of_errors: equal, ..DqnPriorities::default() });
        let beta = Beta { first: priorities.first_beta, steps: self.steps };
        let windows = NStep::new(self.n_step, f64::from(gamma))?;
        Memory::prioritised(sizes, priorities.of_errors, windows, beta)
    }

    /// Probability of a random action in `step`.
    fn epsilon(&self, step: u64) -> f64 {
        let duration = self.exploration_fraction * self.steps as f64;
        if duration == 0.0 {
            return self.end_epsilon;
        }
        let slope = (self.end_epsilon - self.start_epsilon) / duration;
        let epsilon = slope * step as f64 + self.start_epsilon;
        if epsilon < self.end_epsilon { self.end_epsilon } else { epsilon }
    }
}

/// An agent that learns while it acts in one environment.
pub struct Dqn<E: Environment<Action = u32, ActionSpace = Discrete>, Q> {
    options: DqnOptions,
    experience: Experience<E>,
    network: Q,
    exploration: Pcg64,
    gradient_steps: u64,
    last_loss: Option<f32>,
    trace: DqnTrace,
}

impl<E: Environment<Action = u32, ActionSpace = Discrete>, Q> fmt::Debug for Dqn<E, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dqn")
            .field("options", &self.options)
            .field("environment_steps", &self.experience.steps())
            .field("gradient_steps", &self.gradient_steps)
            .finish_non_exhaustive()
    }
}

impl<E, Q> Dqn<E, Q>
where
    E: Environment<Action = u32, ActionSpace = Discrete>,
    Q: DqnUpdate,
{
    /// Takes all memory and begins the first episode. The environment is reset with `seed`; the agent's
    /// own numbers come from [`Stream`]s of it. Later steps allocate nothing.
    ///
    /// # Errors
    ///
    /// Whatever would end the training later, or silently spoil it, is refused here: options out of their ranges, and a
    /// network whose outputs or minibatches do not fit.
    pub fn new(
        environment: E,
        mut network: Q,
        options: DqnOptions,
        seed: u64,
    ) -> Result<Self, TrainingError> {
        options.validate()?;
        same_batch(network.batch(), options.batch)?;
        let DqnOptions { buffer_capacity, steps, batch, .. } = options;
        let experience =
            Experience::with_memory(environment, buffer_capacity, steps, batch, seed, |sizes| {
                options.memory(&mut network, sizes)
            })?;
        let outputs = network.q_values(experience.observation())?.len();
        let actions = experience.action_space().count as usize;
        if outputs != actions {
            return Err(TrainingError::Outputs { outputs, actions });
        }
        Ok(Self {
            exploration: Stream::Exploration.of(seed),
            gradient_steps: 0,
            last_loss: None,
            trace: DqnTrace::with_room(&options)?,
            options,
            experience,
            network,
        })
    }

    /// One environment step and what belongs to it; the episode, if this step ended one.
    ///
    /// # Errors
    ///
    /// [`TrainingError::Diverged`] where a loss or a weight is no number any more, and what environment and networks refuse.
    pub fn step(&mut self) -> Result<Option<Episode>, TrainingError> {
        self.step_telling(None)
    }

    /// A [`step`](Self::step) that tells `observe` what its gradient step found, where it makes one.
    ///
    /// # Errors
    ///
    /// As of a step.
    pub fn step_observed(
        &mut self,
        observe: &mut dyn FnMut(DqnMetrics),
    ) -> Result<Option<Episode>, TrainingError> {
        self.step_telling(Some(observe))
    }

    fn step_telling(&mut self, observer: Observer<'_, DqnMetrics>) -> Result<Option<Episode>, TrainingError> {
        let global_step = self.experience.steps();

        let epsilon = self.options.epsilon(global_step);
        let action = if self.exploration.unit() < epsilon {
            below(&mut self.exploration, self.experience.action_space().count)
        } else {
            greedy_action(self.network.q_values(self.experience.observation())?)
        };
        let episode = self.experience.step(&[action])?;

        if global_step > self.options.learning_starts {
            if global_step.is_multiple_of(self.options.train_frequency) {
                self.learn(global_step, epsilon, observer)?;
            }
            if global_step.is_multiple_of(self.options.target_frequency) {
                finite_weights(self.network.first_not_finite(), self.gradient_steps)?;
                self.network.update_target(self.options.tau);
                self.trace.target_moved(global_step, || self.network.largest_target_difference());
            }
        }
        Ok(episode)
    }

    fn learn(
        &mut self,
        global_step: u64,
        epsilon: f64,
        observer: Observer<'_, DqnMetrics>,
    ) -> Result<(), TrainingError> {
        self.experience.sample()?;
        let (batch, windows) = self.experience.drawn();
        let minibatch = Minibatch {
            observations: batch.observations(),
            next_observations: batch.next_observations(),
            actions: batch.actions(),
            rewards: batch.rewards(),
            terminations: batch.terminations(),
        };
        let mean_value = if observer.is_some() { self.network.mean_value(minibatch)? } else { 0.0 };
        let loss = match windows {
            None => self.network.update(minibatch)?,
            Some(windows) => {
                let network = self.network.windowed().ok_or(TrainingError::NoWindows)?;
                network.update_windows(minibatch, windows)?
            }
        };
        self.gradient_steps += 1;
        self.last_loss = Some(loss);
        finite(loss, self.gradient_steps, || self.network.first_not_finite())?;
        self.experience.learnt()?;
        if let Some(observe) = observer {
            let gradient_steps = self.gradient_steps;
            observe(DqnMetrics { environment_step: global_step, gradient_steps, epsilon, loss, mean_value });
        }
        self.trace.learnt(global_step, epsilon, self.experience.rows(), self.experience.batch().size());
        Ok(())
    }

    /// Environment steps taken, counted where they are taken.
    pub fn environment_steps(&self) -> u64 {
        self.experience.steps()
    }

    /// Gradient steps taken, counted where they are taken.
    pub fn gradient_steps(&self) -> u64 {
        self.gradient_steps
    }

    /// The loss before the last gradient step of this process; none before the first.
    pub fn last_loss(&self) -> Option<f32> {
        self.last_loss
    }

    /// What the training took down of itself; empty where the options ask for no trace.
    pub fn trace(&self) -> &DqnTrace {
        &self.trace
    }

    /// What became of transitions whose episode was cut off.
    pub fn truncations(&self) -> TruncationTrace {
        self.experience.truncations()
    }

    /// The network that acts and learns.
    pub fn network(&self) -> &Q {
        &self.network
    }
}

impl<E, Q> State for Dqn<E, Q>
where
    E: Environment<Action = u32, ActionSpace = Discrete>,
    Q: NetworkState,
{
    fn visit(&mut self, archive: &mut Archive) {
        archive.generator("random.exploration", &mut self.exploration);
        self.experience.visit(archive, self.options.steps);
        archive.number("gradient_steps", &mut self.gradient_steps, self.options.steps);
        self.trace.visit(archive);
        archive.networks(&mut self.network);
    }
}

/// The first of the actions with the largest value.
pub(crate) fn greedy_action(values: &[f32]) -> u32 {
    let mut best = 0;
    for (action, &value) in values.iter().enumerate() {
        if value > values[best] {
            best = action;
        }
    }
    best as u32
}
