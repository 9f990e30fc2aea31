//! DQN in an environment of one's own, a corridor: `cargo run --release --example own_environment`.

use torchforge_env::{Discrete, Environment, Error, Step, TimeLimit};
use torchforge_rl::{Dqn, DqnOptions, Returns, TrainingError};

const LENGTH: u32 = 8;

/// A corridor whose end is worth 1. Each step on the way costs 0.01.
struct Corridor {
    actions: Discrete,
    place: u32,
}

impl Environment for Corridor {
    type Action = u32;
    type ActionSpace = Discrete;

    fn observation_len(&self) -> usize {
        1
    }

    fn action_space(&self) -> &Discrete {
        &self.actions
    }

    /// There is no chance in a corridor, so the seed is not used.
    fn reset(&mut self, _seed: Option<u64>, observation: &mut [f32]) -> Result<(), Error> {
        self.place = 0;
        observation[0] = 0.0;
        Ok(())
    }

    fn step(&mut self, action: &u32, observation: &mut [f32]) -> Result<Step, Error> {
        self.place = if *action == 1 { self.place + 1 } else { self.place.saturating_sub(1) };
        observation[0] = self.place as f32 / LENGTH as f32;
        let terminated = self.place == LENGTH;
        Ok(Step { reward: if terminated { 1.0 } else { -0.01 }, terminated, truncated: false })
    }
}

fn main() -> Result<(), TrainingError> {
    let corridor = Corridor { actions: Discrete { count: 2 }, place: 0 };
    let options = DqnOptions { steps: 30_000, learning_starts: 1000, ..DqnOptions::default() };
    let mut agent = Dqn::cleanrl_with(TimeLimit::new(corridor, 100), options, 1)?;
    let mut episodes = Vec::new();
    while agent.environment_steps() < options.steps {
        episodes.extend(agent.step()?);
    }
    for (when, episodes) in [("first", &episodes[..20]), ("last", &episodes[episodes.len() - 20..])] {
        println!("mean return of the {when} 20 episodes: {:.2}", Returns::of(episodes).mean);
    }
    Ok(())
}
