//! Tensors of a file that is read piece by piece.

use std::fmt;
use std::io::{Read, Seek, SeekFrom};

use safetensors::tensor::Metadata;

use super::{Element, LENGTH_BYTES, WORDS, damaged, entry, header, other_kind};
use crate::Error;

/// A longer header is none of ours: a checkpoint of PPO has six tensors an environment.
const LONGEST_HEADER: u64 = 1 << 26;

/// Vectors of a safetensors file that is not in memory: only what is asked for is read, and nothing longer than asked
/// for, whatever the file says of itself.
pub struct TensorFile<R> {
    source: R,
    header: Metadata,
    data_start: u64,
}

/// Without the values.
impl<R> fmt::Debug for TensorFile<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TensorFile").field("header", &self.header).finish_non_exhaustive()
    }
}

impl<R: Read + Seek> TensorFile<R> {
    /// Reads the header, of 64 MiB at most.
    ///
    /// # Errors
    ///
    /// [`Error::NotSafetensors`] where the bytes are none, or the header is longer.
    pub fn new(mut source: R) -> Result<Self, Error> {
        let len = source.seek(SeekFrom::End(0)).map_err(|error| damaged(&error))?;
        let cut = || damaged(&"it ends within its header");
        let length_bytes = LENGTH_BYTES as u64;
        let data_len = len.checked_sub(length_bytes).ok_or_else(cut)?;
        let mut length = [0; LENGTH_BYTES];
        read_at(&mut source, 0, &mut length)?;
        let length = u64::from_le_bytes(length);
        if length > LONGEST_HEADER {
            return Err(damaged(&format!("a header of {length} bytes is too long")));
        }
        let data_len = data_len.checked_sub(length).ok_or_else(cut)?;
        let mut text = vec![0; length as usize];
        read_at(&mut source, length_bytes, &mut text)?;
        Ok(Self { header: header(&text, data_len)?, data_start: length_bytes + length, source })
    }

    /// What [`TensorWriter::into_bytes_with`](crate::TensorWriter::into_bytes_with) was given.
    pub fn words(&self) -> Option<&str> {
        self.header.metadata().as_ref()?.get(WORDS).map(String::as_str)
    }

    /// Tensors in the file.
    pub fn count(&self) -> usize {
        self.header.offset_keys().len()
    }

    /// A vector of at most `most` values.
    ///
    /// # Errors
    ///
    /// [`Error::MissingTensor`], and [`Error::TensorKind`] where it is no such vector.
    pub fn vector<T: Element>(&mut self, name: &str, most: usize) -> Result<Vec<T>, Error> {
        let found = entry(&self.header, name, T::DTYPE)?;
        match found.shape[..] {
            [len] if len <= most => {}
            _ => return Err(other_kind(name, format!("{:?} of at most [{most}]", T::DTYPE), found)),
        }
        let (start, end) = found.data_offsets;
        let mut bytes = vec![0; end - start];
        read_at(&mut self.source, self.data_start + start as u64, &mut bytes)?;
        Ok(T::all(&bytes))
    }
}

fn read_at(source: &mut (impl Read + Seek), place: u64, bytes: &mut [u8]) -> Result<(), Error> {
    source
        .seek(SeekFrom::Start(place))
        .and_then(|_| source.read_exact(bytes))
        .map_err(|error| damaged(&error))
}
