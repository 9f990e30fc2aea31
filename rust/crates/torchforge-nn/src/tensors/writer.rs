//! A file of tensors.

use std::borrow::Cow;

use safetensors::{Dtype, View};

use super::{Element, WORDS};

/// Collects tensors for a safetensors file. Equal tensors give equal bytes.
#[derive(Debug, Clone, Default)]
pub struct TensorWriter {
    tensors: Vec<(String, Tensor)>,
}

impl TensorWriter {
    /// A file without tensors.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an f32 tensor; `values` are its elements, row after row.
    ///
    /// # Panics
    ///
    /// Where there are not as many values as the shape has places.
    pub fn push(&mut self, name: String, shape: Vec<usize>, values: impl IntoIterator<Item = f32>) {
        self.add(name, shape, values);
    }

    /// Adds a vector of whole numbers, as i64.
    pub fn push_whole(&mut self, name: &str, values: &[u64]) {
        self.add(name.to_owned(), vec![values.len()], values.iter().map(|&value| value as i64));
    }

    /// Adds a vector in its own type.
    pub fn push_vector<T: Element>(&mut self, name: &str, values: &[T]) {
        self.add(name.to_owned(), vec![values.len()], values.iter().copied());
    }

    /// Adds a tensor in its own type; `values` are its elements, row after row.
    ///
    /// # Panics
    ///
    /// Where there are not as many values as the shape has places.
    pub fn push_all<T: Element>(&mut self, name: String, shape: Vec<usize>, values: &[T]) {
        self.add(name, shape, values.iter().copied());
    }

    fn add<T: Element>(&mut self, name: String, shape: Vec<usize>, values: impl IntoIterator<Item = T>) {
        let values = values.into_iter();
        let mut data = Vec::with_capacity(values.size_hint().0 * size_of::<T>());
        values.for_each(|value| value.put(&mut data));
        let expected = shape.iter().product::<usize>() * size_of::<T>();
        assert_eq!(data.len(), expected, "values of {name}");
        self.tensors.push((name, Tensor { dtype: T::DTYPE, shape, data }));
    }

    /// Keeps the tensors of these names alone.
    pub fn retain(&mut self, mut keeps: impl FnMut(&str) -> bool) {
        self.tensors.retain(|(name, _)| keeps(name));
    }

    /// The bytes of each tensor's values, in the order in which they were added.
    pub fn data(&self) -> impl Iterator<Item = &[u8]> {
        self.tensors.iter().map(|(_, tensor)| &tensor.data[..])
    }

    /// The file's bytes.
    ///
    /// # Panics
    ///
    /// Where two tensors have one name.
    pub fn into_bytes(self) -> Vec<u8> {
        self.serialised(None)
    }

    /// The file's bytes, with words about it in the header, for people and programs: metadata `torchforge`.
    ///
    /// # Panics
    ///
    /// Where two tensors have one name.
    pub fn into_bytes_with(self, words: String) -> Vec<u8> {
        self.serialised(Some(words))
    }

    fn serialised(self, words: Option<String>) -> Vec<u8> {
        // One entry: of several the order would be another one each time.
        let metadata = words.map(|words| [(WORDS.to_owned(), words)].into_iter().collect());
        safetensors::serialize(self.tensors, metadata)
            .expect("shapes were checked when the tensors were added")
    }
}

#[derive(Debug, Clone)]
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

#[cfg(test)]
mod tests {
    use crate::TensorWriter;

    #[test]
    fn kept_tensors_give_the_bytes_of_a_file_that_never_had_others() {
        let mut kept = TensorWriter::new();
        for name in ["qf1.weight", "actor.weight", "qf2.weight"] {
            kept.push(name.to_owned(), vec![1], [1.0]);
        }
        kept.retain(|name| name.starts_with("qf"));
        let mut alone = TensorWriter::new();
        for name in ["qf1.weight", "qf2.weight"] {
            alone.push(name.to_owned(), vec![1], [1.0]);
        }
        assert_eq!(kept.into_bytes(), alone.into_bytes());
    }
}
