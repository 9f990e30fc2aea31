//! Sums over the tokens of sequences, in double precision.

use std::marker::PhantomData;

use super::estimators::LogProbability;
use super::lanes::{LANES, total};
use crate::Error;
use crate::simd::{Simd, Work};

/// Terms computed at a time, before they are added.
const BLOCK: usize = 64;

/// What a token adds to the sum: exactly zero where both of its log-probabilities are zero.
///
/// A trait and no closure, so that it is compiled for each instruction set. Implementations are `#[inline(always)]`.
pub(super) trait Term {
    fn of(policy: f64, reference: f64) -> f64;

    /// Whether `of_usual` has the bytes of `of`.
    #[inline(always)]
    fn is_usual(_policy: f64, _reference: f64) -> bool {
        true
    }

    /// `of` without what only unusual numbers need.
    #[inline(always)]
    fn of_usual(policy: f64, reference: f64) -> f64 {
        Self::of(policy, reference)
    }
}

/// One sum of terms for each sequence.
pub(super) struct Sums<'a, T, Each> {
    policy: &'a [T],
    reference: &'a [T],
    sums: &'a mut [T],
    term: PhantomData<Each>,
}

impl<'a, T, Each> Sums<'a, T, Each> {
    /// The tokens fill all sequences equally, with one at least.
    pub(super) fn new(policy: &'a [T], reference: &'a [T], sums: &'a mut [T]) -> Self {
        Self { policy, reference, sums, term: PhantomData }
    }
}

impl<T: LogProbability, Each: Term> Work for Sums<'_, T, Each> {
    type Done = ();

    #[inline(always)]
    fn with<S: Simd>(self, _: S) {
        let tokens = self.policy.len() / self.sums.len();
        let sequences = self.policy.chunks_exact(tokens).zip(self.reference.chunks_exact(tokens));
        for (sum, (policy, reference)) in self.sums.iter_mut().zip(sequences) {
            *sum = T::rounded(added::<T, Each>(policy, reference));
        }
    }
}

#[inline(always)]
fn added<T: LogProbability, Each: Term>(policy: &[T], reference: &[T]) -> f64 {
    let mut lanes = [0.0; LANES];
    let (policy, policy_rest) = policy.as_chunks::<BLOCK>();
    let (reference, reference_rest) = reference.as_chunks::<BLOCK>();
    for (policy, reference) in policy.iter().zip(reference) {
        add(terms::<T, Each>(policy, reference), &mut lanes);
    }
    if !policy_rest.is_empty() {
        let (mut policy, mut reference) = ([T::rounded(0.0); BLOCK], [T::rounded(0.0); BLOCK]);
        policy[..policy_rest.len()].copy_from_slice(policy_rest);
        reference[..reference_rest.len()].copy_from_slice(reference_rest);
        add(terms::<T, Each>(&policy, &reference), &mut lanes);
    }
    total(lanes)
}

#[inline(always)]
fn terms<T: LogProbability, Each: Term>(policy: &[T; BLOCK], reference: &[T; BLOCK]) -> [f64; BLOCK] {
    let pairs = policy.iter().zip(reference);
    let mut usual = true;
    for (&policy, &reference) in pairs.clone() {
        usual &= Each::is_usual(policy.into(), reference.into());
    }
    let mut terms = [0.0; BLOCK];
    if usual {
        for (term, (&policy, &reference)) in terms.iter_mut().zip(pairs) {
            *term = Each::of_usual(policy.into(), reference.into());
        }
    } else {
        for (term, (&policy, &reference)) in terms.iter_mut().zip(pairs) {
            *term = Each::of(policy.into(), reference.into());
        }
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

pub(super) fn check(what: &'static str, expected: usize, found: usize) -> Result<(), Error> {
    if expected == found { Ok(()) } else { Err(Error::Len { what, expected, found }) }
}
