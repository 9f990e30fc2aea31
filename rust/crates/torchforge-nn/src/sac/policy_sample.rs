//! Actions drawn from a policy, with what their gradients need afterwards.

use super::{ActionRange, HALF_LOG_TWO_PI, LOG_DEVIATION, SQUASH_EPSILON};
use crate::kernels::{exp, ln, tanh, transpose};
use crate::simd::{LANES, Simd};

/// Actions drawn from a policy, across.
pub(super) struct PolicySample {
    /// The actions, within the environment's bounds; (action length, width).
    actions: Vec<f32>,
    /// Standard normal numbers; (action length, width).
    noise: Vec<f32>,
    /// tanh of the action before it is squashed; (action length, width).
    pub(super) squashed: Vec<f32>,
    /// Standard deviation times noise; (action length, width).
    pub(super) deviation: Vec<f32>,
    /// The tanh of the raw log deviation; (action length, width).
    pub(super) raw: Vec<f32>,
    /// (width).
    pub(super) log_probabilities: Vec<f32>,
}

impl PolicySample {
    /// Memory for actions of this length; `width` is a multiple of the lanes.
    pub(super) fn new(action_len: usize, width: usize) -> Self {
        let numbers = || vec![0.0; action_len * width];
        Self {
            actions: numbers(),
            noise: numbers(),
            squashed: numbers(),
            deviation: numbers(),
            raw: numbers(),
            log_probabilities: vec![0.0; width],
        }
    }

    /// Draws actions from the actor's `outputs` with `noise`, (batch, action length).
    #[inline(always)]
    pub(super) fn draw<S: Simd>(&mut self, simd: S, outputs: &[f32], noise: &[f32], range: &ActionRange) {
        let (width, actions) = (self.log_probabilities.len(), range.scale.len());
        transpose(simd, (noise, actions, actions), &mut self.noise, width);
        let (means, raws) = outputs.split_at(actions * width);
        let (zero, one) = (simd.splat(0.0), simd.splat(1.0));
        for first in (0..width).step_by(LANES) {
            let mut log_probability = zero;
            for (action, (&scale, &bias)) in range.scale.iter().zip(&range.bias).enumerate() {
                let place = action * width + first;
                let noise = simd.load(&self.noise[place..]);
                let (raw, log_deviation) = log_deviation(simd, simd.load(&raws[place..]));
                let spread = simd.mul(exp(simd, log_deviation), noise);
                let squashed = tanh(simd, simd.add(simd.load(&means[place..]), spread));
                let scale = simd.splat(scale);
                simd.store(simd.mul_add(squashed, scale, simd.splat(bias)), &mut self.actions[place..]);
                let slope = simd.mul_add(simd.sub(zero, squashed), squashed, one);
                let squash = ln(simd, simd.mul_add(scale, slope, simd.splat(SQUASH_EPSILON as f32)));
                // log N(x; mean, deviation) = -noise^2 / 2 - log deviation - log(2 pi) / 2.
                let normal = simd.mul_add(
                    simd.mul(noise, noise),
                    simd.splat(-0.5),
                    simd.splat(-HALF_LOG_TWO_PI as f32),
                );
                let normal = simd.sub(normal, log_deviation);
                log_probability = simd.add(log_probability, simd.sub(normal, squash));
                simd.store(squashed, &mut self.squashed[place..]);
                simd.store(spread, &mut self.deviation[place..]);
                simd.store(raw, &mut self.raw[place..]);
            }
            simd.store(log_probability, &mut self.log_probabilities[first..]);
        }
    }

    /// Writes the `observations`, each `len` long, with the drawn actions behind them to `inputs`.
    pub(super) fn join(&self, observations: &[f32], len: usize, inputs: &mut [f32]) {
        let width = self.log_probabilities.len();
        join(observations, len, inputs, |row, action| self.actions[action * width + row]);
    }
}

/// Writes the `observations`, each `len` long, with the values of their actions behind them to `inputs`; `value` is given
/// row and place.
pub(super) fn join(
    observations: &[f32],
    len: usize,
    inputs: &mut [f32],
    value: impl Fn(usize, usize) -> f32,
) {
    let rows = observations.chunks_exact(len);
    let input_len = inputs.len() / rows.len();
    for (row, (input, observation)) in inputs.chunks_exact_mut(input_len).zip(rows).enumerate() {
        let (first, last) = input.split_at_mut(len);
        first.copy_from_slice(observation);
        for (place, last) in last.iter_mut().enumerate() {
            *last = value(row, place);
        }
    }
}

/// tanh of the raw output, and the log deviation that it stands for.
#[inline(always)]
fn log_deviation<S: Simd>(simd: S, raw: S::Vector) -> (S::Vector, S::Vector) {
    let (lowest, highest) = LOG_DEVIATION;
    let squashed = tanh(simd, raw);
    let share = simd.add(squashed, simd.splat(1.0));
    (squashed, simd.mul_add(share, simd.splat((0.5 * (highest - lowest)) as f32), simd.splat(lowest as f32)))
}

/// tanh of the raw output, and the deviation that it stands for.
#[inline(always)]
pub(super) fn deviation<S: Simd>(simd: S, raw: S::Vector) -> (S::Vector, S::Vector) {
    let (squashed, log_deviation) = log_deviation(simd, raw);
    (squashed, exp(simd, log_deviation))
}
