//! DQN's update (Mnih et al., 2015).

use torchforge_nn::{AdamOptions, Error, TensorReader, TensorWriter};

use super::network::{Activation, Network};
use super::{first, first_actions, mean};

const GAMMA: f64 = 0.99;

pub(super) fn update(given: &TensorReader<'_>) -> Result<TensorWriter, Error> {
    let network = |name| Network::read(given, name, (&["0", "2"], &["4"]), Activation::Relu);
    let (mut online, target) = (network("online.")?, network("target.")?);
    let (inputs, count) = (online.inputs(), online.outputs());
    target.check("the target network", inputs, count)?;
    let actions = first_actions(given, count)?;
    let field = |name, width| first(given, name, actions.len() * width);
    let (rewards, terminations) = (field("rewards", 1)?, field("terminations", 1)?);

    let next = target.forward(&field("next_observations", inputs)?);
    let best = next.outputs.chunks(count).map(|row| row.iter().copied().fold(f64::NEG_INFINITY, f64::max));
    let wanted = best.zip(&rewards).zip(&terminations).map(|((b, r), ended)| r + GAMMA * b * (1.0 - ended));
    let pass = online.forward(&field("observations", inputs)?);
    let differences: Vec<f64> =
        wanted.enumerate().map(|(row, wanted)| pass.outputs[row * count + actions[row]] - wanted).collect();

    let mut errors = vec![0.0; pass.outputs.len()];
    for (row, difference) in differences.iter().enumerate() {
        errors[row * count + actions[row]] = 2.0 * difference / differences.len() as f64;
    }
    online.backward(&pass, &errors);
    let mut found = TensorWriter::new();
    found.push_all("loss".into(), vec![], &[mean(differences.iter().map(|d| d * d))]);
    online.write_gradients(&mut found);
    online.step(AdamOptions::default());
    online.write_parameters(&mut found);
    Ok(found)
}
