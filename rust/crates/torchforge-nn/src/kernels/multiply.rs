//! The matrix product.

use super::elementary::tanh;
use crate::simd::{LANES, Simd, Work};

/// Rows of a register tile: with it, 120, 84, 96 and 6 are whole tiles.
const TILE_ROWS: usize = 6;

/// The left factor, read column by column of a few rows.
pub(crate) trait Left: Copy {
    /// Some rows of it.
    type Rows<const ROWS: usize>: Copy;

    /// The rows from `first_row` on, `depth` elements of each.
    fn rows<const ROWS: usize>(self, first_row: usize, depth: usize) -> Self::Rows<ROWS>;

    /// Their elements number `k`.
    fn column<const ROWS: usize>(rows: Self::Rows<ROWS>, k: usize) -> [f32; ROWS];
}

/// A matrix (rows, depth), row after row.
#[derive(Clone, Copy)]
pub(crate) struct ByRows<'a> {
    pub(crate) values: &'a [f32],
    pub(crate) depth: usize,
}

impl<'a> Left for ByRows<'a> {
    type Rows<const ROWS: usize> = [&'a [f32]; ROWS];

    #[inline(always)]
    fn rows<const ROWS: usize>(self, first_row: usize, depth: usize) -> [&'a [f32]; ROWS] {
        let mut rows = [self.values; ROWS];
        for (number, row) in (first_row..).zip(&mut rows) {
            // Of one length, so that one check of the index serves all.
            *row = &self.values[number * self.depth..][..depth];
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
    fn rows<const ROWS: usize>(self, first_row: usize, _: usize) -> (&'a [f32], usize) {
        (&self.values[first_row..], self.stride)
    }

    #[inline(always)]
    fn column<const ROWS: usize>((values, stride): (&'a [f32], usize), k: usize) -> [f32; ROWS] {
        *values[k * stride..].first_chunk().expect("a tile lies inside the matrix")
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

/// The hyperbolic tangent of the sums.
#[derive(Clone, Copy)]
pub(crate) struct Tanh;

impl Finish for Tanh {
    #[inline(always)]
    fn finish<S: Simd>(self, simd: S, sum: S::Vector, _: usize) -> S::Vector {
        tanh(simd, sum)
    }
}

/// Sums times one minus the square of the activation beside them: tanh's derivative.
#[derive(Clone, Copy)]
pub(crate) struct TanhDerivative<'a>(pub(crate) &'a [f32]);

impl Finish for TanhDerivative<'_> {
    #[inline(always)]
    fn finish<S: Simd>(self, simd: S, sum: S::Vector, place: usize) -> S::Vector {
        let activation = simd.load(&self.0[place..]);
        let minus = simd.sub(simd.splat(0.0), activation);
        simd.mul(sum, simd.mul_add(minus, activation, simd.splat(1.0)))
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
    simd.run(Product { rows, columns, width, left, right, start, finish, out });
}

/// A function of its own: compiled once for each factor and finish, not at every call.
struct Product<'a, L, F> {
    rows: usize,
    columns: usize,
    width: usize,
    left: L,
    right: &'a [f32],
    start: &'a [f32],
    finish: F,
    out: &'a mut [f32],
}

impl<L: Left, F: Finish> Work for Product<'_, L, F> {
    type Done = ();

    #[inline(always)]
    fn with<S: Simd>(mut self, simd: S) {
        let vectors = self.columns.div_ceil(LANES);
        let mut vector = 0;
        if S::TILE_VECTORS == 4 {
            while vector + 4 <= vectors {
                self.strip::<S, 4>(simd, vector);
                vector += 4;
            }
            if vector + 2 <= vectors {
                self.strip::<S, 2>(simd, vector);
                vector += 2;
            }
        }
        while vector < vectors {
            self.strip::<S, 1>(simd, vector);
            vector += 1;
        }
    }
}

/// Some columns of the right factor: `depth` rows, `stride` values from one to the next.
#[derive(Clone, Copy)]
struct Strip<'a> {
    values: &'a [f32],
    stride: usize,
    depth: usize,
}

/// Values of a strip that is gathered, and from which size on that pays.
const PACKED: usize = 4096;
const PACKED_ROWS: usize = 48;
const PACKED_DEPTH: usize = 96;

impl<L: Left, F: Finish> Product<'_, L, F> {
    /// All rows of `VECTORS` vectors of columns: this much of the right factor stays in the nearest cache.
    #[inline(always)]
    fn strip<S: Simd, const VECTORS: usize>(&mut self, simd: S, first_vector: usize) {
        let depth = self.right.len() / self.width;
        let (first_column, columns) = (first_vector * LANES, VECTORS * LANES);
        if self.rows >= PACKED_ROWS && depth >= PACKED_DEPTH && depth * columns <= PACKED {
            // Rows of a power of two fall into few sets of the cache and push each other out: gathered, they stay.
            let mut packed = [0.0; PACKED];
            let rows = self.right.chunks_exact(self.width).zip(packed.chunks_exact_mut(columns));
            for (row, packed) in rows {
                for vector in 0..VECTORS {
                    simd.store(
                        simd.load(&row[first_column + vector * LANES..]),
                        &mut packed[vector * LANES..],
                    );
                }
            }
            self.tiles::<S, VECTORS>(simd, first_column, Strip { values: &packed, stride: columns, depth });
        } else {
            let values = &self.right[first_column..];
            self.tiles::<S, VECTORS>(simd, first_column, Strip { values, stride: self.width, depth });
        }
    }

    #[inline(always)]
    fn tiles<S: Simd, const VECTORS: usize>(&mut self, simd: S, first_column: usize, right: Strip<'_>) {
        let mut row = 0;
        while row + TILE_ROWS <= self.rows {
            self.tile::<S, TILE_ROWS, VECTORS>(simd, row, first_column, right);
            row += TILE_ROWS;
        }
        if row + 4 <= self.rows {
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

    /// One register tile.
    #[inline(always)]
    fn tile<S: Simd, const ROWS: usize, const VECTORS: usize>(
        &mut self,
        simd: S,
        first_row: usize,
        first_column: usize,
        right: Strip<'_>,
    ) {
        let mut sums = [[simd.splat(0.0); VECTORS]; ROWS];
        if !self.start.is_empty() {
            for (sums, &start) in sums.iter_mut().zip(&self.start[first_row..]) {
                *sums = [simd.splat(start); VECTORS];
            }
        }
        let rows = self.left.rows::<ROWS>(first_row, right.depth);
        for k in 0..right.depth {
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
                let sum = self.finish.finish(simd, sum, row * self.columns + column);
                simd.store_up_to(sum, &mut out[column..]);
            }
        }
    }
}
