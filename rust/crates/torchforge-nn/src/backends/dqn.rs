//! What DQN's backends have in common.

use crate::{AdamOptions, DenseDqn, DqnUpdate, Error, Mlp, NetworkState, TensorWriter};

/// A [`DqnUpdate`] that is made of given networks, and gives out what it has learnt.
pub trait DqnBackend: NetworkState + DqnUpdate {
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

    /// A network of the same sizes, which gives parameters their names in a file.
    fn layout(&self) -> &Mlp;

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

    /// The values of all actions for each of any number of observations, (rows, observation length); written to `values`,
    /// (rows, actions).
    ///
    /// # Errors
    ///
    /// [`Error::Len`] where there are no whole rows, or not as many values, and [`Error::Backend`] where the library refuses.
    fn values_of(&mut self, observations: &[f32], values: &mut [f32]) -> Result<(), Error>;

    /// Writes the online network's parameters: see [`Mlp::write`].
    ///
    /// # Errors
    ///
    /// [`Error::Backend`] where the library refuses.
    fn write(&self, prefix: &str, tensors: &mut TensorWriter) -> Result<(), Error> {
        self.layout().write(prefix, &self.parameters()?, tensors);
        Ok(())
    }

    /// Writes the gradients of the last update under the same names.
    ///
    /// # Errors
    ///
    /// [`Error::Backend`] where the library refuses.
    fn write_gradients(&self, prefix: &str, tensors: &mut TensorWriter) -> Result<(), Error> {
        self.layout().write(prefix, &self.gradients()?, tensors);
        Ok(())
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

    fn layout(&self) -> &Mlp {
        self.online()
    }

    fn parameters(&self) -> Result<Vec<f32>, Error> {
        Ok(self.online().parameters().to_vec())
    }

    fn gradients(&self) -> Result<Vec<f32>, Error> {
        Ok(self.gradients().to_vec())
    }

    fn values_of(&mut self, observations: &[f32], values: &mut [f32]) -> Result<(), Error> {
        self.values_of(observations, values)
    }
}
