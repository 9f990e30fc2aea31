//! What of a network outlives a stop of the training.

use crate::Error;

/// Some of the numbers that a network's future depends on, lent to be taken down or to be put back.
#[derive(Debug)]
pub enum Numbers<'a> {
    /// Parameters, moments.
    F32(&'a mut [f32]),
    /// Powers of decay rates.
    F64(&'a mut [f64]),
}

/// Is shown each group of numbers, with its name.
pub type Visit<'a> = dyn FnMut(&str, Numbers<'_>) + 'a;

/// Networks whose training can be stopped and gone on with.
#[auto_impl::auto_impl(Box)]
pub trait NetworkState {
    /// Shows all that updates to come depend on, besides what the networks were made of: parameters, targets and the
    /// optimisers' moments, always in the same order and with the same lengths. Numbers that `visit` changes count
    /// from then on.
    ///
    /// # Errors
    ///
    /// [`Error::Backend`] where a library does not give its numbers out.
    fn visit_state(&mut self, visit: &mut Visit<'_>) -> Result<(), Error>;
}
