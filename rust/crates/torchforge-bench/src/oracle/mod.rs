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

/// A tensor of the first minibatch: the file's tensor has one axis more, which is that of the minibatches.
fn first(given: &TensorReader<'_>, name: &str) -> Result<Vec<f64>, Error> {
    let shape = given.shape(name)?;
    let len = shape.iter().skip(1).product();
    Ok(all(given, name)?.into_iter().take(len).collect())
}

/// A whole tensor.
fn all(given: &TensorReader<'_>, name: &str) -> Result<Vec<f64>, Error> {
    Ok(given.f32(name, &given.shape(name)?)?.into_iter().map(f64::from).collect())
}

/// The actions of the first minibatch, of a discrete kind.
fn first_actions(given: &TensorReader<'_>) -> Result<Vec<usize>, Error> {
    let shape = given.shape("actions")?;
    let len = shape.iter().skip(1).product();
    Ok(given.i64("actions", &shape)?.into_iter().take(len).map(|action| action as usize).collect())
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}
