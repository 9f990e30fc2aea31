//! Every backend that is compiled in, beside our own kernels: the same losses, gradients and parameters, update after
//! update from the same weights and minibatches.
#![cfg(any(feature = "burn", feature = "candle"))]

mod common;

use common::{Data, SplitMix};
use torchforge_nn::{
    ActionRange, Activation, AdamOptions, CategoricalPolicy, DenseDqn, DensePpo, DenseSac, DqnBackend,
    DqnUpdate, Error, Evaluation, Minibatch, Mlp, PolicyNoise, PolicyShift, PpoBackend, PpoLoss,
    PpoLossOptions, PpoMinibatch, SacBackend, SacLossOptions, SacMinibatch, SacNetworks, SacUpdate,
    Temperature, TensorReader, TensorWriter, fill_standard_normal,
};

const SIZES: [usize; 4] = [4, 120, 84, 2];
const BATCH: usize = 128;
const GAMMA: f64 = 0.99;

fn dqn<B: DqnBackend>(seed: u64) -> B {
    let mut rng = SplitMix(seed);
    let (online, target) = (Mlp::new(&SIZES, &mut rng).unwrap(), Mlp::new(&SIZES, &mut rng).unwrap());
    <B as DqnBackend>::from_networks(&online, &target, BATCH, GAMMA, AdamOptions::default()).unwrap()
}

/// The largest difference over the largest magnitude.
fn apart(found: &[f32], expected: &[f32]) -> f32 {
    assert_eq!(found.len(), expected.len());
    let largest = expected.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
    found.iter().zip(expected).fold(0.0_f32, |most, (f, e)| most.max((f - e).abs())) / largest
}

fn dqn_learns_as_our_kernels_do<B: DqnBackend>() {
    let (mut network, mut expected) = (dqn::<B>(1), dqn::<DenseDqn>(1));
    assert_eq!(network.parameters().unwrap(), expected.parameters().unwrap());
    let mut rng = SplitMix(2);
    for update in 0..20 {
        let data = Data::new(&SIZES, BATCH, &mut rng);
        let mean = network.mean_value(data.minibatch()).unwrap();
        assert!((mean - expected.mean_value(data.minibatch()).unwrap()).abs() < 1e-5, "update {update}");
        let loss = network.update(data.minibatch()).unwrap();
        let own = expected.update(data.minibatch()).unwrap();
        assert!((loss - own).abs() <= 1e-5 * own, "loss {loss} {own} of update {update}");
        let own = DqnBackend::gradients(&expected).unwrap();
        let gradients = apart(&network.gradients().unwrap(), &own);
        assert!(gradients < 1e-4, "gradients of update {update}: {gradients}");
        let parameters = apart(&network.parameters().unwrap(), &expected.parameters().unwrap());
        assert!(parameters < 1e-4, "parameters after update {update}: {parameters}");
        if update == 9 {
            network.update_target(0.3);
            expected.update_target(0.3);
        }
    }
    let observation = [0.3, -0.7, 0.1, 0.9];
    let values = network.q_values(&observation).unwrap().to_vec();
    assert!(apart(&values, expected.q_values(&observation).unwrap()) < 1e-4);
}

fn dqn_refuses_what_does_not_fit<B: DqnBackend>() {
    let mut network = dqn::<B>(3);
    let data = Data::new(&SIZES, BATCH, &mut SplitMix(4));
    let short = Minibatch { rewards: &data.rewards[1..], ..data.minibatch() };
    let expected = Error::Len { what: "rewards", expected: BATCH, found: BATCH - 1 };
    assert_eq!(network.update(short).unwrap_err(), expected);
    let actions = vec![2; BATCH];
    let wrong = Minibatch { actions: &actions, ..data.minibatch() };
    assert_eq!(network.update(wrong).unwrap_err(), Error::Action { action: 2, count: 2 });
    let observation = network.q_values(&[0.0; 3]).unwrap_err();
    assert_eq!(observation, Error::Len { what: "the observation", expected: 4, found: 3 });
}

/// Actor and critic of three actions; up to five observations are evaluated at once.
fn ppo<B: PpoBackend>(options: PpoLossOptions) -> B {
    let mut rng = SplitMix(5);
    let mut network = |outputs, gain| {
        let gains = [2_f64.sqrt(), 2_f64.sqrt(), gain];
        Mlp::orthogonal(&[4, 64, 64, outputs], Activation::Tanh, &gains, &mut rng).unwrap()
    };
    let (actor, critic) = (network(3, 0.01), network(1, 1.0));
    let adam = AdamOptions { epsilon: 1e-5, ..AdamOptions::default() };
    B::from_networks(&actor, &critic, Activation::Tanh, 5, BATCH, options, adam).unwrap()
}

/// A minibatch in which some ratios and some values are clipped. The critic errs by more than the gradient may be long.
fn ppo_update<B: PpoBackend>(
    networks: &mut B,
    data: &Data,
    learning_rate: f64,
) -> Result<(PolicyShift, PpoLoss), Error> {
    let log_probabilities: Vec<f32> = data.rewards.iter().map(|x| -1.1 + 0.3 * x).collect();
    let returns: Vec<f32> = data.next_observations[BATCH..2 * BATCH].iter().map(|x| 5.0 + x).collect();
    let minibatch = PpoMinibatch {
        observations: &data.observations,
        actions: &data.actions,
        log_probabilities: &log_probabilities,
        advantages: &data.next_observations[..BATCH],
        returns: &returns,
        values: &data.next_observations[2 * BATCH..3 * BATCH],
    };
    Ok((networks.policy_shift(minibatch)?, networks.update(minibatch, learning_rate)?))
}

fn ppo_learns_as_our_kernels_do<B: PpoBackend>() {
    let cleanrl = PpoLossOptions::default();
    for options in [cleanrl, PpoLossOptions { normalise_advantages: false, clip_values: false, ..cleanrl }] {
        ppo_learns_with::<B>(options);
    }
}

fn ppo_learns_with<B: PpoBackend>(options: PpoLossOptions) {
    let (mut networks, mut expected) = (ppo::<B>(options), ppo::<DensePpo>(options));
    let mut rng = SplitMix(6);
    for update in 0..20 {
        let data = Data::new(&[4, 3], BATCH, &mut rng);
        let learning_rate = 1e-3 / (update + 1) as f64;
        let (shift, loss) = ppo_update(&mut networks, &data, learning_rate).unwrap();
        let (own_shift, own) = ppo_update(&mut expected, &data, learning_rate).unwrap();
        let figures = |shift: PolicyShift| [shift.old_approx_kl, shift.approx_kl, shift.clip_fraction];
        let shifts = apart(&figures(shift), &figures(own_shift));
        assert!(shifts < 1e-4, "{shift:?} {own_shift:?} of update {update}");
        let figures = |loss: PpoLoss| [loss.total, loss.policy, loss.value, loss.entropy, loss.gradient_norm];
        for (found, own) in figures(loss).into_iter().zip(figures(own)) {
            assert!((found - own).abs() <= 1e-5 * own.abs().max(0.1), "{loss:?} {own:?} of update {update}");
        }
        assert!(own.gradient_norm > 0.5, "what is not cut shows no cutting");
        let gradients = networks.gradients().unwrap().concat();
        let apart_by = apart(&gradients, &expected.gradients().unwrap().concat());
        assert!(apart_by < 1e-4, "gradients of update {update}: {apart_by}");
        let parameters = networks.parameters().unwrap().concat();
        let apart_by = apart(&parameters, &expected.parameters().unwrap().concat());
        assert!(apart_by < 1e-4, "parameters after update {update}: {apart_by}");
    }
    let observations = &Data::new(&[4, 3], BATCH, &mut rng).observations[..5 * 4];
    let figures = |found: Evaluation<'_>| [found.probabilities, found.log_probabilities].map(<[f32]>::to_vec);
    let found = figures(networks.evaluate(observations).unwrap());
    let own = figures(expected.evaluate(observations).unwrap());
    for (found, own) in found.iter().zip(&own) {
        assert!(apart(found, own) < 1e-4);
    }
    // More rows than may act at once.
    let observations = &Data::new(&[4, 3], BATCH, &mut rng).observations;
    let (mut found, mut own) = ([f32::NAN; BATCH], [f32::NAN; BATCH]);
    networks.values(observations, &mut found).unwrap();
    expected.values(observations, &mut own).unwrap();
    assert!(apart(&found, &own) < 1e-4);
}

fn ppo_refuses_what_does_not_fit<B: PpoBackend>() {
    let mut networks = ppo::<B>(PpoLossOptions::default());
    let data = Data::new(&[4, 3], BATCH, &mut SplitMix(7));
    let wrong = Data { actions: vec![3; BATCH], ..data };
    assert_eq!(ppo_update(&mut networks, &wrong, 1e-3).unwrap_err(), Error::Action { action: 3, count: 3 });
    for (found, expected) in [(0, 4), (15, 16), (24, 20)] {
        let rows = networks.evaluate(&vec![0.0; found]).map(drop).unwrap_err();
        assert_eq!(rows, Error::Len { what: "observations", expected, found });
    }
    assert_eq!(
        networks.evaluate(&[0.0; 4 * 4]).unwrap().probabilities.len(),
        4 * 3,
        "fewer rows than there is room for"
    );
    let judged = networks.values(&[0.0; 15], &mut [0.0; 4]).unwrap_err();
    assert_eq!(judged, Error::Len { what: "observations", expected: 16, found: 15 });
    let network = |outputs| Mlp::new(&[4, 8, outputs], &mut SplitMix(8)).unwrap();
    let made = |batch| {
        let (options, adam) = (PpoLossOptions::default(), AdamOptions::default());
        B::from_networks(&network(3), &network(1), Activation::Tanh, 1, batch, options, adam).map(drop)
    };
    assert!(made(2).is_ok());
    assert!(
        matches!(made(1), Err(Error::Rows { least: 2, found: 1, .. })),
        "of one row there is no standard deviation"
    );
}

/// Values in an observation and in an action.
const SAC_SIZES: (usize, usize) = (3, 2);

fn sac<B: SacBackend>(temperature: Temperature) -> B {
    let ((observation, action), mut rng) = (SAC_SIZES, SplitMix(9));
    let mut critic = || Mlp::new(&[observation + action, 64, 64, 1], &mut rng).unwrap();
    let (critics, targets) = ([critic(), critic()], [critic(), critic()]);
    let actor = Mlp::new(&[observation, 64, 64, 2 * action], &mut rng).unwrap();
    let networks = SacNetworks { actor, critics, targets, log_alpha: 0.1 };
    let range = ActionRange { bias: vec![0.5, 0.0], scale: vec![2.0, 1.0] };
    let options = SacLossOptions { temperature, ..SacLossOptions::default() };
    B::from_networks(&networks, &range, BATCH, options).unwrap()
}

/// The `number`-th update, its policy's rounds in every second one: its losses.
fn sac_update<B: SacBackend>(networks: &mut B, number: usize) -> Vec<f32> {
    let ((observation, action), mut rng) = (SAC_SIZES, SplitMix(number as u64));
    let mut normal = |len| {
        let mut numbers = vec![0.0; len];
        fill_standard_normal(&mut rng, &mut numbers);
        numbers
    };
    let (observations, next_observations) = (normal(BATCH * observation), normal(BATCH * observation));
    let (actions, rewards) = (normal(BATCH * action), normal(BATCH));
    let terminations: Vec<f32> = (0..BATCH).map(|row| f32::from(u8::from(row % 7 == 3))).collect();
    let minibatch = SacMinibatch {
        observations: &observations,
        next_observations: &next_observations,
        actions: &actions,
        rewards: &rewards,
        terminations: &terminations,
    };
    let loss = networks.update_critics(minibatch, &normal(BATCH * action)).unwrap();
    let mut losses = [&[loss.sum], &loss.each[..], &loss.values].concat();
    if number.is_multiple_of(2) {
        let (policy, temperature) = (normal(2 * BATCH * action), normal(2 * BATCH * action));
        let temperature = if networks.learns_temperature() { &temperature[..] } else { &[] };
        let noise = PolicyNoise { policy: &policy, temperature };
        let found = networks.update_policy(&observations, noise).unwrap();
        losses.extend([found.policy, found.temperature, found.alpha, found.temperature_gradient]);
    }
    networks.update_targets();
    losses
}

/// Gradients and parameters, as they are written.
fn sac_tensors<B: SacBackend>(networks: &B) -> Vec<u8> {
    let mut tensors = TensorWriter::new();
    networks.write_actor_gradients("gradient.", &mut tensors).unwrap();
    networks.write_critic_gradients("gradient.", &mut tensors).unwrap();
    networks.write("parameter.", &mut tensors).unwrap();
    tensors.into_bytes()
}

fn sac_learns_as_our_kernels_do<B: SacBackend>() {
    for temperature in [Temperature::Learnt, Temperature::Fixed(0.2)] {
        sac_learns_with::<B>(temperature);
    }
}

fn sac_learns_with<B: SacBackend>(temperature: Temperature) {
    let (mut networks, mut expected) = (sac::<B>(temperature), sac::<DenseSac>(temperature));
    for update in 0..10 {
        let (losses, own) = (sac_update(&mut networks, update), sac_update(&mut expected, update));
        assert_eq!(losses.len(), own.len());
        for (found, own) in losses.iter().zip(&own) {
            assert!((found - own).abs() <= 1e-5 * own.abs().max(1.0), "{losses:?} of update {update}: {own}");
        }
        let (found, own) = (sac_tensors(&networks), sac_tensors(&expected));
        let (found, own) = (TensorReader::new(&found).unwrap(), TensorReader::new(&own).unwrap());
        assert_eq!(found.names(), own.names());
        for name in &own.names() {
            let shape = own.shape(name).unwrap();
            let apart = apart(&found.f32(name, &shape).unwrap(), &own.f32(name, &shape).unwrap());
            assert!(apart < 1e-4, "{name} after update {update}: {apart}");
        }
    }
    let (mut action, mut own) = ([0.0; 2], [0.0; 2]);
    networks.act(&[0.3, -0.7, 0.1], &[0.5, -1.0], &mut action).unwrap();
    expected.act(&[0.3, -0.7, 0.1], &[0.5, -1.0], &mut own).unwrap();
    assert!(apart(&action, &own) < 1e-4, "{action:?} {own:?}");
}

fn sac_refuses_what_does_not_fit<B: SacBackend>() {
    let mut networks = sac::<B>(Temperature::Learnt);
    let noise = vec![0.0; BATCH * SAC_SIZES.1];
    let short = PolicyNoise { policy: &noise, temperature: &noise[1..] };
    let refused = networks.update_policy(&vec![0.0; BATCH * SAC_SIZES.0], short).unwrap_err();
    let expected = noise.len();
    assert_eq!(refused, Error::Len { what: "the temperature's noise", expected, found: expected - 1 });
    let refused = networks.act(&[0.0; 3], &[0.0; 1], &mut [0.0; 2]).unwrap_err();
    assert_eq!(refused, Error::Len { what: "the noise", expected: 2, found: 1 });
}

/// All tests of one library.
macro_rules! backend {
    ($library:ident, $feature:literal, $dqn:ident, $ppo:ident, $sac:ident) => {
        #[cfg(feature = $feature)]
        mod $library {
            use torchforge_nn::{$dqn, $ppo, $sac};

            #[test]
            fn dqn_learns_as_our_kernels_do() {
                super::dqn_learns_as_our_kernels_do::<$dqn>();
            }

            #[test]
            fn dqn_refuses_what_does_not_fit() {
                super::dqn_refuses_what_does_not_fit::<$dqn>();
            }

            #[test]
            fn ppo_learns_as_our_kernels_do() {
                super::ppo_learns_as_our_kernels_do::<$ppo>();
            }

            #[test]
            fn ppo_refuses_what_does_not_fit() {
                super::ppo_refuses_what_does_not_fit::<$ppo>();
            }

            #[test]
            fn sac_learns_as_our_kernels_do() {
                super::sac_learns_as_our_kernels_do::<$sac>();
            }

            #[test]
            fn sac_refuses_what_does_not_fit() {
                super::sac_refuses_what_does_not_fit::<$sac>();
            }
        }
    };
}

backend!(candle, "candle", CandleDqn, CandlePpo, CandleSac);
backend!(burn, "burn", BurnDqn, BurnPpo, BurnSac);
