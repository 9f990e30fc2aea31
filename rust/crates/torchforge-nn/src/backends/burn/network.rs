//! A dense network in burn's tensors.

use std::mem;

use burn::tensor::activation::relu;
use burn::tensor::{Device, Gradients, Tensor, TensorData};

use super::adam::{Clock, Moments};
use super::values;
use crate::{Activation, AdamOptions, Mlp};

/// A weight, (outputs, inputs), and a bias; or what stands beside them.
#[derive(Clone)]
struct Linear {
    weight: Tensor<2>,
    bias: Tensor<1>,
}

impl Linear {
    fn values(&self) -> Vec<f32> {
        [values(&self.weight), values(&self.bias)].concat()
    }
}

/// Linear layers with an activation between them. Tensors are values: a copy of a network stays as it is.
#[derive(Clone)]
pub(super) struct Network {
    layers: Vec<Linear>,
    activation: Activation,
}

impl Network {
    pub(super) fn new(network: &Mlp, activation: Activation, device: &Device) -> Self {
        let mut rest = network.parameters();
        let mut take = |len: usize| {
            let (values, more) = rest.split_at(len);
            rest = more;
            values.to_vec()
        };
        let mut layers = Vec::new();
        for (outputs, inputs) in crate::backends::shapes(network) {
            let weight = TensorData::new(take(outputs * inputs), [outputs, inputs]);
            let bias = TensorData::new(take(outputs), [outputs]);
            layers.push(Linear {
                weight: Tensor::from_data(weight, device),
                bias: Tensor::from_data(bias, device),
            });
        }
        Self { layers, activation }
    }

    /// Outputs of (rows, inputs).
    pub(super) fn compute(&self, mut rows: Tensor<2>) -> Tensor<2> {
        for (number, layer) in self.layers.iter().enumerate() {
            if number > 0 {
                rows = match self.activation {
                    Activation::Relu => relu(rows),
                    Activation::Tanh => rows.tanh(),
                };
            }
            rows = rows.matmul(layer.weight.clone().transpose()) + layer.bias.clone().unsqueeze();
        }
        rows
    }

    /// The same network, computing with which records what is needed for the gradients of its parameters.
    pub(super) fn recording(&self) -> Self {
        let leaf = |layer: &Linear| Linear {
            weight: layer.weight.clone().autodiff().require_grad(),
            bias: layer.bias.clone().autodiff().require_grad(),
        };
        Self { layers: self.layers.iter().map(leaf).collect(), activation: self.activation }
    }

    /// The same network as a constant beside what is recorded.
    pub(super) fn constant(&self) -> Self {
        let constant = |layer: &Linear| Linear {
            weight: layer.weight.clone().autodiff(),
            bias: layer.bias.clone().autodiff(),
        };
        Self { layers: self.layers.iter().map(constant).collect(), activation: self.activation }
    }

    /// Moves every parameter towards the other network's by this share of what lies between.
    pub(super) fn approach(&mut self, other: &Self, share: f64) {
        for (own, other) in self.layers.iter_mut().zip(&other.layers) {
            // Taken out of its place, so that burn changes it there.
            let Linear { weight, bias } = mem::replace(own, other.clone());
            own.weight = weight.mul_scalar(1.0 - share) + other.weight.clone().mul_scalar(share);
            own.bias = bias.mul_scalar(1.0 - share) + other.bias.clone().mul_scalar(share);
        }
    }

    /// All parameters, laid out as [`Mlp::parameters`].
    pub(super) fn parameters(&self) -> Vec<f32> {
        self.layers.iter().flat_map(Linear::values).collect()
    }
}

/// A network with what it needs to learn.
pub(super) struct Learner {
    pub(super) network: Network,
    moments: Vec<(Moments<2>, Moments<1>)>,
    clock: Clock,
    /// Of the last update.
    gradients: Vec<Linear>,
}

impl Learner {
    pub(super) fn new(network: &Mlp, activation: Activation, adam: AdamOptions, device: &Device) -> Self {
        let network = Network::new(network, activation, device);
        let moments = |layer: &Linear| (Moments::new(&layer.weight), Moments::new(&layer.bias));
        let zeros =
            |layer: &Linear| Linear { weight: layer.weight.zeros_like(), bias: layer.bias.zeros_like() };
        Self {
            moments: network.layers.iter().map(moments).collect(),
            gradients: network.layers.iter().map(zeros).collect(),
            clock: Clock::new(adam),
            network,
        }
    }

    /// Takes this network's gradients out of those of a loss; it was [`recording`](Network::recording) meanwhile.
    pub(super) fn take(&mut self, recording: &Network, found: &mut Gradients) {
        let gradient = |leaf: &Linear| Linear {
            weight: leaf
                .weight
                .grad_remove(found)
                .unwrap_or_else(|| leaf.weight.clone().inner().zeros_like()),
            bias: leaf.bias.grad_remove(found).unwrap_or_else(|| leaf.bias.clone().inner().zeros_like()),
        };
        self.gradients = recording.layers.iter().map(gradient).collect();
    }

    /// The sum of the gradients' squares.
    pub(super) fn squares(&self) -> f64 {
        let of = |layer: &Linear| {
            let weight: f32 = layer.weight.clone().square().sum().into_scalar();
            let bias: f32 = layer.bias.clone().square().sum().into_scalar();
            f64::from(weight) + f64::from(bias)
        };
        self.gradients.iter().map(of).sum()
    }

    /// Makes the gradients shorter.
    pub(super) fn shrink(&mut self, factor: f64) {
        for layer in &mut self.gradients {
            layer.weight = layer.weight.clone().mul_scalar(factor);
            layer.bias = layer.bias.clone().mul_scalar(factor);
        }
    }

    pub(super) fn set_learning_rate(&mut self, learning_rate: f64) {
        self.clock.set_learning_rate(learning_rate);
    }

    /// One step of the optimiser.
    pub(super) fn step(&mut self) {
        let step = self.clock.tick();
        let layers = mem::take(&mut self.network.layers).into_iter().zip(&self.gradients);
        let moments = mem::take(&mut self.moments);
        let stepped = layers.zip(moments).map(|((layer, gradient), (weight, bias))| {
            let (of_weight, weight) = weight.step(layer.weight, gradient.weight.clone(), step);
            let (of_bias, bias) = bias.step(layer.bias, gradient.bias.clone(), step);
            (Linear { weight, bias }, (of_weight, of_bias))
        });
        (self.network.layers, self.moments) = stepped.unzip();
    }

    /// The gradients of the last update, laid out as [`Mlp::parameters`]; zeros before the first.
    pub(super) fn gradients(&self) -> Vec<f32> {
        self.gradients.iter().flat_map(Linear::values).collect()
    }
}
