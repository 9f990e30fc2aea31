//! Updates of PPO, and the advantages of a rollout.

use torchforge_nn::{
    Activation, AdamOptions, DensePpo, Error, Mlp, PpoLossOptions, PpoMinibatch, PpoUpdate, SimdPath,
    TensorReader, TensorWriter,
};
use torchforge_rl::{GaeOptions, Rollout, advantages_and_returns};

use super::{Minibatches, Parity, actions};

/// Updates with one learning rate throughout.
pub(crate) struct PpoParity {
    pub(crate) actor: [usize; 4],
    pub(crate) critic: [usize; 4],
    pub(crate) loss: PpoLossOptions,
    pub(crate) adam: AdamOptions,
    pub(crate) gae: GaeOptions,
    pub(crate) updates: usize,
    pub(crate) path: SimdPath,
}

impl Parity for PpoParity {
    fn compute(&self, given: &TensorReader<'_>) -> Result<TensorWriter, Error> {
        let mut found = TensorWriter::new();
        self.look_back(given, &mut found)?;

        let network = |sizes, prefix| {
            Mlp::read(sizes, prefix, given).map(|network| network.with_activation(Activation::Tanh))
        };
        let (actor, critic) = (network(&self.actor, "actor.")?, network(&self.critic, "critic.")?);
        let field = |name| Minibatches::read(given, name);
        let (observations, log_probabilities) = (field("observations")?, field("log_probabilities")?);
        let (advantages, returns, values) = (field("advantages")?, field("returns")?, field("values")?);
        let (actions, batch) = actions(given)?;

        let mut networks =
            DensePpo::new(actor, critic, 1, batch, self.loss, self.adam)?.on_path(self.path)?;
        for index in 0..self.updates {
            let minibatch = PpoMinibatch {
                observations: observations.get(index),
                actions: actions.get(index * batch..(index + 1) * batch).unwrap_or_default(),
                log_probabilities: log_probabilities.get(index),
                advantages: advantages.get(index),
                returns: returns.get(index),
                values: values.get(index),
            };
            let loss = networks.update(minibatch, self.adam.learning_rate)?;
            if index == 0 {
                for (name, value) in [
                    ("loss", loss.total),
                    ("policy_loss", loss.policy),
                    ("value_loss", loss.value),
                    ("entropy", loss.entropy),
                    ("gradient_norm", loss.gradient_norm),
                ] {
                    found.push(name.into(), vec![1], [value]);
                }
                networks.actor().write("gradient.actor.", networks.actor_gradients(), &mut found);
                networks.critic().write("gradient.critic.", networks.critic_gradients(), &mut found);
                write(&networks, "parameter", &mut found);
            }
        }
        write(&networks, "after", &mut found);
        Ok(found)
    }
}

impl PpoParity {
    fn look_back(&self, given: &TensorReader<'_>, found: &mut TensorWriter) -> Result<(), Error> {
        let shape = given.shape("rollout.rewards")?;
        let [_, environments] = shape[..] else {
            return Err(Error::TensorKind {
                name: "rollout.rewards".into(),
                expected: "F32 of (steps, environments)".into(),
                found: format!("{shape:?}"),
            });
        };
        let field = |name: &str| given.f32(&format!("rollout.{name}"), &shape);
        let last = |name: &str| given.f32(&format!("rollout.{name}"), &[environments]);
        let (rewards, dones, values) = (field("rewards")?, field("dones")?, field("values")?);
        let (next_values, next_dones) = (last("next_value")?, last("next_done")?);
        let rollout = Rollout {
            rewards: &rewards,
            dones: &dones,
            values: &values,
            next_values: &next_values,
            next_dones: &next_dones,
        };
        let (mut advantages, mut returns) = (vec![0.0; rewards.len()], vec![0.0; rewards.len()]);
        advantages_and_returns(rollout, self.gae, &mut advantages, &mut returns);
        found.push("advantages".into(), shape.clone(), advantages);
        found.push("returns".into(), shape, returns);
        Ok(())
    }
}

fn write(networks: &DensePpo, prefix: &str, tensors: &mut TensorWriter) {
    for (name, network) in [("actor", networks.actor()), ("critic", networks.critic())] {
        network.write(&format!("{prefix}.{name}."), network.parameters(), tensors);
    }
}
