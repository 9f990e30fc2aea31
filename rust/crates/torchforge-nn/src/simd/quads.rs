//! Vectors of four `f64`, for recurrences and small groups. Operations are those of IEEE 754, so every path gives the same bytes.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// Four `f64` of an instruction set.
pub(crate) trait Quads: Copy {
    /// Four values.
    type Quad: Copy;
    /// Whether a register holds four. Where it does not, single blocks take less time.
    const IN_A_REGISTER: bool;

    /// The same value four times.
    fn quad(self, value: f64) -> Self::Quad;
    /// Four values.
    fn load_quad(self, values: &[f64; 4]) -> Self::Quad;
    /// Writes four values.
    fn store_quad(self, quad: Self::Quad, values: &mut [f64; 4]);
    /// `a + b`.
    fn add_quads(self, a: Self::Quad, b: Self::Quad) -> Self::Quad;
    /// `a - b`.
    fn sub_quads(self, a: Self::Quad, b: Self::Quad) -> Self::Quad;
    /// `a * b`.
    fn mul_quads(self, a: Self::Quad, b: Self::Quad) -> Self::Quad;
    /// `a / b`.
    fn div_quads(self, a: Self::Quad, b: Self::Quad) -> Self::Quad;
    /// The square root of each.
    fn sqrt_quad(self, quad: Self::Quad) -> Self::Quad;
    /// Rows become columns: lane `j` of quad `i` is lane `i` of `quads[j]`.
    fn transpose_quads(self, quads: [Self::Quad; 4]) -> [Self::Quad; 4];
}

/// A value of the type is the proof that the processor has AVX.
#[cfg(target_arch = "x86_64")]
macro_rules! by_avx {
    ($set:ty) => {
        impl Quads for $set {
            type Quad = __m256d;
            const IN_A_REGISTER: bool = true;

            #[inline(always)]
            fn quad(self, value: f64) -> __m256d {
                // SAFETY: `self` is the proof that the processor has the instructions.
                unsafe { _mm256_set1_pd(value) }
            }

            #[inline(always)]
            fn load_quad(self, values: &[f64; 4]) -> __m256d {
                // SAFETY: `self` is the proof that the processor has the instructions; the array has four values.
                unsafe { _mm256_loadu_pd(values.as_ptr()) }
            }

            #[inline(always)]
            fn store_quad(self, quad: __m256d, values: &mut [f64; 4]) {
                // SAFETY: `self` is the proof that the processor has the instructions; the array has four values.
                unsafe { _mm256_storeu_pd(values.as_mut_ptr(), quad) }
            }

            #[inline(always)]
            fn add_quads(self, a: __m256d, b: __m256d) -> __m256d {
                // SAFETY: `self` is the proof that the processor has the instructions.
                unsafe { _mm256_add_pd(a, b) }
            }

            #[inline(always)]
            fn sub_quads(self, a: __m256d, b: __m256d) -> __m256d {
                // SAFETY: `self` is the proof that the processor has the instructions.
                unsafe { _mm256_sub_pd(a, b) }
            }

            #[inline(always)]
            fn mul_quads(self, a: __m256d, b: __m256d) -> __m256d {
                // SAFETY: `self` is the proof that the processor has the instructions.
                unsafe { _mm256_mul_pd(a, b) }
            }

            #[inline(always)]
            fn div_quads(self, a: __m256d, b: __m256d) -> __m256d {
                // SAFETY: `self` is the proof that the processor has the instructions.
                unsafe { _mm256_div_pd(a, b) }
            }

            #[inline(always)]
            fn sqrt_quad(self, quad: __m256d) -> __m256d {
                // SAFETY: `self` is the proof that the processor has the instructions.
                unsafe { _mm256_sqrt_pd(quad) }
            }

            #[inline(always)]
            fn transpose_quads(self, [a, b, c, d]: [__m256d; 4]) -> [__m256d; 4] {
                // SAFETY: `self` is the proof that the processor has the instructions.
                unsafe {
                    let (even, odd) = (_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b));
                    let (even_too, odd_too) = (_mm256_unpacklo_pd(c, d), _mm256_unpackhi_pd(c, d));
                    [
                        _mm256_permute2f128_pd(even, even_too, 0x20),
                        _mm256_permute2f128_pd(odd, odd_too, 0x20),
                        _mm256_permute2f128_pd(even, even_too, 0x31),
                        _mm256_permute2f128_pd(odd, odd_too, 0x31),
                    ]
                }
            }
        }
    };
}

macro_rules! by_arrays {
    ($set:ty) => {
        impl Quads for $set {
            type Quad = [f64; 4];
            const IN_A_REGISTER: bool = false;

            #[inline(always)]
            fn quad(self, value: f64) -> [f64; 4] {
                [value; 4]
            }

            #[inline(always)]
            fn load_quad(self, values: &[f64; 4]) -> [f64; 4] {
                *values
            }

            #[inline(always)]
            fn store_quad(self, quad: [f64; 4], values: &mut [f64; 4]) {
                *values = quad;
            }

            #[inline(always)]
            fn add_quads(self, a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
                std::array::from_fn(|i| a[i] + b[i])
            }

            #[inline(always)]
            fn sub_quads(self, a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
                std::array::from_fn(|i| a[i] - b[i])
            }

            #[inline(always)]
            fn mul_quads(self, a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
                std::array::from_fn(|i| a[i] * b[i])
            }

            #[inline(always)]
            fn div_quads(self, a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
                std::array::from_fn(|i| a[i] / b[i])
            }

            #[inline(always)]
            fn sqrt_quad(self, quad: [f64; 4]) -> [f64; 4] {
                quad.map(f64::sqrt)
            }

            #[inline(always)]
            fn transpose_quads(self, quads: [[f64; 4]; 4]) -> [[f64; 4]; 4] {
                std::array::from_fn(|i| std::array::from_fn(|j| quads[j][i]))
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
by_avx!(super::Avx2);
#[cfg(target_arch = "x86_64")]
by_avx!(super::Avx512);
#[cfg(target_arch = "aarch64")]
by_arrays!(super::Neon);
by_arrays!(super::Portable);
