//! What trainings take down of themselves, where their options ask for it.

use crate::training::with_room;
use crate::{Archive, DqnOptions, PpoOptions, SacOptions, TrainingError};

/// What a training of DQN says about itself, taken down where it was done.
#[derive(Debug, Clone, Default)]
pub struct DqnTrace {
    /// The environment step of each gradient step.
    pub update_steps: Vec<u64>,
    /// The probability of a random action in that step.
    pub epsilons: Vec<f64>,
    /// Transitions in the replay buffer at each gradient step.
    pub buffer_rows: Vec<u64>,
    /// Transitions in the minibatch of each gradient step.
    pub batch_rows: Vec<u64>,
    /// The environment step of each move of the target network.
    pub copy_steps: Vec<u64>,
    /// The largest difference of a parameter and its target right after each move: zero where it is a copy.
    pub copy_remainders: Vec<f32>,
    asked: bool,
}

impl DqnTrace {
    /// Room for what a training of these options takes down.
    pub(crate) fn with_room(options: &DqnOptions) -> Result<Self, TrainingError> {
        if !options.trace {
            return Ok(Self::default());
        }
        let updates = ((options.steps / options.train_frequency) as usize).saturating_add(1);
        let copies = ((options.steps / options.target_frequency) as usize).saturating_add(1);
        Ok(Self {
            update_steps: with_room(updates)?,
            epsilons: with_room(updates)?,
            buffer_rows: with_room(updates)?,
            batch_rows: with_room(updates)?,
            copy_steps: with_room(copies)?,
            copy_remainders: with_room(copies)?,
            asked: true,
        })
    }

    /// A gradient step was taken.
    pub(crate) fn learnt(&mut self, step: u64, epsilon: f64, buffer_rows: u64, batch_rows: usize) {
        if self.asked {
            self.update_steps.push(step);
            self.epsilons.push(epsilon);
            self.buffer_rows.push(buffer_rows);
            self.batch_rows.push(batch_rows as u64);
        }
    }

    /// The target network moved, and this is left between it and the online network.
    pub(crate) fn target_moved(&mut self, step: u64, remainder: impl FnOnce() -> f32) {
        if self.asked {
            self.copy_steps.push(step);
            self.copy_remainders.push(remainder());
        }
    }

    pub(crate) fn visit(&mut self, archive: &mut Archive) {
        archive.trace("trace.update_steps", &mut self.update_steps);
        archive.trace("trace.epsilons", &mut self.epsilons);
        archive.trace("trace.buffer_rows", &mut self.buffer_rows);
        archive.trace("trace.batch_rows", &mut self.batch_rows);
        archive.trace("trace.copy_steps", &mut self.copy_steps);
        archive.trace("trace.copy_remainders", &mut self.copy_remainders);
    }
}

/// What a training of PPO says about itself, taken down where it was done.
#[derive(Debug, Clone, Default)]
pub struct PpoTrace {
    /// The learning rate of each iteration.
    pub learning_rates: Vec<f64>,
    /// Environment steps, of all environments, before each gradient step.
    pub update_steps: Vec<u64>,
    /// Rows of each gradient step's minibatch.
    pub batch_rows: Vec<u64>,
    /// How many stored flags are not what the environments said a step before.
    pub wrong_flags: u64,
    asked: bool,
}

impl PpoTrace {
    /// Room for what a training of these options takes down.
    pub(crate) fn with_room(options: &PpoOptions) -> Result<Self, TrainingError> {
        if !options.trace {
            return Ok(Self::default());
        }
        let iterations = options.iterations as usize;
        let updates = iterations.saturating_mul(options.epochs).saturating_mul(options.minibatches);
        Ok(Self {
            learning_rates: with_room(iterations)?,
            update_steps: with_room(updates)?,
            batch_rows: with_room(updates)?,
            wrong_flags: 0,
            asked: true,
        })
    }

    /// An iteration begins to learn.
    pub(crate) fn iteration(&mut self, learning_rate: f64) {
        if self.asked {
            self.learning_rates.push(learning_rate);
        }
    }

    /// A gradient step was taken.
    pub(crate) fn learnt(&mut self, environment_steps: u64, batch_rows: usize) {
        if self.asked {
            self.update_steps.push(environment_steps);
            self.batch_rows.push(batch_rows as u64);
        }
    }

    /// Holds stored flags to what the environments said a step before.
    pub(crate) fn compare_flags(&mut self, flags: &[f32], ended_before: &[bool]) {
        let pairs = flags.iter().zip(ended_before);
        self.wrong_flags += pairs.filter(|(flag, ended)| (**flag > 0.0) != **ended).count() as u64;
    }

    pub(crate) fn visit(&mut self, archive: &mut Archive, steps: u64) {
        archive.trace("trace.learning_rates", &mut self.learning_rates);
        archive.trace("trace.update_steps", &mut self.update_steps);
        archive.trace("trace.batch_rows", &mut self.batch_rows);
        archive.number("trace.wrong_flags", &mut self.wrong_flags, steps);
    }
}

/// What a training of SAC says about itself, taken down where it was done.
#[derive(Debug, Clone, Default)]
pub struct SacTrace {
    /// The environment step of each update of the critics.
    pub update_steps: Vec<u64>,
    /// The environment step of each update of the policy.
    pub policy_steps: Vec<u64>,
    /// The environment step of each update of the targets.
    pub target_steps: Vec<u64>,
    /// Transitions in the replay buffer at each update of the critics.
    pub buffer_rows: Vec<u64>,
    /// Transitions in the minibatch of each update of the critics.
    pub batch_rows: Vec<u64>,
    asked: bool,
}

impl SacTrace {
    /// Room for what a training of these options takes down.
    pub(crate) fn with_room(options: &SacOptions) -> Result<Self, TrainingError> {
        if !options.trace {
            return Ok(Self::default());
        }
        let updates = options.steps.saturating_sub(options.learning_starts) as usize;
        Ok(Self {
            update_steps: with_room(updates)?,
            policy_steps: with_room(updates.saturating_add(options.policy_frequency as usize))?,
            target_steps: with_room(updates)?,
            buffer_rows: with_room(updates)?,
            batch_rows: with_room(updates)?,
            asked: true,
        })
    }

    /// The critics were updated.
    pub(crate) fn critics_learnt(&mut self, step: u64, buffer_rows: u64, batch_rows: usize) {
        if self.asked {
            self.update_steps.push(step);
            self.buffer_rows.push(buffer_rows);
            self.batch_rows.push(batch_rows as u64);
        }
    }

    /// The policy was updated so many times.
    pub(crate) fn policy_learnt(&mut self, step: u64, rounds: u64) {
        if self.asked {
            (0..rounds).for_each(|_| self.policy_steps.push(step));
        }
    }

    /// The targets moved.
    pub(crate) fn targets_moved(&mut self, step: u64) {
        if self.asked {
            self.target_steps.push(step);
        }
    }

    pub(crate) fn visit(&mut self, archive: &mut Archive) {
        archive.trace("trace.update_steps", &mut self.update_steps);
        archive.trace("trace.policy_steps", &mut self.policy_steps);
        archive.trace("trace.target_steps", &mut self.target_steps);
        archive.trace("trace.buffer_rows", &mut self.buffer_rows);
        archive.trace("trace.batch_rows", &mut self.batch_rows);
    }
}
