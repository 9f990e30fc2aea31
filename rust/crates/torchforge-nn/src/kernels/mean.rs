//! Means over the rows of a batch that may end within a vector.

use crate::simd::{LANES, Simd};

/// One over the batch for its rows from `first` on, zero for those of the padding.
#[inline(always)]
pub(crate) fn row_weights(first: usize, batch: usize) -> [f32; LANES] {
    let mut weights = [0.0; LANES];
    for weight in &mut weights[..(batch - first).min(LANES)] {
        *weight = 1.0 / batch as f32;
    }
    weights
}

/// The sum of the lanes.
#[inline(always)]
pub(crate) fn horizontal_sum<S: Simd>(simd: S, vector: S::Vector) -> f64 {
    let mut lanes = [0.0; LANES];
    simd.store(vector, &mut lanes);
    let mut sum = 0.0;
    for lane in lanes {
        sum += f64::from(lane);
    }
    sum
}
