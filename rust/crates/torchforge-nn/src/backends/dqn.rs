//! What DQN's backends have in common.

use crate::{AdamOptions, DenseDqn, DqnUpdate, Error, Mlp, NetworkState};

/// A [`DqnUpdate`] that is made of given networks, and gives out what it has learnt.
pub trait DqnBackend: DqnUpdate {
    /// Networks of equal sizes, with fresh moments; minibatches have `batch` rows.
    ///
    /// # Errors
    ///
    /// Those of the same update on our own kernels, and [`Error::Backend`] where the library refuses.
    fn from_networks(
        online: &Mlp,
        target: &Mlp,
        batch: usize,
        gamma: f64,
        adam: AdamOptions,
    ) -> Result<Self, Error>
    where
        Self: Sized;

    /// The online network's parameters, laid out as [`Mlp::parameters`].
    ///
    /// # Errors
    ///
    /// [`Error::Backend`] where the library refuses.
    fn parameters(&self) -> Result<Vec<f32>, Error>;

    /// The gradients of the last update, laid out the same; zeros before the first.
    ///
    /// # Errors
    ///
    /// [`Error::Backend`] where the library refuses.
    fn gradients(&self) -> Result<Vec<f32>, Error>;

    /// What of it outlives a stop of the training; none where the library keeps that to itself.
    fn state(&mut self) -> Option<&mut dyn NetworkState> {
        None
    }
}

impl DqnBackend for DenseDqn {
    fn from_networks(
        online: &Mlp,
        target: &Mlp,
        batch: usize,
        gamma: f64,
        adam: AdamOptions,
    ) -> Result<Self, Error> {
        Self::from_networks(online.clone(), target.clone(), batch, gamma, adam)
    }

    fn parameters(&self) -> Result<Vec<f32>, Error> {
        Ok(self.online().parameters().to_vec())
    }

    fn gradients(&self) -> Result<Vec<f32>, Error> {
        Ok(self.gradients().to_vec())
    }

    fn state(&mut self) -> Option<&mut dyn NetworkState> {
        Some(self)
    }
}
