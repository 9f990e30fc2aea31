//! An environment whose state was taken down goes on where it was, in another one.

use proptest::prelude::*;
use rand_core::Rng;
use torchforge_env::{
    ActionSpace, AnyEnvironment, AutoresetMode, CartPole, Environment, Error, Pcg64, StepBatch, TimeLimit,
    VectorEnv, ids, make,
};

/// Steps of an environment as bits, with a reset after each end.
fn played<E: Environment + ?Sized>(
    environment: &mut E,
    steps: usize,
    seed: u64,
    value: impl Fn(f64) -> <E::ActionSpace as ActionSpace>::Value,
) -> Vec<u64> {
    let mut rng = Pcg64::new(seed);
    let mut observation = vec![0.0; environment.observation_len()];
    let mut bits = Vec::new();
    for _ in 0..steps {
        let action = [value(rng.unit())];
        let action = environment.action_space().action(&action, 0);
        let Ok(step) = environment.step(action, &mut observation) else { break };
        bits.push(step.reward.to_bits());
        bits.extend(observation.iter().map(|value| u64::from(value.to_bits())));
        if step.done() {
            environment.reset(None, &mut observation).unwrap();
        }
    }
    bits
}

fn play(environment: &mut AnyEnvironment, steps: usize, seed: u64) -> Vec<u64> {
    match environment {
        AnyEnvironment::Discrete(environment) => {
            let count = f64::from(environment.action_space().count);
            played(environment, steps, seed, |unit| (unit * count) as u32)
        }
        AnyEnvironment::Continuous(environment) => {
            played(environment, steps, seed, |unit| (unit * 3.0 - 1.5) as f32)
        }
    }
}

fn snapshot(environment: &AnyEnvironment) -> Option<Vec<u64>> {
    match environment {
        AnyEnvironment::Discrete(environment) => environment.snapshot(),
        AnyEnvironment::Continuous(environment) => environment.snapshot(),
    }
}

fn restore(environment: &mut AnyEnvironment, words: &[u64]) -> Result<(), Error> {
    match environment {
        AnyEnvironment::Discrete(environment) => environment.restore(words),
        AnyEnvironment::Continuous(environment) => environment.restore(words),
    }
}

fn begun(id: &str) -> AnyEnvironment {
    let mut environment = make(id).unwrap();
    let reset = match &mut environment {
        AnyEnvironment::Discrete(inner) => {
            let mut observation = vec![0.0; inner.observation_len()];
            inner.reset(Some(3), &mut observation)
        }
        AnyEnvironment::Continuous(inner) => {
            let mut observation = vec![0.0; inner.observation_len()];
            inner.reset(Some(3), &mut observation)
        }
    };
    reset.unwrap();
    environment
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_environment_goes_on_in_another_one(id in prop::sample::select(ids().collect::<Vec<_>>()), steps in 0..400_usize) {
        let mut first = begun(id);
        play(&mut first, steps, 1);
        let words = snapshot(&first).unwrap();
        let mut second = make(id).unwrap();
        restore(&mut second, &words).unwrap();
        prop_assert_eq!(snapshot(&second), Some(words));
        prop_assert_eq!(play(&mut first, 300, 2), play(&mut second, 300, 2));
    }

    #[test]
    fn words_of_any_kind_are_an_error_that_changes_nothing_or_a_state_that_can_be_stepped(
        id in prop::sample::select(ids().collect::<Vec<_>>()),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u64>()), 1..4),
        cut in 0..3_usize,
    ) {
        let mut environment = begun(id);
        let before = snapshot(&environment).unwrap();
        let mut words = before.clone();
        for (place, word) in changes {
            let place = place.index(words.len());
            words[place] = word;
        }
        words.truncate(words.len() - cut);
        match restore(&mut environment, &words) {
            Ok(()) => drop(play(&mut environment, 50, 1)),
            Err(error) => {
                prop_assert_eq!(error, Error::Snapshot);
                prop_assert_eq!(snapshot(&environment), Some(before));
            }
        }
    }
}

#[test]
fn a_state_that_no_step_leads_to_is_an_error() {
    let mut acrobot = begun("Acrobot-v1");
    let words = snapshot(&acrobot).unwrap();
    // The angle of a link lies between -pi and pi: turning another back would take for ever.
    for angle in [1e300, 4.0, f64::NAN, f64::INFINITY] {
        let mut words = words.clone();
        words[6] = f64::to_bits(angle);
        assert_eq!(restore(&mut acrobot, &words), Err(Error::Snapshot), "{angle}");
    }
    let mut late = words.clone();
    *late.last_mut().unwrap() = 501;
    assert_eq!(restore(&mut acrobot, &late), Err(Error::Snapshot), "later than its limit");
    let mut even = words;
    even[5] &= !1;
    assert_eq!(restore(&mut acrobot, &even), Err(Error::Snapshot), "no generator has an even increment");
    assert_eq!(restore(&mut acrobot, &[]), Err(Error::Snapshot));
}

#[test]
fn a_generator_goes_on_from_its_words() {
    let mut rng = Pcg64::new(42);
    rng.next_u64();
    let mut other = Pcg64::from_words(rng.to_words()).unwrap();
    assert_eq!(rng, other);
    assert_eq!(rng.next_u64(), other.next_u64());
}

#[test]
fn a_vector_goes_on_in_every_mode() {
    for mode in [AutoresetMode::NextStep, AutoresetMode::SameStep] {
        let vector = || {
            let environments = (0..3).map(|_| TimeLimit::new(CartPole::new(), 13)).collect();
            VectorEnv::new(environments, mode).unwrap()
        };
        let step = |vector: &mut VectorEnv<TimeLimit<CartPole>>| {
            let (mut observations, mut rewards) = ([0.0; 12], [0.0; 3]);
            let batch = &mut StepBatch {
                observations: &mut observations,
                rewards: &mut rewards,
                terminated: &mut [false; 3],
                truncated: &mut [false; 3],
                final_observations: &mut [0.0; 12],
            };
            vector.step(&[0, 1, 0], batch).unwrap();
            observations.map(f32::to_bits)
        };
        let mut first = vector();
        first.reset(Some(1), &mut [0.0; 12]).unwrap();
        for _ in 0..40 {
            step(&mut first);
            let words = first.snapshot().unwrap();
            let mut second = vector();
            second.restore(&words).unwrap();
            assert_eq!(second.snapshot().unwrap(), words);
            let mut same = first.clone();
            (0..15).for_each(|_| assert_eq!(step(&mut same), step(&mut second), "{mode:?}"));
            assert_eq!(second.restore(&words[1..]), Err(Error::Snapshot));
            // The states of the first two environments are good, and that of the third is later than its limit.
            let before = second.snapshot().unwrap();
            let mut late = words.clone();
            late[words.len() - 4] = 14;
            assert_eq!(second.restore(&late), Err(Error::Snapshot));
            assert_eq!(second.snapshot().unwrap(), before, "a vector is restored whole or not at all");
        }
    }
}
