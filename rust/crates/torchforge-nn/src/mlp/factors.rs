//! Weights as the kernels want them.

use super::Layer;
use super::activations::padded;
use crate::buffer::Buffer;
use crate::kernels::transpose;
use crate::simd::{LANES, Simd};

/// A matrix whose rows are whole vectors, with zeros at their ends.
#[derive(Clone, Copy)]
pub(super) struct Factor<'a> {
    pub(super) values: &'a [f32],
    /// Values in a row.
    pub(super) width: usize,
}

/// Copies of the weights, made anew when they are needed after the parameters were changed.
#[derive(Clone)]
pub(super) struct Factors {
    /// For each layer but the last its weight's transpose: (inputs, outputs).
    across: Vec<Matrix>,
    /// For each layer but the first its weight: (outputs, inputs), with whole vectors of rows. None where the parameters
    /// are as good: the last layer's needs more rows, and another's whole vectors in a row.
    along: Vec<Option<Matrix>>,
    ready_forward: bool,
    ready_backward: bool,
}

#[derive(Clone)]
struct Matrix {
    values: Buffer,
    width: usize,
}

impl Matrix {
    fn zeros(rows: usize, width: usize) -> Self {
        Self { values: Buffer::zeros(rows * width), width }
    }
}

impl Factors {
    pub(super) fn new(layers: &[Layer]) -> Self {
        let last = layers.len() - 1;
        let copy = |number: usize, layer: &Layer| {
            (number == last || !layer.inputs.is_multiple_of(LANES))
                .then(|| Matrix::zeros(padded(layer.outputs), padded(layer.inputs)))
        };
        Self {
            across: layers[..last]
                .iter()
                .map(|layer| Matrix::zeros(layer.inputs, padded(layer.outputs)))
                .collect(),
            along: layers.iter().enumerate().skip(1).map(|(number, layer)| copy(number, layer)).collect(),
            ready_forward: false,
            ready_backward: false,
        }
    }

    /// The parameters are about to be changed.
    pub(super) fn invalidate(&mut self) {
        (self.ready_forward, self.ready_backward) = (false, false);
    }

    /// The transpose of a layer's weight, once [`prepare_forward`](Self::prepare_forward) was called.
    pub(super) fn across(&self, layer: usize) -> Factor<'_> {
        let Matrix { values, width } = &self.across[layer];
        Factor { values, width: *width }
    }

    /// A layer's weight: the last's once [`prepare_forward`](Self::prepare_forward) was called, another's after
    /// [`prepare_backward`](Self::prepare_backward).
    pub(super) fn along<'a>(&'a self, number: usize, layers: &[Layer], parameters: &'a [f32]) -> Factor<'a> {
        match &self.along[number - 1] {
            Some(Matrix { values, width }) => Factor { values, width: *width },
            None => Factor { values: layers[number].weight(parameters), width: layers[number].inputs },
        }
    }

    #[inline(always)]
    pub(super) fn prepare_forward<S: Simd>(&mut self, simd: S, layers: &[Layer], parameters: &[f32]) {
        if self.ready_forward {
            return;
        }
        for (layer, across) in layers.iter().zip(&mut self.across) {
            let weight = layer.weight(parameters);
            transpose(simd, (weight, layer.inputs, layer.inputs), &mut across.values, across.width);
        }
        if let (Some(layer), Some(Some(along))) = (layers.last(), self.along.last_mut()) {
            copy_rows(layer.weight(parameters), layer.inputs, along);
        }
        self.ready_forward = true;
    }

    #[inline(always)]
    pub(super) fn prepare_backward(&mut self, layers: &[Layer], parameters: &[f32]) {
        if self.ready_backward {
            return;
        }
        let last = self.along.len() - 1;
        for (layer, along) in layers[1..].iter().zip(&mut self.along[..last]) {
            if let Some(along) = along {
                copy_rows(layer.weight(parameters), layer.inputs, along);
            }
        }
        self.ready_backward = true;
    }
}

fn copy_rows(weight: &[f32], inputs: usize, copy: &mut Matrix) {
    for (row, copy) in weight.chunks_exact(inputs).zip(copy.values.chunks_exact_mut(copy.width)) {
        copy[..inputs].copy_from_slice(row);
    }
}
