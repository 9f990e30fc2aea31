//! Batches as a stream, for programs on tokio.

use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_util::Stream;
use tokio::runtime::Handle;
use tokio::task::{JoinError, JoinHandle};

use super::copied::Copied;
use super::order::{self, Order};
use super::pool::Pool;
use super::{LoaderConfig, LoaderState};
use crate::{Dataset, DatasetError, ObjectDataset, Schema, Value};

/// Makes batches of a dataset for a program on tokio, in the order and with the bytes of a [`DataLoader`](crate::DataLoader).
///
/// Each epoch is a [`Stream`] of its own. Up to `prefetch` batches are made ahead at the same time, and no more until the
/// consumer has taken one. `workers` says nothing here: files of this machine are read by tokio's threads for blocking work,
/// others by the runtime itself. Batches are copies, because a view of a mapped file would make a task of the runtime wait
/// for the disk.
///
/// ```
/// use std::sync::Arc;
/// use torchforge_data::object_store::{ObjectStore, local::LocalFileSystem};
/// use torchforge_data::{AsyncLoader, LoaderConfig, ObjectDataset};
/// # use torchforge_data::{Column, DatasetWriter, ElementType, Schema};
/// # let directory = std::env::temp_dir().join(format!("torchforge-data-doc-async-{}", std::process::id()));
/// # std::fs::create_dir_all(&directory)?;
/// # let path = directory.join("steps.arrow");
/// # let mut writer = DatasetWriter::create(&path, Schema::new(vec![Column::new("observation", ElementType::F32, &[4])?])?)?;
/// # writer.append(&[(&vec![0.5_f32; 4 * 100]).into()])?;
/// # writer.finish()?;
///
/// # let folder = directory.clone();
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async move {
/// let store: Arc<dyn ObjectStore> = Arc::new(LocalFileSystem::new_with_prefix(folder)?);
/// let dataset = ObjectDataset::open(store, ["steps.arrow"]).await?;
/// let config = LoaderConfig { batch_size: 32, shuffle: true, prefetch: 4, ..Default::default() };
/// let loader = AsyncLoader::of_objects(dataset, config)?;
/// let mut seen = 0;
/// for epoch in 0..2 {
///     let mut batches = loader.epoch(epoch);
///     while let Some(batch) = batches.next().await {
///         seen += batch?.column::<f32>("observation")?.len() / 4; // (rows, 4)
///     }
/// }
/// assert_eq!(seen, 2 * 100);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # std::fs::remove_dir_all(&directory)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct AsyncLoader {
    source: Source,
    pool: Arc<Pool>,
    config: LoaderConfig,
    runtime: Handle,
}

impl AsyncLoader {
    /// A loader of rows that a call may wait for, such as those of a [`MmapDataset`](crate::MmapDataset). Opening one may wait
    /// too, so do that in `spawn_blocking`.
    ///
    /// # Errors
    ///
    /// [`DatasetError::Option`] as from [`DataLoader::new`](crate::DataLoader::new), and [`DatasetError::NoRuntime`] outside
    /// of a tokio runtime: that of the caller makes the batches.
    pub fn new<D: Dataset + 'static>(dataset: D, config: LoaderConfig) -> Result<Self, DatasetError> {
        Self::of(Source::Local(Arc::new(dataset)), config)
    }

    /// A loader of rows that a store has.
    ///
    /// # Errors
    ///
    /// Those of [`new`](Self::new).
    pub fn of_objects(dataset: ObjectDataset, config: LoaderConfig) -> Result<Self, DatasetError> {
        Self::of(Source::Objects(Arc::new(dataset)), config)
    }

    fn of(source: Source, config: LoaderConfig) -> Result<Self, DatasetError> {
        let runtime = Handle::try_current().map_err(|_| DatasetError::NoRuntime)?;
        let pool = Arc::new(super::pool(source.schema(), source.len(), &config)?);
        Ok(Self { source, pool, config, runtime })
    }

    /// What the loader does.
    pub fn config(&self) -> &LoaderConfig {
        &self.config
    }

    /// Batches of an epoch.
    pub fn batches(&self) -> usize {
        order::batches(self.source.len(), &self.config)
    }

    /// The batches of an epoch. Nothing is read before the stream is first polled.
    pub fn epoch(&self, epoch: u64) -> AsyncBatches {
        self.from(epoch, 0)
    }

    /// What was left of an epoch at a saved state.
    ///
    /// # Errors
    ///
    /// [`DatasetError::State`] where the state belongs to another number of rows, batch size, seed or order.
    pub fn resume(&self, state: &LoaderState) -> Result<AsyncBatches, DatasetError> {
        let expected = LoaderState::of(self.source.len(), &self.config, 0, 0);
        let (epoch, batch) = state.position_in(&expected, self.batches())?;
        Ok(self.from(epoch, batch))
    }

    fn from(&self, epoch: u64, batch: usize) -> AsyncBatches {
        AsyncBatches {
            loader: self.clone(),
            order: Order::new(None, self.source.len(), &self.config, epoch),
            epoch,
            taken: batch,
            making: VecDeque::new(),
            failed: false,
        }
    }
}

impl fmt::Debug for AsyncLoader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncLoader").field("config", &self.config).finish_non_exhaustive()
    }
}

/// The batches of one epoch, made ahead. Dropping it stops what it reads; a call that reads a file of this machine for a batch
/// ends with that batch.
///
/// A batch that cannot be made is an error, and the stream's end: a [state](Self::state) taken then leads to the same batch.
pub struct AsyncBatches {
    loader: AsyncLoader,
    order: Order,
    epoch: u64,
    /// Batches that the consumer took.
    taken: usize,
    /// Those after them, in their order.
    making: VecDeque<Task<AsyncBatch>>,
    failed: bool,
}

impl AsyncBatches {
    /// The next batch, for programs without an extension of streams. A call that is dropped loses nothing.
    pub async fn next(&mut self) -> Option<Result<AsyncBatch, DatasetError>> {
        poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// Where the iteration is: what the next batch would be.
    pub fn state(&self) -> LoaderState {
        let ended = self.taken == self.order.batches();
        let (epoch, batch) = if ended { (self.epoch + 1, 0) } else { (self.epoch, self.taken) };
        LoaderState::of(self.loader.source.len(), &self.loader.config, epoch, batch)
    }

    /// Begins as many batches as may be ahead of the consumer.
    fn read_ahead(&mut self) {
        let AsyncLoader { source, pool, config, runtime } = &self.loader;
        let left = self.order.batches() - self.taken;
        while self.making.len() < config.prefetch.min(left) {
            let batch = self.taken + self.making.len();
            let rows = self.order.rows(self.order.places(batch)).collect();
            let making = source.clone().make(Arc::clone(pool), rows, batch);
            self.making.push_back(Task(runtime.spawn(making)));
        }
    }
}

impl Stream for AsyncBatches {
    type Item = Result<AsyncBatch, DatasetError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if this.failed {
            return Poll::Ready(None);
        }
        this.read_ahead();
        let Some(first) = this.making.front_mut() else { return Poll::Ready(None) };
        let made = ready!(first.poll_made(context, this.taken));
        this.making.pop_front();
        if made.is_ok() {
            this.taken += 1;
            this.read_ahead();
        } else {
            this.failed = true;
            this.making.clear();
        }
        Poll::Ready(Some(made))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(if self.failed { 0 } else { self.order.batches() - self.taken }))
    }
}

impl fmt::Debug for AsyncBatches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("AsyncBatches");
        shown.field("epoch", &self.epoch).field("taken", &self.taken).finish_non_exhaustive()
    }
}

/// Some rows of a dataset, column by column, in memory that the loader fills again when no batch holds it any more. A clone is
/// another view of the same rows.
///
/// It is experience, so it is nothing that may leave the device ([`Shareable`](crate::Shareable)):
///
/// ```compile_fail,E0277
/// # use torchforge_data::{AsyncBatch, Shareable};
/// fn send(message: &impl Shareable) {}
/// fn leak(batch: &AsyncBatch) { send(batch) }
/// ```
#[derive(Clone)]
pub struct AsyncBatch {
    source: Source,
    copied: Copied,
}

impl AsyncBatch {
    /// Rows.
    pub fn len(&self) -> usize {
        self.copied.len()
    }

    /// Whether there is no row, which no loader's batch is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The columns.
    pub fn schema(&self) -> &Schema {
        self.source.schema()
    }

    /// The values of a column, (rows, the column's shape).
    ///
    /// # Errors
    ///
    /// [`DatasetError::NoColumn`] and [`DatasetError::Element`] where there is no such column, or it has other elements.
    pub fn column<T: Value>(&self, name: &str) -> Result<&[T], DatasetError> {
        Ok(bytemuck::cast_slice(self.bytes(self.schema().find::<T>(name)?)))
    }

    /// The bytes of a column, by its place in the schema.
    ///
    /// # Panics
    ///
    /// Where there is no such column.
    pub fn bytes(&self, column: usize) -> &[u8] {
        self.copied.bytes(column)
    }
}

/// How many rows; none of them is printed, for they are experience.
impl fmt::Debug for AsyncBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncBatch").field("rows", &self.len()).finish_non_exhaustive()
    }
}

/// Where rows come from.
#[derive(Clone)]
enum Source {
    Local(Arc<dyn Dataset>),
    Objects(Arc<ObjectDataset>),
}

impl Source {
    fn schema(&self) -> &Schema {
        match self {
            Self::Local(dataset) => dataset.schema(),
            Self::Objects(dataset) => dataset.schema(),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Local(dataset) => dataset.len(),
            Self::Objects(dataset) => dataset.len(),
        }
    }

    /// A batch of these rows.
    async fn make(self, pool: Arc<Pool>, rows: Vec<usize>, batch: usize) -> Result<AsyncBatch, DatasetError> {
        let read = match &self {
            Self::Local(_) => Vec::new(),
            Self::Objects(dataset) => dataset.read(&rows).await?,
        };
        // The copy of a large batch would keep the runtime from its other tasks as well.
        let mut copying = Task(tokio::task::spawn_blocking(move || {
            let copied = match &self {
                Self::Local(dataset) => {
                    dataset.check()?;
                    Copied::of(&pool, rows.into_iter(), |column, rows, into| {
                        dataset.copy_rows(column, rows, into)
                    })?
                }
                Self::Objects(_) => {
                    let mut pieces = read.into_iter();
                    Copied::of(&pool, rows.into_iter(), |_, _, mut into| {
                        while !into.is_empty() {
                            let piece = pieces.next().expect("pieces of every row");
                            let (begin, rest) = into.split_at_mut(piece.len());
                            begin.copy_from_slice(&piece);
                            into = rest;
                        }
                        Ok(())
                    })?
                }
            };
            Ok(AsyncBatch { source: self, copied })
        }));
        poll_fn(|context| copying.poll_made(context, batch)).await
    }
}

/// A task that ends when nobody waits for it any more.
struct Task<T>(JoinHandle<Result<T, DatasetError>>);

impl<T> Task<T> {
    /// What was made as batch `batch`.
    fn poll_made(&mut self, context: &mut Context<'_>, batch: usize) -> Poll<Result<T, DatasetError>> {
        let made = ready!(Pin::new(&mut self.0).poll(context));
        Poll::Ready(made.unwrap_or_else(|failed: JoinError| {
            Err(if failed.is_panic() {
                DatasetError::Panicked { batch }
            } else {
                DatasetError::RuntimeEnded { batch }
            })
        }))
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
