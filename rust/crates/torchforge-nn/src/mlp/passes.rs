//! Forward and backward through the layers.

use std::ops::Range;

use super::activations::{Activations, RowActivations, Transposed, padded};
use super::factors::Factor;
use super::{Activation, Mlp};
use crate::buffer::Buffer;
use crate::kernels::{
    ByColumns, ByRows, Epilogue, Plain, Relu, Tanh, TanhDerivative, WherePositive, dots, multiply,
    multiply_sparse, sums_of_columns, sums_over_lanes, transpose,
};
use crate::processor::Processor;
use crate::simd::Simd;

impl Mlp {
    /// Computes every layer's outputs of `inputs`, (batch, inputs), into `activations`.
    #[inline(always)]
    pub(crate) fn forward<S: Simd>(
        &mut self,
        processor: Processor<'_, S>,
        inputs: &[f32],
        activations: &mut Activations,
    ) {
        self.forward_hidden(processor, inputs, activations.batch, &mut activations.hidden);
        let (last, width) = (self.layers[self.layers.len() - 1], activations.width());
        let factor = self.along(self.layers.len() - 1);
        let rows = &activations.hidden[activations.hidden.len() - 1];
        let outputs = activations.output.chunks_exact_mut(width).zip(last.bias(&self.parameters).chunks(1));
        for ((out, bias), weight) in outputs.zip(factor.values.chunks_exact(factor.width)) {
            dots(processor.simd, rows, weight, bias, out);
        }
    }

    /// Computes every layer's outputs of one input row: the bits that [`forward`](Self::forward) gives for it.
    #[inline(always)]
    pub(crate) fn forward_row<S: Simd>(&mut self, simd: S, input: &[f32], activations: &mut RowActivations) {
        self.forward_hidden(Processor::one_thread(simd), input, 1, &mut activations.hidden);
        let last = self.layers[self.layers.len() - 1];
        let weight = self.along(self.layers.len() - 1).values;
        let row = &activations.hidden[activations.hidden.len() - 1];
        dots(simd, weight, row, last.bias(&self.parameters), &mut activations.output);
    }

    /// A layer's weight: see [`Factors::along`](super::factors::Factors::along).
    fn along(&self, number: usize) -> Factor<'_> {
        self.factors.along(number, &self.layers, &self.parameters)
    }

    /// All layers but the last.
    #[inline(always)]
    fn forward_hidden<S: Simd>(
        &mut self,
        processor: Processor<'_, S>,
        inputs: &[f32],
        batch: usize,
        hidden: &mut [Buffer],
    ) {
        self.factors.prepare_forward(processor.simd, &self.layers, &self.parameters);
        for (number, &layer) in self.layers[..self.layers.len() - 1].iter().enumerate() {
            let (before, after) = hidden.split_at_mut(number);
            let (input, stride) = match before.last() {
                Some(rows) => (&rows[..], padded(layer.inputs)),
                None => (inputs, layer.inputs),
            };
            let Factor { values, width } = self.factors.across(number);
            let (size, bias) = ((batch, width, width), layer.bias(&self.parameters));
            let (left, out) = (ByRows { values: input, stride }, &mut after[0][..batch * width]);
            match self.activation {
                // What ReLU was done to is full of zeros; the network's own inputs are not.
                Activation::Relu if number > 0 => {
                    let right = (values, layer.outputs);
                    multiply_sparse(processor, size, (input, stride), right, bias, Relu, out);
                }
                Activation::Relu => multiply(processor, size, left, values, bias, Relu, out),
                Activation::Tanh => multiply(processor, size, left, values, bias, Tanh, out),
            }
        }
    }

    /// Computes the gradient of every parameter into `gradients`, laid out as the parameters.
    ///
    /// `activations` are those of [`forward`](Self::forward) on `inputs`; `errors` holds the gradient of
    /// the loss with respect to the outputs, and room for those of the hidden layers.
    #[inline(always)]
    pub(crate) fn backward<S: Simd>(
        &mut self,
        processor: Processor<'_, S>,
        inputs: &[f32],
        activations: &Activations,
        errors: &mut Activations,
        gradients: &mut [f32],
        transposed: &mut Transposed,
    ) {
        self.factors.prepare_backward(&self.layers, &self.parameters);
        let (batch, width) = (activations.batch, activations.width());
        for (number, &layer) in self.layers.iter().enumerate().rev() {
            let gradient = &mut gradients[layer.offset..][..layer.len()];
            let (weight_gradient, bias_gradient) = gradient.split_at_mut(layer.inputs * layer.outputs);
            let stride = padded(layer.outputs);
            let Some(before) = number.checked_sub(1) else {
                // The inputs may be fewer than a vector: so their gradients are computed across.
                let error = &errors.hidden[0][..batch * stride];
                let across = &mut transposed.first_gradient;
                let size = (layer.inputs, stride, stride);
                let left = ByColumns { values: inputs, stride: layer.inputs };
                multiply(processor, size, left, error, &[], Plain, across);
                transpose(processor.simd, (across, layer.outputs, stride), weight_gradient, layer.inputs);
                sums_of_columns(processor.simd, error, stride, bias_gradient);
                continue;
            };
            let input_width = padded(layer.inputs);
            let input = &activations.hidden[before][..batch * input_width];
            let size = (layer.outputs, layer.inputs, input_width);
            if number == activations.hidden.len() {
                let error = ByRows { values: &errors.output, stride: width };
                multiply(processor, size, error, input, &[], Plain, weight_gradient);
                sums_over_lanes(processor.simd, &errors.output, width, bias_gradient);
            } else {
                let error = &errors.hidden[number][..batch * stride];
                sums_of_columns(processor.simd, error, stride, bias_gradient);
                match self.activation {
                    Activation::Relu => {
                        let across = &mut transposed.errors[..layer.outputs * width];
                        transpose(processor.simd, (error, layer.outputs, stride), across, width);
                        let right = (input, layer.inputs);
                        multiply_sparse(processor, size, (across, width), right, &[], Plain, weight_gradient);
                    }
                    Activation::Tanh => {
                        let left = ByColumns { values: error, stride };
                        multiply(processor, size, left, input, &[], Plain, weight_gradient);
                    }
                }
            }
            self.pass_back(processor, number, activations, errors);
        }
    }

    /// Computes the gradient of the loss with respect to some of the `inputs` into `input_errors`, (inputs, width), and
    /// those of no parameters; the rest as in [`backward`](Self::backward).
    #[inline(always)]
    pub(crate) fn backward_to_inputs<S: Simd>(
        &mut self,
        processor: Processor<'_, S>,
        activations: &Activations,
        errors: &mut Activations,
        inputs: Range<usize>,
        input_errors: &mut [f32],
    ) {
        self.factors.prepare_forward(processor.simd, &self.layers, &self.parameters);
        self.factors.prepare_backward(&self.layers, &self.parameters);
        for number in (1..self.layers.len()).rev() {
            self.pass_back(processor, number, activations, errors);
        }
        let Factor { values, width } = self.factors.across(0);
        let outs = input_errors.chunks_exact_mut(activations.width());
        for (weight, out) in values.chunks_exact(width).skip(inputs.start).zip(outs) {
            dots(processor.simd, &errors.hidden[0], weight, &[0.0], out);
        }
    }

    /// A layer's errors become those of the hidden layer before it.
    #[inline(always)]
    fn pass_back<S: Simd>(
        &self,
        processor: Processor<'_, S>,
        number: usize,
        activations: &Activations,
        errors: &mut Activations,
    ) {
        let activation = &activations.hidden[number - 1];
        match self.activation {
            Activation::Relu => {
                self.pass_back_to(processor, number, activations, errors, WherePositive(activation));
            }
            Activation::Tanh => {
                self.pass_back_to(processor, number, activations, errors, TanhDerivative(activation));
            }
        }
    }

    #[inline(always)]
    fn pass_back_to<S: Simd>(
        &self,
        processor: Processor<'_, S>,
        number: usize,
        activations: &Activations,
        errors: &mut Activations,
        derivative: impl Epilogue,
    ) {
        let batch = activations.batch;
        let Factor { values, width } = self.along(number);
        let (before, after) = errors.hidden.split_at_mut(number);
        let (size, out) = ((batch, width, width), &mut before[number - 1][..batch * width]);
        let (outputs, stride) = (self.layers[number].outputs, padded(self.layers[number].outputs));
        let values = &values[..outputs * width];
        let Some(error) = after.first() else {
            let left = ByColumns { values: &errors.output, stride: activations.width() };
            return multiply(processor, size, left, values, &[], derivative, out);
        };
        match self.activation {
            Activation::Relu => {
                let right = (values, self.layers[number].inputs);
                multiply_sparse(processor, size, (error, stride), right, &[], derivative, out);
            }
            Activation::Tanh => {
                multiply(processor, size, ByRows { values: error, stride }, values, &[], derivative, out);
            }
        }
    }
}
