//! Sums of `f64` in a fixed order.

/// Element `i` of a sum belongs to lane `i % LANES`: a register of AVX-512, two of AVX2, four of NEON.
pub(super) const LANES: usize = 8;

/// The lanes, halves added to halves: lanes `l + 4` to `l`, then `l + 2`, then `l + 1`.
#[inline(always)]
pub(super) fn total(mut lanes: [f64; LANES]) -> f64 {
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            lanes[lane] += lanes[lane + half];
        }
        half /= 2;
    }
    lanes[0]
}
