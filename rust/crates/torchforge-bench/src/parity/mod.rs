//! Updates from given weights and given minibatches, for comparison with another implementation: one file in, one out.

mod dqn;
mod ppo;
mod sac;

pub(crate) use dqn::DqnParity;
pub(crate) use ppo::PpoParity;
pub(crate) use sac::SacParity;

use std::path::Path;

use torchforge_nn::{TensorReader, TensorWriter};

use crate::{Failure, files};

/// What an algorithm does with a file of weights and minibatches.
pub(crate) trait Parity {
    /// Consecutive updates, from fresh moments; everything in PyTorch's names and layout.
    fn compute(&self, given: &TensorReader<'_>) -> Result<TensorWriter, torchforge_nn::Error>;

    /// [`compute`](Self::compute) from a file.
    fn of(&self, path: &Path) -> Result<Vec<u8>, Failure> {
        let bytes = files::read(path)?;
        TensorReader::new(&bytes)
            .and_then(|given| self.compute(&given))
            .map(TensorWriter::into_bytes)
            .map_err(|error| Failure::Input { path: path.to_owned(), reason: error.to_string() })
    }
}

/// Fields of consecutive minibatches, each (minibatches, values of one).
struct Minibatches {
    values: Vec<f32>,
    len: usize,
}

impl Minibatches {
    /// Reads a tensor whose first axis is that of the minibatches.
    fn read(given: &TensorReader<'_>, name: &str) -> Result<Self, torchforge_nn::Error> {
        let shape = given.shape(name)?;
        let len = shape.iter().skip(1).product();
        Ok(Self { values: given.f32(name, &shape)?, len })
    }

    /// The values of one; none where there are fewer.
    fn get(&self, index: usize) -> &[f32] {
        self.values.get(index * self.len..(index + 1) * self.len).unwrap_or_default()
    }
}

/// Discrete actions of consecutive minibatches, and how many there are in each.
fn actions(given: &TensorReader<'_>) -> Result<(Vec<u32>, usize), torchforge_nn::Error> {
    let shape = given.shape("actions")?;
    // An action beyond the range of u32 becomes one that the update refuses.
    let actions = given.i64("actions", &shape)?.into_iter().map(|a| u32::try_from(a).unwrap_or(u32::MAX));
    Ok((actions.collect(), shape.iter().skip(1).product()))
}
