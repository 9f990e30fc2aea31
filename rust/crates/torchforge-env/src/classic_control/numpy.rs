//! Functions that NumPy computes in ways of its own.

use std::hint::black_box;

/// `x ** 2` of a NumPy `float64`: the C library's `pow`, which is not always the rounded product.
#[inline]
pub(super) fn square(x: f64) -> f64 {
    // A compiler that sees the exponent makes a product of it.
    x.powf(black_box(2.0))
}

/// `x ** 2` of a NumPy `float32`: the C library's `powf`.
#[inline]
pub(super) fn square_f32(x: f32) -> f32 {
    x.powf(black_box(2.0))
}

/// `a % b` for a positive `b`: the result has `b`'s sign.
#[inline]
pub(super) fn modulo(a: f64, b: f64) -> f64 {
    let remainder = a % b;
    if remainder < 0.0 {
        remainder + b
    } else {
        // Also turns a zero's sign.
        remainder.abs()
    }
}

/// The sine and cosine of a NumPy `float32` for |x| <= pi/4.
///
/// NumPy does not ask the C library here: it has polynomials in fused multiply-adds
/// (`loops_trigonometric.dispatch.cpp`, after T. Myklebust), the same on every processor that has these. Beyond
/// pi/4 it reduces the range first, which no environment needs.
pub(super) fn sin_cos_f32(x: f32) -> (f32, f32) {
    debug_assert!(x.abs() <= std::f32::consts::FRAC_PI_4, "{x} is outside the polynomials' range");
    let square = x * x;
    // The bits of -0x1.a06bbap-13 and so on.
    let [s9, s7, s5, s3] = [0x363e_9dde, 0xb950_35dd, 0x3c08_88cd, 0xbe2a_aaab].map(f32::from_bits);
    let sin = s9.mul_add(square, s7).mul_add(square, s5).mul_add(square, s3) * square;
    let [c8, c6, c4] = [0x37cc_730b, 0xbab6_036e, 0x3d2a_aa9e].map(f32::from_bits);
    let cos = c8.mul_add(square, c6).mul_add(square, c4).mul_add(square, -0.5).mul_add(square, 1.0);
    (sin.mul_add(x, x), cos)
}

#[cfg(test)]
mod tests {
    use super::*;

    // The bits were printed by NumPy 2.2.4.

    /// Values whose power is not the rounded product.
    #[test]
    fn squares_are_the_librarys() {
        let x = f64::from_bits(0x4006_00e9_3b83_81b4);
        assert_eq!(square(x).to_bits(), 0x401e_4281_70f1_7ae3);
        assert_ne!(square(x), x * x);
        let x = f32::from_bits(0xbfc5_0517);
        assert_eq!(square_f32(x).to_bits(), 0x4017_a0d6);
        assert_ne!(square_f32(x), x * x);
    }

    #[test]
    fn modulo_takes_the_divisors_sign() {
        assert_eq!(modulo(-1.0, 4.0), 3.0);
        assert_eq!(modulo(5.0, 4.0), 1.0);
        assert_eq!(modulo(-4.0, 4.0).to_bits(), 0.0_f64.to_bits());
    }

    #[test]
    fn sines_and_cosines_of_f32_are_numpys() {
        for (x, sin, cos) in [
            (0.1, 0x3dcc_7577, 0x3f7e_b898),
            (-0.1, 0xbdcc_7577, 0x3f7e_b898),
            (0.05, 0x3d4c_b6f5, 0x3f7f_ae19),
            (-0.0123, 0xbc49_84a3, 0x3f7f_fb0b),
            (1e-5, 0x3727_c5ac, 0x3f80_0000),
        ] {
            let (found_sin, found_cos) = sin_cos_f32(x);
            assert_eq!((found_sin.to_bits(), found_cos.to_bits()), (sin, cos), "{x}");
        }
    }
}
