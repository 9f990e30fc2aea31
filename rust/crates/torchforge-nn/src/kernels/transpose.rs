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
            for first_column in (0..width).step_by(LANES) {
                let from = first_row * stride + first_column;
                let to = first_column * out_stride + first_row;
                if first_row + LANES <= rows && first_column + LANES <= width {
                    whole_block(simd, (&values[from..], stride), (&mut out[to..], out_stride));
                    continue;
                }
                let (block_rows, block_columns) =
                    (LANES.min(rows - first_row), LANES.min(width - first_column));
                let mut square = [simd.splat(0.0); LANES];
                for (row, vector) in square.iter_mut().enumerate().take(block_rows) {
                    *vector = simd.load_up_to(&values[from + row * stride..][..block_columns]);
                }
                for (column, vector) in simd.transpose(square).into_iter().enumerate().take(block_columns) {
                    simd.store_up_to(vector, &mut out[to + column * out_stride..][..block_rows]);
                }
            }
        }
    }
}

/// A block of whole vectors: it stays in registers, since its loops have a known end.
#[inline(always)]
fn whole_block<S: Simd>(simd: S, (values, stride): (&[f32], usize), (out, out_stride): (&mut [f32], usize)) {
    let mut square = [simd.splat(0.0); LANES];
    for (row, vector) in square.iter_mut().enumerate() {
        *vector = simd.load(&values[row * stride..]);
    }
    for (column, vector) in simd.transpose(square).into_iter().enumerate() {
        simd.store(vector, &mut out[column * out_stride..]);
    }
}
