//! A walk goes into a buffer that keeps its last thousand steps, and comes out as a minibatch.

use torchforge_data::{Batch, Error, ReplayBuffer, Transition};
use torchforge_env::Pcg64;

fn main() -> Result<(), Error> {
    let mut rng = Pcg64::new(1);
    let mut buffer = ReplayBuffer::new(1000, 1, 1)?;
    let mut place = 0.0;
    for _ in 0..5000 {
        let action = u32::from(rng.unit() < 0.5);
        let next: f32 = place + if action == 1 { 1.0 } else { -1.0 };
        buffer.push(Transition {
            observation: &[place],
            next_observation: &[next],
            action: &[action],
            reward: -next.abs(),
            terminated: false,
            truncated: false,
        })?;
        place = next;
    }
    let mut batch = Batch::new(32, 1, 1)?;
    buffer.sample(&mut rng, &mut batch)?;
    let mean = batch.rewards().iter().sum::<f32>() / 32.0;
    println!("{} steps kept; the mean reward of 32 of them is {mean:.1}", buffer.len());
    Ok(())
}
