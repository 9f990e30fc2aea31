//! Exponential, logarithm, hyperbolic tangent, sine and cosine, with the same bytes on every path.
//!
//! Polynomials and one rational function, fitted here for the least largest relative error; stated errors are the
//! largest found over every representable argument of the range, rounding included (see the tests).

use crate::simd::Simd;

/// Adding and subtracting 1.5 * 2^23 rounds to the nearest whole number, ties to even.
const ROUNDING: f32 = 12_582_912.0;
/// ln 2 in two parts: a multiple of the first by a whole number below 2^11 is exact.
const LN_2_HIGH: f32 = 0.693_115_23;
const LN_2_LOW: f32 = 3.194_618_4e-5;

/// `c[0] + x (c[1] + x (c[2] + ...))`.
#[inline(always)]
fn polynomial<S: Simd, const N: usize>(simd: S, x: S::Vector, coefficients: [f32; N]) -> S::Vector {
    let mut sum = simd.splat(coefficients[N - 1]);
    for &coefficient in coefficients[..N - 1].iter().rev() {
        sum = simd.mul_add(sum, x, simd.splat(coefficient));
    }
    sum
}

#[inline(always)]
fn rounded<S: Simd>(simd: S, x: S::Vector) -> S::Vector {
    simd.sub(simd.add(x, simd.splat(ROUNDING)), simd.splat(ROUNDING))
}

/// e^x within 1.2e-7 of its value; zero below -86, infinite above 88.72; a NaN stays.
#[inline(always)]
pub(crate) fn exp<S: Simd>(simd: S, x: S::Vector) -> S::Vector {
    const LOWEST: f32 = -86.0;
    const HIGHEST: f32 = 88.722_84;
    let too_low = simd.less(x, simd.splat(LOWEST));
    let too_high = simd.less(simd.splat(HIGHEST), x);
    let inside = simd.select(too_low, simd.splat(LOWEST), simd.select(too_high, simd.splat(HIGHEST), x));
    let (e_r, n) = exp_parts(simd, inside);
    // In two steps, because 2^128 is no number.
    let power = simd.power_of_two(simd.sub(n, simd.splat(1.0)));
    let value = simd.mul(simd.mul(e_r, power), simd.splat(2.0));
    let value = simd.select(too_high, simd.splat(f32::INFINITY), value);
    simd.select(too_low, simd.splat(0.0), value)
}

/// The bytes of `exp` for x from `-EXP_INSIDE` to `EXP_INSIDE`; a NaN stays.
#[inline(always)]
pub(crate) fn exp_inside<S: Simd>(simd: S, x: S::Vector) -> S::Vector {
    let (e_r, n) = exp_parts(simd, x);
    simd.mul(e_r, simd.power_of_two(n))
}

/// What the argument of `exp_inside` may be.
pub(crate) const EXP_INSIDE: f32 = 86.0;

/// e^r and n, where x is n ln 2 + r with |r| <= ln(2) / 2.
#[inline(always)]
fn exp_parts<S: Simd>(simd: S, x: S::Vector) -> (S::Vector, S::Vector) {
    let n = rounded(simd, simd.mul(x, simd.splat(std::f32::consts::LOG2_E)));
    let r = simd.mul_add(n, simd.splat(-LN_2_HIGH), x);
    let r = simd.mul_add(n, simd.splat(-LN_2_LOW), r);
    let tail = polynomial(simd, r, [0.499_999_93, 0.166_665_2, 0.041_668_39, 0.008_368_717, 0.001_381_46]);
    (simd.add(simd.mul_add(simd.mul(r, r), tail, r), simd.splat(1.0)), n)
}

/// The natural logarithm of a normal positive number, within 1.3e-7 of its value; of anything else NaN.
#[inline(always)]
pub(crate) fn ln<S: Simd>(simd: S, x: S::Vector) -> S::Vector {
    const LARGEST_DENORMAL: f32 = 1.175_494_2e-38;
    let (exponent, mantissa) = simd.split(x);
    let f = simd.sub(mantissa, simd.splat(1.0));
    let square = simd.mul(f, f);
    let tail = polynomial(
        simd,
        f,
        [0.333_339_1, -0.250_013_4, 0.199_630_47, -0.165_775_22, 0.149_149, -0.142_680_8, 0.087_008_2],
    );
    // Small terms first: f - f^2 / 2 + f^3 tail, and the exponent's share.
    let small = simd.mul_add(exponent, simd.splat(LN_2_LOW), simd.mul(simd.mul(f, square), tail));
    let small = simd.mul_add(square, simd.splat(-0.5), small);
    let value = simd.mul_add(exponent, simd.splat(LN_2_HIGH), simd.add(small, f));
    let finite = simd.less(x, simd.splat(f32::INFINITY));
    let normal = simd.less(simd.splat(LARGEST_DENORMAL), x);
    let value = simd.select(finite, value, simd.splat(f32::NAN));
    simd.select(normal, value, simd.splat(f32::NAN))
}

/// tanh x within 3.2e-7 of its value; a NaN stays.
#[inline(always)]
pub(crate) fn tanh<S: Simd>(simd: S, x: S::Vector) -> S::Vector {
    /// From here on the nearest `f32` is one.
    const LARGEST: f32 = 9.02;
    let large = simd.less(simd.splat(LARGEST), simd.abs(x));
    let square = simd.mul(x, x);
    let numerator =
        polynomial(simd, square, [1.0, 0.133_797_18, 0.003_494_034, 2.058_347_4e-5, 1.331_906_2e-8]);
    let denominator =
        polynomial(simd, square, [1.0, 0.467_130_33, 0.025_871_072, 3.283_092_1e-4, 7.762_015_2e-7]);
    let quotient = simd.div(simd.mul(x, numerator), denominator);
    // Rounding must not lead beyond one: 1 - tanh^2 is taken a logarithm of.
    let beyond = simd.less(simd.splat(1.0), simd.abs(quotient));
    simd.select(simd.either(large, beyond), simd.copy_sign(1.0, x), quotient)
}

/// `(sin(2 pi x), cos(2 pi x))` within 1.2e-7 for `x` from 0 to 1.
#[inline(always)]
pub(crate) fn sin_cos_turns<S: Simd>(simd: S, x: S::Vector) -> (S::Vector, S::Vector) {
    // A quarter turn more or less is exact: four times x, and the nearest whole number taken off.
    let quarters = simd.mul(x, simd.splat(4.0));
    let quadrant = rounded(simd, quarters);
    let angle = simd.mul(simd.sub(quarters, quadrant), simd.splat(std::f32::consts::FRAC_PI_2));
    let square = simd.mul(angle, angle);
    let sine = polynomial(simd, square, [-0.166_666_67, 0.008_333_329, -1.983_931e-4, 2.718_114e-6]);
    let sine = simd.mul_add(simd.mul(angle, square), sine, angle);
    let cosine = polynomial(simd, square, [0.041_666_668, -0.001_388_888_3, 2.479_946e-5, -2.720_568_5e-7]);
    let cosine = simd.mul_add(
        simd.mul(square, square),
        cosine,
        simd.mul_add(square, simd.splat(-0.5), simd.splat(1.0)),
    );
    // Quadrants 0 to 4; 1 and 3 exchange the two, 1 and 2 turn the cosine's sign, 2 and 3 the sine's.
    let zero = simd.splat(0.0);
    let (one, two) = (is_whole(simd, quadrant, 1.0), is_whole(simd, quadrant, 2.0));
    let three = is_whole(simd, quadrant, 3.0);
    let (minus_sine, minus_cosine) = (simd.sub(zero, sine), simd.sub(zero, cosine));
    let sin = simd.select(one, cosine, simd.select(two, minus_sine, simd.select(three, minus_cosine, sine)));
    let cos = simd.select(one, minus_sine, simd.select(two, minus_cosine, simd.select(three, sine, cosine)));
    (sin, cos)
}

/// Which whole numbers are this one.
#[inline(always)]
pub(crate) fn is_whole<S: Simd>(simd: S, whole: S::Vector, number: f32) -> S::Mask {
    simd.less(simd.abs(simd.sub(whole, simd.splat(number))), simd.splat(0.5))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{LANES, SimdPath, Work, dispatch};

    #[derive(Clone, Copy)]
    enum Function {
        Exp,
        Ln,
        Tanh,
        Sin,
        Cos,
    }

    struct Apply(Function, [f32; LANES]);

    impl Work for Apply {
        type Done = [f32; LANES];

        #[inline(always)]
        fn with<S: Simd>(self, simd: S) -> [f32; LANES] {
            let x = simd.load(&self.1);
            let y = match self.0 {
                Function::Exp => exp(simd, x),
                Function::Ln => ln(simd, x),
                Function::Tanh => tanh(simd, x),
                Function::Sin => sin_cos_turns(simd, x).0,
                Function::Cos => sin_cos_turns(simd, x).1,
            };
            let mut out = [0.0; LANES];
            simd.store(y, &mut out);
            out
        }
    }

    /// The largest error by `measure(found, argument)` over every representable number of a range.
    fn largest_error(function: Function, (from, to): (f32, f32), measure: fn(f64, f64) -> f64) -> f64 {
        let mut arguments = (from.to_bits()..=to.to_bits()).map(f32::from_bits).peekable();
        let mut worst = 0.0_f64;
        while arguments.peek().is_some() {
            let chunk: [f32; LANES] = std::array::from_fn(|_| arguments.next().unwrap_or(to));
            let found = dispatch(SimdPath::detect(), Apply(function, chunk));
            for (x, y) in chunk.into_iter().zip(found) {
                worst = worst.max(measure(f64::from(y), f64::from(x)));
            }
        }
        worst
    }

    #[test]
    fn errors_are_as_stated_for_every_argument() {
        let exp_error = |found: f64, x: f64| (found / x.exp() - 1.0).abs();
        for range in [(1e-8, 88.722), (-1e-8, -86.0)] {
            let worst = largest_error(Function::Exp, range, exp_error);
            assert!(worst < 1.2e-7, "exp on {range:?}: {worst:e}");
        }
        let ln_error = |found: f64, x: f64| (found / x.ln() - 1.0).abs();
        for range in [(1.2e-38, 0.999_999_9), (1.000_000_1, 3e38)] {
            let worst = largest_error(Function::Ln, range, ln_error);
            assert!(worst < 1.3e-7, "ln on {range:?}: {worst:e}");
        }
        let tanh_error = |found: f64, x: f64| {
            assert!(found.abs() <= 1.0, "tanh {x} is {found}");
            (found / x.tanh() - 1.0).abs()
        };
        for range in [(1e-30, 100.0), (-1e-30, -100.0)] {
            let worst = largest_error(Function::Tanh, range, tanh_error);
            assert!(worst < 3.2e-7, "tanh on {range:?}: {worst:e}");
        }
        let sin_error = |found: f64, x: f64| (found - (x * std::f64::consts::TAU).sin()).abs();
        let cos_error = |found: f64, x: f64| (found - (x * std::f64::consts::TAU).cos()).abs();
        let worst = largest_error(Function::Sin, (1e-9, 1.0), sin_error).max(largest_error(
            Function::Cos,
            (1e-9, 1.0),
            cos_error,
        ));
        assert!(worst < 1.2e-7, "sine and cosine: {worst:e}");
    }

    #[test]
    fn ends_of_the_ranges_and_what_is_no_number() {
        let nan = f32::NAN;
        let cases: [(Function, &[(f32, f32)]); 3] = [
            (
                Function::Exp,
                &[(0.0, 1.0), (-87.0, 0.0), (f32::NEG_INFINITY, 0.0), (89.0, f32::INFINITY), (nan, nan)],
            ),
            (
                Function::Ln,
                &[(1.0, 0.0), (0.0, nan), (-1.0, nan), (1e-40, nan), (f32::INFINITY, nan), (nan, nan)],
            ),
            (Function::Tanh, &[(0.0, 0.0), (-0.0, -0.0), (20.0, 1.0), (f32::NEG_INFINITY, -1.0), (nan, nan)]),
        ];
        for (function, pairs) in cases {
            for &(argument, expected) in pairs {
                let found = dispatch(SimdPath::detect(), Apply(function, [argument; LANES]))[0];
                let same = found.to_bits() == expected.to_bits() || (found.is_nan() && expected.is_nan());
                assert!(same, "{argument} gives {found}, not {expected}");
            }
        }
    }

    #[test]
    fn every_path_gives_the_same_bytes() {
        for function in [Function::Exp, Function::Ln, Function::Tanh, Function::Sin, Function::Cos] {
            for start in (0..u32::MAX).step_by(1_000_003) {
                let chunk =
                    std::array::from_fn(|lane| f32::from_bits(start.wrapping_add(lane as u32 * 62_501)));
                let expected = dispatch(SimdPath::Portable, Apply(function, chunk)).map(bits);
                for path in SimdPath::ALL.into_iter().filter(|path| path.is_available()) {
                    assert_eq!(
                        dispatch(path, Apply(function, chunk)).map(bits),
                        expected,
                        "{path}: {chunk:?}"
                    );
                }
            }
        }
    }

    /// Which NaN comes out is not promised, that one does is.
    fn bits(value: f32) -> u32 {
        if value.is_nan() { f32::NAN.to_bits() } else { value.to_bits() }
    }
}
