//! An update of DQN from windows: what each counts, how far it reaches, and what is answered of it.

mod common;

use common::{Data, SplitMix};
use torchforge_nn::{AdamOptions, DenseDqn, DqnUpdate, Error, Mlp, WindowedDqnUpdate, Windows};

const BATCH: usize = 37;
const GAMMA: f32 = 0.99;

/// A network whose target is another one.
fn dqn() -> DenseDqn {
    let mut rng = SplitMix(1);
    let mut network = || Mlp::new(&[4, 17, 2], &mut rng).unwrap();
    let (online, target) = (network(), network());
    DenseDqn::from_networks(online, target, BATCH, GAMMA.into(), AdamOptions::default()).unwrap()
}

fn update(dqn: &mut DenseDqn, data: &Data, discounts: &[f32], weights: &[f32]) -> (f32, Vec<f32>) {
    let mut errors = vec![0.0; BATCH];
    let windows = Windows { discounts, weights, errors: &mut errors };
    let loss = dqn.update_windows(data.minibatch(), windows).unwrap();
    (loss, errors)
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn windows_of_one_step_that_count_alike_are_an_update_to_the_byte() {
    let (mut windows, mut steps) = (dqn(), dqn());
    assert_eq!(windows.gamma(), GAMMA);
    for seed in 0..20 {
        let data = Data::new(&[4, 2], BATCH, &mut SplitMix(seed));
        let (loss, _) = update(&mut windows, &data, &[GAMMA; BATCH], &[1.0; BATCH]);
        assert_eq!(loss.to_bits(), steps.update(data.minibatch()).unwrap().to_bits());
        assert_eq!(bits(windows.online().parameters()), bits(steps.online().parameters()));
    }
}

#[test]
fn errors_are_of_each_windows_own_discount_and_the_loss_is_their_weighed_mean() {
    let mut rng = SplitMix(2);
    let data = Data::new(&[4, 2], BATCH, &mut rng);
    let discounts: Vec<f32> = (0..BATCH).map(|row| GAMMA.powi(1 + row as i32 % 3)).collect();
    let weights: Vec<f32> = (0..BATCH).map(|row| row as f32 / BATCH as f32).collect();
    let (loss, errors) = update(&mut dqn(), &data, &discounts, &weights);

    // A copied target's values are those of the online network.
    let (mut online, mut target) = (dqn(), dqn());
    let values = |network: &mut DenseDqn, row: &[f32]| network.q_values(row).unwrap().to_vec();
    let (_, undiscounted) = update(&mut target, &data, &[0.0; BATCH], &weights);
    for (row, observation) in data.observations.chunks(4).enumerate() {
        let value = values(&mut online, observation)[data.actions[row] as usize];
        assert!((undiscounted[row] - (value - data.rewards[row])).abs() < 1e-6, "row {row}");
        // What the discount adds is in proportion to it.
        let (_, whole) = update(&mut dqn(), &data, &[1.0; BATCH], &weights);
        let part = discounts[row] * (whole[row] - undiscounted[row]);
        assert!((errors[row] - undiscounted[row] - part).abs() < 1e-6, "row {row}");
        assert_eq!(whole[row] == undiscounted[row], data.terminations[row] == 1.0, "row {row}");
    }
    let weighed = errors.iter().zip(&weights).map(|(error, weight)| weight * error * error);
    assert!((loss - weighed.sum::<f32>() / BATCH as f32).abs() < 1e-5 * loss);
}

#[test]
fn a_weight_of_two_is_a_transition_that_comes_twice() {
    let once = Data::new(&[4, 2], BATCH, &mut SplitMix(3));
    let mut twice = Data::new(&[4, 2], BATCH, &mut SplitMix(3));
    // The second row becomes a copy of the first.
    twice.observations.copy_within(..4, 4);
    twice.next_observations.copy_within(..4, 4);
    (twice.actions[1], twice.rewards[1]) = (twice.actions[0], twice.rewards[0]);
    let mut weights = [1.0; BATCH];
    (weights[0], weights[1]) = (2.0, 0.0);

    let (mut weighed, mut copied) = (dqn(), dqn());
    update(&mut weighed, &once, &[GAMMA; BATCH], &weights);
    update(&mut copied, &twice, &[GAMMA; BATCH], &[1.0; BATCH]);
    for (weighed, copied) in weighed.gradients().iter().zip(copied.gradients()) {
        assert!((weighed - copied).abs() < 1e-6, "{weighed} {copied}");
    }
}

#[test]
fn a_list_of_another_length_is_named() {
    let data = Data::new(&[4, 2], BATCH, &mut SplitMix(4));
    let (whole, short) = ([1.0; BATCH], [1.0; BATCH - 1]);
    for (discounts, weights, told) in [(&short[..], &whole[..], "discounts"), (&whole, &short, "weights")] {
        let windows = Windows { discounts, weights, errors: &mut [0.0; BATCH] };
        let refused = dqn().update_windows(data.minibatch(), windows).unwrap_err();
        assert!(matches!(refused, Error::Len { what, .. } if what == told), "{refused}");
    }
}
