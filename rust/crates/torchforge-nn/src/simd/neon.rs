//! Four 128-bit registers a vector. Every 64-bit ARM processor has them, and their fused multiply-add.

use std::arch::aarch64::*;

use super::{LANES, ROOT_OF_HALF, Simd, Work};

/// Always there.
#[derive(Clone, Copy)]
pub(crate) struct Neon;

/// One expression for each of the four registers; not a closure, which nothing could force to be inlined.
macro_rules! each {
    ($i:ident => $expression:expr) => {
        [
            {
                let $i = 0;
                $expression
            },
            {
                let $i = 1;
                $expression
            },
            {
                let $i = 2;
                $expression
            },
            {
                let $i = 3;
                $expression
            },
        ]
    };
}

/// Lanes 0 to 3, 4 to 7, 8 to 11, 12 to 15.
type Quarters = [float32x4_t; 4];

impl Simd for Neon {
    type Vector = Quarters;
    type Mask = [uint32x4_t; 4];
    const TILE_VECTORS: usize = 1;
    const STRIP_VECTORS: usize = 4;
    const PAIRS: bool = false;

    #[inline(never)]
    fn run<W: Work>(self, work: W) -> W::Done {
        work.with(self)
    }

    #[inline(always)]
    fn splat(self, value: f32) -> Quarters {
        // SAFETY: every processor of this architecture has NEON.
        unsafe { [vdupq_n_f32(value); 4] }
    }

    #[inline(always)]
    fn load(self, values: &[f32]) -> Quarters {
        assert!(values.len() >= LANES);
        // SAFETY: every processor of this architecture has NEON; the slice has sixteen values.
        unsafe { each!(i => vld1q_f32(values.as_ptr().add(4 * i))) }
    }

    #[inline(always)]
    fn store(self, vector: Quarters, values: &mut [f32]) {
        assert!(values.len() >= LANES);
        for (quarter, values) in vector.into_iter().zip(values.chunks_exact_mut(4)) {
            // SAFETY: every processor of this architecture has NEON; each chunk has four values.
            unsafe { vst1q_f32(values.as_mut_ptr(), quarter) }
        }
    }

    #[inline(always)]
    fn add(self, a: Quarters, b: Quarters) -> Quarters {
        // SAFETY: every processor of this architecture has NEON.
        unsafe { each!(i => vaddq_f32(a[i], b[i])) }
    }

    #[inline(always)]
    fn sub(self, a: Quarters, b: Quarters) -> Quarters {
        // SAFETY: every processor of this architecture has NEON.
        unsafe { each!(i => vsubq_f32(a[i], b[i])) }
    }

    #[inline(always)]
    fn mul(self, a: Quarters, b: Quarters) -> Quarters {
        // SAFETY: every processor of this architecture has NEON.
        unsafe { each!(i => vmulq_f32(a[i], b[i])) }
    }

    #[inline(always)]
    fn div(self, a: Quarters, b: Quarters) -> Quarters {
        // SAFETY: every processor of this architecture has NEON.
        unsafe { each!(i => vdivq_f32(a[i], b[i])) }
    }

    #[inline(always)]
    fn mul_add(self, a: Quarters, b: Quarters, c: Quarters) -> Quarters {
        // SAFETY: every processor of this architecture has NEON.
        unsafe { each!(i => vfmaq_f32(c[i], a[i], b[i])) }
    }

    #[inline(always)]
    fn mul_add_half(self, a: Quarters, b: Quarters, c: Quarters) -> Quarters {
        // SAFETY: every processor of this architecture has NEON.
        unsafe {
            let zero = vdupq_n_f32(0.0);
            [vfmaq_f32(c[0], a[0], b[0]), vfmaq_f32(c[1], a[1], b[1]), zero, zero]
        }
    }

    #[inline(always)]
    fn sqrt(self, a: Quarters) -> Quarters {
        // SAFETY: every processor of this architecture has NEON.
        unsafe { each!(i => vsqrtq_f32(a[i])) }
    }

    #[inline(always)]
    fn abs(self, a: Quarters) -> Quarters {
        // SAFETY: every processor of this architecture has NEON.
        unsafe { each!(i => vabsq_f32(a[i])) }
    }

    #[inline(always)]
    fn copy_sign(self, magnitude: f32, sign: Quarters) -> Quarters {
        // SAFETY: every processor of this architecture has NEON.
        unsafe {
            let (bit, magnitude) = (vdupq_n_u32(1 << 31), vdupq_n_f32(magnitude));
            each!(i => vbslq_f32(bit, sign[i], magnitude))
        }
    }

    #[inline(always)]
    fn less(self, a: Quarters, b: Quarters) -> [uint32x4_t; 4] {
        // SAFETY: every processor of this architecture has NEON.
        unsafe { each!(i => vcltq_f32(a[i], b[i])) }
    }

    #[inline(always)]
    fn either(self, a: [uint32x4_t; 4], b: [uint32x4_t; 4]) -> [uint32x4_t; 4] {
        // SAFETY: every processor of this architecture has NEON.
        unsafe { each!(i => vorrq_u32(a[i], b[i])) }
    }

    #[inline(always)]
    fn nonzero(self, a: Quarters) -> u16 {
        // SAFETY: every processor of this architecture has NEON; the pointer is that of four values.
        unsafe {
            let places = vld1q_u32([1, 2, 4, 8].as_ptr());
            let quarters = each!(i => vaddvq_u32(vbicq_u32(places, vceqzq_f32(a[i]))));
            (quarters[0] | quarters[1] << 4 | quarters[2] << 8 | quarters[3] << 12) as u16
        }
    }

    #[inline(always)]
    fn select(self, mask: [uint32x4_t; 4], yes: Quarters, no: Quarters) -> Quarters {
        // SAFETY: every processor of this architecture has NEON.
        unsafe { each!(i => vbslq_f32(mask[i], yes[i], no[i])) }
    }

    #[inline(always)]
    fn power_of_two(self, n: Quarters) -> Quarters {
        // SAFETY: every processor of this architecture has NEON.
        unsafe {
            each!(i => vreinterpretq_f32_s32(
                vshlq_n_s32::<23>(vaddq_s32(vcvtq_s32_f32(n[i]), vdupq_n_s32(127)))
            ))
        }
    }

    #[inline(always)]
    fn split(self, a: Quarters) -> (Quarters, Quarters) {
        // SAFETY: every processor of this architecture has NEON.
        unsafe {
            let start = vdupq_n_s32(ROOT_OF_HALF as i32);
            let bits = each!(i => vreinterpretq_s32_f32(a[i]));
            let exponents = each!(i => vshrq_n_s32::<23>(vsubq_s32(bits[i], start)));
            let mantissas =
                each!(i => vreinterpretq_f32_s32(vsubq_s32(bits[i], vshlq_n_s32::<23>(exponents[i]))));
            (each!(i => vcvtq_f32_s32(exponents[i])), mantissas)
        }
    }

    #[inline(always)]
    fn transpose(self, v: [Quarters; LANES]) -> [Quarters; LANES] {
        let mut out = v;
        for quarter in 0..4 {
            for other in 0..4 {
                let square = each!(i => v[4 * other + i][quarter]);
                for (column, vector) in transpose_four(square).into_iter().zip(&mut out[4 * quarter..]) {
                    vector[other] = column;
                }
            }
        }
        out
    }

    #[inline(always)]
    fn sums(self, v: [Quarters; LANES]) -> Quarters {
        // SAFETY: every processor of this architecture has NEON.
        unsafe {
            let mut quarters = [vdupq_n_f32(0.0); 4];
            for (v, quarter) in v.as_chunks::<4>().0.iter().zip(&mut quarters) {
                let [a, b, c, d] =
                    each!(i => vaddq_f32(vaddq_f32(v[i][0], v[i][2]), vaddq_f32(v[i][1], v[i][3])));
                *quarter = vpaddq_f32(twos(a, b), twos(c, d));
            }
            quarters
        }
    }
}

/// A square of four rows.
#[inline(always)]
fn transpose_four([a, b, c, d]: Quarters) -> Quarters {
    // SAFETY: every processor of this architecture has NEON.
    unsafe {
        let pairs = [vtrn1q_f32(a, b), vtrn2q_f32(a, b), vtrn1q_f32(c, d), vtrn2q_f32(c, d)];
        let [p, q, r, s] = each!(i => vreinterpretq_f64_f32(pairs[i]));
        let columns = [vtrn1q_f64(p, r), vtrn1q_f64(q, s), vtrn2q_f64(p, r), vtrn2q_f64(q, s)];
        each!(i => vreinterpretq_f32_f64(columns[i]))
    }
}

/// Lanes 2 and 3 of both added to lanes 0 and 1.
#[inline(always)]
fn twos(a: float32x4_t, b: float32x4_t) -> float32x4_t {
    // SAFETY: every processor of this architecture has NEON.
    unsafe {
        let (a, b) = (vreinterpretq_f64_f32(a), vreinterpretq_f64_f32(b));
        let (low, high) = (vtrn1q_f64(a, b), vtrn2q_f64(a, b));
        vaddq_f32(vreinterpretq_f32_f64(low), vreinterpretq_f32_f64(high))
    }
}
