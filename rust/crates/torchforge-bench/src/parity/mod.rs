//! Updates from given weights and given minibatches, for comparison with another implementation: one file in, one out.

mod dqn;
mod ppo;
mod sac;

pub(crate) use dqn::DqnParity;
pub(crate) use ppo::PpoParity;
pub(crate) use sac::SacParity;

use std::ops::Range;
use std::path::Path;

use torchforge_nn::{Error, TensorReader, TensorWriter};

use crate::{Failure, files};

/// What an algorithm does with a file of weights and minibatches.
pub(crate) trait Parity {
    /// The networks between two updates.
    type Updates: Updates;

    /// How many updates follow one another.
    fn updates(&self) -> usize;

    /// The networks as given, with fresh moments.
    fn start(&self, given: &TensorReader<'_>) -> Result<Self::Updates, Error>;

    /// What is computed beside the updates.
    fn beside(&self, _given: &TensorReader<'_>, _found: &mut TensorWriter) -> Result<(), Error> {
        Ok(())
    }

    /// The file's updates in PyTorch's names and layout: what the first one found, and the parameters after all, which
    /// are those of `last` where somebody has made these updates already.
    fn compute(&self, given: &TensorReader<'_>, last: Option<&Self::Updates>) -> Result<TensorWriter, Error> {
        let mut found = TensorWriter::new();
        self.beside(given, &mut found)?;
        let mut updates = self.start(given)?;
        updates.first(&mut found)?;
        match last {
            Some(last) => last.write("after.", &mut found)?,
            None => {
                (1..self.updates()).try_for_each(|index| updates.update(index))?;
                updates.write("after.", &mut found)?;
            }
        }
        Ok(found)
    }

    /// Sees that a file holds what [`compute`](Self::compute) takes of it: by the first update and the last two, of which
    /// SAC's differ, and whose results are thrown away. All of them would be a training's warm-up.
    fn try_file(&self, path: &Path) -> Result<(), Failure> {
        files::with_tensors(path, |given| {
            let mut found = TensorWriter::new();
            self.beside(given, &mut found)?;
            let mut updates = self.start(given)?;
            updates.first(&mut found)?;
            (self.updates().saturating_sub(2)..self.updates()).try_for_each(|index| updates.update(index))
        })
    }

    /// [`compute`](Self::compute) from a file.
    fn of(&self, path: &Path) -> Result<Vec<u8>, Failure> {
        files::with_tensors(path, |given| self.compute(given, None)).map(TensorWriter::into_bytes)
    }
}

/// Networks, and the minibatches that they learn from one after the other.
pub(crate) trait Updates {
    /// The update from the `index`-th minibatch.
    fn update(&mut self, index: usize) -> Result<(), Error>;

    /// The same as `update(0)`; writes its losses, its gradients and the parameters after it.
    fn first(&mut self, found: &mut TensorWriter) -> Result<(), Error>;

    /// Writes all parameters, their names after `prefix`.
    fn write(&self, prefix: &str, found: &mut TensorWriter) -> Result<(), Error>;
}

/// Fields of consecutive minibatches, each (minibatches, values of one).
struct Minibatches {
    values: Vec<f32>,
    len: usize,
}

impl Minibatches {
    /// Reads a tensor whose first axis is that of the minibatches.
    fn read(given: &TensorReader<'_>, name: &str) -> Result<Self, Error> {
        let shape = given.shape(name)?;
        let values = given.f32(name, &shape)?;
        Ok(Self { len: len_of_one(&values, &shape), values })
    }

    /// The values of one; none where there are fewer.
    fn get(&self, index: usize) -> &[f32] {
        self.values.get(of_one(index, self.len)).unwrap_or_default()
    }
}

/// Discrete actions of consecutive minibatches, and how many there are in each.
fn actions(given: &TensorReader<'_>) -> Result<(Vec<u32>, usize), Error> {
    let shape = given.shape("actions")?;
    let actions = given.i64("actions", &shape)?;
    let batch = len_of_one(&actions, &shape);
    // An action beyond the range of u32 becomes one that the update refuses.
    Ok((actions.into_iter().map(|action| u32::try_from(action).unwrap_or(u32::MAX)).collect(), batch))
}

/// Where the values of the `index`-th minibatch are, each of `len`; beyond all values where there are no such places.
fn of_one(index: usize, len: usize) -> Range<usize> {
    index.saturating_mul(len)..(index + 1).saturating_mul(len)
}

/// Values of one minibatch: by those that are there, because a shape with a zero in it may promise any number.
pub(crate) fn len_of_one<T>(values: &[T], shape: &[usize]) -> usize {
    values.len().checked_div(shape.first().copied().unwrap_or(1)).unwrap_or(0)
}
