//! What every environment offers.

/// What an environment cannot do, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The first reset came without a seed.
    #[error("the environment has no random state yet: give its first reset a seed")]
    Unseeded,
    /// A step was asked for outside an episode.
    #[error("no episode is under way: call reset before step")]
    NoEpisode,
    /// The action does not exist.
    #[error("action {action} does not exist: this environment has actions 0 to {}", count - 1)]
    Action {
        /// The action that was given.
        action: u32,
        /// How many actions there are.
        count: u32,
    },
    /// The caller's room for the observation has another length.
    #[error("an observation has {expected} values and there is room for {found}")]
    ObservationLen {
        /// Values in an observation.
        expected: usize,
        /// The room given.
        found: usize,
    },
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

/// A task with discrete actions and a flat `f32` observation, written into the caller's memory.
pub trait Environment {
    /// Values in one observation.
    fn observation_len(&self) -> usize;

    /// Number of actions; they are 0, 1, ...
    fn action_count(&self) -> u32;

    /// Begins an episode and writes its first observation.
    ///
    /// A seed starts the environment's generator anew; without one the generator goes on where it is.
    fn reset(&mut self, seed: Option<u64>, observation: &mut [f32]) -> Result<(), Error>;

    /// Takes `action` and writes the observation that follows. After an episode's last step comes a reset.
    fn step(&mut self, action: u32, observation: &mut [f32]) -> Result<Step, Error>;
}
