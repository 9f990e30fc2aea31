//! What PPO's backends have in common.

use crate::{Activation, AdamOptions, CategoricalPolicy, DensePpo, Error, Mlp, NetworkState, PpoLossOptions};

/// A [`CategoricalPolicy`] that is made of given networks, and gives out what it has learnt.
pub trait PpoBackend: CategoricalPolicy {
    /// Networks of these parameters with `activation` between their layers, and fresh moments: up to `rows` observations are
    /// evaluated at once, minibatches have `batch` rows.
    ///
    /// # Errors
    ///
    /// Those of the same update on our own kernels, and [`Error::Backend`] where the library refuses.
    fn from_networks(
        actor: &Mlp,
        critic: &Mlp,
        activation: Activation,
        rows: usize,
        batch: usize,
        options: PpoLossOptions,
        adam: AdamOptions,
    ) -> Result<Self, Error>
    where
        Self: Sized;

    /// The parameters of the actor and of the critic, laid out as [`Mlp::parameters`].
    ///
    /// # Errors
    ///
    /// [`Error::Backend`] where the library refuses.
    fn parameters(&self) -> Result<[Vec<f32>; 2], Error>;

    /// The gradients of the last update, cut, laid out the same; zeros before the first.
    ///
    /// # Errors
    ///
    /// [`Error::Backend`] where the library refuses.
    fn gradients(&self) -> Result<[Vec<f32>; 2], Error>;

    /// What of it outlives a stop of the training; none where the library keeps that to itself.
    fn state(&mut self) -> Option<&mut dyn NetworkState> {
        None
    }
}

impl PpoBackend for DensePpo {
    fn from_networks(
        actor: &Mlp,
        critic: &Mlp,
        activation: Activation,
        rows: usize,
        batch: usize,
        options: PpoLossOptions,
        adam: AdamOptions,
    ) -> Result<Self, Error> {
        let network = |given: &Mlp| given.clone().with_activation(activation);
        Self::new(network(actor), network(critic), rows, batch, options, adam)
    }

    fn parameters(&self) -> Result<[Vec<f32>; 2], Error> {
        Ok([self.actor(), self.critic()].map(|network| network.parameters().to_vec()))
    }

    fn gradients(&self) -> Result<[Vec<f32>; 2], Error> {
        Ok([self.actor_gradients(), self.critic_gradients()].map(<[f32]>::to_vec))
    }

    fn state(&mut self) -> Option<&mut dyn NetworkState> {
        Some(self)
    }
}
