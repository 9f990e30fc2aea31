//! What SAC's backends have in common.

use crate::{
    ActionRange, DenseSac, Error, NetworkState, SacLossOptions, SacNetworks, SacUpdate, TensorWriter,
};

/// A [`SacUpdate`] that is made of given networks, and gives out what it has learnt, under CleanRL's names.
pub trait SacBackend: SacUpdate {
    /// Given networks, with fresh moments; minibatches have `batch` rows.
    fn from_networks(
        networks: &SacNetworks,
        range: &ActionRange,
        batch: usize,
        options: SacLossOptions,
    ) -> Result<Self, Error>
    where
        Self: Sized;

    /// Writes all parameters, their names after `prefix`: see [`DenseSac::write`].
    fn write(&self, prefix: &str, tensors: &mut TensorWriter) -> Result<(), Error>;

    /// Writes the actor's gradients of the last update of the policy: see [`DenseSac::write_actor_gradients`].
    fn write_actor_gradients(&self, prefix: &str, tensors: &mut TensorWriter) -> Result<(), Error>;

    /// Writes the critics' gradients of their last update: see [`DenseSac::write_critic_gradients`].
    fn write_critic_gradients(&self, prefix: &str, tensors: &mut TensorWriter) -> Result<(), Error>;

    /// What of it outlives a stop of the training; none where the library keeps that to itself.
    fn state(&mut self) -> Option<&mut dyn NetworkState> {
        None
    }
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

    fn state(&mut self) -> Option<&mut dyn NetworkState> {
        Some(self)
    }
}

#[cfg(any(feature = "burn", feature = "candle"))]
pub(super) use library::Layout;

#[cfg(any(feature = "burn", feature = "candle"))]
mod library {
    use crate::error::check_len;
    use crate::sac::{ACTOR_NAMES, CRITIC_NAMES};
    use crate::{ActionRange, Error, Mlp, PolicyNoise, SacMinibatch, SacNetworks, TensorWriter};

    /// What the networks take and give, and how their tensors are called.
    pub(in crate::backends) struct Layout {
        actor: Mlp,
        critic: Mlp,
        batch: usize,
    }

    impl Layout {
        pub(in crate::backends) fn new(
            networks: &SacNetworks,
            range: &ActionRange,
            batch: usize,
        ) -> Result<Self, Error> {
            let SacNetworks { actor, critics, targets, .. } = networks;
            let actions = actor.outputs() / 2;
            if batch == 0 || actor.outputs() != 2 * actions {
                return Err(Error::Sizes { sizes: vec![actor.inputs(), actor.outputs()], batch });
            }
            check_len("the action's range", actions, range.scale.len())?;
            check_len("the action's range", actions, range.bias.len())?;
            for critic in critics.iter().chain(targets) {
                check_len("the critic's input", actor.inputs() + actions, critic.inputs())?;
                check_len("the critic's output", 1, critic.outputs())?;
                check_len("the critic", critics[0].parameters().len(), critic.parameters().len())?;
            }
            Ok(Self { actor: actor.clone(), critic: critics[0].clone(), batch })
        }

        /// Values in an observation.
        pub(in crate::backends) fn inputs(&self) -> usize {
            self.actor.inputs()
        }

        /// Values in an action.
        pub(in crate::backends) fn actions(&self) -> usize {
            self.actor.outputs() / 2
        }

        pub(in crate::backends) fn check_row(
            &self,
            observation: &[f32],
            noise: &[f32],
            action: &[f32],
        ) -> Result<(), Error> {
            check_len("the observation", self.inputs(), observation.len())?;
            check_len("the noise", self.actions(), noise.len())?;
            check_len("the action", self.actions(), action.len())
        }

        pub(in crate::backends) fn check(
            &self,
            minibatch: &SacMinibatch<'_>,
            noise: &[f32],
        ) -> Result<(), Error> {
            let (observations, actions) = (self.batch * self.inputs(), self.round());
            check_len("observations", observations, minibatch.observations.len())?;
            check_len("next observations", observations, minibatch.next_observations.len())?;
            check_len("actions", actions, minibatch.actions.len())?;
            check_len("rewards", self.batch, minibatch.rewards.len())?;
            check_len("terminations", self.batch, minibatch.terminations.len())?;
            check_len("noise", actions, noise.len())
        }

        pub(in crate::backends) fn check_rounds(
            &self,
            observations: &[f32],
            noise: PolicyNoise<'_>,
        ) -> Result<(), Error> {
            check_len("observations", self.batch * self.inputs(), observations.len())?;
            let whole = noise.policy.len().max(self.round()).next_multiple_of(self.round());
            check_len("the policy's noise", whole, noise.policy.len())?;
            check_len("the temperature's noise", whole, noise.temperature.len())
        }

        /// The noise of policy and temperature, round by round.
        pub(in crate::backends) fn rounds<'a>(
            &self,
            noise: PolicyNoise<'a>,
        ) -> impl Iterator<Item = (&'a [f32], &'a [f32])> + use<'a> {
            noise.policy.chunks(self.round()).zip(noise.temperature.chunks(self.round()))
        }

        /// Values of noise in a round.
        fn round(&self) -> usize {
            self.batch * self.actions()
        }

        pub(in crate::backends) fn write_actor(
            &self,
            prefix: &str,
            values: &[f32],
            tensors: &mut TensorWriter,
        ) {
            self.actor.write_as(&format!("{prefix}actor."), ACTOR_NAMES, values, tensors);
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
                self.critic.write_as(&name, CRITIC_NAMES, values, tensors);
            }
        }
    }
}
