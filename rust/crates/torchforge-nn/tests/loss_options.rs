//! Updates whose options differ from CleanRL's defaults, against their formulas.

mod common;

use common::{Data, SplitMix};
use torchforge_nn::{
    ActionRange, Activation, AdamOptions, CategoricalPolicy, DenseDqn, DensePpo, DenseSac, DqnUpdate, Error,
    Mlp, PolicyNoise, PpoLoss, PpoLossOptions, PpoMinibatch, PpoUpdate, SacLossOptions, SacNetworks,
    SacUpdate, Temperature, TensorReader, TensorWriter, fill_standard_normal,
};

const BATCH: usize = 37;

fn close(found: f32, expected: f64) -> bool {
    (f64::from(found) - expected).abs() < 1e-5 * expected.abs().max(0.1)
}

/// A network of the same sizes with other parameters.
fn with_parameters(network: &Mlp, parameters: &[f32]) -> Mlp {
    let mut tensors = TensorWriter::new();
    network.write("", parameters, &mut tensors);
    let bytes = tensors.into_bytes();
    Mlp::read(&network.sizes(), Activation::Relu, "", &TensorReader::new(&bytes).unwrap()).unwrap()
}

#[test]
fn a_target_moves_by_its_share_of_the_way_to_the_online_network() {
    let mut rng = SplitMix(1);
    let mut network = || Mlp::new(&[4, 17, 2], &mut rng).unwrap();
    let (online, target) = (network(), network());
    let made = |target: &Mlp| {
        let adam = AdamOptions::default();
        DenseDqn::from_networks(online.clone(), target.clone(), BATCH, 0.99, adam).unwrap()
    };
    let tau = 0.25;
    let moved: Vec<f32> = (online.parameters().iter().zip(target.parameters()))
        .map(|(&online, &target)| tau * online + (1.0 - tau) * target)
        .collect();
    let (mut soft, mut expected) = (made(&target), made(&with_parameters(&target, &moved)));
    soft.update_target(f64::from(tau));
    assert!((soft.largest_target_difference() - expected.largest_target_difference()).abs() < 1e-6);
    let data = Data::new(&[4, 2], BATCH, &mut SplitMix(2));
    let loss = expected.update(data.minibatch()).unwrap();
    assert!(close(soft.update(data.minibatch()).unwrap(), f64::from(loss)));
    assert_ne!(made(&target).update(data.minibatch()).unwrap(), loss);
    soft.update_target(1.0);
    assert_eq!(soft.largest_target_difference(), 0.0);
}

/// Actor and critic that evaluate a whole minibatch at once.
fn ppo(options: PpoLossOptions) -> DensePpo {
    let mut rng = SplitMix(3);
    let mut network = |outputs| {
        Mlp::orthogonal(&[4, 16, outputs], Activation::Tanh, &[2_f64.sqrt(), 1.0], &mut rng).unwrap()
    };
    DensePpo::new(network(3), network(1), BATCH, BATCH, options, AdamOptions::default()).unwrap()
}

/// A minibatch in which some ratios and some values are clipped.
struct Steps {
    data: Data,
    log_probabilities: Vec<f32>,
    advantages: Vec<f32>,
}

impl Steps {
    fn new() -> Self {
        let data = Data::new(&[4, 3], BATCH, &mut SplitMix(4));
        let log_probabilities = data.rewards.iter().map(|x| -1.1 + 0.3 * x).collect();
        let advantages = data.next_observations[..BATCH].iter().map(|x| 2.0 + x).collect();
        Self { data, log_probabilities, advantages }
    }

    fn minibatch(&self) -> PpoMinibatch<'_> {
        PpoMinibatch {
            observations: &self.data.observations,
            actions: &self.data.actions,
            log_probabilities: &self.log_probabilities,
            advantages: &self.advantages,
            returns: &self.data.next_observations[BATCH..2 * BATCH],
            values: &self.data.next_observations[2 * BATCH..3 * BATCH],
        }
    }

    /// What a policy says of the actions that were taken, as logarithms of ratios.
    fn log_ratios(&self, ppo: &mut DensePpo) -> Vec<f64> {
        let found = ppo.evaluate(&self.data.observations).unwrap();
        let taken = self.data.actions.iter().zip(found.log_probabilities.chunks(3));
        let pairs = taken.map(|(&action, row)| row[action as usize]).zip(&self.log_probabilities);
        pairs.map(|(now, then)| f64::from(now) - f64::from(*then)).collect()
    }
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}

fn update(options: PpoLossOptions, steps: &Steps) -> (PpoLoss, Vec<f32>) {
    let mut ppo = ppo(options);
    let loss = ppo.update(steps.minibatch(), 1e-3).unwrap();
    (loss, [ppo.actor_gradients(), ppo.critic_gradients()].concat())
}

fn alike(found: &[f32], expected: &[f32]) -> bool {
    let largest = expected.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
    found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-5 * largest)
}

#[test]
fn the_shift_of_a_policy_is_that_of_the_formulas() {
    let (mut ppo, steps) = (ppo(PpoLossOptions::default()), Steps::new());
    let log_ratios = steps.log_ratios(&mut ppo);
    let before = ppo.actor().parameters().to_vec();
    let shift = ppo.policy_shift(steps.minibatch()).unwrap();
    assert_eq!(before, ppo.actor().parameters(), "nothing is learnt");
    assert!(close(shift.old_approx_kl, mean(log_ratios.iter().map(|x| -x))));
    assert!(close(shift.approx_kl, mean(log_ratios.iter().map(|x| x.exp() - 1.0 - x))));
    let clipped = log_ratios.iter().map(|x| f64::from(u8::from((x.exp() - 1.0).abs() > 0.2)));
    assert!(close(shift.clip_fraction, mean(clipped)) && shift.clip_fraction > 0.1, "{shift:?}");

    let log_probabilities: Vec<f32> = (log_ratios.iter().zip(&steps.log_probabilities))
        .map(|(ratio, then)| (ratio + f64::from(*then)) as f32)
        .collect();
    let unmoved = PpoMinibatch { log_probabilities: &log_probabilities, ..steps.minibatch() };
    let shift = ppo.policy_shift(unmoved).unwrap();
    assert!(shift.approx_kl.abs() < 1e-6 && shift.clip_fraction == 0.0, "{shift:?}");
}

#[test]
fn advantages_that_are_not_normalised_count_as_they_are() {
    let options = PpoLossOptions { normalise_advantages: false, ..PpoLossOptions::default() };
    let mut steps = Steps::new();
    let log_ratios = steps.log_ratios(&mut ppo(options));
    let policy = mean(log_ratios.iter().zip(&steps.advantages).map(|(log_ratio, &advantage)| {
        let (ratio, advantage) = (log_ratio.exp(), f64::from(advantage));
        (-advantage * ratio).max(-advantage * ratio.clamp(0.8, 1.2))
    }));
    assert!(close(update(options, &steps).0.policy, policy));
    assert!(!close(update(PpoLossOptions::default(), &steps).0.policy, policy));

    // Of advantages that are normalised already, both have the same gradient.
    let average = mean(steps.advantages.iter().map(|&x| f64::from(x)));
    let squares: f64 = steps.advantages.iter().map(|&x| (f64::from(x) - average).powi(2)).sum();
    let deviation = (squares / (BATCH as f64 - 1.0)).sqrt();
    for advantage in &mut steps.advantages {
        *advantage = ((f64::from(*advantage) - average) / deviation) as f32;
    }
    assert!(alike(&update(options, &steps).1, &update(PpoLossOptions::default(), &steps).1));
}

#[test]
fn values_that_are_not_clipped_have_the_plain_squared_error() {
    let options = PpoLossOptions { clip_values: false, ..PpoLossOptions::default() };
    let steps = Steps::new();
    let mut values = [0.0; BATCH];
    ppo(options).values(&steps.data.observations, &mut values).unwrap();
    let errors = values.iter().zip(steps.minibatch().returns);
    let value = 0.5 * mean(errors.map(|(value, wanted)| f64::from(value - wanted).powi(2)));
    let (loss, gradients) = update(options, &steps);
    assert!(close(loss.value, value));
    assert!(!close(update(PpoLossOptions::default(), &steps).0.value, value));

    // A clip that nothing reaches clips no ratio either.
    let wide = PpoLossOptions { clip: 1e6, ..PpoLossOptions::default() };
    assert!(alike(&update(PpoLossOptions { clip_values: false, ..wide }, &steps).1, &update(wide, &steps).1));
    assert!(!alike(&gradients, &update(PpoLossOptions::default(), &steps).1));
}

fn sac(temperature: Temperature, log_alpha: f32) -> Result<DenseSac, Error> {
    let mut rng = SplitMix(5);
    let mut critic = || Mlp::new(&[5, 16, 1], &mut rng).unwrap();
    let (critics, targets) = ([critic(), critic()], [critic(), critic()]);
    let actor = Mlp::new(&[3, 16, 4], &mut rng).unwrap();
    let networks = SacNetworks { actor, critics, targets, log_alpha };
    let range = ActionRange { bias: vec![0.5, 0.0], scale: vec![2.0, 1.0] };
    DenseSac::new(networks, range, BATCH, SacLossOptions { temperature, ..SacLossOptions::default() })
}

fn normal(len: usize, seed: u64) -> Vec<f32> {
    let mut numbers = vec![0.0; len];
    fill_standard_normal(&mut SplitMix(seed), &mut numbers);
    numbers
}

fn bytes(sac: &DenseSac) -> Vec<u8> {
    let mut tensors = TensorWriter::new();
    sac.write("", &mut tensors);
    tensors.into_bytes()
}

#[test]
fn a_fixed_temperature_stays_and_takes_no_noise() {
    let (observations, policy) = (normal(3 * BATCH, 6), normal(2 * 2 * BATCH, 7));
    let mut whole = sac(Temperature::Fixed(0.2), 0.7).unwrap();
    assert!(!whole.learns_temperature());
    let found =
        whole.update_policy(&observations, PolicyNoise { policy: &policy, temperature: &[] }).unwrap();
    assert_eq!((found.rounds, found.alpha, whole.alpha()), (2, 0.2, 0.2));
    assert_eq!((found.temperature, found.temperature_gradient), (0.0, 0.0));
    let error = whole.update_policy(&observations, PolicyNoise { policy: &policy, temperature: &policy });
    assert!(matches!(error, Err(Error::Len { what: "the temperature's noise", expected: 0, .. })));

    // Round by round it is the same: each round sees what the one before has moved.
    let mut by_rounds = sac(Temperature::Fixed(0.2), 0.7).unwrap();
    for policy in policy.chunks(2 * BATCH) {
        by_rounds.update_policy(&observations, PolicyNoise { policy, temperature: &[] }).unwrap();
    }
    assert!(bytes(&whole) == bytes(&by_rounds));

    // The first round of a temperature that is learnt begins with the same loss.
    let mut learnt = sac(Temperature::Learnt, 0.2_f32.ln()).unwrap();
    let noise = PolicyNoise { policy: &policy, temperature: &policy };
    let expected = learnt.update_policy(&observations, noise).unwrap();
    assert!(close(found.policy, f64::from(expected.policy)));
    assert_ne!(learnt.alpha(), 0.2);
}

#[test]
fn a_temperature_that_is_no_number_or_negative_is_refused() {
    for alpha in [-0.1, f64::NAN, f64::INFINITY] {
        let error = sac(Temperature::Fixed(alpha), 0.0).err().unwrap().to_string();
        assert!(error.starts_with("alpha is") && error.ends_with("zero or a positive number"), "{error}");
    }
}
