//! How far a policy has moved from the one that acted.

use super::head::{Head, Strip};
use super::{DensePpo, PpoMinibatch};
use crate::kernels::{exp, horizontal_sum, row_weights};
use crate::processor::Processor;
use crate::simd::{LANES, Simd, Work};

/// How far a policy has moved from the one that took a minibatch's actions. Each is CleanRL's figure of that name, and `r`
/// is an action's probability now over that when it was taken.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PolicyShift {
    /// The mean of `-ln r`, an estimate of the KL divergence that may be negative.
    pub old_approx_kl: f32,
    /// The mean of `(r - 1) - ln r`, an estimate of less variance that is never negative (Schulman, 2020).
    pub approx_kl: f32,
    /// Share of the rows whose `r` is further than the clip from one.
    pub clip_fraction: f32,
}

impl PolicyShift {
    /// From logarithms of the actions' probabilities, now and then.
    #[cfg(any(feature = "burn", feature = "candle"))]
    pub(crate) fn of(now: &[f32], then: &[f32], clip: f64) -> Self {
        let [mut old_approx_kl, mut approx_kl, mut clip_fraction] = [0.0_f64; 3];
        for (now, then) in now.iter().zip(then) {
            let log_ratio = f64::from(now - then);
            let excess = log_ratio.exp() - 1.0;
            old_approx_kl -= log_ratio;
            approx_kl += excess - log_ratio;
            clip_fraction += f64::from(u8::from(excess.abs() > clip));
        }
        let mean = |sum: f64| (sum / now.len() as f64) as f32;
        Self {
            old_approx_kl: mean(old_approx_kl),
            approx_kl: mean(approx_kl),
            clip_fraction: mean(clip_fraction),
        }
    }
}

pub(super) struct MeasureShift<'a, H: Head> {
    pub(super) ppo: &'a mut DensePpo<H>,
    pub(super) minibatch: &'a PpoMinibatch<'a, H::Value>,
}

impl<H: Head> Work for MeasureShift<'_, H> {
    type Done = PolicyShift;

    #[inline(always)]
    fn with<S: Simd>(self, simd: S) -> PolicyShift {
        self.ppo.policy_shift_with(simd, self.minibatch)
    }
}

#[expect(private_bounds, reason = "kernels are no interface: the distributions are this crate's own")]
impl<H: Head> DensePpo<H> {
    #[inline(always)]
    fn policy_shift_with<S: Simd>(&mut self, simd: S, minibatch: &PpoMinibatch<'_, H::Value>) -> PolicyShift {
        self.actor.forward(Processor::new(simd, self.pool.as_ref()), minibatch.observations);
        self.head.take(simd, minibatch.actions);
        let (zero, one, clip) = (simd.splat(0.0), simd.splat(1.0), simd.splat(self.options.clip as f32));
        let (outputs, width) = (self.actor.activations.output(), self.actor.activations.width());
        let mut sums = [zero; 3];
        for first in (0..self.sizes.batch).step_by(LANES) {
            let weight = simd.load(&row_weights(first, self.sizes.batch));
            let rows = self.head.rows(simd, Strip { outputs, width, first });
            let (logarithm, _) = H::logarithm_and_entropy(rows);
            let old = simd.load_up_to(&minibatch.log_probabilities[first..]);
            // Beyond the batch a ratio may be infinite, which times the weight of 0 is no number.
            let log_ratio = simd.select(simd.less(zero, weight), simd.sub(logarithm, old), zero);
            let excess = simd.sub(exp(simd, log_ratio), one);
            let magnitude = simd.select(simd.less(excess, zero), simd.sub(zero, excess), excess);
            let outside = simd.select(simd.less(clip, magnitude), one, zero);
            let figures = [simd.sub(zero, log_ratio), simd.sub(excess, log_ratio), outside];
            for (sum, figure) in sums.iter_mut().zip(figures) {
                *sum = simd.mul_add(figure, weight, *sum);
            }
        }
        let [old_approx_kl, approx_kl, clip_fraction] = sums;
        PolicyShift {
            old_approx_kl: horizontal_sum(simd, old_approx_kl) as f32,
            approx_kl: horizontal_sum(simd, approx_kl) as f32,
            clip_fraction: horizontal_sum(simd, clip_fraction) as f32,
        }
    }
}
