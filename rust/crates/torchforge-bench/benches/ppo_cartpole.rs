//! `cargo bench --bench ppo_cartpole`: one minibatch's update, one evaluation, and whole iterations, on one thread
//! and on two.
#![allow(missing_docs, reason = "Criterion's macros write public functions")]

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use torchforge_env::{AutoresetMode, CartPole, TimeLimit, VectorEnv};
use torchforge_nn::{
    Activation, AdamOptions, CategoricalPolicy, DensePpo, Mlp, PpoLossOptions, PpoMinibatch, PpoUpdate,
};
use torchforge_rl::{Ppo, PpoOptions, Stream};

fn networks(threads: usize) -> DensePpo {
    let mut rng = Stream::Weights.of(1);
    let mut network = |outputs, gain| {
        let gains = [2_f64.sqrt(), 2_f64.sqrt(), gain];
        Mlp::orthogonal(&[4, 64, 64, outputs], Activation::Tanh, &gains, &mut rng).unwrap()
    };
    let (actor, critic) = (network(2, 0.01), network(1, 1.0));
    let adam = AdamOptions { epsilon: 1e-5, ..AdamOptions::default() };
    let options = PpoLossOptions::default();
    DensePpo::new(actor, critic, 4, 128, options, adam).unwrap().on_threads(threads).unwrap()
}

fn ppo_cartpole(criterion: &mut Criterion) {
    for threads in [1, 2] {
        on_threads(criterion, threads);
    }
}

fn on_threads(criterion: &mut Criterion, threads: usize) {
    let mut group = criterion.benchmark_group(format!("ppo_cartpole/threads={threads}"));
    group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(2));

    let mut rng = Stream::Replay.of(1);
    let mut draw = |len: usize| (0..len).map(|_| rng.uniform(-1.0, 1.0) as f32).collect::<Vec<_>>();
    let observations = draw(128 * 4);
    let (advantages, returns, values) = (draw(128), draw(128), draw(128));
    let actions: Vec<u32> = (0..128).map(|row| row % 2).collect();
    let minibatch = PpoMinibatch {
        observations: &observations,
        actions: &actions,
        log_probabilities: &[-0.7; 128],
        advantages: &advantages,
        returns: &returns,
        values: &values,
    };
    let mut learner = networks(threads);
    group.bench_function("update", |bencher| {
        bencher.iter(|| learner.update(black_box(minibatch), 2.5e-4).unwrap());
    });
    let mut actor = networks(threads);
    group.bench_function("evaluate 4", |bencher| {
        bencher.iter(|| actor.evaluate(black_box(&observations[..4 * 4])).unwrap().probabilities[0]);
    });
    let mut judged = vec![0.0; 128];
    group.bench_function("values 128", |bencher| {
        bencher.iter(|| actor.values(black_box(&observations), &mut judged).unwrap());
    });

    let environments = (0..4).map(|_| TimeLimit::new(CartPole::new(), 500)).collect();
    let environments = VectorEnv::new(environments, AutoresetMode::SameStep).unwrap();
    let options = PpoOptions { iterations: 100_000, ..PpoOptions::default() };
    let mut agent = Ppo::new(environments, networks(threads), options, 1).unwrap();
    let mut episodes = Vec::new();
    group.bench_function("iteration", |bencher| {
        bencher.iter(|| {
            episodes.clear();
            agent.iterate(&mut episodes).unwrap();
            episodes.len()
        });
    });
    group.finish();
}

criterion_group!(benches, ppo_cartpole);
criterion_main!(benches);
