//! PPO's networks on any backend.

use torchforge_nn::{
    Activation, AdamOptions, CategoricalPolicy, DensePpo, Error, Evaluation, Mlp, NetworkState, PolicyShift,
    PpoBackend, PpoLoss, PpoLossOptions, PpoMinibatch, PpoUpdate, TensorWriter, Visit,
};

use super::{Backend, Kernels, visit_state};

/// What lies between the layers of CleanRL's actor and of its critic.
const ACTIVATION: Activation = Activation::Tanh;

/// An actor and a critic on one of the backends.
pub(crate) struct AnyPpo {
    networks: Box<dyn PpoBackend>,
    /// What gives parameters their names in a file.
    layouts: [Mlp; 2],
}

impl AnyPpo {
    /// The given networks, with fresh moments: `rows` observations are evaluated at once, minibatches have `batch` rows.
    pub(crate) fn new(
        backend: Backend,
        actor: Mlp,
        critic: Mlp,
        rows: usize,
        batch: usize,
        options: PpoLossOptions,
        adam: AdamOptions,
    ) -> Result<Self, Error> {
        let networks: Box<dyn PpoBackend> = match backend {
            Backend::Own(Kernels { path, threads }) => {
                let networks =
                    DensePpo::from_networks(&actor, &critic, ACTIVATION, rows, batch, options, adam)?;
                Box::new(networks.on_path(path)?.on_threads(threads)?)
            }
            #[cfg(feature = "candle")]
            Backend::Candle => Box::new(torchforge_nn::CandlePpo::from_networks(
                &actor, &critic, ACTIVATION, rows, batch, options, adam,
            )?),
            #[cfg(feature = "burn")]
            Backend::Burn => Box::new(torchforge_nn::BurnPpo::from_networks(
                &actor, &critic, ACTIVATION, rows, batch, options, adam,
            )?),
        };
        Ok(Self { networks, layouts: [actor, critic] })
    }

    /// Writes the parameters of both networks: see [`Mlp::write`].
    pub(crate) fn write(&self, prefix: &str, tensors: &mut TensorWriter) -> Result<(), Error> {
        self.write_values(prefix, &self.networks.parameters()?, tensors);
        Ok(())
    }

    /// Writes the gradients of the last update, cut, under the same names.
    pub(crate) fn write_gradients(&self, prefix: &str, tensors: &mut TensorWriter) -> Result<(), Error> {
        self.write_values(prefix, &self.networks.gradients()?, tensors);
        Ok(())
    }

    fn write_values(&self, prefix: &str, values: &[Vec<f32>; 2], tensors: &mut TensorWriter) {
        for ((name, layout), values) in ["actor", "critic"].into_iter().zip(&self.layouts).zip(values) {
            layout.write(&format!("{prefix}{name}."), values, tensors);
        }
    }
}

impl NetworkState for AnyPpo {
    fn visit_state(&mut self, visit: &mut Visit<'_>) -> Result<(), Error> {
        visit_state(self.networks.state(), visit)
    }
}

impl PpoUpdate for AnyPpo {
    type Value = u32;

    fn batch(&self) -> usize {
        self.networks.batch()
    }

    fn first_not_finite(&self) -> Option<String> {
        self.networks.first_not_finite()
    }

    fn policy_shift(&mut self, minibatch: PpoMinibatch<'_>) -> Result<PolicyShift, Error> {
        self.networks.policy_shift(minibatch)
    }

    fn update(&mut self, minibatch: PpoMinibatch<'_>, learning_rate: f64) -> Result<PpoLoss, Error> {
        self.networks.update(minibatch, learning_rate)
    }
}

impl CategoricalPolicy for AnyPpo {
    fn action_count(&self) -> usize {
        self.networks.action_count()
    }

    fn evaluate(&mut self, observations: &[f32]) -> Result<Evaluation<'_>, Error> {
        self.networks.evaluate(observations)
    }
}
