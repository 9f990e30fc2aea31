//! PPO and SAC: the same bytes whatever the processor offers, and on however many threads.

mod common;

use std::ops::RangeInclusive;

use common::{Data, SplitMix};
use torchforge_nn::{
    ActionRange, Activation, AdamOptions, CategoricalPolicy, DensePpo, DenseSac, Mlp, PolicyNoise,
    PpoLossOptions, PpoMinibatch, PpoUpdate, SacLossOptions, SacMinibatch, SacNetworks, SacUpdate, SimdPath,
    TensorReader, TensorWriter, fill_standard_normal,
};

fn bits<'a>(values: impl IntoIterator<Item = &'a f32>) -> Vec<u32> {
    values.into_iter().map(|value| value.to_bits()).collect()
}

/// All figures of a PPO after updates on fresh minibatches.
fn ppo(path: SimdPath, threads: usize, hidden: usize, batch: usize, updates: usize) -> Vec<u32> {
    let mut rng = SplitMix(3);
    let mut network = |outputs, gain| {
        let sizes = [4, hidden, hidden, outputs];
        Mlp::orthogonal(&sizes, Activation::Tanh, &[2_f64.sqrt(), 2_f64.sqrt(), gain], &mut rng).unwrap()
    };
    let (actor, critic) = (network(3, 0.01), network(1, 1.0));
    let adam = AdamOptions { epsilon: 1e-5, ..AdamOptions::default() };
    let mut ppo = DensePpo::new(actor, critic, 5, batch, PpoLossOptions::default(), adam)
        .unwrap()
        .on_path(path)
        .unwrap()
        .on_threads(threads)
        .unwrap();
    let mut found = Vec::new();
    for update in 0..updates {
        let data = Data::new(&[4, 3], batch, &mut rng);
        let evaluation = ppo.evaluate(&data.observations[..5 * 4]).unwrap();
        found.extend(bits(evaluation.probabilities));
        found.extend(bits(evaluation.log_probabilities));
        let mut values = [0.0; 5];
        ppo.values(&data.observations[..5 * 4], &mut values).unwrap();
        found.extend(bits(&values));
        let log_probabilities: Vec<f32> = data.rewards.iter().map(|x| -1.1 + 0.3 * x).collect();
        let minibatch = PpoMinibatch {
            observations: &data.observations,
            actions: &data.actions,
            log_probabilities: &log_probabilities,
            advantages: &data.next_observations[..batch],
            returns: &data.next_observations[batch..2 * batch],
            values: &data.next_observations[2 * batch..3 * batch],
        };
        let loss = ppo.update(minibatch, 1e-3 / (update + 1) as f64).unwrap();
        found.extend(bits(&[loss.total, loss.policy, loss.value, loss.entropy, loss.gradient_norm]));
    }
    found.extend(bits(ppo.actor_gradients().iter().chain(ppo.critic_gradients())));
    found.extend(bits(ppo.actor().parameters().iter().chain(ppo.critic().parameters())));
    found
}

/// All figures of a SAC after updates on fresh minibatches.
fn sac(path: SimdPath, threads: usize, hidden: usize, batch: usize, updates: usize) -> Vec<u32> {
    let (observation_len, action_len) = (3, 2);
    let mut rng = SplitMix(5);
    let critic_sizes = [observation_len + action_len, hidden, hidden, 1];
    let mut critic = || Mlp::new(&critic_sizes, &mut rng).unwrap();
    let (critics, targets) = ([critic(), critic()], [critic(), critic()]);
    let actor = Mlp::new(&[observation_len, hidden, hidden, 2 * action_len], &mut rng).unwrap();
    let networks = SacNetworks { actor, critics, targets, log_alpha: 0.1 };
    let range = ActionRange { bias: vec![0.5, 0.0], scale: vec![2.0, 1.0] };
    let mut sac = DenseSac::new(networks, range, batch, SacLossOptions::default())
        .unwrap()
        .on_path(path)
        .unwrap()
        .on_threads(threads)
        .unwrap();
    let mut normal = |len| {
        let mut numbers = vec![0.0; len];
        fill_standard_normal(&mut rng, &mut numbers);
        numbers
    };
    let mut found = Vec::new();
    for update in 0..updates {
        let (observations, next_observations) =
            (normal(batch * observation_len), normal(batch * observation_len));
        let (actions, rewards) = (normal(batch * action_len), normal(batch));
        let terminations: Vec<f32> = (0..batch).map(|row| f32::from(u8::from(row % 7 == 3))).collect();
        let minibatch = SacMinibatch {
            observations: &observations,
            next_observations: &next_observations,
            actions: &actions,
            rewards: &rewards,
            terminations: &terminations,
        };
        let loss = sac.update_critics(minibatch, &normal(batch * action_len)).unwrap();
        found.extend(bits([loss.sum].iter().chain(&loss.each).chain(&loss.values)));
        if update % 2 == 0 {
            let (policy, temperature) = (normal(2 * batch * action_len), normal(2 * batch * action_len));
            let noise = PolicyNoise { policy: &policy, temperature: &temperature };
            let loss = sac.update_policy(&observations, noise).unwrap();
            found.extend(bits(&[loss.policy, loss.temperature, loss.alpha]));
        }
        sac.update_targets();
        let mut action = [0.0; 2];
        sac.act(&observations[..observation_len], &normal(action_len), &mut action).unwrap();
        found.extend(bits(&action));
    }
    let mut tensors = TensorWriter::new();
    sac.write("", &mut tensors);
    sac.write_actor_gradients("gradient.", &mut tensors);
    sac.write_critic_gradients("gradient.", &mut tensors);
    found.extend(tensors.into_bytes().iter().map(|&byte| u32::from(byte)));
    found
}

fn same_on_every_path(
    what: &str,
    threads: RangeInclusive<usize>,
    figures: impl Fn(SimdPath, usize) -> Vec<u32>,
) {
    let expected = figures(SimdPath::Portable, 1);
    assert!(expected.iter().all(|&bits| !f32::from_bits(bits).is_nan()), "{what}: a NaN");
    for path in SimdPath::ALL.into_iter().filter(|path| path.is_available()) {
        for threads in threads.clone() {
            assert!(figures(path, threads) == expected, "{path} on {threads} threads differs: {what}");
        }
    }
}

#[test]
fn updates_of_ppo_give_the_same_bytes_on_every_path() {
    same_on_every_path("PPO as trained", 1..=2, |path, threads| ppo(path, threads, 64, 128, 200));
    same_on_every_path("PPO of odd sizes", 1..=4, |path, threads| ppo(path, threads, 19, 37, 50));
}

#[test]
fn an_observation_alone_has_the_policy_and_the_value_that_it_has_beside_others() {
    let mut rng = SplitMix(4);
    let mut network = |outputs| Mlp::new(&[4, 19, 19, outputs], &mut rng).unwrap();
    let (actor, critic) = (network(3), network(1));
    let (options, adam) = (PpoLossOptions::default(), AdamOptions::default());
    let mut ppo = DensePpo::new(actor, critic, 21, 2, options, adam).unwrap();
    let data = Data::new(&[4, 3], 21, &mut rng);
    let mut figures = |observations: &[f32]| {
        let mut values = vec![f32::NAN; observations.len() / 4];
        ppo.values(observations, &mut values).unwrap();
        let found = ppo.evaluate(observations).unwrap();
        [found.probabilities, found.log_probabilities, &values].map(bits)
    };
    let [probabilities, log_probabilities, values] = figures(&data.observations);
    for rows in [1, 2, 17] {
        for (block, observations) in data.observations.chunks_exact(rows * 4).enumerate() {
            let policy = block * rows * 3..(block + 1) * rows * 3;
            let expected = [
                &probabilities[policy.clone()],
                &log_probabilities[policy],
                &values[block * rows..(block + 1) * rows],
            ];
            assert_eq!(figures(observations), expected, "rows from {block} x {rows} on");
        }
    }
}

#[test]
fn updates_of_sac_give_the_same_bytes_on_every_path() {
    // The portable path has no fused multiply-add in hardware on amd64: twenty updates take it seconds.
    same_on_every_path("SAC as trained", 1..=2, |path, threads| sac(path, threads, 256, 256, 20));
    same_on_every_path("SAC of odd sizes", 1..=4, |path, threads| sac(path, threads, 21, 37, 20));
}

#[test]
fn updates_give_the_same_bytes_on_any_number_of_threads() {
    // The products of SAC's actor are large enough to be divided, and their rows not by 2, 3 or 4.
    same_on_every_path("PPO", 1..=4, |path, threads| ppo(path, threads, 151, 96, 2));
    same_on_every_path("SAC", 1..=4, |path, threads| sac(path, threads, 151, 96, 1));
}

#[test]
fn orthogonal_weights_are_as_long_as_their_gain() {
    let network =
        Mlp::orthogonal(&[4, 64, 2], Activation::Tanh, &[2_f64.sqrt(), 0.01], &mut SplitMix(1)).unwrap();
    for ((weight, outputs, inputs), gain) in network.weights().zip([2_f64.sqrt(), 0.01]) {
        let (short, at): (usize, &dyn Fn(usize, usize) -> f64) = if outputs <= inputs {
            (outputs, &|row, k| f64::from(weight[row * inputs + k]))
        } else {
            (inputs, &|column, k| f64::from(weight[k * inputs + column]))
        };
        for a in 0..short {
            for b in 0..short {
                let product: f64 = (0..outputs.max(inputs)).map(|k| at(a, k) * at(b, k)).sum();
                let expected = if a == b { gain * gain } else { 0.0 };
                assert!((product - expected).abs() < 1e-6 * gain * gain, "{a}, {b}: {product} {expected}");
            }
        }
    }
}

#[test]
fn standard_normal_numbers_have_their_moments() {
    let mut numbers = vec![0.0; 200_001];
    fill_standard_normal(&mut SplitMix(8), &mut numbers);
    let moment =
        |power| numbers.iter().map(|&x| f64::from(x).powi(power)).sum::<f64>() / numbers.len() as f64;
    // Standard errors: 0.0022, 0.0032, 0.0087, 0.022.
    for (power, expected, error) in [(1, 0.0, 0.01), (2, 1.0, 0.015), (3, 0.0, 0.04), (4, 3.0, 0.1)] {
        assert!((moment(power) - expected).abs() < error, "moment {power}: {}", moment(power));
    }
}

#[test]
fn networks_of_sac_are_written_under_the_names_they_are_read_by() {
    let mut rng = SplitMix(2);
    let mut critic = || Mlp::new(&[4, 8, 8, 1], &mut rng).unwrap();
    let (critics, targets) = ([critic(), critic()], [critic(), critic()]);
    let actor = Mlp::new(&[3, 8, 8, 2], &mut rng).unwrap();
    let networks = SacNetworks { actor, critics, targets, log_alpha: -0.25 };
    let range = ActionRange { bias: vec![0.0], scale: vec![2.0] };
    let write = |networks| {
        let sac = DenseSac::new(networks, range.clone(), 4, SacLossOptions::default()).unwrap();
        let mut tensors = TensorWriter::new();
        sac.write("", &mut tensors);
        tensors.into_bytes()
    };
    let bytes = write(networks);
    let tensors = TensorReader::new(&bytes).unwrap();
    assert_eq!(tensors.shape("actor.fc_logstd.weight").unwrap(), [1, 8]);
    assert_eq!(tensors.shape("qf2_target.fc3.bias").unwrap(), [1]);
    assert!(write(SacNetworks::read(&[3, 8, 8, 2], &[4, 8, 8, 1], &tensors).unwrap()) == bytes);
}
