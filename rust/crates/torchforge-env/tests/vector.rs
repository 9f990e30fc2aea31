//! Environments stepped together are those stepped alone.

use proptest::prelude::*;
use torchforge_env::{AutoresetMode, CartPole, Environment, Error, StepBatch, TimeLimit, VectorEnv};

const LEN: usize = 4;
/// No observation of CartPole.
const UNWRITTEN: f32 = 1e30;

/// Short episodes, so that many end by time and many by falling.
fn cart_pole() -> TimeLimit<CartPole> {
    TimeLimit::new(CartPole::new(), 13)
}

fn cart_poles(n: usize, mode: AutoresetMode) -> VectorEnv<TimeLimit<CartPole>> {
    VectorEnv::new((0..n).map(|_| cart_pole()).collect(), mode).unwrap()
}

/// A [`StepBatch`] that owns its memory.
#[derive(Debug, Clone, PartialEq)]
struct Memory {
    observations: Vec<f32>,
    rewards: Vec<f64>,
    terminated: Vec<bool>,
    truncated: Vec<bool>,
    final_observations: Vec<f32>,
}

impl Memory {
    fn new(n: usize) -> Self {
        Self {
            observations: vec![UNWRITTEN; n * LEN],
            rewards: vec![0.5; n],
            terminated: vec![true; n],
            truncated: vec![true; n],
            final_observations: vec![UNWRITTEN; n * LEN],
        }
    }

    fn batch(&mut self) -> StepBatch<'_> {
        StepBatch {
            observations: &mut self.observations,
            rewards: &mut self.rewards,
            terminated: &mut self.terminated,
            truncated: &mut self.truncated,
            final_observations: &mut self.final_observations,
        }
    }
}

#[test]
fn each_environment_gets_the_seed_that_is_listed_for_it_where_the_mask_says() {
    let first = |seed| {
        let mut observation = [0.0; LEN];
        cart_pole().reset(Some(seed), &mut observation).unwrap();
        observation
    };
    let mut environments = cart_poles(3, AutoresetMode::SameStep);
    let mut observations = [UNWRITTEN; 3 * LEN];
    environments.reset_each(&[Some(9), Some(2), Some(5)], None, &mut observations).unwrap();
    assert_eq!(observations[..], [first(9), first(2), first(5)].concat()[..]);

    let mut again = [UNWRITTEN; 3 * LEN];
    environments.reset_each(&[Some(1), None, None], Some(&[true, false, false]), &mut again).unwrap();
    assert_eq!(again[..], [first(1), [UNWRITTEN; LEN], [UNWRITTEN; LEN]].concat()[..]);
    assert!(matches!(
        environments.reset_each(&[None; 2], None, &mut again),
        Err(Error::Len { what: "seeds", .. })
    ));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn each_environment_plays_the_episodes_that_it_plays_alone(
        n in 1..5_usize,
        seed in 0..u64::MAX - 8,
        mode in prop::sample::select(vec![AutoresetMode::NextStep, AutoresetMode::SameStep, AutoresetMode::Disabled]),
        choices in prop::collection::vec(any::<u8>(), 60),
    ) {
        let mut together = cart_poles(n, mode);
        let mut memory = Memory::new(n);
        together.reset(Some(seed), &mut memory.observations).unwrap();
        let mut alone: Vec<_> = (0..n).map(|_| cart_pole()).collect();
        let mut seen = vec![[0.0_f32; LEN]; n];
        let mut over = vec![false; n];
        for (i, (environment, seen)) in alone.iter_mut().zip(&mut seen).enumerate() {
            environment.reset(Some(seed + i as u64), seen).unwrap();
        }
        prop_assert_eq!(&memory.observations, &seen.concat());

        for choice in choices {
            if mode == AutoresetMode::Disabled && over.contains(&true) {
                together.reset_where(&over, None, &mut memory.observations).unwrap();
                for i in (0..n).filter(|&i| over[i]) {
                    alone[i].reset(None, &mut seen[i]).unwrap();
                }
                prop_assert_eq!(&memory.observations, &seen.concat());
                over.fill(false);
            }
            let actions: Vec<u32> = (0..n).map(|i| u32::from(choice >> i & 1)).collect();
            together.step(&actions, &mut memory.batch()).unwrap();
            for i in 0..n {
                let found = (memory.rewards[i], memory.terminated[i], memory.truncated[i]);
                if mode == AutoresetMode::NextStep && over[i] {
                    alone[i].reset(None, &mut seen[i]).unwrap();
                    prop_assert_eq!(found, (0.0, false, false));
                    over[i] = false;
                    continue;
                }
                let step = alone[i].step(&actions[i], &mut seen[i]).unwrap();
                prop_assert_eq!(found, (step.reward, step.terminated, step.truncated));
                over[i] = step.done();
                if mode == AutoresetMode::SameStep && step.done() {
                    prop_assert_eq!(&memory.final_observations[i * LEN..(i + 1) * LEN], &seen[i]);
                    alone[i].reset(None, &mut seen[i]).unwrap();
                }
            }
            prop_assert_eq!(&memory.observations, &seen.concat());
        }
    }
}

#[test]
fn only_ended_rows_get_a_final_observation() {
    let mut environments = cart_poles(2, AutoresetMode::SameStep);
    let mut memory = Memory::new(2);
    environments.reset(Some(1), &mut memory.observations).unwrap();
    // Pushed one way the first falls; the second is pushed to and fro.
    let mut step = 0;
    while !memory.terminated[0] || step == 0 {
        environments.step(&[1, step % 2], &mut memory.batch()).unwrap();
        step += 1;
    }
    assert!(!memory.terminated[1] && !memory.truncated[1]);
    assert!(memory.final_observations[..LEN].iter().all(|&value| value != UNWRITTEN));
    assert!(memory.final_observations[LEN..].iter().all(|&value| value == UNWRITTEN));
}

#[test]
fn without_autoreset_a_step_after_an_end_names_the_environment() {
    let mut environments = cart_poles(2, AutoresetMode::Disabled);
    let mut memory = Memory::new(2);
    environments.reset(Some(1), &mut memory.observations).unwrap();
    let error = (0..).find_map(|step| environments.step(&[step % 2, 1], &mut memory.batch()).err());
    assert_eq!(error, Some(Error::Ended { index: 1 }));
    let before = memory.clone();
    environments.step(&[0, 0], &mut memory.batch()).unwrap_err();
    assert_eq!(memory, before, "nobody was stepped");
}

#[test]
fn what_does_not_fit_is_an_error_before_anything_is_stepped() {
    assert_eq!(
        VectorEnv::<CartPole>::new(vec![], AutoresetMode::SameStep).unwrap_err(),
        Error::NoEnvironments
    );
    let mut environments = cart_poles(2, AutoresetMode::SameStep);
    let mut memory = Memory::new(2);
    assert_eq!(environments.reset(Some(u64::MAX), &mut memory.observations), Err(Error::SeedRange));
    environments.reset(Some(1), &mut memory.observations).unwrap();
    let len = |what, expected, found| Err(Error::Len { what, expected, found });
    assert_eq!(environments.step(&[0], &mut memory.batch()), len("actions", 2, 1));
    memory.rewards.pop();
    assert_eq!(environments.step(&[0, 0], &mut memory.batch()), len("rewards", 2, 1));
    assert_eq!(environments.reset(None, &mut [0.0; 7]), len("observations", 8, 7));
    assert_eq!(environments.reset_where(&[true], None, &mut [0.0; 8]), len("the mask", 2, 1));
}
