//! Writes steps of experience into a file, loads them in shuffled batches, and replays them by priority.
//!
//! `cargo run --release --example dataset -p torchforge-experience`

use std::error::Error;

use rand::{RngExt, SeedableRng, rngs::StdRng};
use torchforge_data::{
    Column, DataLoader, Dataset, DatasetWriter, ElementType, LoaderConfig, MmapDataset, NStep,
    PrioritizedBatch, PrioritizedReplayBuffer, PriorityOptions, Schema, Transition,
};

const STEPS: usize = 10_000;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::temp_dir().join(format!("torchforge-data-{}.arrow", std::process::id()));
    write(&path)?;
    load(&path)?;
    replay(&path)?;
    std::fs::remove_file(path)?;
    Ok(())
}

/// A walk in one dimension that ends every hundred steps.
fn write(path: &std::path::Path) -> Result<(), Box<dyn Error>> {
    let schema = Schema::new(vec![
        Column::new("observation", ElementType::F32, &[2])?,
        Column::new("action", ElementType::U32, &[])?,
        Column::new("reward", ElementType::F32, &[])?,
        Column::new("terminated", ElementType::U8, &[])?,
    ])?;
    let mut writer = DatasetWriter::create(path, schema)?;
    let mut rng = StdRng::seed_from_u64(1);
    let mut place = 0.0_f32;
    for step in 0..STEPS {
        let action = rng.random_range(0..2_u32);
        let ends = step % 100 == 99;
        writer.append(&[
            (&[place, (step % 100) as f32]).into(),
            (&[action]).into(),
            (&[-place.abs()]).into(),
            (&[u8::from(ends)]).into(),
        ])?;
        place = if ends { 0.0 } else { place + if action == 1 { 1.0 } else { -1.0 } };
    }
    Ok(writer.finish()?)
}

fn load(path: &std::path::Path) -> Result<(), Box<dyn Error>> {
    let config = LoaderConfig { batch_size: 256, shuffle: true, workers: 2, ..Default::default() };
    let loader = DataLoader::new(MmapDataset::open(path)?, config)?;
    println!("{} rows of {}", loader.dataset().len(), loader.dataset().schema());
    for epoch in 0..2 {
        let mut sum = 0.0;
        for batch in &loader {
            sum += batch?.column::<f32>("reward")?.iter().map(|&reward| f64::from(reward)).sum::<f64>();
        }
        println!("epoch {epoch}: {} batches, mean reward {:.3}", loader.batches(), sum / STEPS as f64);
    }
    Ok(())
}

fn replay(path: &std::path::Path) -> Result<(), Box<dyn Error>> {
    let dataset = MmapDataset::open(path)?;
    let mut buffer =
        PrioritizedReplayBuffer::<u32>::new(STEPS, 2, 1, PriorityOptions::default(), NStep::new(3, 0.99)?)?;
    for row in 0..STEPS - 1 {
        let (item, next) = (dataset.item(row)?, dataset.item(row + 1)?);
        buffer.push(Transition {
            observation: item.column("observation")?,
            next_observation: next.column("observation")?,
            action: item.column::<u32>("action")?,
            reward: item.column::<f32>("reward")?[0],
            terminated: item.column::<u8>("terminated")?[0] == 1,
            truncated: false,
        })?;
    }
    let mut rng = StdRng::seed_from_u64(2);
    let mut batch = PrioritizedBatch::new(64, 2, 1)?;
    for _ in 0..1_000 {
        buffer.sample(&mut rng, 0.4, &mut batch)?;
        // An agent's update would find these errors. Here a return far from 0 surprises.
        let errors = batch.transitions().rewards().to_vec();
        buffer.update_priorities(batch.stamps(), &errors)?;
    }
    let mean = batch.transitions().rewards().iter().sum::<f32>() / 64.0;
    println!("mean return over three steps of a batch drawn by priority: {mean:.3}");
    Ok(())
}
