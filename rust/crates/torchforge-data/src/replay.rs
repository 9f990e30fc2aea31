//! A ring of transitions, stored as one array per field.

use rand_core::Rng;

/// What a buffer cannot do, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A capacity, batch size, observation length or action length of zero was asked for.
    #[error("{what} is 0: give at least 1")]
    Zero {
        /// The argument's name.
        what: &'static str,
    },
    /// There is no memory for the arrays, or none could address them.
    #[error("there is no memory for {rows} rows of {values} values: use less")]
    TooLarge {
        /// Rows asked for.
        rows: usize,
        /// Values in one observation or action.
        values: usize,
    },
    /// An observation or an action has another length than the buffer's.
    #[error("{what} has {found} values and the buffer holds {expected}")]
    Len {
        /// What was given.
        what: &'static str,
        /// The buffer's length.
        expected: usize,
        /// The length that was given.
        found: usize,
    },
    /// A buffer of this capacity cannot be filled like this.
    #[error("a buffer of {capacity} rows cannot hold {len} and write row {next} next")]
    Position {
        /// Rows that the buffer can hold.
        capacity: usize,
        /// Rows that it was to hold.
        len: usize,
        /// The row that was to be written next.
        next: usize,
    },
    /// A sample was asked of an empty buffer.
    #[error("the replay buffer is empty: push a transition before sampling")]
    Empty,
}

/// One step of experience, borrowed from whoever made it.
#[derive(Debug, Clone, Copy)]
pub struct Transition<'a, A> {
    /// What was seen before the action.
    pub observation: &'a [f32],
    /// What was really seen after it: at an episode's end the last observation, never the reset's.
    pub next_observation: &'a [f32],
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
pub struct Batch<A> {
    columns: Columns<A>,
}

impl<A: Copy + Default> Batch<A> {
    /// Room for `size` transitions whose observations have `observation_len` values and whose actions `action_len`.
    pub fn new(size: usize, observation_len: usize, action_len: usize) -> Result<Self, Error> {
        Ok(Self { columns: Columns::zeroed(size, "batch size", observation_len, action_len)? })
    }

    /// Number of transitions.
    pub fn size(&self) -> usize {
        self.columns.rewards.len()
    }

    /// Observations, (size, observation length), row after row.
    pub fn observations(&self) -> &[f32] {
        &self.columns.observations
    }

    /// Next observations, (size, observation length), row after row.
    pub fn next_observations(&self) -> &[f32] {
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
/// All memory is taken and touched when the buffer is made; pushing and sampling allocate nothing.
#[derive(Debug, Clone)]
pub struct ReplayBuffer<A> {
    columns: Columns<A>,
    capacity: usize,
    next: usize,
    len: usize,
}

/// All rows that a buffer holds, borrowed, one slice a field, in the order of memory: for whoever stops a run and goes on
/// with it on the same device.
#[derive(Debug)]
pub struct Rows<'a, A> {
    /// (rows, observation length).
    pub observations: &'a mut [f32],
    /// (rows, observation length).
    pub next_observations: &'a mut [f32],
    /// (rows, action length).
    pub actions: &'a mut [A],
    /// (rows).
    pub rewards: &'a mut [f32],
    /// 1 where the task ended, otherwise 0; (rows).
    pub terminations: &'a mut [f32],
    /// 1 where the episode was cut off, otherwise 0; (rows).
    pub truncations: &'a mut [f32],
}

impl<A: Copy + Default> ReplayBuffer<A> {
    /// A buffer for `capacity` transitions whose observations have `observation_len` values and whose actions
    /// `action_len`: 1 where they are discrete.
    pub fn new(capacity: usize, observation_len: usize, action_len: usize) -> Result<Self, Error> {
        let columns = Columns::zeroed(capacity, "capacity", observation_len, action_len)?;
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
    pub fn rows_mut(&mut self) -> Rows<'_, A> {
        let (len, columns) = (self.len, &mut self.columns);
        let values = len * columns.observation_len;
        Rows {
            observations: &mut columns.observations[..values],
            next_observations: &mut columns.next_observations[..values],
            actions: &mut columns.actions[..len * columns.action_len],
            rewards: &mut columns.rewards[..len],
            terminations: &mut columns.terminations[..len],
            truncations: &mut columns.truncations[..len],
        }
    }

    /// Holds `len` rows from now on, whatever is in them ([`rows_mut`](Self::rows_mut) fills them), and writes row `next`
    /// next.
    pub fn resume_at(&mut self, len: usize, next: usize) -> Result<(), Error> {
        let capacity = self.capacity;
        // The ring is written from its beginning, so it is full before it wraps.
        let whole = if len < capacity { next == len } else { len == capacity && next < capacity };
        if !whole {
            return Err(Error::Position { capacity, len, next });
        }
        (self.len, self.next) = (len, next);
        Ok(())
    }

    /// Stores a transition; when the buffer is full it replaces the oldest.
    pub fn push(&mut self, transition: Transition<'_, A>) -> Result<(), Error> {
        let (width, action_len) = (self.columns.observation_len, self.columns.action_len);
        check_len("an observation", width, transition.observation.len())?;
        check_len("a next observation", width, transition.next_observation.len())?;
        check_len("an action", action_len, transition.action.len())?;
        let row = self.next;
        let values = row * width..(row + 1) * width;
        let columns = &mut self.columns;
        columns.observations[values.clone()].copy_from_slice(transition.observation);
        columns.next_observations[values].copy_from_slice(transition.next_observation);
        columns.actions[row * action_len..][..action_len].copy_from_slice(transition.action);
        columns.rewards[row] = transition.reward;
        columns.terminations[row] = f32::from(u8::from(transition.terminated));
        columns.truncations[row] = f32::from(u8::from(transition.truncated));
        self.next = if row + 1 == self.capacity { 0 } else { row + 1 };
        self.len = self.capacity.min(self.len + 1);
        Ok(())
    }

    /// The transition that was stored last.
    pub fn newest(&self) -> Option<Transition<'_, A>> {
        if self.is_empty() {
            return None;
        }
        let row = if self.next == 0 { self.capacity - 1 } else { self.next - 1 };
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
    pub fn sample(&self, rng: &mut impl Rng, batch: &mut Batch<A>) -> Result<(), Error> {
        if self.is_empty() {
            return Err(Error::Empty);
        }
        check_len("a batch's observation", self.columns.observation_len, batch.columns.observation_len)?;
        check_len("a batch's action", self.columns.action_len, batch.columns.action_len)?;
        for row in 0..batch.size() {
            let from = index_below(rng, self.len);
            batch.columns.copy_row(row, &self.columns, from);
        }
        Ok(())
    }
}

fn check_len(what: &'static str, expected: usize, found: usize) -> Result<(), Error> {
    if found == expected { Ok(()) } else { Err(Error::Len { what, expected, found }) }
}

/// One array per field, so that a minibatch is copied from, and into, contiguous memory.
#[derive(Debug, Clone)]
struct Columns<A> {
    observation_len: usize,
    action_len: usize,
    observations: Vec<f32>,
    next_observations: Vec<f32>,
    actions: Vec<A>,
    rewards: Vec<f32>,
    terminations: Vec<f32>,
    truncations: Vec<f32>,
}

impl<A: Copy + Default> Columns<A> {
    fn zeroed(
        rows: usize,
        what: &'static str,
        observation_len: usize,
        action_len: usize,
    ) -> Result<Self, Error> {
        for (count, what) in
            [(rows, what), (observation_len, "observation length"), (action_len, "action length")]
        {
            if count == 0 {
                return Err(Error::Zero { what });
            }
        }
        let total = |values: usize| {
            rows.checked_mul(values)
                .filter(|&total| total <= isize::MAX as usize / size_of::<f32>().max(size_of::<A>()))
                .ok_or(Error::TooLarge { rows, values })
        };
        let (values, action_values) = (total(observation_len)?, total(action_len)?);
        let too_large = Error::TooLarge { rows, values: observation_len.max(action_len) };
        // All memory first: none is touched where not all of it can be had.
        let (observations, next_observations) = (room(values, too_large)?, room(values, too_large)?);
        let (actions, rewards) = (room(action_values, too_large)?, room(rows, too_large)?);
        let (terminations, truncations) = (room(rows, too_large)?, room(rows, too_large)?);
        Ok(Self {
            observation_len,
            action_len,
            observations: touched(observations, values),
            next_observations: touched(next_observations, values),
            actions: touched(actions, action_values),
            rewards: touched(rewards, rows),
            terminations: touched(terminations, rows),
            truncations: touched(truncations, rows),
        })
    }

    #[inline]
    fn copy_row(&mut self, row: usize, other: &Self, from: usize) {
        let (width, action_len) = (self.observation_len, self.action_len);
        let (into, source) = (row * width..(row + 1) * width, from * width..(from + 1) * width);
        self.observations[into.clone()].copy_from_slice(&other.observations[source.clone()]);
        self.next_observations[into].copy_from_slice(&other.next_observations[source]);
        self.actions[row * action_len..][..action_len]
            .copy_from_slice(&other.actions[from * action_len..][..action_len]);
        self.rewards[row] = other.rewards[from];
        self.terminations[row] = other.terminations[from];
        self.truncations[row] = other.truncations[from];
    }
}

/// A list with room for `len` values, or the error where there is no memory.
fn room<T>(len: usize, error: Error) -> Result<Vec<T>, Error> {
    let mut values = Vec::new();
    values.try_reserve_exact(len).map_err(|_| error)?;
    Ok(values)
}

/// The list filled with so many values, written one by one: `vec![0.0; n]` would leave the pages to be mapped by the
/// first pushes.
fn touched<T: Copy + Default>(mut values: Vec<T>, len: usize) -> Vec<T> {
    values.extend(std::iter::repeat_n(T::default(), len).map(std::hint::black_box));
    values
}

/// An unbiased index below `bound`, by multiplication and rejection (Lemire, 2019).
#[inline]
fn index_below(rng: &mut impl Rng, bound: usize) -> usize {
    let bound = bound as u64;
    let mut product = u128::from(rng.next_u64()) * u128::from(bound);
    if (product as u64) < bound {
        let threshold = bound.wrapping_neg() % bound;
        while (product as u64) < threshold {
            product = u128::from(rng.next_u64()) * u128::from(bound);
        }
    }
    (product >> 64) as usize
}
