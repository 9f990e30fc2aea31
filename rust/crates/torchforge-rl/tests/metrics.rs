//! What trainings tell whoever asks, and that asking changes nothing.

use torchforge_env::{AutoresetMode, CartPole, Pendulum, TimeLimit, VectorEnv};
use torchforge_rl::{Dqn, DqnMetrics, DqnOptions, Ppo, PpoMetrics, PpoOptions, Sac, SacMetrics, SacOptions};

fn cart_pole() -> TimeLimit<CartPole> {
    TimeLimit::new(CartPole::new(), 500)
}

#[test]
fn each_gradient_step_of_dqn_is_told_once_with_its_loss_and_values() {
    let options = DqnOptions { learning_starts: 200, trace: true, ..DqnOptions::default() };
    let mut agent = Dqn::cleanrl_with(cart_pole(), options, 1).unwrap();
    let mut unobserved = Dqn::cleanrl_with(cart_pole(), options, 1).unwrap();
    let mut told: Vec<DqnMetrics> = Vec::new();
    for _ in 0..600 {
        agent.step_observed(&mut |metrics| told.push(metrics)).unwrap();
        unobserved.step().unwrap();
        assert_eq!(told.last().map(|metrics| metrics.loss), unobserved.last_loss());
    }
    assert_eq!(agent.network().online().parameters(), unobserved.network().online().parameters());
    let trace = unobserved.trace();
    assert_eq!(told.iter().map(|metrics| metrics.environment_step).collect::<Vec<_>>(), trace.update_steps);
    assert_eq!(told.iter().map(|metrics| metrics.epsilon).collect::<Vec<_>>(), trace.epsilons);
    assert_eq!(told.last().unwrap().gradient_steps, 39);
    // Values begin near zero and grow towards the rewards of one a step.
    let (first, last) = (told[0].mean_value, told[38].mean_value);
    assert!(first.abs() < 0.2 && last > first + 0.2, "{first} {last}");
}

#[test]
fn each_iteration_of_ppo_is_told_once_with_losses_divergence_and_explained_variance() {
    let options = PpoOptions { iterations: 16, ..PpoOptions::default() };
    let make = || {
        let environments = VectorEnv::new((0..4).map(|_| cart_pole()).collect(), AutoresetMode::SameStep);
        Ppo::cleanrl_with(environments.unwrap(), options, 1).unwrap()
    };
    let (mut agent, mut unobserved) = (make(), make());
    let mut told: Vec<PpoMetrics> = Vec::new();
    for iteration in 1..=options.iterations {
        agent.iterate_observed(&mut Vec::new(), &mut |metrics| told.push(metrics)).unwrap();
        unobserved.iterate(&mut Vec::new()).unwrap();
        let metrics = told.last().unwrap();
        assert_eq!((metrics.iterations, metrics.environment_steps), (iteration, 512 * iteration));
        assert_eq!((metrics.gradient_steps, Some(metrics.loss)), (16 * iteration, unobserved.last_loss()));
        assert!((0.0..0.1).contains(&metrics.shift.approx_kl), "{metrics:?}");
        assert!((0.0..=1.0).contains(&metrics.shift.clip_fraction), "{metrics:?}");
        assert!((0.0..=2_f32.ln() + 1e-6).contains(&metrics.loss.entropy), "{metrics:?}");
        assert!(metrics.explained_variance <= 1.0, "{metrics:?}");
    }
    assert_eq!(told.len() as u64, options.iterations);
    assert_eq!(agent.networks().actor().parameters(), unobserved.networks().actor().parameters());
    assert_eq!((told[0].learning_rate, told[8].learning_rate), (2.5e-4, 1.25e-4));
    assert!(told.iter().any(|metrics| metrics.shift.approx_kl > 1e-4), "the policy moves");
}

#[test]
fn each_update_of_sac_is_told_once_with_the_policys_last() {
    let options = SacOptions { learning_starts: 60, batch: 16, steps: 100, ..SacOptions::default() };
    let make = || Sac::cleanrl_with(TimeLimit::new(Pendulum::new(), 200), options, 1).unwrap();
    let (mut agent, mut unobserved) = (make(), make());
    let mut told: Vec<SacMetrics> = Vec::new();
    for _ in 0..options.steps {
        agent.step_observed(&mut |metrics| told.push(metrics)).unwrap();
        unobserved.step().unwrap();
        let last = told.last().map(|metrics| (Some(metrics.critics), metrics.policy));
        assert_eq!(last.unwrap_or_default(), (unobserved.last_critic_loss(), unobserved.last_policy_loss()));
    }
    let steps = told.iter().map(|metrics| metrics.environment_step);
    assert_eq!(steps.collect::<Vec<_>>(), (61..100).collect::<Vec<u64>>());
    assert!(told[0].policy.is_none() && told[1].policy.is_some(), "the policy learns in even steps");
    let SacMetrics { critics, .. } = told[38];
    assert!((critics.sum - critics.each[0] - critics.each[1]).abs() <= 1e-5 * critics.sum);
    assert!(critics.values.iter().all(|value| *value < 0.0), "rewards are costs: {critics:?}");
}
