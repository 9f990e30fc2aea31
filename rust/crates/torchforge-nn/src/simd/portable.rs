//! No instruction set at all: what the other paths are checked against. Without a fused multiply-add in hardware
//! it is very slow.

use super::{LANES, ROOT_OF_HALF, Simd, Work};

/// Always there.
#[derive(Clone, Copy)]
pub(crate) struct Portable;

impl Simd for Portable {
    type Vector = [f32; LANES];
    type Mask = [bool; LANES];
    const TILE_VECTORS: usize = 1;
    const STRIP_VECTORS: usize = 1;
    const PAIRS: bool = false;

    #[inline(never)]
    fn run<W: Work>(self, work: W) -> W::Done {
        work.with(self)
    }

    fn splat(self, value: f32) -> [f32; LANES] {
        [value; LANES]
    }

    fn load(self, values: &[f32]) -> [f32; LANES] {
        *values.first_chunk().expect("sixteen values")
    }

    fn store(self, vector: [f32; LANES], values: &mut [f32]) {
        *values.first_chunk_mut().expect("room for sixteen values") = vector;
    }

    fn add(self, a: [f32; LANES], b: [f32; LANES]) -> [f32; LANES] {
        std::array::from_fn(|i| a[i] + b[i])
    }

    fn sub(self, a: [f32; LANES], b: [f32; LANES]) -> [f32; LANES] {
        std::array::from_fn(|i| a[i] - b[i])
    }

    fn mul(self, a: [f32; LANES], b: [f32; LANES]) -> [f32; LANES] {
        std::array::from_fn(|i| a[i] * b[i])
    }

    fn div(self, a: [f32; LANES], b: [f32; LANES]) -> [f32; LANES] {
        std::array::from_fn(|i| a[i] / b[i])
    }

    fn mul_add(self, a: [f32; LANES], b: [f32; LANES], c: [f32; LANES]) -> [f32; LANES] {
        std::array::from_fn(|i| a[i].mul_add(b[i], c[i]))
    }

    fn mul_add_half(self, a: [f32; LANES], b: [f32; LANES], c: [f32; LANES]) -> [f32; LANES] {
        std::array::from_fn(|i| if i < LANES / 2 { a[i].mul_add(b[i], c[i]) } else { 0.0 })
    }

    fn sqrt(self, a: [f32; LANES]) -> [f32; LANES] {
        a.map(f32::sqrt)
    }

    fn abs(self, a: [f32; LANES]) -> [f32; LANES] {
        a.map(f32::abs)
    }

    fn copy_sign(self, magnitude: f32, sign: [f32; LANES]) -> [f32; LANES] {
        sign.map(|sign| magnitude.copysign(sign))
    }

    fn less(self, a: [f32; LANES], b: [f32; LANES]) -> [bool; LANES] {
        std::array::from_fn(|i| a[i] < b[i])
    }

    fn either(self, a: [bool; LANES], b: [bool; LANES]) -> [bool; LANES] {
        std::array::from_fn(|i| a[i] | b[i])
    }

    fn nonzero(self, a: [f32; LANES]) -> u16 {
        a.iter().rev().fold(0, |bits, &value| bits << 1 | u16::from(value != 0.0))
    }

    fn select(self, mask: [bool; LANES], yes: [f32; LANES], no: [f32; LANES]) -> [f32; LANES] {
        std::array::from_fn(|i| if mask[i] { yes[i] } else { no[i] })
    }

    fn power_of_two(self, n: [f32; LANES]) -> [f32; LANES] {
        // Beyond the numbers that it is for, the result means nothing, and no check may end the process.
        n.map(|n| f32::from_bits(((n as i32).wrapping_add(127) << 23) as u32))
    }

    fn split(self, a: [f32; LANES]) -> ([f32; LANES], [f32; LANES]) {
        let exponents = a.map(|a| (a.to_bits().wrapping_sub(ROOT_OF_HALF) as i32) >> 23);
        let mantissas =
            std::array::from_fn(|i| f32::from_bits(a[i].to_bits().wrapping_sub((exponents[i] << 23) as u32)));
        (exponents.map(|exponent| exponent as f32), mantissas)
    }

    fn transpose(self, vectors: [[f32; LANES]; LANES]) -> [[f32; LANES]; LANES] {
        std::array::from_fn(|i| std::array::from_fn(|j| vectors[j][i]))
    }

    fn sums(self, vectors: [[f32; LANES]; LANES]) -> [f32; LANES] {
        vectors.map(|mut lanes| {
            for half in [8, 4, 2, 1] {
                for lane in 0..half {
                    lanes[lane] += lanes[lane + half];
                }
            }
            lanes[0]
        })
    }
}
