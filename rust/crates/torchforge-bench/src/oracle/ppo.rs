//! PPO's update (Schulman et al., 2017), after CleanRL, and the advantages of a rollout (Schulman et al., 2016).

use torchforge_nn::{AdamOptions, Error, PpoLossOptions, TensorReader, TensorWriter};

use super::network::{Activation, Network};
use super::{first, first_actions, mean, unfit};

const GAMMA: f64 = 0.99;
const LAMBDA: f64 = 0.95;

pub(super) fn update(given: &TensorReader<'_>) -> Result<TensorWriter, Error> {
    let mut found = TensorWriter::new();
    compute_advantages(given, &mut found)?;

    let network = |name| Network::read(given, name, (&["0", "2"], &["4"]), Activation::Tanh);
    let (mut actor, mut critic) = (network("actor.")?, network("critic.")?);
    let (inputs, count) = (actor.inputs(), actor.outputs());
    critic.check("the critic", inputs, 1)?;
    let actions = first_actions(given, count)?;
    let field = |name| first(given, name, actions.len());
    let observations = first(given, "observations", actions.len() * inputs)?;
    let PpoLossOptions { clip, entropy_weight, value_weight, largest_gradient_norm, .. } =
        PpoLossOptions::default();
    let rows = actions.len() as f64;

    let policy = actor.forward(&observations);
    let advantages = normalised(&field("advantages")?);
    let old = field("log_probabilities")?;
    let (mut surrogates, mut entropies) = (Vec::new(), Vec::new());
    let mut errors = Vec::new();
    for (row, logits) in policy.outputs.chunks(count).enumerate() {
        let largest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let normaliser = largest + logits.iter().map(|x| (x - largest).exp()).sum::<f64>().ln();
        let logarithms: Vec<f64> = logits.iter().map(|x| x - normaliser).collect();
        let entropy = -logarithms.iter().map(|l| l.exp() * l).sum::<f64>();
        let ratio = (logarithms[actions[row]] - old[row]).exp();
        let free = -advantages[row] * ratio;
        let clipped = -advantages[row] * ratio.clamp(1.0 - clip, 1.0 + clip);
        // By the logarithm of the probability; where the clipped one is larger, the ratio is outside and it is constant.
        let by_logarithm = if free >= clipped { free } else { 0.0 };
        errors.extend(logarithms.iter().enumerate().map(|(action, l)| {
            let chosen = f64::from(u8::from(action == actions[row]));
            (by_logarithm * (chosen - l.exp()) + entropy_weight * l.exp() * (l + entropy)) / rows
        }));
        surrogates.push(free.max(clipped));
        entropies.push(entropy);
    }
    actor.backward(&policy, &errors);

    let values = critic.forward(&observations);
    let (returns, old) = (field("returns")?, field("values")?);
    let (mut losses, mut errors) = (Vec::new(), Vec::new());
    for ((value, wanted), old) in values.outputs.iter().zip(&returns).zip(&old) {
        let (free, change) = (value - wanted, value - old);
        let clipped = old + change.clamp(-clip, clip) - wanted;
        let clipped_slope = if change.abs() <= clip { clipped } else { 0.0 };
        // PyTorch's maximum gives each of two equals half.
        let slope = if free * free > clipped * clipped {
            free
        } else if free * free < clipped * clipped {
            clipped_slope
        } else {
            0.5 * (free + clipped_slope)
        };
        errors.push(value_weight * slope / rows);
        losses.push(0.5 * (free * free).max(clipped * clipped));
    }
    critic.backward(&values, &errors);

    let squares = |network: &Network| {
        network.parameters().flat_map(|each| &each.gradient).map(|gradient| gradient * gradient).sum::<f64>()
    };
    let norm = (squares(&actor) + squares(&critic)).sqrt();
    let shrink = (largest_gradient_norm / (norm + 1e-6)).min(1.0);
    let (policy, value, entropy) =
        (mean(surrogates.into_iter()), mean(losses.into_iter()), mean(entropies.into_iter()));
    for (name, loss) in [
        ("loss", policy - entropy_weight * entropy + value_weight * value),
        ("policy_loss", policy),
        ("value_loss", value),
        ("entropy", entropy),
        ("gradient_norm", norm),
    ] {
        found.push_all(name.into(), vec![], &[loss]);
    }
    for network in [&mut actor, &mut critic] {
        network.parameters_mut().flat_map(|each| &mut each.gradient).for_each(|gradient| *gradient *= shrink);
        network.write_gradients(&mut found);
        network.step(AdamOptions { epsilon: 1e-5, ..AdamOptions::default() });
        network.write_parameters(&mut found);
    }
    Ok(found)
}

/// Less their mean, over their deviation as a sample, to which a little is added.
fn normalised(advantages: &[f64]) -> Vec<f64> {
    let middle = mean(advantages.iter().copied());
    let squares = advantages.iter().map(|a| (a - middle) * (a - middle)).sum::<f64>();
    let deviation = (squares / (advantages.len() as f64 - 1.0)).sqrt();
    advantages.iter().map(|a| (a - middle) / (deviation + 1e-8)).collect()
}

/// Advantages and returns of (steps, environments); flags are those before each step.
fn compute_advantages(given: &TensorReader<'_>, found: &mut TensorWriter) -> Result<(), Error> {
    let shape = given.shape("rollout.rewards")?;
    let [_, environments @ (1..)] = shape[..] else {
        return Err(unfit("rollout.rewards", "(steps, environments), one at least".into(), &shape));
    };
    let field = |name, shape: &[usize]| -> Result<Vec<f64>, Error> {
        Ok(given.f32(&format!("rollout.{name}"), shape)?.into_iter().map(f64::from).collect())
    };
    let (rewards, values, dones) =
        (field("rewards", &shape)?, field("values", &shape)?, field("dones", &shape)?);
    let (mut following, mut done) =
        (field("next_value", &[environments])?, field("next_done", &[environments])?);
    let mut last = vec![0.0; environments];
    let mut advantages = vec![0.0; rewards.len()];
    for place in (0..rewards.len()).rev() {
        let environment = place % environments;
        let goes_on = 1.0 - done[environment];
        let delta = rewards[place] + GAMMA * following[environment] * goes_on - values[place];
        last[environment] = delta + GAMMA * LAMBDA * goes_on * last[environment];
        advantages[place] = last[environment];
        (following[environment], done[environment]) = (values[place], dones[place]);
    }
    let returns: Vec<f64> = advantages.iter().zip(&values).map(|(a, v)| a + v).collect();
    found.push_all("advantages".into(), shape.clone(), &advantages);
    found.push_all("returns".into(), shape, &returns);
    Ok(())
}
