//! A place in the iteration, to be saved.

use super::LoaderConfig;
use crate::DatasetError;

/// What the bytes of a state begin with: a name and a version.
const MAGIC: u64 = u64::from_le_bytes(*b"tfload\x00\x01");

/// Where a loader's iteration is, and what it depends on. The numbers of workers and of batches made ahead are no part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoaderState {
    rows: u64,
    batch_size: u64,
    seed: u64,
    shuffle: bool,
    drop_last: bool,
    epoch: u64,
    batch: u64,
}

impl LoaderState {
    /// Bytes of a saved state.
    pub const LEN: usize = 64;

    pub(super) fn of(rows: usize, config: &LoaderConfig, epoch: u64, batch: usize) -> Self {
        let LoaderConfig { batch_size, shuffle, seed, drop_last, .. } = *config;
        let (rows, batch_size, batch) = (rows as u64, batch_size as u64, batch as u64);
        Self { rows, batch_size, seed, shuffle, drop_last, epoch, batch }
    }

    /// The epoch of the next batch.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The number of the next batch in its epoch.
    pub fn batch(&self) -> u64 {
        self.batch
    }

    /// The state as bytes, the same on every machine.
    pub fn to_bytes(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        let numbers = [MAGIC, self.rows, self.batch_size, self.seed, u64::from(self.shuffle)];
        let numbers = numbers.into_iter().chain([u64::from(self.drop_last), self.epoch, self.batch]);
        for (place, number) in bytes.chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    /// What [`to_bytes`](Self::to_bytes) made.
    ///
    /// # Errors
    ///
    /// [`DatasetError::NoState`] for other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DatasetError> {
        let refused = DatasetError::NoState { len: bytes.len() };
        if bytes.len() != Self::LEN {
            return Err(refused);
        }
        let number =
            |index: usize| bytes[8 * index..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        if number(0) != MAGIC || number(4) > 1 || number(5) > 1 {
            return Err(refused);
        }
        Ok(Self {
            rows: number(1),
            batch_size: number(2),
            seed: number(3),
            shuffle: number(4) == 1,
            drop_last: number(5) == 1,
            epoch: number(6),
            batch: number(7),
        })
    }

    /// The epoch and batch, if all that they depend on is as in `expected`.
    pub(super) fn position_in(&self, expected: &Self, batches: usize) -> Result<(u64, usize), DatasetError> {
        let differs = |what, expected, found| Err(DatasetError::State { what, expected, found });
        for (what, expected, found) in [
            ("rows", expected.rows, self.rows),
            ("batch_size", expected.batch_size, self.batch_size),
            ("seed", expected.seed, self.seed),
            ("shuffle", expected.shuffle.into(), self.shuffle.into()),
            ("drop_last", expected.drop_last.into(), self.drop_last.into()),
        ] {
            if expected != found {
                return differs(what, expected, found);
            }
        }
        match usize::try_from(self.batch).ok().filter(|&batch| batch <= batches) {
            Some(batch) => Ok((self.epoch, batch)),
            None => differs("next batch", batches as u64, self.batch),
        }
    }
}
