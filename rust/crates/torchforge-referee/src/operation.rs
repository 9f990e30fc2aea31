//! What an implementation hands over for each case that is repeated.

use std::path::Path;
use std::time::Instant;

use crate::{Digest, Error, Figure, Memory, Round, Window, Work, numbers};

/// One case of an operation, prepared: everything is read and made that does not depend on a number of the referee.
pub trait Operation: Work {
    /// Calls in a repetition.
    fn calls(&self) -> usize;

    /// Takes the inputs of a repetition from one number for each of its calls. Not timed.
    ///
    /// # Errors
    ///
    /// Any of the implementation's own: [`serve`](crate::serve) ends with it.
    fn prepare(&mut self, numbers: &[u64]) -> Result<(), Error>;

    /// All calls of a repetition. Timed; each call keeps its outputs.
    ///
    /// # Errors
    ///
    /// Any of the implementation's own: [`serve`](crate::serve) ends with it.
    fn run(&mut self) -> Result<(), Error>;

    /// Adds the outputs of the last repetition, as its files hold them. Not timed.
    ///
    /// # Errors
    ///
    /// Any of the implementation's own: [`serve`](crate::serve) ends with it.
    fn digest(&self, digest: &mut Digest) -> Result<(), Error>;

    /// How much work is done, by the names of the benchmark's counts.
    fn counts(&self) -> Vec<(&'static str, u64)>;

    /// Metrics beside the seconds of a call.
    fn figures(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// Writes the outputs of the last repetition into a folder.
    ///
    /// # Errors
    ///
    /// Any of the implementation's own: [`serve`](crate::serve) ends with it.
    fn write(&mut self, folder: &Path) -> Result<(), Error>;
}

/// A window is its repetitions one after the other: each prepared, timed and digested.
impl<O: Operation> Work for O {
    fn round(&mut self, window: &Window) -> Result<Round, Error> {
        let (mut seconds, mut digests, mut timed_seconds) = (Vec::new(), Vec::new(), 0.0);
        for later in 0..window.repetitions {
            let repetition = window.first.checked_add(later).ok_or(Error::Repetition(window.first))?;
            let elapsed = repeat(self, window.nonce, repetition)?;
            timed_seconds += elapsed;
            seconds.push(elapsed / self.calls() as f64);
            let mut digest = Digest::default();
            self.digest(&mut digest)?;
            digests.push(digest);
        }
        let figures = self.figures().into_iter().map(|(name, figure)| (name, Figure::One(figure)));
        Ok(Round {
            metrics: figures.chain([("seconds", Figure::Each(seconds))]).collect(),
            counts: self.counts().into_iter().collect(),
            digests,
            memory: Memory::now(),
            timed_seconds,
        })
    }

    fn outputs(&mut self, nonce: u64, repetition: u64, folder: &Path) -> Result<(), Error> {
        repeat(self, nonce, repetition)?;
        self.write(folder)
    }
}

/// One repetition, prepared and run: the seconds of its calls together.
///
/// # Errors
///
/// What the operation says, or a repetition so late that its calls have no numbers.
pub fn repeat(operation: &mut (impl Operation + ?Sized), nonce: u64, repetition: u64) -> Result<f64, Error> {
    operation.prepare(&numbers(nonce, repetition, operation.calls())?)?;
    let start = Instant::now();
    operation.run()?;
    Ok(start.elapsed().as_secs_f64())
}
