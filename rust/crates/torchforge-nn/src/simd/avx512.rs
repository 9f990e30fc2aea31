//! One 512-bit register a vector.

use std::arch::x86_64::*;

use super::{LANES, ROOT_OF_HALF, Simd, Work};

/// A value is the proof that the processor has what `run` enables.
#[derive(Clone, Copy)]
pub(crate) struct Avx512(());

impl Avx512 {
    pub(crate) fn new() -> Option<Self> {
        // A hypervisor may hide one feature and show another.
        (is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma"))
        .then_some(Self(()))
    }
}

impl Simd for Avx512 {
    type Vector = __m512;
    type Mask = __mmask16;
    const TILE_VECTORS: usize = 4;
    const STRIP_VECTORS: usize = 8;
    const PAIRS: bool = true;

    #[inline(always)]
    fn run<W: Work>(self, work: W) -> W::Done {
        #[target_feature(enable = "avx512f,avx2,fma")]
        #[inline(never)]
        fn compiled<W: Work>(simd: Avx512, work: W) -> W::Done {
            work.with(simd)
        }
        // SAFETY: `new` made this value where the processor has all that `compiled` enables.
        unsafe { compiled(self, work) }
    }

    #[inline(always)]
    fn splat(self, value: f32) -> __m512 {
        // SAFETY: `self` is the proof that the processor has the instructions.
        unsafe { _mm512_set1_ps(value) }
    }

    #[inline(always)]
    fn load(self, values: &[f32]) -> __m512 {
        assert!(values.len() >= LANES);
        // SAFETY: `self` is the proof that the processor has the instructions; the slice has sixteen values.
        unsafe { _mm512_loadu_ps(values.as_ptr()) }
    }

    #[inline(always)]
    fn store(self, vector: __m512, values: &mut [f32]) {
        assert!(values.len() >= LANES);
        // SAFETY: `self` is the proof that the processor has the instructions; the slice has sixteen values.
        unsafe { _mm512_storeu_ps(values.as_mut_ptr(), vector) }
    }

    #[inline(always)]
    fn load_up_to(self, values: &[f32]) -> __m512 {
        let mask = first_lanes(values.len());
        // SAFETY: `self` is the proof that the processor has the instructions; no lane beyond the slice is read.
        unsafe { _mm512_maskz_loadu_ps(mask, values.as_ptr()) }
    }

    #[inline(always)]
    fn store_up_to(self, vector: __m512, values: &mut [f32]) {
        let mask = first_lanes(values.len());
        // SAFETY: `self` is the proof that the processor has the instructions; no lane beyond the slice is written.
        unsafe { _mm512_mask_storeu_ps(values.as_mut_ptr(), mask, vector) }
    }

    #[inline(always)]
    fn add(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: `self` is the proof that the processor has the instructions.
        unsafe { _mm512_add_ps(a, b) }
    }

    #[inline(always)]
    fn sub(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: `self` is the proof that the processor has the instructions.
        unsafe { _mm512_sub_ps(a, b) }
    }

    #[inline(always)]
    fn mul(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: `self` is the proof that the processor has the instructions.
        unsafe { _mm512_mul_ps(a, b) }
    }

    #[inline(always)]
    fn div(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: `self` is the proof that the processor has the instructions.
        unsafe { _mm512_div_ps(a, b) }
    }

    #[inline(always)]
    fn mul_add(self, a: __m512, b: __m512, c: __m512) -> __m512 {
        // SAFETY: `self` is the proof that the processor has the instructions.
        unsafe { _mm512_fmadd_ps(a, b, c) }
    }

    #[inline(always)]
    fn mul_add_half(self, a: __m512, b: __m512, c: __m512) -> __m512 {
        // SAFETY: `self` is the proof that the processor has the instructions.
        unsafe {
            let [a, b, c] = [_mm512_castps512_ps256(a), _mm512_castps512_ps256(b), _mm512_castps512_ps256(c)];
            _mm512_zextps256_ps512(_mm256_fmadd_ps(a, b, c))
        }
    }

    #[inline(always)]
    fn sqrt(self, a: __m512) -> __m512 {
        // SAFETY: `self` is the proof that the processor has the instructions.
        unsafe { _mm512_sqrt_ps(a) }
    }

    #[inline(always)]
    fn abs(self, a: __m512) -> __m512 {
        // SAFETY: `self` is the proof that the processor has the instructions.
        unsafe { _mm512_abs_ps(a) }
    }

    #[inline(always)]
    fn copy_sign(self, magnitude: f32, sign: __m512) -> __m512 {
        // SAFETY: `self` is the proof that the processor has the instructions.
        unsafe {
            // AVX-512F has no `and` and `or` for floats.
            let bit = _mm512_and_si512(_mm512_castps_si512(sign), _mm512_set1_epi32(i32::MIN));
            _mm512_castsi512_ps(_mm512_or_si512(bit, _mm512_castps_si512(_mm512_set1_ps(magnitude))))
        }
    }

    #[inline(always)]
    fn less(self, a: __m512, b: __m512) -> __mmask16 {
        // SAFETY: `self` is the proof that the processor has the instructions.
        unsafe { _mm512_cmp_ps_mask::<_CMP_LT_OQ>(a, b) }
    }

    #[inline(always)]
    fn either(self, a: __mmask16, b: __mmask16) -> __mmask16 {
        a | b
    }

    #[inline(always)]
    fn nonzero(self, a: __m512) -> u16 {
        // SAFETY: `self` is the proof that the processor has the instructions.
        unsafe { _mm512_cmp_ps_mask::<_CMP_NEQ_UQ>(a, _mm512_setzero_ps()) }
    }

    #[inline(always)]
    fn select(self, mask: __mmask16, yes: __m512, no: __m512) -> __m512 {
        // SAFETY: `self` is the proof that the processor has the instructions.
        unsafe { _mm512_mask_blend_ps(mask, no, yes) }
    }

    #[inline(always)]
    fn power_of_two(self, n: __m512) -> __m512 {
        // SAFETY: `self` is the proof that the processor has the instructions.
        unsafe {
            let biased = _mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127));
            _mm512_castsi512_ps(_mm512_slli_epi32::<23>(biased))
        }
    }

    #[inline(always)]
    fn split(self, a: __m512) -> (__m512, __m512) {
        // SAFETY: `self` is the proof that the processor has the instructions.
        unsafe {
            let bits = _mm512_castps_si512(a);
            let exponent =
                _mm512_srai_epi32::<23>(_mm512_sub_epi32(bits, _mm512_set1_epi32(ROOT_OF_HALF as i32)));
            let mantissa = _mm512_sub_epi32(bits, _mm512_slli_epi32::<23>(exponent));
            (_mm512_cvtepi32_ps(exponent), _mm512_castsi512_ps(mantissa))
        }
    }

    #[inline(always)]
    fn transpose(self, v: [__m512; LANES]) -> [__m512; LANES] {
        // SAFETY: `self` is the proof that the processor has the instructions.
        unsafe {
            // Squares of four within the 128-bit blocks: block b of column[4 r + c] is row r of what becomes
            // vector 4 b + c.
            let mut columns = [_mm512_setzero_ps(); LANES];
            for (rows, columns) in v.as_chunks::<4>().0.iter().zip(columns.as_chunks_mut::<4>().0) {
                let low = [_mm512_unpacklo_ps(rows[0], rows[1]), _mm512_unpacklo_ps(rows[2], rows[3])];
                let high = [_mm512_unpackhi_ps(rows[0], rows[1]), _mm512_unpackhi_ps(rows[2], rows[3])];
                columns[0] = _mm512_shuffle_ps::<0x44>(low[0], low[1]);
                columns[1] = _mm512_shuffle_ps::<0xEE>(low[0], low[1]);
                columns[2] = _mm512_shuffle_ps::<0x44>(high[0], high[1]);
                columns[3] = _mm512_shuffle_ps::<0xEE>(high[0], high[1]);
            }
            let mut out = [_mm512_setzero_ps(); LANES];
            for c in 0..4 {
                let [a, b] = [columns[c], columns[4 + c]];
                let [d, e] = [columns[8 + c], columns[12 + c]];
                let even = [_mm512_shuffle_f32x4::<0x88>(a, b), _mm512_shuffle_f32x4::<0x88>(d, e)];
                let odd = [_mm512_shuffle_f32x4::<0xDD>(a, b), _mm512_shuffle_f32x4::<0xDD>(d, e)];
                out[c] = _mm512_shuffle_f32x4::<0x88>(even[0], even[1]);
                out[8 + c] = _mm512_shuffle_f32x4::<0xDD>(even[0], even[1]);
                out[4 + c] = _mm512_shuffle_f32x4::<0x88>(odd[0], odd[1]);
                out[12 + c] = _mm512_shuffle_f32x4::<0xDD>(odd[0], odd[1]);
            }
            out
        }
    }

    #[inline(always)]
    fn sums(self, v: [__m512; LANES]) -> __m512 {
        // SAFETY: `self` is the proof that the processor has the instructions.
        unsafe {
            // Halves of two vectors side by side, so that each addition does the work of two.
            let mut fours = [_mm512_setzero_ps(); 4];
            for (j, four) in fours.iter_mut().enumerate() {
                // Block i of a group of four is its vector 4 i + j: the last step puts the sums in order.
                let a = _mm512_add_ps(
                    _mm512_shuffle_f32x4::<0x44>(v[j], v[j + 4]),
                    _mm512_shuffle_f32x4::<0xEE>(v[j], v[j + 4]),
                );
                let b = _mm512_add_ps(
                    _mm512_shuffle_f32x4::<0x44>(v[j + 8], v[j + 12]),
                    _mm512_shuffle_f32x4::<0xEE>(v[j + 8], v[j + 12]),
                );
                *four = _mm512_add_ps(_mm512_shuffle_f32x4::<0x88>(a, b), _mm512_shuffle_f32x4::<0xDD>(a, b));
            }
            let [a, b, c, d] = fours;
            let low = _mm512_add_ps(_mm512_shuffle_ps::<0x44>(a, b), _mm512_shuffle_ps::<0xEE>(a, b));
            let high = _mm512_add_ps(_mm512_shuffle_ps::<0x44>(c, d), _mm512_shuffle_ps::<0xEE>(c, d));
            _mm512_add_ps(_mm512_shuffle_ps::<0x88>(low, high), _mm512_shuffle_ps::<0xDD>(low, high))
        }
    }
}

#[inline(always)]
fn first_lanes(count: usize) -> __mmask16 {
    if count >= LANES { !0 } else { (1 << count) - 1 }
}
