//! Reading and writing safetensors with checked types and shapes.

use std::borrow::Cow;

use safetensors::{Dtype, SafeTensors, View};

use crate::Error;

/// The tensors of a safetensors file in memory.
pub struct TensorReader<'a> {
    tensors: SafeTensors<'a>,
}

impl<'a> TensorReader<'a> {
    /// Reads the file's header.
    pub fn new(bytes: &'a [u8]) -> Result<Self, Error> {
        let tensors = SafeTensors::deserialize(bytes)
            .map_err(|error| Error::NotSafetensors { reason: error.to_string() })?;
        Ok(Self { tensors })
    }

    /// The shape of a tensor.
    pub fn shape(&self, name: &str) -> Result<Vec<usize>, Error> {
        let tensor = self.tensors.tensor(name).map_err(|_| missing(name))?;
        Ok(tensor.shape().to_vec())
    }

    /// The values of an f32 tensor of the given shape, row after row.
    pub fn f32(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, Error> {
        self.values(name, shape, Dtype::F32, f32::from_le_bytes)
    }

    /// The values of an i64 tensor of the given shape, row after row.
    pub fn i64(&self, name: &str, shape: &[usize]) -> Result<Vec<i64>, Error> {
        self.values(name, shape, Dtype::I64, i64::from_le_bytes)
    }

    fn values<T, const SIZE: usize>(
        &self,
        name: &str,
        shape: &[usize],
        dtype: Dtype,
        decode: fn([u8; SIZE]) -> T,
    ) -> Result<Vec<T>, Error> {
        let tensor = self.tensors.tensor(name).map_err(|_| missing(name))?;
        if tensor.dtype() != dtype || tensor.shape() != shape {
            return Err(Error::TensorKind {
                name: name.to_owned(),
                expected: format!("{dtype:?} {shape:?}"),
                found: format!("{:?} {:?}", tensor.dtype(), tensor.shape()),
            });
        }
        Ok(tensor.data().as_chunks::<SIZE>().0.iter().map(|&bytes| decode(bytes)).collect())
    }
}

fn missing(name: &str) -> Error {
    Error::MissingTensor { name: name.to_owned() }
}

/// Collects tensors for a safetensors file. Equal tensors give equal bytes.
#[derive(Debug, Default)]
pub struct TensorWriter {
    tensors: Vec<(String, Tensor)>,
}

impl TensorWriter {
    /// A file without tensors.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an f32 tensor; `values` are its elements, row after row.
    pub fn push(&mut self, name: String, shape: Vec<usize>, values: impl IntoIterator<Item = f32>) {
        self.add(name, Dtype::F32, shape, values.into_iter().flat_map(f32::to_le_bytes).collect());
    }

    /// Adds a vector of f64.
    pub fn push_f64(&mut self, name: &str, values: &[f64]) {
        let data = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.add(name.to_owned(), Dtype::F64, vec![values.len()], data);
    }

    /// Adds a vector of whole numbers, as i64.
    pub fn push_whole(&mut self, name: &str, values: &[u64]) {
        self.push_whole_as(name, vec![values.len()], values);
    }

    /// Adds a tensor of whole numbers, as i64.
    pub fn push_whole_as(&mut self, name: &str, shape: Vec<usize>, values: &[u64]) {
        let data = values.iter().flat_map(|&value| (value as i64).to_le_bytes()).collect();
        self.add(name.to_owned(), Dtype::I64, shape, data);
    }

    fn add(&mut self, name: String, dtype: Dtype, shape: Vec<usize>, data: Vec<u8>) {
        let expected = shape.iter().product::<usize>() * dtype.bitsize() / 8;
        assert_eq!(data.len(), expected, "values of {name}");
        self.tensors.push((name, Tensor { dtype, shape, data }));
    }

    /// The file's bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        safetensors::serialize(self.tensors, None).expect("shapes were checked when the tensors were added")
    }
}

#[derive(Debug)]
struct Tensor {
    dtype: Dtype,
    shape: Vec<usize>,
    data: Vec<u8>,
}

impl View for Tensor {
    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.data)
    }

    fn data_len(&self) -> usize {
        self.data.len()
    }
}
