//! Tensors of a file in memory.

use std::fmt;

use safetensors::tensor::Metadata;

use super::{Element, LENGTH_BYTES, damaged, entry, header, other_kind};
use crate::Error;

/// The tensors of a safetensors file in memory.
pub struct TensorReader<'a> {
    header: Metadata,
    data: &'a [u8],
}

/// Without the values.
impl fmt::Debug for TensorReader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TensorReader").field("header", &self.header).finish_non_exhaustive()
    }
}

impl<'a> TensorReader<'a> {
    /// Reads the file's header.
    ///
    /// # Errors
    ///
    /// [`Error::NotSafetensors`] where the bytes are none.
    pub fn new(bytes: &'a [u8]) -> Result<Self, Error> {
        let cut = || damaged(&"it ends within its header");
        let (length, rest) = bytes.split_first_chunk::<LENGTH_BYTES>().ok_or_else(cut)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| cut())?;
        let (text, data) = rest.split_at_checked(length).ok_or_else(cut)?;
        Ok(Self { header: header(text, data.len() as u64)?, data })
    }

    /// The tensors' names, sorted.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.header.tensors().into_keys().collect();
        names.sort_unstable();
        names
    }

    /// Whether the file has a tensor of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.header.info(name).is_some()
    }

    /// The shape of a tensor.
    ///
    /// # Errors
    ///
    /// [`Error::MissingTensor`].
    pub fn shape(&self, name: &str) -> Result<Vec<usize>, Error> {
        let tensor = self.header.info(name).ok_or_else(|| Error::MissingTensor { name: name.to_owned() })?;
        Ok(tensor.shape.clone())
    }

    /// The values of an f32 tensor of the given shape, row after row.
    ///
    /// # Errors
    ///
    /// [`Error::MissingTensor`], and [`Error::TensorKind`] where it has another type or shape.
    pub fn f32(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, Error> {
        self.values(name, shape)
    }

    /// The same where all of them have to be finite.
    pub(crate) fn finite_f32(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, Error> {
        let values = self.f32(name, shape)?;
        match values.iter().all(|value| value.is_finite()) {
            true => Ok(values),
            false => Err(Error::NotFinite { name: name.to_owned() }),
        }
    }

    /// The values of an i64 tensor of the given shape, row after row.
    ///
    /// # Errors
    ///
    /// [`Error::MissingTensor`], and [`Error::TensorKind`] where it has another type or shape.
    pub fn i64(&self, name: &str, shape: &[usize]) -> Result<Vec<i64>, Error> {
        self.values(name, shape)
    }

    /// The values of a tensor of the given type and shape, row after row.
    ///
    /// # Errors
    ///
    /// [`Error::MissingTensor`], and [`Error::TensorKind`] where it has another type or shape.
    pub fn values<T: Element>(&self, name: &str, shape: &[usize]) -> Result<Vec<T>, Error> {
        let found = entry(&self.header, name, T::DTYPE)?;
        if found.shape != shape {
            return Err(other_kind(name, format!("{:?} {shape:?}", T::DTYPE), found));
        }
        let (start, end) = found.data_offsets;
        Ok(T::all(&self.data[start..end]))
    }
}
