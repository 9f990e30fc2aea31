//! An update in two halves, gradients out and a step with gradients that are given, is the whole update to the byte.

mod common;

use common::{Data, SplitMix};
use torchforge_nn::{
    ActionRange, Activation, AdamOptions, DenseDqn, DensePpo, DenseSac, DqnUpdate, Error, Mlp, PolicyNoise,
    PpoLossOptions, PpoMinibatch, PpoUpdate, SacLossOptions, SacMinibatch, SacNetworks, SacUpdate,
    TensorWriter, fill_standard_normal,
};

const BATCH: usize = 37;
const UPDATES: u64 = 20;

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

fn dqn() -> DenseDqn {
    DenseDqn::new(&[4, 17, 9, 2], BATCH, 0.99, AdamOptions::default(), &mut SplitMix(1)).unwrap()
}

#[test]
fn an_update_of_dqn_is_its_two_halves() {
    let (mut whole, mut halves) = (dqn(), dqn());
    for seed in 0..UPDATES {
        let data = Data::new(&[4, 2], BATCH, &mut SplitMix(seed));
        let mean = halves.mean_value(data.minibatch()).unwrap();
        let loss = halves.compute_gradients(data.minibatch()).unwrap();
        assert_eq!(halves.mean_value(data.minibatch()).unwrap(), mean, "the first half moves nothing");
        let gradients = halves.gradients().to_vec();
        halves.apply_gradients(&gradients).unwrap();
        assert_eq!(loss.to_bits(), whole.update(data.minibatch()).unwrap().to_bits());
        assert_eq!(bits(whole.gradients()), bits(&gradients));
        assert_eq!(bits(whole.online().parameters()), bits(halves.online().parameters()));
    }
}

#[test]
fn the_mean_value_is_that_of_the_actions_that_were_taken() {
    let mut dqn = dqn();
    let data = Data::new(&[4, 2], BATCH, &mut SplitMix(3));
    let values = data.observations.chunks(4).zip(&data.actions);
    let sum: f64 = values.map(|(row, &action)| f64::from(dqn.q_values(row).unwrap()[action as usize])).sum();
    let mean = dqn.mean_value(data.minibatch()).unwrap();
    assert!((f64::from(mean) - sum / BATCH as f64).abs() < 1e-6, "{mean} {sum}");
}

fn ppo() -> DensePpo {
    let mut rng = SplitMix(2);
    let mut network = |outputs| {
        Mlp::orthogonal(&[4, 16, outputs], Activation::Tanh, &[2_f64.sqrt(), 1.0], &mut rng).unwrap()
    };
    let (actor, critic) = (network(3), network(1));
    DensePpo::new(actor, critic, 1, BATCH, PpoLossOptions::default(), AdamOptions::default()).unwrap()
}

#[test]
fn an_update_of_ppo_is_its_two_halves_and_the_second_cuts() {
    let (mut whole, mut halves) = (ppo(), ppo());
    for seed in 0..UPDATES {
        let data = Data::new(&[4, 3], BATCH, &mut SplitMix(seed));
        let returns: Vec<f32> = data.next_observations[BATCH..2 * BATCH].iter().map(|x| 5.0 + x).collect();
        let log_probabilities: Vec<f32> = data.rewards.iter().map(|x| -1.1 + 0.3 * x).collect();
        let minibatch = PpoMinibatch {
            observations: &data.observations,
            actions: &data.actions,
            log_probabilities: &log_probabilities,
            advantages: &data.next_observations[..BATCH],
            returns: &returns,
            values: &data.next_observations[2 * BATCH..3 * BATCH],
        };
        let learning_rate = 1e-3 / (seed + 1) as f64;
        let found = halves.compute_gradients(minibatch).unwrap();
        let (actor, critic) = (halves.actor_gradients().to_vec(), halves.critic_gradients().to_vec());
        let length = actor.iter().chain(&critic).map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt();
        assert!(length > 0.5, "what is not cut shows no cutting");
        assert!((f64::from(found.gradient_norm) - length).abs() < 1e-5 * length, "{found:?} {length}");
        let norm = halves.apply_gradients(&actor, &critic, learning_rate).unwrap();
        assert_eq!(norm.to_bits(), found.gradient_norm.to_bits());
        assert_eq!(found, whole.update(minibatch, learning_rate).unwrap());
        assert_eq!(bits(whole.actor_gradients()), bits(halves.actor_gradients()), "cut alike");
        assert_eq!(bits(whole.actor().parameters()), bits(halves.actor().parameters()));
        assert_eq!(bits(whole.critic().parameters()), bits(halves.critic().parameters()));
    }
}

fn sac() -> DenseSac {
    let mut rng = SplitMix(5);
    let mut critic = || Mlp::new(&[5, 16, 1], &mut rng).unwrap();
    let (critics, targets) = ([critic(), critic()], [critic(), critic()]);
    let actor = Mlp::new(&[3, 16, 4], &mut rng).unwrap();
    let networks = SacNetworks { actor, critics, targets, log_alpha: 0.1 };
    let range = ActionRange { bias: vec![0.5, 0.0], scale: vec![2.0, 1.0] };
    DenseSac::new(networks, range, BATCH, SacLossOptions::default()).unwrap()
}

fn bytes(sac: &DenseSac) -> Vec<u8> {
    let mut tensors = TensorWriter::new();
    sac.write("", &mut tensors);
    tensors.into_bytes()
}

#[test]
fn an_update_of_sac_is_its_halves_critics_policy_and_temperature() {
    let (mut whole, mut halves) = (sac(), sac());
    for seed in 0..UPDATES {
        let mut rng = SplitMix(seed);
        let mut normal = |len| {
            let mut numbers = vec![0.0; len];
            fill_standard_normal(&mut rng, &mut numbers);
            numbers
        };
        let (observations, next_observations) = (normal(3 * BATCH), normal(3 * BATCH));
        let (actions, rewards, noise) = (normal(2 * BATCH), normal(BATCH), normal(2 * BATCH));
        let minibatch = SacMinibatch {
            observations: &observations,
            next_observations: &next_observations,
            actions: &actions,
            rewards: &rewards,
            terminations: &[0.0; BATCH],
        };
        let loss = halves.compute_critic_gradients(minibatch, &noise).unwrap();
        let [one, other] = halves.critic_gradients().map(<[f32]>::to_vec);
        halves.apply_critic_gradients([&one, &other]).unwrap();
        let expected = whole.update_critics(minibatch, &noise).unwrap();
        assert_eq!(loss, expected);
        assert!((loss.sum - loss.each[0] - loss.each[1]).abs() < 1e-5 * loss.sum);

        let rounds = (normal(2 * 2 * BATCH), normal(2 * 2 * BATCH));
        let mut first = None;
        for (policy, temperature) in rounds.0.chunks(2 * BATCH).zip(rounds.1.chunks(2 * BATCH)) {
            let loss = halves.compute_policy_gradients(&observations, policy).unwrap();
            let gradients = halves.policy_gradients().to_vec();
            halves.apply_policy_gradients(&gradients).unwrap();
            let gradient = halves.compute_temperature_gradient(&observations, temperature).unwrap();
            halves.apply_temperature_gradient(gradient);
            first.get_or_insert((loss, gradient, halves.alpha()));
        }
        let noise = PolicyNoise { policy: &rounds.0, temperature: &rounds.1 };
        let found = whole.update_policy(&observations, noise).unwrap();
        assert_eq!(first, Some((found.policy, found.temperature_gradient, found.alpha)));
        for networks in [&mut whole, &mut halves] {
            networks.update_targets();
        }
        assert!(bytes(&whole) == bytes(&halves), "update {seed}");
    }
}

#[test]
fn gradients_of_another_length_are_refused_and_move_nothing() {
    let (mut dqn, mut ppo, mut sac) = (dqn(), ppo(), sac());
    let refused = |error: Error| assert!(matches!(error, Error::Len { what: "gradients", .. }), "{error}");
    let before = (bits(ppo.actor().parameters()), bytes(&sac));
    refused(dqn.apply_gradients(&[0.0]).unwrap_err());
    let whole = vec![1.0; ppo.actor().parameters().len()];
    refused(ppo.apply_gradients(&whole, &[0.0], 1e-3).unwrap_err());
    refused(sac.apply_policy_gradients(&[0.0]).unwrap_err());
    let whole = vec![1.0; sac.critic_gradients()[0].len()];
    refused(sac.apply_critic_gradients([&whole, &[0.0]]).unwrap_err());
    assert!((bits(ppo.actor().parameters()), bytes(&sac)) == before);
}
