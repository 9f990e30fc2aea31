//! Reading and writing safetensors with checked types and shapes.

mod element;
mod file;
mod reader;
mod writer;

pub use element::Element;
pub use file::TensorFile;
pub use reader::TensorReader;
pub use writer::TensorWriter;

use safetensors::Dtype;
use safetensors::tensor::{Metadata, TensorInfo};

use crate::Error;

/// Bytes of the number that a file begins with: the length of its header.
const LENGTH_BYTES: usize = 8;
/// Where a file keeps words about itself.
const WORDS: &str = "torchforge";

/// Reads a header, and sees that it describes `data_len` bytes of data.
fn header(text: &[u8], data_len: u64) -> Result<Metadata, Error> {
    let header: Metadata = serde_json::from_slice(text).map_err(|error| damaged(&error))?;
    if header.data_len() as u64 != data_len {
        return Err(damaged(&format!("its header is of {} bytes, and {data_len} follow", header.data_len())));
    }
    Ok(header)
}

/// The entry of a tensor of this type.
fn entry<'a>(header: &'a Metadata, name: &str, dtype: Dtype) -> Result<&'a TensorInfo, Error> {
    let found = header.info(name).ok_or_else(|| Error::MissingTensor { name: name.to_owned() })?;
    if found.dtype == dtype { Ok(found) } else { Err(other_kind(name, format!("{dtype:?}"), found)) }
}

fn other_kind(name: &str, expected: String, found: &TensorInfo) -> Error {
    Error::TensorKind {
        name: name.to_owned(),
        expected,
        found: format!("{:?} {:?}", found.dtype, found.shape),
    }
}

fn damaged(reason: &dyn std::fmt::Display) -> Error {
    Error::NotSafetensors { reason: reason.to_string() }
}
