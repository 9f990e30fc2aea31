//! Environments whose parameters were set, against recorded steps of Gymnasium with the same attributes
//! (`golden/make_parameters.py`).

mod recording;

use std::collections::BTreeMap;

use recording::replay;
use torchforge_env::{
    Acrobot, AcrobotParameters, AnyEnvironment, CartPole, CartPoleParameters, Environment, Error,
    MountainCar, MountainCarContinuous, MountainCarContinuousParameters, MountainCarParameters, Pendulum,
    PendulumParameters, TimeLimit,
};

/// An environment with Gymnasium's attributes; those that are not set have its defaults.
fn with_attributes(id: &str, attributes: &BTreeMap<&str, f64>) -> AnyEnvironment {
    let mut left = attributes.clone();
    let mut set = |name: &str, value: &mut f64| {
        *value = left.remove(name).unwrap_or(*value);
    };
    let environment = match id {
        "CartPole-v1" => {
            let mut of = CartPoleParameters::default();
            set("gravity", &mut of.gravity);
            set("masscart", &mut of.cart_mass);
            set("masspole", &mut of.pole_mass);
            set("length", &mut of.half_length);
            set("force_mag", &mut of.force);
            set("total_mass", &mut of.total_mass);
            set("polemass_length", &mut of.pole_mass_length);
            AnyEnvironment::Discrete(Box::new(TimeLimit::new(CartPole::with_parameters(of).unwrap(), 500)))
        }
        "Pendulum-v1" => {
            let mut of = PendulumParameters::default();
            set("g", &mut of.gravity);
            set("m", &mut of.mass);
            set("l", &mut of.length);
            AnyEnvironment::Continuous(Box::new(TimeLimit::new(Pendulum::with_parameters(of).unwrap(), 200)))
        }
        "Acrobot-v1" => {
            let mut of = AcrobotParameters::default();
            set("LINK_LENGTH_1", &mut of.link_length);
            set("LINK_MASS_1", &mut of.link_masses[0]);
            set("LINK_MASS_2", &mut of.link_masses[1]);
            set("LINK_COM_POS_1", &mut of.link_centres[0]);
            set("LINK_COM_POS_2", &mut of.link_centres[1]);
            set("LINK_MOI", &mut of.moment_of_inertia);
            AnyEnvironment::Discrete(Box::new(TimeLimit::new(Acrobot::with_parameters(of).unwrap(), 500)))
        }
        "MountainCar-v0" => {
            let mut of = MountainCarParameters::default();
            set("force", &mut of.force);
            set("gravity", &mut of.gravity);
            set("goal_velocity", &mut of.goal_velocity);
            AnyEnvironment::Discrete(Box::new(TimeLimit::new(MountainCar::with_parameters(of).unwrap(), 200)))
        }
        "MountainCarContinuous-v0" => {
            let mut of = MountainCarContinuousParameters::default();
            set("power", &mut of.power);
            set("goal_velocity", &mut of.goal_velocity);
            let environment = MountainCarContinuous::with_parameters(of).unwrap();
            AnyEnvironment::Continuous(Box::new(TimeLimit::new(environment, 999)))
        }
        _ => panic!("{id} has no parameters"),
    };
    assert!(left.is_empty(), "{id} has no {left:?}");
    environment
}

#[test]
fn every_recorded_step_of_another_world_is_gymnasiums_to_the_bit() {
    let mut ends = Vec::new();
    for world in include_str!("golden/parameters.txt").split("make ").filter(|world| !world.is_empty()) {
        let (made, events) = world.split_once('\n').unwrap();
        let mut words = made.split(' ');
        let id = words.next().unwrap();
        let bits = |word: &str| f64::from_bits(u64::from_str_radix(word, 16).unwrap());
        let attributes =
            words.map(|word| word.split_once('=').unwrap()).map(|(name, word)| (name, bits(word))).collect();
        ends.push((id, replay(made, &mut with_attributes(id, &attributes), events)[0]));
    }
    let worlds = ends.iter().map(|&(id, _)| id).collect::<Vec<_>>();
    let [cart, pendulum, acrobot] = ["CartPole-v1", "Pendulum-v1", "Acrobot-v1"];
    let [car, continuous] = ["MountainCar-v0", "MountainCarContinuous-v0"];
    assert_eq!(worlds, [cart, cart, pendulum, acrobot, car, continuous, continuous]);
    let ended = ends.iter().map(|&(_, terminations)| terminations > 0).collect::<Vec<_>>();
    assert_eq!(ended, [true, true, false, true, true, false, true], "a pendulum never ends");
}

#[test]
fn a_derived_mass_is_what_gymnasiums_constructor_computes_and_no_other_is_changed() {
    let given = CartPoleParameters { pole_mass: 0.3, half_length: 0.8, ..CartPoleParameters::default() };
    assert_eq!((given.total_mass, given.pole_mass_length), (0.1 + 1.0, 0.1 * 0.5));
    let derived = CartPoleParameters { total_mass: 0.3 + 1.0, pole_mass_length: 0.3 * 0.8, ..given };
    assert_eq!(given.derived(), derived);
}

#[test]
fn parameters_that_make_no_world_are_refused_by_name() {
    let cart_pole = |of| CartPole::with_parameters(of).err();
    let of = CartPoleParameters::default();
    let finite = |what| Some(Error::Parameter { what, expected: "a finite number" });
    let positive = |what| Some(Error::Parameter { what, expected: "a positive number" });
    assert_eq!(cart_pole(CartPoleParameters { gravity: f64::NAN, ..of }), finite("the gravity"));
    assert_eq!(cart_pole(CartPoleParameters { pole_mass: 0.0, ..of }), positive("the pole's mass"));
    assert_eq!(cart_pole(CartPoleParameters { half_length: -1.0, ..of }), positive("half the pole's length"));
    assert_eq!(cart_pole(CartPoleParameters { force: f64::INFINITY, ..of }), finite("the force"));
    let error = Pendulum::with_parameters(PendulumParameters { length: 0.0, ..Default::default() }).err();
    assert_eq!(error, positive("the length"));
    assert_eq!(error.unwrap().to_string(), "the length must be a positive number: give another value");
    let of = AcrobotParameters { moment_of_inertia: f64::NAN, ..AcrobotParameters::default() };
    assert_eq!(Acrobot::with_parameters(of).err(), positive("the moment of inertia"));
    // So light a link turns so far in a step that no loop turns it back.
    let of = AcrobotParameters {
        link_length: 1e-6,
        link_masses: [1e-6; 2],
        link_centres: [1e-6; 2],
        moment_of_inertia: 1e-20,
    };
    let (mut light, mut seen) = (Acrobot::with_parameters(of).unwrap(), [0.0; 6]);
    light.reset(Some(1), &mut seen).unwrap();
    let refused = (0..100).find_map(|_| light.step(&2, &mut seen).err());
    assert!(matches!(refused, Some(Error::Parameter { what: "the links' masses and lengths", .. })));
    let of = MountainCarParameters { force: f64::NAN, ..MountainCarParameters::default() };
    assert_eq!(MountainCar::with_parameters(of).err(), finite("the force"));
    let of = MountainCarContinuousParameters { power: f64::NAN, ..Default::default() };
    assert_eq!(MountainCarContinuous::with_parameters(of).err(), finite("the power"));
}

#[test]
fn gravity_that_pulls_nowhere_leaves_a_pushed_pole_its_turn() {
    let of = CartPoleParameters { gravity: 0.0, ..CartPoleParameters::default() };
    let mut weightless = CartPole::with_parameters(of).unwrap();
    let (mut earthly, mut observation) = (CartPole::new(), [0.0; 4]);
    for environment in [&mut weightless, &mut earthly] {
        environment.reset(Some(1), &mut observation).unwrap();
        environment.step(&1, &mut observation).unwrap();
    }
    assert_ne!(weightless.state(), earthly.state());
}
