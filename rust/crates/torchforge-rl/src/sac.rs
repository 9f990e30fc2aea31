//! Soft actor-critic (Haarnoja et al., 2018), after CleanRL's `sac_continuous_action.py`.

use std::fmt;

use torchforge_env::{ActionSpace, Continuous, Environment, Pcg64};
use torchforge_nn::{
    CriticLoss, NetworkState, PolicyLoss, PolicyNoise, SacMinibatch, SacUpdate, fill_standard_normal,
};

use crate::experience::Experience;
use crate::metrics::Observer;
use crate::training::{finite, finite_weights, not_zero, same_batch, zeros};
use crate::{Archive, Episode, SacMetrics, SacTrace, State, Stream, TrainingError, TruncationTrace};

/// SAC's constants; the defaults are CleanRL's, but for the number of steps and where learning starts, which are fewer: for
/// Pendulum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SacOptions {
    /// Environment steps of the whole training.
    pub steps: u64,
    /// Actions are uniform in the steps before this one; learning happens in those after it, strictly: with no more `steps`
    /// than these, nothing is learnt.
    pub learning_starts: u64,
    /// Transitions that the replay buffer holds.
    pub buffer_capacity: usize,
    /// Transitions in a minibatch.
    pub batch: usize,
    /// Steps from one visit to the policy to the next, and updates of it then.
    pub policy_frequency: u64,
    /// Whether the training takes down what it did: a few numbers for each gradient step, for as long as it runs.
    pub trace: bool,
}

impl Default for SacOptions {
    fn default() -> Self {
        Self {
            steps: 20_000,
            learning_starts: 1_000,
            buffer_capacity: 1_000_000,
            batch: 256,
            policy_frequency: 2,
            trace: false,
        }
    }
}

/// Gradient steps from one look at all weights to the next: a loss that is finite does not show a dead unit.
const LOOK_AT_WEIGHTS: u64 = 1024;

/// An agent that learns while it acts in one environment with continuous actions.
pub struct Sac<E: Environment<Action = [f32], ActionSpace = Continuous>, S> {
    options: SacOptions,
    experience: Experience<E>,
    networks: S,
    exploration: Pcg64,
    noise: Pcg64,
    action_noise: Vec<f32>,
    critic_noise: Vec<f32>,
    policy_noise: Vec<f32>,
    temperature_noise: Vec<f32>,
    action: Vec<f32>,
    gradient_steps: u64,
    last_critic_loss: Option<CriticLoss>,
    last_policy_loss: Option<PolicyLoss>,
    trace: SacTrace,
}

impl<E: Environment<Action = [f32], ActionSpace = Continuous>, S> fmt::Debug for Sac<E, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sac")
            .field("options", &self.options)
            .field("environment_steps", &self.experience.steps())
            .field("gradient_steps", &self.gradient_steps)
            .finish_non_exhaustive()
    }
}

impl<E, S> Sac<E, S>
where
    E: Environment<Action = [f32], ActionSpace = Continuous>,
    S: SacUpdate,
{
    /// Takes all memory and begins the first episode. The environment is reset with `seed`; the agent's own numbers
    /// come from [`Stream`]s of it. Later steps allocate nothing.
    ///
    /// # Errors
    ///
    /// [`TrainingError::Zero`] for options of zero; [`TrainingError::Batch`] and [`TrainingError::Outputs`] where environment,
    /// networks and options do not fit; [`TrainingError::NoMemory`] and [`TrainingError::TooLong`]; and what environment and
    /// replay buffer refuse.
    pub fn new(environment: E, networks: S, options: SacOptions, seed: u64) -> Result<Self, TrainingError> {
        not_zero(&[("steps", options.steps), ("policy frequency", options.policy_frequency)])?;
        same_batch(networks.batch(), options.batch)?;
        let action_len = environment.action_space().width();
        if networks.action_len() != action_len {
            return Err(TrainingError::Outputs { outputs: networks.action_len(), actions: action_len });
        }
        let noise = |rounds: u64| {
            let values = usize::try_from(rounds).ok();
            let values = values.and_then(|rounds| rounds.checked_mul(options.batch)?.checked_mul(action_len));
            zeros(values.unwrap_or(usize::MAX), "the noise of the policy's updates")
        };
        let SacOptions { buffer_capacity, steps, batch, .. } = options;
        Ok(Self {
            experience: Experience::new(environment, buffer_capacity, steps, batch, seed)?,
            exploration: Stream::Exploration.of(seed),
            noise: Stream::Noise.of(seed),
            action_noise: vec![0.0; action_len],
            critic_noise: noise(1)?,
            policy_noise: noise(options.policy_frequency)?,
            temperature_noise: noise(if networks.learns_temperature() {
                options.policy_frequency
            } else {
                0
            })?,
            action: vec![0.0; action_len],
            gradient_steps: 0,
            last_critic_loss: None,
            last_policy_loss: None,
            trace: SacTrace::with_room(&options)?,
            options,
            networks,
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

    /// A [`step`](Self::step) that tells `observe` what its updates found, where it makes some.
    ///
    /// # Errors
    ///
    /// As of a step.
    pub fn step_observed(
        &mut self,
        observe: &mut dyn FnMut(SacMetrics),
    ) -> Result<Option<Episode>, TrainingError> {
        self.step_telling(Some(observe))
    }

    fn step_telling(&mut self, observer: Observer<'_, SacMetrics>) -> Result<Option<Episode>, TrainingError> {
        let global_step = self.experience.steps();

        if global_step < self.options.learning_starts {
            let Continuous { low, high, .. } = self.experience.action_space();
            for (value, (&low, &high)) in self.action.iter_mut().zip(low.iter().zip(high.iter())) {
                *value = self.exploration.uniform(f64::from(low), f64::from(high)) as f32;
            }
        } else {
            fill_standard_normal(&mut self.exploration, &mut self.action_noise);
            self.networks.act(self.experience.observation(), &self.action_noise, &mut self.action)?;
        }
        let episode = self.experience.step(&self.action)?;

        if global_step > self.options.learning_starts {
            self.learn(global_step)?;
            if let (Some(observe), Some(critics)) = (observer, self.last_critic_loss) {
                observe(SacMetrics {
                    environment_step: global_step,
                    gradient_steps: self.gradient_steps,
                    critics,
                    policy: self.last_policy_loss,
                });
            }
        }
        Ok(episode)
    }

    fn learn(&mut self, global_step: u64) -> Result<(), TrainingError> {
        let batch = self.experience.sample()?;
        fill_standard_normal(&mut self.noise, &mut self.critic_noise);
        let minibatch = SacMinibatch {
            observations: batch.observations(),
            next_observations: batch.next_observations(),
            actions: batch.actions(),
            rewards: batch.rewards(),
            terminations: batch.terminations(),
        };
        let loss = self.networks.update_critics(minibatch, &self.critic_noise)?;
        self.gradient_steps += 1;
        self.last_critic_loss = Some(loss);
        finite(loss.sum, self.gradient_steps, || self.networks.first_not_finite())?;
        if self.gradient_steps.is_multiple_of(LOOK_AT_WEIGHTS) {
            finite_weights(self.networks.first_not_finite(), self.gradient_steps)?;
        }
        let (buffer_rows, batch_rows) = (self.experience.rows(), self.experience.batch().size());
        self.trace.critics_learnt(global_step, buffer_rows, batch_rows);

        if global_step.is_multiple_of(self.options.policy_frequency) {
            // As many updates as there were steps since the last.
            fill_standard_normal(&mut self.noise, &mut self.policy_noise);
            fill_standard_normal(&mut self.noise, &mut self.temperature_noise);
            let noise = PolicyNoise { policy: &self.policy_noise, temperature: &self.temperature_noise };
            let found = self.networks.update_policy(self.experience.batch().observations(), noise)?;
            self.last_policy_loss = Some(found);
            finite(found.policy + found.temperature, self.gradient_steps, || {
                self.networks.first_not_finite()
            })?;
            self.trace.policy_learnt(global_step, found.rounds);
        }
        self.networks.update_targets();
        self.trace.targets_moved(global_step);
        Ok(())
    }

    /// Environment steps taken, counted where they are taken.
    pub fn environment_steps(&self) -> u64 {
        self.experience.steps()
    }

    /// Updates of the critics, counted where they are made.
    pub fn gradient_steps(&self) -> u64 {
        self.gradient_steps
    }

    /// Transitions that the replay buffer can hold.
    pub fn buffer_capacity(&self) -> usize {
        self.experience.capacity()
    }

    /// The critics' losses and mean values before their last update in this process; none before the first.
    pub fn last_critic_loss(&self) -> Option<CriticLoss> {
        self.last_critic_loss
    }

    /// What the last update of the policy in this process found: losses and the temperature; none before the first.
    pub fn last_policy_loss(&self) -> Option<PolicyLoss> {
        self.last_policy_loss
    }

    /// What the training took down of itself.
    pub fn trace(&self) -> &SacTrace {
        &self.trace
    }

    /// What became of transitions whose episode was cut off.
    pub fn truncations(&self) -> TruncationTrace {
        self.experience.truncations()
    }

    /// The networks that act and learn.
    pub fn networks(&self) -> &S {
        &self.networks
    }
}

impl<E, S> State for Sac<E, S>
where
    E: Environment<Action = [f32], ActionSpace = Continuous>,
    S: NetworkState,
{
    fn visit(&mut self, archive: &mut Archive) {
        archive.generator("random.exploration", &mut self.exploration);
        archive.generator("random.noise", &mut self.noise);
        self.experience.visit(archive, self.options.steps);
        archive.number("gradient_steps", &mut self.gradient_steps, self.options.steps);
        self.trace.visit(archive);
        archive.networks(&mut self.networks);
    }
}
