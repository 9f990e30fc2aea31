//! What trainings of PPO and SAC promise.

use torchforge_env::{AutoresetMode, CartPole, Environment, Pendulum, TimeLimit, VectorEnv};
use torchforge_nn::{
    ActionRange, Activation, AdamOptions, DensePpo, DenseSac, Mlp, PpoLossOptions, SacLossOptions,
    SacNetworks, Temperature, TensorWriter,
};
use torchforge_rl::{
    Episode, GaeOptions, Ppo, PpoOptions, Rollout, Sac, SacOptions, Stream, TrainingError, Trajectory,
    TruncationTrace, advantages_and_returns, gae,
};

const PPO: PpoOptions = PpoOptions {
    iterations: 20,
    rollout_steps: 64,
    minibatches: 4,
    epochs: 4,
    learning_rate: 1e-3,
    anneal_learning_rate: true,
    target_kl: None,
    gae: GaeOptions { gamma: 0.99, lambda: 0.95 },
    normalise: false,
    trace: true,
};

fn ppo(seed: u64, options: PpoOptions) -> Result<Ppo<TimeLimit<CartPole>, DensePpo>, TrainingError> {
    let environments = (0..4).map(|_| TimeLimit::new(CartPole::new(), 500)).collect();
    let environments = VectorEnv::new(environments, AutoresetMode::SameStep)?;
    let mut weights = Stream::Weights.of(seed);
    let mut network = |outputs, gain| {
        let gains = [2_f64.sqrt(), 2_f64.sqrt(), gain];
        Mlp::orthogonal(&[4, 32, 32, outputs], Activation::Tanh, &gains, &mut weights)
    };
    let (actor, critic) = (network(2, 0.01)?, network(1, 1.0)?);
    let rows = 4 * options.rollout_steps / options.minibatches.max(1);
    let networks = DensePpo::new(actor, critic, 4, rows, PpoLossOptions::default(), AdamOptions::default())?;
    Ppo::new(environments, networks, options, seed)
}

fn train_ppo(seed: u64) -> (Vec<Episode>, Vec<u32>) {
    let mut agent = ppo(seed, PPO).unwrap();
    let mut episodes = Vec::new();
    for _ in 0..PPO.iterations {
        agent.iterate(&mut episodes).unwrap();
    }
    assert_eq!((agent.environment_steps(), agent.gradient_steps()), (20 * 256, 20 * 16));
    let trace = agent.trace();
    assert_eq!(trace.update_steps[..17], [[256; 16].as_slice(), &[512]].concat());
    assert_eq!((trace.learning_rates[0], trace.learning_rates[10]), (1e-3, 5e-4));
    assert_eq!((trace.batch_rows[0], trace.wrong_flags), (64, 0));
    (episodes, agent.networks().actor().parameters().iter().map(|value| value.to_bits()).collect())
}

#[test]
fn ppo_gives_the_same_bytes_for_a_seed_and_learns_to_balance() {
    let (episodes, weights) = train_ppo(1);
    assert_eq!((&episodes, &weights), (&train_ppo(1).0, &train_ppo(1).1));
    assert_ne!(weights, train_ppo(2).1);
    let mean = |episodes: &[Episode]| {
        episodes.iter().map(|episode| episode.total_reward).sum::<f64>() / episodes.len() as f64
    };
    let (first, last) = (mean(&episodes[..20]), mean(&episodes[episodes.len() - 20..]));
    assert!(last > 2.0 * first, "returns went from {first} to {last}");
}

/// Gradient steps after two iterations, and the actor.
fn two_iterations(options: PpoOptions) -> (u64, Vec<f32>) {
    let mut agent = ppo(1, options).unwrap();
    for _ in 0..2 {
        agent.iterate(&mut Vec::new()).unwrap();
    }
    (agent.gradient_steps(), agent.networks().actor().parameters().to_vec())
}

#[test]
fn an_iteration_of_ppo_ends_with_the_epoch_that_moves_the_policy_beyond_its_target() {
    let plain = two_iterations(PPO);
    let early = two_iterations(PpoOptions { target_kl: Some(1e-12), ..PPO });
    assert_eq!((plain.0, early.0), (2 * 4 * 4, 2 * 4), "one epoch of four minibatches an iteration");
    assert_ne!(plain.1, early.1);
    assert_eq!(two_iterations(PpoOptions { target_kl: Some(1e3), ..PPO }), plain);
}

#[test]
fn a_learning_rate_that_is_not_annealed_stays() {
    let mut agent = ppo(1, PpoOptions { anneal_learning_rate: false, iterations: 2, ..PPO }).unwrap();
    for _ in 0..2 {
        agent.iterate(&mut Vec::new()).unwrap();
    }
    assert_eq!(agent.trace().learning_rates, [1e-3; 2]);
}

#[test]
fn episodes_of_each_environment_follow_each_other_without_a_gap() {
    let mut next = [0; 4];
    let mut before = None;
    for episode in train_ppo(3).0 {
        let (environment, step) = ((episode.step % 4) as usize, episode.step / 4);
        assert_eq!(step + 1, next[environment] + episode.length, "{episode:?}");
        next[environment] += episode.length;
        assert!(before < Some(episode.step), "in the order of their ends");
        before = Some(episode.step);
    }
}

#[test]
fn ppos_advantages_are_those_of_the_f64_kernel() {
    let mut rng = Stream::Replay.of(5);
    let (steps, environments) = (37, 3);
    let mut draw = |count: usize| (0..count).map(|_| rng.uniform(-1.0, 1.0)).collect::<Vec<f64>>();
    let (rewards, values) = (draw(steps * environments), draw(steps * environments));
    let flags: Vec<f64> = draw(steps * environments).iter().map(|x| f64::from(u8::from(*x > 0.7))).collect();
    let next_values = draw(environments);
    let f32s = |values: &[f64]| values.iter().map(|&value| value as f32).collect::<Vec<f32>>();
    let options = GaeOptions { gamma: 0.99, lambda: 0.95 };
    let (mut advantages, mut returns) = (vec![0.0; rewards.len()], vec![0.0; rewards.len()]);
    let rollout = Rollout {
        rewards: &f32s(&rewards),
        dones: &f32s(&flags),
        values: &f32s(&values),
        next_values: &f32s(&next_values),
    };
    advantages_and_returns(rollout, options, &mut advantages, &mut returns);

    for environment in 0..environments {
        let column = |values: &[f64]| -> Vec<f64> {
            (0..steps).map(|step| values[step * environments + environment]).collect()
        };
        let trajectory =
            Trajectory { rewards: &column(&rewards), values: &column(&values), dones: &column(&flags) };
        let (mut expected, mut expected_returns) = (vec![0.0; steps], vec![0.0; steps]);
        gae(trajectory, next_values[environment], options, &mut expected, &mut expected_returns).unwrap();
        for step in 0..steps {
            let place = step * environments + environment;
            assert!((f64::from(advantages[place]) - expected[step]).abs() < 1e-5);
            assert!((f64::from(returns[place]) - expected_returns[step]).abs() < 1e-5);
        }
    }
}

#[test]
fn options_of_ppo_that_cannot_work_are_errors() {
    let error = ppo(1, PpoOptions { epochs: 0, ..PPO }).err();
    assert_eq!(error, Some(TrainingError::Zero { what: "epochs" }));
    let error = ppo(1, PpoOptions { minibatches: 5, ..PPO }).err();
    assert_eq!(error, Some(TrainingError::Minibatches { rows: 256, parts: 5 }));
    let rows = PpoOptions { rollout_steps: 1 << 40, ..PPO }.minibatch_rows(4);
    assert_eq!(rows, Err(TrainingError::Rollout { rows: 1 << 42 }));
}

const SAC: SacOptions = SacOptions {
    steps: 700,
    learning_starts: 300,
    buffer_capacity: 500,
    batch: 64,
    policy_frequency: 2,
    trace: true,
};

#[test]
fn a_fixed_temperature_leaves_sac_its_rounds() {
    let loss = SacLossOptions { temperature: Temperature::Fixed(0.1), ..SacLossOptions::default() };
    let environment = TimeLimit::new(Pendulum::new(), 200);
    let mut agent = Sac::cleanrl_with_loss(environment, SAC, loss, 1).unwrap();
    while agent.environment_steps() < 310 {
        agent.step().unwrap();
    }
    assert_eq!(agent.trace().policy_steps, [302, 302, 304, 304, 306, 306, 308, 308]);
    assert_eq!((agent.networks().alpha(), agent.last_policy_loss().unwrap().alpha), (0.1, 0.1));
}

fn train_sac(seed: u64) -> (Vec<Episode>, Vec<u8>) {
    let environment = TimeLimit::new(Pendulum::new(), 200);
    let mut weights = Stream::Weights.of(seed);
    let actor = Mlp::new(&[3, 32, 32, 2], &mut weights).unwrap();
    let critics = [0, 1].map(|_| Mlp::new(&[4, 32, 32, 1], &mut weights).unwrap());
    let networks = SacNetworks { actor, targets: critics.clone(), critics, log_alpha: 0.0 };
    let high = environment.action_space().high.clone();
    let range = ActionRange { bias: vec![0.0], scale: high };
    let networks = DenseSac::new(networks, range, SAC.batch, SacLossOptions::default()).unwrap();
    let mut agent = Sac::new(environment, networks, SAC, seed).unwrap();
    let mut episodes = Vec::new();
    while agent.environment_steps() < SAC.steps {
        episodes.extend(agent.step().unwrap());
    }
    assert_eq!(agent.gradient_steps(), 399, "steps 301 to 699");
    let trace = agent.trace();
    assert_eq!(trace.update_steps, (301..700).collect::<Vec<u64>>());
    assert_eq!(trace.target_steps, trace.update_steps);
    assert_eq!(trace.policy_steps[..4], [302, 302, 304, 304]);
    assert_eq!((trace.buffer_rows[0], trace.buffer_rows[398]), (302, 500));
    assert_eq!(agent.truncations(), TruncationTrace::default());
    let mut tensors = TensorWriter::new();
    agent.networks().write("", &mut tensors);
    (episodes, tensors.into_bytes())
}

#[test]
fn sac_learns_the_same_where_its_options_foresaw_fewer_steps() {
    let trained = |steps| {
        let options = SacOptions { steps, ..SAC };
        let mut agent = Sac::cleanrl_with(TimeLimit::new(Pendulum::new(), 200), options, 1).unwrap();
        while agent.environment_steps() < 320 {
            agent.step().unwrap();
        }
        assert_eq!(agent.buffer_capacity(), SAC.buffer_capacity);
        let mut tensors = TensorWriter::new();
        agent.networks().write("", &mut tensors);
        tensors.into_bytes()
    };
    assert!(trained(40) == trained(SAC.steps));
}

#[test]
fn sac_gives_the_same_bytes_for_a_seed_and_another_seed_others() {
    let (episodes, weights) = train_sac(1);
    assert_eq!(episodes.iter().map(|episode| episode.step).collect::<Vec<_>>(), [199, 399, 599]);
    assert!(train_sac(1) == (episodes, weights.clone()));
    assert!(train_sac(2).1 != weights);
}
