//! A multilayer perceptron with ReLU between its layers.

use rand_core::Rng;

use crate::kernels::{
    ByColumns, ByRows, Plain, Relu, WherePositive, multiply, multiply_row, products_over_lanes,
    sums_over_lanes, transpose,
};
use crate::simd::{LANES, Simd};
use crate::{Error, TensorReader, TensorWriter};

/// Where a layer lies in the flat vector of parameters: its weight, (outputs, inputs), then its bias.
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
            let draw = || {
                let unit = (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
                (-bound + 2.0 * bound * unit) as f32
            };
            // Row after row of the weight, then the bias: in the order in which they lie.
            network.parameters[layer.offset..][..layer.len()].fill_with(draw);
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
            let bias = tensors.f32(&name("bias"), &[layer.outputs])?;
            let parameters = &mut network.parameters[layer.offset..][..layer.len()];
            parameters[..weight.len()].copy_from_slice(&weight);
            parameters[weight.len()..].copy_from_slice(&bias);
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
            let weight = layer.weight(values).iter().copied();
            tensors.push(name("weight"), vec![layer.outputs, layer.inputs], weight);
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

    /// All parameters: for each layer its weight as (outputs, inputs), then its bias.
    pub fn parameters(&self) -> &[f32] {
        &self.parameters
    }

    /// All parameters, to be changed.
    pub(crate) fn parameters_mut(&mut self) -> &mut [f32] {
        &mut self.parameters
    }

    /// Computes every layer's outputs of `inputs`, (inputs, batch), into `activations`.
    #[inline(always)]
    pub(crate) fn forward<S: Simd>(&self, simd: S, inputs: &[f32], activations: &mut Activations) {
        let batch = activations.batch;
        for (number, &layer) in self.layers.iter().enumerate() {
            let (before, after) = activations.layers.split_at_mut(number);
            let input = before.last().map_or(inputs, |out| out);
            let weight = ByRows { values: layer.weight(&self.parameters), depth: layer.inputs };
            let (size, bias) = ((layer.outputs, batch, batch), layer.bias(&self.parameters));
            if number + 1 == self.layers.len() {
                multiply(simd, size, weight, input, bias, Plain, &mut after[0]);
            } else {
                multiply(simd, size, weight, input, bias, Relu, &mut after[0]);
            }
        }
    }

    /// Computes every layer's outputs of one input row.
    #[inline(always)]
    pub(crate) fn forward_row<S: Simd>(&self, simd: S, input: &[f32], activations: &mut [Vec<f32>]) {
        for (number, &layer) in self.layers.iter().enumerate() {
            let (before, after) = activations.split_at_mut(number);
            let input = before.last().map_or(input, |out| out);
            let (weight, bias) = (layer.weight(&self.parameters), layer.bias(&self.parameters));
            if number + 1 == self.layers.len() {
                multiply_row(simd, weight, input, bias, Plain, &mut after[0]);
            } else {
                multiply_row(simd, weight, input, bias, Relu, &mut after[0]);
            }
        }
    }

    /// Computes the gradient of every parameter into `gradients`, laid out as the parameters.
    ///
    /// `activations` are those of [`forward`](Self::forward) on `inputs`; `errors` holds the gradient of
    /// the loss with respect to the outputs in its last layer, and room for the others.
    #[inline(always)]
    pub(crate) fn backward<S: Simd>(
        &self,
        simd: S,
        inputs: &[f32],
        activations: &Activations,
        errors: &mut Activations,
        gradients: &mut [f32],
        transposed: &mut [f32],
    ) {
        let batch = activations.batch;
        for (number, &layer) in self.layers.iter().enumerate().rev() {
            let (before, after) = errors.layers.split_at_mut(number);
            let error = &after[0];
            let input = if number == 0 { inputs } else { &activations.layers[number - 1] };
            let gradient = &mut gradients[layer.offset..][..layer.len()];
            let (weight_gradient, bias_gradient) = gradient.split_at_mut(layer.inputs * layer.outputs);
            if layer.inputs < LANES {
                products_over_lanes(simd, error, input, batch, weight_gradient);
            } else {
                let width = layer.inputs.next_multiple_of(LANES);
                let transposed = &mut transposed[..batch * width];
                transpose(input, batch, transposed, width);
                let size = (layer.outputs, layer.inputs, width);
                let error = ByRows { values: error, depth: batch };
                multiply(simd, size, error, transposed, &[], Plain, weight_gradient);
            }
            sums_over_lanes(simd, error, batch, bias_gradient);
            if let Some(input_error) = before.last_mut() {
                let weight = ByColumns { values: layer.weight(&self.parameters), stride: layer.inputs };
                multiply(
                    simd,
                    (layer.inputs, batch, batch),
                    weight,
                    error,
                    &[],
                    WherePositive(input),
                    input_error,
                );
            }
        }
    }

    /// Room for the outputs of every layer for `batch` rows, padded to whole vectors.
    pub(crate) fn activations(&self, batch: usize) -> Activations {
        let batch = batch.next_multiple_of(LANES);
        Activations {
            batch,
            layers: self.layers.iter().map(|layer| vec![0.0; batch * layer.outputs]).collect(),
        }
    }

    /// Room for the outputs of every layer for one row.
    pub(crate) fn row_activations(&self) -> Vec<Vec<f32>> {
        self.layers.iter().map(|layer| vec![0.0; layer.outputs]).collect()
    }

    /// Room for the transpose of every layer's inputs for `batch` rows.
    pub(crate) fn transposed(&self, batch: usize) -> Vec<f32> {
        let widest = self.layers.iter().map(|layer| layer.inputs.next_multiple_of(LANES)).max();
        vec![0.0; batch.next_multiple_of(LANES) * widest.unwrap_or(0)]
    }
}

/// One (outputs, batch) matrix a layer.
pub(crate) struct Activations {
    batch: usize,
    layers: Vec<Vec<f32>>,
}

impl Activations {
    /// Rows of the batch, those of the padding among them.
    pub(crate) fn batch(&self) -> usize {
        self.batch
    }

    pub(crate) fn output(&self) -> &[f32] {
        &self.layers[self.layers.len() - 1]
    }

    pub(crate) fn output_mut(&mut self) -> &mut [f32] {
        let last = self.layers.len() - 1;
        &mut self.layers[last]
    }
}
