//! An update from windows of several steps, of which each counts as a draw by priority says.

use crate::{Error, Minibatch};

/// What a minibatch of windows says beside its transitions. Their rewards are the windows' returns; next observations and
/// terminations are those of the windows' ends.
#[derive(Debug)]
pub struct Windows<'a> {
    /// By how much the value after each window counts, unless the task ended there; (batch).
    pub discounts: &'a [f32],
    /// How much each transition counts in the loss; (batch).
    pub weights: &'a [f32],
    /// Filled with each transition's `q(s, a) - y`, from before the gradient step; (batch).
    pub errors: &'a mut [f32],
}

/// A [`DqnUpdate`](crate::DqnUpdate) that learns from [`Windows`].
pub trait WindowedDqnUpdate {
    /// The discount of one step.
    fn gamma(&self) -> f32;

    /// One gradient step; returns the loss before it.
    ///
    /// The loss is the mean over the minibatch of `weight * (q(s, a) - y)^2` with
    /// `y = return + discount * max_b target(s', b) * (1 - terminated)`.
    ///
    /// # Errors
    ///
    /// Those of [`DqnUpdate::update`](crate::DqnUpdate::update).
    fn update_windows(&mut self, minibatch: Minibatch<'_>, windows: Windows<'_>) -> Result<f32, Error>;
}
