//! Updates from given weights and given minibatches, for comparison with another implementation: one file in, one out.

mod dqn;
mod order;
mod ppo;
mod sac;

pub(crate) use dqn::DqnParity;
pub(crate) use order::Order;
pub(crate) use ppo::PpoParity;
pub(crate) use sac::SacParity;

use std::ops::Range;
use std::path::Path;

use torchforge_nn::{Error, TensorReader, TensorWriter};

use crate::{Failure, files};

/// What an algorithm does with a file of weights and minibatches.
pub(crate) trait Parity {
    /// What a file holds: networks and minibatches.
    type Given: Given;

    /// The networks between two updates.
    type Updates: Updates<Given = Self::Given>;

    /// How many updates follow one another.
    fn updates(&self) -> usize;

    /// Reads a file.
    fn read(&self, tensors: &TensorReader<'_>) -> Result<Self::Given, Error>;

    /// The networks as given, with fresh moments.
    fn start(&self, given: &Self::Given) -> Result<Self::Updates, Error>;

    /// What is computed beside the updates.
    fn beside(&self, _tensors: &TensorReader<'_>, _found: &mut TensorWriter) -> Result<(), Error> {
        Ok(())
    }

    /// The first update of a file in its own order: what the file holds, the networks after it, and what was found.
    fn begin(&self, tensors: &TensorReader<'_>) -> Result<(Self::Given, Self::Updates, TensorWriter), Error> {
        let (given, mut found) = (self.read(tensors)?, TensorWriter::new());
        self.beside(tensors, &mut found)?;
        let mut updates = self.start(&given)?;
        updates.first(&given, &mut found)?;
        Ok((given, updates, found))
    }

    /// The updates of a file in its own order, in PyTorch's names and layout: what the first one found, and the
    /// parameters after all.
    fn of(&self, path: &Path) -> Result<Vec<u8>, Failure> {
        let found = files::with_tensors(path, |tensors| {
            let (given, mut updates, mut found) = self.begin(tensors)?;
            (1..self.updates()).try_for_each(|number| updates.update(&given, Call::plain(number)))?;
            updates.write(AFTER, &mut found)?;
            Ok(found)
        });
        found.map(TensorWriter::into_bytes)
    }

    /// Sees that a file holds what [`of`](Self::of) takes of it: by the first update and the last two, of which SAC's
    /// differ, and whose results are thrown away. All of them would be a training's warm-up.
    fn try_file(&self, path: &Path) -> Result<(), Failure> {
        files::with_tensors(path, |tensors| {
            let (given, mut updates, _) = self.begin(tensors)?;
            let last = self.updates().saturating_sub(2)..self.updates();
            last.map(Call::plain).try_for_each(|call| updates.update(&given, call))
        })
    }
}

/// What the parameters after all updates are called in a file begins with this.
pub(crate) const AFTER: &str = "after.";

/// Which of consecutive updates one is, and what it learns from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call<'a> {
    /// How many came before it.
    number: usize,
    /// Which of the file's minibatches it takes.
    minibatch: usize,
    /// The rewards of that minibatch, where they are not the file's.
    rewards: Option<&'a [f32]>,
}

impl<'a> Call<'a> {
    /// In the file's own order, from what it says.
    fn plain(number: usize) -> Self {
        Self { number, minibatch: number, rewards: None }
    }

    /// What it is rewarded with.
    fn rewards(self, given: &'a impl Given) -> &'a [f32] {
        self.rewards.unwrap_or_else(|| given.rewards().get(self.minibatch))
    }
}

/// What a file holds.
pub(crate) trait Given {
    /// The rewards of the minibatches, or what else says how much was got: PPO's returns.
    fn rewards(&self) -> &Minibatches;
}

/// Networks that learn from one minibatch after the other.
pub(crate) trait Updates {
    /// What the minibatches are part of.
    type Given;

    /// One update.
    fn update(&mut self, given: &Self::Given, call: Call<'_>) -> Result<(), Error>;

    /// The first update of the file's own order; writes its losses, its gradients and the parameters after it.
    fn first(&mut self, given: &Self::Given, found: &mut TensorWriter) -> Result<(), Error>;

    /// Writes all parameters, their names after `prefix`.
    fn write(&self, prefix: &str, found: &mut TensorWriter) -> Result<(), Error>;
}

/// Fields of consecutive minibatches, each (minibatches, values of one).
pub(crate) struct Minibatches {
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

    /// How many there are.
    fn count(&self) -> usize {
        self.values.len().checked_div(self.len).unwrap_or(0)
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
