//! Adam as `torch.optim.Adam` computes it, in candle's tensors.
//!
//! candle's own optimiser is AdamW, which divides the moments by their corrections before it takes the root.

use candle_core::{Result, Tensor, Var};

use crate::AdamOptions;

pub(super) struct Adam {
    options: AdamOptions,
    /// First and second moment of each variable.
    moments: Vec<(Tensor, Tensor)>,
    beta1_power: f64,
    beta2_power: f64,
}

impl Adam {
    pub(super) fn new(options: AdamOptions, variables: &[Var]) -> Result<Self> {
        let zeros = |variable: &Var| Ok((variable.zeros_like()?, variable.zeros_like()?));
        let moments = variables.iter().map(zeros).collect::<Result<_>>()?;
        Ok(Self { options, moments, beta1_power: 1.0, beta2_power: 1.0 })
    }

    pub(super) fn set_learning_rate(&mut self, learning_rate: f64) {
        self.options.learning_rate = learning_rate;
    }

    /// Moves each variable one step against its gradient.
    pub(super) fn step(&mut self, variables: &[Var], gradients: &[Tensor]) -> Result<()> {
        let AdamOptions { learning_rate, beta1, beta2, epsilon } = self.options;
        self.beta1_power *= beta1;
        self.beta2_power *= beta2;
        let step_size = learning_rate / (1.0 - self.beta1_power);
        let correction = 1.0 / (1.0 - self.beta2_power).sqrt();
        for ((variable, gradient), (first, second)) in variables.iter().zip(gradients).zip(&mut self.moments)
        {
            *first = (&*first + (gradient - &*first)?.affine(1.0 - beta1, 0.0)?)?;
            *second = (second.affine(beta2, 0.0)? + gradient.sqr()?.affine(1.0 - beta2, 0.0)?)?;
            let denominator = second.sqrt()?.affine(correction, epsilon)?;
            let step = (&*first / denominator)?.affine(step_size, 0.0)?;
            variable.set(&(variable.as_detached_tensor() - step)?)?;
        }
        Ok(())
    }
}
