//! Updates of SAC.

use torchforge_nn::{
    ActionRange, Error, PolicyNoise, SacLossOptions, SacMinibatch, SacNetworks, SacUpdate, TensorReader,
    TensorWriter,
};

use super::{Minibatches, Parity, Updates};
use crate::Backend;
use crate::backend::AnySac;

/// Updates of the critics, every `policy_frequency`-th one with as many rounds of policy and temperature.
pub(crate) struct SacParity {
    pub(crate) actor: [usize; 4],
    pub(crate) critic: [usize; 4],
    pub(crate) range: ActionRange,
    pub(crate) loss: SacLossOptions,
    pub(crate) policy_frequency: usize,
    pub(crate) updates: usize,
    pub(crate) backend: Backend,
}

impl Parity for SacParity {
    type Updates = SacUpdates;

    fn updates(&self) -> usize {
        self.updates
    }

    fn start(&self, given: &TensorReader<'_>) -> Result<SacUpdates, Error> {
        let networks = SacNetworks::read(&self.actor, &self.critic, given)?;
        let field = |name| Minibatches::read(given, name);
        let rewards = field("rewards")?;
        Ok(SacUpdates {
            sac: AnySac::new(self.backend, networks, self.range.clone(), rewards.len, self.loss)?,
            policy_frequency: self.policy_frequency,
            observations: field("observations")?,
            next_observations: field("next_observations")?,
            actions: field("actions")?,
            rewards,
            terminations: field("terminations")?,
            next_noise: field("noise.next")?,
            policy_noise: field("noise.policy")?,
            temperature_noise: field("noise.alpha")?,
        })
    }
}

/// The networks, the minibatches and the noise of every sampling.
pub(crate) struct SacUpdates {
    sac: AnySac,
    policy_frequency: usize,
    observations: Minibatches,
    next_observations: Minibatches,
    actions: Minibatches,
    rewards: Minibatches,
    terminations: Minibatches,
    next_noise: Minibatches,
    policy_noise: Minibatches,
    temperature_noise: Minibatches,
}

impl SacUpdates {
    fn update_critics(&mut self, index: usize) -> Result<f32, Error> {
        let minibatch = SacMinibatch {
            observations: self.observations.get(index),
            next_observations: self.next_observations.get(index),
            actions: self.actions.get(index),
            rewards: self.rewards.get(index),
            terminations: self.terminations.get(index),
        };
        self.sac.update_critics(minibatch, self.next_noise.get(index))
    }
}

impl Updates for SacUpdates {
    fn update(&mut self, index: usize) -> Result<(), Error> {
        self.update_critics(index)?;
        if index.is_multiple_of(self.policy_frequency) {
            let noise = PolicyNoise {
                policy: self.policy_noise.get(index),
                temperature: self.temperature_noise.get(index),
            };
            self.sac.update_policy(self.observations.get(index), noise)?;
        }
        self.sac.update_targets();
        Ok(())
    }

    /// Round by round, so that the first one's gradients can be looked at; the bytes are the same.
    fn first(&mut self, found: &mut TensorWriter) -> Result<(), Error> {
        found.push("qf_loss".into(), vec![1], [self.update_critics(0)?]);
        self.sac.write_critic_gradients("gradient.", found)?;
        let round = self.actions.len;
        let rounds = self.policy_noise.get(0).chunks(round).zip(self.temperature_noise.get(0).chunks(round));
        for (number, (policy, temperature)) in rounds.enumerate() {
            let noise = PolicyNoise { policy, temperature };
            let loss = self.sac.update_policy(self.observations.get(0), noise)?;
            if number == 0 {
                for (name, value) in [
                    ("actor_loss", loss.policy),
                    ("alpha_loss", loss.temperature),
                    ("alpha", loss.alpha),
                    ("gradient.log_alpha", loss.temperature_gradient),
                ] {
                    found.push(name.into(), vec![1], [value]);
                }
                self.sac.write_actor_gradients("gradient.", found)?;
            }
        }
        self.sac.update_targets();
        self.write("parameter.", found)
    }

    fn write(&self, prefix: &str, found: &mut TensorWriter) -> Result<(), Error> {
        self.sac.write(prefix, found)
    }
}
