//! Sums along the batch, sixteen at a time.

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

/// `out[i, j]` is the sum of the products of row `i` of `left` and row `j` of `right`: a product of matrices for a
/// `right` of few rows. All rows are `width` long, whole vectors.
#[inline(always)]
pub(crate) fn products_over_lanes<S: Simd>(
    simd: S,
    left: &[f32],
    right: &[f32],
    width: usize,
    out: &mut [f32],
) {
    simd.run(ProductsOverLanes { left, right, width, out });
}

/// Compiled once, not at every call.
struct ProductsOverLanes<'a> {
    left: &'a [f32],
    right: &'a [f32],
    width: usize,
    out: &'a mut [f32],
}

impl Work for ProductsOverLanes<'_> {
    type Done = ();

    #[inline(always)]
    fn with<S: Simd>(self, simd: S) {
        let Self { left, right, width, out } = self;
        let columns = right.len() / width;
        assert_eq!(out.len(), left.len() / width * columns, "a product of rows of {width}");
        // Sixteen outputs at a time, in the order in which they lie.
        for (group, out) in out.chunks_mut(LANES).enumerate() {
            let mut sums = [simd.splat(0.0); LANES];
            for (place, sum) in sums.iter_mut().enumerate().take(out.len()) {
                let index = group * LANES + place;
                let (row, column) = (index / columns, index % columns);
                let pairs = left[row * width..][..width]
                    .chunks_exact(LANES)
                    .zip(right[column * width..][..width].chunks_exact(LANES));
                for (left, right) in pairs {
                    *sum = simd.mul_add(simd.load(left), simd.load(right), *sum);
                }
            }
            simd.store_up_to(simd.sums(sums), out);
        }
    }
}
