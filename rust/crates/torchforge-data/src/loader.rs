//! Batches of a dataset, in a seeded order, made ahead by threads.

#[cfg(feature = "async")]
mod asynchronous;
mod batch;
mod copied;
mod order;
mod pipeline;
mod pool;
mod state;

use std::fmt;
use std::sync::Arc;
use std::thread::JoinHandle;

use crate::{Dataset, DatasetError, Schema};
#[cfg(feature = "async")]
pub use asynchronous::{AsyncBatch, AsyncBatches, AsyncLoader};
pub use batch::RowBatch;
use pipeline::Pipeline;
use pool::{Layout, Pool};
pub use state::LoaderState;

/// What a [`DataLoader`] does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoaderConfig {
    /// Rows of a batch.
    pub batch_size: usize,
    /// Draws each row once an epoch, in an order that follows from the seed and the epoch alone. Otherwise rows come as they
    /// are stored.
    pub shuffle: bool,
    /// The seed of the orders.
    pub seed: u64,
    /// Leaves the last rows of an epoch out where they make no whole batch.
    pub drop_last: bool,
    /// Batches that the workers may be ahead, at least 1. They wait there until the consumer has taken one.
    pub prefetch: usize,
    /// Threads that make batches. Without one the consumer makes each batch when it asks for it, which is faster where a batch
    /// is small: to hand one over takes longer than to copy some kilobytes.
    pub workers: usize,
}

impl Default for LoaderConfig {
    fn default() -> Self {
        Self { batch_size: 1, shuffle: false, seed: 0, drop_last: false, prefetch: 2, workers: 0 }
    }
}

/// Buffers for the batches of a loader, once its options were found to make sense.
fn pool(schema: &Schema, rows: usize, config: &LoaderConfig) -> Result<Pool, DatasetError> {
    for (what, value) in [("batch_size", config.batch_size), ("prefetch", config.prefetch)] {
        if value == 0 {
            return Err(DatasetError::Option { what, value, allowed: "at least 1" });
        }
    }
    let too_large = DatasetError::Option {
        what: "batch_size",
        value: config.batch_size,
        allowed: "batches below 2^48 bytes",
    };
    let Some(asked_for) = Layout::new(schema, config.batch_size) else { return Err(too_large) };
    // No batch has more rows than the dataset.
    let layout = Layout::new(schema, config.batch_size.min(rows.max(1))).unwrap_or(asked_for);
    Ok(Pool::new(layout))
}

/// Iterates over a dataset in batches, epoch after epoch.
///
/// Each `for batch in &loader` is an epoch, and begins the next one even where the last was left early. A batch of rows that lie side by side in the dataset's memory is a view of it.
/// Any other batch is copied once, row by row, into a buffer of a pool; the buffer is filled again when no view of it is left.
///
/// The workers are plain threads that share the dataset. They are started once and live as long as the loader. Batches come in
/// the same order for any number of them.
///
/// ```
/// use torchforge_data::{Dataset, DataLoader, LoaderConfig, MmapDataset, ReplayBuffer};
/// # use rand::{SeedableRng, rngs::StdRng};
/// # use torchforge_data::{Batch, Column, DatasetWriter, ElementType, Schema, Transition};
/// # let directory = std::env::temp_dir().join(format!("torchforge-data-doc-loader-{}", std::process::id()));
/// # std::fs::create_dir_all(&directory)?;
/// # let path = directory.join("observations.arrow");
/// # let mut writer = DatasetWriter::create(&path, Schema::new(vec![Column::new("observation", ElementType::F32, &[4])?])?)?;
/// # writer.append(&[(&vec![0.5_f32; 4 * 100]).into()])?;
/// # writer.finish()?;
/// let dataset = MmapDataset::open(&path)?;
/// let rows = dataset.len();
///
/// let loader = DataLoader::new(dataset, LoaderConfig {
///     batch_size: 32,
///     shuffle: true,
///     prefetch: 2,
///     ..Default::default()
/// })?;
///
/// let mut seen = 0;
/// for batch in &loader {
///     let batch = batch?;
///     let observations = batch.column::<f32>("observation")?; // (rows, 4)
///     seen += observations.len() / 4;
/// }
/// assert_eq!(seen, rows);
///
/// // Experience that is made while training is kept in a replay buffer.
/// let mut buffer = ReplayBuffer::new(50_000, 4, 1)?;
/// buffer.push(Transition {
///     observation: &[0.0; 4],
///     next_observation: &[0.1; 4],
///     action: &[1_u32],
///     reward: 1.0,
///     terminated: false,
///     truncated: false,
/// })?;
/// let mut batch = Batch::new(32, 4, 1)?;
/// buffer.sample(&mut StdRng::seed_from_u64(1), &mut batch)?;
/// # std::fs::remove_dir_all(&directory)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct DataLoader<D> {
    pipeline: Arc<Pipeline<D>>,
    workers: Vec<JoinHandle<()>>,
}

impl<D: Dataset + 'static> DataLoader<D> {
    /// A loader whose first epoch is number 0. Starts the workers.
    ///
    /// # Errors
    ///
    /// [`DatasetError::Option`] for a batch size or prefetch of 0, or a batch of 2^48 bytes; [`DatasetError::Thread`] where a
    /// worker cannot be started.
    pub fn new(dataset: D, config: LoaderConfig) -> Result<Self, DatasetError> {
        let pool = pool(dataset.schema(), dataset.len(), &config)?;
        let pipeline = Arc::new(Pipeline::new(dataset, pool, config));
        // Workers are added one by one, so that those already started end if the next one cannot be.
        let mut loader = Self { pipeline, workers: Vec::new() };
        for number in 0..config.workers {
            let pipeline = Arc::clone(&loader.pipeline);
            let worker = std::thread::Builder::new()
                .name(format!("loader-{number}"))
                .spawn(move || pipeline.work())
                .map_err(|source| DatasetError::Thread { number, source })?;
            loader.workers.push(worker);
        }
        Ok(loader)
    }

    /// The dataset.
    pub fn dataset(&self) -> &D {
        self.pipeline.dataset()
    }

    /// What the loader does.
    pub fn config(&self) -> &LoaderConfig {
        self.pipeline.config()
    }

    /// Batches of an epoch.
    pub fn batches(&self) -> usize {
        order::batches(self.pipeline.dataset().len(), self.pipeline.config())
    }

    /// Where the iteration is: what the next batch would be. A loader that [resumes](Self::resume) there goes on with exactly
    /// the batches that are left.
    pub fn state(&self) -> LoaderState {
        self.state_at(self.pipeline.position())
    }

    /// The same where only so many batches of the run of this number were handed on ([`SharedBatches::next_run`]).
    #[doc(hidden)]
    pub fn state_in_run(&self, number: u64, handed: usize) -> LoaderState {
        self.state_at(self.pipeline.position_in_run(number, handed))
    }

    fn state_at(&self, (epoch, batch): (u64, usize)) -> LoaderState {
        LoaderState::of(self.pipeline.dataset().len(), self.pipeline.config(), epoch, batch)
    }

    /// Goes on at a saved state: the next iteration yields what was left of that epoch, and then come the epochs after it. An
    /// iteration under way ends.
    ///
    /// # Errors
    ///
    /// [`DatasetError::State`] where the state belongs to another number of rows, batch size, seed or order; the loader is
    /// then as it was.
    pub fn resume(&self, state: &LoaderState) -> Result<(), DatasetError> {
        let expected = LoaderState::of(self.pipeline.dataset().len(), self.pipeline.config(), 0, 0);
        let (epoch, batch) = state.position_in(&expected, self.batches())?;
        self.pipeline.go_to(epoch, batch);
        Ok(())
    }

    /// Begins the next epoch, or goes on where the loader was resumed.
    pub fn iter(&self) -> Batches<'_, D> {
        Batches { loader: self, epoch: self.begin() }
    }

    /// The same for an owner of a part of the loader, whose iterator lives as long as it wants.
    pub fn iter_shared(self: &Arc<Self>) -> SharedBatches<D> {
        SharedBatches { epoch: self.begin(), loader: Arc::clone(self) }
    }

    fn begin(&self) -> Epoch {
        Epoch { round: self.pipeline.begin(), superseded: false }
    }
}

impl<D> Drop for DataLoader<D> {
    fn drop(&mut self) {
        self.pipeline.stop();
        for worker in self.workers.drain(..) {
            // Its panics were caught: there is none to pass on.
            let _ = worker.join();
        }
    }
}

impl<'a, D: Dataset + 'static> IntoIterator for &'a DataLoader<D> {
    type Item = Result<RowBatch<D>, DatasetError>;
    type IntoIter = Batches<'a, D>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<D> fmt::Debug for DataLoader<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DataLoader").field("workers", &self.workers.len()).finish_non_exhaustive()
    }
}

/// The batches of one epoch. A batch that cannot be made is an error in its place; the others still follow.
pub struct Batches<'a, D> {
    loader: &'a DataLoader<D>,
    epoch: Epoch,
}

/// [`Batches`] that keep their loader alive.
pub struct SharedBatches<D> {
    loader: Arc<DataLoader<D>>,
    epoch: Epoch,
}

/// An iteration under way.
#[derive(Debug)]
struct Epoch {
    round: u64,
    superseded: bool,
}

impl Epoch {
    /// What a pipeline gives this iteration, which ends after it was superseded.
    fn following<T>(
        &mut self,
        next: impl FnOnce(u64) -> Option<Result<T, DatasetError>>,
    ) -> Option<Result<T, DatasetError>> {
        if self.superseded {
            return None;
        }
        let found = next(self.round);
        self.superseded = matches!(found, Some(Err(DatasetError::Superseded)));
        found
    }
}

impl<D> fmt::Debug for Batches<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batches").field("epoch", &self.epoch).finish_non_exhaustive()
    }
}

impl<D> fmt::Debug for SharedBatches<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedBatches").field("epoch", &self.epoch).finish_non_exhaustive()
    }
}

impl<D: Dataset + 'static> Iterator for Batches<'_, D> {
    type Item = Result<RowBatch<D>, DatasetError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.epoch.following(|round| self.loader.pipeline.next(round))
    }
}

/// What a loader gives at once to a caller to whom each call is dear: for the Python module.
#[doc(hidden)]
pub enum Run<D> {
    /// Batches of `rows` rows each, one behind the other in the dataset's own memory from row `first` on.
    Lent {
        /// The first row.
        first: usize,
        /// Rows of each batch.
        rows: usize,
        /// Batches.
        batches: usize,
        /// The number of the run, counted from 1.
        number: u64,
    },
    /// The rows of a batch, for the caller to copy ([`Dataset::copy_rows`]).
    Rows(Vec<usize>),
    /// A batch that a worker made.
    Batch(RowBatch<D>),
}

impl<D> fmt::Debug for Run<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let batches = if let Self::Lent { batches, .. } = self { *batches } else { 1 };
        f.debug_struct("Run").field("batches", &batches).finish_non_exhaustive()
    }
}

impl<D: Dataset + 'static> SharedBatches<D> {
    /// The next batches, several at once where they are lent. [`DataLoader::state`] counts them as taken when they are given.
    #[doc(hidden)]
    pub fn next_run(&mut self) -> Option<Result<Run<D>, DatasetError>> {
        self.epoch.following(|round| self.loader.pipeline.next_run(round))
    }
}

impl<D: Dataset + 'static> Iterator for SharedBatches<D> {
    type Item = Result<RowBatch<D>, DatasetError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.epoch.following(|round| self.loader.pipeline.next(round))
    }
}
