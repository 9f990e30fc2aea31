//! Sums along the batch.

use crate::simd::{LANES, Simd, Work};

/// `out[i]` is the sum of row `i` of `rows`, (out, width) with whole vectors in a row.
#[inline(always)]
pub(crate) fn sums_over_lanes<S: Simd>(simd: S, rows: &[f32], width: usize, out: &mut [f32]) {
    simd.run(SumsOverLanes { rows, width, out });
}

/// Compiled once, not at every call.
struct SumsOverLanes<'a> {
    rows: &'a [f32],
    width: usize,
    out: &'a mut [f32],
}

impl Work for SumsOverLanes<'_> {
    type Done = ();

    #[inline(always)]
    fn with<S: Simd>(self, simd: S) {
        let Self { rows, width, out } = self;
        assert_eq!(rows.len(), out.len() * width, "{} rows of {width}", out.len());
        for (rows, out) in rows.chunks(LANES * width).zip(out.chunks_mut(LANES)) {
            let mut sums = [simd.splat(0.0); LANES];
            for (sum, row) in sums.iter_mut().zip(rows.chunks_exact(width)) {
                for values in row.chunks_exact(LANES) {
                    *sum = simd.add(*sum, simd.load(values));
                }
            }
            simd.store_up_to(simd.sums(sums), out);
        }
    }
}

/// `out[j]` is the sum of column `j` of `rows`, (count, width) with whole vectors in a row: of each column one chain.
#[inline(always)]
pub(crate) fn sums_of_columns<S: Simd>(simd: S, rows: &[f32], width: usize, out: &mut [f32]) {
    simd.run(SumsOfColumns { rows, width, out });
}

/// Compiled once, not at every call.
struct SumsOfColumns<'a> {
    rows: &'a [f32],
    width: usize,
    out: &'a mut [f32],
}

/// Vectors of columns at a time, as many chains.
const VECTORS: usize = 8;

impl Work for SumsOfColumns<'_> {
    type Done = ();

    #[inline(always)]
    fn with<S: Simd>(self, simd: S) {
        let Self { rows, width, out } = self;
        assert!(out.len() <= width, "{} columns of {width}", out.len());
        for (strip, out) in out.chunks_mut(VECTORS * LANES).enumerate() {
            let mut sums = [simd.splat(0.0); VECTORS];
            for row in rows.chunks_exact(width) {
                let values = row[strip * VECTORS * LANES..].as_chunks::<LANES>().0;
                for (sum, values) in sums.iter_mut().zip(values) {
                    *sum = simd.add(*sum, simd.load(values));
                }
            }
            for (sum, out) in sums.into_iter().zip(out.chunks_mut(LANES)) {
                simd.store_up_to(sum, out);
            }
        }
    }
}
