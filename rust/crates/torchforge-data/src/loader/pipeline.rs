//! Workers, what they have made, and who waits for it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::order::Order;
use super::pool::Pool;
use super::{LoaderConfig, RowBatch, Run};
use crate::{Dataset, DatasetError};

/// Bytes after which the next page of memory begins, at least.
const PAGE: usize = 4096;

/// What workers and consumer share.
pub struct Pipeline<D> {
    dataset: Arc<D>,
    pool: Arc<Pool>,
    config: LoaderConfig,
    /// Batches that are made before they are asked for.
    ahead: usize,
    state: Mutex<State<D>>,
    /// Somebody took a batch, began an epoch, or stopped.
    room: Condvar,
    /// A batch was made.
    made: Condvar,
}

struct State<D> {
    /// Iterations begun; what was made for an earlier one is thrown away.
    round: u64,
    /// The order under way; none before the first and between two.
    order: Option<Order>,
    epoch: u64,
    /// The batch that no worker has begun yet.
    next: usize,
    /// Batches that the consumer took.
    taken: usize,
    /// Runs that were given, and the last one where nothing else was given since.
    runs: u64,
    lent: Option<Lent>,
    /// The batch `i` that was made and not taken lies in place `i` modulo their number.
    made: Vec<Option<Result<RowBatch<D>, DatasetError>>>,
    /// The next iteration goes on in this epoch, and does not begin another.
    resumed: bool,
    stopped: bool,
}

/// A run of batches that were given at once: its number, and its batches of the epoch.
#[derive(Clone, Copy)]
struct Lent {
    number: u64,
    begin: usize,
    batches: usize,
}

impl<D> Pipeline<D> {
    /// Ends the workers as soon as each has finished its batch.
    pub fn stop(&self) {
        self.lock().stopped = true;
        self.room.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<D>> {
        // Nothing panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<D: Dataset> Pipeline<D> {
    pub fn new(dataset: D, pool: Pool, config: LoaderConfig) -> Self {
        // An epoch has no more batches.
        let ahead = config.prefetch.min(dataset.len().div_ceil(config.batch_size).max(1));
        let made = (0..ahead).map(|_| None).collect();
        let state = State {
            round: 0,
            order: None,
            epoch: 0,
            next: 0,
            taken: 0,
            runs: 0,
            lent: None,
            made,
            resumed: true,
            stopped: false,
        };
        Self {
            dataset: Arc::new(dataset),
            pool: Arc::new(pool),
            config,
            ahead,
            state: Mutex::new(state),
            room: Condvar::new(),
            made: Condvar::new(),
        }
    }

    pub fn dataset(&self) -> &D {
        &self.dataset
    }

    pub fn config(&self) -> &LoaderConfig {
        &self.config
    }

    /// The epoch and number of the next batch.
    pub fn position(&self) -> (u64, usize) {
        let state = self.lock();
        state.position(state.taken)
    }

    /// The same where only so many batches of the run of this number were handed on, and none of a later run.
    pub fn position_in_run(&self, number: u64, handed: usize) -> (u64, usize) {
        let state = self.lock();
        state.position(match state.lent {
            Some(lent) if lent.number == number => lent.begin + handed.min(lent.batches),
            Some(lent) => lent.begin,
            None => state.taken,
        })
    }

    /// Lets the next iteration begin at a batch of an epoch.
    pub fn go_to(&self, epoch: u64, batch: usize) {
        let mut state = self.lock();
        state.leave();
        (state.epoch, state.taken, state.resumed) = (epoch, batch, true);
        self.made.notify_all();
    }

    /// Begins an iteration and returns its number.
    pub fn begin(&self) -> u64 {
        let mut state = self.lock();
        let earlier = state.order.take();
        state.leave();
        if !std::mem::take(&mut state.resumed) {
            state.epoch += 1;
            state.taken = 0;
        }
        state.next = state.taken;
        state.order = Some(Order::new(earlier, self.dataset.len(), &self.config, state.epoch));
        self.room.notify_all();
        // Whoever waits for a batch of an earlier iteration waits in vain.
        self.made.notify_all();
        state.round
    }

    /// The next batch of an iteration.
    pub fn next(&self, round: u64) -> Option<Result<RowBatch<D>, DatasetError>> {
        let mut state = self.lock();
        loop {
            let Some(order) = state.order.as_ref().filter(|_| state.round == round).cloned() else {
                return Some(Err(DatasetError::Superseded));
            };
            let batch = state.taken;
            if batch == order.batches() {
                return None;
            }
            state.lent = None;
            if self.config.workers == 0 {
                state.taken += 1;
                drop(state);
                return Some(self.make(&order, batch));
            }
            let place = batch % self.ahead;
            if let Some(made) = state.made[place].take() {
                state.taken += 1;
                drop(state);
                self.room.notify_one();
                return Some(made);
            }
            state = self.made.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// What the next call of an iteration gives, for callers to whom a call is dear: see [`Run`].
    pub fn next_run(&self, round: u64) -> Option<Result<Run<D>, DatasetError>> {
        if self.config.workers > 0 {
            return self.next(round).map(|batch| batch.map(Run::Batch));
        }
        loop {
            let state = self.lock();
            let Some(order) = state.order.as_ref().filter(|_| state.round == round).cloned() else {
                return Some(Err(DatasetError::Superseded));
            };
            let batch = state.taken;
            drop(state);
            if batch == order.batches() {
                return None;
            }
            // What belongs to the dataset is asked without the lock.
            let places = order.places(batch);
            let checked = self.dataset.check();
            let lends = order.is_sequential() && checked.is_ok() && self.dataset.lends();
            let lent = if lends { self.together(places.start) } else { 0 };
            let mut state = self.lock();
            if (state.round, state.taken) != (round, batch) {
                // Another thread was faster.
                continue;
            }
            state.lent = None;
            if let Err(error) = checked {
                state.taken += 1;
                return Some(Err(error));
            }
            if lent < places.len() {
                state.taken += 1;
                drop(state);
                return Some(Ok(Run::Rows(order.rows(places).collect())));
            }
            // A last batch may have fewer rows, so it comes by itself.
            let left = (self.dataset.len() - places.start) / self.config.batch_size;
            let batches = (lent / self.config.batch_size).min(left).max(1);
            state.runs += 1;
            let number = state.runs;
            state.lent = Some(Lent { number, begin: batch, batches });
            state.taken += batches;
            return Some(Ok(Run::Lent { first: places.start, rows: places.len(), batches, number }));
        }
    }

    /// Rows from this one on that lie side by side in every column.
    fn together(&self, row: usize) -> usize {
        let widths = self.pool.layout().widths().enumerate();
        widths.map(|(column, width)| self.dataset.run(column, row).len() / width).min().unwrap_or(0)
    }

    /// The life of a worker: it makes the next batch whenever there is room for it.
    pub fn work(&self) {
        let mut state = self.lock();
        while !state.stopped {
            let ahead = state.taken + self.ahead;
            let batch = state.next;
            let Some(order) =
                state.order.as_ref().filter(|order| batch < order.batches().min(ahead)).cloned()
            else {
                state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            state.next += 1;
            let round = state.round;
            drop(state);
            let made = catch_unwind(AssertUnwindSafe(|| self.make(&order, batch).inspect(touch)))
                .unwrap_or(Err(DatasetError::Panicked { batch }));
            state = self.lock();
            if state.round == round {
                state.made[batch % self.ahead] = Some(made);
                self.made.notify_one();
            }
        }
    }

    fn make(&self, order: &Order, batch: usize) -> Result<RowBatch<D>, DatasetError> {
        self.dataset.check()?;
        let places = order.places(batch);
        let lent = order
            .is_sequential()
            .then(|| RowBatch::lent(&self.dataset, self.pool.layout(), places.start, places.len()))
            .flatten();
        match lent {
            Some(batch) => Ok(batch),
            None => RowBatch::copied(&self.dataset, &self.pool, order.rows(places)),
        }
    }
}

impl<D> State<D> {
    /// The epoch and number of the next batch, where so many of this epoch were taken.
    fn position(&self, taken: usize) -> (u64, usize) {
        match &self.order {
            Some(order) if taken == order.batches() => (self.epoch + 1, 0),
            _ => (self.epoch, taken),
        }
    }

    /// Leaves the iteration under way.
    fn leave(&mut self) {
        self.round += 1;
        self.order = None;
        self.lent = None;
        self.made.iter_mut().for_each(|made| *made = None);
    }
}

/// Reads a byte of each page of a view, so that the consumer need not wait for the disk.
fn touch<D: Dataset>(batch: &RowBatch<D>) {
    if batch.is_lent() {
        for column in 0..batch.schema().columns().len() {
            let bytes = batch.bytes(column);
            std::hint::black_box(bytes.iter().step_by(PAGE).fold(0, |sum: u8, byte| sum.wrapping_add(*byte)));
        }
    }
}
