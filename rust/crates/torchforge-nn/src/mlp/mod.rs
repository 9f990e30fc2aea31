//! A multilayer perceptron.

mod activations;
mod evaluate;
mod factors;
mod passes;

use std::fmt;

use rand_core::Rng;

pub(crate) use self::activations::{Activations, RowActivations, Transposed};
use self::factors::Factors;
use crate::buffer::Buffer;
use crate::error::check_memory;
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

/// How a file names the tensors of a network's layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LayerNames {
    /// `0`, `2`, `4`, ...: PyTorch's `Sequential`, whose odd numbers are activations.
    Sequential,
    /// `fc1`, `fc2`, ...: CleanRL's critics of continuous actions.
    Critic,
    /// `fc1`, `fc2`, ..., and two that share the last layer's outputs equally: `fc_mean`, `fc_logstd`.
    Actor,
}

impl LayerNames {
    /// The names of the layer `index` of `count`: several share a layer whose outputs are divided equally among them.
    fn of(self, index: usize, count: usize) -> Vec<String> {
        match self {
            Self::Sequential => vec![(2 * index).to_string()],
            Self::Actor if index + 1 == count => vec!["fc_mean".into(), "fc_logstd".into()],
            Self::Actor | Self::Critic => vec![format!("fc{}", index + 1)],
        }
    }
}

/// One linear layer as a file holds it.
struct Linear<'a> {
    name: String,
    inputs: usize,
    /// (outputs, inputs).
    weight: &'a [f32],
    /// (outputs).
    bias: &'a [f32],
}

/// A dense network: linear layers with an activation between them, as PyTorch's
/// `Sequential(Linear, ReLU, Linear, ReLU, ..., Linear)`.
#[derive(Clone)]
pub struct Mlp {
    layers: Vec<Layer>,
    parameters: Buffer,
    activation: Activation,
    factors: Factors,
    /// Room that [`evaluate`](Self::evaluate) has taken.
    evaluated: Option<Activations>,
}

impl Mlp {
    /// A network with PyTorch's default initialisation of `Linear`: weights and biases uniform in
    /// ±1/sqrt(inputs). They are drawn in PyTorch's order: for each layer the weight, output by output,
    /// then the bias.
    ///
    /// # Errors
    ///
    /// [`Error::Sizes`] for fewer than three sizes or one of 0, and [`Error::NoMemory`].
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
    ///
    /// # Errors
    ///
    /// [`Error::Len`] where there is not one gain for each layer, [`Error::Sizes`] for fewer than three sizes or one of 0, and
    /// [`Error::NoMemory`].
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
    /// `{prefix}0.bias`, `{prefix}2.weight`, ...) and in PyTorch's (outputs, inputs) layout. A file does not say what lies
    /// between the layers, so the caller does.
    ///
    /// # Errors
    ///
    /// [`Error::NotFinite`] names a tensor of a training that diverged; other errors say what is missing or of another
    /// shape.
    pub fn read(
        sizes: &[usize],
        activation: Activation,
        prefix: &str,
        tensors: &TensorReader<'_>,
    ) -> Result<Self, Error> {
        Self::read_as(sizes, activation, prefix, LayerNames::Sequential, tensors)
    }

    /// [`read`](Self::read) under other names.
    pub(crate) fn read_as(
        sizes: &[usize],
        activation: Activation,
        prefix: &str,
        names: LayerNames,
        tensors: &TensorReader<'_>,
    ) -> Result<Self, Error> {
        let mut network = Self::zeroed(sizes, activation)?;
        for (index, layer) in network.layers.clone().into_iter().enumerate() {
            let names = names.of(index, network.layers.len());
            let (weights, biases) =
                network.parameters[layer.offset..][..layer.len()].split_at_mut(layer.inputs * layer.outputs);
            let outputs = layer.outputs / names.len();
            let parts = weights.chunks_mut(outputs * layer.inputs).zip(biases.chunks_mut(outputs));
            for ((weights, biases), name) in parts.zip(names) {
                let shape = [outputs, layer.inputs];
                weights.copy_from_slice(&tensors.f32(&format!("{prefix}{name}.weight"), &shape)?);
                biases.copy_from_slice(&tensors.f32(&format!("{prefix}{name}.bias"), &[outputs])?);
            }
        }
        match network.first_not_finite_as(prefix, names) {
            Some(name) => Err(Error::NotFinite { name }),
            None => Ok(network),
        }
    }

    /// The name of the first tensor with a value that is infinite or not a number, as [`write`](Self::write) names it;
    /// none where all are finite.
    pub fn first_not_finite(&self, prefix: &str) -> Option<String> {
        self.first_not_finite_as(prefix, LayerNames::Sequential)
    }

    /// [`first_not_finite`](Self::first_not_finite) under other names.
    pub(crate) fn first_not_finite_as(&self, prefix: &str, names: LayerNames) -> Option<String> {
        let finite = |values: &[f32]| values.iter().fold(true, |all, value| all & value.is_finite());
        // Nearly always all are, and no name is made.
        if finite(&self.parameters) {
            return None;
        }
        self.linears(names, &self.parameters).find_map(|Linear { name, weight, bias, .. }| {
            let kind = if finite(weight) { "bias" } else { "weight" };
            (!finite(weight) || !finite(bias)).then(|| format!("{prefix}{name}.{kind}"))
        })
    }

    /// The linear layers of a file, in values that are laid out as this network's parameters.
    fn linears<'a>(&'a self, names: LayerNames, values: &'a [f32]) -> impl Iterator<Item = Linear<'a>> {
        let count = self.layers.len();
        self.layers.iter().enumerate().flat_map(move |(index, layer)| {
            let names = names.of(index, count);
            let (inputs, outputs) = (layer.inputs, layer.outputs / names.len());
            let weights = layer.weight(values).chunks(outputs * inputs);
            let parts = weights.zip(layer.bias(values).chunks(outputs)).zip(names);
            parts.map(move |((weight, bias), name)| Linear { name, inputs, weight, bias })
        })
    }

    fn zeroed(sizes: &[usize], activation: Activation) -> Result<Self, Error> {
        if sizes.len() < 3 || sizes.contains(&0) {
            return Err(Error::Sizes { sizes: sizes.to_vec() });
        }
        let mut layers = Vec::with_capacity(sizes.len() - 1);
        let mut len = 0_usize;
        for pair in sizes.windows(2) {
            let layer = Layer { inputs: pair[0], outputs: pair[1], offset: len };
            check_memory("a layer of a network", &[pair[0].saturating_add(1), pair[1]])?;
            len = len.saturating_add(layer.len());
            layers.push(layer);
        }
        check_memory("a network", &[len])?;
        let factors = Factors::new(&layers);
        Ok(Self { layers, parameters: Buffer::zeros(len), activation, factors, evaluated: None })
    }

    /// Writes values that are laid out as this network's parameters (the parameters themselves, or their
    /// gradients) in PyTorch's layout; the names as in [`read`](Self::read).
    pub fn write(&self, prefix: &str, values: &[f32], tensors: &mut TensorWriter) {
        self.write_as(prefix, LayerNames::Sequential, values, tensors);
    }

    /// [`write`](Self::write) under other names.
    pub(crate) fn write_as(
        &self,
        prefix: &str,
        names: LayerNames,
        values: &[f32],
        tensors: &mut TensorWriter,
    ) {
        assert_eq!(values.len(), self.parameters.len(), "one value a parameter");
        for Linear { name, inputs, weight, bias } in self.linears(names, values) {
            let shape = vec![bias.len(), inputs];
            tensors.push(format!("{prefix}{name}.weight"), shape, weight.iter().copied());
            tensors.push(format!("{prefix}{name}.bias"), vec![bias.len()], bias.iter().copied());
        }
    }

    /// Whether there is memory for what so many rows become on their way through the layers.
    pub(crate) fn check_memory(&self, rows: usize) -> Result<(), Error> {
        let width = self.layers.iter().map(|layer| layer.outputs.max(layer.inputs)).sum();
        check_memory("a minibatch", &[rows, width, 2])
    }

    /// The layers' widths, from the input's to the output's.
    pub fn sizes(&self) -> Vec<usize> {
        [self.inputs()].into_iter().chain(self.layers.iter().map(|layer| layer.outputs)).collect()
    }

    /// Writes how far each weight reaches, times the root of its inputs, as `{prefix}{layer}.weight.bound`: 1, or just
    /// below, where it was drawn by PyTorch's default.
    pub fn write_bounds(&self, prefix: &str, tensors: &mut TensorWriter) {
        self.write_bounds_as(prefix, LayerNames::Sequential, tensors);
    }

    /// [`write_bounds`](Self::write_bounds) under other names.
    pub(crate) fn write_bounds_as(&self, prefix: &str, names: LayerNames, tensors: &mut TensorWriter) {
        for Linear { name, inputs, weight, .. } in self.linears(names, &self.parameters) {
            let largest = weight.iter().fold(0.0_f32, |a, b| if b.abs() > a { b.abs() } else { a });
            let bound = largest * (inputs as f32).sqrt();
            tensors.push(format!("{prefix}{name}.weight.bound"), vec![1], [bound]);
        }
    }

    /// Writes what an orthogonal initialisation promises: the products of each weight's rows, or of its columns where
    /// they are fewer, as `{prefix}{layer}.weight.gram`, and the biases.
    pub fn write_grams(&self, prefix: &str, tensors: &mut TensorWriter) {
        for linear in self.linears(LayerNames::Sequential, &self.parameters) {
            let Linear { name, inputs, weight, bias } = linear;
            let outputs = bias.len();
            // Distances from one row (or column) to the next, and along it.
            let (count, length, stride, along) =
                if outputs <= inputs { (outputs, inputs, inputs, 1) } else { (inputs, outputs, 1, inputs) };
            let value = |row, k| f64::from(weight[row * stride + k * along]);
            let product = |a, b| (0..length).map(|k| value(a, k) * value(b, k)).sum::<f64>() as f32;
            let gram = (0..count * count).map(|place| product(place / count, place % count));
            tensors.push(format!("{prefix}{name}.weight.gram"), vec![count, count], gram);
            tensors.push(format!("{prefix}{name}.bias"), vec![outputs], bias.iter().copied());
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
        self.factors.invalidate();
        &mut self.parameters
    }
}

/// Without the parameters, of which there are thousands.
impl fmt::Debug for Mlp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sizes, activation) = (self.sizes(), self.activation);
        f.debug_struct("Mlp").field("sizes", &sizes).field("activation", &activation).finish_non_exhaustive()
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
