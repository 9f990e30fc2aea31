//! A ring of transitions, stored as one array per field.

mod columns;
mod copy;
#[cfg(feature = "dataset")]
mod disk;
mod draw;
mod error;
#[cfg(all(feature = "huge-pages", target_os = "linux"))]
mod huge_pages;
mod n_step;
mod priorities;
mod prioritized;
mod rows;
mod sequences;
mod sum_tree;

use rand_core::Rng;

use crate::prefetch;
use columns::Columns;
use copy::copy;
#[cfg(feature = "dataset")]
pub use disk::DiskReplayBuffer;
use draw::index_below;
pub use error::Error;
pub use n_step::{NStep, NStepBatch};
pub use prioritized::{PrioritizedBatch, PrioritizedReplayBuffer, PriorityOptions, Stamp};
pub use rows::Rows;
pub use sequences::SequenceReplayBuffer;

/// How many transitions a draw fetches ahead.
const ROWS_AHEAD: usize = 16;

/// A type of an observation's values: `f32`, or `u8` for frames.
///
/// With `f64` among them, a ring that nothing but numbers such as `0.5` decides would be one of `f64`.
pub trait Observation: Copy + Default + sealed::Sealed {}

impl Observation for f32 {}
impl Observation for u8 {}

mod sealed {
    pub trait Sealed {}

    impl Sealed for f32 {}
    impl Sealed for u8 {}
}

/// One step of experience, borrowed.
///
/// `A` is the type of an action's values and `O` that of an observation's: `u8` for frames.
#[derive(Debug, Clone, Copy)]
pub struct Transition<'a, A, O = f32> {
    /// What was seen before the action.
    pub observation: &'a [O],
    /// What was really seen after it: at an episode's end the last observation, never the reset's.
    pub next_observation: &'a [O],
    /// The action taken: one number where actions are discrete, one value a dimension where they are continuous.
    pub action: &'a [A],
    /// The reward received.
    pub reward: f32,
    /// The task itself ended, so nothing is to be gained after this step.
    pub terminated: bool,
    /// The episode was cut off, though the task would have gone on.
    pub truncated: bool,
}

/// Storage for a sampled minibatch, made once and filled by every [`ReplayBuffer::sample`].
///
/// Row `i` of every field belongs to the same transition. Flags are `f32` zeros and ones, ready to
/// multiply with.
#[derive(Debug, Clone)]
pub struct Batch<A, O = f32> {
    columns: Columns<A, O>,
}

impl<A: Copy + Default, O: Observation> Batch<A, O> {
    /// Room for `size` transitions whose observations have `observation_len` values and whose actions `action_len`.
    ///
    /// # Errors
    ///
    /// [`Error::Zero`] where a length is 0, and [`Error::TooLarge`] where no memory holds so much.
    pub fn new(size: usize, observation_len: usize, action_len: usize) -> Result<Self, Error> {
        Ok(Self { columns: Columns::zeroed(size, "batch size", observation_len, action_len)? })
    }

    /// Number of transitions.
    pub fn size(&self) -> usize {
        self.columns.rewards.len()
    }

    /// Observations, (size, observation length), row after row.
    pub fn observations(&self) -> &[O] {
        &self.columns.observations
    }

    /// Next observations, (size, observation length), row after row.
    pub fn next_observations(&self) -> &[O] {
        &self.columns.next_observations
    }

    /// Actions, (size, action length), row after row.
    pub fn actions(&self) -> &[A] {
        &self.columns.actions
    }

    /// Rewards, (size).
    pub fn rewards(&self) -> &[f32] {
        &self.columns.rewards
    }

    /// 1 where the task ended with this step, otherwise 0, (size).
    pub fn terminations(&self) -> &[f32] {
        &self.columns.terminations
    }

    /// 1 where the episode was cut off at this step, otherwise 0, (size).
    pub fn truncations(&self) -> &[f32] {
        &self.columns.truncations
    }
}

/// A ring of the most recent transitions, sampled uniformly with replacement.
///
/// All memory is taken when the buffer is made; pushing and sampling allocate nothing. [`new`](Self::new) touches all of it
/// too, and [`for_pushes`](Self::for_pushes) what so many transitions fill.
///
/// `A` is the type of an action's values and `O` that of an observation's. Frames of bytes take a quarter of the memory:
///
/// ```
/// use torchforge_data::{ReplayBuffer, Transition};
/// let frame = [0_u8; 84 * 84];
/// let mut buffer = ReplayBuffer::<u32, u8>::new(100, frame.len(), 1)?;
/// buffer.push(Transition {
///     observation: &frame,
///     next_observation: &frame,
///     action: &[3],
///     reward: 1.0,
///     terminated: false,
///     truncated: false,
/// })?;
/// # Ok::<(), torchforge_data::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ReplayBuffer<A, O = f32> {
    columns: Columns<A, O>,
    capacity: usize,
    next: usize,
    len: usize,
}

impl<A: Copy + Default, O: Observation> ReplayBuffer<A, O> {
    /// A buffer for `capacity` transitions whose observations have `observation_len` values and whose actions
    /// `action_len`: 1 where they are discrete.
    ///
    /// # Errors
    ///
    /// [`Error::Zero`] where a length is 0, and [`Error::TooLarge`] where no memory holds so much.
    pub fn new(capacity: usize, observation_len: usize, action_len: usize) -> Result<Self, Error> {
        Self::for_pushes(capacity, capacity, observation_len, action_len)
    }

    /// The same buffer for a short training, which pushes fewer transitions than `capacity`: memory for more than `pushes`
    /// is not touched before it is written. A clone takes that memory only then.
    ///
    /// # Errors
    ///
    /// As of [`new`](Self::new).
    pub fn for_pushes(
        capacity: usize,
        pushes: usize,
        observation_len: usize,
        action_len: usize,
    ) -> Result<Self, Error> {
        let mut columns = Columns::with_room(capacity, "capacity", observation_len, action_len)?;
        columns.touch(pushes.min(capacity));
        Ok(Self { columns, capacity, next: 0, len: 0 })
    }

    /// Transitions held now.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing was pushed yet.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Transitions held at most.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// The row that the next transition goes into.
    pub fn next_row(&self) -> usize {
        self.next
    }

    /// The rows held now.
    pub fn rows_mut(&mut self) -> Rows<'_, A, O> {
        self.columns.rows(self.len)
    }

    /// Holds `len` rows from now on, whatever is in them ([`rows_mut`](Self::rows_mut) fills them), and writes row `next`
    /// next.
    ///
    /// # Errors
    ///
    /// [`Error::Position`] where a ring of this capacity cannot be in that state.
    pub fn resume_at(&mut self, len: usize, next: usize) -> Result<(), Error> {
        let capacity = self.capacity;
        // The ring is written from its beginning, so it is full before it wraps.
        let whole = if len < capacity { next == len } else { len == capacity && next < capacity };
        if !whole {
            return Err(Error::Position { capacity, len, next });
        }
        (self.len, self.next) = (len, next);
        self.columns.touch(len);
        Ok(())
    }

    /// Stores a transition; when the buffer is full it replaces the oldest.
    ///
    /// # Errors
    ///
    /// [`Error::Len`] where an observation or the action has another length than the buffer's.
    pub fn push(&mut self, transition: Transition<'_, A, O>) -> Result<(), Error> {
        let (width, action_len) = (self.columns.observation_len, self.columns.action_len);
        check_len("an observation", width, transition.observation.len())?;
        check_len("a next observation", width, transition.next_observation.len())?;
        check_len("an action", action_len, transition.action.len())?;
        let row = self.next;
        let values = row * width..(row + 1) * width;
        let columns = &mut self.columns;
        columns.touch(row + 1);
        copy(&mut columns.observations[values.clone()], transition.observation);
        copy(&mut columns.next_observations[values], transition.next_observation);
        copy(&mut columns.actions[row * action_len..][..action_len], transition.action);
        columns.rewards[row] = transition.reward;
        columns.terminations[row] = f32::from(u8::from(transition.terminated));
        columns.truncations[row] = f32::from(u8::from(transition.truncated));
        self.next = if row + 1 == self.capacity { 0 } else { row + 1 };
        self.len = self.capacity.min(self.len + 1);
        Ok(())
    }

    /// The transition that was stored last.
    pub fn newest(&self) -> Option<Transition<'_, A, O>> {
        self.row(if self.next == 0 { self.capacity - 1 } else { self.next - 1 })
    }

    /// The transition in a row of memory; none where the row holds none.
    pub fn row(&self, row: usize) -> Option<Transition<'_, A, O>> {
        if row >= self.len {
            return None;
        }
        let columns = &self.columns;
        let (width, action_len) = (columns.observation_len, columns.action_len);
        Some(Transition {
            observation: &columns.observations[row * width..][..width],
            next_observation: &columns.next_observations[row * width..][..width],
            action: &columns.actions[row * action_len..][..action_len],
            reward: columns.rewards[row],
            terminated: columns.terminations[row] > 0.0,
            truncated: columns.truncations[row] > 0.0,
        })
    }

    /// Fills `batch` with transitions drawn uniformly with replacement.
    ///
    /// # Errors
    ///
    /// [`Error::Empty`] where nothing was pushed yet, and [`Error::Len`] where the batch has other lengths than the buffer.
    pub fn sample(&self, rng: &mut impl Rng, batch: &mut Batch<A, O>) -> Result<(), Error> {
        self.check_batch(batch)?;
        self.sample_into(rng, batch.columns.rows(batch.size()))
    }

    /// Fills arrays of the caller's own with as many transitions as there are rewards, drawn as
    /// [`sample`](Self::sample) draws them.
    ///
    /// # Errors
    ///
    /// [`Error::Empty`] where nothing was pushed yet, and [`Error::Len`] for a field of another length.
    pub fn sample_into(&self, rng: &mut impl Rng, into: Rows<'_, A, O>) -> Result<(), Error> {
        let columns = &self.columns;
        if self.is_empty() {
            return Err(Error::Empty);
        }
        into.check(columns.observation_len, columns.action_len)?;
        let mut rows = into.each(columns.observation_len, columns.action_len);
        prefetch::ahead::<ROWS_AHEAD, _>(
            rows.len(),
            |_| index_below(rng, self.len),
            |from| columns.fetch(from),
            |_, from| {
                if let Some(row) = rows.next() {
                    columns.copy_to(row, from);
                }
            },
        );
        Ok(())
    }

    /// Transitions that were stored after the one in `row`.
    #[inline]
    fn age(&self, row: usize) -> usize {
        let age = self.next + self.capacity - 1 - row;
        if age < self.capacity { age } else { age - self.capacity }
    }

    /// Whether a batch can be filled from this buffer.
    fn check_batch(&self, batch: &Batch<A, O>) -> Result<(), Error> {
        if self.is_empty() {
            return Err(Error::Empty);
        }
        check_len("a batch's observation", self.columns.observation_len, batch.columns.observation_len)?;
        check_len("a batch's action", self.columns.action_len, batch.columns.action_len)
    }
}

fn check_len(what: &'static str, expected: usize, found: usize) -> Result<(), Error> {
    if found == expected { Ok(()) } else { Err(Error::Len { what, expected, found }) }
}
