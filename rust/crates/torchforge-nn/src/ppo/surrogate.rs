//! The clipped objective, and the shortening of gradients.

use super::PpoLossOptions;
use crate::simd::Simd;

/// The clipped objective of sixteen rows at once (Schulman et al., 2017, equation 7), negated.
#[derive(Clone, Copy)]
pub(super) struct Surrogate<S: Simd> {
    lowest: S::Vector,
    highest: S::Vector,
    mean: S::Vector,
    deviation: S::Vector,
}

impl<S: Simd> Surrogate<S> {
    #[inline(always)]
    pub(super) fn new(simd: S, options: &PpoLossOptions, advantages: &[f32]) -> Self {
        let (mean, deviation) = if options.normalise_advantages {
            let (mean, deviation) = mean_and_deviation(advantages);
            (mean, deviation + 1e-8)
        } else {
            (0.0, 1.0)
        };
        Self {
            lowest: simd.splat((1.0 - options.clip) as f32),
            highest: simd.splat((1.0 + options.clip) as f32),
            mean: simd.splat(mean as f32),
            deviation: simd.splat(deviation as f32),
        }
    }

    /// Loss and its derivative by the ratio's logarithm, for ratios of probabilities and advantages.
    #[inline(always)]
    pub(super) fn of(self, simd: S, ratio: S::Vector, advantage: S::Vector) -> (S::Vector, S::Vector) {
        let zero = simd.splat(0.0);
        let advantage = simd.div(simd.sub(advantage, self.mean), self.deviation);
        let minus_advantage = simd.sub(zero, advantage);
        let (low, high) = (simd.less(ratio, self.lowest), simd.less(self.highest, ratio));
        let clipped_ratio = simd.select(low, self.lowest, simd.select(high, self.highest, ratio));
        let free = simd.mul(minus_advantage, ratio);
        let clipped = simd.mul(minus_advantage, clipped_ratio);
        let free_is_larger = simd.less(clipped, free);
        let loss = simd.select(free_is_larger, free, clipped);
        // The ratio's derivative by its logarithm is itself; clipped, nothing depends on it.
        let outside = simd.select(free_is_larger, free, zero);
        (loss, simd.select(low, outside, simd.select(high, outside, free)))
    }
}

/// What gradients of this length are multiplied by, so that they are no longer than `largest`: as
/// `torch.nn.utils.clip_grad_norm_` has it.
#[inline(always)]
pub(crate) fn clip_coefficient(largest: f64, length: f64) -> f64 {
    let share = largest / (length + 1e-6);
    if share < 1.0 { share } else { 1.0 }
}

/// The mean, and the standard deviation of a sample.
fn mean_and_deviation(values: &[f32]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().copied().map(f64::from).sum::<f64>() / count;
    let squares: f64 =
        values.iter().map(|&value| (f64::from(value) - mean) * (f64::from(value) - mean)).sum();
    (mean, (squares / (count - 1.0)).sqrt())
}
