//! A network with all that it needs to learn from minibatches.

use crate::buffer::Buffer;
use crate::error::check_len;
use crate::kernels::{scale, sum_of_squares};
use crate::mlp::{Activations, Transposed};
use crate::processor::Processor;
use crate::simd::{Simd, Work};
use crate::state::{Numbers, Visit};
use crate::{Adam, AdamOptions, Error, Mlp};

/// Buffers are made once, for one size of minibatches.
pub(crate) struct Learner {
    pub(crate) network: Mlp,
    pub(crate) adam: Adam,
    /// Laid out as [`Mlp::parameters`].
    pub(crate) gradients: Buffer,
    pub(crate) activations: Activations,
    pub(crate) errors: Activations,
    transposed: Transposed,
}

impl Learner {
    pub(crate) fn new(network: Mlp, adam: AdamOptions, batch: usize) -> Self {
        Self {
            adam: Adam::new(adam, network.parameters().len()),
            gradients: Buffer::zeros(network.parameters().len()),
            activations: network.activations(batch),
            errors: network.activations(batch),
            transposed: network.transposed(batch),
            network,
        }
    }

    /// Shows parameters and moments: see [`NetworkState`](crate::NetworkState).
    pub(crate) fn visit_state(&mut self, name: &str, visit: &mut Visit<'_>) {
        visit(name, Numbers::F32(self.network.parameters_mut()));
        self.adam.visit_state(name, visit);
    }

    /// The network's outputs of `inputs`, (batch, inputs), and what leads to them.
    #[inline(always)]
    pub(crate) fn forward<S: Simd>(&mut self, processor: Processor<'_, S>, inputs: &[f32]) {
        self.network.forward(processor, inputs, &mut self.activations);
    }

    /// The gradients, from the errors of the outputs.
    #[inline(always)]
    pub(crate) fn backward<S: Simd>(&mut self, processor: Processor<'_, S>, inputs: &[f32]) {
        self.network.backward(
            processor,
            inputs,
            &self.activations,
            &mut self.errors,
            &mut self.gradients,
            &mut self.transposed,
        );
    }

    /// One step of the optimiser with gradients that are given, laid out as [`Mlp::parameters`].
    pub(crate) fn apply(&mut self, gradients: &[f32]) -> Result<(), Error> {
        check_len("gradients", self.gradients.len(), gradients.len())?;
        self.adam.step(self.network.parameters_mut(), gradients);
        Ok(())
    }

    /// One step of the optimiser.
    #[inline(always)]
    pub(crate) fn step<S: Simd>(&mut self, simd: S) {
        self.adam.step_with(simd, self.network.parameters_mut(), &self.gradients);
    }

    /// The sum of the gradients' squares.
    #[inline(always)]
    pub(crate) fn squares<S: Simd>(&self, simd: S) -> f64 {
        sum_of_squares(simd, &self.gradients)
    }
}

/// One step with gradients that are first made shorter, and with a learning rate of its own.
pub(crate) struct ShrunkStep<'a> {
    pub(crate) learner: &'a mut Learner,
    pub(crate) shrink: f32,
    pub(crate) learning_rate: f64,
}

impl Work for ShrunkStep<'_> {
    type Done = ();

    #[inline(always)]
    fn with<S: Simd>(self, simd: S) {
        let Self { learner, shrink, learning_rate } = self;
        scale(simd, &mut learner.gradients, shrink);
        learner.adam.set_learning_rate(learning_rate);
        learner.step(simd);
    }
}
