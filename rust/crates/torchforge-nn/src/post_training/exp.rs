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
#[inline(always)]
pub(super) fn exp(x: f64) -> f64 {
    Series::of(x).exp(x)
}

/// Whether e^x is a normal number, and `exp_inside` has the bytes of `exp`.
#[inline(always)]
pub(super) fn is_inside(x: f64) -> bool {
    x.abs() <= -LOWEST
}

/// e^x within 2 units in the last place, for an x that is inside.
#[inline(always)]
pub(super) fn exp_inside(x: f64) -> f64 {
    Series::of_inside(x).exp_inside()
}

/// e^x - 1 - x within 4 units in the last place near 0, where the difference of its terms would lose all digits.
#[inline(always)]
pub(super) fn exp_less_line(x: f64) -> f64 {
    let series = Series::of(x);
    series.less_line(series.exp(x), x)
}

/// The same of an x that is inside.
#[inline(always)]
pub(super) fn exp_less_line_inside(x: f64) -> f64 {
    let series = Series::of_inside(x);
    series.less_line(series.exp_inside(), x)
}

/// x = n ln 2 + r with |r| <= ln(2) / 2, and Taylor's series of e^r.
struct Series {
    n: f64,
    /// Its low bits hold n.
    shifted: f64,
    r: f64,
    /// The series without its first two terms, over r^2. It leaves out r^14 / 14!, less than 5e-18.
    tail: f64,
}

impl Series {
    #[inline(always)]
    fn of(x: f64) -> Self {
        let inside = if x < LOWEST { LOWEST } else { x };
        Self::of_inside(if inside > HIGHEST { HIGHEST } else { inside })
    }

    /// Of an x from `LOWEST` to `HIGHEST`.
    #[inline(always)]
    fn of_inside(inside: f64) -> Self {
        const FACTORIALS: [f64; 14] = inverse_factorials();
        let shifted = inside.mul_add(std::f64::consts::LOG2_E, ROUNDING);
        let n = shifted - ROUNDING;
        let r = n.mul_add(-LN_2_LOW, n.mul_add(-LN_2_HIGH, inside));
        let mut tail = FACTORIALS[13];
        for &factor in FACTORIALS[2..13].iter().rev() {
            tail = tail.mul_add(r, factor);
        }
        Self { n, shifted, r, tail }
    }

    /// e^x - 1 - x of the x that this series is of, and of e^x.
    #[inline(always)]
    fn less_line(&self, exp: f64, x: f64) -> f64 {
        let near = self.r * self.r * self.tail;
        let far = exp - 1.0 - x;
        if self.n == 0.0 { near } else { far }
    }

    /// e^x of the x that this series is of.
    #[inline(always)]
    fn exp(&self, x: f64) -> f64 {
        let value = self.exp_inside();
        let value = if x < LOWEST { 0.0 } else { value };
        let value = if x > HIGHEST { f64::INFINITY } else { value };
        if x.is_nan() { x } else { value }
    }

    /// The same of an x that is inside.
    #[inline(always)]
    fn exp_inside(&self) -> f64 {
        let sum = self.tail.mul_add(self.r, 1.0).mul_add(self.r, 1.0);
        // 2^n by addition to the exponent: the sum lies between 1/2 and 2, and n within the exponents of normal numbers.
        f64::from_bits(sum.to_bits().wrapping_add(self.shifted.to_bits() << FRACTION_BITS))
    }
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
    fn inside_it_needs_no_look_at_its_ends() {
        for step in 0..=100_000_i64 {
            let x = -708.0 + step as f64 * 1.416e-2;
            assert!(is_inside(x) || step == 100_000);
            assert_eq!(exp_inside(x).to_bits(), exp(x).to_bits(), "{x}");
            assert_eq!(exp_less_line_inside(x).to_bits(), exp_less_line(x).to_bits(), "{x}");
        }
        for x in [-708.001, 708.001, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
            assert!(!is_inside(x), "{x}");
        }
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

    #[test]
    fn beside_its_tangent_it_keeps_its_digits() {
        for step in 1..100_000 {
            // Four terms more than are needed, from the smallest: the exact value to the last bit but one.
            let x = (step - 50_000) as f64 * 6.9e-6;
            let mut term = x * x / 2.0;
            let mut terms = vec![term];
            for k in 3..18 {
                term *= x / f64::from(k);
                terms.push(term);
            }
            let expected: f64 = terms.iter().rev().sum();
            let apart = (exp_less_line(x) - expected).abs();
            assert!(apart <= 4.0 * f64::EPSILON * expected, "{x}: {} and not {expected}", exp_less_line(x));
        }
    }

    #[test]
    fn it_is_never_below_its_tangent() {
        for (x, value) in
            [(0.0, 0.0), (-0.0, 0.0), (710.0, f64::INFINITY), (f64::NEG_INFINITY, f64::INFINITY)]
        {
            assert_eq!(exp_less_line(x), value, "{x}");
        }
        assert_eq!(exp_less_line(-800.0), 799.0);
        assert!(exp_less_line(f64::NAN).is_nan());
    }

    proptest! {
        #[test]
        fn away_from_zero_the_tangent_is_subtracted(x in -30.0_f64..30.0) {
            prop_assert!(exp_less_line(x) >= 0.0);
            let expected = x.exp() - 1.0 - x;
            prop_assert!((exp_less_line(x) - expected).abs() <= 4.0 * f64::EPSILON * (x.exp() + x.abs() + 1.0));
        }

        #[test]
        fn small_arguments_lose_nothing(x in -1e-6_f64..1e-6) {
            prop_assert!((exp(x) - x.exp()).abs() <= f64::EPSILON);
        }
    }
}
