#![cfg_attr(feature = "dataset", doc = include_str!("../README.md"))]
#![cfg_attr(not(feature = "dataset"), doc = "Replay buffers that allocate once, when they are made.")]
#![cfg_attr(not(any(feature = "dataset", feature = "huge-pages", feature = "prefetch")), forbid(unsafe_code))]

mod boundary;
#[cfg(feature = "dataset")]
mod dataset;
#[cfg(feature = "dataset")]
mod loader;
mod prefetch;
mod replay;

pub use boundary::{Gradients, Message, ShareError, Shareable, Statistics, Weights};
#[cfg(feature = "async")]
pub use dataset::ObjectDataset;
#[cfg(feature = "dataset")]
pub use dataset::{
    Column, Dataset, DatasetError, DatasetWriter, ElementType, Item, MmapDataset, Schema, Value, Values,
};
#[cfg(feature = "async")]
pub use loader::{AsyncBatch, AsyncBatches, AsyncLoader};
#[cfg(feature = "dataset")]
pub use loader::{Batches, DataLoader, LoaderConfig, LoaderState, RowBatch, Run, SharedBatches};
/// The library that [`ObjectDataset`] reads through, in the version that its stores must have.
#[cfg(feature = "async")]
pub use object_store;
#[cfg(feature = "dataset")]
pub use replay::DiskReplayBuffer;
pub use replay::{
    Batch, Error, NStep, NStepBatch, Observation, PrioritizedBatch, PrioritizedReplayBuffer, PriorityOptions,
    ReplayBuffer, Rows, SequenceReplayBuffer, Stamp, Transition,
};
