//! A dense network in candle's variables.

use candle_core::backprop::GradStore;
use candle_core::{Device, Result, Tensor, Var};

use super::adam::Adam;
use crate::{Activation, AdamOptions, Mlp};

/// Linear layers with an activation between them.
pub(super) struct Network {
    /// Each layer's weight, (outputs, inputs), and bias.
    variables: Vec<Var>,
    activation: Activation,
}

impl Network {
    pub(super) fn new(network: &Mlp, activation: Activation) -> Result<Self> {
        let mut rest = network.parameters();
        let mut variables = Vec::new();
        for (outputs, inputs) in crate::backends::shapes(network) {
            for shape in [vec![outputs, inputs], vec![outputs]] {
                let (values, more) = rest.split_at(shape.iter().product());
                variables.push(Var::from_slice(values, shape, &Device::Cpu)?);
                rest = more;
            }
        }
        Ok(Self { variables, activation })
    }

    /// Outputs of (rows, inputs). What they depend on is recorded, the parameters among it.
    pub(super) fn record(&self, rows: &Tensor) -> Result<Tensor> {
        self.forward(rows, |variable| variable.as_tensor().clone())
    }

    /// Outputs of (rows, inputs). To what they depend on, the parameters are constants.
    pub(super) fn compute(&self, rows: &Tensor) -> Result<Tensor> {
        self.forward(rows, Var::as_detached_tensor)
    }

    fn forward(&self, rows: &Tensor, parameter: impl Fn(&Var) -> Tensor) -> Result<Tensor> {
        let mut rows = rows.clone();
        for (layer, pair) in self.variables.chunks(2).enumerate() {
            if layer > 0 {
                rows = match self.activation {
                    Activation::Relu => rows.relu()?,
                    Activation::Tanh => rows.tanh()?,
                };
            }
            rows = rows.matmul(&parameter(&pair[0]).t()?)?.broadcast_add(&parameter(&pair[1]))?;
        }
        Ok(rows)
    }

    /// Makes every parameter equal to the other network's.
    pub(super) fn copy_from(&self, other: &Self) -> Result<()> {
        let mut pairs = self.variables.iter().zip(&other.variables);
        pairs.try_for_each(|(own, other)| own.set(&other.as_detached_tensor()))
    }

    /// Moves every parameter towards the other network's by this share of what lies between.
    pub(super) fn approach(&self, other: &Self, share: f64) -> Result<()> {
        for (own, other) in self.variables.iter().zip(&other.variables) {
            let (kept, taken) = (own.as_detached_tensor(), other.as_detached_tensor());
            own.set(&(taken.affine(share, 0.0)? + kept.affine(1.0 - share, 0.0)?)?)?;
        }
        Ok(())
    }

    /// All parameters, laid out as [`Mlp::parameters`].
    pub(super) fn parameters(&self) -> Result<Vec<f32>> {
        flat(self.variables.iter().map(Var::as_detached_tensor))
    }
}

/// A network with what it needs to learn.
pub(super) struct Learner {
    pub(super) network: Network,
    adam: Adam,
    /// Of the last update, one a variable.
    gradients: Vec<Tensor>,
}

impl Learner {
    pub(super) fn new(network: &Mlp, activation: Activation, adam: AdamOptions) -> Result<Self> {
        let network = Network::new(network, activation)?;
        let zeros = network.variables.iter().map(|variable| variable.zeros_like()).collect::<Result<_>>()?;
        Ok(Self { adam: Adam::new(adam, &network.variables)?, network, gradients: zeros })
    }

    /// Takes this network's gradients out of those of a loss.
    pub(super) fn take(&mut self, found: &mut GradStore) -> Result<()> {
        self.gradients.clear();
        for variable in &self.network.variables {
            let gradient = match found.remove(variable) {
                Some(gradient) => gradient.contiguous()?,
                None => variable.zeros_like()?,
            };
            // Its history would keep the whole graph alive.
            self.gradients.push(gradient.detach());
        }
        Ok(())
    }

    /// The sum of the gradients' squares.
    pub(super) fn squares(&self) -> Result<f64> {
        let mut sum = 0.0;
        for gradient in &self.gradients {
            sum += f64::from(gradient.sqr()?.sum_all()?.to_scalar::<f32>()?);
        }
        Ok(sum)
    }

    /// Makes the gradients shorter.
    pub(super) fn shrink(&mut self, factor: f64) -> Result<()> {
        for gradient in &mut self.gradients {
            *gradient = gradient.affine(factor, 0.0)?;
        }
        Ok(())
    }

    pub(super) fn set_learning_rate(&mut self, learning_rate: f64) {
        self.adam.set_learning_rate(learning_rate);
    }

    /// One step of the optimiser.
    pub(super) fn step(&mut self) -> Result<()> {
        self.adam.step(&self.network.variables, &self.gradients)
    }

    /// The gradients of the last update, laid out as [`Mlp::parameters`]; zeros before the first.
    pub(super) fn gradients(&self) -> Result<Vec<f32>> {
        flat(self.gradients.iter().cloned())
    }
}

/// The values of tensors, one after another.
fn flat(tensors: impl Iterator<Item = Tensor>) -> Result<Vec<f32>> {
    let mut values = Vec::new();
    for tensor in tensors {
        values.extend(tensor.flatten_all()?.to_vec1::<f32>()?);
    }
    Ok(values)
}
