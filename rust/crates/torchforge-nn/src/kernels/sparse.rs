//! The matrix product whose left factor has many zeros.

use std::ops::Range;

use super::Epilogue;
use super::multiply::share_rows;
use super::strip::{load, store};
use crate::buffer::Aligned;
use crate::processor::Processor;
use crate::simd::{LANES, Simd, Work};

/// `out = epilogue(start + left · right)`, where zeros of `left` take no time.
///
/// What ReLU lets through, and every gradient behind it, is full of zeros: in trainings of DQN on CartPole 39 of a
/// hundred, of SAC on Pendulum 54. Each row of the output is a sum of those rows of `right` whose factor is not zero, in
/// order: one chain of fused multiply-adds an output, as in [`multiply`](super::multiply), from which it differs in nothing
/// but time, unless `right` is not finite. Where two rows have much the same factors, they are summed side by side, and
/// a zero beside the other's factor is multiplied as any number.
///
/// `left` is (rows, stride), `right` (depth, width) and `out` (rows, columns), with whole vectors in a row of the first
/// two and `columns <= width`. Of the columns of `right` only the first `filled` count: what is padding after them is
/// multiplied or left as zero, whichever is less to do. `start` is the first addend of each column, or empty for zero.
#[inline(always)]
pub(crate) fn multiply_sparse<S: Simd>(
    processor: Processor<'_, S>,
    (rows, columns, width): (usize, usize, usize),
    (left, stride): (&[f32], usize),
    (right, filled): (&[f32], usize),
    start: &[f32],
    epilogue: impl Epilogue,
    out: &mut [f32],
) {
    assert!(width.is_multiple_of(LANES) && columns <= width, "whole vectors");
    assert!(stride.is_multiple_of(LANES) && right.len() / width <= stride, "room for the depth");
    assert_eq!(out.len(), rows * columns, "a product of {rows} x {columns}");
    let simd = processor.simd;
    share_rows(processor, (rows, columns, right.len() / width), out, |first_row, out| {
        let left = &left[first_row * stride..];
        simd.run(Product { first_row, columns, width, left, stride, right, filled, start, epilogue, out });
    });
}

/// Some rows of a product. A function of its own: compiled once for each epilogue, not at every call.
struct Product<'a, F> {
    /// The number of the first row in the whole output.
    first_row: usize,
    columns: usize,
    width: usize,
    left: &'a [f32],
    stride: usize,
    right: &'a [f32],
    /// Columns of `right` before those that are padding.
    filled: usize,
    start: &'a [f32],
    epilogue: F,
    out: &'a mut [f32],
}

/// Rows of `right` that all rows go through before the next come: bits of the word that says which factors are not zero.
const PANEL_ROWS: usize = 64;
/// Vectors of such a row at most: so many of all rows fit into a first-level cache.
const MOST_VECTORS: usize = 8;
/// From how many rows of `left` on it pays to gather a panel that does not lie in one piece.
const GATHERED_ROWS: usize = 32;
/// Rows of `left` whose factors are looked at before the first of them is summed.
const GROUP: usize = 64;

/// Some rows of `right`, and a strip of its columns.
#[derive(Clone, Copy)]
struct Panel<'a> {
    values: &'a [f32],
    /// From one row to the next.
    stride: usize,
    /// Which of the rows of `right` these are.
    first: usize,
    rows: usize,
    last: bool,
    first_column: usize,
}

impl<F: Epilogue> Work for Product<'_, F> {
    type Done = ();

    #[inline(always)]
    fn with<S: Simd>(mut self, simd: S) {
        let vectors = self.columns.div_ceil(LANES);
        let mut room;
        let room: &mut [f32] =
            if strip::<S>(vectors) * LANES < self.width && self.out.len() >= GATHERED_ROWS * self.columns {
                room = Aligned([[0.0; MOST_VECTORS * LANES]; PANEL_ROWS]);
                room.0.as_flattened_mut()
            } else {
                &mut []
            };
        let mut first = 0;
        while first < vectors {
            let (strip, column) = (strip::<S>(vectors - first), first * LANES);
            // Whether half a vector is enough for the last columns.
            let half = self.filled <= column + strip * LANES - LANES / 2;
            first += match (strip, half) {
                (MOST_VECTORS, false) => self.strip::<S, MOST_VECTORS, false>(simd, column, room),
                (MOST_VECTORS, true) => self.strip::<S, MOST_VECTORS, true>(simd, column, room),
                (6, false) => self.strip::<S, 6, false>(simd, column, room),
                (6, true) => self.strip::<S, 6, true>(simd, column, room),
                (4, false) => self.strip::<S, 4, false>(simd, column, room),
                (4, true) => self.strip::<S, 4, true>(simd, column, room),
                (2, _) => self.strip::<S, 2, false>(simd, column, room),
                _ => self.strip::<S, 1, false>(simd, column, room),
            };
        }
    }
}

/// Vectors in the next strip of so many: strips of much the same width, none wider than there are registers for.
#[inline(always)]
fn strip<S: Simd>(vectors: usize) -> usize {
    let even = vectors.div_ceil(vectors.div_ceil(S::STRIP_VECTORS));
    [MOST_VECTORS, 6, 4, 2].into_iter().find(|&strip| strip <= even).unwrap_or(1)
}

impl<F: Epilogue> Product<'_, F> {
    /// All rows of `VECTORS` vectors of columns, the last of which is but `HALF` filled; returns `VECTORS`.
    ///
    /// Panels are gathered into `room`, if there is such: in one piece their lines do not push each other out of the few
    /// places that a cache has for equal addresses.
    #[inline(always)]
    fn strip<S: Simd, const VECTORS: usize, const HALF: bool>(
        &mut self,
        simd: S,
        first_column: usize,
        room: &mut [f32],
    ) -> usize {
        let (depth, columns) = (self.right.len() / self.width, VECTORS * LANES);
        for first in (0..depth).step_by(PANEL_ROWS) {
            let rows = PANEL_ROWS.min(depth - first);
            let right = &self.right[first * self.width..][..rows * self.width];
            let panel = Panel {
                values: &right[first_column..],
                stride: self.width,
                first,
                rows,
                last: first + rows == depth,
                first_column,
            };
            if room.is_empty() {
                self.rows::<S, VECTORS, HALF>(simd, panel);
                continue;
            }
            for (row, room) in right.chunks_exact(self.width).zip(room.chunks_exact_mut(columns)) {
                store(simd, load::<S, VECTORS>(simd, &row[first_column..]), room);
            }
            self.rows::<S, VECTORS, HALF>(simd, Panel { values: room, stride: columns, ..panel });
        }
        VECTORS
    }

    /// All rows of a strip, through one panel.
    #[inline(always)]
    fn rows<S: Simd, const VECTORS: usize, const HALF: bool>(&mut self, simd: S, panel: Panel<'_>) {
        let mut start = [simd.splat(0.0); VECTORS];
        if !self.start.is_empty() {
            start = load(simd, &self.start[panel.first_column..]);
        }
        let row_count = self.out.len() / self.columns;
        for first_row in (0..row_count).step_by(GROUP) {
            let rows = first_row..(first_row + GROUP).min(row_count);
            self.group::<S, VECTORS, HALF>(simd, rows, &start, panel);
        }
    }

    /// A few rows: those that have any factors in order, in pairs where that pays, and the others after them.
    #[inline(always)]
    fn group<S: Simd, const VECTORS: usize, const HALF: bool>(
        &mut self,
        simd: S,
        rows: Range<usize>,
        start: &[S::Vector; VECTORS],
        panel: Panel<'_>,
    ) {
        let (mut order, mut filled, mut empty) = ([(0, 0_u64); GROUP], 0, rows.len());
        for row in rows.clone() {
            let factors = self.nonzero(simd, row, panel);
            if factors == 0 {
                empty -= 1;
                order[empty] = (row, factors);
            } else {
                order[filled] = (row, factors);
                filled += 1;
            }
        }
        let mut rest = &order[..rows.len()];
        while let [(row, factors), after @ ..] = rest {
            if let [(other, others), after @ ..] = after
                && S::PAIRS
                && pays::<VECTORS>(*factors, *others)
            {
                self.sums::<S, VECTORS, HALF, 2>(simd, [*row, *other], factors | others, start, panel);
                rest = after;
            } else {
                self.sums::<S, VECTORS, HALF, 1>(simd, [*row], *factors, start, panel);
                rest = after;
            }
        }
    }

    /// Which of a row's factors for this panel are not zero: a bit for each.
    #[inline(always)]
    fn nonzero<S: Simd>(&self, simd: S, row: usize, panel: Panel<'_>) -> u64 {
        let left = &self.left[row * self.stride + panel.first..][..panel.rows.next_multiple_of(LANES)];
        let mut bits = 0_u64;
        // By number, so that it is unrolled.
        for number in 0..PANEL_ROWS / LANES {
            if let Some(values) = left.as_chunks::<LANES>().0.get(number) {
                bits |= u64::from(simd.nonzero(simd.load(values))) << (number * LANES);
            }
        }
        // What is padding is zero, unless what was multiplied by zero is not finite.
        bits & (u64::MAX >> (PANEL_ROWS - panel.rows))
    }

    /// Some rows of a strip, through those rows of one panel whose bits are set.
    #[inline(always)]
    fn sums<S: Simd, const VECTORS: usize, const HALF: bool, const ROWS: usize>(
        &mut self,
        simd: S,
        rows: [usize; ROWS],
        mut bits: u64,
        start: &[S::Vector; VECTORS],
        panel: Panel<'_>,
    ) {
        let mut sums = [*start; ROWS];
        let mut lefts = [self.left; ROWS];
        for ((sums, left), row) in sums.iter_mut().zip(&mut lefts).zip(rows) {
            *left = &self.left[row * self.stride + panel.first..][..panel.rows];
            if panel.first > 0 {
                *sums = load(simd, &self.out[row * self.columns..][panel.first_column..self.columns]);
            }
        }
        while bits != 0 {
            let k = bits.trailing_zeros() as usize;
            bits &= bits - 1;
            let mut factors = [simd.splat(0.0); ROWS];
            for (factor, left) in factors.iter_mut().zip(lefts) {
                *factor = simd.splat(left[k]);
            }
            let right = &panel.values[k * panel.stride..][..VECTORS * LANES];
            for (number, values) in right.as_chunks::<LANES>().0.iter().enumerate() {
                let values = simd.load(values);
                for (sums, factor) in sums.iter_mut().zip(factors) {
                    let sum = &mut sums[number];
                    *sum = if HALF && number + 1 == VECTORS {
                        simd.mul_add_half(factor, values, *sum)
                    } else {
                        simd.mul_add(factor, values, *sum)
                    };
                }
            }
        }
        for (mut sums, row) in sums.into_iter().zip(rows) {
            if panel.last {
                let place = (self.first_row + row) * self.columns + panel.first_column;
                for (number, sum) in sums.iter_mut().enumerate() {
                    *sum = self.epilogue.apply(simd, *sum, place + number * LANES);
                }
            }
            store(simd, sums, &mut self.out[row * self.columns..][panel.first_column..self.columns]);
        }
    }
}

/// Whether two rows with these factors are faster side by side, with the factors of both.
///
/// Alone, a factor is a load, and each multiply-add is one too. Side by side a vector is loaded once for both rows, and
/// the multiply-adds are what takes the time. And two rows end as one: where a row's factors end is hard to foresee, and
/// costs as much as a load more a factor (measured: 1 and 3 instead of the 2 here are slower, DQN's and SAC's together).
#[inline(always)]
fn pays<const VECTORS: usize>(factors: u64, others: u64) -> bool {
    let (alone, both) = (factors.count_ones() + others.count_ones(), (factors | others).count_ones());
    both as usize * 2 * VECTORS <= alone as usize * (VECTORS + 2)
}

#[cfg(test)]
mod tests {
    use super::super::{ByRows, Relu, multiply};
    use super::*;
    use crate::simd::{SimdPath, dispatch};
    use crate::thread_pool::ThreadPool;

    struct Both<'a> {
        pool: Option<&'a ThreadPool>,
        size: (usize, usize, usize),
        left: (&'a [f32], usize),
        right: &'a [f32],
        start: &'a [f32],
    }

    impl Work for Both<'_> {
        type Done = [Vec<f32>; 2];

        #[inline(always)]
        fn with<S: Simd>(self, simd: S) -> [Vec<f32>; 2] {
            let (rows, columns, _) = self.size;
            let processor = Processor::new(simd, self.pool);
            let mut out = [vec![f32::NAN; rows * columns], vec![f32::NAN; rows * columns]];
            multiply_sparse(
                processor,
                self.size,
                self.left,
                (self.right, self.size.1),
                self.start,
                Relu,
                &mut out[0],
            );
            let left = ByRows { values: self.left.0, stride: self.left.1 };
            multiply(processor, self.size, left, self.right, self.start, Relu, &mut out[1]);
            out
        }
    }

    #[test]
    fn zeros_left_out_change_no_bit_whatever_the_strips_panels_threads_and_their_share() {
        let pools = [1, 3].map(|threads| ThreadPool::new(threads).unwrap());
        // A panel is 64 rows of `right`, and gathered from 32 rows of `left` on; the last is divided among threads.
        for (rows, depth, columns) in [
            (1, 1, 1),
            (5, 3, 17),
            (31, 70, 129),
            (32, 64, 33),
            (61, 129, 100),
            (7, 300, 257),
            (163, 131, 161),
            // Half a vector is enough for the last columns of strips of eight, of six and of four.
            (67, 84, 120),
            (33, 120, 84),
            (9, 70, 56),
        ] {
            let (stride, width) =
                (usize::next_multiple_of(depth, LANES), usize::next_multiple_of(columns, LANES));
            let right: Vec<f32> = (0..depth * width).map(|i| (i as f32 * 0.73).sin()).collect();
            let start: Vec<f32> = (0..columns).map(|i| (i as f32 * 0.11).cos()).collect();
            // Rows that are alike, with some between them that have no factors, are summed in pairs.
            for (nonzero_in_ten, alike) in
                [(0, false), (1, false), (5, false), (10, false), (1, true), (5, true), (9, true)]
            {
                let left: Vec<f32> = (0..rows * stride)
                    .map(|place| {
                        let (row, k) = (place / stride, place % stride);
                        // What lies beyond the depth is never read.
                        if k >= depth {
                            return f32::NAN;
                        }
                        let drawn = if alike { k * 7 } else { place * 7 };
                        if drawn % 10 >= nonzero_in_ten || alike && row % 4 == 2 {
                            0.0
                        } else {
                            (place as f32 * 0.37).sin() * 10_f32.powi((place % 5) as i32 - 2)
                        }
                    })
                    .collect();
                let (size, left) = ((rows, columns, width), (&left[..], stride));
                for path in SimdPath::ALL.into_iter().filter(|path| path.is_available()) {
                    for pool in &pools {
                        let both = Both { pool: pool.as_ref(), size, left, right: &right, start: &start };
                        let [sparse, dense] = dispatch(path, both);
                        let same = sparse.iter().zip(&dense).all(|(a, b)| a.to_bits() == b.to_bits());
                        assert!(
                            same,
                            "{rows} x {depth} x {columns}, {nonzero_in_ten} in ten, alike: {alike}, on {path}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn a_factor_that_is_not_a_number_is_not_left_out() {
        let (mut left, right) = ([0.0; LANES], [1.0; LANES]);
        left[0] = f32::NAN;
        let mut out = [0.0; LANES];
        let size = (1, LANES, LANES);
        let processor = Processor::one_thread(crate::simd::Portable);
        multiply_sparse(processor, size, (&left, LANES), (&right, LANES), &[], super::super::Plain, &mut out);
        assert!(out.iter().all(|value| value.is_nan()));
    }
}
