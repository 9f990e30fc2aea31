//! A multilayer perceptron.

mod activations;
mod factors;
mod passes;

use rand_core::Rng;

pub(crate) use self::activations::{Activations, RowActivations, Transposed};
use self::factors::Factors;
use crate::buffer::Buffer;
use crate::kernels::fill_standard_normal;
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

/// What lies between two layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activation {
    /// Negative values become zero.
    Relu,
    /// The hyperbolic tangent.
    Tanh,
}

/// The names of each layer's tensors in a file: several share a layer whose outputs are divided equally among them.
pub(crate) type LayerNames<'a> = &'a [&'a [&'a str]];

/// The layers of PyTorch's `Sequential`, whose odd numbers are activations; no network here is deeper.
const SEQUENTIAL: LayerNames<'_> = &[&["0"], &["2"], &["4"], &["6"], &["8"], &["10"]];

/// A dense network: linear layers with an activation between them, as PyTorch's
/// `Sequential(Linear, ReLU, Linear, ReLU, ..., Linear)`.
#[derive(Debug, Clone)]
pub struct Mlp {
    layers: Vec<Layer>,
    parameters: Buffer,
    activation: Activation,
    factors: Factors,
}

impl Mlp {
    /// A network with PyTorch's default initialisation of `Linear`: weights and biases uniform in
    /// ±1/sqrt(inputs). They are drawn in PyTorch's order: for each layer the weight, output by output,
    /// then the bias.
    pub fn new(sizes: &[usize], rng: &mut impl Rng) -> Result<Self, Error> {
        let mut network = Self::zeroed(sizes, Activation::Relu)?;
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

    /// A network with orthogonal weights (Saxe et al., 2014), one gain a layer, and biases of zero.
    ///
    /// A weight's rows, or its columns where they are fewer, are orthogonal and as long as the gain. As in PyTorch they
    /// come of normal numbers, orthogonalised in order.
    pub fn orthogonal(
        sizes: &[usize],
        activation: Activation,
        gains: &[f64],
        rng: &mut impl Rng,
    ) -> Result<Self, Error> {
        let mut network = Self::zeroed(sizes, activation)?;
        if gains.len() != network.layers.len() {
            return Err(Error::Len { what: "gains", expected: network.layers.len(), found: gains.len() });
        }
        for (layer, gain) in network.layers.clone().into_iter().zip(gains) {
            let (short, long) = (layer.inputs.min(layer.outputs), layer.inputs.max(layer.outputs));
            let mut normal = vec![0.0; short * long];
            fill_standard_normal(rng, &mut normal);
            let rows = orthonormal(&normal, long);
            let weight = &mut network.parameters[layer.offset..][..short * long];
            for (place, value) in weight.iter_mut().enumerate() {
                let (output, input) = (place / layer.inputs, place % layer.inputs);
                let row = if layer.outputs <= layer.inputs { &rows[output] } else { &rows[input] };
                *value = (gain * row[if layer.outputs <= layer.inputs { input } else { output }]) as f32;
            }
        }
        Ok(network)
    }

    /// The same parameters with another activation between the layers.
    pub fn with_activation(self, activation: Activation) -> Self {
        Self { activation, ..self }
    }

    /// A network whose parameters come from a file, under the names of PyTorch's `Sequential` (`{prefix}0.weight`,
    /// `{prefix}0.bias`, `{prefix}2.weight`, ...) and in PyTorch's (outputs, inputs) layout.
    pub fn read(sizes: &[usize], prefix: &str, tensors: &TensorReader<'_>) -> Result<Self, Error> {
        Self::read_as(sizes, prefix, SEQUENTIAL, tensors)
    }

    /// [`read`](Self::read) under other names.
    pub(crate) fn read_as(
        sizes: &[usize],
        prefix: &str,
        names: LayerNames<'_>,
        tensors: &TensorReader<'_>,
    ) -> Result<Self, Error> {
        let mut network = Self::zeroed(sizes, Activation::Relu)?;
        assert!(network.layers.len() <= names.len(), "a name for each layer");
        for (layer, names) in network.layers.clone().into_iter().zip(names) {
            let (weights, biases) =
                network.parameters[layer.offset..][..layer.len()].split_at_mut(layer.inputs * layer.outputs);
            let outputs = layer.outputs / names.len();
            let parts = weights.chunks_mut(outputs * layer.inputs).zip(biases.chunks_mut(outputs));
            for ((weights, biases), name) in parts.zip(*names) {
                let shape = [outputs, layer.inputs];
                weights.copy_from_slice(&tensors.f32(&format!("{prefix}{name}.weight"), &shape)?);
                biases.copy_from_slice(&tensors.f32(&format!("{prefix}{name}.bias"), &[outputs])?);
            }
        }
        Ok(network)
    }

    fn zeroed(sizes: &[usize], activation: Activation) -> Result<Self, Error> {
        if sizes.len() < 3 || sizes.contains(&0) {
            return Err(Error::Sizes { sizes: sizes.to_vec() });
        }
        let mut layers = Vec::with_capacity(sizes.len() - 1);
        let mut len = 0;
        for pair in sizes.windows(2) {
            let layer = Layer { inputs: pair[0], outputs: pair[1], offset: len };
            len += layer.len();
            layers.push(layer);
        }
        let factors = Factors::new(&layers);
        Ok(Self { layers, parameters: Buffer::zeros(len), activation, factors })
    }

    /// Writes values that are laid out as this network's parameters (the parameters themselves, or their
    /// gradients) in PyTorch's layout; the names as in [`read`](Self::read).
    pub fn write(&self, prefix: &str, values: &[f32], tensors: &mut TensorWriter) {
        self.write_as(prefix, SEQUENTIAL, values, tensors);
    }

    /// [`write`](Self::write) under other names.
    pub(crate) fn write_as(
        &self,
        prefix: &str,
        names: LayerNames<'_>,
        values: &[f32],
        tensors: &mut TensorWriter,
    ) {
        assert_eq!(values.len(), self.parameters.len(), "one value a parameter");
        assert!(self.layers.len() <= names.len(), "a name for each layer");
        for (&layer, names) in self.layers.iter().zip(names) {
            let outputs = layer.outputs / names.len();
            let weights = layer.weight(values).chunks(outputs * layer.inputs);
            for ((weights, biases), name) in weights.zip(layer.bias(values).chunks(outputs)).zip(*names) {
                let shape = vec![outputs, layer.inputs];
                tensors.push(format!("{prefix}{name}.weight"), shape, weights.iter().copied());
                tensors.push(format!("{prefix}{name}.bias"), vec![outputs], biases.iter().copied());
            }
        }
    }

    /// The layers' widths, from the input's to the output's.
    pub fn sizes(&self) -> Vec<usize> {
        [self.inputs()].into_iter().chain(self.layers.iter().map(|layer| layer.outputs)).collect()
    }

    /// Writes how far each weight reaches, times the root of its inputs, as `{prefix}{layer}.weight.bound`: 1, or just
    /// below, where it was drawn by PyTorch's default.
    pub fn write_bounds(&self, prefix: &str, tensors: &mut TensorWriter) {
        self.write_bounds_as(prefix, SEQUENTIAL, tensors);
    }

    /// [`write_bounds`](Self::write_bounds) under other names.
    pub(crate) fn write_bounds_as(&self, prefix: &str, names: LayerNames<'_>, tensors: &mut TensorWriter) {
        for (&layer, names) in self.layers.iter().zip(names) {
            let outputs = layer.outputs / names.len();
            for (weight, name) in layer.weight(&self.parameters).chunks(outputs * layer.inputs).zip(*names) {
                let largest = weight.iter().fold(0.0_f32, |a, b| if b.abs() > a { b.abs() } else { a });
                let bound = largest * (layer.inputs as f32).sqrt();
                tensors.push(format!("{prefix}{name}.weight.bound"), vec![1], [bound]);
            }
        }
    }

    /// Writes what an orthogonal initialisation promises: the products of each weight's rows, or of its columns where
    /// they are fewer, as `{prefix}{layer}.weight.gram`, and the biases.
    pub fn write_grams(&self, prefix: &str, tensors: &mut TensorWriter) {
        for (&layer, names) in self.layers.iter().zip(SEQUENTIAL) {
            let weight = layer.weight(&self.parameters);
            let (outputs, inputs) = (layer.outputs, layer.inputs);
            // Distances from one row (or column) to the next, and along it.
            let (count, length, stride, along) =
                if outputs <= inputs { (outputs, inputs, inputs, 1) } else { (inputs, outputs, 1, inputs) };
            let value = |row, k| f64::from(weight[row * stride + k * along]);
            let product = |a, b| (0..length).map(|k| value(a, k) * value(b, k)).sum::<f64>() as f32;
            let gram = (0..count * count).map(|place| product(place / count, place % count));
            tensors.push(format!("{prefix}{}.weight.gram", names[0]), vec![count, count], gram);
            let bias = layer.bias(&self.parameters).iter().copied();
            tensors.push(format!("{prefix}{}.bias", names[0]), vec![outputs], bias);
        }
    }

    /// Each layer's weight, (outputs, inputs), with its numbers of outputs and inputs.
    pub fn weights(&self) -> impl Iterator<Item = (&[f32], usize, usize)> {
        self.layers.iter().map(|layer| (layer.weight(&self.parameters), layer.outputs, layer.inputs))
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
        self.factors.forget();
        &mut self.parameters
    }
}

/// The rows of `matrix`, each `width` long, made orthonormal one after the other (modified Gram-Schmidt, twice, so that
/// nothing is left of what rounding let through).
fn orthonormal(matrix: &[f32], width: usize) -> Vec<Vec<f64>> {
    let mut done: Vec<Vec<f64>> = Vec::new();
    for row in matrix.chunks(width) {
        let mut row: Vec<f64> = row.iter().copied().map(f64::from).collect();
        for _ in 0..2 {
            for other in &done {
                let share: f64 = row.iter().zip(other).map(|(a, b)| a * b).sum();
                for (value, other) in row.iter_mut().zip(other) {
                    *value -= share * other;
                }
            }
        }
        let length = row.iter().map(|value| value * value).sum::<f64>().sqrt();
        for value in &mut row {
            *value /= length;
        }
        done.push(row);
    }
    done
}
