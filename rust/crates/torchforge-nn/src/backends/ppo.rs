//! What PPO's backends have in common.

use crate::{
    Activation, AdamOptions, CategoricalPolicy, DensePpo, Error, Mlp, NetworkState, PpoLossOptions,
    TensorWriter,
};

/// A [`CategoricalPolicy`] that is made of given networks, and gives out what it has learnt.
pub trait PpoBackend: NetworkState + CategoricalPolicy {
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

    /// An actor and a critic of the same sizes, which give parameters their names in a file.
    fn layouts(&self) -> [&Mlp; 2];

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

    /// Writes the parameters of both networks, after `actor.` and `critic.`: see [`Mlp::write`].
    ///
    /// # Errors
    ///
    /// [`Error::Backend`] where the library refuses.
    fn write(&self, prefix: &str, tensors: &mut TensorWriter) -> Result<(), Error> {
        write(self.layouts(), prefix, &self.parameters()?, tensors);
        Ok(())
    }

    /// Writes the gradients of the last update, cut, under the same names.
    ///
    /// # Errors
    ///
    /// [`Error::Backend`] where the library refuses.
    fn write_gradients(&self, prefix: &str, tensors: &mut TensorWriter) -> Result<(), Error> {
        write(self.layouts(), prefix, &self.gradients()?, tensors);
        Ok(())
    }
}

fn write(layouts: [&Mlp; 2], prefix: &str, values: &[Vec<f32>; 2], tensors: &mut TensorWriter) {
    for ((name, layout), values) in ["actor", "critic"].into_iter().zip(layouts).zip(values) {
        layout.write(&format!("{prefix}{name}."), values, tensors);
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

    fn layouts(&self) -> [&Mlp; 2] {
        [self.actor(), self.critic()]
    }

    fn parameters(&self) -> Result<[Vec<f32>; 2], Error> {
        Ok([self.actor(), self.critic()].map(|network| network.parameters().to_vec()))
    }

    fn gradients(&self) -> Result<[Vec<f32>; 2], Error> {
        Ok([self.actor_gradients(), self.critic_gradients()].map(<[f32]>::to_vec))
    }
}
