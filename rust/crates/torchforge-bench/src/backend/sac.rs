//! SAC's networks on any backend.

use torchforge_nn::{
    ActionRange, CriticLoss, DenseSac, Error, NetworkState, PolicyLoss, PolicyNoise, SacBackend,
    SacLossOptions, SacMinibatch, SacNetworks, SacUpdate, TensorWriter, Visit,
};

use super::{Backend, Kernels, visit_state};

/// Actor, critics, targets and temperature on one of the backends.
pub(crate) struct AnySac(Box<dyn SacBackend>);

impl AnySac {
    /// The given networks, with fresh moments; minibatches have `batch` rows.
    pub(crate) fn new(
        backend: Backend,
        networks: SacNetworks,
        range: ActionRange,
        batch: usize,
        options: SacLossOptions,
    ) -> Result<Self, Error> {
        Ok(Self(match backend {
            Backend::Own(Kernels { path, threads }) => {
                let networks = DenseSac::new(networks, range, batch, options)?;
                Box::new(networks.on_path(path)?.on_threads(threads)?)
            }
            #[cfg(feature = "candle")]
            Backend::Candle => {
                Box::new(torchforge_nn::CandleSac::from_networks(&networks, &range, batch, options)?)
            }
            #[cfg(feature = "burn")]
            Backend::Burn => {
                Box::new(torchforge_nn::BurnSac::from_networks(&networks, &range, batch, options)?)
            }
        }))
    }

    /// Writes all parameters: see [`DenseSac::write`].
    pub(crate) fn write(&self, prefix: &str, tensors: &mut TensorWriter) -> Result<(), Error> {
        self.0.write(prefix, tensors)
    }

    /// Writes the actor's gradients of the last update of the policy.
    pub(crate) fn write_actor_gradients(
        &self,
        prefix: &str,
        tensors: &mut TensorWriter,
    ) -> Result<(), Error> {
        self.0.write_actor_gradients(prefix, tensors)
    }

    /// Writes the critics' gradients of their last update.
    pub(crate) fn write_critic_gradients(
        &self,
        prefix: &str,
        tensors: &mut TensorWriter,
    ) -> Result<(), Error> {
        self.0.write_critic_gradients(prefix, tensors)
    }
}

impl NetworkState for AnySac {
    fn visit_state(&mut self, visit: &mut Visit<'_>) -> Result<(), Error> {
        visit_state(self.0.state(), visit)
    }
}

impl SacUpdate for AnySac {
    fn batch(&self) -> usize {
        self.0.batch()
    }

    fn first_not_finite(&self) -> Option<String> {
        self.0.first_not_finite()
    }

    fn action_len(&self) -> usize {
        self.0.action_len()
    }

    fn learns_temperature(&self) -> bool {
        self.0.learns_temperature()
    }

    fn act(&mut self, observation: &[f32], noise: &[f32], action: &mut [f32]) -> Result<(), Error> {
        self.0.act(observation, noise, action)
    }

    fn update_critics(&mut self, minibatch: SacMinibatch<'_>, noise: &[f32]) -> Result<CriticLoss, Error> {
        self.0.update_critics(minibatch, noise)
    }

    fn update_policy(&mut self, observations: &[f32], noise: PolicyNoise<'_>) -> Result<PolicyLoss, Error> {
        self.0.update_policy(observations, noise)
    }

    fn update_targets(&mut self) {
        self.0.update_targets();
    }
}
