//! Schulman's estimators of a divergence ("Approximating KL Divergence", 2020), from tokens that the policy chose.
//!
//! Their mean over many tokens tends to the divergence of the policy from its reference. The difference of a token is
//! ln(q/p). k1 is that with the other sign, k2 half of its square, k3 its exponential less 1 and less itself.

use super::exp::{exp_less_line, exp_less_line_inside, is_inside};
use super::sums::{Sums, Term, check};
use crate::simd::{self, Simd, Work, dispatch};
use crate::{Error, SimdPath, kernels};

/// Vectors of `f32` terms that are added in `f32`, before their sum goes on in `f64`.
const VECTORS: usize = 16;
/// Tokens of so many.
const BLOCK: usize = simd::LANES * VECTORS;

/// A type of log-probabilities: `f32` or `f64`.
pub trait LogProbability: sealed::Sealed + Copy + Into<f64> {}

impl LogProbability for f32 {}
impl LogProbability for f64 {}

mod sealed {
    pub trait Sealed: Sized {
        /// The nearest value of this type.
        fn rounded(sum: f64) -> Self;
        /// The sums of k3. Tokens fill all sequences equally.
        fn k3(policy: &[Self], reference: &[Self], sums: &mut [Self]);
    }
}

impl sealed::Sealed for f32 {
    #[inline(always)]
    fn rounded(sum: f64) -> Self {
        sum as Self
    }

    fn k3(policy: &[Self], reference: &[Self], sums: &mut [Self]) {
        dispatch(SimdPath::detect(), K3OfSingle { policy, reference, sums });
    }
}

impl sealed::Sealed for f64 {
    #[inline(always)]
    fn rounded(sum: f64) -> Self {
        sum
    }

    fn k3(policy: &[Self], reference: &[Self], sums: &mut [Self]) {
        dispatch(SimdPath::detect(), Sums::<Self, K3>::new(policy, reference, sums));
    }
}

/// For each sequence the sum over its tokens of `ln(p/q)`: the estimator k1, unbiased, of the highest variance, and
/// negative for many a token.
///
/// Terms and sums are computed in `f64`, and the sum is rounded once.
///
/// # Arguments
///
/// * `policy`: ln p of each token, (sequences, tokens), sequence after sequence.
/// * `reference`: ln q of each token, in the same order.
/// * `sums`: one value for each sequence. All are written.
///
/// # Errors
///
/// [`Error::Len`] where the two differ in length, or the tokens fill no whole number of sequences.
///
/// ```
/// let mut sums = [0.0_f32; 2];
/// torchforge_nn::token_kl_k1(&[-1.0, -1.0, -2.0, -1.0], &[-1.5, -1.25, -1.0, -1.0], &mut sums)?;
/// assert_eq!(sums, [0.75, -1.0]);
/// # Ok::<(), torchforge_nn::Error>(())
/// ```
pub fn token_kl_k1<T: LogProbability>(policy: &[T], reference: &[T], sums: &mut [T]) -> Result<(), Error> {
    fit(policy, reference, sums)?;
    if !sums.is_empty() {
        dispatch(SimdPath::detect(), Sums::<T, K1>::new(policy, reference, sums));
    }
    Ok(())
}

/// For each sequence the sum over its tokens of `ln(p/q)^2 / 2`: the estimator k2, biased, of a low variance, and never
/// negative.
///
/// Precision, arguments and errors are those of [`token_kl_k1`].
///
/// # Errors
///
/// Those of [`token_kl_k1`].
///
/// ```
/// let mut sums = [0.0_f64; 1];
/// torchforge_nn::token_kl_k2(&[-1.0, -1.0], &[-2.0, 0.0], &mut sums)?;
/// assert_eq!(sums, [1.0]);
/// # Ok::<(), torchforge_nn::Error>(())
/// ```
pub fn token_kl_k2<T: LogProbability>(policy: &[T], reference: &[T], sums: &mut [T]) -> Result<(), Error> {
    fit(policy, reference, sums)?;
    if !sums.is_empty() {
        dispatch(SimdPath::detect(), Sums::<T, K2>::new(policy, reference, sums));
    }
    Ok(())
}

/// For each sequence the sum over its tokens of `q/p - 1 - ln(q/p)`: the estimator k3, unbiased, of a low variance, and
/// never negative.
///
/// The terms of `f32` are computed in `f32`: one below 1e-7 is lost in rounding, and may come out below zero. The terms
/// of `f64` keep their digits however small they are.
///
/// # Arguments
///
/// * `policy`: ln p of each token, (sequences, tokens), sequence after sequence.
/// * `reference`: ln q of each token, in the same order.
/// * `sums`: one value for each sequence. All are written.
///
/// # Errors
///
/// [`Error::Len`] where the two differ in length, or the tokens fill no whole number of sequences.
///
/// ```
/// let mut sums = [0.0_f32; 2];
/// torchforge_nn::token_kl_k3(&[-1.0, -1.0], &[-1.0, 0.0], &mut sums)?;
/// assert_eq!(sums[0], 0.0);
/// assert!((sums[1] - (1.0_f32.exp() - 2.0)).abs() < 1e-6);
/// # Ok::<(), torchforge_nn::Error>(())
/// ```
pub fn token_kl_k3<T: LogProbability>(policy: &[T], reference: &[T], sums: &mut [T]) -> Result<(), Error> {
    fit(policy, reference, sums)?;
    if !sums.is_empty() {
        T::k3(policy, reference, sums);
    }
    Ok(())
}

fn fit<T>(policy: &[T], reference: &[T], sums: &[T]) -> Result<(), Error> {
    check("reference", policy.len(), reference.len())?;
    if sums.is_empty() {
        return check("sums", policy.len(), 0);
    }
    let tokens = policy.len() / sums.len();
    check("policy", tokens.max(1) * sums.len(), policy.len())
}

struct K1;
struct K2;
struct K3;

impl Term for K1 {
    #[inline(always)]
    fn of(policy: f64, reference: f64) -> f64 {
        policy - reference
    }
}

impl Term for K2 {
    #[inline(always)]
    fn of(policy: f64, reference: f64) -> f64 {
        let difference = policy - reference;
        0.5 * difference * difference
    }
}

impl Term for K3 {
    #[inline(always)]
    fn of(policy: f64, reference: f64) -> f64 {
        exp_less_line(reference - policy)
    }

    #[inline(always)]
    fn is_usual(policy: f64, reference: f64) -> bool {
        is_inside(reference - policy)
    }

    #[inline(always)]
    fn of_usual(policy: f64, reference: f64) -> f64 {
        exp_less_line_inside(reference - policy)
    }
}

struct K3OfSingle<'a> {
    policy: &'a [f32],
    reference: &'a [f32],
    sums: &'a mut [f32],
}

impl Work for K3OfSingle<'_> {
    type Done = ();

    #[inline(always)]
    fn with<S: Simd>(self, simd: S) {
        let tokens = self.policy.len() / self.sums.len();
        let sequences = self.policy.chunks_exact(tokens).zip(self.reference.chunks_exact(tokens));
        for (sum, (policy, reference)) in self.sums.iter_mut().zip(sequences) {
            *sum = k3(simd, policy, reference) as f32;
        }
    }
}

/// The sum of one sequence. Sixteen lanes of `f32` take up `VECTORS` vectors, and go on in `f64`.
#[inline(always)]
fn k3<S: Simd>(simd: S, policy: &[f32], reference: &[f32]) -> f64 {
    let (policy, policy_rest) = policy.as_chunks::<BLOCK>();
    let (reference, reference_rest) = reference.as_chunks::<BLOCK>();
    let mut sum = 0.0;
    for (policy, reference) in policy.iter().zip(reference) {
        let (inside, lanes) = terms_inside(simd, policy, reference);
        let lanes = if inside { lanes } else { terms(simd, policy, reference) };
        sum += kernels::horizontal_sum(simd, lanes);
    }
    if !policy_rest.is_empty() {
        sum += kernels::horizontal_sum(simd, terms(simd, policy_rest, reference_rest));
    }
    sum
}

/// Whether no exponential of a block has to look at its ends, and then the block's lanes.
#[inline(always)]
fn terms_inside<S: Simd>(simd: S, policy: &[f32; BLOCK], reference: &[f32; BLOCK]) -> (bool, S::Vector) {
    let most = simd.splat(kernels::EXP_INSIDE);
    let mut outside = simd.less(most, most);
    let mut lanes = simd.splat(0.0);
    let (policy, _) = policy.as_chunks::<{ simd::LANES }>();
    let (reference, _) = reference.as_chunks::<{ simd::LANES }>();
    for (policy, reference) in policy.iter().zip(reference) {
        let difference = simd.sub(simd.load(reference), simd.load(policy));
        outside = simd.either(outside, simd.less(most, simd.abs(difference)));
        let ratio = kernels::exp_inside(simd, difference);
        lanes = simd.add(lanes, simd.sub(simd.sub(ratio, simd.splat(1.0)), difference));
    }
    let outside = simd.select(outside, simd.splat(1.0), simd.splat(0.0));
    (simd.nonzero(outside) == 0, lanes)
}

/// The lanes of a block, or of the rest of one.
#[inline(always)]
fn terms<S: Simd>(simd: S, policy: &[f32], reference: &[f32]) -> S::Vector {
    let mut lanes = simd.splat(0.0);
    for (policy, reference) in policy.chunks(simd::LANES).zip(reference.chunks(simd::LANES)) {
        // Lanes beyond the end have a difference of zero, and a term of exactly zero.
        let difference = simd.sub(simd.load_up_to(reference), simd.load_up_to(policy));
        let ratio = kernels::exp(simd, difference);
        lanes = simd.add(lanes, simd.sub(simd.sub(ratio, simd.splat(1.0)), difference));
    }
    lanes
}
