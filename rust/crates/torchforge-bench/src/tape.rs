//! Tapes: inputs longer than a call needs. A call's number chooses the part that it reads.

use std::ops::Range;
use std::path::Path;

use crate::{Failure, files, npy};

/// A call begins at one of so many places of each tape, one value apart.
const PLACES: u64 = 4096;
/// The bits of a number that choose the place on one tape.
const PLACE_BITS: u32 = 32;

/// The values of a tape for calls of `count` values.
pub(crate) fn read(path: &Path, count: usize) -> Result<Vec<f64>, Failure> {
    let shape = [count + PLACES as usize];
    npy::decode(&files::read(path)?, &shape)
        .map_err(|reason| Failure::Input { path: path.to_path_buf(), reason })
}

/// Where the call of a number reads on the tape of an index, the first being 0.
pub(crate) fn piece(number: u64, tape: u32, count: usize) -> Range<usize> {
    let first = (number >> (PLACE_BITS * tape)) % PLACES;
    first as usize..first as usize + count
}
