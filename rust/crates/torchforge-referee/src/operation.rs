//! What an implementation hands over for each case.

use std::path::Path;

use crate::Error;

/// One case of an operation, prepared: everything is read and made that does not depend on a number of the referee.
pub trait Operation {
    /// Calls in a repetition.
    fn calls(&self) -> usize;

    /// Takes the inputs of a repetition from one number for each of its calls. Not timed.
    fn prepare(&mut self, numbers: &[u64]);

    /// All calls of a repetition. Timed; each call keeps its outputs.
    fn run(&mut self);

    /// The outputs of a call of the last repetition, in the order of the benchmark's gate; none is empty.
    fn outputs(&self, call: usize) -> Vec<&[f64]>;

    /// How much work one call does, by the names of the benchmark's counts.
    fn counts(&self) -> Vec<(&'static str, u64)>;

    /// Writes the outputs of the last repetition into a folder, the call as the first axis of each.
    fn write(&self, folder: &Path) -> Result<(), Error>;
}
