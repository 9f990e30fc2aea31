//! Rows become columns.

use crate::simd::{LANES, Simd, Work};

/// Writes the transpose of `values`, rows of `stride` values of which `width` count, to `out`, rows of `out_stride`;
/// what is beyond a row's values in `out` stays as it was.
#[inline(always)]
pub(crate) fn transpose<S: Simd>(
    simd: S,
    (values, width, stride): (&[f32], usize, usize),
    out: &mut [f32],
    out_stride: usize,
) {
    simd.run(Transpose { values, width, stride, out, out_stride });
}

/// Compiled once, not at every call.
struct Transpose<'a> {
    values: &'a [f32],
    width: usize,
    stride: usize,
    out: &'a mut [f32],
    out_stride: usize,
}

impl Work for Transpose<'_> {
    type Done = ();

    #[inline(always)]
    fn with<S: Simd>(self, simd: S) {
        let Self { values, width, stride, out, out_stride } = self;
        let rows = values.len() / stride;
        assert!(rows <= out_stride && out.len() >= (width - 1) * out_stride + rows, "room for the transpose");
        for first_row in (0..rows).step_by(LANES) {
            let block_rows = LANES.min(rows - first_row);
            for first_column in (0..width).step_by(LANES) {
                let block_columns = LANES.min(width - first_column);
                let mut square = [simd.splat(0.0); LANES];
                for (row, vector) in (first_row..first_row + block_rows).zip(&mut square) {
                    *vector = simd.load_up_to(&values[row * stride + first_column..][..block_columns]);
                }
                let columns = (first_column..first_column + block_columns).zip(simd.transpose(square));
                for (column, vector) in columns {
                    simd.store_up_to(vector, &mut out[column * out_stride + first_row..][..block_rows]);
                }
            }
        }
    }
}
