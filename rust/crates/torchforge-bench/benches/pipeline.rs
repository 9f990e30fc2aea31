//! The data pipeline under the allocator that a feature chooses: the median time of each workload, and the peak memory.
//!
//! `cargo bench -p torchforge-bench --bench pipeline --features mimalloc`, or `jemalloc`, or neither for the system's.

use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use torchforge_data::{
    Batch, Column, DataLoader, Dataset, DatasetWriter, ElementType, LoaderConfig, MmapDataset, ReplayBuffer,
    Schema, Transition,
};
use torchforge_env::{CartPole, Pcg64, TimeLimit};
// The allocator is this library's: a library that nothing names is not linked.
use torchforge_bench as _;
use torchforge_rl::Dqn;

const ROWS: usize = 32_768;
const ROW_BYTES: usize = 1024;
const CAPACITY: usize = 100_000;
const TIMES: usize = 7;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let path = std::env::temp_dir().join(format!("torchforge-pipeline-{}.arrow", std::process::id()));
    write(&path)?;
    for workers in 0..=1 {
        let config = LoaderConfig { batch_size: 32, shuffle: true, workers, ..LoaderConfig::default() };
        let loader = DataLoader::new(MmapDataset::open(&path)?, config)?;
        median(&format!("an epoch of shuffled rows, {workers} workers"), || load(&loader))?;
    }
    std::fs::remove_file(path)?;

    let mut ring = ReplayBuffer::new(CAPACITY, 4, 1)?;
    median("100,000 pushes", || push(&mut ring, CAPACITY))?;
    let (mut rng, mut batch) = (Pcg64::new(1), Batch::new(32, 4, 1)?);
    median("3,125 minibatches of 32, one storage", || {
        (0..CAPACITY / 32).try_for_each(|_| Ok(ring.sample(&mut rng, &mut batch)?))
    })?;
    median("3,125 minibatches of 32, a storage each", || {
        (0..CAPACITY / 32).try_for_each(|_| Ok(ring.sample(&mut rng, &mut Batch::new(32, 4, 1)?)?))
    })?;
    median("100 rings of 10,000 made and filled", || {
        (0..100).try_for_each(|_| push(&mut ReplayBuffer::new(10_000, 4, 1)?, 10_000))
    })?;
    median("DQN on CartPole, 20,000 steps", || {
        let mut agent = Dqn::cleanrl(TimeLimit::new(CartPole::new(), 500), 1)?;
        for _ in 0..20_000 {
            black_box(agent.step()?);
        }
        Ok(())
    })?;
    println!("peak memory: {}", peak()?);
    Ok(())
}

/// Runs a workload several times, and prints the median of its times.
fn median(what: &str, mut workload: impl FnMut() -> Outcome<()>) -> Outcome<()> {
    let mut seconds = Vec::with_capacity(TIMES);
    for _ in 0..TIMES {
        let begin = Instant::now();
        workload()?;
        seconds.push(begin.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    println!("{what}: {:.3} ms", 1e3 * seconds[TIMES / 2]);
    Ok(())
}

fn write(path: &Path) -> Outcome<()> {
    let schema = Schema::new(vec![Column::new("row", ElementType::U8, &[ROW_BYTES])?])?;
    let mut writer = DatasetWriter::create(path, schema)?;
    let mut row = vec![0_u8; ROW_BYTES];
    for number in 0..ROWS {
        row.fill((number % 251) as u8);
        writer.append(&[row.as_slice().into()])?;
    }
    Ok(writer.finish()?)
}

fn load<D: Dataset + 'static>(loader: &DataLoader<D>) -> Outcome<()> {
    for batch in loader {
        black_box(batch?.column::<u8>("row")?);
    }
    Ok(())
}

fn push(ring: &mut ReplayBuffer<u32>, count: usize) -> Outcome<()> {
    for number in 0..count {
        let observation = [number as f32; 4];
        ring.push(Transition {
            observation: &observation,
            next_observation: &observation,
            action: &[(number % 2) as u32],
            reward: 1.0,
            terminated: number % 200 == 0,
            truncated: false,
        })?;
    }
    Ok(())
}

/// The peak resident set as Linux tells it.
fn peak() -> Outcome<String> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).ok_or("no VmHWM")?;
    Ok(line["VmHWM:".len()..].trim().to_owned())
}
