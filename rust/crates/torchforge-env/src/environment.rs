//! What every environment offers.

use crate::ActionSpace;

/// What an environment cannot do, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The first reset came without a seed.
    #[error("the environment has no random state yet: give its first reset a seed")]
    Unseeded,
    /// A step was asked for outside an episode.
    #[error("no episode is under way: call reset before step")]
    NoEpisode,
    /// Episodes may have no step.
    #[error("episodes are limited to 0 steps: give TimeLimit at least 1")]
    NoSteps,
    /// A parameter of an environment has a value with which there is no such world.
    #[error("{what} must be {expected}: give another value")]
    Parameter {
        /// The parameter's name.
        what: &'static str,
        /// What it must be.
        expected: &'static str,
    },
    /// The action does not exist.
    #[error("action {action} does not exist: this environment has actions 0 to {}", count - 1)]
    Action {
        /// The action that was given.
        action: u32,
        /// How many actions there are.
        count: u32,
    },
    /// A slice has another length than needed.
    #[error("{what}: {found} values were given and {expected} are needed")]
    Len {
        /// What the slice holds.
        what: &'static str,
        /// Values needed.
        expected: usize,
        /// Values given.
        found: usize,
    },
    /// No environment was given where at least one is needed.
    #[error("there is no environment to step: give at least one")]
    NoEnvironments,
    /// An episode ended and nothing may begin the next by itself.
    #[error("the episode of environment {index} has ended: begin its next one with reset_where before step")]
    Ended {
        /// The first such environment.
        index: usize,
    },
    /// An environment outside of Rust failed; it keeps what it raised.
    #[error("the environment failed outside of Rust: see what it raised")]
    Outside,
    /// A state was given that no environment of this kind can be in.
    #[error("this is no state of this environment: give one that an environment of the same kind took down")]
    Snapshot,
    /// A seed plus an environment's number is beyond 64 bits.
    #[error("the seeds of the last environments are beyond 64 bits: give a smaller seed")]
    SeedRange,
}

/// An error that names `what`, where a slice has not the length needed.
#[inline]
pub(crate) fn check_len(what: &'static str, expected: usize, found: usize) -> Result<(), Error> {
    if found == expected { Ok(()) } else { Err(Error::Len { what, expected, found }) }
}

/// An error where one of these parameters is not finite.
pub(crate) fn check_finite<const N: usize>(parameters: [(&'static str, f64); N]) -> Result<(), Error> {
    match parameters.iter().find(|(_, value)| !value.is_finite()) {
        Some(&(what, _)) => Err(Error::Parameter { what, expected: "a finite number" }),
        None => Ok(()),
    }
}

/// An error where one of these parameters is not positive, or not finite.
pub(crate) fn check_positive<const N: usize>(parameters: [(&'static str, f64); N]) -> Result<(), Error> {
    match parameters.iter().find(|(_, value)| !(value.is_finite() && *value > 0.0)) {
        Some(&(what, _)) => Err(Error::Parameter { what, expected: "a positive number" }),
        None => Ok(()),
    }
}

/// What a step brought, the observation apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// The reward, as Gymnasium computes it.
    pub reward: f64,
    /// The task itself ended: there is nothing to gain after this step.
    pub terminated: bool,
    /// The episode was cut off: the task would have gone on.
    pub truncated: bool,
}

impl Step {
    /// Whether the episode is over, for either reason.
    pub fn done(self) -> bool {
        self.terminated || self.truncated
    }
}

/// A task with a flat `f32` observation, written into the caller's memory.
pub trait Environment {
    /// One action: `u32` where they are [`Discrete`](crate::Discrete), `[f32]` where they are
    /// [`Continuous`](crate::Continuous).
    type Action: ?Sized;

    /// What describes the actions.
    type ActionSpace: ActionSpace<Action = Self::Action>;

    /// Values in one observation.
    fn observation_len(&self) -> usize;

    /// The actions that a step takes.
    fn action_space(&self) -> &Self::ActionSpace;

    /// Begins an episode and writes its first observation.
    ///
    /// A seed starts the environment's generator anew; without one the generator goes on where it is.
    ///
    /// # Errors
    ///
    /// [`Error::Unseeded`] where the first reset has no seed, [`Error::Len`] for an observation of another length, and what the
    /// environment itself refuses.
    fn reset(&mut self, seed: Option<u64>, observation: &mut [f32]) -> Result<(), Error>;

    /// Takes `action` and writes the observation that follows. After an episode's last step comes a reset.
    ///
    /// # Errors
    ///
    /// [`Error::NoEpisode`] outside an episode, [`Error::Action`] where there is no such action, and [`Error::Len`].
    fn step(&mut self, action: &Self::Action, observation: &mut [f32]) -> Result<Step, Error>;

    /// Takes down the whole state, as words: all that decides, besides the actions, what follows. None where an
    /// environment cannot. Parameters are no state: the state belongs into an environment with the same ones.
    fn snapshot(&self) -> Option<Vec<u64>> {
        None
    }

    /// Takes up a state that [`snapshot`](Self::snapshot) took down of an environment of the same kind, in this
    /// process or in another. On an error the environment is as before.
    ///
    /// # Errors
    ///
    /// [`Error::Snapshot`] where no environment of this kind can be in such a state.
    fn restore(&mut self, _snapshot: &[u64]) -> Result<(), Error> {
        Err(Error::Snapshot)
    }
}

impl<E: Environment + ?Sized> Environment for Box<E> {
    type Action = E::Action;
    type ActionSpace = E::ActionSpace;

    fn observation_len(&self) -> usize {
        (**self).observation_len()
    }

    fn action_space(&self) -> &E::ActionSpace {
        (**self).action_space()
    }

    fn reset(&mut self, seed: Option<u64>, observation: &mut [f32]) -> Result<(), Error> {
        (**self).reset(seed, observation)
    }

    fn step(&mut self, action: &E::Action, observation: &mut [f32]) -> Result<Step, Error> {
        (**self).step(action, observation)
    }

    fn snapshot(&self) -> Option<Vec<u64>> {
        (**self).snapshot()
    }

    fn restore(&mut self, snapshot: &[u64]) -> Result<(), Error> {
        (**self).restore(snapshot)
    }
}
