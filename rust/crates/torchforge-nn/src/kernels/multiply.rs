//! The matrix product.

use std::ops::Range;

use super::elementary::tanh;
use super::strip::load;
use crate::buffer::Aligned;
use crate::processor::Processor;
use crate::simd::{LANES, Simd, Work};

/// Rows of a register tile: with it, 120, 84, 96 and 6 are whole tiles.
const TILE_ROWS: usize = 6;

/// The left factor, read column by column of a few rows.
pub(crate) trait Left: Copy + Sync {
    /// Some rows of it.
    type Rows<const ROWS: usize>: Copy;

    /// The rows from `first_row` on, of each the elements in `depth`.
    fn rows<const ROWS: usize>(self, first_row: usize, depth: Range<usize>) -> Self::Rows<ROWS>;

    /// Of those elements the `k`-th.
    fn column<const ROWS: usize>(rows: Self::Rows<ROWS>, k: usize) -> [f32; ROWS];
}

/// A matrix (rows, depth), row after row, `stride` values from one to the next.
#[derive(Clone, Copy)]
pub(crate) struct ByRows<'a> {
    pub(crate) values: &'a [f32],
    pub(crate) stride: usize,
}

impl<'a> Left for ByRows<'a> {
    type Rows<const ROWS: usize> = [&'a [f32]; ROWS];

    #[inline(always)]
    fn rows<const ROWS: usize>(self, first_row: usize, depth: Range<usize>) -> [&'a [f32]; ROWS] {
        let mut rows = [self.values; ROWS];
        for (number, row) in (first_row..).zip(&mut rows) {
            // Of one length, so that one check of the index serves all.
            *row = &self.values[number * self.stride..][depth.clone()];
        }
        rows
    }

    #[inline(always)]
    fn column<const ROWS: usize>(rows: [&'a [f32]; ROWS], k: usize) -> [f32; ROWS] {
        let mut column = [0.0; ROWS];
        for (row, value) in rows.into_iter().zip(&mut column) {
            *value = row[k];
        }
        column
    }
}

/// A matrix (rows, depth) whose transpose lies row after row, `stride` values from one to the next.
#[derive(Clone, Copy)]
pub(crate) struct ByColumns<'a> {
    pub(crate) values: &'a [f32],
    pub(crate) stride: usize,
}

impl<'a> Left for ByColumns<'a> {
    type Rows<const ROWS: usize> = (&'a [f32], usize);

    #[inline(always)]
    fn rows<const ROWS: usize>(self, first_row: usize, depth: Range<usize>) -> (&'a [f32], usize) {
        (&self.values[depth.start * self.stride + first_row..], self.stride)
    }

    #[inline(always)]
    fn column<const ROWS: usize>((values, stride): (&'a [f32], usize), k: usize) -> [f32; ROWS] {
        *values[k * stride..].first_chunk().expect("a tile lies inside the matrix")
    }
}

/// What becomes of a sum before it is stored.
///
/// Not a closure, which nothing could force to be inlined.
pub(crate) trait Epilogue: Copy + Sync {
    /// `sum` are the sixteen outputs from `place` on.
    fn apply<S: Simd>(self, simd: S, sum: S::Vector, place: usize) -> S::Vector;
}

/// The sum itself.
#[derive(Clone, Copy)]
pub(crate) struct Plain;

impl Epilogue for Plain {
    #[inline(always)]
    fn apply<S: Simd>(self, _: S, sum: S::Vector, _: usize) -> S::Vector {
        sum
    }
}

/// Negative sums become zero.
#[derive(Clone, Copy)]
pub(crate) struct Relu;

impl Epilogue for Relu {
    #[inline(always)]
    fn apply<S: Simd>(self, simd: S, sum: S::Vector, _: usize) -> S::Vector {
        simd.relu(sum)
    }
}

/// The hyperbolic tangent of the sums.
#[derive(Clone, Copy)]
pub(crate) struct Tanh;

impl Epilogue for Tanh {
    #[inline(always)]
    fn apply<S: Simd>(self, simd: S, sum: S::Vector, _: usize) -> S::Vector {
        tanh(simd, sum)
    }
}

/// Sums times one minus the square of the activation beside them: tanh's derivative.
#[derive(Clone, Copy)]
pub(crate) struct TanhDerivative<'a>(pub(crate) &'a [f32]);

impl Epilogue for TanhDerivative<'_> {
    #[inline(always)]
    fn apply<S: Simd>(self, simd: S, sum: S::Vector, place: usize) -> S::Vector {
        let activation = simd.load(&self.0[place..]);
        let minus = simd.sub(simd.splat(0.0), activation);
        simd.mul(sum, simd.mul_add(minus, activation, simd.splat(1.0)))
    }
}

/// Sums beside an activation that is not positive become zero: ReLU's derivative.
#[derive(Clone, Copy)]
pub(crate) struct WherePositive<'a>(pub(crate) &'a [f32]);

impl Epilogue for WherePositive<'_> {
    #[inline(always)]
    fn apply<S: Simd>(self, simd: S, sum: S::Vector, place: usize) -> S::Vector {
        simd.where_positive(simd.load(&self.0[place..]), sum)
    }
}

/// `out = epilogue(start + left · right)`.
///
/// `right` is (depth, width) with whole vectors in a row; `out` has `rows` rows of `columns <= width` values.
/// `start` is the first addend of each column, or empty for zero.
/// Every output is one chain of fused multiply-adds in order of the inner index: neither tiles nor threads, of which
/// each computes some rows, change a bit of it.
#[inline(always)]
pub(crate) fn multiply<S: Simd>(
    processor: Processor<'_, S>,
    (rows, columns, width): (usize, usize, usize),
    left: impl Left,
    right: &[f32],
    start: &[f32],
    epilogue: impl Epilogue,
    out: &mut [f32],
) {
    assert!(width.is_multiple_of(LANES) && columns <= width, "whole vectors");
    assert_eq!(out.len(), rows * columns, "a product of {rows} x {columns}");
    let simd = processor.simd;
    share_rows(processor, (rows, columns, right.len() / width), out, |first_row, out| {
        let rows = out.len() / columns;
        simd.run(Product { first_row, rows, columns, width, left, right, start, epilogue, out });
    });
}

/// Does `product` with all rows of `out`, or with some on each thread where there are threads and enough to do. It is given
/// the first row's number, and the rows.
#[inline(always)]
pub(super) fn share_rows<S: Simd>(
    processor: Processor<'_, S>,
    (rows, columns, depth): (usize, usize, usize),
    out: &mut [f32],
    product: impl Fn(usize, &mut [f32]) + Sync,
) {
    let threads = processor.threads();
    if threads == 1 || rows * columns * depth < LEAST_DIVIDED {
        return product(0, out);
    }
    let share = rows.div_ceil(threads);
    processor.each(out.chunks_mut(share * columns).enumerate(), |(part, out)| product(part * share, out));
}

/// Multiply-adds from which on a product is divided among threads. Below, to hand out the parts, to wait for them and to
/// fetch what another core wrote takes too large a share of the time that is saved. Products of DQN and PPO have at most
/// 1.3 million, those of SAC's middle layers 17.
const LEAST_DIVIDED: usize = 1 << 21;

/// Some rows of a product. A function of its own: compiled once for each factor and epilogue, not at every call.
struct Product<'a, L, F> {
    /// Its number in the left factor; in `out` it is the first.
    first_row: usize,
    rows: usize,
    columns: usize,
    width: usize,
    left: L,
    right: &'a [f32],
    start: &'a [f32],
    epilogue: F,
    out: &'a mut [f32],
}

impl<L: Left, F: Epilogue> Work for Product<'_, L, F> {
    type Done = ();

    #[inline(always)]
    fn with<S: Simd>(mut self, simd: S) {
        let depth = self.right.len() / self.width;
        let vectors = self.columns.div_ceil(LANES);
        let widest = strip::<S>(vectors) * LANES;
        let (mut few, mut many);
        // What lies in one piece already need not be gathered.
        let packed: &mut [f32] = if self.rows < PACKED_ROWS || depth < PACKED_DEPTH || widest == self.width {
            &mut []
        } else if depth * widest <= FEW_PACKED {
            few = Aligned([0.0; FEW_PACKED]);
            &mut few.0
        } else {
            many = Aligned([0.0; PACKED]);
            &mut many.0
        };
        let mut first = 0;
        while first < vectors {
            first += match strip::<S>(vectors - first) {
                4 => self.strip::<S, 4>(simd, first, packed),
                2 => self.strip::<S, 2>(simd, first, packed),
                _ => self.strip::<S, 1>(simd, first, packed),
            };
        }
    }
}

/// Vectors in the next strip of so many.
#[inline(always)]
fn strip<S: Simd>(vectors: usize) -> usize {
    match vectors {
        4.. if S::TILE_VECTORS == 4 => 4,
        2.. if S::TILE_VECTORS == 4 => 2,
        _ => 1,
    }
}

/// Some columns of some rows of the right factor, `stride` values from one row to the next.
#[derive(Clone, Copy)]
struct Panel<'a> {
    values: &'a [f32],
    stride: usize,
    /// Which of the right factor's rows these are.
    first: usize,
    rows: usize,
    /// Whether no row comes after these.
    last: bool,
}

/// Values of a panel that is gathered: with six rows of the left factor beside them they fill a first-level cache of
/// today.
const PACKED: usize = 8192;
/// Values of a panel for which less room is enough: to make it takes less time, and pushes less out of that cache.
const FEW_PACKED: usize = 2048;
/// From how many rows of the left factor, and of the panel, on gathering pays.
const PACKED_ROWS: usize = 48;
const PACKED_DEPTH: usize = 80;

impl<L: Left, F: Epilogue> Product<'_, L, F> {
    /// All rows of `VECTORS` vectors of columns: what a tile reads of the right factor stays in the nearest cache.
    /// Returns `VECTORS`.
    ///
    /// Rows of a power of two fall into few sets of a cache and push each other out; gathered into `packed`, if there
    /// is such room, they stay.
    #[inline(always)]
    fn strip<S: Simd, const VECTORS: usize>(
        &mut self,
        simd: S,
        first_vector: usize,
        packed: &mut [f32],
    ) -> usize {
        let depth = self.right.len() / self.width;
        let (first_column, columns) = (first_vector * LANES, VECTORS * LANES);
        if packed.is_empty() {
            let (values, stride) = (&self.right[first_column..], self.width);
            let panel = Panel { values, stride, first: 0, rows: depth, last: true };
            self.tiles::<S, VECTORS>(simd, first_column, panel);
            return VECTORS;
        }
        let most = packed.len() / columns;
        for first in (0..depth).step_by(most) {
            let rows = (depth - first).min(most);
            let panel = self.right[first * self.width..].chunks(self.width);
            for (row, packed) in panel.zip(packed.chunks_exact_mut(columns).take(rows)) {
                for (values, packed) in
                    row[first_column..].as_chunks::<LANES>().0.iter().zip(packed.as_chunks_mut::<LANES>().0)
                {
                    simd.store(simd.load(values), packed);
                }
            }
            let panel = Panel { values: packed, stride: columns, first, rows, last: first + rows == depth };
            self.tiles::<S, VECTORS>(simd, first_column, panel);
        }
        VECTORS
    }

    #[inline(always)]
    fn tiles<S: Simd, const VECTORS: usize>(&mut self, simd: S, first_column: usize, right: Panel<'_>) {
        let mut row = 0;
        // Eight rows are two tiles of four: one of six would leave two, whose sums are too few to keep the units busy.
        while row + TILE_ROWS <= self.rows && row + 8 != self.rows {
            self.tile::<S, TILE_ROWS, VECTORS>(simd, row, first_column, right);
            row += TILE_ROWS;
        }
        while row + 4 <= self.rows {
            self.tile::<S, 4, VECTORS>(simd, row, first_column, right);
            row += 4;
        }
        if row + 2 <= self.rows {
            self.tile::<S, 2, VECTORS>(simd, row, first_column, right);
            row += 2;
        }
        if row < self.rows {
            self.tile::<S, 1, VECTORS>(simd, row, first_column, right);
        }
    }

    /// One register tile, from a row of `out` on.
    #[inline(always)]
    fn tile<S: Simd, const ROWS: usize, const VECTORS: usize>(
        &mut self,
        simd: S,
        first_row: usize,
        first_column: usize,
        right: Panel<'_>,
    ) {
        let mut sums = [[simd.splat(0.0); VECTORS]; ROWS];
        if right.first > 0 {
            // What the panels before have left: an unfinished sum loses nothing by being stored.
            for (row, sums) in (first_row..).zip(&mut sums) {
                *sums = load(simd, &self.out[row * self.columns..][first_column..self.columns]);
            }
        } else if !self.start.is_empty() {
            sums = [load(simd, &self.start[first_column..]); ROWS];
        }
        let depth = right.first..right.first + right.rows;
        let mut rows = self.left.rows::<ROWS>(self.first_row + first_row, depth);
        if S::TILE_VECTORS == 4 {
            // As unrelated values: the compiler would otherwise compute each row's place from the one before it.
            rows = std::hint::black_box(rows);
        }
        for k in 0..right.rows {
            let right = &right.values[k * right.stride..][..VECTORS * LANES];
            let mut vectors = [simd.splat(0.0); VECTORS];
            for (vector, values) in vectors.iter_mut().zip(right.as_chunks::<LANES>().0) {
                *vector = simd.load(values);
            }
            for (sums, factor) in sums.iter_mut().zip(L::column::<ROWS>(rows, k)) {
                let factor = simd.splat(factor);
                for (sum, vector) in sums.iter_mut().zip(vectors) {
                    *sum = simd.mul_add(factor, vector, *sum);
                }
            }
        }
        for (row, sums) in (first_row..).zip(sums) {
            let out = &mut self.out[row * self.columns..][..self.columns];
            for (column, sum) in (first_column..).step_by(LANES).zip(sums) {
                let place = (self.first_row + row) * self.columns + column;
                let sum = if right.last { self.epilogue.apply(simd, sum, place) } else { sum };
                simd.store_up_to(sum, &mut out[column..]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{SimdPath, dispatch};
    use crate::thread_pool::ThreadPool;

    /// Values of many magnitudes, so that another order of summation shows.
    fn values(len: usize, step: f32) -> Vec<f32> {
        (0..len).map(|i| (i as f32 * step).sin() * 10_f32.powi((i % 5) as i32 - 2)).collect()
    }

    struct Both<'a> {
        pool: Option<&'a ThreadPool>,
        size: (usize, usize, usize),
        by_rows: &'a [f32],
        by_columns: &'a [f32],
        right: &'a [f32],
        start: &'a [f32],
    }

    impl Work for Both<'_> {
        type Done = [Vec<f32>; 2];

        #[inline(always)]
        fn with<S: Simd>(self, simd: S) -> [Vec<f32>; 2] {
            let (rows, columns, width) = self.size;
            let processor = Processor::new(simd, self.pool);
            let depth = self.right.len() / width;
            let mut out = [vec![f32::NAN; rows * columns], vec![f32::NAN; rows * columns]];
            let left = ByRows { values: self.by_rows, stride: depth };
            multiply(processor, self.size, left, self.right, self.start, Relu, &mut out[0]);
            let left = ByColumns { values: self.by_columns, stride: rows };
            multiply(processor, self.size, left, self.right, self.start, Relu, &mut out[1]);
            out
        }
    }

    #[test]
    fn every_output_is_one_chain_in_order_whatever_the_tiles_strips_panels_and_threads() {
        let pools = [1, 2, 3, 4].map(|threads| ThreadPool::new(threads).unwrap());
        // Panels begin at 48 rows and a depth of 80, and end after 128 rows of four vectors or 512 of one. The last two
        // are divided among threads.
        for (rows, depth, columns) in [
            (1_usize, 1_usize, 1_usize),
            (5, 3, 17),
            (47, 90, 33),
            (48, 80, 64),
            (61, 129, 100),
            (50, 300, 161),
            (49, 1100, 7),
            (131, 67, 253),
            (163, 131, 161),
        ] {
            let width = columns.next_multiple_of(LANES);
            let (by_rows, right) = (values(rows * depth, 0.37), values(depth * width, 0.73));
            let by_columns: Vec<f32> =
                (0..depth * rows).map(|place| by_rows[place % rows * depth + place / rows]).collect();
            let start = values(columns, 0.11);
            let expected: Vec<f32> = (0..rows * columns)
                .map(|place| {
                    let (row, column) = (place / columns, place % columns);
                    let chain =
                        |sum, k| f32::mul_add(by_rows[row * depth + k], right[k * width + column], sum);
                    let sum = (0..depth).fold(start[column], chain);
                    if sum < 0.0 { 0.0 } else { sum }
                })
                .collect();
            let (size, by_rows, by_columns) = ((rows, columns, width), &by_rows[..], &by_columns[..]);
            let both = |pool| Both { pool, size, by_rows, by_columns, right: &right, start: &start };
            for path in SimdPath::ALL.into_iter().filter(|path| path.is_available()) {
                for pool in &pools {
                    for found in dispatch(path, both(pool.as_ref())) {
                        let same = found.iter().zip(&expected).all(|(a, b)| a.to_bits() == b.to_bits());
                        let threads = pool.as_ref().map_or(1, ThreadPool::threads);
                        assert!(same, "{rows} x {depth} x {columns} on {path} and {threads} threads");
                    }
                }
            }
        }
    }
}
