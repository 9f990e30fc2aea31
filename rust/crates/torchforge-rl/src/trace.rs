//! What trainings take down of themselves, where their options ask for it.

use crate::training::with_room;
use crate::{Archive, DqnOptions, PpoOptions, Rollout, SacOptions, TrainingError};

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
    /// Steps whose flag is not what the environments said, or whose episode they ended and whose advantage counts what
    /// came after it all the same.
    pub wrong_flags: u64,
    /// Whether the environments ended an episode, in each step of the rollout under way.
    ended: Vec<bool>,
    asked: bool,
}

impl PpoTrace {
    /// Room for what a training of these options takes down, with so many steps in a rollout.
    pub(crate) fn with_room(options: &PpoOptions, rows: usize) -> Result<Self, TrainingError> {
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
            ended: with_room(rows)?,
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

    /// A rollout begins; of one that an error ended nothing is compared.
    pub(crate) fn begin_rollout(&mut self) {
        self.ended.clear();
    }

    /// The environments took a step.
    pub(crate) fn environments_said(&mut self, terminated: &[bool], truncated: &[bool]) {
        if self.asked {
            self.ended.extend(
                terminated.iter().zip(truncated).map(|(terminated, truncated)| terminated | truncated),
            );
        }
    }

    /// Holds the flags of a rollout, and the advantages that came of it, to what the environments said meanwhile. Behind an
    /// end nothing counts: the advantage is the reward less the value, to the bit.
    pub(crate) fn compare_flags(&mut self, rollout: Rollout<'_>, advantages: &[f32]) {
        for (place, ended) in self.ended.drain(..).enumerate() {
            let flagged = rollout.dones[place] > 0.0;
            let alone = advantages[place] == rollout.rewards[place] - rollout.values[place];
            self.wrong_flags += u64::from(flagged != ended || (ended && !alone));
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advantages_and_returns;

    /// Wrong flags of a rollout of two environments, whose ends were said and whose advantages came of such flags.
    fn wrong_flags(said: [[bool; 2]; 3], stored: [f32; 6], used: [f32; 6]) -> u64 {
        let options = PpoOptions { iterations: 1, trace: true, ..PpoOptions::default() };
        let mut trace = PpoTrace::with_room(&options, 6).unwrap();
        trace.begin_rollout();
        for ended in said {
            // The first environment's task ends, the second's episodes are cut off.
            trace.environments_said(&[ended[0], false], &[false, ended[1]]);
        }
        let rewards = [1.0, -0.5, 0.25, 2.0, 0.125, 1.5];
        let values = [0.5, 0.75, -0.25, 1.0, 0.375, -0.5];
        let rollout =
            |dones| Rollout { rewards: &rewards, dones, values: &values, next_values: &[0.625, -0.875] };
        let (mut advantages, mut returns) = ([0.0; 6], [0.0; 6]);
        advantages_and_returns(rollout(&used), options.gae, &mut advantages, &mut returns);
        trace.compare_flags(rollout(&stored), &advantages);
        trace.wrong_flags
    }

    #[test]
    fn a_flag_that_is_not_what_the_environments_said_is_counted_and_so_is_a_value_from_behind_an_end() {
        let said = [[false, true], [true, false], [false, true]];
        let flags = [0.0, 1.0, 1.0, 0.0, 0.0, 1.0];
        assert_eq!(wrong_flags(said, flags, flags), 0);
        // As if an episode that was cut off went on, and as if one ended in its first step.
        let (cut, early) = ([0.0, 0.0, 1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 0.0, 0.0, 1.0]);
        assert_eq!((wrong_flags(said, cut, cut), wrong_flags(said, early, early)), (2, 1));
        // Flags of the step before.
        let late = [0.0, 0.0, 0.0, 1.0, 1.0, 0.0];
        assert_eq!(wrong_flags(said, late, late), 5);
        // The right flags are kept and others are used.
        assert_eq!(wrong_flags(said, flags, late), 3);
    }

    #[test]
    fn of_a_rollout_that_an_error_ended_nothing_is_compared() {
        let options = PpoOptions { iterations: 1, trace: true, ..PpoOptions::default() };
        let mut trace = PpoTrace::with_room(&options, 1).unwrap();
        trace.environments_said(&[true], &[false]);
        trace.begin_rollout();
        trace.environments_said(&[false], &[false]);
        let rollout = Rollout { rewards: &[1.0], dones: &[0.0], values: &[0.0], next_values: &[0.0] };
        trace.compare_flags(rollout, &[1.0]);
        assert_eq!(trace.wrong_flags, 0);
    }
}
