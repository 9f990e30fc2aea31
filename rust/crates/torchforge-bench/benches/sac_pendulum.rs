//! `cargo bench --bench sac_pendulum`: updates of critics and policy, one action, and whole training steps, on one
//! thread and on two.
#![allow(missing_docs, reason = "Criterion's macros write public functions")]

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use torchforge_env::{Pendulum, TimeLimit};
use torchforge_nn::{
    ActionRange, DenseSac, Mlp, PolicyNoise, SacLossOptions, SacMinibatch, SacNetworks, SacUpdate,
};
use torchforge_rl::{Sac, SacOptions, Stream};

fn networks(threads: usize) -> DenseSac {
    let mut rng = Stream::Weights.of(1);
    let critics = [0, 1].map(|_| Mlp::new(&[4, 256, 256, 1], &mut rng).unwrap());
    let actor = Mlp::new(&[3, 256, 256, 2], &mut rng).unwrap();
    let networks = SacNetworks { actor, targets: critics.clone(), critics, log_alpha: 0.0 };
    let range = ActionRange { bias: vec![0.0], scale: vec![2.0] };
    DenseSac::new(networks, range, 256, SacLossOptions::default()).unwrap().on_threads(threads).unwrap()
}

fn sac_pendulum(criterion: &mut Criterion) {
    for threads in [1, 2] {
        on_threads(criterion, threads);
    }
}

fn on_threads(criterion: &mut Criterion, threads: usize) {
    let mut group = criterion.benchmark_group(format!("sac_pendulum/threads={threads}"));
    group.warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(4)).sample_size(50);

    let mut rng = Stream::Replay.of(1);
    let mut draw = |len: usize| (0..len).map(|_| rng.uniform(-1.0, 1.0) as f32).collect::<Vec<_>>();
    let (observations, next_observations) = (draw(256 * 3), draw(256 * 3));
    let (actions, rewards, noise) = (draw(256), draw(256), draw(256));
    let minibatch = SacMinibatch {
        observations: &observations,
        next_observations: &next_observations,
        actions: &actions,
        rewards: &rewards,
        terminations: &[0.0; 256],
    };
    let mut learner = networks(threads);
    group.bench_function("update of the critics", |bencher| {
        bencher.iter(|| learner.update_critics(black_box(minibatch), &noise).unwrap());
    });
    let rounds = [&noise[..], &noise[..]].concat();
    group.bench_function("update of the policy, two rounds", |bencher| {
        let noise = PolicyNoise { policy: &rounds, temperature: &rounds };
        bencher.iter(|| learner.update_policy(black_box(&observations), noise).unwrap());
    });
    let mut action = [0.0];
    group.bench_function("act", |bencher| {
        bencher.iter(|| learner.act(black_box(&observations[..3]), &noise[..1], &mut action).unwrap());
    });

    let options = SacOptions { learning_starts: 256, steps: 100_000, ..SacOptions::default() };
    let mut agent = Sac::new(TimeLimit::new(Pendulum::new(), 200), networks(threads), options, 1).unwrap();
    for _ in 0..300 {
        agent.step().unwrap();
    }
    group.bench_function("2 steps", |bencher| {
        bencher.iter(|| (0..2).filter(|_| agent.step().unwrap().is_some()).count());
    });
    group.finish();
}

criterion_group!(benches, sac_pendulum);
criterion_main!(benches);
