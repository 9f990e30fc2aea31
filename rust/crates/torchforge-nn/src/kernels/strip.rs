//! Several vectors side by side.

use crate::simd::{LANES, Simd};

/// The first of `values`, zeros where there are too few.
#[inline(always)]
pub(super) fn load<S: Simd, const VECTORS: usize>(simd: S, values: &[f32]) -> [S::Vector; VECTORS] {
    let mut vectors = [simd.splat(0.0); VECTORS];
    if let Some(values) = values.get(..VECTORS * LANES) {
        for (vector, values) in vectors.iter_mut().zip(values.as_chunks::<LANES>().0) {
            *vector = simd.load(values);
        }
    } else {
        // By number, so that it is unrolled and stays in registers.
        for (number, vector) in vectors.iter_mut().enumerate() {
            *vector = simd.load_up_to(values.get(number * LANES..).unwrap_or_default());
        }
    }
    vectors
}

/// As many of the values as there is room for.
#[inline(always)]
pub(super) fn store<S: Simd, const VECTORS: usize>(
    simd: S,
    vectors: [S::Vector; VECTORS],
    values: &mut [f32],
) {
    if let Some(values) = values.get_mut(..VECTORS * LANES) {
        for (vector, values) in vectors.into_iter().zip(values.as_chunks_mut::<LANES>().0) {
            simd.store(vector, values);
        }
    } else {
        for (number, vector) in vectors.into_iter().enumerate() {
            simd.store_up_to(vector, values.get_mut(number * LANES..).unwrap_or_default());
        }
    }
}
