//! Gymnasium's `SyncVectorEnv`: several environments that take one step together.

use crate::environment::check_len;
use crate::{ActionSpace, Environment, Error};

/// When an environment whose episode ended begins the next. Gymnasium's `AutoresetMode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AutoresetMode {
    /// In the next step, which ignores its action and brings the first observation, reward 0 and no flags.
    NextStep,
    /// In the same step: the observation is already the next episode's, the last one is kept apart.
    SameStep,
    /// Never by itself: [`VectorEnv::reset_where`] does it.
    Disabled,
}

/// The caller's memory for one step of `n` environments, row `i` the one of environment `i`.
#[derive(Debug)]
pub struct StepBatch<'a> {
    /// What is seen now, (n, observation length), row after row.
    pub observations: &'a mut [f32],
    /// The rewards, (n).
    pub rewards: &'a mut [f64],
    /// Whether the task itself ended, (n).
    pub terminated: &'a mut [bool],
    /// Whether the episode was cut off, (n).
    pub truncated: &'a mut [bool],
    /// The last observations of the episodes that ended, (n, observation length). Written only with
    /// [`AutoresetMode::SameStep`] and only in the rows whose episode ended.
    pub final_observations: &'a mut [f32],
}

/// Environments of one kind, stepped one after the other. Steps allocate nothing.
///
/// ```
/// use torchforge_env::{AutoresetMode, CartPole, StepBatch, TimeLimit, VectorEnv};
///
/// let environments = (0..2).map(|_| TimeLimit::new(CartPole::new(), 500)).collect();
/// let mut environments = VectorEnv::new(environments, AutoresetMode::SameStep)?;
/// let (mut observations, mut final_observations) = ([0.0; 2 * 4], [0.0; 2 * 4]);
/// let (mut rewards, mut terminated, mut truncated) = ([0.0; 2], [false; 2], [false; 2]);
///
/// environments.reset(Some(42), &mut observations)?; // seeds 42 and 43
/// let step = &mut StepBatch {
///     observations: &mut observations,
///     rewards: &mut rewards,
///     terminated: &mut terminated,
///     truncated: &mut truncated,
///     final_observations: &mut final_observations,
/// };
/// environments.step(&[0, 1], step)?;
/// assert_eq!(step.rewards, [1.0, 1.0]);
/// # Ok::<(), torchforge_env::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct VectorEnv<E> {
    environments: Vec<E>,
    mode: AutoresetMode,
    observation_len: usize,
    /// Whose episode the last step ended, with a mode that does not reset in that step.
    ended: Vec<bool>,
}

impl<E: Environment> VectorEnv<E> {
    /// Takes at least one environment, all with observations of one length.
    ///
    /// # Errors
    ///
    /// [`Error::NoEnvironments`] for none, and [`Error::Len`] where one has longer observations or actions than another.
    pub fn new(environments: Vec<E>, mode: AutoresetMode) -> Result<Self, Error> {
        let first = environments.first().ok_or(Error::NoEnvironments)?;
        let (observation_len, width) = (first.observation_len(), first.action_space().width());
        for other in &environments {
            check_len("another environment's observation", observation_len, other.observation_len())?;
            check_len("another environment's action", width, other.action_space().width())?;
        }
        Ok(Self { ended: vec![false; environments.len()], environments, mode, observation_len })
    }

    /// Number of environments.
    #[expect(clippy::len_without_is_empty, reason = "there is always at least one")]
    pub fn len(&self) -> usize {
        self.environments.len()
    }

    /// When an environment whose episode ended begins the next.
    pub fn mode(&self) -> AutoresetMode {
        self.mode
    }

    /// Values in one environment's observation.
    pub fn observation_len(&self) -> usize {
        self.observation_len
    }

    /// The actions that each environment takes.
    pub fn action_space(&self) -> &E::ActionSpace {
        self.environments[0].action_space()
    }

    /// Begins an episode everywhere and writes the first observations, (n, observation length).
    ///
    /// Environment `i` gets the seed `seed + i`; without a seed the generators go on where they are.
    ///
    /// # Errors
    ///
    /// [`Error::Len`] for observations of another length, [`Error::SeedRange`] for seeds beyond 64 bits, and those of
    /// [`Environment::reset`].
    pub fn reset(&mut self, seed: Option<u64>, observations: &mut [f32]) -> Result<(), Error> {
        self.check_reset(seed, observations)?;
        (0..self.len()).try_for_each(|i| self.reset_one(i, seed, observations))
    }

    /// Begins an episode where `mask`, (n), is true, and writes the rows of those environments alone.
    ///
    /// Seeds are those of [`reset`](Self::reset): environment `i` gets `seed + i`.
    ///
    /// # Errors
    ///
    /// Those of [`reset`](Self::reset), and [`Error::Len`] for a mask of another length.
    pub fn reset_where(
        &mut self,
        mask: &[bool],
        seed: Option<u64>,
        observations: &mut [f32],
    ) -> Result<(), Error> {
        check_len("the mask", self.len(), mask.len())?;
        self.check_reset(seed, observations)?;
        (0..self.len()).filter(|&i| mask[i]).try_for_each(|i| self.reset_one(i, seed, observations))
    }

    /// Begins an episode where `mask`, (n), is true, or everywhere, with a seed for each environment, (n). Writes the rows
    /// of those environments alone.
    ///
    /// # Errors
    ///
    /// Those of [`reset`](Self::reset), and [`Error::Len`] for a mask or seeds of another length.
    pub fn reset_each(
        &mut self,
        seeds: &[Option<u64>],
        mask: Option<&[bool]>,
        observations: &mut [f32],
    ) -> Result<(), Error> {
        let len = self.observation_len;
        check_len("seeds", self.len(), seeds.len())?;
        check_len("the mask", self.len(), mask.map_or(self.len(), <[bool]>::len))?;
        check_len("observations", self.len() * len, observations.len())?;
        for (i, &seed) in seeds.iter().enumerate().filter(|&(i, _)| mask.is_none_or(|mask| mask[i])) {
            self.ended[i] = false;
            self.environments[i].reset(seed, row(observations, i, len))?;
        }
        Ok(())
    }

    fn check_reset(&self, seed: Option<u64>, observations: &[f32]) -> Result<(), Error> {
        check_len("observations", self.len() * self.observation_len, observations.len())?;
        let last = self.len() as u64 - 1;
        if seed.is_some_and(|seed| seed.checked_add(last).is_none()) { Err(Error::SeedRange) } else { Ok(()) }
    }

    fn reset_one(&mut self, i: usize, seed: Option<u64>, observations: &mut [f32]) -> Result<(), Error> {
        self.ended[i] = false;
        self.environments[i]
            .reset(seed.map(|seed| seed + i as u64), row(observations, i, self.observation_len))
    }

    /// Takes down the whole state: each environment's [`snapshot`](Environment::snapshot), then whose episode ended.
    /// None where the environments cannot.
    pub fn snapshot(&self) -> Option<Vec<u64>> {
        let mut snapshot = Vec::new();
        for environment in &self.environments {
            snapshot.extend(environment.snapshot()?);
        }
        snapshot.extend(self.ended.iter().map(|&ended| u64::from(ended)));
        Some(snapshot)
    }

    /// Takes up a state that [`snapshot`](Self::snapshot) took down of as many environments of the same kind. On an error
    /// all environments are as before.
    ///
    /// # Errors
    ///
    /// [`Error::Snapshot`] where they cannot be in such a state.
    pub fn restore(&mut self, snapshot: &[u64]) -> Result<(), Error> {
        let count = self.len();
        let len = snapshot.len() / count;
        if len < 2 || len * count != snapshot.len() {
            return Err(Error::Snapshot);
        }
        let (states, ended) = snapshot.split_at(snapshot.len() - count);
        let len = len - 1;
        let before: Vec<_> = self.environments.iter().map(Environment::snapshot).collect();
        for (index, state) in states.chunks(len).enumerate() {
            let Err(error) = self.environments[index].restore(state) else { continue };
            for (environment, before) in self.environments.iter_mut().zip(&before).take(index) {
                // What it took down itself a moment ago it takes up.
                before.as_deref().map_or(Ok(()), |state| environment.restore(state))?;
            }
            return Err(error);
        }
        for (ended, &word) in self.ended.iter_mut().zip(ended) {
            *ended = word != 0;
        }
        Ok(())
    }

    /// Takes one step in every environment; `actions` holds theirs one after the other.
    ///
    /// Lengths are checked first. An error of a single environment leaves those before it one step further.
    ///
    /// # Errors
    ///
    /// [`Error::Len`] for slices of other lengths, [`Error::Ended`] where an episode is over and nothing begins the next, and
    /// those of [`Environment::step`] and [`Environment::reset`].
    pub fn step(
        &mut self,
        actions: &[<E::ActionSpace as ActionSpace>::Value],
        batch: &mut StepBatch<'_>,
    ) -> Result<(), Error> {
        let (n, len) = (self.len(), self.observation_len);
        check_len("actions", n * self.action_space().width(), actions.len())?;
        check_len("observations", n * len, batch.observations.len())?;
        check_len("rewards", n, batch.rewards.len())?;
        check_len("terminated", n, batch.terminated.len())?;
        check_len("truncated", n, batch.truncated.len())?;
        check_len("final observations", n * len, batch.final_observations.len())?;
        if self.mode == AutoresetMode::Disabled
            && let Some(index) = self.ended.iter().position(|&ended| ended)
        {
            return Err(Error::Ended { index });
        }
        for (i, environment) in self.environments.iter_mut().enumerate() {
            let observation = row(batch.observations, i, len);
            if self.ended[i] {
                environment.reset(None, observation)?;
                self.ended[i] = false;
                (batch.rewards[i], batch.terminated[i], batch.truncated[i]) = (0.0, false, false);
                continue;
            }
            let action = environment.action_space().action(actions, i);
            let step = environment.step(action, observation)?;
            (batch.rewards[i], batch.terminated[i], batch.truncated[i]) =
                (step.reward, step.terminated, step.truncated);
            if step.done() && self.mode == AutoresetMode::SameStep {
                row(batch.final_observations, i, len).copy_from_slice(observation);
                environment.reset(None, observation)?;
            } else {
                self.ended[i] = step.done();
            }
        }
        Ok(())
    }
}

#[inline]
fn row(values: &mut [f32], row: usize, len: usize) -> &mut [f32] {
    &mut values[row * len..(row + 1) * len]
}
