//! Every environment against recorded steps of the real Gymnasium (`golden/make_classic_control.py`).

use torchforge_env::{AnyEnvironment, Environment, Error, Step, ids, make};

fn bits(word: &str) -> u32 {
    u32::from_str_radix(word, 16).unwrap()
}

fn observation_len(environment: &AnyEnvironment) -> usize {
    match environment {
        AnyEnvironment::Discrete(environment) => environment.observation_len(),
        AnyEnvironment::Continuous(environment) => environment.observation_len(),
    }
}

fn reset(environment: &mut AnyEnvironment, seed: Option<u64>, observation: &mut [f32]) -> Result<(), Error> {
    match environment {
        AnyEnvironment::Discrete(environment) => environment.reset(seed, observation),
        AnyEnvironment::Continuous(environment) => environment.reset(seed, observation),
    }
}

/// Takes an action as a recording writes it.
fn step(environment: &mut AnyEnvironment, action: &str, observation: &mut [f32]) -> Result<Step, Error> {
    match environment {
        AnyEnvironment::Discrete(environment) => environment.step(&action.parse().unwrap(), observation),
        AnyEnvironment::Continuous(environment) => {
            environment.step(&[f32::from_bits(bits(action))], observation)
        }
    }
}

/// Plays a recording; how many episodes terminated, and how many were truncated.
fn replay(id: &str, recording: &str) -> [usize; 2] {
    let mut environment = make(id).unwrap();
    let mut observation = vec![0.0_f32; observation_len(&environment)];
    let mut ends = [0; 2];
    for (number, line) in recording.lines().enumerate() {
        let mut words = line.split(' ');
        let mut word = || words.next().expect("a complete line");
        match word() {
            "reset" => reset(&mut environment, word().parse().ok(), &mut observation).unwrap(),
            action => {
                let step = step(&mut environment, action, &mut observation).unwrap();
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

#[test]
fn every_recorded_step_is_gymnasiums_to_the_bit() {
    assert_eq!(replay("Acrobot-v1", include_str!("golden/acrobot.txt")), [3, 1]);
    assert_eq!(replay("MountainCar-v0", include_str!("golden/mountain_car.txt")), [1, 1]);
    let continuous = include_str!("golden/mountain_car_continuous.txt");
    assert_eq!(replay("MountainCarContinuous-v0", continuous), [3, 1]);
    assert_eq!(replay("Pendulum-v1", include_str!("golden/pendulum.txt")), [0, 2]);
}

#[test]
fn misuse_is_an_error_everywhere() {
    for id in ids() {
        let mut environment = make(id).unwrap();
        let mut observation = vec![0.0; observation_len(&environment)];
        assert_eq!(reset(&mut environment, None, &mut observation), Err(Error::Unseeded), "{id}");
        assert_eq!(step(&mut environment, "0", &mut observation), Err(Error::NoEpisode), "{id}");
        reset(&mut environment, Some(1), &mut observation).unwrap();

        let count = observation.len();
        let len = |what, expected, found| Err(Error::Len { what, expected, found });
        let short = &mut observation[1..];
        assert_eq!(reset(&mut environment, None, short), len("the observation", count, count - 1).map(drop));
        assert_eq!(step(&mut environment, "0", short), len("the observation", count, count - 1), "{id}");

        match &mut environment {
            AnyEnvironment::Discrete(environment) => {
                let count = environment.action_space().count;
                let error = environment.step(&count, &mut observation);
                assert_eq!(error, Err(Error::Action { action: count, count }), "{id}");
            }
            AnyEnvironment::Continuous(environment) => {
                assert_eq!(environment.step(&[], &mut observation), len("the action", 1, 0), "{id}");
            }
        }
    }
}

#[test]
fn an_episode_at_its_end_goes_on_only_after_a_reset() {
    for id in ids() {
        let mut environment = make(id).unwrap();
        let mut observation = vec![0.0; observation_len(&environment)];
        reset(&mut environment, Some(1), &mut observation).unwrap();
        while !step(&mut environment, "0", &mut observation).unwrap().done() {}
        assert_eq!(step(&mut environment, "0", &mut observation), Err(Error::NoEpisode), "{id}");
        reset(&mut environment, None, &mut observation).unwrap();
        step(&mut environment, "0", &mut observation).unwrap();
    }
}
