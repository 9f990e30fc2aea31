//! Every path gives the portable path's bits, operation by operation.

use proptest::prelude::*;

use super::*;

/// Ordinary values, and all that is not: zeros of both signs, denormals, infinities, NaN.
fn value() -> impl Strategy<Value = f32> {
    prop_oneof![
        8 => -1e3_f32..1e3,
        1 => prop::num::f32::ANY.prop_map(|x| if x.is_nan() { f32::NAN } else { x }),
        1 => prop::sample::select(vec![0.0, -0.0, f32::MIN_POSITIVE / 2.0, f32::INFINITY, f32::NEG_INFINITY]),
    ]
}

/// Exponents from end to end.
const WHOLE: [f32; LANES] =
    [-126.0, -125.0, -64.0, -33.0, -7.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 10.0, 31.0, 64.0, 126.0, 127.0];

/// One result of every operation.
#[derive(Clone, Copy)]
struct Everything<'a> {
    a: &'a [f32],
    b: &'a [f32],
    c: &'a [f32],
    matrix: &'a [f32],
    count: usize,
}

impl Work for Everything<'_> {
    type Done = Vec<f32>;

    fn with<S: Simd>(self, simd: S) -> Vec<f32> {
        let Self { a, b, c, matrix, count } = self;
        let (x, y, z) = (simd.load(a), simd.load(b), simd.load(c));
        let positive = <[f32; LANES]>::try_from(a).unwrap().map(|x| {
            // Any bits as those of a normal positive number.
            f32::from_bits((x.to_bits() & 0x7fff_ffff).clamp(0x0080_0000, 0x7f7f_ffff))
        });
        let rows = std::array::from_fn(|row| simd.load(&matrix[row * LANES..]));
        let vectors = [
            simd.splat(a[0]),
            simd.add(x, y),
            simd.sub(x, y),
            simd.mul(x, y),
            simd.div(x, y),
            simd.mul_add(x, y, z),
            simd.mul_add_half(x, y, z),
            simd.sqrt(x),
            simd.abs(x),
            simd.copy_sign(1.0, x),
            simd.select(simd.less(x, y), y, z),
            simd.select(simd.either(simd.less(x, y), simd.less(y, z)), x, z),
            simd.sums(rows),
            simd.load_up_to(&a[..count]),
            simd.flush(x, 1.0),
            simd.relu(x),
            simd.where_positive(x, y),
            simd.power_of_two(simd.load(&WHOLE)),
            simd.split(simd.load(&positive)).0,
            simd.split(simd.load(&positive)).1,
        ];
        let vectors = vectors.into_iter().chain(simd.transpose(rows)).collect::<Vec<_>>();
        let mut found = vec![0.0; (vectors.len() + 1) * LANES];
        for (vector, found) in vectors.into_iter().zip(found.chunks_exact_mut(LANES)) {
            simd.store(vector, found);
        }
        let last = found.len() - LANES;
        simd.store_up_to(y, &mut found[last..][..count]);
        found.extend((0..LANES).map(|lane| f32::from(simd.nonzero(x) >> lane & 1)));
        found
    }
}

/// Through a slice and back.
struct RoundTrip<'a> {
    values: &'a mut [f32],
    copy: &'a mut [f32],
}

impl Work for RoundTrip<'_> {
    type Done = ();

    fn with<S: Simd>(self, simd: S) {
        let vector = simd.load_up_to(self.values);
        simd.store_up_to(vector, self.values);
        simd.store(vector, self.copy);
    }
}

fn bits(values: &[f32]) -> Vec<u32> {
    // Which NaN comes out is not promised, that one does is.
    values.iter().map(|value| if value.is_nan() { f32::NAN.to_bits() } else { value.to_bits() }).collect()
}

proptest! {
    #[test]
    fn every_path_gives_the_portable_paths_bits(
        a in prop::collection::vec(value(), LANES),
        b in prop::collection::vec(value(), LANES),
        c in prop::collection::vec(value(), LANES),
        matrix in prop::collection::vec(value(), LANES * LANES),
        count in 0..=LANES,
    ) {
        let everything = Everything { a: &a, b: &b, c: &c, matrix: &matrix, count };
        let expected = bits(&dispatch(SimdPath::Portable, everything));
        for path in SimdPath::ALL.into_iter().filter(|path| path.is_available()) {
            let found = dispatch(path, everything);
            prop_assert_eq!(&bits(&found), &expected, "{}", path);
        }
    }
}

#[test]
fn powers_of_two_and_split_numbers_are_exact() {
    assert_eq!(Portable.power_of_two(WHOLE), WHOLE.map(|n| 2.0_f64.powi(n as i32) as f32));
    let numbers = [1.0, 1.4, 1.5, 0.7, 0.71, 3e38, 2e-38, 1e-6];
    let mut lanes = [1.0; LANES];
    lanes[..numbers.len()].copy_from_slice(&numbers);
    let (exponents, mantissas) = Portable.split(lanes);
    for ((number, exponent), mantissa) in lanes.iter().zip(exponents).zip(mantissas) {
        assert_eq!(f64::from(mantissa) * 2.0_f64.powi(exponent as i32), f64::from(*number));
        let square = f64::from(mantissa) * f64::from(mantissa);
        assert!((0.499_999_9..2.000_000_1).contains(&square), "{number} is {mantissa} * 2^{exponent}");
    }
}

#[test]
fn sums_add_halves_to_halves() {
    let rows: [[f32; LANES]; LANES] =
        std::array::from_fn(|row| std::array::from_fn(|lane| (row * 100 + lane) as f32));
    let expected: [f32; LANES] = std::array::from_fn(|row| rows[row].iter().sum());
    assert_eq!(Portable.sums(rows), expected, "exact in f32, so any order gives it");
}

/// A feature that is enabled and was not looked for would end a program with an illegal instruction.
#[test]
fn every_feature_that_a_path_enables_is_detected_first() {
    for source in [include_str!("avx512.rs"), include_str!("avx2.rs")] {
        let between = |start, end| {
            let parts = source.split(start).skip(1);
            parts.filter_map(move |part: &str| part.split(end).next()).collect::<Vec<_>>()
        };
        let enabled: Vec<_> =
            between("enable = \"", "\"").iter().flat_map(|features| features.split(',')).collect();
        assert_eq!(between("is_x86_feature_detected!(\"", "\")"), enabled);
        assert!(enabled.contains(&"fma"), "{enabled:?}");
    }
}

/// The last page before one that may not be touched: a load or store beyond its slice would end the process.
#[cfg(target_os = "linux")]
#[test]
fn partial_loads_and_stores_touch_nothing_beyond_their_slice() {
    let page = GuardedPage::new();
    for count in 0..=LANES {
        for path in SimdPath::ALL.into_iter().filter(|path| path.is_available()) {
            let end = page.values();
            let start = end.len() - count;
            let values = &mut end[start..];
            values.fill(count as f32);
            let mut copy = [0.0; LANES];
            dispatch(path, RoundTrip { values, copy: &mut copy });
            assert!(copy[..count].iter().all(|&value| value == count as f32));
            assert!(copy[count..].iter().all(|&value| value == 0.0));
        }
    }
}

#[cfg(target_os = "linux")]
struct GuardedPage {
    start: *mut f32,
}

#[cfg(target_os = "linux")]
impl GuardedPage {
    const BYTES: usize = 65536;

    fn new() -> Self {
        // SAFETY: fresh pages of our own; the second half becomes untouchable.
        unsafe {
            let start = libc::mmap(
                std::ptr::null_mut(),
                2 * Self::BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            assert_ne!(start, libc::MAP_FAILED);
            assert_eq!(libc::mprotect(start.byte_add(Self::BYTES), Self::BYTES, libc::PROT_NONE), 0);
            Self { start: start.cast() }
        }
    }

    #[expect(clippy::mut_from_ref, reason = "one borrow at a time, in one test")]
    fn values(&self) -> &mut [f32] {
        // SAFETY: the first half, mapped above and never unmapped before the process ends.
        unsafe { std::slice::from_raw_parts_mut(self.start, Self::BYTES / size_of::<f32>()) }
    }
}
