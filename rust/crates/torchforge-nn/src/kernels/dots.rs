//! Rows times one vector: a layer of few outputs.

use crate::simd::{LANES, Simd, Work};

/// `out[row] = start + rows[row] · vector`, for as many of the `rows`, each as long as `vector`, as `out` has room for.
///
/// `vector` is whole vectors long, and there are whole vectors of `rows`; what a row is too short for is zero.
/// Each output is a sum over lanes (see [`Simd::sums`]), the same whichever of the two is called the vector.
#[inline(always)]
pub(crate) fn dots<S: Simd>(simd: S, rows: &[f32], vector: &[f32], start: &[f32], out: &mut [f32]) {
    simd.run(Dots { rows, vector, start, out });
}

/// Compiled once, not at every call.
struct Dots<'a> {
    rows: &'a [f32],
    vector: &'a [f32],
    /// One for all rows, or one for each.
    start: &'a [f32],
    out: &'a mut [f32],
}

/// Rows at a time: as many chains of additions as keep the units for them busy.
const ROWS: usize = 8;

impl Work for Dots<'_> {
    type Done = ();

    #[inline(always)]
    fn with<S: Simd>(self, simd: S) {
        let Self { rows, vector, start, out } = self;
        let width = vector.len();
        assert!(width.is_multiple_of(LANES) && rows.len() >= out.len().next_multiple_of(LANES) * width);
        assert!(start.len() == 1 || start.len() == out.len(), "an addend for all or for each");
        for (group, out) in out.chunks_mut(LANES).enumerate() {
            let mut sums = [simd.splat(0.0); LANES];
            for (part, sums) in sums.as_chunks_mut::<ROWS>().0.iter_mut().enumerate() {
                let mut each = [vector; ROWS];
                for (row, each) in (group * LANES + part * ROWS..).zip(&mut each) {
                    *each = &rows[row * width..][..width];
                }
                for (number, values) in vector.as_chunks::<LANES>().0.iter().enumerate() {
                    let values = simd.load(values);
                    for (sum, row) in sums.iter_mut().zip(each) {
                        *sum = simd.mul_add(simd.load(&row[number * LANES..]), values, *sum);
                    }
                }
            }
            let start = match start {
                [one] => simd.splat(*one),
                each => simd.load_up_to(&each[group * LANES..]),
            };
            simd.store_up_to(simd.add(simd.sums(sums), start), out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{SimdPath, dispatch};

    struct Task<'a> {
        rows: &'a [f32],
        vector: &'a [f32],
        start: &'a [f32],
        count: usize,
    }

    impl Work for Task<'_> {
        type Done = Vec<f32>;

        #[inline(always)]
        fn with<S: Simd>(self, simd: S) -> Vec<f32> {
            let mut out = vec![f32::NAN; self.count];
            dots(simd, self.rows, self.vector, self.start, &mut out);
            out
        }
    }

    #[test]
    fn a_dot_is_the_sum_of_products_on_every_path_with_the_same_bits() {
        for (count, width) in [(1, 16), (2, 96), (16, 64), (33, 256)] {
            let rows: Vec<f32> =
                (0..usize::next_multiple_of(count, LANES) * width).map(|i| (i as f32 * 0.37).sin()).collect();
            let vector: Vec<f32> = (0..width).map(|i| (i as f32 * 0.73).cos()).collect();
            let starts: Vec<f32> = (0..count).map(|i| i as f32).collect();
            for start in [&starts[..1], &starts] {
                let task = || Task { rows: &rows, vector: &vector, start, count };
                let portable = dispatch(SimdPath::Portable, task());
                for (number, &found) in portable.iter().enumerate() {
                    let products = rows[number * width..].iter().zip(&vector);
                    let exact: f64 = products.map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
                    let exact = exact + f64::from(start[number % start.len()]);
                    assert!((f64::from(found) - exact).abs() < 2e-5, "{count} x {width}: {found} {exact}");
                }
                for path in SimdPath::ALL.into_iter().filter(|path| path.is_available()) {
                    let found = dispatch(path, task());
                    assert!(found.iter().zip(&portable).all(|(a, b)| a.to_bits() == b.to_bits()), "{path}");
                }
            }
        }
    }
}
