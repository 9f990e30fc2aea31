//! What all trainings share.

use torchforge_data::Transition;

use crate::Archive;

/// Why a training cannot go on.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TrainingError {
    /// A number of zero was asked for.
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
        /// The environment's actions, or values in one of them.
        actions: usize,
    },
    /// A number cannot be divided into equal parts.
    #[error("{rows} steps cannot be divided into {parts} minibatches: make the one a multiple of the other")]
    Minibatches {
        /// Steps in a rollout of all environments.
        rows: usize,
        /// Minibatches asked for.
        parts: usize,
    },
    /// A rollout is larger than any that is kept in memory.
    #[error("a rollout has {rows} steps of all environments: give it at most {MOST_ROLLOUT_STEPS}")]
    Rollout {
        /// Steps in a rollout of all environments.
        rows: usize,
    },
    /// An option has a value with which nothing is learnt, or something else than what was meant.
    #[error("{what} is {value} and must be {expected}")]
    Option {
        /// The option's name.
        what: &'static str,
        /// As given.
        value: f64,
        /// What it must be.
        expected: &'static str,
    },
    /// The network was made for other minibatches than the agent draws.
    #[error("the network takes minibatches of {network} rows and the agent draws {agent}: make them equal")]
    Batch {
        /// Rows that the network takes.
        network: usize,
        /// Rows that the agent draws.
        agent: usize,
    },
    /// The network does not learn from windows of several steps, nor from transitions that count more or less.
    #[error(
        "the network learns from single transitions alone: give n-step 1 and no priorities, or take a DenseDqn"
    )]
    NoWindows,
    /// The environments do not begin the next episode in the step that ends one.
    #[error("the environments' autoreset mode is {mode:?}: PPO needs SameStep")]
    Autoreset {
        /// Their mode.
        mode: torchforge_env::AutoresetMode,
    },
    /// The schedule is over: the next learning rate would be zero or negative.
    #[error("all {iterations} iterations are over: give the options more, or stop here")]
    Finished {
        /// Iterations of the schedule.
        iterations: u64,
    },
    /// The networks hold, or gave, a value that is infinite or not a number.
    #[error(
        "{what} is infinite or not a number after {gradient_steps} gradient steps: the training diverged; \
             try a smaller learning rate"
    )]
    Diverged {
        /// The tensor's name, or what the networks gave.
        what: String,
        /// Gradient steps taken until it was noticed.
        gradient_steps: u64,
    },
    /// Networks that only act hold, or gave, a value that is infinite or not a number.
    #[error("{what} of the networks is infinite or not a number: what they were learnt with diverged")]
    NotFinite {
        /// The tensor's name, or what they gave.
        what: String,
    },
    /// An episode does not end.
    #[error("an episode has {steps} steps and no end: wrap the environment in a TimeLimit")]
    Endless {
        /// Steps that it has.
        steps: u64,
    },
    /// There is no memory for so much.
    #[error("{what} has no room in memory: make it smaller")]
    NoMemory {
        /// What needs it.
        what: &'static str,
    },
    /// There is no room for what it takes down of itself.
    #[error("what it takes down of itself has no room in memory: give it fewer steps")]
    TooLong,
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

/// Steps of all environments in a rollout, at most: as many as a network takes rows, hundreds of megabytes.
pub(crate) const MOST_ROLLOUT_STEPS: usize = 1 << 24;

/// A list with room for everything that a training takes down of itself: nothing is allocated while it runs.
pub(crate) fn with_room<T>(expected: usize) -> Result<Vec<T>, TrainingError> {
    let mut list = Vec::new();
    list.try_reserve_exact(expected).map_err(|_| TrainingError::TooLong)?;
    Ok(list)
}

/// So many zeros, or an error where there is no memory for them.
pub(crate) fn zeros<T: Clone + Default>(len: usize, what: &'static str) -> Result<Vec<T>, TrainingError> {
    let mut list = Vec::new();
    list.try_reserve_exact(len).map_err(|_| TrainingError::NoMemory { what })?;
    list.resize(len, T::default());
    Ok(list)
}

/// An error where a number is not within its range, or no number at all.
pub(crate) fn within(
    what: &'static str,
    value: f64,
    range: impl std::ops::RangeBounds<f64>,
    expected: &'static str,
) -> Result<(), TrainingError> {
    if range.contains(&value) && value.is_finite() {
        return Ok(());
    }
    Err(TrainingError::Option { what, value, expected })
}

/// An error where an agent draws other minibatches than its network takes.
pub(crate) fn same_batch(network: usize, agent: usize) -> Result<(), TrainingError> {
    if network == agent { Ok(()) } else { Err(TrainingError::Batch { network, agent }) }
}

/// An error where a loss, or a tensor that `find` names, is not finite.
pub(crate) fn finite(
    loss: f32,
    gradient_steps: u64,
    find: impl FnOnce() -> Option<String>,
) -> Result<(), TrainingError> {
    if loss.is_finite() {
        return Ok(());
    }
    let what = find().map_or_else(|| "the loss".into(), |name| format!("tensor {name}"));
    Err(TrainingError::Diverged { what, gradient_steps })
}

/// An error where a tensor is not finite.
pub(crate) fn finite_weights(found: Option<String>, gradient_steps: u64) -> Result<(), TrainingError> {
    match found {
        Some(name) => Err(TrainingError::Diverged { what: format!("tensor {name}"), gradient_steps }),
        None => Ok(()),
    }
}

/// An error where a number is zero.
pub(crate) fn not_zero(numbers: &[(&'static str, u64)]) -> Result<(), TrainingError> {
    match numbers.iter().find(|(_, number)| *number == 0) {
        Some(&(what, _)) => Err(TrainingError::Zero { what }),
        None => Ok(()),
    }
}

/// A finished episode.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Episode {
    /// The environment step, counted from 0 over the whole training and over all environments, that ended it.
    pub step: u64,
    /// Its number of steps.
    pub length: u64,
    /// The sum of its rewards, undiscounted.
    pub total_reward: f64,
}

/// An episode under way.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Unfinished {
    length: u64,
    total_reward: f64,
}

impl Unfinished {
    /// Shows it to a checkpoint; no episode has more than `steps` steps.
    pub(crate) fn visit(&mut self, archive: &mut Archive, name: &str, steps: u64) {
        archive.number(&format!("{name}.length"), &mut self.length, steps);
        archive.numbers(&format!("{name}.return"), std::slice::from_mut(&mut self.total_reward));
    }

    /// Steps so far.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Adds a step; where the step ended it, the episode comes out and the next one begins.
    pub(crate) fn add(&mut self, step: u64, reward: f64, done: bool) -> Option<Episode> {
        self.length += 1;
        self.total_reward += reward;
        if !done {
            return None;
        }
        let Self { length, total_reward } = std::mem::take(self);
        Some(Episode { step, length, total_reward })
    }
}

/// What became of transitions whose episode was cut off, read back from the buffer: the value after them still
/// counts, and it is that of the real last observation.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TruncationTrace {
    /// How many are stored as if the task had ended.
    pub stored_as_ends: u64,
    /// The largest difference of a stored next observation and the episode's last.
    pub last_observation_error: f32,
}

impl TruncationTrace {
    pub(crate) fn visit(&mut self, archive: &mut Archive, steps: u64) {
        archive.number("truncations.stored_as_ends", &mut self.stored_as_ends, steps);
        let error = std::slice::from_mut(&mut self.last_observation_error);
        archive.numbers("truncations.last_observation_error", error);
    }

    pub(crate) fn look<A>(&mut self, stored: Option<Transition<'_, A>>, last_observation: &[f32]) {
        let Some(stored) = stored else { return };
        self.stored_as_ends += u64::from(stored.terminated);
        for (stored, real) in stored.next_observation.iter().zip(last_observation) {
            let error = (stored - real).abs();
            if error > self.last_observation_error || error.is_nan() {
                self.last_observation_error = error;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_off_transition_that_is_stored_as_an_end_or_with_another_observation_shows() {
        let stored = |terminated, next_observation| Transition {
            observation: &[0.0, 0.0],
            next_observation,
            action: &[0_u32],
            reward: 1.0,
            terminated,
            truncated: true,
        };
        let mut trace = TruncationTrace::default();
        trace.look(None::<Transition<'_, u32>>, &[1.0, 2.0]);
        trace.look(Some(stored(false, &[1.0, 2.0])), &[1.0, 2.0]);
        assert_eq!(trace, TruncationTrace::default());
        trace.look(Some(stored(true, &[1.0, 2.0])), &[1.0, 2.0]);
        // What the next episode begins with in the place of what this one ended with.
        trace.look(Some(stored(false, &[1.0, 2.0])), &[1.0, 4.5]);
        assert_eq!(trace, TruncationTrace { stored_as_ends: 1, last_observation_error: 2.5 });
        trace.look(Some(stored(false, &[f32::NAN, 2.0])), &[1.0, 2.0]);
        assert!(trace.last_observation_error.is_nan());
    }
}
