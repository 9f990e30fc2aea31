//! Updates of DQN.

use torchforge_nn::{AdamOptions, DqnUpdate, Error, Minibatch, Mlp, TensorReader, TensorWriter};

use super::{Minibatches, Parity, actions};
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
    fn compute(&self, given: &TensorReader<'_>) -> Result<TensorWriter, Error> {
        let online = Mlp::read(&self.layers, "online.", given)?;
        let target = Mlp::read(&self.layers, "target.", given)?;
        let field = |name| Minibatches::read(given, name);
        let (observations, next_observations) = (field("observations")?, field("next_observations")?);
        let (rewards, terminations) = (field("rewards")?, field("terminations")?);
        let (actions, batch) = actions(given)?;

        let adam = AdamOptions::default();
        let mut network = AnyDqn::new(self.backend, &online, &target, batch, self.gamma, adam)?;
        let mut found = TensorWriter::new();
        for index in 0..self.updates {
            let loss = network.update(Minibatch {
                observations: observations.get(index),
                next_observations: next_observations.get(index),
                actions: actions.get(index * batch..(index + 1) * batch).unwrap_or_default(),
                rewards: rewards.get(index),
                terminations: terminations.get(index),
            })?;
            if index == 0 {
                found.push("loss".into(), vec![1], [loss]);
                online.write("gradient.", &network.gradients()?, &mut found);
                online.write("parameter.", &network.parameters()?, &mut found);
            }
        }
        online.write("after.", &network.parameters()?, &mut found);
        Ok(found)
    }
}
