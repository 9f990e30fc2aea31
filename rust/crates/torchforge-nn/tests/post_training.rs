//! Group advantages and token divergences against their formulas as written.

use proptest::prelude::*;
use torchforge_nn::{
    Error, LogProbability, group_advantages, token_kl, token_kl_k1, token_kl_k2, token_kl_k3,
};

fn naive_advantages(rewards: &[f64], size: usize, epsilon: f64) -> Vec<f64> {
    let mut advantages = Vec::new();
    for group in rewards.chunks(size) {
        let mean = group.iter().sum::<f64>() / size as f64;
        let variance = group.iter().map(|reward| (reward - mean).powi(2)).sum::<f64>() / size as f64;
        advantages.extend(group.iter().map(|reward| (reward - mean) / (variance.sqrt() + epsilon)));
    }
    advantages
}

fn near(found: f64, expected: f64, tolerance: f64) -> bool {
    (found - expected).abs() <= tolerance * (1.0 + expected.abs())
}

fn log_probabilities(len: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = Vec<(f64, f64)>> {
    prop::collection::vec((-8.0..0.0_f64, -8.0..0.0_f64), len)
}

proptest! {
    #[test]
    fn advantages_are_the_formula(
        (size, rewards) in (1_usize..40).prop_flat_map(|size| {
            (Just(size), (0_usize..6).prop_flat_map(move |groups| prop::collection::vec(-3.0..3.0_f64, groups * size)))
        }),
    ) {
        let mut advantages = vec![f64::NAN; rewards.len()];
        group_advantages(&rewards, size, 1e-8, &mut advantages).unwrap();
        for (found, expected) in advantages.iter().zip(naive_advantages(&rewards, size, 1e-8)) {
            prop_assert!(near(*found, expected, 1e-9), "{} and not {}", found, expected);
        }
    }

    #[test]
    fn a_group_has_the_bytes_that_it_has_alone(size in 1_usize..40, rewards in prop::collection::vec(-3.0..3.0_f64, 120)) {
        let rewards = &rewards[..120 / size * size];
        let mut together = vec![0.0; rewards.len()];
        group_advantages(rewards, size, 1e-8, &mut together).unwrap();
        for (group, found) in rewards.chunks(size).zip(together.chunks(size)) {
            let mut alone = vec![0.0; size];
            group_advantages(group, size, 1e-8, &mut alone).unwrap();
            prop_assert_eq!(&alone[..], found);
        }
    }

    #[test]
    fn the_divergence_is_the_formula(pairs in log_probabilities(0..300)) {
        let (policy, reference): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        let expected: f64 = policy.iter().zip(&reference).map(|(p, q)| p.exp() * (p - q)).sum();
        prop_assert!(near(token_kl(&policy, &reference).unwrap(), expected, 1e-12));
    }

    #[test]
    fn the_estimators_are_the_formulas(
        (sequences, pairs) in (1_usize..4, 1_usize..700)
            .prop_flat_map(|(sequences, tokens)| (Just(sequences), log_probabilities(sequences * tokens))),
    ) {
        let (policy, reference): (Vec<f64>, Vec<f64>) = pairs.iter().map(|pair| (pair.0 / 4.0, pair.1 / 4.0)).unzip();
        let single = |values: &[f64]| values.iter().map(|&value| value as f32).collect::<Vec<_>>();
        let (policy_f32, reference_f32) = (single(&policy), single(&reference));
        for (of_f64, of_f32, term, tolerance_f32) in [
            (token_kl_k1::<f64> as Estimator<f64>, token_kl_k1::<f32> as Estimator<f32>, k1 as fn(f64) -> f64, 1e-7),
            (token_kl_k2, token_kl_k2, k2, 1e-7),
            (token_kl_k3, token_kl_k3, k3, 3e-6),
        ] {
            agree(of_f64, term, &policy, &reference, sequences, 1e-12)?;
            agree(of_f32, term, &policy_f32, &reference_f32, sequences, tolerance_f32)?;
        }
    }

    #[test]
    fn a_sequence_has_the_bytes_that_it_has_alone(
        tokens in 1_usize..200,
        pairs in log_probabilities(400),
    ) {
        let (policy, reference): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        let (policy, reference) = (&policy[..400 / tokens * tokens], &reference[..400 / tokens * tokens]);
        for estimator in [token_kl_k1, token_kl_k2, token_kl_k3::<f64>] {
            let mut together = vec![f64::NAN; 400 / tokens];
            estimator(policy, reference, &mut together).unwrap();
            for ((policy, reference), found) in policy.chunks(tokens).zip(reference.chunks(tokens)).zip(together) {
                let mut alone = [f64::NAN];
                estimator(policy, reference, &mut alone).unwrap();
                prop_assert_eq!(alone[0], found);
            }
        }
    }
}

type Estimator<T> = fn(&[T], &[T], &mut [T]) -> Result<(), Error>;

fn k1(difference: f64) -> f64 {
    -difference
}

fn k2(difference: f64) -> f64 {
    difference * difference / 2.0
}

fn k3(difference: f64) -> f64 {
    difference.exp() - 1.0 - difference
}

/// Each sequence's sum is that of the term over ln(q/p).
fn agree<T: LogProbability>(
    estimator: Estimator<T>,
    term: fn(f64) -> f64,
    policy: &[T],
    reference: &[T],
    sequences: usize,
    tolerance: f64,
) -> Result<(), TestCaseError> {
    let mut sums = vec![policy[0]; sequences];
    estimator(policy, reference, &mut sums).unwrap();
    let tokens = policy.len() / sequences;
    for (sequence, &sum) in sums.iter().enumerate() {
        let of = sequence * tokens..(sequence + 1) * tokens;
        let pairs = policy[of.clone()].iter().zip(&reference[of]);
        let expected: f64 = pairs.map(|(&p, &q)| term(q.into() - p.into())).sum();
        let sum: f64 = sum.into();
        prop_assert!(near(sum, expected, tolerance), "{} and not {}", sum, expected);
    }
    Ok(())
}

#[test]
fn a_small_divergence_keeps_its_digits_in_double_precision() {
    let (policy, reference) = ([-1.0_f64; 3], [-1.0 + 1e-9; 3]);
    let mut sum = [0.0];
    token_kl_k3(&policy, &reference, &mut sum).unwrap();
    let difference = reference[0] - policy[0];
    let expected = 3.0 * difference * difference * (0.5 + difference / 6.0);
    assert!((sum[0] - expected).abs() <= 1e-15 * expected, "{} and not {expected}", sum[0]);
}

#[test]
fn whole_blocks_have_the_bytes_of_tokens_that_fill_none() {
    // The last of 256 tokens adds nothing, and 255 are less than a block.
    for unusual in [0.5_f32, 86.5, 89.0, -86.5, -200.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
        let policy: Vec<f32> =
            (0..256).map(|token| if token == 255 { 0.0 } else { -(token as f32) / 90.0 }).collect();
        let mut reference: Vec<f32> = policy.iter().map(|policy| policy * 0.7).collect();
        reference[77] = policy[77] + unusual;
        let sum = |tokens: usize| {
            let mut sum = [0.0];
            token_kl_k3(&policy[..tokens], &reference[..tokens], &mut sum).unwrap();
            sum[0].to_bits()
        };
        assert_eq!(sum(256), sum(255), "{unusual}");
    }
}

#[test]
fn an_unusual_token_leaves_the_others_of_its_block_as_they_are() {
    let others = [(-0.5_f64, -1.0_f64); 63];
    let sums = |unusual: Option<(f64, f64)>| {
        let (policy, reference): (Vec<f64>, Vec<f64>) = others.into_iter().chain(unusual).unzip();
        let mut k3 = [0.0];
        token_kl_k3(&policy, &reference, &mut k3).unwrap();
        [token_kl(&policy, &reference).unwrap(), k3[0]]
    };
    let [exact, k3_alone] = sums(None);
    // e^-800 is zero, and so is what such a token adds. Its estimator is a line, or infinite.
    assert_eq!(sums(Some((-800.0, -800.0))), [exact, k3_alone]);
    assert_eq!(sums(Some((0.0, -800.0)))[1], k3_alone + 799.0);
    assert_eq!(sums(Some((-800.0, 0.0)))[1], f64::INFINITY);
    assert!(sums(Some((f64::NAN, 0.0))).iter().all(|sum| sum.is_nan()));
}

#[test]
fn no_sequence_is_no_error_and_a_sequence_without_tokens_is_one() {
    let none: &[f64] = &[];
    for estimator in [token_kl_k1, token_kl_k2, token_kl_k3] {
        estimator(none, none, &mut []).unwrap();
        let expected = Error::Len { what: "policy", expected: 2, found: 0 };
        assert_eq!(estimator(none, none, &mut [0.0; 2]).unwrap_err(), expected);
        let expected = Error::Len { what: "reference", expected: 2, found: 1 };
        assert_eq!(estimator(&[0.0; 2], &[0.0], &mut [0.0]).unwrap_err(), expected);
    }
}

#[test]
fn equal_rewards_have_no_advantage() {
    let mut advantages = [f64::NAN; 4];
    group_advantages(&[0.3; 4], 4, 0.0, &mut advantages).unwrap();
    assert_eq!(advantages, [0.0; 4]);
    // The mean of these is not one of them: it is rounded.
    for size in 1..40 {
        for epsilon in [0.0, 1e-8] {
            let mut advantages = vec![f64::NAN; 8 * size];
            group_advantages(&vec![0.1; 8 * size], size, epsilon, &mut advantages).unwrap();
            assert!(
                advantages.iter().all(|&advantage| advantage == 0.0),
                "groups of {size}, epsilon {epsilon}"
            );
        }
    }
}

#[test]
fn equal_rewards_leave_the_groups_beside_them_as_they_are() {
    let mut rewards = [0.3; 16];
    rewards[4..8].copy_from_slice(&[1.0, 3.0, 1.0, 3.0]);
    for epsilon in [0.0, f64::MIN_POSITIVE / 8.0, f64::MIN_POSITIVE] {
        let mut advantages = [f64::NAN; 16];
        group_advantages(&rewards, 4, epsilon, &mut advantages).unwrap();
        let mut expected = [0.0; 16];
        expected[4..8].copy_from_slice(&[-1.0, 1.0, -1.0, 1.0]);
        assert_eq!(advantages, expected, "epsilon {epsilon}");
    }
}

#[test]
fn a_reward_that_is_no_number_stays_within_its_group() {
    for size in [2, 4] {
        let mut rewards = [1.0, 3.0, 1.0, 3.0].repeat(4);
        rewards[0] = f64::NAN;
        let mut advantages = [0.0; 16];
        group_advantages(&rewards, size, 0.0, &mut advantages).unwrap();
        assert_eq!(advantages[size..], [-1.0, 1.0, -1.0, 1.0].repeat(4)[size..]);
        assert!(advantages[..size].iter().all(|advantage| advantage.is_nan()));
    }
}

#[test]
fn arrays_that_do_not_fit_are_named() {
    let refused = |size: usize, advantages: usize| {
        group_advantages(&[0.0; 6], size, 0.0, &mut vec![0.0; advantages]).unwrap_err()
    };
    assert_eq!(refused(4, 6), Error::Len { what: "rewards", expected: 8, found: 6 });
    assert_eq!(refused(0, 6), Error::Rows { what: "a group", least: 1, found: 0 });
    assert_eq!(refused(3, 5), Error::Len { what: "advantages", expected: 6, found: 5 });
    assert_eq!(
        token_kl(&[0.0; 3], &[0.0; 2]).unwrap_err(),
        Error::Len { what: "reference", expected: 3, found: 2 }
    );
    assert_eq!(
        token_kl_k3(&[0.0_f32; 5], &[0.0; 5], &mut [0.0; 2]).unwrap_err(),
        Error::Len { what: "policy", expected: 4, found: 5 }
    );
}
