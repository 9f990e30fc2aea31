//! What PPO's backends have in common.

use crate::{Activation, AdamOptions, DensePpo, Error, Mlp, NetworkState, PpoLossOptions, PpoUpdate};

/// A [`PpoUpdate`] that is made of given networks, and gives out what it has learnt.
pub trait PpoBackend: PpoUpdate {
    /// Networks of these parameters with `activation` between their layers, and fresh moments: `rows` observations are
    /// evaluated at once, minibatches have `batch` rows.
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
    fn parameters(&self) -> Result<[Vec<f32>; 2], Error>;

    /// The gradients of the last update, cut, laid out the same; zeros before the first.
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

#[cfg(any(feature = "burn", feature = "candle"))]
pub(super) use library::{Sizes, largest_share};

#[cfg(any(feature = "burn", feature = "candle"))]
mod library {
    use crate::error::{check_actions, check_len};
    use crate::{Error, Mlp, PpoMinibatch};

    /// What the networks take and give.
    pub(in crate::backends) struct Sizes {
        pub(in crate::backends) inputs: usize,
        pub(in crate::backends) actions: usize,
        pub(in crate::backends) rows: usize,
        pub(in crate::backends) batch: usize,
    }

    impl Sizes {
        pub(in crate::backends) fn new(
            actor: &Mlp,
            critic: &Mlp,
            rows: usize,
            batch: usize,
        ) -> Result<Self, Error> {
            let (inputs, actions) = (actor.inputs(), actor.outputs());
            // Of one row there is no standard deviation.
            if batch < 2 || rows == 0 {
                return Err(Error::Sizes { sizes: vec![inputs, actions], batch: batch.min(rows) });
            }
            check_len("the critic's observation", inputs, critic.inputs())?;
            check_len("the critic's output", 1, critic.outputs())?;
            Ok(Self { inputs, actions, rows, batch })
        }

        pub(in crate::backends) fn check_rows(&self, observations: &[f32]) -> Result<(), Error> {
            check_len("observations", self.rows * self.inputs, observations.len())
        }

        pub(in crate::backends) fn check(&self, minibatch: &PpoMinibatch<'_>) -> Result<(), Error> {
            check_len("observations", self.batch * self.inputs, minibatch.observations.len())?;
            check_len("actions", self.batch, minibatch.actions.len())?;
            check_len("log probabilities", self.batch, minibatch.log_probabilities.len())?;
            check_len("advantages", self.batch, minibatch.advantages.len())?;
            check_len("returns", self.batch, minibatch.returns.len())?;
            check_len("values", self.batch, minibatch.values.len())?;
            check_actions(minibatch.actions, self.actions)
        }
    }

    /// What gradients of this length are multiplied by, so that they are no longer than `largest`: as
    /// `torch.nn.utils.clip_grad_norm_` has it.
    pub(in crate::backends) fn largest_share(largest: f64, length: f64) -> f64 {
        let share = largest / (length + 1e-6);
        if share < 1.0 { share } else { 1.0 }
    }
}
