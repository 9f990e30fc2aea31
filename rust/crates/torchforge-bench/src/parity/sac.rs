//! Updates of SAC.

use torchforge_nn::{
    ActionRange, CriticLoss, Error, PolicyNoise, SacLossOptions, SacMinibatch, SacNetworks, SacUpdate,
    TensorReader, TensorWriter,
};

use super::{Call, Given, Minibatches, Parity, Updates};
use crate::Backend;
use crate::backend::{AnySac, any_sac};

/// Updates of the critics. Where there is a `policy_frequency`, every so many-th has as many rounds of policy and
/// temperature, and the targets move; without one the critics learn alone.
pub(crate) struct SacParity {
    pub(crate) actor: [usize; 4],
    pub(crate) critic: [usize; 4],
    pub(crate) range: ActionRange,
    pub(crate) loss: SacLossOptions,
    pub(crate) policy_frequency: Option<usize>,
    pub(crate) updates: usize,
    pub(crate) backend: Backend,
}

impl Parity for SacParity {
    type Given = SacGiven;
    type Updates = SacUpdates;

    fn updates(&self) -> usize {
        self.updates
    }

    fn read(&self, tensors: &TensorReader<'_>) -> Result<SacGiven, Error> {
        let field = |name| Minibatches::read(tensors, name);
        Ok(SacGiven {
            networks: SacNetworks::read(&self.actor, &self.critic, tensors)?,
            observations: field("observations")?,
            next_observations: field("next_observations")?,
            actions: field("actions")?,
            rewards: field("rewards")?,
            terminations: field("terminations")?,
            next_noise: field("noise.next")?,
            policy_noise: field("noise.policy")?,
            temperature_noise: field("noise.alpha")?,
        })
    }

    fn start(&self, given: &SacGiven) -> Result<SacUpdates, Error> {
        let (networks, range, batch) = (given.networks.clone(), self.range.clone(), given.rewards.len);
        Ok(SacUpdates {
            sac: any_sac(self.backend, networks, range, batch, self.loss)?,
            policy_frequency: self.policy_frequency,
        })
    }
}

/// The networks, the minibatches and the noise of every sampling.
pub(crate) struct SacGiven {
    networks: SacNetworks,
    observations: Minibatches,
    next_observations: Minibatches,
    actions: Minibatches,
    rewards: Minibatches,
    terminations: Minibatches,
    next_noise: Minibatches,
    policy_noise: Minibatches,
    temperature_noise: Minibatches,
}

impl Given for SacGiven {
    fn rewards(&self) -> &Minibatches {
        &self.rewards
    }
}

/// The networks that learn.
pub(crate) struct SacUpdates {
    sac: AnySac,
    policy_frequency: Option<usize>,
}

impl SacUpdates {
    fn update_critics(&mut self, given: &SacGiven, call: Call<'_>) -> Result<CriticLoss, Error> {
        let index = call.minibatch;
        let minibatch = SacMinibatch {
            observations: given.observations.get(index),
            next_observations: given.next_observations.get(index),
            actions: given.actions.get(index),
            rewards: call.rewards(given),
            terminations: given.terminations.get(index),
        };
        self.sac.update_critics(minibatch, given.next_noise.get(index))
    }
}

impl Updates for SacUpdates {
    type Given = SacGiven;

    fn update(&mut self, given: &SacGiven, call: Call<'_>) -> Result<(), Error> {
        self.update_critics(given, call)?;
        let Some(policy_frequency) = self.policy_frequency else { return Ok(()) };
        if call.number.is_multiple_of(policy_frequency) {
            let noise = PolicyNoise {
                policy: given.policy_noise.get(call.minibatch),
                temperature: given.temperature_noise.get(call.minibatch),
            };
            self.sac.update_policy(given.observations.get(call.minibatch), noise)?;
        }
        self.sac.update_targets();
        Ok(())
    }

    /// Round by round, so that the first one's gradients can be looked at; the bytes are the same.
    fn first(&mut self, given: &SacGiven, found: &mut TensorWriter) -> Result<(), Error> {
        let call = Call::plain(0);
        found.push("qf_loss".into(), vec![1], [self.update_critics(given, call)?.sum]);
        self.sac.write_critic_gradients("gradient.", found)?;
        if self.policy_frequency.is_none() {
            return self.write("parameter.", found);
        }
        let (round, index) = (given.actions.len, call.minibatch);
        let noises =
            [&given.policy_noise, &given.temperature_noise].map(|noise| noise.get(index).chunks(round));
        let [policies, temperatures] = noises;
        let rounds = policies.zip(temperatures);
        for (number, (policy, temperature)) in rounds.enumerate() {
            let noise = PolicyNoise { policy, temperature };
            let loss = self.sac.update_policy(given.observations.get(index), noise)?;
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

    /// Of critics that learn alone theirs, for no other parameter changes.
    fn write(&self, prefix: &str, found: &mut TensorWriter) -> Result<(), Error> {
        self.sac.write(prefix, found)?;
        if self.policy_frequency.is_none() {
            found.retain(|name| name.strip_prefix(prefix).is_none_or(is_of_critic));
        }
        Ok(())
    }
}

/// Whether a parameter belongs to a critic that learns, and not to its target.
fn is_of_critic(name: &str) -> bool {
    name.starts_with("qf1.") || name.starts_with("qf2.")
}
