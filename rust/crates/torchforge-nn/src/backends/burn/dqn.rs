//! One update of deep Q-learning on burn.

use burn::tensor::{Device, Int, Tensor, TensorData};

use super::parameter::Clock;
use super::{Layer, Linear, forward, layers, values};
use crate::backends::DqnBackend;
use crate::dqn::largest_difference;
use crate::error::check_len;
use crate::{AdamOptions, DqnUpdate, Error, Minibatch, Mlp};

/// [`DqnUpdate`] on burn's tensors and its automatic differentiation.
pub struct BurnDqn {
    device: Device,
    online: Vec<Layer>,
    target: Vec<Linear>,
    clock: Clock,
    gamma: f64,
    batch: usize,
    inputs: usize,
    outputs: usize,
    row: Vec<f32>,
}

impl BurnDqn {
    fn rows(&self, values: &[f32], columns: usize) -> Tensor<2> {
        Tensor::from_data(TensorData::new(values.to_vec(), [self.batch, columns]), &self.device)
    }

    /// What the online network acts with: nothing is recorded.
    fn bare(&self) -> Vec<Linear> {
        let linear =
            |layer: &Layer| Linear { weight: layer.weight.value.clone(), bias: layer.bias.value.clone() };
        self.online.iter().map(linear).collect()
    }

    /// The values of every parameter, or of what stands beside it.
    fn flat(
        &self,
        weight: impl Fn(&Layer) -> Option<&Tensor<2>>,
        bias: impl Fn(&Layer) -> Option<&Tensor<1>>,
    ) -> Vec<f32> {
        let mut found = Vec::new();
        for layer in &self.online {
            found.extend(weight(layer).map(values).unwrap_or_default());
            found.extend(bias(layer).map(values).unwrap_or_default());
        }
        found
    }
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
        if batch == 0 {
            return Err(Error::Sizes { sizes: vec![inputs, outputs], batch });
        }
        check_len("the target network", online.parameters().len(), target.parameters().len())?;
        let device = Device::flex();
        let target = layers(target, &device);
        let target =
            target.into_iter().map(|l| Linear { weight: l.weight.value, bias: l.bias.value }).collect();
        let online = layers(online, &device);
        let (clock, row) = (Clock::new(adam), vec![0.0; outputs]);
        Ok(Self { device, online, target, clock, gamma, batch, inputs, outputs, row })
    }

    fn parameters(&self) -> Result<Vec<f32>, Error> {
        Ok(self.flat(|layer| Some(&layer.weight.value), |layer| Some(&layer.bias.value)))
    }

    fn gradients(&self) -> Result<Vec<f32>, Error> {
        Ok(self.flat(|layer| layer.weight.gradient.as_ref(), |layer| layer.bias.gradient.as_ref()))
    }
}

impl DqnUpdate for BurnDqn {
    fn q_values(&mut self, observation: &[f32]) -> Result<&[f32], Error> {
        check_len("the observation", self.inputs, observation.len())?;
        let row = TensorData::new(observation.to_vec(), [1, self.inputs]);
        self.row = values(&forward(&self.bare(), Tensor::from_data(row, &self.device)));
        Ok(&self.row)
    }

    fn update(&mut self, minibatch: Minibatch<'_>) -> Result<f32, Error> {
        minibatch.check(self.batch, self.inputs, self.outputs)?;
        let next = forward(&self.target, self.rows(minibatch.next_observations, self.inputs)).max_dim(1);
        let follows = self.rows(minibatch.terminations, 1).mul_scalar(-1.0).add_scalar(1.0);
        let target = self.rows(minibatch.rewards, 1) + next.mul_scalar(self.gamma) * follows;

        let leaf = |layer: &Layer| Linear { weight: layer.weight.leaf(), bias: layer.bias.leaf() };
        let leaves: Vec<Linear> = self.online.iter().map(leaf).collect();
        let actions = minibatch.actions.iter().map(|&action| i64::from(action)).collect();
        let actions: Tensor<2, Int> =
            Tensor::from_data(TensorData::new::<i64, _>(actions, [self.batch, 1]), &self.device);
        let observations = self.rows(minibatch.observations, self.inputs).autodiff();
        let chosen = forward(&leaves, observations).gather(1, actions.autodiff());
        let difference = chosen - target.autodiff();
        let loss = (difference.clone() * difference).mean();

        let mut found = loss.backward();
        let step = self.clock.tick();
        for (layer, leaf) in self.online.iter_mut().zip(leaves) {
            let weight =
                leaf.weight.grad_remove(&mut found).unwrap_or_else(|| layer.weight.value.zeros_like());
            let bias = leaf.bias.grad_remove(&mut found).unwrap_or_else(|| layer.bias.value.zeros_like());
            layer.weight.step(weight, step);
            layer.bias.step(bias, step);
        }
        Ok(loss.into_scalar::<f32>())
    }

    fn copy_to_target(&mut self) {
        // Tensors are values: a step makes new ones.
        self.target = self.bare();
    }

    fn largest_target_difference(&self) -> f32 {
        let of = |layers: &[Linear]| -> Vec<f32> {
            layers.iter().flat_map(|layer| [values(&layer.weight), values(&layer.bias)].concat()).collect()
        };
        largest_difference(&of(&self.target), &of(&self.bare()))
    }
}
