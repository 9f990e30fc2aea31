//! Whole vectors of parameters or gradients.

use crate::simd::{LANES, Simd};

/// The sum of the squares.
#[inline(always)]
pub(crate) fn sum_of_squares<S: Simd>(simd: S, values: &[f32]) -> f64 {
    // Several chains, because one addition waits for another.
    const CHAINS: usize = 4;
    let mut sums = [simd.splat(0.0); CHAINS];
    for values in values.chunks(CHAINS * LANES) {
        for (values, sum) in values.chunks(LANES).zip(&mut sums) {
            let vector = simd.load_up_to(values);
            *sum = simd.mul_add(vector, vector, *sum);
        }
    }
    let mut total = 0.0;
    let mut lanes = [0.0; LANES];
    for sum in sums {
        simd.store(sum, &mut lanes);
        for lane in lanes {
            total += f64::from(lane);
        }
    }
    total
}

/// Every value times a factor.
#[inline(always)]
pub(crate) fn scale<S: Simd>(simd: S, values: &mut [f32], factor: f32) {
    let factor = simd.splat(factor);
    for values in values.chunks_mut(LANES) {
        simd.store_up_to(simd.mul(simd.load_up_to(values), factor), values);
    }
}

/// `target += rate (online - target)`: an exponential moving average.
#[inline(always)]
pub(crate) fn approach<S: Simd>(simd: S, target: &mut [f32], online: &[f32], rate: f32) {
    let (rate, rest) = (simd.splat(rate), simd.splat(1.0 - rate));
    for (target, online) in target.chunks_mut(LANES).zip(online.chunks(LANES)) {
        let kept = simd.mul(rest, simd.load_up_to(target));
        simd.store_up_to(simd.mul_add(rate, simd.load_up_to(online), kept), target);
    }
}
