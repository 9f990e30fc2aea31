//! DQN with transitions drawn by priority, and returns over several steps.

use torchforge_data::PriorityOptions;
use torchforge_env::{CartPole, TimeLimit};
use torchforge_nn::{AdamOptions, DenseDqn, DqnUpdate, Error, Minibatch};
use torchforge_rl::{Dqn, DqnOptions, DqnPriorities, TrainingError, cleanrl};

fn cart_pole() -> TimeLimit<CartPole> {
    TimeLimit::new(CartPole::new(), 500)
}

fn trained(options: DqnOptions) -> (Dqn<TimeLimit<CartPole>, DenseDqn>, Vec<f64>) {
    let mut agent = Dqn::cleanrl_with(cart_pole(), options, 1).unwrap();
    let mut returns = Vec::new();
    while agent.environment_steps() < options.steps {
        returns.extend(agent.step().unwrap().map(|episode| episode.total_reward));
    }
    (agent, returns)
}

fn bits(agent: &Dqn<TimeLimit<CartPole>, DenseDqn>) -> Vec<u32> {
    agent.network().online().parameters().iter().map(|value| value.to_bits()).collect()
}

#[test]
fn cart_pole_is_learnt_with_priorities_and_three_steps() {
    let priorities = Some(DqnPriorities::default());
    let options = DqnOptions { steps: 30_000, n_step: 3, priorities, ..DqnOptions::default() };
    let (_, returns) = trained(options);
    let last = &returns[returns.len() - 100..];
    let mean = last.iter().sum::<f64>() / last.len() as f64;
    // A random agent gets 22.
    assert!(mean > 50.0, "{mean}");
}

#[test]
fn each_option_changes_what_is_learnt_and_a_seed_repeats_it() {
    let plain = DqnOptions { steps: 2_000, learning_starts: 500, ..DqnOptions::default() };
    let priorities = DqnPriorities::default();
    let other = PriorityOptions { alpha: 1.0, ..priorities.of_errors };
    let all = [
        plain,
        DqnOptions { n_step: 3, ..plain },
        DqnOptions { priorities: Some(priorities), ..plain },
        DqnOptions { priorities: Some(DqnPriorities { first_beta: 1.0, ..priorities }), ..plain },
        DqnOptions { priorities: Some(DqnPriorities { of_errors: other, ..priorities }), ..plain },
    ];
    let learnt: Vec<Vec<u32>> = all.iter().map(|&options| bits(&trained(options).0)).collect();
    for (first, bytes) in learnt.iter().enumerate() {
        assert!(learnt[first + 1..].iter().all(|others| others != bytes), "option {first}");
        assert!(bits(&trained(all[first]).0) == *bytes, "option {first}");
    }
}

/// The network has the one discount there is: also rewards of several steps are summed with it.
#[test]
fn a_networks_discount_is_that_of_the_training_whatever_its_windows() {
    for n_step in [1, 3] {
        let options = DqnOptions { steps: 1_000, learning_starts: 500, n_step, ..DqnOptions::default() };
        let learnt = |gamma| {
            let network = cleanrl::dqn_network(4, 2, 1).unwrap();
            let adam = AdamOptions::default();
            let network =
                DenseDqn::from_networks(network.clone(), network, options.batch, gamma, adam).unwrap();
            let mut agent = Dqn::new(cart_pole(), network, options, 1).unwrap();
            while agent.environment_steps() < options.steps {
                agent.step().unwrap();
            }
            bits(&agent)
        };
        assert_eq!(learnt(cleanrl::DQN_GAMMA), bits(&trained(options).0));
        assert_ne!(learnt(0.5), learnt(cleanrl::DQN_GAMMA), "n-step {n_step}");
    }
}

/// A network that learns from single transitions alone.
struct Plain;

impl DqnUpdate for Plain {
    fn batch(&self) -> usize {
        DqnOptions::default().batch
    }

    fn q_values(&mut self, _: &[f32]) -> Result<&[f32], Error> {
        Ok(&[0.0, 1.0])
    }

    fn mean_value(&mut self, _: Minibatch<'_>) -> Result<f32, Error> {
        Ok(0.0)
    }

    fn update(&mut self, _: Minibatch<'_>) -> Result<f32, Error> {
        Ok(0.0)
    }

    fn update_target(&mut self, _: f64) {}

    fn largest_target_difference(&self) -> f32 {
        0.0
    }
}

#[test]
fn a_network_without_such_an_update_is_refused_at_once() {
    let priorities = Some(DqnPriorities::default());
    for options in [
        DqnOptions { n_step: 2, ..DqnOptions::default() },
        DqnOptions { priorities, ..DqnOptions::default() },
    ] {
        let refused = Dqn::new(cart_pole(), Plain, options, 1).err();
        assert_eq!(refused, Some(TrainingError::NoWindows));
    }
    assert!(Dqn::new(cart_pole(), Plain, DqnOptions::default(), 1).is_ok());
}
