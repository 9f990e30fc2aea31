//! Updates of SAC.

use torchforge_nn::{
    ActionRange, DenseSac, Error, PolicyNoise, SacLossOptions, SacMinibatch, SacNetworks, SacUpdate,
    SimdPath, TensorReader, TensorWriter,
};

use super::{Minibatches, Parity};

/// Updates of the critics, every `policy_frequency`-th one with as many rounds of policy and temperature.
pub(crate) struct SacParity {
    pub(crate) actor: [usize; 4],
    pub(crate) critic: [usize; 4],
    pub(crate) range: ActionRange,
    pub(crate) loss: SacLossOptions,
    pub(crate) policy_frequency: usize,
    pub(crate) updates: usize,
    pub(crate) path: SimdPath,
}

impl Parity for SacParity {
    fn compute(&self, given: &TensorReader<'_>) -> Result<TensorWriter, Error> {
        let networks = SacNetworks::read(&self.actor, &self.critic, given)?;
        let field = |name| Minibatches::read(given, name);
        let (observations, next_observations) = (field("observations")?, field("next_observations")?);
        let (actions, rewards, terminations) = (field("actions")?, field("rewards")?, field("terminations")?);
        let (next_noise, policy_noise) = (field("noise.next")?, field("noise.policy")?);
        let temperature_noise = field("noise.alpha")?;
        let round = actions.len;

        let mut sac =
            DenseSac::new(networks, self.range.clone(), rewards.len, self.loss)?.on_path(self.path)?;
        let mut found = TensorWriter::new();
        for index in 0..self.updates {
            let minibatch = SacMinibatch {
                observations: observations.get(index),
                next_observations: next_observations.get(index),
                actions: actions.get(index),
                rewards: rewards.get(index),
                terminations: terminations.get(index),
            };
            let loss = sac.update_critics(minibatch, next_noise.get(index))?;
            if index == 0 {
                found.push("qf_loss".into(), vec![1], [loss]);
                sac.write_critic_gradients("gradient.", &mut found);
            }
            if index % self.policy_frequency == 0 {
                // Round by round, so that the first one's gradients can be looked at; the bytes are the same.
                let rounds =
                    policy_noise.get(index).chunks(round).zip(temperature_noise.get(index).chunks(round));
                for (number, (policy, temperature)) in rounds.enumerate() {
                    let noise = PolicyNoise { policy, temperature };
                    let loss = sac.update_policy(observations.get(index), noise)?;
                    if (index, number) == (0, 0) {
                        for (name, value) in [
                            ("actor_loss", loss.policy),
                            ("alpha_loss", loss.temperature),
                            ("alpha", loss.alpha),
                            ("gradient.log_alpha", loss.temperature_gradient),
                        ] {
                            found.push(name.into(), vec![1], [value]);
                        }
                        sac.write_actor_gradients("gradient.", &mut found);
                    }
                }
            }
            sac.update_targets();
            if index == 0 {
                sac.write("parameter.", &mut found);
            }
        }
        sac.write("after.", &mut found);
        Ok(found)
    }
}
