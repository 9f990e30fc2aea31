//! What passes through the layers, and room for it.

use super::Mlp;
use crate::buffer::Buffer;
use crate::simd::LANES;

/// A length in whole vectors.
pub(super) fn padded(len: usize) -> usize {
    len.next_multiple_of(LANES)
}

/// The outputs of every layer, or the gradients with respect to them.
#[derive(Clone)]
pub(crate) struct Activations {
    pub(super) batch: usize,
    most_rows: usize,
    /// For each hidden layer (batch, outputs), rows padded to whole vectors, with whole vectors of rows; what is padding
    /// is zero.
    pub(super) hidden: Vec<Buffer>,
    /// The last layer's, across: (outputs, [width](Self::width)).
    pub(super) output: Buffer,
}

impl Activations {
    /// Rows of the batch.
    pub(crate) fn rows(&self) -> usize {
        self.batch
    }

    /// Rows that there is room for.
    pub(crate) fn most_rows(&self) -> usize {
        self.most_rows
    }

    /// From now on the batch has so many rows. What is padding then may hold what rows before have left, so nothing can go
    /// backward through it.
    pub(crate) fn set_rows(&mut self, rows: usize) {
        assert!(rows <= self.most_rows, "room for {} rows, not {rows}", self.most_rows);
        self.batch = rows;
    }

    /// From one row of [`output`](Self::output) to the next: the batch in whole vectors.
    pub(crate) fn width(&self) -> usize {
        padded(self.batch)
    }

    pub(crate) fn output(&self) -> &[f32] {
        &self.output
    }

    pub(crate) fn output_mut(&mut self) -> &mut [f32] {
        &mut self.output
    }
}

/// The outputs of every layer for one row.
pub(crate) struct RowActivations {
    pub(super) hidden: Vec<Buffer>,
    pub(super) output: Vec<f32>,
}

impl RowActivations {
    /// The network's outputs.
    pub(crate) fn output(&self) -> &[f32] {
        &self.output
    }
}

/// What is computed across while going backward.
pub(crate) struct Transposed {
    /// A hidden layer's errors: (outputs, batch), rows padded to whole vectors with zeros.
    pub(super) errors: Buffer,
    /// The gradient of the first layer's weight: (inputs, outputs), rows padded to whole vectors.
    pub(super) first_gradient: Buffer,
}

impl Mlp {
    /// Room for the outputs of every layer for `batch` rows.
    pub(crate) fn activations(&self, batch: usize) -> Activations {
        let rows = padded(batch);
        let (last, hidden) = self.layers.split_last().expect("a network has layers");
        Activations {
            batch,
            most_rows: batch,
            hidden: hidden.iter().map(|layer| Buffer::zeros(rows * padded(layer.outputs))).collect(),
            output: Buffer::zeros(last.outputs * rows),
        }
    }

    /// Room for the outputs of every layer for one row.
    pub(crate) fn row_activations(&self) -> RowActivations {
        let (last, hidden) = self.layers.split_last().expect("a network has layers");
        RowActivations {
            hidden: hidden.iter().map(|layer| Buffer::zeros(padded(layer.outputs))).collect(),
            output: vec![0.0; last.outputs],
        }
    }

    /// Room for the transposes that going backward through `batch` rows needs.
    pub(crate) fn transposed(&self, batch: usize) -> Transposed {
        let largest = self.layers.iter().map(|layer| layer.outputs).max().unwrap_or(0);
        let first = self.layers[0];
        Transposed {
            errors: Buffer::zeros(largest * padded(batch)),
            first_gradient: Buffer::zeros(first.inputs * padded(first.outputs)),
        }
    }
}
