//! What n-step sampling promises, against a reference that walks a list of all steps ever made.

use proptest::prelude::*;
use torchforge_data::{Error, NStep, NStepBatch, ReplayBuffer, Transition};
use torchforge_env::Pcg64;

/// One step of one environment; its observation is its number, its next observation the number and a half.
#[derive(Debug, Clone, Copy)]
struct Step {
    reward: f32,
    terminated: bool,
    truncated: bool,
}

fn steps(count: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = Vec<Step>> {
    let step = (-10.0_f32..10.0, prop::bool::weighted(0.15), prop::bool::weighted(0.1));
    prop::collection::vec(
        step.prop_map(|(reward, terminated, truncated)| Step { reward, terminated, truncated }),
        count,
    )
}

fn filled(capacity: usize, steps: &[Step]) -> ReplayBuffer<u32> {
    let mut buffer = ReplayBuffer::new(capacity, 1, 1).unwrap();
    for (number, step) in steps.iter().enumerate() {
        buffer
            .push(Transition {
                observation: &[number as f32],
                next_observation: &[number as f32 + 0.5],
                action: &[number as u32],
                reward: step.reward,
                terminated: step.terminated,
                truncated: step.truncated,
            })
            .unwrap();
    }
    buffer
}

/// The steps of the window that begins with step `first`.
fn window(steps: &[Step], first: usize, n: usize, environments: usize) -> Vec<usize> {
    let mut window = vec![first];
    while window.len() < n {
        let last = window[window.len() - 1];
        let ended = steps[last].terminated || steps[last].truncated;
        if ended || last + environments >= steps.len() {
            break;
        }
        window.push(last + environments);
    }
    window
}

proptest! {
    #[test]
    fn a_window_is_the_discounted_sum_of_its_rewards_and_ends_as_its_last_step_does(
        steps in steps(1..60),
        capacity in 1_usize..40,
        n in 1_usize..8,
        environments in 1_usize..5,
        gamma in 0.0_f64..=1.0,
        seed in any::<u64>(),
    ) {
        let buffer = filled(capacity, &steps);
        let n_step = NStep::new(n, gamma).unwrap().interleaved(environments).unwrap();
        let mut batch = NStepBatch::new(64, 1, 1).unwrap();
        buffer.sample_n_step(&mut Pcg64::new(seed), n_step, &mut batch).unwrap();
        let sampled = batch.transitions();
        for row in 0..64 {
            let first = sampled.actions()[row] as usize;
            prop_assert!(first < steps.len() && first + capacity >= steps.len(), "step {first} was replaced");
            let window = window(&steps, first, n, environments);
            let last = window[window.len() - 1];
            let sum: f64 = window
                .iter()
                .enumerate()
                .map(|(power, &step)| gamma.powi(power as i32) * f64::from(steps[step].reward))
                .sum();
            prop_assert!((f64::from(sampled.rewards()[row]) - sum).abs() <= 1e-5);
            prop_assert!((f64::from(batch.discounts()[row]) - gamma.powi(window.len() as i32)).abs() <= 1e-7);
            prop_assert_eq!(sampled.observations()[row], first as f32);
            prop_assert_eq!(sampled.next_observations()[row], last as f32 + 0.5);
            prop_assert_eq!(sampled.terminations()[row] > 0.0, steps[last].terminated);
            prop_assert_eq!(sampled.truncations()[row] > 0.0, steps[last].truncated);
        }
    }

    #[test]
    fn windows_of_one_step_are_what_plain_sampling_draws(steps in steps(1..60), seed in any::<u64>()) {
        let buffer = filled(16, &steps);
        let mut windows = NStepBatch::new(32, 1, 1).unwrap();
        buffer.sample_n_step(&mut Pcg64::new(seed), NStep::new(1, 0.5).unwrap(), &mut windows).unwrap();
        let mut plain = torchforge_data::Batch::new(32, 1, 1).unwrap();
        buffer.sample(&mut Pcg64::new(seed), &mut plain).unwrap();
        prop_assert_eq!(windows.transitions().actions(), plain.actions());
        prop_assert_eq!(windows.transitions().rewards(), plain.rewards());
        prop_assert_eq!(windows.transitions().next_observations(), plain.next_observations());
        prop_assert!(windows.discounts().iter().all(|&discount| discount == 0.5));
    }
}

#[test]
fn three_steps_of_an_episode_are_computed_by_hand() {
    let step = |reward, terminated| Step { reward, terminated, truncated: false };
    let buffer = filled(8, &[step(1.0, false), step(2.0, false), step(4.0, true), step(8.0, false)]);
    let mut batch = NStepBatch::new(64, 1, 1).unwrap();
    buffer.sample_n_step(&mut Pcg64::new(5), NStep::new(3, 0.5).unwrap(), &mut batch).unwrap();
    for row in 0..64 {
        let (reward, discount) = (batch.transitions().rewards()[row], batch.discounts()[row]);
        let expected = match batch.transitions().actions()[row] {
            0 => (1.0 + 0.5 * 2.0 + 0.25 * 4.0, 0.125),
            1 => (2.0 + 0.5 * 4.0, 0.25),
            2 => (4.0, 0.5),
            _ => (8.0, 0.5),
        };
        assert_eq!((reward, discount), expected);
    }
}

#[test]
fn options_out_of_range_are_refused() {
    assert_eq!(NStep::new(0, 0.9), Err(Error::Zero { what: "steps" }));
    assert!(matches!(NStep::new(1, 1.5), Err(Error::Option { what: "gamma", .. })));
    assert!(matches!(NStep::new(1, f64::NAN), Err(Error::Option { what: "gamma", .. })));
    assert_eq!(NStep::new(1, 0.9).unwrap().interleaved(0), Err(Error::Zero { what: "environments" }));
}
