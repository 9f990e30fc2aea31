//! Returns over several steps, computed when a batch is sampled.

use rand_core::Rng;

use super::draw::index_below;
use super::{Batch, Error, Observation, ROWS_AHEAD, ReplayBuffer, columns};
use crate::prefetch::ahead;

/// How many steps of reward a sampled transition spans: an n-step return (Sutton, 1988; Sutton and Barto, 2018, section 7.1).
///
/// A window begins at the sampled step `t`. It ends after `n` steps, with the episode, or with the newest step, whichever
/// comes first. Over its `m <= n` steps the batch holds
///
/// * the reward `r[t] + gamma r[t+1] + ... + gamma^(m-1) r[t+m-1]`,
/// * the next observation and the flags of step `t+m-1`,
/// * the discount `gamma^m`, by which the value of the next observation counts unless the step terminated.
///
/// So no step has to wait for its successors, and a window that is cut short is an m-step return.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NStep {
    steps: usize,
    gamma: f64,
    environments: usize,
}

impl NStep {
    /// Windows of `steps` steps that discount each step by `gamma`.
    ///
    /// # Errors
    ///
    /// [`Error::Zero`] without a step, [`Error::Option`] for a `gamma` outside of 0 to 1.
    pub fn new(steps: usize, gamma: f64) -> Result<Self, Error> {
        if steps == 0 {
            return Err(Error::Zero { what: "steps" });
        }
        if !(0.0..=1.0).contains(&gamma) {
            return Err(Error::Option { what: "gamma", value: gamma, allowed: "0 to 1" });
        }
        Ok(Self { steps, gamma, environments: 1 })
    }

    /// The buffer is filled by so many environments in turn, one transition each: the next step of a transition then lies
    /// so many rows later.
    ///
    /// # Errors
    ///
    /// [`Error::Zero`] without an environment.
    pub fn interleaved(self, environments: usize) -> Result<Self, Error> {
        if environments == 0 {
            return Err(Error::Zero { what: "environments" });
        }
        Ok(Self { environments, ..self })
    }

    /// Steps of a whole window.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// The discount of one step.
    pub fn gamma(&self) -> f64 {
        self.gamma
    }
}

/// Storage for a minibatch of [n-step](NStep) transitions, made once and filled by every sampling.
#[derive(Debug, Clone)]
pub struct NStepBatch<A, O = f32> {
    pub(super) transitions: Batch<A, O>,
    pub(super) discounts: Vec<f32>,
}

impl<A: Copy + Default, O: Observation> NStepBatch<A, O> {
    /// Room for `size` transitions whose observations have `observation_len` values and whose actions `action_len`.
    ///
    /// # Errors
    ///
    /// Those of [`Batch::new`].
    pub fn new(size: usize, observation_len: usize, action_len: usize) -> Result<Self, Error> {
        let transitions = Batch::new(size, observation_len, action_len)?;
        let room = columns::room(size, Error::TooLarge { rows: size, values: 1 })?;
        Ok(Self { transitions, discounts: columns::touched(room, size) })
    }

    /// The windows as transitions: rewards are returns, next observations and flags are those of the windows' last steps.
    pub fn transitions(&self) -> &Batch<A, O> {
        &self.transitions
    }

    /// The discount of each window's end, gamma to the power of its steps, (size).
    pub fn discounts(&self) -> &[f32] {
        &self.discounts
    }
}

impl<A: Copy + Default, O: Observation> ReplayBuffer<A, O> {
    /// Fills `batch` with windows whose first steps are drawn uniformly with replacement.
    ///
    /// # Errors
    ///
    /// [`Error::Empty`] before the first push, [`Error::Len`] for a batch of other lengths.
    pub fn sample_n_step(
        &self,
        rng: &mut impl Rng,
        n_step: NStep,
        batch: &mut NStepBatch<A, O>,
    ) -> Result<(), Error> {
        self.check_batch(&batch.transitions)?;
        ahead::<ROWS_AHEAD, _>(
            batch.transitions.size(),
            |_| index_below(rng, self.len),
            |from| self.columns.fetch(from),
            |row, from| self.copy_window(n_step, from, batch, row),
        );
        Ok(())
    }

    /// Copies the window that begins in row `from` into row `row` of a batch.
    #[inline]
    pub(super) fn copy_window(&self, n_step: NStep, from: usize, batch: &mut NStepBatch<A, O>, row: usize) {
        let columns = &self.columns;
        // How many transitions came after the last of the window: the ring may end before the window does.
        let mut newer = self.age(from);
        let (mut last, mut sum, mut discount) = (from, 0.0, 1.0);
        for step in 1.. {
            sum += discount * f64::from(columns.rewards[last]);
            discount *= n_step.gamma;
            let ended = columns.terminations[last] > 0.0 || columns.truncations[last] > 0.0;
            if ended || step == n_step.steps || newer < n_step.environments {
                break;
            }
            newer -= n_step.environments;
            last += n_step.environments;
            if last >= self.capacity {
                last -= self.capacity;
            }
        }
        batch.transitions.columns.copy_span(row, columns, from, last, sum as f32);
        batch.discounts[row] = discount as f32;
    }
}
