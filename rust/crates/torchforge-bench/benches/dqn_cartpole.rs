//! `cargo bench --bench dqn_cartpole`: one update, one action, and whole training steps, on one thread and on two.
#![allow(missing_docs, reason = "Criterion's macros write public functions")]

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use torchforge_env::{CartPole, TimeLimit};
use torchforge_nn::{AdamOptions, DenseDqn, DqnUpdate, Minibatch};
use torchforge_rl::{Dqn, DqnOptions, Stream};

fn network(threads: usize) -> DenseDqn {
    let (adam, mut rng) = (AdamOptions::default(), Stream::Weights.of(1));
    DenseDqn::new(&[4, 120, 84, 2], 128, 0.99, adam, &mut rng).unwrap().on_threads(threads).unwrap()
}

fn dqn_cartpole(criterion: &mut Criterion) {
    for threads in [1, 2] {
        on_threads(criterion, threads);
    }
}

fn on_threads(criterion: &mut Criterion, threads: usize) {
    let mut group = criterion.benchmark_group(format!("dqn_cartpole/threads={threads}"));
    group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(2));

    let mut rng = Stream::Replay.of(1);
    let mut draw = || (0..128 * 4).map(|_| rng.uniform(-1.0, 1.0) as f32).collect::<Vec<_>>();
    let (observations, next_observations) = (draw(), draw());
    let actions: Vec<u32> = (0..128).map(|row| row % 2).collect();
    let minibatch = Minibatch {
        observations: &observations,
        next_observations: &next_observations,
        actions: &actions,
        rewards: &[1.0; 128],
        terminations: &[0.0; 128],
    };
    let mut learner = network(threads);
    group.bench_function("update", |bencher| bencher.iter(|| learner.update(black_box(minibatch)).unwrap()));
    let mut actor = network(threads);
    group.bench_function("act", |bencher| {
        bencher.iter(|| actor.q_values(black_box(&observations[..4])).unwrap()[0]);
    });

    let options = DqnOptions { learning_starts: 200, ..DqnOptions::default() };
    let mut agent = Dqn::new(TimeLimit::new(CartPole::new(), 500), network(threads), options, 1).unwrap();
    group.bench_function("1000 steps", |bencher| {
        bencher.iter(|| (0..1000).filter(|_| agent.step().unwrap().is_some()).count());
    });
    group.finish();
}

criterion_group!(benches, dqn_cartpole);
criterion_main!(benches);
