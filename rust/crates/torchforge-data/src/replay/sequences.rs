//! Sequences of consecutive steps, for agents with a memory.

use std::collections::VecDeque;

use rand_core::Rng;

use super::draw::index_below;
use super::{Batch, Error, Observation, ROWS_AHEAD, ReplayBuffer, Rows, Transition};
use crate::prefetch::ahead;

/// A ring of the most recent transitions of one environment, sampled as sequences of consecutive steps of one episode.
///
/// The first steps of all whole sequences stand in a queue. A push adds at most one at its end and removes at most one at
/// its beginning, so neither pushing nor sampling ever searches the ring, however full it is.
#[derive(Debug, Clone)]
pub struct SequenceReplayBuffer<A, O = f32> {
    ring: ReplayBuffer<A, O>,
    length: usize,
    /// Transitions ever stored. The number of a transition, modulo the capacity, is its row.
    stored: u64,
    /// Numbers of the transitions that a whole sequence begins with, oldest first.
    starts: VecDeque<u64>,
    /// Steps of the episode under way.
    episode: usize,
}

impl<A: Copy + Default, O: Observation> SequenceReplayBuffer<A, O> {
    /// A buffer for `capacity` transitions whose observations have `observation_len` values and whose actions
    /// `action_len`, sampled as sequences of `length` steps.
    ///
    /// # Errors
    ///
    /// Those of [`ReplayBuffer::new`]; [`Error::Zero`] and [`Error::TooLong`] for a length of 0 or above the capacity.
    pub fn new(
        capacity: usize,
        observation_len: usize,
        action_len: usize,
        length: usize,
    ) -> Result<Self, Error> {
        let ring = ReplayBuffer::new(capacity, observation_len, action_len)?;
        if length == 0 {
            return Err(Error::Zero { what: "sequence length" });
        }
        if length > capacity {
            return Err(Error::TooLong { capacity, length });
        }
        let mut starts = VecDeque::new();
        starts.try_reserve_exact(capacity).map_err(|_| Error::TooLarge { rows: capacity, values: 1 })?;
        // Touched now, so that no push has to map a page.
        starts.extend(std::iter::repeat_n(0, capacity).map(std::hint::black_box));
        starts.clear();
        Ok(Self { ring, length, stored: 0, starts, episode: 0 })
    }

    /// Transitions held now.
    pub fn len(&self) -> usize {
        self.ring.len()
    }

    /// Whether nothing was pushed yet.
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// Transitions held at most.
    pub fn capacity(&self) -> usize {
        self.ring.capacity()
    }

    /// The row that the next transition goes into.
    pub fn next_row(&self) -> usize {
        self.ring.next_row()
    }

    /// Whole sequences that can be drawn now.
    pub fn sequences(&self) -> usize {
        self.starts.len()
    }

    /// Stores the next step of the environment; when the buffer is full it replaces the oldest.
    ///
    /// # Errors
    ///
    /// [`Error::Len`] for an observation or action of another length.
    pub fn push(&mut self, transition: Transition<'_, A, O>) -> Result<(), Error> {
        self.ring.push(transition)?;
        self.note(transition.terminated || transition.truncated);
        Ok(())
    }

    /// Fills `batch` with sequences drawn uniformly with replacement: its rows are (sequences, length), each sequence's steps
    /// one after another. Only the last step of a sequence can end an episode.
    ///
    /// # Errors
    ///
    /// [`Error::Sequences`] unless the batch's size is a multiple of the length, [`Error::Len`] for a batch of other lengths,
    /// [`Error::Empty`] and [`Error::NoSequence`] before there is a whole sequence.
    pub fn sample(&self, rng: &mut impl Rng, batch: &mut Batch<A, O>) -> Result<(), Error> {
        self.ring.check_batch(batch)?;
        self.sample_into(rng, batch.columns.rows(batch.size()))
    }

    /// Fills arrays of the caller's own with as many transitions as there are rewards, drawn as
    /// [`sample`](Self::sample) draws them.
    ///
    /// # Errors
    ///
    /// As of [`sample`](Self::sample); [`Error::Len`] for a field of another length.
    pub fn sample_into(&self, rng: &mut impl Rng, mut into: Rows<'_, A, O>) -> Result<(), Error> {
        let (columns, length, capacity) = (&self.ring.columns, self.length, self.capacity());
        let size = into.rewards.len();
        if self.is_empty() {
            return Err(Error::Empty);
        }
        into.check(columns.observation_len, columns.action_len)?;
        if !size.is_multiple_of(length) {
            return Err(Error::Sequences { size, length });
        }
        if self.starts.is_empty() {
            return Err(Error::NoSequence { length });
        }
        ahead::<ROWS_AHEAD, _>(
            size / length,
            |_| (self.starts[index_below(rng, self.starts.len())] % capacity as u64) as usize,
            |from| columns.fetch(from),
            |sequence, from| {
                // The steps lie in consecutive rows. A sequence may go on at the ring's beginning.
                let (at, before_end) = (sequence * length, length.min(capacity - from));
                columns.copy_rows(&mut into, at, from, before_end);
                if before_end < length {
                    columns.copy_rows(&mut into, at + before_end, 0, length - before_end);
                }
            },
        );
        Ok(())
    }

    /// Steps of a sequence.
    pub fn length(&self) -> usize {
        self.length
    }

    /// The rows held now.
    pub fn rows_mut(&mut self) -> Rows<'_, A, O> {
        self.ring.rows_mut()
    }

    /// Holds the first `len` rows of `fill` from now on, and writes row `next` next. `fill` is lent all `len` rows, and
    /// episodes end where its flags say so.
    ///
    /// # Errors
    ///
    /// [`Error::Position`] where no buffer of this capacity can be filled like this. The buffer is then as it was.
    pub fn resume_at(
        &mut self,
        len: usize,
        next: usize,
        fill: impl FnOnce(Rows<'_, A, O>),
    ) -> Result<(), Error> {
        self.ring.resume_at(len, next)?;
        fill(self.ring.rows_mut());
        self.starts.clear();
        self.episode = 0;
        let oldest = if len < self.capacity() { 0 } else { next };
        self.stored = oldest as u64;
        for age in 0..len {
            let row = (oldest + age) % self.capacity();
            let columns = &self.ring.columns;
            self.note(columns.terminations[row] > 0.0 || columns.truncations[row] > 0.0);
        }
        Ok(())
    }

    /// Takes down that a transition was stored, which replaced the oldest one and may have made a sequence whole.
    fn note(&mut self, ended: bool) {
        let number = self.stored;
        self.stored += 1;
        self.episode += 1;
        let replaced = number.checked_sub(self.capacity() as u64);
        if replaced.is_some() && self.starts.front().copied() == replaced {
            self.starts.pop_front();
        }
        if self.episode >= self.length {
            self.starts.push_back(number + 1 - self.length as u64);
        }
        if ended {
            self.episode = 0;
        }
    }
}
