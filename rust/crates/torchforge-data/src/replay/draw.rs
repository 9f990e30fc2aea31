//! Numbers drawn from a generator.

use rand_core::Rng;

/// An unbiased index below `bound`, by multiplication and rejection (Lemire, 2019).
#[inline]
pub fn index_below(rng: &mut impl Rng, bound: usize) -> usize {
    let bound = bound as u64;
    let mut product = u128::from(rng.next_u64()) * u128::from(bound);
    if (product as u64) < bound {
        let threshold = bound.wrapping_neg() % bound;
        while (product as u64) < threshold {
            product = u128::from(rng.next_u64()) * u128::from(bound);
        }
    }
    (product >> 64) as usize
}

/// A number in [0, 1) with 53 random bits.
#[inline]
pub fn unit(rng: &mut impl Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
}
