//! What a minibatch asks of each network: its loss, and the gradients of that. Neither needs the other for it.

use super::head::{Head, Strip, Weights};
use super::surrogate::Surrogate;
use super::{PpoLossOptions, PpoMinibatch};
use crate::kernels::{exp, horizontal_sum, row_weights};
use crate::learner::Learner;
use crate::processor::Processor;
use crate::simd::{LANES, Simd, Work};

/// The actor's gradients, which one thread computes from end to end.
pub(super) struct PolicyGradients<'a, H: Head> {
    pub(super) learner: &'a mut Learner,
    pub(super) head: &'a mut H,
    pub(super) options: &'a PpoLossOptions,
    pub(super) minibatch: &'a PpoMinibatch<'a, H::Value>,
}

/// What they were computed with.
pub(super) struct PolicyLoss {
    pub(super) loss: f64,
    pub(super) entropy: f64,
    /// The sum of the gradients' squares, without the head's.
    pub(super) squares: f64,
}

/// The critic's gradients, which one thread computes from end to end.
pub(super) struct ValueGradients<'a, V> {
    pub(super) learner: &'a mut Learner,
    pub(super) options: &'a PpoLossOptions,
    pub(super) minibatch: &'a PpoMinibatch<'a, V>,
}

/// What they were computed with.
pub(super) struct ValueLoss {
    pub(super) loss: f64,
    /// The sum of the gradients' squares.
    pub(super) squares: f64,
}

impl<H: Head> Work for PolicyGradients<'_, H> {
    type Done = PolicyLoss;

    #[inline(always)]
    fn with<S: Simd>(mut self, simd: S) -> PolicyLoss {
        let alone = Processor::one_thread(simd);
        self.learner.forward(alone, self.minibatch.observations);
        let (loss, entropy) = self.loss(simd);
        self.learner.backward(alone, self.minibatch.observations);
        PolicyLoss { loss, entropy, squares: self.learner.squares(simd) }
    }
}

impl<V> Work for ValueGradients<'_, V> {
    type Done = ValueLoss;

    #[inline(always)]
    fn with<S: Simd>(mut self, simd: S) -> ValueLoss {
        let alone = Processor::one_thread(simd);
        self.learner.forward(alone, self.minibatch.observations);
        let loss = self.loss(simd);
        self.learner.backward(alone, self.minibatch.observations);
        ValueLoss { loss, squares: self.learner.squares(simd) }
    }
}

impl<H: Head> PolicyGradients<'_, H> {
    /// Writes the gradient with respect to the actor's outputs; returns the policy's loss and its entropy.
    #[inline(always)]
    fn loss<S: Simd>(&mut self, simd: S) -> (f64, f64) {
        let Self { learner, head, options, minibatch } = self;
        let (width, batch) = (learner.activations.width(), learner.activations.rows());
        let entropy_weight = simd.splat(options.entropy_weight as f32);
        let surrogate = Surrogate::new(simd, options, minibatch.advantages);
        let outputs = learner.activations.output();
        let errors = learner.errors.output_mut();
        head.take(simd, minibatch.actions);
        let zero = simd.splat(0.0);
        let (mut loss_sum, mut entropy_sum) = (zero, zero);
        for first in (0..batch).step_by(LANES) {
            let weight = simd.load(&row_weights(first, batch));
            let rows = head.rows(simd, Strip { outputs, width, first });
            let (logarithm, entropy) = H::logarithm_and_entropy(rows);
            let old = simd.load_up_to(&minibatch.log_probabilities[first..]);
            // Beyond the batch a ratio may be infinite, which times the weight of 0 is no number.
            let log_ratio = simd.select(simd.less(zero, weight), simd.sub(logarithm, old), zero);
            let ratio = exp(simd, log_ratio);
            let (loss, slope) = surrogate.of(simd, ratio, simd.load_up_to(&minibatch.advantages[first..]));
            loss_sum = simd.mul_add(loss, weight, loss_sum);
            entropy_sum = simd.mul_add(entropy, weight, entropy_sum);
            let weights =
                Weights { slope: simd.mul(slope, weight), entropy: simd.mul(weight, entropy_weight) };
            head.write_errors(simd, rows, weights, Strip { outputs, width, first }, errors);
        }
        head.end_errors(simd);
        (horizontal_sum(simd, loss_sum), horizontal_sum(simd, entropy_sum))
    }
}

impl<V> ValueGradients<'_, V> {
    /// Writes the gradient with respect to the critic's outputs; returns the critic's loss.
    #[inline(always)]
    fn loss<S: Simd>(&mut self, simd: S) -> f64 {
        let Self { learner, options, minibatch } = self;
        let batch = learner.activations.rows();
        let clip = options.clip as f32;
        let (lowest, highest, half) = (simd.splat(-clip), simd.splat(clip), simd.splat(0.5));
        let (zero, clip_values) = (simd.splat(0.0), options.clip_values);
        let values = learner.activations.output();
        let errors = learner.errors.output_mut();
        let mut sum = zero;
        for first in (0..batch).step_by(LANES) {
            let weight = simd.load(&row_weights(first, batch));
            let value = simd.load(&values[first..]);
            let old = simd.load_up_to(&minibatch.values[first..]);
            let wanted = simd.load_up_to(&minibatch.returns[first..]);
            let change = simd.sub(value, old);
            let (low, high) = (simd.less(change, lowest), simd.less(highest, change));
            let clipped = simd.select(low, lowest, simd.select(high, highest, change));
            let free_error = simd.sub(value, wanted);
            let clipped_error = simd.sub(simd.add(old, clipped), wanted);
            let free_square = simd.mul(free_error, free_error);
            let clipped_square = simd.mul(clipped_error, clipped_error);
            let clipped_slope = simd.select(low, zero, simd.select(high, zero, clipped_error));
            // Where both are equal each has half, as PyTorch's maximum.
            let slope = simd.mul(half, simd.add(free_error, clipped_slope));
            let slope = simd.select(simd.less(clipped_square, free_square), free_error, slope);
            let slope = simd.select(simd.less(free_square, clipped_square), clipped_slope, slope);
            let larger = simd.select(simd.less(clipped_square, free_square), free_square, clipped_square);
            let (square, slope) = if clip_values { (larger, slope) } else { (free_square, free_error) };
            sum = simd.mul_add(square, weight, sum);
            let share = simd.mul(weight, simd.splat(options.value_weight as f32));
            simd.store(simd.mul(slope, share), &mut errors[first..]);
        }
        0.5 * horizontal_sum(simd, sum)
    }
}
