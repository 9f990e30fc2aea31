//! DQN on CartPole-v1, from nothing to a trained policy: `cargo run --release --example dqn -p torchforge [steps]`.

use std::error::Error;

use torchforge::env::{CartPole, TimeLimit};
use torchforge::nn::DenseDqn;
use torchforge::rl::cleanrl;
use torchforge::{Dqn, DqnOptions, DqnPolicy, Returns, evaluate};

fn main() -> Result<(), Box<dyn Error>> {
    let steps = std::env::args().nth(1).map_or(Ok(500_000), |text| text.parse())?;
    let environment = || TimeLimit::new(CartPole::new(), 500);
    let options = DqnOptions { steps, ..DqnOptions::default() };
    let mut agent = Dqn::cleanrl_with(environment(), options, 1)?;
    let mut episodes = Vec::new();
    while agent.environment_steps() < options.steps {
        episodes.extend(agent.step()?);
        if agent.environment_steps().is_multiple_of(options.steps.div_ceil(10)) {
            let recent = &episodes[episodes.len().saturating_sub(100)..];
            let (mean, loss) = (Returns::of(recent).mean, agent.last_loss());
            println!("step {}: mean return {mean:.1}, loss {loss:?}", agent.environment_steps());
        }
    }
    let learnt = agent.network().online().clone();
    let adam = torchforge::nn::AdamOptions::default();
    let network = DenseDqn::from_networks(learnt.clone(), learnt, 1, cleanrl::DQN_GAMMA, adam)?;
    let played = evaluate(&mut environment(), &mut DqnPolicy::new(network, 0.0, 2)?, 10, 2)?;
    println!("ten greedy episodes: mean return {:.1}", Returns::of(&played).mean);
    Ok(())
}
