//! DQN on CartPole-v1, from nothing to a trained policy: `cargo run --release --example dqn -p torchforge`.

use std::error::Error;

use torchforge::env::{CartPole, TimeLimit};
use torchforge::{Dqn, DqnOptions, Policy, Returns, TrainingError, evaluate, nn::Mlp};

/// Takes the action of the largest value.
struct Greedy {
    network: Mlp,
    action: u32,
}

impl Policy for Greedy {
    type Action = u32;

    fn act(&mut self, observation: &[f32]) -> Result<&u32, TrainingError> {
        let mut values = [0.0; 2];
        self.network.evaluate(observation, &mut values)?;
        self.action = u32::from(values[1] > values[0]);
        Ok(&self.action)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let environment = || TimeLimit::new(CartPole::new(), 500);
    let options = DqnOptions { steps: 100_000, ..DqnOptions::default() };
    let mut agent = Dqn::cleanrl_with(environment(), options, 1)?;
    let mut episodes = Vec::new();
    while agent.environment_steps() < options.steps {
        episodes.extend(agent.step()?);
        if agent.environment_steps().is_multiple_of(10_000) {
            let recent = &episodes[episodes.len().saturating_sub(20)..];
            println!("step {}: mean return {:.1}", agent.environment_steps(), Returns::of(recent).mean);
        }
    }
    let mut learnt = Greedy { network: agent.network().online().clone(), action: 0 };
    let played = evaluate(&mut environment(), &mut learnt, 10, 2)?;
    println!("ten greedy episodes: mean return {:.1}", Returns::of(&played).mean);
    Ok(())
}
