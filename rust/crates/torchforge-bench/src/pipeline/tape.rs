//! The bytes that all rows are made of.

use std::path::Path;

use crate::{Failure, files, npy};

/// Rows on the tape, which begins again at its end.
const ROWS: usize = 64;

/// Random bytes, a row a row.
pub(super) struct Tape {
    bytes: Vec<u8>,
    row_bytes: usize,
}

impl Tape {
    /// Reads a case's tape.
    pub(super) fn read(input: &Path, row_bytes: usize) -> Result<Self, Failure> {
        let path = input.join("tape.npy");
        let bytes = npy::decode(&files::read(&path)?, &[ROWS, row_bytes]);
        Ok(Self { bytes: bytes.map_err(|reason| Failure::Input { path, reason })?, row_bytes })
    }

    /// A row's bytes.
    pub(super) fn row(&self, row: usize) -> &[u8] {
        &self.bytes[row % ROWS * self.row_bytes..][..self.row_bytes]
    }

    /// A row's bytes as numbers.
    pub(super) fn values(&self, row: usize) -> Vec<f32> {
        self.row(row).iter().map(|&byte| f32::from(byte)).collect()
    }

    /// Rows that differ.
    pub(super) const fn rows() -> usize {
        ROWS
    }
}
