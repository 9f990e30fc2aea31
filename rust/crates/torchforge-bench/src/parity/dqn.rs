//! Updates of DQN.

use torchforge_nn::{Activation, AdamOptions, DqnUpdate, Error, Minibatch, Mlp, TensorReader, TensorWriter};

use super::{Call, Given, Minibatches, Parity, Updates, actions, of_one};
use crate::Backend;
use crate::backend::{AnyDqn, any_dqn};

/// Updates of the online network beside a target network that stays.
pub(crate) struct DqnParity {
    pub(crate) layers: [usize; 4],
    pub(crate) gamma: f64,
    pub(crate) updates: usize,
    pub(crate) backend: Backend,
}

impl Parity for DqnParity {
    type Given = DqnGiven;
    type Updates = DqnUpdates;

    fn updates(&self) -> usize {
        self.updates
    }

    fn read(&self, tensors: &TensorReader<'_>) -> Result<DqnGiven, Error> {
        let online = Mlp::read(&self.layers, Activation::Relu, "online.", tensors)?;
        let target = Mlp::read(&self.layers, Activation::Relu, "target.", tensors)?;
        let field = |name| Minibatches::read(tensors, name);
        let (actions, batch) = actions(tensors)?;
        Ok(DqnGiven {
            online,
            target,
            observations: field("observations")?,
            next_observations: field("next_observations")?,
            actions,
            batch,
            rewards: field("rewards")?,
            terminations: field("terminations")?,
        })
    }

    fn start(&self, given: &DqnGiven) -> Result<DqnUpdates, Error> {
        let (adam, DqnGiven { online, target, batch, .. }) = (AdamOptions::default(), given);
        Ok(DqnUpdates { network: any_dqn(self.backend, online, target, *batch, self.gamma, adam)? })
    }
}

/// The networks, and the minibatches.
pub(crate) struct DqnGiven {
    online: Mlp,
    target: Mlp,
    observations: Minibatches,
    next_observations: Minibatches,
    actions: Vec<u32>,
    batch: usize,
    rewards: Minibatches,
    terminations: Minibatches,
}

impl Given for DqnGiven {
    fn rewards(&self) -> &Minibatches {
        &self.rewards
    }
}

/// The network that learns.
pub(crate) struct DqnUpdates {
    network: AnyDqn,
}

impl DqnUpdates {
    fn loss(&mut self, given: &DqnGiven, call: Call<'_>) -> Result<f32, Error> {
        let index = call.minibatch;
        self.network.update(Minibatch {
            observations: given.observations.get(index),
            next_observations: given.next_observations.get(index),
            actions: given.actions.get(of_one(index, given.batch)).unwrap_or_default(),
            rewards: call.rewards(given),
            terminations: given.terminations.get(index),
        })
    }
}

impl Updates for DqnUpdates {
    type Given = DqnGiven;

    fn update(&mut self, given: &DqnGiven, call: Call<'_>) -> Result<(), Error> {
        self.loss(given, call).map(drop)
    }

    fn first(&mut self, given: &DqnGiven, found: &mut TensorWriter) -> Result<(), Error> {
        found.push("loss".into(), vec![1], [self.loss(given, Call::plain(0))?]);
        self.network.write_gradients("gradient.", found)?;
        self.write("parameter.", found)
    }

    fn write(&self, prefix: &str, found: &mut TensorWriter) -> Result<(), Error> {
        self.network.write(prefix, found)
    }
}
