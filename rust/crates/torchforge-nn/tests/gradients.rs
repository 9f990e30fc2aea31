//! The gradients of every loss, layer by layer, beside differences of the same loss in `f64`, written as plainly as
//! possible. `oracle.rs` has DQN's, and `normal.rs` those of policies whose actions are numbers.

mod common;

use common::{Data, SplitMix};
use torchforge_nn::{
    ActionRange, Activation, AdamOptions, DensePpo, DenseSac, Mlp, PpoLossOptions, PpoMinibatch,
    SacLossOptions, SacMinibatch, SacNetworks, fill_standard_normal,
};

const BATCH: usize = 19;
const STEP: f64 = 1e-6;
/// Of a tensor's largest gradient.
const TOLERANCE: f64 = 2e-5;

/// A network in `f64`.
#[derive(Clone)]
struct Plain {
    sizes: Vec<usize>,
    activation: Activation,
    parameters: Vec<f64>,
}

impl Plain {
    fn of(network: &Mlp, activation: Activation) -> Self {
        let parameters = network.parameters().iter().copied().map(f64::from).collect();
        Self { sizes: network.sizes(), activation, parameters }
    }

    fn outputs(&self, inputs: &[f64]) -> Vec<f64> {
        let (mut values, mut rest) = (inputs.to_vec(), &self.parameters[..]);
        for (number, pair) in self.sizes.windows(2).enumerate() {
            let (weight, after) = rest.split_at(pair[0] * pair[1]);
            let (bias, after) = after.split_at(pair[1]);
            rest = after;
            if number > 0 {
                values.iter_mut().for_each(|value| {
                    *value = match self.activation {
                        Activation::Relu => value.max(0.0),
                        Activation::Tanh => value.tanh(),
                    };
                });
            }
            let output = |o: usize| bias[o] + dot(&values, &weight[o * pair[0]..(o + 1) * pair[0]]);
            values = (0..pair[1]).map(output).collect();
        }
        values
    }

    /// Sees that gradients are those of a loss of this network, weight by weight and bias by bias.
    fn check(&self, what: &str, gradients: &[f32], loss: impl Fn(&Self) -> f64) {
        assert_eq!(gradients.len(), self.parameters.len());
        let mut first = 0;
        let tensors = self.sizes.windows(2).flat_map(|pair| [pair[0] * pair[1], pair[1]]);
        for (number, len) in tensors.enumerate() {
            let difference = |place: usize| {
                let moved = |step: f64| {
                    let mut moved = self.clone();
                    moved.parameters[place] += step;
                    loss(&moved)
                };
                (moved(STEP) - moved(-STEP)) / (2.0 * STEP)
            };
            let expected: Vec<f64> = (first..first + len).map(difference).collect();
            let largest = expected.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
            for (place, (found, expected)) in gradients[first..].iter().zip(&expected).enumerate() {
                let apart = (f64::from(*found) - expected).abs();
                let kind = ["weight", "bias"][number % 2];
                assert!(
                    apart <= TOLERANCE * largest + 1e-8,
                    "{what}, layer {}, {kind} {place}: {found}, not {expected}",
                    number / 2
                );
            }
            first += len;
        }
    }
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().copied().map(f64::from).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// A minibatch in which some ratios and some values are clipped.
struct Steps {
    data: Data,
    log_probabilities: Vec<f32>,
}

impl Steps {
    fn new() -> Self {
        let data = Data::new(&[4, 3], BATCH, &mut SplitMix(4));
        let log_probabilities = data.rewards.iter().map(|x| -1.1 + 0.3 * x).collect();
        Self { data, log_probabilities }
    }

    fn minibatch(&self) -> PpoMinibatch<'_> {
        PpoMinibatch {
            observations: &self.data.observations,
            actions: &self.data.actions,
            log_probabilities: &self.log_probabilities,
            advantages: &self.data.next_observations[..BATCH],
            returns: &self.data.next_observations[BATCH..2 * BATCH],
            values: &self.data.next_observations[2 * BATCH..3 * BATCH],
        }
    }
}

/// PPO's loss: the policy's, the value's and the entropy's with their weights.
fn ppo_loss(actor: &Plain, critic: &Plain, given: PpoMinibatch<'_>, options: PpoLossOptions) -> f64 {
    let mut advantages = wide(given.advantages);
    if options.normalise_advantages {
        let middle = mean(&advantages);
        let squares: f64 = advantages.iter().map(|x| (x - middle).powi(2)).sum();
        let deviation = (squares / (BATCH - 1) as f64).sqrt();
        advantages.iter_mut().for_each(|x| *x = (*x - middle) / (deviation + 1e-8));
    }
    let (low, high) = (1.0 - options.clip, 1.0 + options.clip);
    let mut losses = [vec![], vec![], vec![]];
    for (row, observation) in wide(given.observations).chunks(4).enumerate() {
        let logits = actor.outputs(observation);
        let sum: f64 = logits.iter().map(|x| x.exp()).sum();
        let logarithms: Vec<f64> = logits.iter().map(|x| x - sum.ln()).collect();
        let ratio = (logarithms[given.actions[row] as usize] - f64::from(given.log_probabilities[row])).exp();
        let advantage = advantages[row];
        losses[0].push((-advantage * ratio).max(-advantage * ratio.clamp(low, high)));
        let (value, old, wanted) =
            (critic.outputs(observation)[0], f64::from(given.values[row]), f64::from(given.returns[row]));
        let near = old + (value - old).clamp(-options.clip, options.clip);
        let (plain, clipped) = ((value - wanted).powi(2), (near - wanted).powi(2));
        losses[1].push(0.5 * if options.clip_values { plain.max(clipped) } else { plain });
        losses[2].push(-logarithms.iter().map(|x| x.exp() * x).sum::<f64>());
    }
    let [policy, value, entropy] = losses.each_ref().map(|each| mean(each));
    policy - options.entropy_weight * entropy + options.value_weight * value
}

#[test]
fn each_part_of_ppos_loss_has_the_gradients_of_the_mathematics_in_every_layer() {
    let policy = PpoLossOptions { entropy_weight: 0.0, value_weight: 0.0, ..PpoLossOptions::default() };
    let parts = [
        ("policy", policy),
        ("policy of plain advantages", PpoLossOptions { normalise_advantages: false, ..policy }),
        ("entropy", PpoLossOptions { entropy_weight: 3.0, ..policy }),
        ("clipped value", PpoLossOptions { value_weight: 0.7, ..policy }),
        ("plain value", PpoLossOptions { value_weight: 0.7, clip_values: false, ..policy }),
        ("all", PpoLossOptions::default()),
    ];
    let steps = Steps::new();
    for activation in [Activation::Tanh, Activation::Relu] {
        let mut rng = SplitMix(3);
        let mut network = |sizes: &[usize]| Mlp::new(sizes, &mut rng).unwrap().with_activation(activation);
        let (actor, critic) = (network(&[4, 9, 7, 3]), network(&[4, 8, 6, 1]));
        let (plain_actor, plain_critic) = (Plain::of(&actor, activation), Plain::of(&critic, activation));
        for (name, options) in parts {
            let adam = AdamOptions::default();
            let mut ppo = DensePpo::new(actor.clone(), critic.clone(), 1, BATCH, options, adam).unwrap();
            let loss = ppo.compute_gradients(steps.minibatch()).unwrap();
            let expected = ppo_loss(&plain_actor, &plain_critic, steps.minibatch(), options);
            assert!((f64::from(loss.total) - expected).abs() < 1e-5, "{name}: {loss:?}, not {expected}");
            let what = |network| format!("{name}, {activation:?}, {network}");
            plain_actor.check(&what("actor"), ppo.actor_gradients(), |actor| {
                ppo_loss(actor, &plain_critic, steps.minibatch(), options)
            });
            plain_critic.check(&what("critic"), ppo.critic_gradients(), |critic| {
                ppo_loss(&plain_actor, critic, steps.minibatch(), options)
            });
        }
    }
}

const OBSERVATION: usize = 3;
const ACTION: usize = 2;
const RANGE: ([f64; ACTION], [f64; ACTION]) = ([0.5, 0.0], [2.0, 1.0]);
const GAMMA: f64 = 0.99;

/// SAC's networks in `f64`.
#[derive(Clone)]
struct PlainSac {
    actor: Plain,
    critics: [Plain; 2],
    targets: [Plain; 2],
    log_alpha: f64,
}

/// A minibatch and noise.
struct Transitions {
    observations: Vec<f32>,
    next_observations: Vec<f32>,
    actions: Vec<f32>,
    rewards: Vec<f32>,
    terminations: Vec<f32>,
    noise: Vec<f32>,
}

impl Transitions {
    fn new() -> Self {
        let mut rng = SplitMix(8);
        let mut normal = |len| {
            let mut numbers = vec![0.0; len];
            fill_standard_normal(&mut rng, &mut numbers);
            numbers
        };
        Self {
            observations: normal(OBSERVATION * BATCH),
            next_observations: normal(OBSERVATION * BATCH),
            actions: normal(ACTION * BATCH),
            rewards: normal(BATCH),
            terminations: (0..BATCH).map(|row| f32::from(u8::from(row % 7 == 3))).collect(),
            noise: normal(ACTION * BATCH).iter().map(|x| 0.3 * x).collect(),
        }
    }

    fn minibatch(&self) -> SacMinibatch<'_> {
        SacMinibatch {
            observations: &self.observations,
            next_observations: &self.next_observations,
            actions: &self.actions,
            rewards: &self.rewards,
            terminations: &self.terminations,
        }
    }
}

impl PlainSac {
    /// An action and the logarithm of its density.
    fn draw(&self, observation: &[f64], noise: &[f64]) -> (Vec<f64>, f64) {
        let outputs = self.actor.outputs(observation);
        let (mut actions, mut logarithm) = (vec![], 0.0);
        for place in 0..ACTION {
            let deviation = -5.0 + 3.5 * (outputs[ACTION + place].tanh() + 1.0);
            let squashed = (outputs[place] + deviation.exp() * noise[place]).tanh();
            let (bias, scale) = (RANGE.0[place], RANGE.1[place]);
            actions.push(squashed * scale + bias);
            logarithm += -0.5 * noise[place].powi(2) - deviation - 0.5 * (2.0 * std::f64::consts::PI).ln();
            logarithm -= (scale * (1.0 - squashed * squashed) + 1e-6).ln();
        }
        (actions, logarithm)
    }

    fn smaller(critics: &[Plain; 2], observation: &[f64], action: &[f64]) -> f64 {
        let seen = [observation, action].concat();
        critics[0].outputs(&seen)[0].min(critics[1].outputs(&seen)[0])
    }

    fn critic_loss(&self, given: &Transitions) -> f64 {
        let (next, noise) = (wide(&given.next_observations), wide(&given.noise));
        let (observations, actions) = (wide(&given.observations), wide(&given.actions));
        let row_loss = |row: usize| {
            let (from, taken) =
                (row * OBSERVATION..(row + 1) * OBSERVATION, row * ACTION..(row + 1) * ACTION);
            let (action, logarithm) = self.draw(&next[from.clone()], &noise[taken.clone()]);
            let smaller = Self::smaller(&self.targets, &next[from.clone()], &action);
            let soft = smaller - self.log_alpha.exp() * logarithm;
            let alive = 1.0 - f64::from(given.terminations[row]);
            let wanted = f64::from(given.rewards[row]) + alive * GAMMA * soft;
            let seen = [&observations[from], &actions[taken]].concat();
            self.critics.iter().map(|critic| (critic.outputs(&seen)[0] - wanted).powi(2)).sum()
        };
        mean(&(0..BATCH).map(row_loss).collect::<Vec<f64>>())
    }

    /// The mean of what is said of each row's action and the logarithm of its density.
    fn drawn(&self, given: &Transitions, of: impl Fn(&[f64], &[f64], f64) -> f64) -> f64 {
        let (observations, noise) = (wide(&given.observations), wide(&given.noise));
        let rows = observations.chunks(OBSERVATION).zip(noise.chunks(ACTION));
        let said = rows.map(|(observation, noise)| {
            let (action, logarithm) = self.draw(observation, noise);
            of(observation, &action, logarithm)
        });
        mean(&said.collect::<Vec<f64>>())
    }

    fn policy_loss(&self, given: &Transitions) -> f64 {
        self.drawn(given, |observation, action, logarithm| {
            self.log_alpha.exp() * logarithm - Self::smaller(&self.critics, observation, action)
        })
    }

    fn temperature_loss(&self, given: &Transitions) -> f64 {
        self.drawn(given, |_, _, logarithm| -self.log_alpha.exp() * (logarithm - ACTION as f64))
    }
}

fn sac() -> (DenseSac, PlainSac) {
    let mut rng = SplitMix(5);
    let mut critic = || Mlp::new(&[OBSERVATION + ACTION, 9, 7, 1], &mut rng).unwrap();
    let (critics, targets) = ([critic(), critic()], [critic(), critic()]);
    let actor = Mlp::new(&[OBSERVATION, 8, 6, 2 * ACTION], &mut rng).unwrap();
    let plain = |network: &Mlp| Plain::of(network, Activation::Relu);
    let networks = PlainSac {
        actor: plain(&actor),
        critics: critics.each_ref().map(plain),
        targets: targets.each_ref().map(plain),
        log_alpha: f64::from(-0.4_f32),
    };
    let (bias, scale) = (RANGE.0.map(|x| x as f32).to_vec(), RANGE.1.map(|x| x as f32).to_vec());
    let given = SacNetworks { actor, critics, targets, log_alpha: -0.4 };
    let options = SacLossOptions::default();
    (DenseSac::new(given, ActionRange { bias, scale }, BATCH, options).unwrap(), networks)
}

#[test]
fn the_critics_of_sac_have_the_gradients_of_the_mathematics_in_every_layer() {
    let ((mut sac, plain), given) = (sac(), Transitions::new());
    let loss = sac.compute_critic_gradients(given.minibatch(), &given.noise).unwrap();
    let expected = plain.critic_loss(&given);
    assert!((f64::from(loss.sum) - expected).abs() < 1e-5 * expected, "{loss:?}, not {expected}");
    for (number, gradients) in sac.critic_gradients().into_iter().enumerate() {
        plain.critics[number].check(&format!("critic {number}"), gradients, |critic| {
            let mut moved = plain.clone();
            moved.critics[number] = critic.clone();
            moved.critic_loss(&given)
        });
    }
}

#[test]
fn the_policy_of_sac_has_the_gradients_of_the_mathematics_in_every_layer() {
    let ((mut sac, plain), given) = (sac(), Transitions::new());
    let loss = sac.compute_policy_gradients(&given.observations, &given.noise).unwrap();
    let expected = plain.policy_loss(&given);
    assert!((f64::from(loss) - expected).abs() < 1e-5, "{loss}, not {expected}");
    plain.actor.check("policy", sac.policy_gradients(), |actor| {
        PlainSac { actor: actor.clone(), ..plain.clone() }.policy_loss(&given)
    });
}

#[test]
fn the_temperature_of_sac_has_the_gradient_of_the_mathematics() {
    let ((mut sac, plain), given) = (sac(), Transitions::new());
    let found = sac.compute_temperature_gradient(&given.observations, &given.noise).unwrap();
    let moved =
        |step: f64| PlainSac { log_alpha: plain.log_alpha + step, ..plain.clone() }.temperature_loss(&given);
    let expected = (moved(STEP) - moved(-STEP)) / (2.0 * STEP);
    assert!((f64::from(found) - expected).abs() < TOLERANCE * expected.abs(), "{found}, not {expected}");
}
