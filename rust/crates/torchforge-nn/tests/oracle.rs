//! A whole update against the same mathematics in f64, written as plainly as possible.

mod common;

use common::{Data, SplitMix};
use torchforge_nn::{
    Activation, AdamOptions, DenseDqn, DqnUpdate, Error, Minibatch, Mlp, TensorReader, TensorWriter,
};

const SIZES: [usize; 4] = [4, 13, 10, 3];
const BATCH: usize = 9;
const GAMMA: f64 = 0.99;

/// The outputs for one row; parameters are laid out as `Mlp::parameters` documents.
fn forward(parameters: &[f64], input: &[f32]) -> Vec<f64> {
    let mut values: Vec<f64> = input.iter().copied().map(f64::from).collect();
    let mut rest = parameters;
    for (number, pair) in SIZES.windows(2).enumerate() {
        let (weight, after) = rest.split_at(pair[0] * pair[1]);
        let (bias, after) = after.split_at(pair[1]);
        rest = after;
        let output =
            |o: usize| bias[o] + (0..pair[0]).map(|i| values[i] * weight[o * pair[0] + i]).sum::<f64>();
        let last = number + 2 == SIZES.len();
        values = (0..pair[1]).map(|o| if last { output(o) } else { output(o).max(0.0) }).collect();
    }
    values
}

fn loss(online: &[f64], target: &[f64], data: &Data) -> f64 {
    let errors = (0..BATCH).map(|row| {
        let values = row * SIZES[0]..(row + 1) * SIZES[0];
        let next = forward(target, &data.next_observations[values.clone()]);
        let best = next.into_iter().fold(f64::NEG_INFINITY, f64::max);
        let alive = 1.0 - f64::from(data.terminations[row]);
        let y = f64::from(data.rewards[row]) + GAMMA * best * alive;
        forward(online, &data.observations[values])[data.actions[row] as usize] - y
    });
    errors.map(|error| error * error).sum::<f64>() / BATCH as f64
}

#[test]
fn one_update_has_the_loss_gradients_and_parameters_of_the_mathematics() {
    let mut rng = SplitMix(3);
    let (online, target) = (Mlp::new(&SIZES, &mut rng).unwrap(), Mlp::new(&SIZES, &mut rng).unwrap());
    let data = Data::new(&SIZES, BATCH, &mut rng);
    let exact = |network: &Mlp| network.parameters().iter().copied().map(f64::from).collect::<Vec<_>>();
    let (exact_online, exact_target) = (exact(&online), exact(&target));
    let adam = AdamOptions::default();
    let mut network = DenseDqn::from_networks(online, target, BATCH, GAMMA, adam).unwrap();

    let found = network.update(data.minibatch()).unwrap();

    let expected = loss(&exact_online, &exact_target, &data);
    assert!((f64::from(found) - expected).abs() < 1e-6 * expected, "loss {found} {expected}");
    let mut moved = exact_online.clone();
    for (i, &parameter) in exact_online.iter().enumerate() {
        let mut central = |step: f64| {
            moved[i] = parameter + step;
            let loss = loss(&moved, &exact_target, &data);
            moved[i] = parameter;
            loss
        };
        let gradient = (central(1e-6) - central(-1e-6)) / 2e-6;
        let found = f64::from(network.gradients()[i]);
        assert!((found - gradient).abs() < 1e-6 + 1e-5 * gradient.abs(), "gradient {i}: {found} {gradient}");

        // From fresh moments the corrected moments are the gradient and its square.
        let stepped = parameter - adam.learning_rate * found / (found.abs() + adam.epsilon);
        let found = f64::from(network.online().parameters()[i]);
        assert!((found - stepped).abs() < 1e-7, "parameter {i}: {found} {stepped}");
    }
}

#[test]
fn acting_on_one_row_and_learning_from_many_see_the_same_values() {
    let mut rng = SplitMix(5);
    let network = Mlp::new(&SIZES, &mut rng).unwrap();
    let parameters: Vec<f64> = network.parameters().iter().copied().map(f64::from).collect();
    let mut dqn =
        DenseDqn::from_networks(network.clone(), network, 1, GAMMA, AdamOptions::default()).unwrap();
    let observation = [0.3, -0.7, 0.1, 0.9];
    for (value, exact) in dqn.q_values(&observation).unwrap().iter().zip(forward(&parameters, &observation)) {
        assert!((f64::from(*value) - exact).abs() < 1e-6);
    }
}

#[test]
fn a_network_written_is_read_back_in_pytorchs_layout() {
    let network = Mlp::new(&SIZES, &mut SplitMix(7)).unwrap();
    let mut writer = TensorWriter::new();
    network.write("online.", network.parameters(), &mut writer);
    let bytes = writer.into_bytes();

    let reader = TensorReader::new(&bytes).unwrap();
    assert_eq!(reader.shape("online.2.weight").unwrap(), [10, 13]);
    let weight = reader.f32("online.0.weight", &[13, 4]).unwrap();
    assert_eq!(weight[4], network.parameters()[4], "output 1, input 0");
    assert_eq!(
        Mlp::read(&SIZES, Activation::Relu, "online.", &reader).unwrap().parameters(),
        network.parameters()
    );

    let missing = Mlp::read(&SIZES, Activation::Relu, "target.", &reader).unwrap_err();
    assert_eq!(missing, Error::MissingTensor { name: "target.0.weight".into() });
    assert!(matches!(reader.f32("online.0.bias", &[12]), Err(Error::TensorKind { .. })));
}

#[test]
fn a_minibatch_that_does_not_fit_is_an_error() {
    let mut rng = SplitMix(9);
    let mut dqn = DenseDqn::new(&SIZES, BATCH, GAMMA, AdamOptions::default(), &mut rng).unwrap();
    let data = Data::new(&SIZES, BATCH, &mut rng);
    let short = Minibatch { rewards: &data.rewards[1..], ..data.minibatch() };
    let expected = Error::Len { what: "rewards", expected: BATCH, found: BATCH - 1 };
    assert_eq!(dqn.update(short).unwrap_err(), expected);
    let actions = vec![3; BATCH];
    let wrong = Minibatch { actions: &actions, ..data.minibatch() };
    assert_eq!(dqn.update(wrong).unwrap_err(), Error::Action { action: 3, count: 3 });
}
