//! Advantages against the plain loop.

use proptest::prelude::*;
use torchforge_rl::{GaeOptions, Trajectory, gae, gae_batched};

const OPTIONS: GaeOptions = GaeOptions { gamma: 0.99, lambda: 0.95 };

/// The formula as it is written, from the last step to the first.
fn plain_loop(trajectory: Trajectory<'_>, last_value: f64) -> Vec<f64> {
    let mut advantages = vec![0.0; trajectory.rewards.len()];
    let (mut advantage, mut next_value) = (0.0, last_value);
    for t in (0..advantages.len()).rev() {
        let alive = 1.0 - trajectory.dones[t];
        let delta = trajectory.rewards[t] + OPTIONS.gamma * next_value * alive - trajectory.values[t];
        advantage = delta + OPTIONS.gamma * OPTIONS.lambda * alive * advantage;
        advantages[t] = advantage;
        next_value = trajectory.values[t];
    }
    advantages
}

fn steps(len: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = Vec<(f64, f64, bool)>> {
    prop::collection::vec((-3.0..3.0_f64, -3.0..3.0_f64, prop::bool::weighted(0.05)), len)
}

fn arrays(steps: &[(f64, f64, bool)]) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let rewards = steps.iter().map(|step| step.0).collect();
    let values = steps.iter().map(|step| step.1).collect();
    let dones = steps.iter().map(|step| f64::from(u8::from(step.2))).collect();
    (rewards, values, dones)
}

proptest! {
    #[test]
    fn one_trajectory_is_the_plain_loop(steps in steps(0..300), last_value in -3.0..3.0_f64) {
        let (rewards, values, dones) = arrays(&steps);
        let trajectory = Trajectory { rewards: &rewards, values: &values, dones: &dones };
        let (mut advantages, mut returns) = (vec![f64::NAN; steps.len()], vec![f64::NAN; steps.len()]);
        gae(trajectory, last_value, OPTIONS, &mut advantages, &mut returns).unwrap();

        for (t, exact) in plain_loop(trajectory, last_value).into_iter().enumerate() {
            prop_assert!((advantages[t] - exact).abs() <= 1e-12 + 1e-12 * exact.abs(), "step {}", t);
            prop_assert_eq!(returns[t], advantages[t] + values[t]);
        }
    }

    #[test]
    fn a_row_of_a_batch_has_the_bytes_that_it_has_alone(
        (length, steps) in (0_usize..40).prop_flat_map(|length| (Just(length), steps(5 * length))),
        last_values in prop::array::uniform5(-3.0..3.0_f64),
    ) {
        let (rewards, values, dones) = arrays(&steps);
        let batch = Trajectory { rewards: &rewards, values: &values, dones: &dones };
        let (mut advantages, mut returns) = (vec![f64::NAN; 5 * length], vec![f64::NAN; 5 * length]);
        gae_batched(batch, &last_values, OPTIONS, &mut advantages, &mut returns).unwrap();

        for (row, &last_value) in last_values.iter().enumerate() {
            let steps = row * length..(row + 1) * length;
            let alone = Trajectory {
                rewards: &rewards[steps.clone()],
                values: &values[steps.clone()],
                dones: &dones[steps.clone()],
            };
            let (mut a, mut r) = (vec![0.0; length], vec![0.0; length]);
            gae(alone, last_value, OPTIONS, &mut a, &mut r).unwrap();
            prop_assert_eq!((&advantages[steps.clone()], &returns[steps]), (&a[..], &r[..]));
        }
    }
}

#[test]
fn arrays_that_do_not_fit_are_named() {
    let (four, three) = ([0.0; 4], [0.0; 3]);
    let trajectory = Trajectory { rewards: &four, values: &three, dones: &four };
    let error = gae(trajectory, 0.0, OPTIONS, &mut [0.0; 4], &mut [0.0; 4]).unwrap_err();
    assert_eq!((error.what, error.expected, error.found), ("values", 4, 3));

    let trajectory = Trajectory { rewards: &four, values: &four, dones: &four };
    let error = gae_batched(trajectory, &three, OPTIONS, &mut [0.0; 4], &mut [0.0; 4]).unwrap_err();
    assert_eq!(error.what, "rewards");
}
