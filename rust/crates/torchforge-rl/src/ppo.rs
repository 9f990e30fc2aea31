//! Proximal policy optimisation (Schulman et al., 2017), after CleanRL's `ppo.py`.

use torchforge_env::{AutoresetMode, Discrete, Environment, Pcg64, StepBatch, VectorEnv};
use torchforge_nn::{NetworkState, PpoLoss, PpoMinibatch, PpoUpdate};

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
            trace: false,
        }
    }
}

impl PpoOptions {
    /// Rows of a minibatch, where so many environments are stepped together.
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
    /// 1 where the episode ended with the step before, otherwise 0.
    pub dones: &'a [f32],
    /// The value of the observation of each step.
    pub values: &'a [f32],
    /// The values after the last step; (environments).
    pub next_values: &'a [f32],
    /// 1 where the last step ended the episode, otherwise 0; (environments).
    pub next_dones: &'a [f32],
}

/// Generalised advantages and returns, (steps, environments), with flags as PPO keeps them: those before a step.
///
/// In `f32`, as the reference. Lengths are the caller's to keep: all as the rollout's fields, of one environment at least.
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
        let mut next_done = rollout.next_dones[environment];
        for step in (0..steps).rev() {
            let place = step * environments + environment;
            let value = rollout.values[place];
            let alive = 1.0 - next_done;
            let delta = rollout.rewards[place] + gamma * next_value * alive - value;
            advantage = delta + decay * alive * advantage;
            advantages[place] = advantage;
            returns[place] = advantage + value;
            next_value = value;
            next_done = rollout.dones[place];
        }
    }
}

/// An agent that learns after each rollout of several environments.
///
/// The environments begin the next episode in the step that ends one
/// ([`SameStep`](torchforge_env::AutoresetMode::SameStep)).
pub struct Ppo<E, P> {
    options: PpoOptions,
    environments: VectorEnv<E>,
    networks: P,
    choice: Pcg64,
    shuffling: Pcg64,
    /// Where the next step begins; (environments, observation length).
    observations: Vec<f32>,
    final_observations: Vec<f32>,
    rewards: Vec<f64>,
    terminated: Vec<bool>,
    truncated: Vec<bool>,
    /// Whether the step before ended the episode; (environments).
    dones: Vec<f32>,
    unfinished: Vec<Unfinished>,
    rollout: RolloutBuffer,
    minibatch: Columns,
    order: Vec<u32>,
    iteration: u64,
    environment_steps: u64,
    gradient_steps: u64,
    last_loss: Option<PpoLoss>,
    trace: PpoTrace,
}

/// What is learnt from: one row a step.
struct Columns {
    observations: Vec<f32>,
    actions: Vec<u32>,
    log_probabilities: Vec<f32>,
    advantages: Vec<f32>,
    returns: Vec<f32>,
    values: Vec<f32>,
}

impl Columns {
    fn zeroed(rows: usize, observation_len: usize) -> Result<Self, TrainingError> {
        const WHAT: &str = "a rollout";
        Ok(Self {
            observations: zeros(rows.saturating_mul(observation_len), WHAT)?,
            actions: zeros(rows, WHAT)?,
            log_probabilities: zeros(rows, WHAT)?,
            advantages: zeros(rows, WHAT)?,
            returns: zeros(rows, WHAT)?,
            values: zeros(rows, WHAT)?,
        })
    }

    fn copy_row(&mut self, row: usize, other: &Self, from: usize, width: usize) {
        self.observations[row * width..][..width]
            .copy_from_slice(&other.observations[from * width..][..width]);
        self.actions[row] = other.actions[from];
        self.log_probabilities[row] = other.log_probabilities[from];
        self.advantages[row] = other.advantages[from];
        self.returns[row] = other.returns[from];
        self.values[row] = other.values[from];
    }

    fn lend(&self) -> PpoMinibatch<'_> {
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
struct RolloutBuffer {
    columns: Columns,
    rewards: Vec<f32>,
    dones: Vec<f32>,
    /// What the environments said a step before: the trace holds the flags to it.
    ended_before: Vec<bool>,
}

impl<E, P> Ppo<E, P>
where
    E: Environment<Action = u32, ActionSpace = Discrete>,
    P: PpoUpdate,
{
    /// Takes all memory and begins the first episodes. Environment `i` is reset with `seed + i`; the agent's own
    /// numbers come from [`Stream`]s of `seed`. Later iterations allocate nothing but in the caller's list.
    pub fn new(
        mut environments: VectorEnv<E>,
        mut networks: P,
        options: PpoOptions,
        seed: u64,
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
        // Networks of shorter observations would take one for several.
        let found = networks.evaluate(&observations)?.values.len();
        if found != count {
            let what = "the first evaluation";
            return Err(torchforge_nn::Error::Len { what, expected: count, found }.into());
        }
        let (outputs, actions) = (networks.action_count(), environments.action_space().count as usize);
        if outputs != actions {
            return Err(TrainingError::Outputs { outputs, actions });
        }
        Ok(Self {
            choice: Stream::Exploration.of(seed),
            shuffling: Stream::Replay.of(seed),
            final_observations: observations.clone(),
            observations,
            rewards: vec![0.0; count],
            terminated: vec![false; count],
            truncated: vec![false; count],
            dones: vec![0.0; count],
            unfinished: vec![Unfinished::default(); count],
            rollout: RolloutBuffer {
                columns: Columns::zeroed(rows, width)?,
                rewards: vec![0.0; rows],
                dones: vec![0.0; rows],
                ended_before: vec![false; rows],
            },
            minibatch: Columns::zeroed(minibatch_rows, width)?,
            order: (0..rows as u32).collect(),
            iteration: 0,
            environment_steps: 0,
            gradient_steps: 0,
            last_loss: None,
            trace: PpoTrace::with_room(&options)?,
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
        let evaluation = self.networks.evaluate(&self.observations)?;
        rollout.columns.observations[rows.start * width..rows.end * width]
            .copy_from_slice(&self.observations);
        rollout.columns.values[rows.clone()].copy_from_slice(evaluation.values);
        rollout.dones[rows.clone()].copy_from_slice(&self.dones);
        let per_row = evaluation.probabilities.len() / count;
        for (row, place) in rows.clone().enumerate() {
            let probabilities = &evaluation.probabilities[row * per_row..][..per_row];
            let action = sample_categorical(self.choice.unit(), probabilities);
            rollout.columns.actions[place] = action;
            rollout.columns.log_probabilities[place] =
                evaluation.log_probabilities[row * per_row + action as usize];
            rollout.ended_before[place] = self.terminated[row] || self.truncated[row];
        }
        self.environments.step(
            &rollout.columns.actions[rows.clone()],
            &mut StepBatch {
                observations: &mut self.observations,
                rewards: &mut self.rewards,
                terminated: &mut self.terminated,
                truncated: &mut self.truncated,
                final_observations: &mut self.final_observations,
            },
        )?;
        for (row, place) in rows.enumerate() {
            let done = self.terminated[row] || self.truncated[row];
            let reward = self.rewards[row];
            episodes.extend(self.unfinished[row].add(self.environment_steps, reward, done));
            self.environment_steps += 1;
            rollout.rewards[place] = reward as f32;
            self.dones[row] = f32::from(u8::from(done));
        }
        Ok(())
    }

    /// Advantages and returns of the rollout.
    fn compute_advantages(&mut self) -> Result<(), TrainingError> {
        let evaluation = self.networks.evaluate(&self.observations)?;
        let RolloutBuffer { columns, rewards, dones, ended_before } = &mut self.rollout;
        self.trace.compare_flags(dones, ended_before);
        let rollout = Rollout {
            rewards,
            dones,
            values: &columns.values,
            next_values: evaluation.values,
            next_dones: &self.dones,
        };
        advantages_and_returns(rollout, self.options.gae, &mut columns.advantages, &mut columns.returns);
        Ok(())
    }

    /// One pass over the rollout in a random order. Where `shifts` are wanted, they are measured before each step.
    fn learn(&mut self, learning_rate: f64, mut shifts: Option<&mut Shifts>) -> Result<(), TrainingError> {
        for last in (1..self.order.len()).rev() {
            let other = below(&mut self.shuffling, last as u32 + 1) as usize;
            self.order.swap(last, other);
        }
        let width = self.environments.observation_len();
        for rows in self.order.chunks(self.minibatch.actions.len()) {
            for (row, &from) in rows.iter().enumerate() {
                self.minibatch.copy_row(row, &self.rollout.columns, from as usize, width);
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
}

/// Between two iterations: of a rollout nothing is left then.
impl<E, P> State for Ppo<E, P>
where
    E: Environment<Action = u32, ActionSpace = Discrete>,
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
        archive.flags("terminated", &mut self.terminated);
        archive.flags("truncated", &mut self.truncated);
        archive.numbers("dones", &mut self.dones);
        for (index, unfinished) in self.unfinished.iter_mut().enumerate() {
            unfinished.visit(archive, &format!("episode.{index}"), steps);
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

/// The action at which the probabilities, added up, pass a uniform number.
pub(crate) fn sample_categorical(uniform: f64, probabilities: &[f32]) -> u32 {
    let mut sum = 0.0;
    for (action, &probability) in probabilities.iter().enumerate() {
        sum += f64::from(probability);
        if uniform < sum {
            return action as u32;
        }
    }
    // Rounding may leave the sum just below one.
    probabilities.len() as u32 - 1
}
