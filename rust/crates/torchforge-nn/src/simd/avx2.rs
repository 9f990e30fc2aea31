//! Two 256-bit registers a vector.

use std::arch::x86_64::*;

use super::{LANES, ROOT_OF_HALF, Simd, Work};

/// A value is the proof that the processor has what `run` enables.
#[derive(Clone, Copy)]
pub(crate) struct Avx2(());

/// Lanes 0 to 7 and 8 to 15.
type Halves = [__m256; 2];

impl Avx2 {
    pub(crate) fn new() -> Option<Self> {
        (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")).then_some(Self(()))
    }
}

impl Simd for Avx2 {
    type Vector = Halves;
    type Mask = Halves;
    const TILE_VECTORS: usize = 1;
    const STRIP_VECTORS: usize = 6;
    const PAIRS: bool = false;

    #[inline(always)]
    fn run<W: Work>(self, work: W) -> W::Done {
        #[target_feature(enable = "avx2,fma")]
        #[inline(never)]
        fn compiled<W: Work>(simd: Avx2, work: W) -> W::Done {
            work.with(simd)
        }
        // SAFETY: `new` made this value where the processor has all that `compiled` enables.
        unsafe { compiled(self, work) }
    }

    #[inline(always)]
    fn splat(self, value: f32) -> Halves {
        // SAFETY: `self` is the proof that the processor has the instructions.
        unsafe { [_mm256_set1_ps(value); 2] }
    }

    #[inline(always)]
    fn load(self, values: &[f32]) -> Halves {
        assert!(values.len() >= LANES);
        // SAFETY: `self` is the proof that the processor has the instructions; the slice has sixteen values.
        unsafe { [_mm256_loadu_ps(values.as_ptr()), _mm256_loadu_ps(values.as_ptr().add(8))] }
    }

    #[inline(always)]
    fn store(self, vector: Halves, values: &mut [f32]) {
        assert!(values.len() >= LANES);
        // SAFETY: `self` is the proof that the processor has the instructions; the slice has sixteen values.
        unsafe {
            _mm256_storeu_ps(values.as_mut_ptr(), vector[0]);
            _mm256_storeu_ps(values.as_mut_ptr().add(8), vector[1]);
        }
    }

    #[inline(always)]
    fn add(self, a: Halves, b: Halves) -> Halves {
        // SAFETY: `self` is the proof that the processor has the instructions.
        unsafe { [_mm256_add_ps(a[0], b[0]), _mm256_add_ps(a[1], b[1])] }
    }

    #[inline(always)]
    fn sub(self, a: Halves, b: Halves) -> Halves {
        // SAFETY: `self` is the proof that the processor has the instructions.
        unsafe { [_mm256_sub_ps(a[0], b[0]), _mm256_sub_ps(a[1], b[1])] }
    }

    #[inline(always)]
    fn mul(self, a: Halves, b: Halves) -> Halves {
        // SAFETY: `self` is the proof that the processor has the instructions.
        unsafe { [_mm256_mul_ps(a[0], b[0]), _mm256_mul_ps(a[1], b[1])] }
    }

    #[inline(always)]
    fn div(self, a: Halves, b: Halves) -> Halves {
        // SAFETY: `self` is the proof that the processor has the instructions.
        unsafe { [_mm256_div_ps(a[0], b[0]), _mm256_div_ps(a[1], b[1])] }
    }

    #[inline(always)]
    fn mul_add(self, a: Halves, b: Halves, c: Halves) -> Halves {
        // SAFETY: `self` is the proof that the processor has the instructions.
        unsafe { [_mm256_fmadd_ps(a[0], b[0], c[0]), _mm256_fmadd_ps(a[1], b[1], c[1])] }
    }

    #[inline(always)]
    fn mul_add_half(self, a: Halves, b: Halves, c: Halves) -> Halves {
        // SAFETY: `self` is the proof that the processor has the instructions.
        unsafe { [_mm256_fmadd_ps(a[0], b[0], c[0]), _mm256_setzero_ps()] }
    }

    #[inline(always)]
    fn sqrt(self, a: Halves) -> Halves {
        // SAFETY: `self` is the proof that the processor has the instructions.
        unsafe { [_mm256_sqrt_ps(a[0]), _mm256_sqrt_ps(a[1])] }
    }

    #[inline(always)]
    fn abs(self, a: Halves) -> Halves {
        // SAFETY: `self` is the proof that the processor has the instructions.
        unsafe {
            let sign = _mm256_set1_ps(-0.0);
            [_mm256_andnot_ps(sign, a[0]), _mm256_andnot_ps(sign, a[1])]
        }
    }

    #[inline(always)]
    fn copy_sign(self, magnitude: f32, sign: Halves) -> Halves {
        // SAFETY: `self` is the proof that the processor has the instructions.
        unsafe {
            let (bit, magnitude) = (_mm256_set1_ps(-0.0), _mm256_set1_ps(magnitude));
            [
                _mm256_or_ps(_mm256_and_ps(bit, sign[0]), magnitude),
                _mm256_or_ps(_mm256_and_ps(bit, sign[1]), magnitude),
            ]
        }
    }

    #[inline(always)]
    fn less(self, a: Halves, b: Halves) -> Halves {
        // SAFETY: `self` is the proof that the processor has the instructions.
        unsafe { [_mm256_cmp_ps::<_CMP_LT_OQ>(a[0], b[0]), _mm256_cmp_ps::<_CMP_LT_OQ>(a[1], b[1])] }
    }

    #[inline(always)]
    fn either(self, a: Halves, b: Halves) -> Halves {
        // SAFETY: `self` is the proof that the processor has the instructions.
        unsafe { [_mm256_or_ps(a[0], b[0]), _mm256_or_ps(a[1], b[1])] }
    }

    #[inline(always)]
    fn nonzero(self, a: Halves) -> u16 {
        // SAFETY: `self` is the proof that the processor has the instructions.
        let [low, high] = unsafe {
            let zero = _mm256_setzero_ps();
            [
                _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_NEQ_UQ>(a[0], zero)),
                _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_NEQ_UQ>(a[1], zero)),
            ]
        };
        (low | high << 8) as u16
    }

    #[inline(always)]
    fn select(self, mask: Halves, yes: Halves, no: Halves) -> Halves {
        // SAFETY: `self` is the proof that the processor has the instructions.
        unsafe { [_mm256_blendv_ps(no[0], yes[0], mask[0]), _mm256_blendv_ps(no[1], yes[1], mask[1])] }
    }

    #[inline(always)]
    fn power_of_two(self, n: Halves) -> Halves {
        // SAFETY: `self` is the proof that the processor has the instructions.
        unsafe {
            let mut out = n;
            for half in &mut out {
                let biased = _mm256_add_epi32(_mm256_cvtps_epi32(*half), _mm256_set1_epi32(127));
                *half = _mm256_castsi256_ps(_mm256_slli_epi32::<23>(biased));
            }
            out
        }
    }

    #[inline(always)]
    fn split(self, a: Halves) -> (Halves, Halves) {
        // SAFETY: `self` is the proof that the processor has the instructions.
        unsafe {
            let (mut exponents, mut mantissas) = (a, a);
            for half in 0..2 {
                let bits = _mm256_castps_si256(a[half]);
                let exponent =
                    _mm256_srai_epi32::<23>(_mm256_sub_epi32(bits, _mm256_set1_epi32(ROOT_OF_HALF as i32)));
                exponents[half] = _mm256_cvtepi32_ps(exponent);
                mantissas[half] =
                    _mm256_castsi256_ps(_mm256_sub_epi32(bits, _mm256_slli_epi32::<23>(exponent)));
            }
            (exponents, mantissas)
        }
    }

    #[inline(always)]
    fn transpose(self, v: [Halves; LANES]) -> [Halves; LANES] {
        let mut out = v;
        for half in 0..2 {
            for other in 0..2 {
                let mut square = [v[0][0]; 8];
                for (row, vector) in square.iter_mut().zip(&v[8 * other..]) {
                    *row = vector[half];
                }
                for (column, vector) in transpose_eight(self, square).into_iter().zip(&mut out[8 * half..]) {
                    vector[other] = column;
                }
            }
        }
        out
    }

    #[inline(always)]
    fn sums(self, v: [Halves; LANES]) -> Halves {
        // SAFETY: `self` is the proof that the processor has the instructions.
        unsafe {
            let mut halves = [_mm256_setzero_ps(); 2];
            for (first, half) in [0, 8].into_iter().zip(&mut halves) {
                let mut fours = [*half; 4];
                for (j, four) in (first..).zip(&mut fours) {
                    let (a, b) = (_mm256_add_ps(v[j][0], v[j][1]), _mm256_add_ps(v[j + 4][0], v[j + 4][1]));
                    *four = _mm256_add_ps(
                        _mm256_permute2f128_ps::<0x20>(a, b),
                        _mm256_permute2f128_ps::<0x31>(a, b),
                    );
                }
                let [a, b, c, d] = fours;
                let low = _mm256_add_ps(_mm256_shuffle_ps::<0x44>(a, b), _mm256_shuffle_ps::<0xEE>(a, b));
                let high = _mm256_add_ps(_mm256_shuffle_ps::<0x44>(c, d), _mm256_shuffle_ps::<0xEE>(c, d));
                *half =
                    _mm256_add_ps(_mm256_shuffle_ps::<0x88>(low, high), _mm256_shuffle_ps::<0xDD>(low, high));
            }
            halves
        }
    }
}

/// A square of eight rows.
#[inline(always)]
fn transpose_eight(_: Avx2, v: [__m256; 8]) -> [__m256; 8] {
    // SAFETY: the first argument is the proof that the processor has the instructions.
    unsafe {
        let mut columns = [_mm256_setzero_ps(); 8];
        for (rows, columns) in v.as_chunks::<4>().0.iter().zip(columns.as_chunks_mut::<4>().0) {
            let low = [_mm256_unpacklo_ps(rows[0], rows[1]), _mm256_unpacklo_ps(rows[2], rows[3])];
            let high = [_mm256_unpackhi_ps(rows[0], rows[1]), _mm256_unpackhi_ps(rows[2], rows[3])];
            columns[0] = _mm256_shuffle_ps::<0x44>(low[0], low[1]);
            columns[1] = _mm256_shuffle_ps::<0xEE>(low[0], low[1]);
            columns[2] = _mm256_shuffle_ps::<0x44>(high[0], high[1]);
            columns[3] = _mm256_shuffle_ps::<0xEE>(high[0], high[1]);
        }
        let mut out = [_mm256_setzero_ps(); 8];
        for c in 0..4 {
            out[c] = _mm256_permute2f128_ps::<0x20>(columns[c], columns[4 + c]);
            out[4 + c] = _mm256_permute2f128_ps::<0x31>(columns[c], columns[4 + c]);
        }
        out
    }
}
