//! The matrix product.

use crate::simd::{LANES, Simd};

/// Rows of a register tile: with it, 120, 84, 96 and 6 are whole tiles.
const TILE_ROWS: usize = 6;

/// The left factor, read element by element.
pub(crate) trait Left: Copy {
    /// The elements (`first_row..first_row + ROWS`, `k`).
    fn column<const ROWS: usize>(self, first_row: usize, k: usize) -> [f32; ROWS];
}

/// A matrix (rows, depth), row after row.
#[derive(Clone, Copy)]
pub(crate) struct ByRows<'a> {
    pub(crate) values: &'a [f32],
    pub(crate) depth: usize,
}

impl Left for ByRows<'_> {
    #[inline(always)]
    fn column<const ROWS: usize>(self, first_row: usize, k: usize) -> [f32; ROWS] {
        let mut column = [0.0; ROWS];
        for (row, value) in (first_row..).zip(&mut column) {
            *value = self.values[row * self.depth + k];
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

impl Left for ByColumns<'_> {
    #[inline(always)]
    fn column<const ROWS: usize>(self, first_row: usize, k: usize) -> [f32; ROWS] {
        *self.values[k * self.stride + first_row..].first_chunk().expect("a tile lies inside the matrix")
    }
}

/// What becomes of a sum before it is stored.
///
/// Not a closure, which nothing could force to be inlined.
pub(crate) trait Finish: Copy {
    /// `sum` are the sixteen outputs from `place` on.
    fn finish<S: Simd>(self, simd: S, sum: S::Vector, place: usize) -> S::Vector;
}

/// The sum itself.
#[derive(Clone, Copy)]
pub(crate) struct Plain;

impl Finish for Plain {
    #[inline(always)]
    fn finish<S: Simd>(self, _: S, sum: S::Vector, _: usize) -> S::Vector {
        sum
    }
}

/// Negative sums become zero.
#[derive(Clone, Copy)]
pub(crate) struct Relu;

impl Finish for Relu {
    #[inline(always)]
    fn finish<S: Simd>(self, simd: S, sum: S::Vector, _: usize) -> S::Vector {
        simd.relu(sum)
    }
}

/// Sums beside an activation that is not positive become zero: ReLU's derivative.
#[derive(Clone, Copy)]
pub(crate) struct WherePositive<'a>(pub(crate) &'a [f32]);

impl Finish for WherePositive<'_> {
    #[inline(always)]
    fn finish<S: Simd>(self, simd: S, sum: S::Vector, place: usize) -> S::Vector {
        simd.where_positive(simd.load(&self.0[place..]), sum)
    }
}

/// `out = finish(start + left · right)`.
///
/// `right` is (depth, width) with whole vectors in a row; `out` has `rows` rows of `columns <= width` values.
/// `start` gives a row's first addend, or is empty for zero.
/// Every output is one chain of fused multiply-adds in order of the inner index: tiles change no bit of it.
#[inline(always)]
pub(crate) fn multiply<S: Simd>(
    simd: S,
    (rows, columns, width): (usize, usize, usize),
    left: impl Left,
    right: &[f32],
    start: &[f32],
    finish: impl Finish,
    out: &mut [f32],
) {
    assert!(width.is_multiple_of(LANES) && columns <= width, "whole vectors");
    assert_eq!(out.len(), rows * columns, "a product of {rows} x {columns}");
    let product = Product { simd, rows, columns, width, left, right, start, finish };
    let vectors = columns.div_ceil(LANES);
    let mut vector = 0;
    if S::TILE_VECTORS == 4 {
        while vector + 4 <= vectors {
            product.strip::<4>(vector, out);
            vector += 4;
        }
        if vector + 2 <= vectors {
            product.strip::<2>(vector, out);
            vector += 2;
        }
    }
    while vector < vectors {
        product.strip::<1>(vector, out);
        vector += 1;
    }
}

#[derive(Clone, Copy)]
struct Product<'a, S, L, F> {
    simd: S,
    rows: usize,
    columns: usize,
    width: usize,
    left: L,
    right: &'a [f32],
    start: &'a [f32],
    finish: F,
}

impl<S: Simd, L: Left, F: Finish> Product<'_, S, L, F> {
    /// All rows of `VECTORS` vectors of columns: this much of the right factor stays in the nearest cache.
    #[inline(always)]
    fn strip<const VECTORS: usize>(&self, first_vector: usize, out: &mut [f32]) {
        let mut row = 0;
        while row + TILE_ROWS <= self.rows {
            self.tile::<TILE_ROWS, VECTORS>(row, first_vector, out);
            row += TILE_ROWS;
        }
        while row + 2 <= self.rows {
            self.tile::<2, VECTORS>(row, first_vector, out);
            row += 2;
        }
        if row < self.rows {
            self.tile::<1, VECTORS>(row, first_vector, out);
        }
    }

    /// One register tile.
    #[inline(always)]
    fn tile<const ROWS: usize, const VECTORS: usize>(
        &self,
        first_row: usize,
        first_vector: usize,
        out: &mut [f32],
    ) {
        let simd = self.simd;
        let first_column = first_vector * LANES;
        let mut sums = [[simd.splat(0.0); VECTORS]; ROWS];
        if !self.start.is_empty() {
            for (sums, &start) in sums.iter_mut().zip(&self.start[first_row..]) {
                *sums = [simd.splat(start); VECTORS];
            }
        }
        for (k, right) in self.right.chunks_exact(self.width).enumerate() {
            let right = &right[first_column..][..VECTORS * LANES];
            let mut vectors = [simd.splat(0.0); VECTORS];
            for (vector, values) in vectors.iter_mut().zip(right.as_chunks::<LANES>().0) {
                *vector = simd.load(values);
            }
            for (sums, factor) in sums.iter_mut().zip(self.left.column::<ROWS>(first_row, k)) {
                let factor = simd.splat(factor);
                for (sum, vector) in sums.iter_mut().zip(vectors) {
                    *sum = simd.mul_add(factor, vector, *sum);
                }
            }
        }
        for (row, sums) in (first_row..).zip(sums) {
            let out = &mut out[row * self.columns..][..self.columns];
            for (column, sum) in (first_column..).step_by(LANES).zip(sums) {
                let sum = self.finish.finish(simd, sum, row * self.columns + column);
                simd.store_up_to(sum, &mut out[column..]);
            }
        }
    }
}
