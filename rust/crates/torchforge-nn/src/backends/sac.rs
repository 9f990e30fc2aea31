//! What SAC's backends have in common.

use crate::{
    ActionRange, DenseSac, Error, NetworkState, SacLossOptions, SacNetworks, SacUpdate, TensorWriter,
};

/// A [`SacUpdate`] that is made of given networks, and gives out what it has learnt, under CleanRL's names.
pub trait SacBackend: NetworkState + SacUpdate {
    /// Given networks, with fresh moments; minibatches have `batch` rows.
    ///
    /// # Errors
    ///
    /// Those of the same update on our own kernels, and [`Error::Backend`] where the library refuses.
    fn from_networks(
        networks: &SacNetworks,
        range: &ActionRange,
        batch: usize,
        options: SacLossOptions,
    ) -> Result<Self, Error>
    where
        Self: Sized;

    /// Writes all parameters, their names after `prefix`: see [`DenseSac::write`].
    ///
    /// # Errors
    ///
    /// [`Error::Backend`] where the library refuses.
    fn write(&self, prefix: &str, tensors: &mut TensorWriter) -> Result<(), Error>;

    /// Writes the actor's gradients of the last update of the policy: see [`DenseSac::write_actor_gradients`].
    ///
    /// # Errors
    ///
    /// [`Error::Backend`] where the library refuses.
    fn write_actor_gradients(&self, prefix: &str, tensors: &mut TensorWriter) -> Result<(), Error>;

    /// Writes the critics' gradients of their last update: see [`DenseSac::write_critic_gradients`].
    ///
    /// # Errors
    ///
    /// [`Error::Backend`] where the library refuses.
    fn write_critic_gradients(&self, prefix: &str, tensors: &mut TensorWriter) -> Result<(), Error>;
}

impl SacBackend for DenseSac {
    fn from_networks(
        networks: &SacNetworks,
        range: &ActionRange,
        batch: usize,
        options: SacLossOptions,
    ) -> Result<Self, Error> {
        Self::new(networks.clone(), range.clone(), batch, options)
    }

    fn write(&self, prefix: &str, tensors: &mut TensorWriter) -> Result<(), Error> {
        self.write(prefix, tensors);
        Ok(())
    }

    fn write_actor_gradients(&self, prefix: &str, tensors: &mut TensorWriter) -> Result<(), Error> {
        self.write_actor_gradients(prefix, tensors);
        Ok(())
    }

    fn write_critic_gradients(&self, prefix: &str, tensors: &mut TensorWriter) -> Result<(), Error> {
        self.write_critic_gradients(prefix, tensors);
        Ok(())
    }
}

#[cfg(any(feature = "burn", feature = "candle"))]
pub(super) use library::Layout;

#[cfg(any(feature = "burn", feature = "candle"))]
mod library {
    use crate::mlp::LayerNames;
    use crate::sac::SacSizes;
    use crate::{ActionRange, Error, Mlp, SacNetworks, TensorWriter};

    /// What the networks take and give, and how their tensors are called.
    pub(in crate::backends) struct Layout {
        actor: Mlp,
        critic: Mlp,
        pub(in crate::backends) sizes: SacSizes,
    }

    impl Layout {
        pub(in crate::backends) fn new(
            networks: &SacNetworks,
            range: &ActionRange,
            batch: usize,
        ) -> Result<Self, Error> {
            let sizes = SacSizes::of(networks, range, batch)?;
            Ok(Self { actor: networks.actor.clone(), critic: networks.critics[0].clone(), sizes })
        }

        pub(in crate::backends) fn write_actor(
            &self,
            prefix: &str,
            values: &[f32],
            tensors: &mut TensorWriter,
        ) {
            self.actor.write_as(&format!("{prefix}actor."), LayerNames::Actor, values, tensors);
        }

        /// Writes values of both critics, or of what has `suffix` after their names.
        pub(in crate::backends) fn write_critics(
            &self,
            prefix: &str,
            suffix: &str,
            values: &[Vec<f32>; 2],
            tensors: &mut TensorWriter,
        ) {
            for (number, values) in (1..).zip(values) {
                let name = format!("{prefix}qf{number}{suffix}.");
                self.critic.write_as(&name, LayerNames::Critic, values, tensors);
            }
        }
    }
}
