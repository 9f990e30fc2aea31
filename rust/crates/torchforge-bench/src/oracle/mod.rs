//! One update of each algorithm in `f64`, written as plainly as possible: what the kernels and PyTorch are held against.
//!
//! No kernel, no vector, no trick: loops over rows, and the chain rule as it stands in a textbook. It reads the file that
//! the parity updates are made from, and writes what they write of their first update, in double precision.

mod dqn;
mod network;
mod ppo;
mod sac;

use std::path::Path;

use torchforge_nn::{Error, TensorReader};

use crate::parity::len_of_one;
use crate::{Algorithm, Failure, files};

/// Reads weights and minibatches from one file and writes the first update to another.
pub(crate) fn run(of: Algorithm, input: &Path, output: &Path) -> Result<(), Failure> {
    let found = files::with_tensors(input, |given| match of {
        Algorithm::Dqn => dqn::update(given),
        Algorithm::Ppo => ppo::update(given),
        Algorithm::Sac => sac::update(given),
    })?;
    files::write(output, &found.into_bytes())
}

/// A tensor of the first minibatch, which has `len` values: the file's tensor has one axis more, which is that of the
/// minibatches.
fn first(given: &TensorReader<'_>, name: &str, len: usize) -> Result<Vec<f64>, Error> {
    let (values, shape) = (all(given, name)?, given.shape(name)?);
    if len == 0 || len_of_one(&values, &shape) != len {
        return Err(unfit(name, format!("of {len} values a minibatch, one at least"), &shape));
    }
    Ok(values.into_iter().take(len).collect())
}

/// A tensor whose shape is not that of the others.
fn unfit(name: &str, expected: String, found: &[usize]) -> Error {
    Error::TensorKind { name: name.to_owned(), expected, found: format!("{found:?}") }
}

/// A whole tensor.
fn all(given: &TensorReader<'_>, name: &str) -> Result<Vec<f64>, Error> {
    Ok(given.f32(name, &given.shape(name)?)?.into_iter().map(f64::from).collect())
}

/// The actions of the first minibatch, each below `count`.
fn first_actions(given: &TensorReader<'_>, count: usize) -> Result<Vec<usize>, Error> {
    let shape = given.shape("actions")?;
    let actions = given.i64("actions", &shape)?;
    let first = actions.iter().take(len_of_one(&actions, &shape)).map(|&action| action as usize);
    match first.clone().find(|&action| action >= count) {
        Some(action) => Err(Error::Action { action: u32::try_from(action).unwrap_or(u32::MAX), count }),
        None => Ok(first.collect()),
    }
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}
