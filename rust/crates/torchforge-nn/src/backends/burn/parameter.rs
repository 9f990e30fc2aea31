//! A parameter with its moments, moved by Adam as `torch.optim.Adam` computes it.

use burn::tensor::Tensor;

use crate::AdamOptions;

pub(super) struct Parameter<const D: usize> {
    pub(super) value: Tensor<D>,
    /// Of the last step.
    pub(super) gradient: Option<Tensor<D>>,
    first: Tensor<D>,
    second: Tensor<D>,
}

impl<const D: usize> Parameter<D> {
    pub(super) fn new(value: Tensor<D>) -> Self {
        let (first, second) = (value.zeros_like(), value.zeros_like());
        Self { value, gradient: None, first, second }
    }

    /// The value as a leaf whose gradient is recorded.
    pub(super) fn leaf(&self) -> Tensor<D> {
        self.value.clone().autodiff().require_grad()
    }

    pub(super) fn step(&mut self, gradient: Tensor<D>, step: Step) {
        let AdamOptions { beta1, beta2, epsilon, .. } = step.options;
        let first = self.first.clone() + (gradient.clone() - self.first.clone()).mul_scalar(1.0 - beta1);
        let square = gradient.clone() * gradient.clone();
        let second = self.second.clone().mul_scalar(beta2) + square.mul_scalar(1.0 - beta2);
        let denominator = second.clone().sqrt().mul_scalar(step.correction).add_scalar(epsilon);
        self.value = self.value.clone() - (first.clone() / denominator).mul_scalar(step.size);
        (self.first, self.second, self.gradient) = (first, second, Some(gradient));
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
