//! One row through a layer: what acting needs.

use super::Finish;
use crate::simd::{LANES, Simd, Work};

/// Rows of the weight at a time.
const ROWS: usize = 4;

/// `out = finish(bias + weight · row)`; `weight` is (outputs, inputs), row after row.
///
/// Each output is a sum over lanes (see [`Simd::sums`]), in another order than [`multiply`](super::multiply)'s.
#[inline(always)]
pub(crate) fn multiply_row<S: Simd>(
    simd: S,
    weight: &[f32],
    row: &[f32],
    bias: &[f32],
    finish: impl Finish,
    out: &mut [f32],
) {
    simd.run(Row { weight, row, bias, finish, out });
}

/// Compiled once for each finish, not at every call.
struct Row<'a, F> {
    weight: &'a [f32],
    row: &'a [f32],
    bias: &'a [f32],
    finish: F,
    out: &'a mut [f32],
}

impl<F: Finish> Work for Row<'_, F> {
    type Done = ();

    #[inline(always)]
    fn with<S: Simd>(self, simd: S) {
        let Self { weight, row, bias, finish, out } = self;
        let (depth, outputs) = (row.len(), out.len());
        assert_eq!(weight.len(), depth * outputs, "a weight of {outputs} x {depth}");
        assert_eq!(bias.len(), outputs, "a bias for each output");
        let (whole, rest) = row.as_chunks::<LANES>();
        for (group, out) in out.chunks_mut(LANES).enumerate() {
            let mut sums = [simd.splat(0.0); LANES];
            for (part, sums) in sums.as_chunks_mut::<ROWS>().0.iter_mut().enumerate() {
                // Rows beyond the last are the last again; nobody reads their sums.
                let mut rows = [row; ROWS];
                for (output, row) in (group * LANES + part * ROWS..).zip(&mut rows) {
                    *row = &weight[output.min(outputs - 1) * depth..][..depth];
                }
                for (number, values) in whole.iter().enumerate() {
                    let values = simd.load(values);
                    for (sum, row) in sums.iter_mut().zip(rows) {
                        *sum = simd.mul_add(simd.load(&row[number * LANES..]), values, *sum);
                    }
                }
                if !rest.is_empty() {
                    let values = simd.load_up_to(rest);
                    for (sum, row) in sums.iter_mut().zip(rows) {
                        *sum = simd.mul_add(simd.load_up_to(&row[depth - rest.len()..]), values, *sum);
                    }
                }
            }
            let total = simd.add(simd.sums(sums), simd.load_up_to(&bias[group * LANES..]));
            simd.store_up_to(finish.finish(simd, total, group * LANES), out);
        }
    }
}
