//! The same bytes whatever the processor offers, and on however many threads.

mod common;

use common::{Data, SplitMix};
use torchforge_nn::{AdamOptions, DenseDqn, DqnUpdate, Error, Mlp, SimdPath};

/// Odd sizes meet every remainder of a tile; CleanRL's are what is trained.
const NETWORKS: [(&[usize], usize, usize); 3] =
    [(&[4, 120, 84, 2], 128, 200), (&[3, 17, 40, 21, 5], 37, 60), (&[33, 1, 7], 1, 60)];

/// Parameters, losses and action values after training on fresh minibatches.
fn trained(path: SimdPath, threads: usize, sizes: &[usize], batch: usize, updates: usize) -> Vec<u32> {
    let mut rng = SplitMix(11);
    let (online, target) = (Mlp::new(sizes, &mut rng).unwrap(), Mlp::new(sizes, &mut rng).unwrap());
    let mut network = DenseDqn::from_networks(online, target, batch, 0.99, AdamOptions::default())
        .unwrap()
        .on_path(path)
        .unwrap()
        .on_threads(threads)
        .unwrap();
    let mut found = Vec::new();
    for update in 0..updates {
        let data = Data::new(sizes, batch, &mut rng);
        found.push(network.update(data.minibatch()).unwrap().to_bits());
        found.extend(
            network.q_values(&data.observations[..sizes[0]]).unwrap().iter().map(|value| value.to_bits()),
        );
        if update % 50 == 0 {
            network.update_target(1.0);
        }
    }
    found
        .extend(network.gradients().iter().chain(network.online().parameters()).map(|value| value.to_bits()));
    found
}

#[test]
fn hundreds_of_updates_give_the_same_bytes_on_every_path() {
    for (sizes, batch, updates) in NETWORKS {
        let expected = trained(SimdPath::Portable, 1, sizes, batch, updates);
        for path in SimdPath::ALL.into_iter().filter(|path| path.is_available()) {
            for threads in 1..=2 {
                let found = trained(path, threads, sizes, batch, updates);
                assert!(found == expected, "{path} on {threads} threads differs on {sizes:?}");
            }
        }
    }
}

#[test]
fn updates_give_the_same_bytes_on_any_number_of_threads() {
    // Products of the middle layer are large enough to be divided, and their rows not by 2, 3 or 4.
    let (sizes, batch, updates) = ([3, 163, 149, 2], 96, 2);
    let expected = trained(SimdPath::Portable, 1, &sizes, batch, updates);
    for path in SimdPath::ALL.into_iter().filter(|path| path.is_available()) {
        for threads in 1..=4 {
            assert!(
                trained(path, threads, &sizes, batch, updates) == expected,
                "{path} on {threads} threads"
            );
        }
    }
}

#[test]
fn a_path_that_is_unknown_or_not_here_is_an_error() {
    assert_eq!("avx512".parse(), Ok(SimdPath::Avx512));
    assert_eq!("sse9".parse::<SimdPath>(), Err(Error::UnknownPath { text: "sse9".into() }));
    let missing = SimdPath::ALL.into_iter().find(|path| !path.is_available()).expect("no processor has all");
    let mut rng = SplitMix(1);
    let network = DenseDqn::new(&[1, 1, 1], 1, 0.9, AdamOptions::default(), &mut rng).unwrap();
    assert_eq!(network.on_path(missing).err(), Some(Error::NoSuchPath { path: missing }));
    assert!(SimdPath::detect().is_available());
}
