//! Vectors of sixteen `f32`, on every instruction set. `quads` has vectors of four `f64`.
//!
//! The width is the same everywhere, whatever the registers' own: AVX-512 needs one register, AVX2 two, NEON four.
//! So every sum over lanes has one order, and all paths give the same bytes: a fused multiply-add rounds once
//! everywhere, and additions, products, quotients and square roots are rounded exactly by IEEE 754.
//! What would differ is not here: no minimum or maximum (signed zeros), no reciprocal estimates, no flush modes.
//!
//! All of the crate's `unsafe` but one line is below this module: intrinsics, which need the processor's support, and the
//! memory behind a slice that was checked one line earlier. The other line, in `thread_pool`, lengthens a borrow.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod path;
mod portable;
mod quads;
#[cfg(test)]
mod tests;

#[cfg(target_arch = "x86_64")]
pub(crate) use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) use avx512::Avx512;
#[cfg(target_arch = "aarch64")]
pub(crate) use neon::Neon;
pub use path::SimdPath;
pub(crate) use path::dispatch;
pub(crate) use portable::Portable;
pub(crate) use quads::Quads;

/// Lanes of a vector, on every path.
pub(crate) const LANES: usize = 16;

/// The bits of sqrt(1/2): where [`Simd::split`] begins its mantissas.
const ROOT_OF_HALF: u32 = 0x3f35_04f3;

/// What is compiled once for each instruction set.
///
/// A closure would not do: nothing can force it to be inlined, and what is not inlined is compiled for the baseline.
pub(crate) trait Work {
    /// What comes of it.
    type Done;

    /// Does it. Implementations are `#[inline(always)]`, and so is what they call.
    fn with<S: Simd>(self, simd: S) -> Self::Done;
}

/// One instruction set. A value of such a type is the proof that this processor has it.
pub(crate) trait Simd: Quads + Send + Sync {
    /// Sixteen values.
    type Vector: Copy;
    /// Sixteen truths.
    type Mask: Copy;
    /// Vectors in a row of a register tile: as many as leave the registers room for six rows of sums.
    const TILE_VECTORS: usize;
    /// Vectors of a single row of sums at most.
    const STRIP_VECTORS: usize;
    /// Whether registers have room for two such rows.
    const PAIRS: bool;

    /// Does `work`, compiled for this instruction set.
    fn run<W: Work>(self, work: W) -> W::Done;

    /// The same value in all lanes.
    fn splat(self, value: f32) -> Self::Vector;
    /// The first sixteen of `values`.
    ///
    /// Panics where there are fewer.
    fn load(self, values: &[f32]) -> Self::Vector;
    /// Writes all lanes to the first sixteen of `values`.
    ///
    /// Panics where there are fewer.
    fn store(self, vector: Self::Vector, values: &mut [f32]);

    /// `a + b`.
    fn add(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// `a - b`.
    fn sub(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// `a * b`.
    fn mul(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// `a / b`.
    fn div(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// `a * b + c`, rounded once.
    fn mul_add(self, a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;
    /// `a * b + c` in the first eight lanes, zeros in the others: less to do where registers are narrower than a vector, or
    /// a processor's units are.
    fn mul_add_half(self, a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;
    /// The square root.
    fn sqrt(self, a: Self::Vector) -> Self::Vector;
    /// The magnitude.
    fn abs(self, a: Self::Vector) -> Self::Vector;
    /// `magnitude`, which is not negative, with the sign of each lane, a zero's and a NaN's too.
    fn copy_sign(self, magnitude: f32, sign: Self::Vector) -> Self::Vector;
    /// Whether `a < b`; false beside a NaN.
    fn less(self, a: Self::Vector, b: Self::Vector) -> Self::Mask;
    /// Whether one of the two is true, or both.
    fn either(self, a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// One bit a lane, the first the lowest: whether it is not zero. A NaN is not.
    fn nonzero(self, a: Self::Vector) -> u16;
    /// `yes` where the mask is true, else `no`.
    fn select(self, mask: Self::Mask, yes: Self::Vector, no: Self::Vector) -> Self::Vector;

    /// 2^n for the whole numbers `n` from -126 to 127.
    fn power_of_two(self, n: Self::Vector) -> Self::Vector;
    /// `(e, m)` with `a = m 2^e` and `m` from sqrt(1/2) to sqrt(2), for normal positive `a`.
    fn split(self, a: Self::Vector) -> (Self::Vector, Self::Vector);

    /// Rows become columns: lane `j` of vector `i` is lane `i` of `vectors[j]`.
    fn transpose(self, vectors: [Self::Vector; LANES]) -> [Self::Vector; LANES];
    /// The sums of sixteen vectors: lane `i` is the sum of `vectors[i]`, halves added to halves:
    /// lanes `l + 8` to `l`, then `l + 4`, `l + 2`, `l + 1`.
    fn sums(self, vectors: [Self::Vector; LANES]) -> Self::Vector;

    /// The first of `values`, zeros after them, where there may be fewer than sixteen.
    #[inline(always)]
    fn load_up_to(self, values: &[f32]) -> Self::Vector {
        if values.len() >= LANES {
            return self.load(values);
        }
        let mut padded = [0.0; LANES];
        padded[..values.len()].copy_from_slice(values);
        self.load(&padded)
    }

    /// Writes as many lanes as `values` has room for.
    #[inline(always)]
    fn store_up_to(self, vector: Self::Vector, values: &mut [f32]) {
        if values.len() >= LANES {
            return self.store(vector, values);
        }
        let mut padded = [0.0; LANES];
        self.store(vector, &mut padded);
        let len = values.len();
        values.copy_from_slice(&padded[..len]);
    }

    /// `a`, or zero where its magnitude is below `floor`; a NaN stays.
    #[inline(always)]
    fn flush(self, a: Self::Vector, floor: f32) -> Self::Vector {
        self.select(self.less(self.abs(a), self.splat(floor)), self.splat(0.0), a)
    }

    /// `a`, or zero where it is negative; a NaN and a negative zero stay.
    #[inline(always)]
    fn relu(self, a: Self::Vector) -> Self::Vector {
        self.select(self.less(a, self.splat(0.0)), self.splat(0.0), a)
    }

    /// `a` where `gate` is positive, else zero: ReLU's derivative.
    #[inline(always)]
    fn where_positive(self, gate: Self::Vector, a: Self::Vector) -> Self::Vector {
        self.select(self.less(self.splat(0.0), gate), a, self.splat(0.0))
    }
}
