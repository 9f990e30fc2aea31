//! Random actions in an environment: `cargo run --release --example random_agent [name]`.

use std::error::Error;

use torchforge_env::{AnyEnvironment, Environment, Pcg64, ids, make};

fn main() -> Result<(), Box<dyn Error>> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "CartPole-v1".into());
    let known = || ids().collect::<Vec<_>>().join(", ");
    let made = make(&name).ok_or_else(|| format!("there is no {name}; there are {}", known()))?;
    let mut rng = Pcg64::new(1);
    let returns = match made {
        AnyEnvironment::Discrete(mut environment) => {
            let count = f64::from(environment.action_space().count);
            play(&mut *environment, || rng.uniform(0.0, count) as u32)?
        }
        AnyEnvironment::Continuous(mut environment) => {
            let space = environment.action_space().clone();
            let bounds = || space.low.iter().zip(&space.high);
            let mut action = || {
                bounds().map(|(&low, &high)| rng.uniform(low.into(), high.into()) as f32).collect::<Vec<_>>()
            };
            play(&mut *environment, &mut action)?
        }
    };
    println!("{name}: returns {returns:?}");
    Ok(())
}

/// The returns of five episodes.
fn play<E, A>(environment: &mut E, mut action: impl FnMut() -> A) -> Result<Vec<f64>, torchforge_env::Error>
where
    E: Environment + ?Sized,
    A: std::borrow::Borrow<E::Action>,
{
    let mut observation = vec![0.0; environment.observation_len()];
    let mut returns = Vec::new();
    for episode in 0..5 {
        environment.reset((episode == 0).then_some(1), &mut observation)?;
        let mut sum = 0.0;
        loop {
            let step = environment.step(action().borrow(), &mut observation)?;
            sum += step.reward;
            if step.done() {
                break;
            }
        }
        returns.push(sum);
    }
    Ok(returns)
}
