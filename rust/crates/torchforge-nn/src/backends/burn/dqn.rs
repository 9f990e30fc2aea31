//! One update of deep Q-learning on burn.

use burn::tensor::Device;

use super::network::{Learner, Network};
use super::{indices, rows, values};
use crate::backends::DqnBackend;
use crate::dqn::largest_difference;
use crate::error::{check_len, check_rows};
use crate::{Activation, AdamOptions, DqnUpdate, Error, Minibatch, Mlp};

/// [`DqnUpdate`] on burn's tensors and its automatic differentiation.
pub struct BurnDqn {
    device: Device,
    online: Learner,
    target: Network,
    gamma: f64,
    batch: usize,
    inputs: usize,
    outputs: usize,
    row: Vec<f32>,
}

impl DqnBackend for BurnDqn {
    fn from_networks(
        online: &Mlp,
        target: &Mlp,
        batch: usize,
        gamma: f64,
        adam: AdamOptions,
    ) -> Result<Self, Error> {
        let (inputs, outputs) = (online.inputs(), online.outputs());
        check_rows("a minibatch", 1, batch)?;
        check_len("the target network", online.parameters().len(), target.parameters().len())?;
        let device = Device::flex();
        let online = Learner::new(online, Activation::Relu, adam, &device);
        let target = Network::new(target, Activation::Relu, &device);
        Ok(Self { device, online, target, gamma, batch, inputs, outputs, row: vec![0.0; outputs] })
    }

    fn parameters(&self) -> Result<Vec<f32>, Error> {
        Ok(self.online.network.parameters())
    }

    fn gradients(&self) -> Result<Vec<f32>, Error> {
        Ok(self.online.gradients())
    }
}

impl DqnUpdate for BurnDqn {
    fn q_values(&mut self, observation: &[f32]) -> Result<&[f32], Error> {
        check_len("the observation", self.inputs, observation.len())?;
        self.row = values(&self.online.network.compute(rows(observation, self.inputs, &self.device)));
        Ok(&self.row)
    }

    fn update(&mut self, minibatch: Minibatch<'_>) -> Result<f32, Error> {
        minibatch.check(self.batch, self.inputs, self.outputs)?;
        let rows = |values, columns| rows(values, columns, &self.device);
        let next = self.target.compute(rows(minibatch.next_observations, self.inputs)).max_dim(1);
        let follows = rows(minibatch.terminations, 1).mul_scalar(-1.0).add_scalar(1.0);
        let target = rows(minibatch.rewards, 1) + next.mul_scalar(self.gamma) * follows;

        let online = self.online.network.recording();
        let actions = indices(minibatch.actions, &self.device).autodiff();
        let chosen = online.compute(rows(minibatch.observations, self.inputs).autodiff()).gather(1, actions);
        let loss = (chosen - target.autodiff()).square().mean();

        self.online.take(&online, &mut loss.backward());
        self.online.step();
        Ok(loss.into_scalar::<f32>())
    }

    fn copy_to_target(&mut self) {
        self.target = self.online.network.clone();
    }

    fn largest_target_difference(&self) -> f32 {
        largest_difference(&self.target.parameters(), &self.online.network.parameters())
    }
}
