//! Every backend that is compiled in, beside our own kernels: the same losses, gradients and parameters, update after
//! update from the same weights and minibatches.
#![cfg(any(feature = "burn", feature = "candle"))]

mod common;

use common::{Data, SplitMix};
use torchforge_nn::{AdamOptions, DenseDqn, DqnBackend, DqnUpdate, Error, Minibatch, Mlp};

const SIZES: [usize; 4] = [4, 120, 84, 2];
const BATCH: usize = 128;
const GAMMA: f64 = 0.99;

fn made<B: DqnBackend>(seed: u64) -> B {
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

fn learns_as_our_kernels_do<B: DqnBackend>() {
    let (mut network, mut expected) = (made::<B>(1), made::<DenseDqn>(1));
    assert_eq!(network.parameters().unwrap(), expected.parameters().unwrap());
    let mut rng = SplitMix(2);
    for update in 0..20 {
        let data = Data::new(&SIZES, BATCH, &mut rng);
        let loss = network.update(data.minibatch()).unwrap();
        let own = expected.update(data.minibatch()).unwrap();
        assert!((loss - own).abs() <= 1e-5 * own, "loss {loss} {own} of update {update}");
        let own = DqnBackend::gradients(&expected).unwrap();
        let gradients = apart(&network.gradients().unwrap(), &own);
        assert!(gradients < 1e-4, "gradients of update {update}: {gradients}");
        let parameters = apart(&network.parameters().unwrap(), &expected.parameters().unwrap());
        assert!(parameters < 1e-4, "parameters after update {update}: {parameters}");
        if update == 9 {
            network.copy_to_target();
            expected.copy_to_target();
        }
    }
    let observation = [0.3, -0.7, 0.1, 0.9];
    let values = network.q_values(&observation).unwrap().to_vec();
    assert!(apart(&values, expected.q_values(&observation).unwrap()) < 1e-4);
}

fn refuses_what_does_not_fit<B: DqnBackend>() {
    let mut network = made::<B>(3);
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

#[cfg(feature = "candle")]
mod candle {
    use torchforge_nn::CandleDqn;

    #[test]
    fn learns_as_our_kernels_do() {
        super::learns_as_our_kernels_do::<CandleDqn>();
    }

    #[test]
    fn refuses_what_does_not_fit() {
        super::refuses_what_does_not_fit::<CandleDqn>();
    }
}

#[cfg(feature = "burn")]
mod burn {
    use torchforge_nn::BurnDqn;

    #[test]
    fn learns_as_our_kernels_do() {
        super::learns_as_our_kernels_do::<BurnDqn>();
    }

    #[test]
    fn refuses_what_does_not_fit() {
        super::refuses_what_does_not_fit::<BurnDqn>();
    }
}
