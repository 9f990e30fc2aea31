//! Adam as `torch.optim.Adam` computes it, in burn's tensors.

use burn::tensor::Tensor;

use crate::AdamOptions;

/// First and second moment of a parameter.
#[derive(Clone)]
pub(super) struct Moments<const D: usize> {
    first: Tensor<D>,
    second: Tensor<D>,
}

impl<const D: usize> Moments<D> {
    pub(super) fn new(parameter: &Tensor<D>) -> Self {
        Self { first: parameter.zeros_like(), second: parameter.zeros_like() }
    }

    /// The moments after one step, and the parameter moved against its gradient. burn changes a tensor in place where
    /// nothing else holds it, so the moments are given away and not cloned.
    pub(super) fn step(self, parameter: Tensor<D>, gradient: Tensor<D>, step: Step) -> (Self, Tensor<D>) {
        let AdamOptions { beta1, beta2, epsilon, .. } = step.options;
        let change = (gradient.clone() - self.first.clone()).mul_scalar(1.0 - beta1);
        let first = self.first + change;
        let square = gradient.clone() * gradient;
        let second = self.second.mul_scalar(beta2) + square.mul_scalar(1.0 - beta2);
        let denominator = second.clone().sqrt().mul_scalar(step.correction).add_scalar(epsilon);
        let moved = parameter - (first.clone() / denominator).mul_scalar(step.size);
        (Self { first, second }, moved)
    }
}

/// One step of Adam: what is the same for all parameters.
#[derive(Clone, Copy)]
pub(super) struct Step {
    options: AdamOptions,
    size: f64,
    correction: f64,
}

/// The number of steps taken, as powers of the decay rates.
pub(super) struct Clock {
    options: AdamOptions,
    beta1_power: f64,
    beta2_power: f64,
}

impl Clock {
    pub(super) fn new(options: AdamOptions) -> Self {
        Self { options, beta1_power: 1.0, beta2_power: 1.0 }
    }

    pub(super) fn set_learning_rate(&mut self, learning_rate: f64) {
        self.options.learning_rate = learning_rate;
    }

    pub(super) fn tick(&mut self) -> Step {
        self.beta1_power *= self.options.beta1;
        self.beta2_power *= self.options.beta2;
        Step {
            options: self.options,
            size: self.options.learning_rate / (1.0 - self.beta1_power),
            correction: 1.0 / (1.0 - self.beta2_power).sqrt(),
        }
    }
}
