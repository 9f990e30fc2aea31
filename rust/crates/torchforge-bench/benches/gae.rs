//! `cargo bench --bench gae`: the advantage kernel alone.
#![allow(missing_docs, reason = "Criterion's macros write public functions")]

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use torchforge_env::Pcg64;
use torchforge_rl::{GaeOptions, Trajectory, gae_batched};

fn gae(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("gae");
    group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    for (batch, length) in [(1, 128), (1, 2048), (1, 32768), (8, 128), (256, 2048)] {
        let mut rng = Pcg64::new(42);
        let mut draw = || (0..batch * length).map(|_| rng.uniform(-1.0, 1.0)).collect::<Vec<_>>();
        let (rewards, values) = (draw(), draw());
        let dones: Vec<f64> = draw().iter().map(|&u| f64::from(u8::from(u > 0.9))).collect();
        let (mut advantages, mut returns) = (vec![0.0; batch * length], vec![0.0; batch * length]);
        let last_values = vec![0.0; batch];
        let trajectories = Trajectory { rewards: &rewards, values: &values, dones: &dones };
        let options = GaeOptions { gamma: 0.99, lambda: 0.95 };
        group.throughput(Throughput::Elements((batch * length) as u64));
        group.bench_function(BenchmarkId::from_parameter(format!("{batch}x{length}")), |bencher| {
            bencher.iter(|| {
                gae_batched(black_box(trajectories), &last_values, options, &mut advantages, &mut returns)
                    .unwrap();
                black_box((&mut advantages, &mut returns));
            });
        });
    }
    group.finish();
}

criterion_group!(benches, gae);
criterion_main!(benches);
