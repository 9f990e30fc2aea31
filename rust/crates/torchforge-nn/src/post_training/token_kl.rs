//! How far a policy's tokens are from a reference's, from the log-probabilities of both.

use super::exp::exp;
use super::lanes::{LANES, total};
use crate::kernels;
use crate::simd::{self, Simd, Work, dispatch};
use crate::{Error, SimdPath};

/// Terms computed at a time, before they are added.
const BLOCK: usize = 64;
/// Vectors of `f32` terms that are added in `f32`, before their sum goes on in `f64`.
const VECTORS: usize = 16;

/// The sum over all tokens of `p (ln p - ln q)`: the Kullback-Leibler divergence where the tokens are a whole
/// distribution.
///
/// # Arguments
///
/// * `policy`: ln p of each token.
/// * `reference`: ln q of each token.
///
/// # Errors
///
/// [`Error::Len`] where the two differ in length.
///
/// ```
/// let (policy, reference) = ([0.5_f64.ln(); 2], [0.25_f64.ln(); 2]);
/// let kl = torchforge_nn::token_kl(&policy, &reference)?;
/// assert!((kl - 2.0_f64.ln()).abs() < 1e-15);
/// # Ok::<(), torchforge_nn::Error>(())
/// ```
pub fn token_kl(policy: &[f64], reference: &[f64]) -> Result<f64, Error> {
    check("reference", policy.len(), reference.len())?;
    Ok(dispatch(SimdPath::detect(), Exact { policy, reference }))
}

/// For each sequence the sum over its tokens of `q/p - 1 - ln(q/p)`: Schulman's estimator k3 of the divergence, which
/// is never negative ("Approximating KL Divergence", 2020).
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
pub fn token_kl_k3(policy: &[f32], reference: &[f32], sums: &mut [f32]) -> Result<(), Error> {
    check("reference", policy.len(), reference.len())?;
    if sums.is_empty() {
        return check("sums", policy.len(), 0);
    }
    let tokens = policy.len() / sums.len();
    check("policy", tokens.max(1) * sums.len(), policy.len())?;
    dispatch(SimdPath::detect(), K3 { policy, reference, tokens, sums });
    Ok(())
}

fn check(what: &'static str, expected: usize, found: usize) -> Result<(), Error> {
    if expected == found { Ok(()) } else { Err(Error::Len { what, expected, found }) }
}

struct Exact<'a> {
    policy: &'a [f64],
    reference: &'a [f64],
}

impl Work for Exact<'_> {
    type Done = f64;

    #[inline(always)]
    fn with<S: Simd>(self, _: S) -> f64 {
        let mut lanes = [0.0; LANES];
        let (policy, policy_rest) = self.policy.as_chunks::<BLOCK>();
        let (reference, reference_rest) = self.reference.as_chunks::<BLOCK>();
        for (policy, reference) in policy.iter().zip(reference) {
            add(terms(policy, reference), &mut lanes);
        }
        if !policy_rest.is_empty() {
            // A term of two zeros is exactly zero.
            let (mut policy, mut reference) = ([0.0; BLOCK], [0.0; BLOCK]);
            policy[..policy_rest.len()].copy_from_slice(policy_rest);
            reference[..reference_rest.len()].copy_from_slice(reference_rest);
            add(terms(&policy, &reference), &mut lanes);
        }
        total(lanes)
    }
}

#[inline(always)]
fn terms(policy: &[f64; BLOCK], reference: &[f64; BLOCK]) -> [f64; BLOCK] {
    let mut terms = [0.0; BLOCK];
    for (term, (&policy, &reference)) in terms.iter_mut().zip(policy.iter().zip(reference)) {
        *term = exp(policy) * (policy - reference);
    }
    terms
}

#[inline(always)]
fn add(terms: [f64; BLOCK], lanes: &mut [f64; LANES]) {
    for vector in terms.as_chunks::<LANES>().0 {
        for (lane, term) in lanes.iter_mut().zip(vector) {
            *lane += term;
        }
    }
}

struct K3<'a> {
    policy: &'a [f32],
    reference: &'a [f32],
    tokens: usize,
    sums: &'a mut [f32],
}

impl Work for K3<'_> {
    type Done = ();

    #[inline(always)]
    fn with<S: Simd>(self, simd: S) {
        let sequences = self.policy.chunks_exact(self.tokens).zip(self.reference.chunks_exact(self.tokens));
        for (sum, (policy, reference)) in self.sums.iter_mut().zip(sequences) {
            *sum = k3(simd, policy, reference) as f32;
        }
    }
}

/// The sum of one sequence. Sixteen lanes of `f32` take up `VECTORS` vectors, and go on in `f64`.
#[inline(always)]
fn k3<S: Simd>(simd: S, policy: &[f32], reference: &[f32]) -> f64 {
    let mut sum = 0.0;
    let blocks = policy.chunks(simd::LANES * VECTORS).zip(reference.chunks(simd::LANES * VECTORS));
    for (policy, reference) in blocks {
        let mut lanes = simd.splat(0.0);
        for (policy, reference) in policy.chunks(simd::LANES).zip(reference.chunks(simd::LANES)) {
            // Lanes beyond the end have a difference of zero, and a term of exactly zero.
            let difference = simd.sub(simd.load_up_to(reference), simd.load_up_to(policy));
            let ratio = kernels::exp(simd, difference);
            lanes = simd.add(lanes, simd.sub(simd.sub(ratio, simd.splat(1.0)), difference));
        }
        sum += kernels::horizontal_sum(simd, lanes);
    }
    sum
}
