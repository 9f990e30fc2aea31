//! Updates of PPO, and the advantages of a rollout.

use torchforge_nn::{
    Activation, AdamOptions, Error, Mlp, PpoLoss, PpoLossOptions, PpoMinibatch, PpoUpdate, TensorReader,
    TensorWriter,
};
use torchforge_rl::{GaeOptions, Rollout, advantages_and_returns};

use super::{Call, Given, Minibatches, Parity, Updates, actions, of_one};
use crate::Backend;
use crate::backend::{AnyPpo, any_ppo};

/// Updates with one learning rate throughout.
pub(crate) struct PpoParity {
    pub(crate) actor: [usize; 4],
    pub(crate) critic: [usize; 4],
    pub(crate) loss: PpoLossOptions,
    pub(crate) adam: AdamOptions,
    pub(crate) gae: GaeOptions,
    pub(crate) updates: usize,
    pub(crate) backend: Backend,
}

impl Parity for PpoParity {
    type Given = PpoGiven;
    type Updates = PpoUpdates;

    fn updates(&self) -> usize {
        self.updates
    }

    fn read(&self, tensors: &TensorReader<'_>) -> Result<PpoGiven, Error> {
        let actor = Mlp::read(&self.actor, Activation::Tanh, "actor.", tensors)?;
        let critic = Mlp::read(&self.critic, Activation::Tanh, "critic.", tensors)?;
        let field = |name| Minibatches::read(tensors, name);
        let (actions, batch) = actions(tensors)?;
        Ok(PpoGiven {
            actor,
            critic,
            observations: field("observations")?,
            actions,
            batch,
            log_probabilities: field("log_probabilities")?,
            advantages: field("advantages")?,
            returns: field("returns")?,
            values: field("values")?,
        })
    }

    fn start(&self, given: &PpoGiven) -> Result<PpoUpdates, Error> {
        let (actor, critic) = (given.actor.clone(), given.critic.clone());
        Ok(PpoUpdates {
            networks: any_ppo(self.backend, [&actor, &critic], 1, given.batch, self.loss, self.adam)?,
            learning_rate: self.adam.learning_rate,
        })
    }

    /// The advantages of a rollout.
    fn beside(&self, tensors: &TensorReader<'_>, found: &mut TensorWriter) -> Result<(), Error> {
        let shape = tensors.shape("rollout.rewards")?;
        let [_, environments @ (1..)] = shape[..] else {
            return Err(Error::TensorKind {
                name: "rollout.rewards".into(),
                expected: "F32 of (steps, environments), one at least".into(),
                found: format!("{shape:?}"),
            });
        };
        let field = |name: &str| tensors.f32(&format!("rollout.{name}"), &shape);
        let last = |name: &str| tensors.f32(&format!("rollout.{name}"), &[environments]);
        let (rewards, dones, values) = (field("rewards")?, field("dones")?, field("values")?);
        let (next_values, next_dones) = (last("next_value")?, last("next_done")?);
        // CleanRL's flags are of the step before; ours are of the step itself.
        let dones: Vec<f32> = dones.into_iter().chain(next_dones).skip(environments).collect();
        let rollout =
            Rollout { rewards: &rewards, dones: &dones, values: &values, next_values: &next_values };
        let (mut advantages, mut returns) = (vec![0.0; rewards.len()], vec![0.0; rewards.len()]);
        advantages_and_returns(rollout, self.gae, &mut advantages, &mut returns);
        found.push("advantages".into(), shape.clone(), advantages);
        found.push("returns".into(), shape, returns);
        Ok(())
    }
}

/// The networks, and the minibatches.
pub(crate) struct PpoGiven {
    actor: Mlp,
    critic: Mlp,
    observations: Minibatches,
    actions: Vec<u32>,
    batch: usize,
    log_probabilities: Minibatches,
    advantages: Minibatches,
    returns: Minibatches,
    values: Minibatches,
}

impl Given for PpoGiven {
    fn rewards(&self) -> &Minibatches {
        &self.returns
    }
}

/// The networks that learn.
pub(crate) struct PpoUpdates {
    networks: AnyPpo,
    learning_rate: f64,
}

impl PpoUpdates {
    fn loss(&mut self, given: &PpoGiven, call: Call<'_>) -> Result<PpoLoss, Error> {
        let index = call.minibatch;
        let minibatch = PpoMinibatch {
            observations: given.observations.get(index),
            actions: given.actions.get(of_one(index, given.batch)).unwrap_or_default(),
            log_probabilities: given.log_probabilities.get(index),
            advantages: given.advantages.get(index),
            returns: call.rewards(given),
            values: given.values.get(index),
        };
        self.networks.update(minibatch, self.learning_rate)
    }
}

impl Updates for PpoUpdates {
    type Given = PpoGiven;

    fn update(&mut self, given: &PpoGiven, call: Call<'_>) -> Result<(), Error> {
        self.loss(given, call).map(drop)
    }

    fn first(&mut self, given: &PpoGiven, found: &mut TensorWriter) -> Result<(), Error> {
        let loss = self.loss(given, Call::plain(0))?;
        for (name, value) in [
            ("loss", loss.total),
            ("policy_loss", loss.policy),
            ("value_loss", loss.value),
            ("entropy", loss.entropy),
            ("gradient_norm", loss.gradient_norm),
        ] {
            found.push(name.into(), vec![1], [value]);
        }
        self.networks.write_gradients("gradient.", found)?;
        self.write("parameter.", found)
    }

    fn write(&self, prefix: &str, found: &mut TensorWriter) -> Result<(), Error> {
        self.networks.write(prefix, found)
    }
}
