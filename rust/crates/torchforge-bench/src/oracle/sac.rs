//! SAC's update (Haarnoja et al., 2018), after CleanRL: the critics, then two rounds of policy and temperature, then the
//! targets. Actions have one dimension.

use torchforge_nn::{Error, SacLossOptions, TensorReader, TensorWriter};

use super::network::{Activation, Network, Parameter, Pass};
use super::{all, first, mean, unfit};
use crate::parity::len_of_one;

/// Half the range of the actions, whose middle is zero: as the parity updates have it.
const SCALE: f64 = 2.0;
const LOG_DEVIATION: (f64, f64) = (-5.0, 2.0);
const EPSILON: f64 = 1e-6;
/// Minus the actions' dimension.
const TARGET_ENTROPY: f64 = -1.0;
const ROUNDS: usize = 2;

/// What the actor draws in one row.
struct Drawn {
    action: f64,
    log_probability: f64,
    squashed: f64,
    /// Standard deviation times noise.
    spread: f64,
    /// The tanh of the raw log deviation.
    raw: f64,
}

/// Actions of a pass of the actor, whose outputs are (mean, raw log deviation).
fn draw(pass: &Pass, noise: &[f64]) -> Vec<Drawn> {
    let (lowest, highest) = LOG_DEVIATION;
    let rows = pass.outputs.as_chunks::<2>().0.iter().zip(noise);
    let drawn = rows.map(|(&[mean, raw], noise)| {
        let raw = raw.tanh();
        let log_deviation = lowest + 0.5 * (highest - lowest) * (raw + 1.0);
        let spread = log_deviation.exp() * noise;
        let squashed = (mean + spread).tanh();
        let normal = -0.5 * noise * noise - log_deviation - 0.5 * std::f64::consts::TAU.ln();
        let log_probability = normal - (SCALE * (1.0 - squashed * squashed) + EPSILON).ln();
        Drawn { action: squashed * SCALE, log_probability, squashed, spread, raw }
    });
    drawn.collect()
}

/// Rows of an observation and the action beside it.
fn beside(observations: &[f64], actions: impl ExactSizeIterator<Item = f64>) -> Vec<f64> {
    let width = observations.len() / actions.len();
    observations
        .chunks(width)
        .zip(actions)
        .flat_map(|(row, action)| row.iter().copied().chain([action]))
        .collect()
}

/// Everything that learns.
struct Sac {
    options: SacLossOptions,
    actor: Network,
    critics: [Network; 2],
    targets: [Network; 2],
    log_alpha: Parameter,
}

pub(super) fn update(given: &TensorReader<'_>) -> Result<TensorWriter, Error> {
    let critic = |name| Network::read(given, name, (&["fc1", "fc2"], &["fc3"]), Activation::Relu);
    let actor_layers: (&[&str], &[&str]) = (&["fc1", "fc2"], &["fc_mean", "fc_logstd"]);
    let mut sac = Sac {
        options: SacLossOptions::default(),
        actor: Network::read(given, "actor.", actor_layers, Activation::Relu)?,
        critics: [critic("qf1.")?, critic("qf2.")?],
        targets: [critic("qf1_target.")?, critic("qf2_target.")?],
        log_alpha: Parameter::read(given, "log_alpha".into())?,
    };
    if sac.log_alpha.values.len() != 1 {
        return Err(unfit("log_alpha", "one number".into(), &given.shape("log_alpha")?));
    }
    let mut found = TensorWriter::new();
    let mut write = |name: &str, value| found.push_all(name.into(), vec![], &[value]);

    let width = sac.actor.inputs();
    sac.actor.check("the actor", width, 2)?;
    for critic in sac.critics.iter().chain(&sac.targets) {
        critic.check("a critic", width + 1, 1)?;
    }
    let round = len_of_one(&all(given, "rewards")?, &given.shape("rewards")?);
    let field = |name: &str, width| first(given, name, round * width);
    write("qf_loss", sac.update_critics(field)?);
    let critics = sac.critics.clone();
    let observations = field("observations", width)?;
    let (policy_noise, alpha_noise) = (field("noise.policy", ROUNDS)?, field("noise.alpha", ROUNDS)?);
    let mut first_round = None;
    for (policy_noise, alpha_noise) in policy_noise.chunks(round).zip(alpha_noise.chunks(round)) {
        let actor_loss = sac.update_actor(&observations, policy_noise);
        let actor = sac.actor.clone();
        let alpha_loss = sac.update_temperature(&observations, alpha_noise);
        first_round.get_or_insert((actor_loss, actor, alpha_loss, sac.log_alpha.clone()));
    }
    sac.move_targets();

    let (actor_loss, actor, alpha_loss, log_alpha) = first_round.expect("noise for a round at least");
    write("actor_loss", actor_loss);
    write("alpha_loss", alpha_loss);
    write("alpha", log_alpha.values[0].exp());
    critics.iter().chain([&actor]).for_each(|network| network.write_gradients(&mut found));
    log_alpha.write("gradient", &log_alpha.gradient, &mut found);
    for network in sac.critics.iter().chain(&sac.targets).chain([&sac.actor]) {
        network.write_parameters(&mut found);
    }
    sac.log_alpha.write("parameter", &sac.log_alpha.values, &mut found);
    Ok(found)
}

impl Sac {
    fn alpha(&self) -> f64 {
        self.log_alpha.values[0].exp()
    }

    /// One step of both critics towards the targets' smaller value; returns the sum of their losses.
    ///
    /// `field` reads a tensor of the first minibatch, of so many values a row.
    fn update_critics(
        &mut self,
        field: impl Fn(&str, usize) -> Result<Vec<f64>, Error>,
    ) -> Result<f64, Error> {
        let width = self.actor.inputs();
        let next_observations = field("next_observations", width)?;
        let next = draw(&self.actor.forward(&next_observations), &field("noise.next", 1)?);
        let rows = next.len();
        let next_inputs = beside(&next_observations, next.iter().map(|drawn| drawn.action));
        let [one, other] = self.targets.each_ref().map(|target| target.forward(&next_inputs).outputs);
        let (rewards, terminations) = (field("rewards", 1)?, field("terminations", 1)?);
        let wanted: Vec<f64> = (0..rows)
            .map(|row| {
                let soft = one[row].min(other[row]) - self.alpha() * next[row].log_probability;
                rewards[row] + (1.0 - terminations[row]) * self.options.gamma * soft
            })
            .collect();
        let inputs = beside(&field("observations", width)?, field("actions", 1)?.into_iter());
        let mut loss = 0.0;
        for critic in &mut self.critics {
            let pass = critic.forward(&inputs);
            let differences: Vec<f64> = pass.outputs.iter().zip(&wanted).map(|(q, y)| q - y).collect();
            let errors: Vec<f64> = differences.iter().map(|d| 2.0 * d / rows as f64).collect();
            critic.backward(&pass, &errors);
            critic.step(self.options.critic_adam);
            loss += mean(differences.iter().map(|d| d * d));
        }
        Ok(loss)
    }

    /// One step of the actor towards a larger smaller value and more entropy; returns its loss.
    fn update_actor(&mut self, observations: &[f64], noise: &[f64]) -> f64 {
        let pass = self.actor.forward(observations);
        let drawn = draw(&pass, noise);
        let (rows, alpha) = (drawn.len(), self.alpha());
        let inputs = beside(observations, drawn.iter().map(|drawn| drawn.action));
        let passes = self.critics.each_ref().map(|critic| critic.forward(&inputs));
        let [one, other] = passes.each_ref().map(|pass| &pass.outputs);
        let mut by_action = vec![0.0; rows];
        for (critic, pass) in self.critics.iter().zip(&passes) {
            let errors: Vec<f64> = (0..rows)
                .map(|row| {
                    // PyTorch's minimum gives each of two equals half.
                    let share = if one[row] == other[row] { 0.5 } else { 1.0 };
                    if pass.outputs[row] == one[row].min(other[row]) { -share / rows as f64 } else { 0.0 }
                })
                .collect();
            let back = critic.clone().backward(pass, &errors);
            let width = back.len() / rows;
            for (sum, row) in by_action.iter_mut().zip(back.chunks(width)) {
                *sum += row[width - 1];
            }
        }
        let (lowest, highest) = LOG_DEVIATION;
        let weight = alpha / rows as f64;
        let by_outputs = |(drawn, by_action): (&Drawn, &f64)| {
            let slope = SCALE * (1.0 - drawn.squashed * drawn.squashed);
            let by_mean = by_action * slope + weight * 2.0 * drawn.squashed * slope / (slope + EPSILON);
            let by_log_deviation = by_mean * drawn.spread - weight;
            [by_mean, by_log_deviation * 0.5 * (highest - lowest) * (1.0 - drawn.raw * drawn.raw)]
        };
        let errors: Vec<f64> = drawn.iter().zip(&by_action).flat_map(by_outputs).collect();
        self.actor.backward(&pass, &errors);
        self.actor.step(self.options.policy_adam);
        mean((0..rows).map(|row| alpha * drawn[row].log_probability - one[row].min(other[row])))
    }

    /// One step of the temperature; returns its loss, which is a multiple of alpha and so its own derivative by alpha's
    /// logarithm.
    fn update_temperature(&mut self, observations: &[f64], noise: &[f64]) -> f64 {
        let drawn = draw(&self.actor.forward(observations), noise);
        let loss = -self.alpha() * mean(drawn.iter().map(|drawn| drawn.log_probability + TARGET_ENTROPY));
        self.log_alpha.gradient = vec![loss];
        self.log_alpha.step(self.options.critic_adam);
        loss
    }

    fn move_targets(&mut self) {
        let tau = self.options.tau;
        for (target, critic) in self.targets.iter_mut().zip(&self.critics) {
            for (target, critic) in target.parameters_mut().zip(critic.parameters()) {
                for (target, critic) in target.values.iter_mut().zip(&critic.values) {
                    *target = tau * critic + (1.0 - tau) * *target;
                }
            }
        }
    }
}
