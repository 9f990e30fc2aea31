//! Prioritised experience replay.

use rand_core::Rng;

use super::priorities::Priorities;
use super::{
    Batch, Error, NStep, NStepBatch, Observation, ROWS_AHEAD, ReplayBuffer, Rows, Transition, columns,
};
use crate::prefetch::ahead;

/// No priority is above this, because errors are `f32`: sums of priorities stay finite.
const HIGHEST_PRIORITY: f64 = 1e39;

/// How temporal-difference errors become priorities.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PriorityOptions {
    /// The exponent, 0 to 1: 0 draws uniformly, 1 in proportion to the errors. With 0 every priority is 1, so that neither
    /// sums of them are kept nor searched.
    pub alpha: f64,
    /// What is added to the size of each error, 0 to 1, so that a transition without one is drawn again. With 0 it never
    /// is.
    pub epsilon: f64,
}

impl Default for PriorityOptions {
    /// An alpha of 0.6, as Schaul et al. found best for proportional priorities, and an epsilon of 1e-6.
    fn default() -> Self {
        Self { alpha: 0.6, epsilon: 1e-6 }
    }
}

/// A stored transition's identity: the row, and which of the transitions that were ever stored there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stamp(u64);

/// Storage for a minibatch drawn by priority, made once and filled by every [`PrioritizedReplayBuffer::sample`].
#[derive(Debug, Clone)]
pub struct PrioritizedBatch<A, O = f32> {
    windows: NStepBatch<A, O>,
    weights: Vec<f32>,
    stamps: Vec<Stamp>,
    /// Where in the sum of all priorities each row was drawn, and which it is.
    targets: Vec<f64>,
    rows: Vec<usize>,
}

impl<A: Copy + Default, O: Observation> PrioritizedBatch<A, O> {
    /// Room for `size` transitions whose observations have `observation_len` values and whose actions `action_len`.
    ///
    /// # Errors
    ///
    /// Those of [`Batch::new`].
    pub fn new(size: usize, observation_len: usize, action_len: usize) -> Result<Self, Error> {
        let windows = NStepBatch::new(size, observation_len, action_len)?;
        let too_large = Error::TooLarge { rows: size, values: 1 };
        let (weights, stamps) = (columns::room(size, too_large)?, columns::room(size, too_large)?);
        let (targets, rows) = (columns::room(size, too_large)?, columns::room(size, too_large)?);
        Ok(Self {
            windows,
            weights: columns::touched(weights, size),
            stamps: columns::touched(stamps, size),
            targets: columns::touched(targets, size),
            rows: columns::touched(rows, size),
        })
    }

    /// The transitions, as [`NStepBatch::transitions`] says.
    pub fn transitions(&self) -> &Batch<A, O> {
        self.windows.transitions()
    }

    /// The discounts, as [`NStepBatch::discounts`] says, (size).
    pub fn discounts(&self) -> &[f32] {
        self.windows.discounts()
    }

    /// Importance-sampling weights in 0 to 1, by which each transition's gradient counts, (size).
    pub fn weights(&self) -> &[f32] {
        &self.weights
    }

    /// Which transitions were drawn, for [`PrioritizedReplayBuffer::update_priorities`], (size).
    pub fn stamps(&self) -> &[Stamp] {
        &self.stamps
    }
}

/// A ring of the most recent transitions, drawn in proportion to their priorities (Schaul et al., 2016, "Prioritized
/// Experience Replay", the proportional variant).
///
/// The priority of a transition is `(|error| + epsilon)^alpha`, with the temporal-difference error that its last update
/// found. A new transition gets the highest priority that any had so far, at first 1. All memory is taken and touched when
/// the buffer is made.
///
/// ```
/// use rand::{SeedableRng, rngs::StdRng};
/// use torchforge_data::{NStep, PrioritizedBatch, PrioritizedReplayBuffer, PriorityOptions, Transition};
/// let three_steps = NStep::new(3, 0.99)?;
/// let mut buffer = PrioritizedReplayBuffer::new(10_000, 2, 1, PriorityOptions::default(), three_steps)?;
/// for step in 0..100_u8 {
///     buffer.push(Transition {
///         observation: &[f32::from(step), 0.0],
///         next_observation: &[f32::from(step + 1), 0.0],
///         action: &[0_u32],
///         reward: 1.0,
///         terminated: step == 99,
///         truncated: false,
///     })?;
/// }
/// let mut batch = PrioritizedBatch::new(32, 2, 1)?;
/// buffer.sample(&mut StdRng::seed_from_u64(1), 0.4, &mut batch)?;
/// let errors = vec![0.5; 32]; // what an update found for each transition of the batch
/// let stale = buffer.update_priorities(batch.stamps(), &errors)?;
/// assert_eq!(stale, 0);
/// # Ok::<(), torchforge_data::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct PrioritizedReplayBuffer<A, O = f32> {
    ring: ReplayBuffer<A, O>,
    priorities: Priorities,
    options: PriorityOptions,
    n_step: NStep,
    /// Transitions ever stored. The number of a transition, modulo the capacity, is its row.
    stored: u64,
    highest: f64,
}

impl<A: Copy + Default, O: Observation> PrioritizedReplayBuffer<A, O> {
    /// A buffer for `capacity` transitions whose observations have `observation_len` values and whose actions
    /// `action_len`, sampled as windows of `n_step`.
    ///
    /// # Errors
    ///
    /// Those of [`ReplayBuffer::new`], and [`Error::Option`] for an alpha or epsilon outside of 0 to 1.
    pub fn new(
        capacity: usize,
        observation_len: usize,
        action_len: usize,
        options: PriorityOptions,
        n_step: NStep,
    ) -> Result<Self, Error> {
        for (value, what) in [(options.alpha, "alpha"), (options.epsilon, "epsilon")] {
            check_share(what, value)?;
        }
        let ring = ReplayBuffer::new(capacity, observation_len, action_len)?;
        let priorities = Priorities::new(capacity, options.alpha)?;
        Ok(Self { ring, priorities, options, n_step, stored: 0, highest: 1.0 })
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

    /// The transition that was stored last.
    pub fn newest(&self) -> Option<Transition<'_, A, O>> {
        self.ring.newest()
    }

    /// Stores a transition with the highest priority so far; when the buffer is full it replaces the oldest.
    ///
    /// # Errors
    ///
    /// [`Error::Len`] for an observation or action of another length.
    pub fn push(&mut self, transition: Transition<'_, A, O>) -> Result<(), Error> {
        let row = self.ring.next_row();
        self.ring.push(transition)?;
        self.priorities.set(row, self.highest);
        self.stored += 1;
        Ok(())
    }

    /// Fills `batch` with transitions drawn by priority: the sum of all priorities is divided into as many equal parts as
    /// the batch has rows, and one transition is drawn from each (Schaul et al., appendix B.2.1). With an alpha of 0 each is
    /// drawn by itself.
    ///
    /// A weight is `(N P(i))^-beta`, divided by the largest of the buffer: the smallest priority above 0, divided by the
    /// transition's, to the power of `beta`. Training usually raises `beta` to 1, which corrects the bias in full.
    ///
    /// # Errors
    ///
    /// [`Error::Empty`] before the first push, [`Error::NoPriority`] where every priority is 0, [`Error::Len`] for a batch
    /// of other lengths, [`Error::Option`] for a `beta` outside of 0 to 1.
    pub fn sample(
        &self,
        rng: &mut impl Rng,
        beta: f64,
        batch: &mut PrioritizedBatch<A, O>,
    ) -> Result<(), Error> {
        check_share("beta", beta)?;
        self.ring.check_batch(&batch.windows.transitions)?;
        if self.priorities.total(self.len()) <= 0.0 {
            return Err(Error::NoPriority);
        }
        self.priorities.draw(rng, self.len(), &mut batch.targets, &mut batch.rows);
        let PrioritizedBatch { windows, rows, stamps, .. } = batch;
        ahead::<ROWS_AHEAD, _>(
            rows.len(),
            |place| rows[place],
            |row| self.ring.columns.fetch(row),
            |place, row| {
                self.ring.copy_window(self.n_step, row, windows, place);
                stamps[place] = Stamp(self.stored - 1 - self.ring.age(row) as u64);
            },
        );
        self.priorities.weigh(&batch.rows, beta, &mut batch.weights);
        Ok(())
    }

    /// Gives the stamped transitions the priorities that follow from their new temporal-difference errors, and returns how
    /// many of them were stale: replaced since they were sampled. Their errors say nothing of what lies there now, and
    /// change nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Len`] unless there is one error a stamp; [`Error::TemporalDifference`] for an error that is no finite number.
    /// Then no priority has changed.
    pub fn update_priorities(&mut self, stamps: &[Stamp], errors: &[f32]) -> Result<usize, Error> {
        super::check_len("the list of temporal-difference errors", stamps.len(), errors.len())?;
        if let Some(position) = errors.iter().position(|error| !error.is_finite()) {
            return Err(Error::TemporalDifference { position, value: errors[position] });
        }
        let mut stale = 0;
        for (&Stamp(number), &error) in stamps.iter().zip(errors) {
            // Stamps of another buffer may lie in the future.
            if number >= self.stored || self.stored - number > self.len() as u64 {
                stale += 1;
                continue;
            }
            let priority = (f64::from(error.abs()) + self.options.epsilon).powf(self.options.alpha);
            self.highest = self.highest.max(priority);
            let row = (number % self.capacity() as u64) as usize;
            self.priorities.set(row, priority);
        }
        Ok(stale)
    }

    /// The priorities of the rows held now, in the order of memory.
    pub fn priorities(&self) -> impl ExactSizeIterator<Item = f64> {
        (0..self.len()).map(|row| self.priorities.get(row))
    }

    /// The highest priority that a transition had so far, at least 1: the next one's.
    pub fn highest_priority(&self) -> f64 {
        self.highest
    }

    /// The rows held now, without their priorities.
    pub fn rows_mut(&mut self) -> Rows<'_, A, O> {
        self.ring.rows_mut()
    }

    /// Holds as many rows as there are `priorities` from now on ([`rows_mut`](Self::rows_mut) fills them), and writes row
    /// `next` next. Stamps from before are void.
    ///
    /// # Errors
    ///
    /// [`Error::Position`] and [`Error::Priority`] where no buffer of this capacity can be filled like this;
    /// [`Error::Option`] for a highest priority outside of 1 to 1e39. Where alpha is 0 each of them must be 1. The buffer is
    /// then as it was.
    pub fn resume_at(&mut self, priorities: &[f64], next: usize, highest: f64) -> Result<(), Error> {
        let (least, most, allowed) = match self.priorities {
            Priorities::Equal => (1.0, 1.0, "1, as alpha is 0"),
            Priorities::Tree(_) => (0.0, HIGHEST_PRIORITY, "1 to 1e39"),
        };
        if !(1.0..=most).contains(&highest) {
            return Err(Error::Option { what: "highest priority", value: highest, allowed });
        }
        if let Some(row) = priorities.iter().position(|priority| !(least..=highest).contains(priority)) {
            return Err(Error::Priority { row, value: priorities[row] });
        }
        self.ring.resume_at(priorities.len(), next)?;
        for row in 0..self.capacity() {
            self.priorities.set(row, priorities.get(row).copied().unwrap_or(0.0));
        }
        self.stored = if self.len() < self.capacity() { next } else { self.capacity() + next } as u64;
        self.highest = highest;
        Ok(())
    }
}

fn check_share(what: &'static str, value: f64) -> Result<(), Error> {
    if (0.0..=1.0).contains(&value) { Ok(()) } else { Err(Error::Option { what, value, allowed: "0 to 1" }) }
}
