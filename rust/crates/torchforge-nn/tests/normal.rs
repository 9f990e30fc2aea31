//! PPO whose actions are numbers, against a plain loss in `f64` whose gradients are differences.

mod common;

use common::SplitMix;
use torchforge_nn::{
    Activation, Adam, AdamOptions, Error, Mlp, NormalPolicy, NormalPpo, PpoLossOptions, PpoMinibatch,
    PpoUpdate, SimdPath, fill_standard_normal,
};

const BATCH: usize = 37;
const OBSERVATION: usize = 3;
const ACTION: usize = 2;
const HIDDEN: usize = 16;

fn normals(len: usize, rng: &mut SplitMix) -> Vec<f32> {
    let mut numbers = vec![0.0; len];
    fill_standard_normal(rng, &mut numbers);
    numbers
}

fn networks() -> [Mlp; 2] {
    let mut rng = SplitMix(7);
    [(ACTION, 0.5), (1, 1.0)].map(|(outputs, gain)| {
        let sizes = [OBSERVATION, HIDDEN, outputs];
        Mlp::orthogonal(&sizes, Activation::Tanh, &[2_f64.sqrt(), gain], &mut rng).unwrap()
    })
}

const LOG_DEVIATIONS: [f32; ACTION] = [-0.3, 0.2];

fn ppo(options: PpoLossOptions) -> NormalPpo {
    let [actor, critic] = networks();
    let adam = AdamOptions { epsilon: 1e-5, ..AdamOptions::default() };
    NormalPpo::with_log_deviations(actor, &LOG_DEVIATIONS, critic, BATCH, BATCH, options, adam).unwrap()
}

/// A minibatch in which some ratios and some values are clipped.
struct Steps {
    observations: Vec<f32>,
    actions: Vec<f32>,
    log_probabilities: Vec<f32>,
    advantages: Vec<f32>,
    returns: Vec<f32>,
    values: Vec<f32>,
}

impl Steps {
    fn new(seed: u64) -> Self {
        let mut rng = SplitMix(seed);
        let mut numbers = |len| normals(len, &mut rng);
        let log_probabilities = numbers(BATCH).iter().map(|x| -2.5 + 0.3 * x).collect();
        Self {
            observations: numbers(BATCH * OBSERVATION),
            actions: numbers(BATCH * ACTION).iter().map(|x| 0.5 * x).collect(),
            log_probabilities,
            advantages: numbers(BATCH),
            returns: numbers(BATCH),
            values: numbers(BATCH).iter().map(|x| 0.3 * x).collect(),
        }
    }

    fn minibatch(&self) -> PpoMinibatch<'_, f32> {
        PpoMinibatch {
            observations: &self.observations,
            actions: &self.actions,
            log_probabilities: &self.log_probabilities,
            advantages: &self.advantages,
            returns: &self.returns,
            values: &self.values,
        }
    }
}

/// Outputs of a network of one hidden layer, whose parameters are laid out as [`Mlp::parameters`].
fn outputs(parameters: &[f64], outputs: usize, observation: &[f32]) -> Vec<f64> {
    let layer = |parameters: &[f64], inputs: &[f64], count: usize| -> Vec<f64> {
        let (weights, biases) = parameters.split_at(inputs.len() * count);
        let rows = weights.chunks(inputs.len()).zip(biases);
        rows.map(|(row, bias)| bias + row.iter().zip(inputs).map(|(w, x)| w * x).sum::<f64>()).collect()
    };
    let inputs: Vec<f64> = observation.iter().copied().map(f64::from).collect();
    let (first, second) = parameters.split_at((OBSERVATION + 1) * HIDDEN);
    let hidden: Vec<f64> = layer(first, &inputs, HIDDEN).into_iter().map(f64::tanh).collect();
    layer(second, &hidden, outputs)
}

/// Policy loss, value loss and entropy of CleanRL's `ppo_continuous_action.py`.
fn losses(parameters: &[Vec<f64>; 3], steps: &Steps, options: &PpoLossOptions) -> [f64; 3] {
    let [actor, log_deviations, critic] = parameters;
    let number = |values: &[f32], row: usize| f64::from(values[row]);
    let mean = steps.advantages.iter().map(|&x| f64::from(x)).sum::<f64>() / BATCH as f64;
    let squares = steps.advantages.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>();
    let deviation = (squares / (BATCH as f64 - 1.0)).sqrt() + 1e-8;
    let half_ln_tau = std::f64::consts::TAU.ln() / 2.0;
    let [mut policy, mut value] = [0.0; 2];
    for row in 0..BATCH {
        let observation = &steps.observations[row * OBSERVATION..][..OBSERVATION];
        let means = outputs(actor, ACTION, observation);
        let logarithm: f64 = (0..ACTION)
            .map(|j| {
                let action = number(&steps.actions, row * ACTION + j);
                let distance = (action - means[j]) / log_deviations[j].exp();
                -distance * distance / 2.0 - log_deviations[j] - half_ln_tau
            })
            .sum();
        let ratio = (logarithm - number(&steps.log_probabilities, row)).exp();
        let advantage = (number(&steps.advantages, row) - mean) / deviation;
        let clipped = ratio.clamp(1.0 - options.clip, 1.0 + options.clip);
        policy += (-advantage * ratio).max(-advantage * clipped) / BATCH as f64;
        let (found, old) = (outputs(critic, 1, observation)[0], number(&steps.values, row));
        let wanted = number(&steps.returns, row);
        let near = old + (found - old).clamp(-options.clip, options.clip);
        value += (found - wanted).powi(2).max((near - wanted).powi(2)) / (2.0 * BATCH as f64);
    }
    [policy, value, log_deviations.iter().map(|logarithm| logarithm + 0.5 + half_ln_tau).sum()]
}

fn total(parameters: &[Vec<f64>; 3], steps: &Steps, options: &PpoLossOptions) -> f64 {
    let [policy, value, entropy] = losses(parameters, steps, options);
    policy - options.entropy_weight * entropy + options.value_weight * value
}

fn parameters(ppo: &NormalPpo) -> [Vec<f64>; 3] {
    [ppo.actor().parameters(), ppo.log_deviations(), ppo.critic().parameters()]
        .map(|values| values.iter().copied().map(f64::from).collect())
}

fn gradients(ppo: &NormalPpo) -> [Vec<f32>; 3] {
    [ppo.actor_gradients(), ppo.log_deviation_gradients(), ppo.critic_gradients()].map(<[f32]>::to_vec)
}

#[test]
fn losses_and_gradients_are_those_of_the_formulas() {
    let options = PpoLossOptions { entropy_weight: 0.02, ..PpoLossOptions::default() };
    let (mut ppo, steps) = (ppo(options), Steps::new(3));
    let found = ppo.compute_gradients(steps.minibatch()).unwrap();
    let mut given = parameters(&ppo);
    let expected = losses(&given, &steps, &options);
    for (found, expected) in [found.policy, found.value, found.entropy].into_iter().zip(expected) {
        assert!((f64::from(found) - expected).abs() < 1e-5, "{found} {expected}");
    }
    assert!((f64::from(found.total) - total(&given, &steps, &options)).abs() < 1e-5);
    let clipped = ppo.policy_shift(steps.minibatch()).unwrap().clip_fraction;
    assert!((0.2..0.8).contains(&clipped), "some ratios are clipped and some are not: {clipped}");

    const STEP: f64 = 1e-6;
    for (group, found) in gradients(&ppo).iter().enumerate() {
        for (place, &found) in found.iter().enumerate() {
            let middle = given[group][place];
            let [more, less] = [STEP, -STEP].map(|step| {
                given[group][place] = middle + step;
                total(&given, &steps, &options)
            });
            given[group][place] = middle;
            let expected = (more - less) / (2.0 * STEP);
            assert!((f64::from(found) - expected).abs() < 2e-6, "{group} {place}: {found} {expected}");
        }
    }
}

#[test]
fn a_step_cuts_all_gradients_together_and_moves_by_adam() {
    let options = PpoLossOptions { largest_gradient_norm: 0.1, ..PpoLossOptions::default() };
    let (mut ppo, steps) = (ppo(options), Steps::new(4));
    let before = [ppo.actor().parameters(), ppo.log_deviations(), ppo.critic().parameters()].concat();
    let found = ppo.compute_gradients(steps.minibatch()).unwrap();
    let uncut = gradients(&ppo).concat();
    let length = uncut.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt();
    assert!((f64::from(found.gradient_norm) - length).abs() < 1e-5 * length && length > 0.1);
    ppo.update(steps.minibatch(), 3e-4).unwrap();
    let shrink = 0.1 / (length + 1e-6);
    let cut: Vec<f32> = uncut.iter().map(|&x| (f64::from(x) * shrink) as f32).collect();
    let adam = AdamOptions { epsilon: 1e-5, learning_rate: 3e-4, ..AdamOptions::default() };
    let mut expected = before.clone();
    Adam::new(adam, before.len()).step(&mut expected, &cut);
    let after = [ppo.actor().parameters(), ppo.log_deviations(), ppo.critic().parameters()].concat();
    for ((before, after), expected) in before.iter().zip(&after).zip(&expected) {
        assert!((after - expected).abs() < 1e-6, "{after} {expected}");
        assert!((after - before).abs() < 3.1e-4);
    }
    assert_ne!(ppo.log_deviations(), LOG_DEVIATIONS);
}

/// Everything that a few updates, in halves or whole, find and leave.
fn bits(path: SimdPath, threads: usize, halves: bool) -> Vec<u32> {
    let mut ppo = ppo(PpoLossOptions::default()).on_path(path).unwrap().on_threads(threads).unwrap();
    let mut found = Vec::new();
    for seed in 0..20 {
        let steps = Steps::new(seed);
        let (mut actions, mut logarithms) = (normals(5 * ACTION, &mut SplitMix(seed)), [0.0; 5]);
        let seen = &steps.observations[..5 * OBSERVATION];
        ppo.act(seen, &mut actions, &mut logarithms).unwrap();
        let mut values = [0.0; 5];
        ppo.values(seen, &mut values).unwrap();
        found.extend(actions.iter().chain(&logarithms).chain(&values));
        let loss = if halves {
            let loss = ppo.compute_gradients(steps.minibatch()).unwrap();
            let [actor, logarithms, critic] = gradients(&ppo);
            ppo.apply_gradients(&actor, &logarithms, &critic, 1e-3).unwrap();
            loss
        } else {
            ppo.update(steps.minibatch(), 1e-3).unwrap()
        };
        found.extend([loss.total, loss.policy, loss.value, loss.entropy, loss.gradient_norm]);
        let shift = ppo.policy_shift(steps.minibatch()).unwrap();
        found.extend([shift.old_approx_kl, shift.approx_kl, shift.clip_fraction]);
    }
    found.extend(gradients(&ppo).concat());
    found.extend_from_slice(ppo.actor().parameters());
    found.extend_from_slice(ppo.log_deviations());
    found.extend_from_slice(ppo.critic().parameters());
    found.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn every_path_any_threads_and_both_halves_give_the_same_bytes() {
    let expected = bits(SimdPath::Portable, 1, false);
    for path in SimdPath::ALL.into_iter().filter(|path| path.is_available()) {
        assert!(bits(path, 1, false) == expected, "{path}");
    }
    assert!(bits(SimdPath::detect(), 3, false) == expected, "threads");
    assert!(bits(SimdPath::detect(), 1, true) == expected, "halves");
}

#[test]
fn a_fresh_action_has_the_ratio_one() {
    let (mut ppo, mut steps) = (ppo(PpoLossOptions::default()), Steps::new(5));
    let noise = normals(BATCH * ACTION, &mut SplitMix(6));
    steps.actions.copy_from_slice(&noise);
    ppo.act(&steps.observations, &mut steps.actions, &mut steps.log_probabilities).unwrap();
    let shift = ppo.policy_shift(steps.minibatch()).unwrap();
    assert!(shift.approx_kl.abs() < 1e-7 && shift.clip_fraction == 0.0, "{shift:?}");

    let mut means = vec![0.0; BATCH * ACTION];
    let mut logarithms = vec![0.0; BATCH];
    ppo.act(&steps.observations, &mut means, &mut logarithms).unwrap();
    for (place, (action, mean)) in steps.actions.iter().zip(&means).enumerate() {
        let deviation = LOG_DEVIATIONS[place % ACTION].exp();
        assert!((action - mean - deviation * noise[place]).abs() < 1e-6, "{place}");
    }
}

#[test]
fn rows_beyond_the_minibatch_that_would_have_infinite_densities_count_nothing() {
    const ACTIONS: usize = 64;
    let mut rng = SplitMix(3);
    let [actor, critic] = [(ACTIONS, 0.01), (1, 1.0)].map(|(outputs, gain)| {
        Mlp::orthogonal(&[OBSERVATION, HIDDEN, outputs], Activation::Tanh, &[2_f64.sqrt(), gain], &mut rng)
            .unwrap()
    });
    let (options, adam) = (PpoLossOptions::default(), AdamOptions::default());
    let deviations = [-3.0; ACTIONS];
    let mut ppo =
        NormalPpo::with_log_deviations(actor, &deviations, critic, BATCH, BATCH, options, adam).unwrap();
    let steps = Steps::new(5);
    let actions = normals(BATCH * ACTIONS, &mut rng).iter().map(|x| 0.05 * x).collect::<Vec<_>>();
    let minibatch = || PpoMinibatch {
        actions: &actions,
        log_probabilities: &[130.0; BATCH],
        advantages: &[1.0; BATCH],
        ..steps.minibatch()
    };
    let shift = ppo.policy_shift(minibatch()).unwrap();
    assert!(shift.approx_kl.is_finite(), "{shift:?}");
    let loss = ppo.update(minibatch(), 1e-3).unwrap();
    assert!(loss.policy.is_finite(), "{loss:?}");
    assert!(ppo.log_deviations().iter().all(|value| value.is_finite()));
}

#[test]
fn what_does_not_fit_is_refused() {
    let made = |log_deviations: &[f32]| {
        let [actor, critic] = networks();
        let (options, adam) = (PpoLossOptions::default(), AdamOptions::default());
        NormalPpo::with_log_deviations(actor, log_deviations, critic, 1, BATCH, options, adam).map(drop)
    };
    assert!(made(&LOG_DEVIATIONS).is_ok());
    assert!(matches!(made(&[0.0]), Err(Error::Len { what: "actor_logstd", expected: 2, found: 1 })));
    let (mut ppo, steps) = (ppo(PpoLossOptions::default()), Steps::new(8));
    let short = PpoMinibatch { actions: &steps.actions[..BATCH], ..steps.minibatch() };
    assert!(matches!(ppo.update(short, 1e-3), Err(Error::Len { what: "actions", .. })));
    let refused = ppo.act(&steps.observations, &mut [0.0], &mut [0.0; BATCH]);
    assert!(matches!(refused, Err(Error::Len { what: "actions", .. })));
}
