//! How far a policy's tokens are from a reference's, from the log-probabilities of both.

use super::exp::{exp, exp_inside, is_inside};
use super::sums::{Sums, Term, check};
use crate::simd::dispatch;
use crate::{Error, SimdPath};

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
    let mut sum = [0.0];
    if !policy.is_empty() {
        dispatch(SimdPath::detect(), Sums::<f64, Exact>::new(policy, reference, &mut sum));
    }
    Ok(sum[0])
}

struct Exact;

impl Term for Exact {
    #[inline(always)]
    fn of(policy: f64, reference: f64) -> f64 {
        exp(policy) * (policy - reference)
    }

    #[inline(always)]
    fn is_usual(policy: f64, _: f64) -> bool {
        is_inside(policy)
    }

    #[inline(always)]
    fn of_usual(policy: f64, reference: f64) -> f64 {
        exp_inside(policy) * (policy - reference)
    }
}
