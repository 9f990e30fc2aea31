//! A multilayer perceptron with ReLU between its layers.

use rand_core::Rng;

use crate::matrix::{Matrix, Packing, multiply, multiply_row};
use crate::{Error, TensorReader, TensorWriter};

/// Where a layer lies in the flat vector of parameters: its weight, (inputs, outputs), then its bias.
///
/// PyTorch keeps weights as (outputs, inputs); with outputs contiguous the inner loops need no shuffles.
#[derive(Debug, Clone, Copy)]
struct Layer {
    inputs: usize,
    outputs: usize,
    offset: usize,
}

impl Layer {
    fn len(self) -> usize {
        (self.inputs + 1) * self.outputs
    }

    fn weight(self, flat: &[f32]) -> &[f32] {
        &flat[self.offset..][..self.inputs * self.outputs]
    }

    fn bias(self, flat: &[f32]) -> &[f32] {
        &flat[self.offset + self.inputs * self.outputs..][..self.outputs]
    }

    /// Index of a weight in the flat vector.
    fn weight_index(self, output: usize, input: usize) -> usize {
        self.offset + input * self.outputs + output
    }
}

/// A dense network: linear layers with ReLU between them, as PyTorch's
/// `Sequential(Linear, ReLU, Linear, ReLU, ..., Linear)`.
#[derive(Debug, Clone)]
pub struct Mlp {
    layers: Vec<Layer>,
    parameters: Vec<f32>,
}

impl Mlp {
    /// A network with PyTorch's default initialisation of `Linear`: weights and biases uniform in
    /// ±1/sqrt(inputs). They are drawn in PyTorch's order: for each layer the weight, output by output,
    /// then the bias.
    pub fn new(sizes: &[usize], rng: &mut impl Rng) -> Result<Self, Error> {
        let mut network = Self::zeroed(sizes)?;
        for layer in network.layers.clone() {
            let bound = 1.0 / (layer.inputs as f64).sqrt();
            let mut draw = || {
                let unit = (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
                (-bound + 2.0 * bound * unit) as f32
            };
            for output in 0..layer.outputs {
                for input in 0..layer.inputs {
                    network.parameters[layer.weight_index(output, input)] = draw();
                }
            }
            let bias = layer.offset + layer.inputs * layer.outputs;
            network.parameters[bias..][..layer.outputs].fill_with(draw);
        }
        Ok(network)
    }

    /// A network whose parameters come from a file, under PyTorch's names (`{prefix}0.weight`,
    /// `{prefix}0.bias`, `{prefix}2.weight`, ...) and in PyTorch's (outputs, inputs) layout.
    pub fn read(sizes: &[usize], prefix: &str, tensors: &TensorReader<'_>) -> Result<Self, Error> {
        let mut network = Self::zeroed(sizes)?;
        for (number, layer) in network.layers.clone().into_iter().enumerate() {
            let name = |kind| format!("{prefix}{}.{kind}", 2 * number);
            let weight = tensors.f32(&name("weight"), &[layer.outputs, layer.inputs])?;
            for (output, row) in weight.chunks_exact(layer.inputs).enumerate() {
                for (input, &value) in row.iter().enumerate() {
                    network.parameters[layer.weight_index(output, input)] = value;
                }
            }
            let bias = tensors.f32(&name("bias"), &[layer.outputs])?;
            network.parameters[layer.offset + weight.len()..][..layer.outputs].copy_from_slice(&bias);
        }
        Ok(network)
    }

    fn zeroed(sizes: &[usize]) -> Result<Self, Error> {
        if sizes.len() < 2 || sizes.contains(&0) {
            return Err(Error::Sizes { sizes: sizes.to_vec(), batch: 1 });
        }
        let mut layers = Vec::with_capacity(sizes.len() - 1);
        let mut len = 0;
        for pair in sizes.windows(2) {
            let layer = Layer { inputs: pair[0], outputs: pair[1], offset: len };
            len += layer.len();
            layers.push(layer);
        }
        Ok(Self { layers, parameters: vec![0.0; len] })
    }

    /// Writes values that are laid out as this network's parameters (the parameters themselves, or their
    /// gradients) in PyTorch's layout; the names as in [`read`](Self::read).
    pub fn write(&self, prefix: &str, values: &[f32], tensors: &mut TensorWriter) {
        assert_eq!(values.len(), self.parameters.len(), "one value a parameter");
        for (number, &layer) in self.layers.iter().enumerate() {
            let name = |kind| format!("{prefix}{}.{kind}", 2 * number);
            let by_output = (0..layer.outputs).flat_map(|output| {
                (0..layer.inputs).map(move |input| values[layer.weight_index(output, input)])
            });
            tensors.push(name("weight"), vec![layer.outputs, layer.inputs], by_output);
            tensors.push(name("bias"), vec![layer.outputs], layer.bias(values).iter().copied());
        }
    }

    /// Values in an input row.
    pub fn inputs(&self) -> usize {
        self.layers[0].inputs
    }

    /// Values in an output row.
    pub fn outputs(&self) -> usize {
        self.layers[self.layers.len() - 1].outputs
    }

    /// All parameters: for each layer its weight as (inputs, outputs), then its bias.
    pub fn parameters(&self) -> &[f32] {
        &self.parameters
    }

    /// All parameters, to be changed.
    pub(crate) fn parameters_mut(&mut self) -> &mut [f32] {
        &mut self.parameters
    }

    /// Computes the outputs of `inputs`, (batch, inputs), and leaves every layer's in `activations`.
    pub(crate) fn forward(&self, inputs: &[f32], activations: &mut Activations, packing: &mut Packing) {
        let batch = inputs.len() / self.inputs();
        for (number, &layer) in self.layers.iter().enumerate() {
            let (before, after) = activations.layers.split_at_mut(number);
            let input = Matrix::new(before.last().map_or(inputs, |out| out), batch, layer.inputs);
            let weight = Matrix::new(layer.weight(&self.parameters), layer.inputs, layer.outputs);
            let bias = layer.bias(&self.parameters);
            if number + 1 == self.layers.len() {
                multiply(input, weight, bias, |x| x, &mut after[0], packing);
            } else {
                multiply(input, weight, bias, relu, &mut after[0], packing);
            }
        }
    }

    /// Computes the outputs of one input row; the same bits as [`forward`](Self::forward)'s.
    pub(crate) fn forward_row(&self, inputs: &[f32], activations: &mut Activations) {
        for (number, &layer) in self.layers.iter().enumerate() {
            let (before, after) = activations.layers.split_at_mut(number);
            let input = before.last().map_or(inputs, |out| out);
            let (weight, bias) = (layer.weight(&self.parameters), layer.bias(&self.parameters));
            if number + 1 == self.layers.len() {
                multiply_row(input, weight, bias, |x| x, &mut after[0]);
            } else {
                multiply_row(input, weight, bias, relu, &mut after[0]);
            }
        }
    }

    /// Computes the gradient of every parameter into `gradients`, laid out as the parameters.
    ///
    /// `activations` are those of [`forward`](Self::forward) on `inputs`; `errors` holds the gradient of
    /// the loss with respect to the outputs in its last layer, and room for the others.
    pub(crate) fn backward(
        &self,
        inputs: &[f32],
        activations: &Activations,
        errors: &mut Activations,
        gradients: &mut [f32],
        packing: &mut Packing,
    ) {
        let batch = inputs.len() / self.inputs();
        for (number, &layer) in self.layers.iter().enumerate().rev() {
            let (before, after) = errors.layers.split_at_mut(number);
            let error = Matrix::new(&after[0], batch, layer.outputs);
            let input = if number == 0 { inputs } else { &activations.layers[number - 1] };
            let gradient = &mut gradients[layer.offset..][..layer.len()];
            let (weight_gradient, bias_gradient) = gradient.split_at_mut(layer.inputs * layer.outputs);
            let transposed = Matrix::new(input, batch, layer.inputs).transposed();
            multiply(transposed, error, &[], |x| x, weight_gradient, packing);
            sum_rows(&after[0], bias_gradient);
            if let Some(input_error) = before.last_mut() {
                let weight = Matrix::new(layer.weight(&self.parameters), layer.inputs, layer.outputs);
                multiply(error, weight.transposed(), &[], |x| x, input_error, packing);
                for (error, &activation) in input_error.iter_mut().zip(input) {
                    *error = if activation > 0.0 { *error } else { 0.0 };
                }
            }
        }
    }

    /// Room for the outputs of every layer for `batch` rows.
    pub(crate) fn activations(&self, batch: usize) -> Activations {
        Activations { layers: self.layers.iter().map(|layer| vec![0.0; batch * layer.outputs]).collect() }
    }

    /// Room for every product of a forward and a backward pass over `batch` rows.
    pub(crate) fn packing(&self, batch: usize) -> Packing {
        let widest = self.layers.iter().map(|layer| layer.inputs.max(layer.outputs)).max();
        let size = widest.unwrap_or(0).max(batch);
        Packing::new(size, size)
    }
}

/// One (batch, outputs) matrix a layer.
pub(crate) struct Activations {
    layers: Vec<Vec<f32>>,
}

impl Activations {
    pub(crate) fn output(&self) -> &[f32] {
        &self.layers[self.layers.len() - 1]
    }

    pub(crate) fn output_mut(&mut self) -> &mut [f32] {
        let last = self.layers.len() - 1;
        &mut self.layers[last]
    }
}

/// Compared and selected: maximum instructions treat signed zeros and NaN differently by machine.
#[inline(always)]
fn relu(value: f32) -> f32 {
    if value < 0.0 { 0.0 } else { value }
}

fn sum_rows(rows: &[f32], sums: &mut [f32]) {
    sums.fill(0.0);
    for row in rows.chunks_exact(sums.len()) {
        for (sum, &value) in sums.iter_mut().zip(row) {
            *sum += value;
        }
    }
}
