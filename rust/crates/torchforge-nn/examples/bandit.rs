//! Learns what each of three levers pays in each of two rooms: `cargo run --release --example bandit`.

use torchforge_env::Pcg64;
use torchforge_nn::{AdamOptions, DenseDqn, DqnUpdate, Error, Minibatch};

const BATCH: usize = 32;
const LEVERS: u32 = 3;

fn main() -> Result<(), Error> {
    let mut rng = Pcg64::new(1);
    let adam = AdamOptions { learning_rate: 3e-3, ..AdamOptions::default() };
    // One input, the room. Nothing follows a lever, so the discount does not matter.
    let mut agent = DenseDqn::new(&[1, 32, LEVERS as usize], BATCH, 0.0, adam, &mut rng)?;
    for update in 0..2000 {
        let rooms: Vec<f32> = (0..BATCH).map(|_| if rng.unit() < 0.5 { 0.0 } else { 1.0 }).collect();
        let levers: Vec<u32> = (0..BATCH).map(|_| rng.uniform(0.0, LEVERS.into()) as u32).collect();
        let rewards: Vec<f32> = rooms.iter().zip(&levers).map(|(room, lever)| pay(*room, *lever)).collect();
        let loss = agent.update(Minibatch {
            observations: &rooms,
            next_observations: &rooms,
            actions: &levers,
            rewards: &rewards,
            terminations: &[1.0; BATCH],
        })?;
        if update % 500 == 0 {
            println!("update {update}: loss {loss:.4}");
        }
    }
    let mut values = [0.0; 2 * LEVERS as usize];
    agent.online().clone().evaluate(&[0.0, 1.0], &mut values)?;
    println!("what the levers pay: {values:.2?}");
    Ok(())
}

/// The last lever is the best in room 0, and the first in room 1.
fn pay(room: f32, lever: u32) -> f32 {
    let best = if room == 0.0 { LEVERS - 1 } else { 0 };
    1.0 - 0.5 * best.abs_diff(lever) as f32
}
