//! Standard normal numbers.

use rand_core::Rng;

use super::elementary::{ln, sin_cos_turns};
use crate::simd::{LANES, Simd, SimdPath, Work, dispatch};

/// Fills `out` with independent standard normal numbers (Box and Muller, 1958), the same bytes on every machine.
///
/// One draw of 64 bits makes two of them, each of 24 random bits: none is beyond 5.77. Whole groups of 32 are drawn,
/// and what is over is dropped.
pub fn fill_standard_normal(rng: &mut impl Rng, out: &mut [f32]) {
    /// 2^-24, the distance of uniform numbers.
    const UNIT: f32 = 1.0 / 16_777_216.0;
    let path = SimdPath::detect();
    for out in out.chunks_mut(2 * LANES) {
        let (mut radii, mut angles) = ([0.0; LANES], [0.0; LANES]);
        for (radius, angle) in radii.iter_mut().zip(&mut angles) {
            let bits = rng.next_u64();
            // From 2^-24 to 1, of which a logarithm can be taken, and from 0 to just below 1.
            *radius = ((bits >> 40) + 1) as f32 * UNIT;
            *angle = (bits >> 16 & 0xff_ffff) as f32 * UNIT;
        }
        dispatch(path, BoxMuller { radii, angles, out });
    }
}

struct BoxMuller<'a> {
    radii: [f32; LANES],
    angles: [f32; LANES],
    out: &'a mut [f32],
}

impl Work for BoxMuller<'_> {
    type Done = ();

    #[inline(always)]
    fn with<S: Simd>(self, simd: S) {
        let logarithm = ln(simd, simd.load(&self.radii));
        let radius = simd.sqrt(simd.mul(logarithm, simd.splat(-2.0)));
        let (sin, cos) = sin_cos_turns(simd, simd.load(&self.angles));
        let (first, second) = self.out.split_at_mut(self.out.len().min(LANES));
        simd.store_up_to(simd.mul(radius, cos), first);
        simd.store_up_to(simd.mul(radius, sin), second);
    }
}
