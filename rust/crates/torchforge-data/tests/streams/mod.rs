//! A dataset of two shards, and streams of it that are compared with the ordinary loader.

use std::path::Path;
use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};
use torchforge_data::object_store::ObjectStore;
use torchforge_data::{AsyncBatches, AsyncLoader, DataLoader, LoaderConfig, MmapDataset, ObjectDataset};

use crate::dataset_files::{Scratch, numbered, scratch};

pub const CONFIG: LoaderConfig =
    LoaderConfig { batch_size: 8, shuffle: true, seed: 3, drop_last: false, prefetch: 2, workers: 0 };
pub const SHARDS: [&str; 2] = ["first.arrow", "second.arrow"];

/// A folder with two shards of 100 rows.
pub fn shards(test: &str) -> Scratch {
    let folder = scratch(test);
    numbered(&folder.join(SHARDS[0]), 0..60, 16);
    numbered(&folder.join(SHARDS[1]), 60..100, 64);
    folder
}

pub fn mapped(folder: &Path) -> MmapDataset {
    MmapDataset::open_shards(SHARDS.map(|name| folder.join(name))).unwrap()
}

pub async fn opened(store: Arc<dyn ObjectStore>) -> ObjectDataset {
    ObjectDataset::open(store, SHARDS).await.unwrap()
}

/// One thread: whatever blocks it is seen.
pub fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// The bytes of every column of every batch.
pub async fn all(mut batches: AsyncBatches) -> Vec<Vec<Vec<u8>>> {
    let mut all = Vec::new();
    while let Some(batch) = batches.next().await {
        let batch = batch.unwrap();
        all.push((0..batch.schema().columns().len()).map(|column| batch.bytes(column).to_vec()).collect());
    }
    all
}

/// Loaders of the folder's rows have the ordinary loader's batches: in order and shuffled, small and large.
pub async fn assert_same_batches(folder: &Path, loaders: impl AsyncFn(LoaderConfig) -> Vec<AsyncLoader>) {
    for shuffle in [false, true] {
        for (batch_size, drop_last, prefetch) in
            [(8, false, 1), (7, true, 3), (33, false, 9), (200, false, 2)]
        {
            let config = LoaderConfig { batch_size, shuffle, drop_last, prefetch, ..CONFIG };
            let ordinary = DataLoader::new(mapped(folder), config).unwrap();
            let loaders = loaders(config).await;
            for epoch in 0..2 {
                let expected: Vec<Vec<Vec<u8>>> = ordinary
                    .iter()
                    .map(|batch| {
                        let batch = batch.unwrap();
                        (0..3).map(|column| batch.bytes(column).to_vec()).collect()
                    })
                    .collect();
                for loader in &loaders {
                    assert_eq!(all(loader.epoch(epoch)).await, expected);
                    assert_eq!(loader.batches(), expected.len());
                }
            }
        }
    }
}
