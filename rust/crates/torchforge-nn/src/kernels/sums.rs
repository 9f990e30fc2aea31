//! Sums along the batch.

use super::strip::{load, store};
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

impl Work for SumsOfColumns<'_> {
    type Done = ();

    #[inline(always)]
    fn with<S: Simd>(self, simd: S) {
        let Self { rows, width, out } = self;
        assert!(out.len() <= width, "{} columns of {width}", out.len());
        let vectors = out.len().div_ceil(LANES);
        let mut first = 0;
        while first < vectors {
            let (column, out) = (first * LANES, &mut out[first * LANES..]);
            first += match vectors - first {
                8.. if S::STRIP_VECTORS >= 8 => strip::<S, 8>(simd, (rows, width), column, out),
                4.. => strip::<S, 4>(simd, (rows, width), column, out),
                2.. => strip::<S, 2>(simd, (rows, width), column, out),
                _ => strip::<S, 1>(simd, (rows, width), column, out),
            };
        }
    }
}

/// `VECTORS` vectors of columns, of as many chains as stay in registers; returns `VECTORS`.
#[inline(always)]
fn strip<S: Simd, const VECTORS: usize>(
    simd: S,
    (rows, width): (&[f32], usize),
    first_column: usize,
    out: &mut [f32],
) -> usize {
    let mut sums = [simd.splat(0.0); VECTORS];
    for row in rows.chunks_exact(width) {
        for (sum, values) in sums.iter_mut().zip(load::<S, VECTORS>(simd, &row[first_column..])) {
            *sum = simd.add(*sum, values);
        }
    }
    store(simd, sums, out);
    VECTORS
}
