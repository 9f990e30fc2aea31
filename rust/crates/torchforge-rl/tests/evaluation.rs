//! Episodes of policies that are known.

use torchforge_env::{CartPole, Environment, Pendulum, TimeLimit};
use torchforge_nn::{
    CategoricalPolicy, CriticLoss, DqnUpdate, Error, Evaluation, Minibatch, PolicyLoss, PolicyNoise,
    PolicyShift, PpoLoss, PpoMinibatch, PpoUpdate, SacMinibatch, SacUpdate,
};
use torchforge_rl::{DqnPolicy, Episode, Policy, PpoPolicy, Returns, SacPolicy, TrainingError, evaluate};

/// Always the same action.
struct Always(u32);

impl Policy for Always {
    type Action = u32;

    fn act(&mut self, _: &[f32]) -> Result<&u32, TrainingError> {
        Ok(&self.0)
    }
}

fn cart_pole() -> TimeLimit<CartPole> {
    TimeLimit::new(CartPole::new(), 500)
}

#[test]
fn episodes_are_those_of_the_environment_stepped_by_hand() {
    let played = evaluate(&mut cart_pole(), &mut Always(1), 3, 7).unwrap();
    let (mut environment, mut observation) = (cart_pole(), [0.0; 4]);
    let (mut steps, mut seed) = (0, Some(7));
    for episode in played {
        environment.reset(seed.take(), &mut observation).unwrap();
        let mut length = 0;
        while !environment.step(&1, &mut observation).unwrap().done() {
            length += 1;
        }
        length += 1;
        steps += length;
        assert_eq!(episode, Episode { step: steps - 1, length, total_reward: length as f64 });
    }
    // Pushed one way only, a pole falls within some steps.
    assert!((24..45).contains(&steps), "{steps}");
}

#[test]
fn no_episode_is_an_error_and_one_has_no_deviation() {
    let error = evaluate(&mut cart_pole(), &mut Always(0), 0, 1).unwrap_err();
    assert_eq!(error, TrainingError::Zero { what: "episodes" });
    let of = |returns: &[f64]| {
        let episode = |&total_reward| Episode { step: 0, length: 1, total_reward };
        Returns::of(&returns.iter().map(episode).collect::<Vec<_>>())
    };
    assert_eq!(of(&[3.0]), Returns { mean: 3.0, deviation: None });
    assert_eq!(of(&[1.0, 2.0, 6.0]), Returns { mean: 3.0, deviation: Some(7.0_f64.sqrt()) });
}

/// Values action 1 most.
struct Second;

impl DqnUpdate for Second {
    fn batch(&self) -> usize {
        1
    }

    fn q_values(&mut self, _: &[f32]) -> Result<&[f32], Error> {
        Ok(&[0.0, 1.0, 0.5])
    }

    fn mean_value(&mut self, _: Minibatch<'_>) -> Result<f32, Error> {
        unreachable!("nothing is learnt")
    }

    fn update(&mut self, _: Minibatch<'_>) -> Result<f32, Error> {
        unreachable!("nothing is learnt")
    }

    fn update_target(&mut self, _: f64) {}

    fn largest_target_difference(&self) -> f32 {
        0.0
    }
}

/// How often a policy takes each of three actions.
fn shares(policy: &mut impl Policy<Action = u32>) -> [f64; 3] {
    let mut counts = [0.0; 3];
    for _ in 0..10_000 {
        counts[*policy.act(&[0.0]).unwrap() as usize] += 1e-4;
    }
    counts
}

fn close(found: [f64; 3], expected: [f64; 3]) -> bool {
    // Four deviations of a share of 10,000 are at most 0.02.
    found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 0.02)
}

#[test]
fn dqn_is_greedy_but_for_its_epsilon() {
    assert!(close(shares(&mut DqnPolicy::new(Second, 0.0, 1).unwrap()), [0.0, 1.0, 0.0]));
    assert!(close(shares(&mut DqnPolicy::new(Second, 0.3, 1).unwrap()), [0.1, 0.8, 0.1]));
    assert!(close(shares(&mut DqnPolicy::new(Second, 1.0, 1).unwrap()), [1.0 / 3.0; 3]));
}

/// Takes its actions with probabilities 0.2, 0.5 and 0.3.
struct Likely;

impl PpoUpdate for Likely {
    type Value = u32;

    fn batch(&self) -> usize {
        1
    }

    fn values(&mut self, _: &[f32], _: &mut [f32]) -> Result<(), Error> {
        unreachable!("nothing is judged")
    }

    fn policy_shift(&mut self, _: PpoMinibatch<'_>) -> Result<PolicyShift, Error> {
        unreachable!("nothing is learnt")
    }

    fn update(&mut self, _: PpoMinibatch<'_>, _: f64) -> Result<PpoLoss, Error> {
        unreachable!("nothing is learnt")
    }
}

impl CategoricalPolicy for Likely {
    fn action_count(&self) -> usize {
        3
    }

    fn evaluate(&mut self, _: &[f32]) -> Result<Evaluation<'_>, Error> {
        Ok(Evaluation { probabilities: &[0.2, 0.5, 0.3], log_probabilities: &[0.0; 3] })
    }
}

#[test]
fn ppo_takes_the_likeliest_action_or_draws_as_in_training() {
    assert!(close(shares(&mut PpoPolicy::deterministic(Likely).unwrap()), [0.0, 1.0, 0.0]));
    assert!(close(shares(&mut PpoPolicy::deterministic(Likely).unwrap().stochastic(1)), [0.2, 0.5, 0.3]));
}

/// Acts as its noise says, around a torque of one.
struct Noisy;

impl SacUpdate for Noisy {
    fn batch(&self) -> usize {
        1
    }

    fn action_len(&self) -> usize {
        1
    }

    fn act(&mut self, _: &[f32], noise: &[f32], action: &mut [f32]) -> Result<(), Error> {
        action[0] = 1.0 + noise[0];
        Ok(())
    }

    fn update_critics(&mut self, _: SacMinibatch<'_>, _: &[f32]) -> Result<CriticLoss, Error> {
        unreachable!("nothing is learnt")
    }

    fn update_policy(&mut self, _: &[f32], _: PolicyNoise<'_>) -> Result<PolicyLoss, Error> {
        unreachable!("nothing is learnt")
    }

    fn update_targets(&mut self) {}
}

#[test]
fn sac_takes_its_policys_middle_or_draws_as_in_training() {
    let drawn = |policy: &mut SacPolicy<Noisy>| -> Vec<f32> {
        (0..1_000).map(|_| policy.act(&[0.0; 3]).unwrap()[0]).collect()
    };
    let middle = || SacPolicy::deterministic(Noisy).unwrap();
    assert_eq!(drawn(&mut middle()), [1.0; 1_000]);
    let actions = drawn(&mut middle().stochastic(1));
    assert!((actions.iter().sum::<f32>() / 1_000.0 - 1.0).abs() < 0.13);
    assert_eq!(actions, drawn(&mut middle().stochastic(1)));
    assert_ne!(actions, drawn(&mut middle().stochastic(2)));

    let mut pendulum = TimeLimit::new(Pendulum::new(), 11);
    let played = evaluate(&mut pendulum, &mut middle(), 2, 5).unwrap();
    assert_eq!(
        played.iter().map(|episode| (episode.step, episode.length)).collect::<Vec<_>>(),
        [(10, 11), (21, 11)]
    );
}
