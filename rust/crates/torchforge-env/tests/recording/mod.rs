//! Recorded steps of Gymnasium, played again.

#![allow(dead_code, reason = "each test program uses a part of it")]

use torchforge_env::{AnyEnvironment, Environment, Error, Step};

fn bits(word: &str) -> u32 {
    u32::from_str_radix(word, 16).unwrap()
}

pub fn observation_len(environment: &AnyEnvironment) -> usize {
    match environment {
        AnyEnvironment::Discrete(environment) => environment.observation_len(),
        AnyEnvironment::Continuous(environment) => environment.observation_len(),
    }
}

pub fn reset(
    environment: &mut AnyEnvironment,
    seed: Option<u64>,
    observation: &mut [f32],
) -> Result<(), Error> {
    match environment {
        AnyEnvironment::Discrete(environment) => environment.reset(seed, observation),
        AnyEnvironment::Continuous(environment) => environment.reset(seed, observation),
    }
}

/// Takes an action as a recording writes it.
pub fn step(environment: &mut AnyEnvironment, action: &str, observation: &mut [f32]) -> Result<Step, Error> {
    match environment {
        AnyEnvironment::Discrete(environment) => environment.step(&action.parse().unwrap(), observation),
        AnyEnvironment::Continuous(environment) => {
            environment.step(&[f32::from_bits(bits(action))], observation)
        }
    }
}

/// Plays a recording of `id` in an environment; how many episodes terminated, and how many were truncated.
pub fn replay(id: &str, environment: &mut AnyEnvironment, recording: &str) -> [usize; 2] {
    let mut observation = vec![0.0_f32; observation_len(environment)];
    let mut ends = [0; 2];
    for (number, line) in recording.lines().enumerate() {
        let mut words = line.split(' ');
        let mut word = || words.next().expect("a complete line");
        match word() {
            "reset" => reset(environment, word().parse().ok(), &mut observation).unwrap(),
            action => {
                let step = step(environment, action, &mut observation).unwrap();
                assert_eq!(format!("{:016x}", step.reward.to_bits()), word(), "{id}, line {}", number + 1);
                let flags = [step.terminated, step.truncated];
                assert_eq!(flags, [0; 2].map(|_| word() == "1"), "{id}, line {}", number + 1);
                ends = [0, 1].map(|i| ends[i] + usize::from(flags[i]));
            }
        }
        let expected: Vec<u32> = words.map(bits).collect();
        let found: Vec<u32> = observation.iter().map(|value| value.to_bits()).collect();
        assert_eq!(found, expected, "{id}, line {}", number + 1);
    }
    ends
}
