//! Epochs of shuffled rows: each batch is copied into a buffer of the loader's pool.

use torchforge_data::{DataLoader, LoaderConfig, MmapDataset};
use torchforge_referee::Error;

use super::files::{COLUMN, Scratch, write};
use super::{Parameters, Tape, Workload, failed, sum};
use crate::Failure;

pub(super) struct Epochs {
    /// Before the file, which it has mapped.
    loader: DataLoader<MmapDataset>,
    file: Scratch,
    config: LoaderConfig,
    sums: Vec<u64>,
}

impl Epochs {
    pub(super) fn new(of: Parameters, tape: &Tape) -> Result<Self, Failure> {
        let file = Scratch::new();
        write(file.path(), tape, &of, 0)?;
        let config = LoaderConfig {
            batch_size: of.batch,
            shuffle: true,
            workers: of.workers,
            ..LoaderConfig::default()
        };
        let loader = opened(&file, config)?;
        Ok(Self { loader, file, config, sums: Vec::with_capacity(of.calls) })
    }
}

/// A loader has one seed, so each repetition has a loader of its own.
fn opened(file: &Scratch, config: LoaderConfig) -> Result<DataLoader<MmapDataset>, Failure> {
    DataLoader::new(MmapDataset::open(file.path()).map_err(failed)?, config).map_err(failed)
}

impl Workload for Epochs {
    fn prepare(&mut self, numbers: &[u64]) -> Result<(), Error> {
        let seed = numbers.first().copied().unwrap_or_default();
        self.loader = opened(&self.file, LoaderConfig { seed, ..self.config })?;
        self.sums.clear();
        Ok(())
    }

    fn run(&mut self) -> Result<(), Error> {
        for batch in &self.loader {
            let batch = batch.map_err(failed)?;
            self.sums.push(sum(batch.column::<u8>(COLUMN).map_err(failed)?));
        }
        Ok(())
    }

    fn sums(&self) -> Result<Vec<u64>, Error> {
        Ok(self.sums.clone())
    }
}
