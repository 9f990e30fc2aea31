//! DQN's network on any backend.

use torchforge_nn::{
    AdamOptions, DenseDqn, DqnBackend, DqnUpdate, Error, Minibatch, Mlp, NetworkState, TensorWriter, Visit,
};

use super::{Backend, Kernels, visit_state};

/// A network on one of the backends.
pub(crate) struct AnyDqn {
    network: Box<dyn DqnBackend>,
    /// What gives parameters their names in a file.
    layout: Mlp,
}

impl AnyDqn {
    /// The given networks, with fresh moments; minibatches have `batch` rows.
    pub(crate) fn new(
        backend: Backend,
        online: &Mlp,
        target: &Mlp,
        batch: usize,
        gamma: f64,
        adam: AdamOptions,
    ) -> Result<Self, Error> {
        let network: Box<dyn DqnBackend> = match backend {
            Backend::Own(Kernels { path, threads }) => {
                let network = DenseDqn::from_networks(online.clone(), target.clone(), batch, gamma, adam)?;
                Box::new(network.on_path(path)?.on_threads(threads)?)
            }
            #[cfg(feature = "candle")]
            Backend::Candle => {
                Box::new(torchforge_nn::CandleDqn::from_networks(online, target, batch, gamma, adam)?)
            }
            #[cfg(feature = "burn")]
            Backend::Burn => {
                Box::new(torchforge_nn::BurnDqn::from_networks(online, target, batch, gamma, adam)?)
            }
        };
        Ok(Self { network, layout: online.clone() })
    }

    /// Writes the online network's parameters: see [`Mlp::write`].
    pub(crate) fn write(&self, prefix: &str, tensors: &mut TensorWriter) -> Result<(), Error> {
        self.layout.write(prefix, &self.network.parameters()?, tensors);
        Ok(())
    }

    /// Writes the gradients of the last update under the same names.
    pub(crate) fn write_gradients(&self, prefix: &str, tensors: &mut TensorWriter) -> Result<(), Error> {
        self.layout.write(prefix, &self.network.gradients()?, tensors);
        Ok(())
    }
}

impl NetworkState for AnyDqn {
    fn visit_state(&mut self, visit: &mut Visit<'_>) -> Result<(), Error> {
        visit_state(self.network.state(), visit)
    }
}

impl DqnUpdate for AnyDqn {
    fn batch(&self) -> usize {
        self.network.batch()
    }

    fn first_not_finite(&self) -> Option<String> {
        self.network.first_not_finite()
    }

    fn q_values(&mut self, observation: &[f32]) -> Result<&[f32], Error> {
        self.network.q_values(observation)
    }

    fn mean_value(&mut self, minibatch: Minibatch<'_>) -> Result<f32, Error> {
        self.network.mean_value(minibatch)
    }

    fn update(&mut self, minibatch: Minibatch<'_>) -> Result<f32, Error> {
        self.network.update(minibatch)
    }

    fn update_target(&mut self, tau: f64) {
        self.network.update_target(tau);
    }

    fn largest_target_difference(&self) -> f32 {
        self.network.largest_target_difference()
    }
}
