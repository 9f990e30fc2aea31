//! The exponential of `f64`, with the same bytes on every path.

/// Adding and subtracting 1.5 * 2^52 rounds to the nearest whole number, ties to even.
const ROUNDING: f64 = 6_755_399_441_055_744.0;
/// ln 2 in two parts: a multiple of the first by a whole number below 2^11 is exact (Cody and Waite, 1980).
const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// Below it the result would be denormal, above it infinite.
const LOWEST: f64 = -708.0;
const HIGHEST: f64 = 709.0;
const FRACTION_BITS: u32 = 52;

/// e^x within 2 units in the last place; zero below -708, infinite above 709; a NaN stays.
///
/// Taylor's series of e^r with |r| <= ln(2) / 2 leaves out r^14 / 14!, less than 5e-18.
#[inline(always)]
pub(super) fn exp(x: f64) -> f64 {
    const FACTORIALS: [f64; 14] = inverse_factorials();
    let inside = if x < LOWEST { LOWEST } else { x };
    let inside = if inside > HIGHEST { HIGHEST } else { inside };
    // x = n ln 2 + r. The low bits of `shifted` hold n.
    let shifted = inside.mul_add(std::f64::consts::LOG2_E, ROUNDING);
    let n = shifted - ROUNDING;
    let r = n.mul_add(-LN_2_LOW, n.mul_add(-LN_2_HIGH, inside));
    let mut sum = FACTORIALS[13];
    for &factor in FACTORIALS[..13].iter().rev() {
        sum = sum.mul_add(r, factor);
    }
    // 2^n by addition to the exponent: the sum lies between 1/2 and 2, and n within the exponents of normal numbers.
    let value = f64::from_bits(sum.to_bits().wrapping_add(shifted.to_bits() << FRACTION_BITS));
    let value = if x < LOWEST { 0.0 } else { value };
    let value = if x > HIGHEST { f64::INFINITY } else { value };
    if x.is_nan() { x } else { value }
}

/// 1 / 0!, 1 / 1!, and so on.
const fn inverse_factorials() -> [f64; 14] {
    let mut inverse = [1.0; 14];
    let (mut factorial, mut n) = (1.0, 1);
    while n < inverse.len() {
        factorial *= n as f64;
        inverse[n] = 1.0 / factorial;
        n += 1;
    }
    inverse
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn it_is_the_exponential_within_two_units_in_the_last_place() {
        let mut worst = 0_i64;
        for step in 0..1_000_000_i64 {
            let x = -707.9 + step as f64 * 1.4168e-3;
            let apart = (exp(x).to_bits() as i64 - x.exp().to_bits() as i64).abs();
            worst = worst.max(apart);
        }
        assert!(worst <= 2, "{worst} units in the last place");
    }

    #[test]
    fn its_ends_are_zero_and_infinity() {
        for (x, value) in [
            (0.0, 1.0),
            (-0.0, 1.0),
            (-708.5, 0.0),
            (f64::NEG_INFINITY, 0.0),
            (709.5, f64::INFINITY),
            (f64::INFINITY, f64::INFINITY),
        ] {
            assert_eq!(exp(x), value, "e^{x}");
        }
        assert!(exp(f64::NAN).is_nan());
    }

    proptest! {
        #[test]
        fn small_arguments_lose_nothing(x in -1e-6_f64..1e-6) {
            prop_assert!((exp(x) - x.exp()).abs() <= f64::EPSILON);
        }
    }
}
