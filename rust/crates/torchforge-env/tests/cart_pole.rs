//! CartPole against recorded steps of the real Gymnasium (`golden/make_cart_pole.py`).

use torchforge_env::{CartPole, Environment, Error, TimeLimit};

fn cart_pole_v1() -> TimeLimit<CartPole> {
    TimeLimit::new(CartPole::new(), 500)
}

#[test]
fn seed_42_starts_where_gymnasium_does() {
    let mut environment = cart_pole_v1();
    let mut observation = [0.0; 4];
    environment.reset(Some(42), &mut observation).unwrap();
    assert_eq!(
        environment.inner().state(),
        [0.027395604855596334, -0.006112156024794771, 0.03585979199113824, 0.019736802905936393]
    );
    environment.step(&0, &mut observation).unwrap();
    let hexadecimal = |mantissa: u64, exponent: i32| mantissa as f64 * 2.0_f64.powi(exponent - 52);
    assert_eq!(
        environment.inner().state(),
        [
            hexadecimal(0x1b_ed8c_52d1_22c5, -6),
            -hexadecimal(0x19_d246_0125_50a4, -3),
            hexadecimal(0x12_8ff4_189b_60dc, -5),
            hexadecimal(0x14_b477_3760_c8e3, -2),
        ]
    );
}

#[test]
fn every_recorded_step_is_gymnasiums_to_the_bit() {
    let mut environment = cart_pole_v1();
    let mut observation = [0.0_f32; 4];
    let mut truncations = 0;
    for (number, line) in include_str!("golden/cart_pole.txt").lines().enumerate() {
        let mut words = line.split(' ');
        let mut word = || words.next().expect("a complete line");
        match word() {
            "reset" => {
                let seed = word().parse().ok();
                environment.reset(seed, &mut observation).unwrap();
            }
            action => {
                let step = environment.step(&action.parse().unwrap(), &mut observation).unwrap();
                let flags = [step.reward == 1.0, step.terminated, step.truncated];
                assert_eq!(flags, [0; 3].map(|_| word() == "1"), "line {}", number + 1);
                truncations += u32::from(step.truncated);
            }
        }
        let state = environment.inner().state().map(f64::to_bits);
        assert_eq!(state, [0; 4].map(|_| u64::from_str_radix(word(), 16).unwrap()), "line {}", number + 1);
        let rounded = observation.map(f32::to_bits);
        assert_eq!(rounded, [0; 4].map(|_| u32::from_str_radix(word(), 16).unwrap()), "line {}", number + 1);
    }
    assert_eq!(truncations, 2, "the recording holds two episodes that reach the limit");
}

#[test]
fn misuse_is_an_error_and_no_undefined_episode() {
    let mut environment = cart_pole_v1();
    let mut observation = [0.0; 4];
    assert_eq!(environment.reset(None, &mut observation), Err(Error::Unseeded));
    assert_eq!(environment.step(&0, &mut observation), Err(Error::NoEpisode));

    environment.reset(Some(1), &mut observation).unwrap();
    let no_such_action = environment.step(&2, &mut observation);
    assert_eq!(no_such_action, Err(Error::Action { action: 2, count: 2 }));
    let too_short = environment.step(&0, &mut observation[..3]);
    assert_eq!(too_short, Err(Error::Len { what: "the observation", expected: 4, found: 3 }));

    while !environment.step(&0, &mut observation).unwrap().terminated {}
    assert_eq!(environment.step(&0, &mut observation), Err(Error::NoEpisode));
}
