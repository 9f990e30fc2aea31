//! The one matrix product that everything here is made of.

/// Rows of a register tile. With `TILE_COLUMNS` it fills the vector registers of baseline x86-64.
const TILE_ROWS: usize = 4;
/// Columns of a register tile.
const TILE_COLUMNS: usize = 8;

/// A matrix in borrowed memory, read row by row or, transposed, column by column.
#[derive(Clone, Copy)]
pub(crate) struct Matrix<'a> {
    values: &'a [f32],
    rows: usize,
    columns: usize,
    transposed: bool,
}

impl<'a> Matrix<'a> {
    /// A (rows, columns) matrix stored row after row.
    pub(crate) fn new(values: &'a [f32], rows: usize, columns: usize) -> Self {
        assert_eq!(values.len(), rows * columns, "a matrix of {rows} x {columns}");
        Self { values, rows, columns, transposed: false }
    }

    /// The same memory seen as its transpose.
    pub(crate) fn transposed(self) -> Self {
        Self { rows: self.columns, columns: self.rows, transposed: !self.transposed, ..self }
    }
}

/// Room for the operands in the order in which the product reads them.
pub(crate) struct Packing {
    left: Vec<f32>,
    right: Vec<f32>,
}

impl Packing {
    /// Room for every product of matrices with at most `rows` rows in the left and `depth` terms a sum.
    pub(crate) fn new(rows: usize, depth: usize) -> Self {
        Self {
            left: vec![0.0; rows.next_multiple_of(TILE_ROWS) * depth],
            right: vec![0.0; TILE_COLUMNS * depth],
        }
    }
}

/// `out = finish(start + left · right)`; `start` is one row, added to each, or empty for zero.
///
/// Every output is one chain of additions: its start, then the terms in order of the inner index.
pub(crate) fn multiply(
    left: Matrix<'_>,
    right: Matrix<'_>,
    start: &[f32],
    finish: impl Fn(f32) -> f32,
    out: &mut [f32],
    packing: &mut Packing,
) {
    let (rows, depth, columns) = (left.rows, left.columns, right.columns);
    assert_eq!(right.rows, depth, "the inner sizes of a product agree");
    assert_eq!(out.len(), rows * columns, "a product of {rows} x {columns}");

    let packed_left = &mut packing.left[..rows.next_multiple_of(TILE_ROWS) * depth];
    for (first, panel) in (0..rows).step_by(TILE_ROWS).zip(packed_left.chunks_exact_mut(TILE_ROWS * depth)) {
        pack::<TILE_ROWS>(left.transposed(), first, panel);
    }
    let packed_right = &mut packing.right[..TILE_COLUMNS * depth];

    for first_column in (0..columns).step_by(TILE_COLUMNS) {
        pack::<TILE_COLUMNS>(right, first_column, packed_right);
        let width = TILE_COLUMNS.min(columns - first_column);
        let mut tile_start = [0.0; TILE_COLUMNS];
        if !start.is_empty() {
            tile_start[..width].copy_from_slice(&start[first_column..first_column + width]);
        }
        for (first_row, panel) in
            (0..rows).step_by(TILE_ROWS).zip(packed_left.chunks_exact(TILE_ROWS * depth))
        {
            let sums = tile(panel, packed_right, tile_start);
            for (row, sums) in (first_row..rows).zip(&sums) {
                let out = &mut out[row * columns + first_column..][..width];
                for (out, &sum) in out.iter_mut().zip(sums) {
                    *out = finish(sum);
                }
            }
        }
    }
}

/// `out = finish(start + row · right)` for one row: the same sums in the same order as [`multiply`]'s.
pub(crate) fn multiply_row(
    row: &[f32],
    right: &[f32],
    start: &[f32],
    finish: impl Fn(f32) -> f32,
    out: &mut [f32],
) {
    out.copy_from_slice(start);
    for (&factor, weights) in row.iter().zip(right.chunks_exact(start.len())) {
        for (out, &weight) in out.iter_mut().zip(weights) {
            *out += factor * weight;
        }
    }
    for out in out {
        *out = finish(*out);
    }
}

/// Copies columns `first..first + WIDTH`, row by row; columns beyond the matrix become zeros.
fn pack<const WIDTH: usize>(matrix: Matrix<'_>, first: usize, packed: &mut [f32]) {
    let width = WIDTH.min(matrix.columns - first);
    let (packed, _) = packed.as_chunks_mut::<WIDTH>();
    if width < WIDTH {
        packed.fill([0.0; WIDTH]);
    }
    if matrix.transposed {
        for (column, source) in matrix.values.chunks_exact(matrix.rows).skip(first).take(width).enumerate() {
            for (packed, &value) in packed.iter_mut().zip(source) {
                packed[column] = value;
            }
        }
    } else {
        for (packed, source) in packed.iter_mut().zip(matrix.values.chunks_exact(matrix.columns)) {
            packed[..width].copy_from_slice(&source[first..first + width]);
        }
    }
}

/// One register tile: the compiler keeps `sums` in vector registers.
#[inline(always)]
fn tile(left: &[f32], right: &[f32], start: [f32; TILE_COLUMNS]) -> [[f32; TILE_COLUMNS]; TILE_ROWS] {
    let mut sums = [start; TILE_ROWS];
    for (left, right) in left.as_chunks::<TILE_ROWS>().0.iter().zip(right.as_chunks::<TILE_COLUMNS>().0) {
        for (sums, &factor) in sums.iter_mut().zip(left) {
            for (sum, &value) in sums.iter_mut().zip(right) {
                *sum += factor * value;
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn values(len: usize, seed: u32) -> Vec<f32> {
        (0..len as u32).map(|i| ((i * 37 + seed * 101) % 61) as f32 / 13.0 - 2.0).collect()
    }

    proptest! {
        #[test]
        fn a_product_is_the_plain_sum_in_order_to_the_bit(
            rows in 1_usize..20, depth in 1_usize..20, columns in 1_usize..20, seed in 0_u32..100,
            left_transposed: bool, right_transposed: bool, started: bool,
        ) {
            let (a, b) = (values(rows * depth, seed), values(depth * columns, seed + 1));
            let left = if left_transposed { Matrix::new(&a, depth, rows).transposed() } else { Matrix::new(&a, rows, depth) };
            let right = if right_transposed { Matrix::new(&b, columns, depth).transposed() } else { Matrix::new(&b, depth, columns) };
            let start = if started { values(columns, seed + 2) } else { Vec::new() };
            let mut out = vec![f32::NAN; rows * columns];
            multiply(left, right, &start, |x| x, &mut out, &mut Packing::new(rows, depth));

            for row in 0..rows {
                for column in 0..columns {
                    let mut sum = start.get(column).copied().unwrap_or(0.0);
                    for k in 0..depth {
                        let x = if left_transposed { a[k * rows + row] } else { a[row * depth + k] };
                        let y = if right_transposed { b[column * depth + k] } else { b[k * columns + column] };
                        sum += x * y;
                    }
                    prop_assert_eq!(sum.to_bits(), out[row * columns + column].to_bits());
                }
            }

            if started && !left_transposed && !right_transposed {
                let mut single = vec![f32::NAN; columns];
                multiply_row(&a[..depth], &b, &start, |x| x, &mut single);
                prop_assert_eq!(&single, &out[..columns]);
            }
        }
    }
}
