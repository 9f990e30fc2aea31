//! Every environment against recorded steps of the real Gymnasium (`golden/make_classic_control.py`).

mod recording;

use recording::{observation_len, reset, step};
use torchforge_env::{AnyEnvironment, Environment, Error, ids, make};

#[test]
fn every_recorded_step_is_gymnasiums_to_the_bit() {
    let replay = |id: &str, events: &str| recording::replay(id, &mut make(id).unwrap(), events);
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
