//! Proximal policy optimisation (Schulman et al., 2017), after CleanRL's `ppo.py` and `ppo_continuous_action.py`.

mod actor;
mod normaliser;

pub(crate) use actor::sample_categorical;
pub use actor::{Drawn, PpoActor};
use normaliser::Normaliser;
pub use normaliser::ObservationStatistics;

use std::fmt;

use torchforge_env::{ActionSpace, AutoresetMode, Environment, Pcg64, StepBatch, VectorEnv};
use torchforge_nn::{Element, NetworkState, PpoLoss, PpoMinibatch};

use crate::metrics::{Observer, Shifts, explained_variance};
use crate::stream::below;
use crate::training::{
    MOST_ROLLOUT_STEPS, Unfinished, finite, finite_weights, not_zero, same_batch, within, zeros,
};
use crate::{Archive, Episode, GaeOptions, PpoMetrics, PpoTrace, State, Stream, TrainingError};

/// PPO's constants; the defaults are CleanRL's, for CartPole: its 500,000 steps are 976 iterations of four environments.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PpoOptions {
    /// Iterations of the whole training.
    pub iterations: u64,
    /// Steps of each environment in an iteration.
    pub rollout_steps: usize,
    /// Parts that an iteration's steps are learnt from in.
    pub minibatches: usize,
    /// How often an iteration's steps are learnt from.
    pub epochs: usize,
    /// Learning rate of the first iteration.
    pub learning_rate: f64,
    /// Whether the learning rate falls, linearly, and would be zero after the last iteration; otherwise it stays.
    pub anneal_learning_rate: bool,
    /// An iteration ends with the epoch after whose last minibatch the policy's
    /// [`approx_kl`](torchforge_nn::PolicyShift::approx_kl) is larger than this; with none it always has all epochs.
    pub target_kl: Option<f64>,
    /// The advantages' discounts.
    pub gae: GaeOptions,
    /// Whether each environment's observations and rewards are normalised, as `ppo_continuous_action.py` has it: by Gymnasium's
    /// `NormalizeObservation` and `NormalizeReward`, then cut at 10. Episodes report what the environment gave.
    pub normalise: bool,
    /// Whether the training takes down what it did: a few numbers for each gradient step, for as long as it runs.
    pub trace: bool,
}

impl Default for PpoOptions {
    fn default() -> Self {
        Self {
            iterations: 976,
            rollout_steps: 128,
            minibatches: 4,
            epochs: 4,
            learning_rate: 2.5e-4,
            anneal_learning_rate: true,
            target_kl: None,
            gae: GaeOptions { gamma: 0.99, lambda: 0.95 },
            normalise: false,
            trace: false,
        }
    }
}

impl PpoOptions {
    /// Those of CleanRL's `ppo_continuous_action.py`, for one environment: its 1,000,000 steps are 488 iterations.
    pub fn continuous() -> Self {
        Self {
            iterations: 488,
            rollout_steps: 2048,
            minibatches: 32,
            epochs: 10,
            learning_rate: 3e-4,
            normalise: true,
            ..Self::default()
        }
    }

    /// Rows of a minibatch, where so many environments are stepped together.
    ///
    /// # Errors
    ///
    /// [`TrainingError::Zero`], [`TrainingError::Minibatches`] or [`TrainingError::Rollout`] where there are no such minibatches.
    pub fn minibatch_rows(&self, environments: usize) -> Result<usize, TrainingError> {
        not_zero(&[("minibatches", self.minibatches as u64), ("rollout steps", self.rollout_steps as u64)])?;
        let rows = environments.saturating_mul(self.rollout_steps);
        if rows > MOST_ROLLOUT_STEPS {
            return Err(TrainingError::Rollout { rows });
        }
        if !rows.is_multiple_of(self.minibatches) {
            return Err(TrainingError::Minibatches { rows, parts: self.minibatches });
        }
        Ok(rows / self.minibatches)
    }

    fn validate(&self) -> Result<(), TrainingError> {
        const SHARE: &str = "a number from 0 to 1";
        not_zero(&[("iterations", self.iterations), ("epochs", self.epochs as u64)])?;
        within("the learning rate", self.learning_rate, f64::MIN_POSITIVE.., "a positive number")?;
        if let Some(target) = self.target_kl {
            within("the target KL", target, f64::MIN_POSITIVE.., "a positive number")?;
        }
        within("gamma", self.gae.gamma, 0.0..=1.0, SHARE)?;
        within("lambda", self.gae.lambda, 0.0..=1.0, SHARE)
    }

    /// The learning rate of an iteration, counted from 0.
    fn learning_rate(&self, iteration: u64) -> f64 {
        if self.anneal_learning_rate {
            (1.0 - iteration as f64 / self.iterations as f64) * self.learning_rate
        } else {
            self.learning_rate
        }
    }
}

/// What was collected in an iteration, (steps, environments), borrowed.
#[derive(Debug, Clone, Copy)]
pub struct Rollout<'a> {
    /// The reward of each step.
    pub rewards: &'a [f32],
    /// 1 where the episode ended with this step, otherwise 0.
    pub dones: &'a [f32],
    /// The value of the observation of each step.
    pub values: &'a [f32],
    /// The values after the last step; (environments).
    pub next_values: &'a [f32],
}

/// Generalised advantages and returns, (steps, environments), by the formulas of [`gae`](crate::gae).
///
/// In `f32` and step after step, as the reference: these are the bytes that PPO learns from.
///
/// # Panics
///
/// Where there is no environment, or a slice is shorter than the rewards.
pub fn advantages_and_returns(
    rollout: Rollout<'_>,
    options: GaeOptions,
    advantages: &mut [f32],
    returns: &mut [f32],
) {
    let environments = rollout.next_values.len();
    let steps = rollout.rewards.len() / environments;
    let (gamma, decay) = (options.gamma as f32, (options.gamma * options.lambda) as f32);
    for environment in 0..environments {
        let mut advantage = 0.0_f32;
        let mut next_value = rollout.next_values[environment];
        for step in (0..steps).rev() {
            let place = step * environments + environment;
            let value = rollout.values[place];
            let alive = 1.0 - rollout.dones[place];
            let delta = rollout.rewards[place] + gamma * next_value * alive - value;
            advantage = delta + decay * alive * advantage;
            advantages[place] = advantage;
            returns[place] = advantage + value;
            next_value = value;
        }
    }
}

/// An agent that learns after each rollout of several environments.
///
/// The environments begin the next episode in the step that ends one
/// ([`SameStep`](torchforge_env::AutoresetMode::SameStep)).
pub struct Ppo<E: Environment, P> {
    options: PpoOptions,
    environments: VectorEnv<E>,
    networks: P,
    choice: Pcg64,
    shuffling: Pcg64,
    /// Where the next step begins; (environments, observation length).
    observations: Vec<f32>,
    final_observations: Vec<f32>,
    /// What the critic says of the observations after a rollout.
    next_values: Vec<f32>,
    rewards: Vec<f64>,
    terminated: Vec<bool>,
    truncated: Vec<bool>,
    unfinished: Vec<Unfinished>,
    /// Of each environment; none where nothing is normalised.
    normalisers: Vec<Normaliser>,
    /// What the environments are given: actions within their bounds.
    taken: Vec<Value<E>>,
    rollout: RolloutBuffer<Value<E>>,
    minibatch: Columns<Value<E>>,
    order: Vec<u32>,
    iteration: u64,
    environment_steps: u64,
    gradient_steps: u64,
    last_loss: Option<PpoLoss>,
    trace: PpoTrace,
}

impl<E: Environment, P> fmt::Debug for Ppo<E, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ppo")
            .field("options", &self.options)
            .field("environment_steps", &self.environment_steps)
            .field("gradient_steps", &self.gradient_steps)
            .finish_non_exhaustive()
    }
}

/// What an action consists of.
type Value<E> = <<E as Environment>::ActionSpace as ActionSpace>::Value;

/// What is learnt from: one row a step.
struct Columns<V> {
    observations: Vec<f32>,
    actions: Vec<V>,
    log_probabilities: Vec<f32>,
    advantages: Vec<f32>,
    returns: Vec<f32>,
    values: Vec<f32>,
}

impl<V: Copy + Default> Columns<V> {
    /// So many rows, with so many values in an observation and in an action.
    fn zeroed(rows: usize, [observation, action]: [usize; 2]) -> Result<Self, TrainingError> {
        const WHAT: &str = "a rollout";
        Ok(Self {
            observations: zeros(rows.saturating_mul(observation), WHAT)?,
            actions: zeros(rows.saturating_mul(action), WHAT)?,
            log_probabilities: zeros(rows, WHAT)?,
            advantages: zeros(rows, WHAT)?,
            returns: zeros(rows, WHAT)?,
            values: zeros(rows, WHAT)?,
        })
    }

    fn copy_row(&mut self, row: usize, other: &Self, from: usize, [observation, action]: [usize; 2]) {
        self.observations[row * observation..][..observation]
            .copy_from_slice(&other.observations[from * observation..][..observation]);
        self.actions[row * action..][..action].copy_from_slice(&other.actions[from * action..][..action]);
        self.log_probabilities[row] = other.log_probabilities[from];
        self.advantages[row] = other.advantages[from];
        self.returns[row] = other.returns[from];
        self.values[row] = other.values[from];
    }

    fn lend(&self) -> PpoMinibatch<'_, V> {
        PpoMinibatch {
            observations: &self.observations,
            actions: &self.actions,
            log_probabilities: &self.log_probabilities,
            advantages: &self.advantages,
            returns: &self.returns,
            values: &self.values,
        }
    }
}

/// A rollout's rows, with what the advantages come of.
struct RolloutBuffer<V> {
    columns: Columns<V>,
    rewards: Vec<f32>,
    /// 1 where the episode ended with this step.
    dones: Vec<f32>,
}

impl<E, P> Ppo<E, P>
where
    E: Environment,
    Value<E>: Copy + Default,
    P: PpoActor<E::ActionSpace>,
{
    /// Takes all memory and begins the first episodes. Environment `i` is reset with `seed + i`; the agent's own
    /// numbers come from [`Stream`]s of `seed`. Later iterations allocate nothing but in the caller's list.
    ///
    /// # Errors
    ///
    /// [`TrainingError::Zero`], [`TrainingError::Option`], [`TrainingError::Minibatches`] and [`TrainingError::Rollout`] for
    /// options with which nothing can be learnt; [`TrainingError::Autoreset`], [`TrainingError::Batch`] and
    /// [`TrainingError::Outputs`] where environments, networks and options do not fit; [`TrainingError::NoMemory`] and
    /// [`TrainingError::TooLong`]; and what environments and networks refuse.
    pub fn new(
        environments: VectorEnv<E>,
        networks: P,
        options: PpoOptions,
        seed: u64,
    ) -> Result<Self, TrainingError> {
        Self::with_statistics(environments, networks, options, seed, None)
    }

    /// [`new`](Self::new) with networks that learnt before. Where observations are normalised, each environment's statistics
    /// begin with these.
    ///
    /// # Errors
    ///
    /// As of `new`, and [`torchforge_nn::Error::Len`] for statistics of other observations.
    pub fn with_statistics(
        mut environments: VectorEnv<E>,
        mut networks: P,
        options: PpoOptions,
        seed: u64,
        statistics: Option<&ObservationStatistics>,
    ) -> Result<Self, TrainingError> {
        options.validate()?;
        if environments.mode() != AutoresetMode::SameStep {
            return Err(TrainingError::Autoreset { mode: environments.mode() });
        }
        let (count, width) = (environments.len(), environments.observation_len());
        let minibatch_rows = options.minibatch_rows(count)?;
        same_batch(networks.batch(), minibatch_rows)?;
        let rows = minibatch_rows * options.minibatches;
        let mut observations = vec![0.0; count * width];
        environments.reset(Some(seed), &mut observations)?;
        let normaliser = match statistics {
            None => Normaliser::new(width, options.gae.gamma),
            Some(statistics) if statistics.mean().len() == width => {
                Normaliser::of(statistics.clone(), options.gae.gamma)
            }
            Some(statistics) => {
                let (what, found) = ("observation statistics", statistics.mean().len());
                return Err(torchforge_nn::Error::Len { what, expected: width, found }.into());
            }
        };
        let mut normalisers = vec![normaliser; if options.normalise { count } else { 0 }];
        for (normaliser, observation) in normalisers.iter_mut().zip(observations.chunks_exact_mut(width)) {
            normaliser.observe(observation);
        }
        // Networks of shorter observations would take one for several.
        let mut next_values = vec![0.0; count];
        networks.values(&observations, &mut next_values)?;
        networks.check_outputs(environments.action_space())?;
        let widths = [width, environments.action_space().width()];
        Ok(Self {
            choice: Stream::Exploration.of(seed),
            shuffling: Stream::Replay.of(seed),
            final_observations: observations.clone(),
            observations,
            next_values,
            rewards: vec![0.0; count],
            terminated: vec![false; count],
            truncated: vec![false; count],
            unfinished: vec![Unfinished::default(); count],
            normalisers,
            taken: zeros(count * widths[1], "actions")?,
            rollout: RolloutBuffer {
                columns: Columns::zeroed(rows, widths)?,
                rewards: zeros(rows, "a rollout")?,
                dones: zeros(rows, "a rollout")?,
            },
            minibatch: Columns::zeroed(minibatch_rows, widths)?,
            order: (0..rows as u32).collect(),
            iteration: 0,
            environment_steps: 0,
            gradient_steps: 0,
            last_loss: None,
            trace: PpoTrace::with_room(&options, rows)?,
            options,
            environments,
            networks,
        })
    }

    /// Acts for a rollout, then learns from it. Episodes that ended are added to the list.
    ///
    /// # Errors
    ///
    /// [`TrainingError::Finished`] after the last iteration of the schedule, and [`TrainingError::Diverged`] where a loss
    /// or a weight is no number any more.
    pub fn iterate(&mut self, episodes: &mut Vec<Episode>) -> Result<(), TrainingError> {
        self.iterate_telling(episodes, None)
    }

    /// [`iterate`](Self::iterate), which tells `observe` at the end what the iteration found.
    ///
    /// # Errors
    ///
    /// As of `iterate`.
    pub fn iterate_observed(
        &mut self,
        episodes: &mut Vec<Episode>,
        observe: &mut dyn FnMut(PpoMetrics),
    ) -> Result<(), TrainingError> {
        self.iterate_telling(episodes, Some(observe))
    }

    fn iterate_telling(
        &mut self,
        episodes: &mut Vec<Episode>,
        observer: Observer<'_, PpoMetrics>,
    ) -> Result<(), TrainingError> {
        if self.iteration >= self.options.iterations {
            return Err(TrainingError::Finished { iterations: self.options.iterations });
        }
        self.trace.begin_rollout();
        for step in 0..self.options.rollout_steps {
            self.act(step, episodes)?;
        }
        self.compute_advantages()?;
        let learning_rate = self.options.learning_rate(self.iteration);
        self.trace.iteration(learning_rate);
        let measure = observer.is_some() || self.options.target_kl.is_some();
        let mut shifts = Shifts::default();
        for _ in 0..self.options.epochs {
            self.learn(learning_rate, measure.then_some(&mut shifts))?;
            if self.options.target_kl.is_some_and(|target| shifts.beyond(target)) {
                break;
            }
        }
        finite_weights(self.networks.first_not_finite(), self.gradient_steps)?;
        self.iteration += 1;
        if let (Some(observe), Some(loss), Some(shift)) = (observer, self.last_loss, shifts.summary()) {
            let Columns { values, returns, .. } = &self.rollout.columns;
            observe(PpoMetrics {
                iterations: self.iteration,
                environment_steps: self.environment_steps,
                gradient_steps: self.gradient_steps,
                learning_rate,
                loss,
                shift,
                explained_variance: explained_variance(values, returns),
            });
        }
        Ok(())
    }

    /// One step of every environment.
    fn act(&mut self, step: usize, episodes: &mut Vec<Episode>) -> Result<(), TrainingError> {
        let (count, width) = (self.environments.len(), self.environments.observation_len());
        let rows = step * count..(step + 1) * count;
        let rollout = &mut self.rollout;
        rollout.columns.observations[rows.start * width..rows.end * width]
            .copy_from_slice(&self.observations);
        let space = self.environments.action_space();
        let per_row = space.width();
        let actions = &mut rollout.columns.actions[rows.start * per_row..rows.end * per_row];
        let drawn =
            Drawn { actions, log_probabilities: &mut rollout.columns.log_probabilities[rows.clone()] };
        self.networks.act(&self.observations, &mut self.choice, drawn)?;
        self.taken.copy_from_slice(&rollout.columns.actions[rows.start * per_row..rows.end * per_row]);
        P::clip(space, &mut self.taken);
        self.environments.step(
            &self.taken,
            &mut StepBatch {
                observations: &mut self.observations,
                rewards: &mut self.rewards,
                terminated: &mut self.terminated,
                truncated: &mut self.truncated,
                final_observations: &mut self.final_observations,
            },
        )?;
        self.trace.environments_said(&self.terminated, &self.truncated);
        for (row, place) in rows.enumerate() {
            let done = self.terminated[row] || self.truncated[row];
            let mut reward = self.rewards[row];
            episodes.extend(self.unfinished[row].add(self.environment_steps, reward, done));
            self.environment_steps += 1;
            if let Some(normaliser) = self.normalisers.get_mut(row) {
                let observation = row * width..(row + 1) * width;
                if done {
                    // The episode's last observation counts, though nothing is learnt from it.
                    normaliser.observe(&mut self.final_observations[observation.clone()]);
                }
                normaliser.observe(&mut self.observations[observation]);
                reward = normaliser.reward(reward, self.terminated[row]);
            }
            rollout.rewards[place] = reward as f32;
            rollout.dones[place] = f32::from(u8::from(done));
        }
        Ok(())
    }

    /// What the critic says of the rollout, which it need not know before, and from that advantages and returns.
    fn compute_advantages(&mut self) -> Result<(), TrainingError> {
        let RolloutBuffer { columns, rewards, dones } = &mut self.rollout;
        self.networks.values(&columns.observations, &mut columns.values)?;
        self.networks.values(&self.observations, &mut self.next_values)?;
        let next_values = &self.next_values[..];
        let rollout = Rollout { rewards, dones, values: &columns.values, next_values };
        advantages_and_returns(rollout, self.options.gae, &mut columns.advantages, &mut columns.returns);
        self.trace.compare_flags(rollout, &columns.advantages);
        Ok(())
    }

    /// One pass over the rollout in a random order. Where `shifts` are wanted, they are measured before each step.
    fn learn(&mut self, learning_rate: f64, mut shifts: Option<&mut Shifts>) -> Result<(), TrainingError> {
        for last in (1..self.order.len()).rev() {
            let other = below(&mut self.shuffling, last as u32 + 1) as usize;
            self.order.swap(last, other);
        }
        let widths = [self.environments.observation_len(), self.environments.action_space().width()];
        for rows in self.order.chunks(self.minibatch.values.len()) {
            for (row, &from) in rows.iter().enumerate() {
                self.minibatch.copy_row(row, &self.rollout.columns, from as usize, widths);
            }
            let minibatch = self.minibatch.lend();
            if let Some(shifts) = &mut shifts {
                shifts.add(self.networks.policy_shift(minibatch)?);
            }
            let loss = self.networks.update(minibatch, learning_rate)?;
            self.gradient_steps += 1;
            self.last_loss = Some(loss);
            finite(loss.total, self.gradient_steps, || self.networks.first_not_finite())?;
            self.trace.learnt(self.environment_steps, rows.len());
        }
        Ok(())
    }

    /// Environment steps taken by all environments, counted where they are taken.
    pub fn environment_steps(&self) -> u64 {
        self.environment_steps
    }

    /// Gradient steps taken, counted where they are taken.
    pub fn gradient_steps(&self) -> u64 {
        self.gradient_steps
    }

    /// What the last gradient step of this process found before it: losses, entropy, the gradient's length; none before
    /// the first.
    pub fn last_loss(&self) -> Option<PpoLoss> {
        self.last_loss
    }

    /// What the training took down of itself.
    pub fn trace(&self) -> &PpoTrace {
        &self.trace
    }

    /// The networks that act and learn.
    pub fn networks(&self) -> &P {
        &self.networks
    }

    /// What observations are normalised by, of each environment; none where they are not.
    pub fn observation_statistics(&self) -> impl ExactSizeIterator<Item = &ObservationStatistics> {
        self.normalisers.iter().map(Normaliser::observations)
    }
}

/// Between two iterations: of a rollout nothing is left then.
impl<E, P> State for Ppo<E, P>
where
    E: Environment,
    Value<E>: Element,
    P: NetworkState,
{
    fn visit(&mut self, archive: &mut Archive) {
        let rows = self.order.len() as u64;
        let steps = self.options.iterations.saturating_mul(rows);
        let updates = steps.saturating_mul(self.options.epochs as u64);
        archive.generator("random.exploration", &mut self.choice);
        archive.generator("random.replay", &mut self.shuffling);
        archive.number("iterations", &mut self.iteration, self.options.iterations);
        archive.number("environment_steps", &mut self.environment_steps, steps);
        archive.number("gradient_steps", &mut self.gradient_steps, updates);
        archive.snapshot(self.environments.snapshot(), |snapshot| self.environments.restore(snapshot));
        archive.numbers("observations", &mut self.observations);
        for (index, unfinished) in self.unfinished.iter_mut().enumerate() {
            unfinished.visit(archive, &format!("episode.{index}"), steps);
        }
        for (index, normaliser) in self.normalisers.iter_mut().enumerate() {
            normaliser.visit(archive, &format!("normaliser.{index}"));
        }
        archive.numbers("order", &mut self.order);
        let mut places = self.order.clone();
        places.sort_unstable();
        if !places.iter().copied().eq(0..rows as u32) {
            archive.refuse("its order does not name every row once");
        }
        self.trace.visit(archive, steps);
        archive.networks(&mut self.networks);
    }
}
