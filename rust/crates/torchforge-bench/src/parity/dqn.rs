//! Updates of DQN.

use torchforge_nn::{AdamOptions, DqnUpdate, Error, Minibatch, Mlp, TensorReader, TensorWriter};

use super::{Minibatches, Parity, Updates, actions, of_one};
use crate::Backend;
use crate::backend::AnyDqn;

/// Updates of the online network beside a target network that stays.
pub(crate) struct DqnParity {
    pub(crate) layers: [usize; 4],
    pub(crate) gamma: f64,
    pub(crate) updates: usize,
    pub(crate) backend: Backend,
}

impl Parity for DqnParity {
    type Updates = DqnUpdates;

    fn updates(&self) -> usize {
        self.updates
    }

    fn start(&self, given: &TensorReader<'_>) -> Result<DqnUpdates, Error> {
        let online = Mlp::read(&self.layers, "online.", given)?;
        let target = Mlp::read(&self.layers, "target.", given)?;
        let field = |name| Minibatches::read(given, name);
        let (actions, batch) = actions(given)?;
        let adam = AdamOptions::default();
        Ok(DqnUpdates {
            network: AnyDqn::new(self.backend, &online, &target, batch, self.gamma, adam)?,
            observations: field("observations")?,
            next_observations: field("next_observations")?,
            actions,
            batch,
            rewards: field("rewards")?,
            terminations: field("terminations")?,
        })
    }
}

/// The networks, and the minibatches.
pub(crate) struct DqnUpdates {
    network: AnyDqn,
    observations: Minibatches,
    next_observations: Minibatches,
    actions: Vec<u32>,
    batch: usize,
    rewards: Minibatches,
    terminations: Minibatches,
}

impl DqnUpdates {
    fn loss(&mut self, index: usize) -> Result<f32, Error> {
        let actions = self.actions.get(of_one(index, self.batch)).unwrap_or_default();
        self.network.update(Minibatch {
            observations: self.observations.get(index),
            next_observations: self.next_observations.get(index),
            actions,
            rewards: self.rewards.get(index),
            terminations: self.terminations.get(index),
        })
    }
}

impl Updates for DqnUpdates {
    fn update(&mut self, index: usize) -> Result<(), Error> {
        self.loss(index).map(drop)
    }

    fn first(&mut self, found: &mut TensorWriter) -> Result<(), Error> {
        found.push("loss".into(), vec![1], [self.loss(0)?]);
        self.network.write_gradients("gradient.", found)?;
        self.write("parameter.", found)
    }

    fn write(&self, prefix: &str, found: &mut TensorWriter) -> Result<(), Error> {
        self.network.write(prefix, found)
    }
}
