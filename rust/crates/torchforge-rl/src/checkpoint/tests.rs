//! Files that were made to mislead: every one is refused or harmless.

use std::io::Cursor;

use proptest::prelude::*;
use torchforge_env::{Acrobot, AutoresetMode, CartPole, Environment, Pendulum, TimeLimit, VectorEnv};
use torchforge_nn::{
    ActionRange, Activation, AdamOptions, DenseDqn, DensePpo, DenseSac, Mlp, PpoLossOptions, SacLossOptions,
    SacNetworks,
};

use super::*;
use crate::{Dqn, DqnOptions, GaeOptions, Ppo, PpoOptions, Sac, SacOptions, Stream};

/// A training that can be gone on with for a while.
trait Training: State {
    /// Some steps; an error ends it.
    fn go_on(&mut self);
}

impl<E: Environment<Action = u32, ActionSpace = torchforge_env::Discrete>> Training for Dqn<E, DenseDqn> {
    fn go_on(&mut self) {
        let _ = (0..30).try_for_each(|_| self.step().map(|_| ()));
    }
}

impl Training for Sac<TimeLimit<Pendulum>, DenseSac> {
    fn go_on(&mut self) {
        let _ = (0..30).try_for_each(|_| self.step().map(|_| ()));
    }
}

impl Training for Ppo<TimeLimit<CartPole>, DensePpo> {
    fn go_on(&mut self) {
        let mut episodes = Vec::new();
        let _ = (0..2).try_for_each(|_| self.iterate(&mut episodes));
    }
}

fn dqn() -> Box<dyn Training> {
    let options = DqnOptions {
        steps: 400,
        learning_starts: 20,
        buffer_capacity: 50,
        batch: 4,
        ..DqnOptions::default()
    };
    let mut weights = Stream::Weights.of(1);
    let network = DenseDqn::new(&[6, 8, 3], 4, 0.99, AdamOptions::default(), &mut weights).unwrap();
    Box::new(Dqn::new(TimeLimit::new(Acrobot::new(), 40), network, options, 1).unwrap())
}

fn ppo() -> Box<dyn Training> {
    let environments = (0..2).map(|_| TimeLimit::new(CartPole::new(), 20)).collect();
    let environments = VectorEnv::new(environments, AutoresetMode::SameStep).unwrap();
    let mut weights = Stream::Weights.of(1);
    let mut network =
        |outputs| Mlp::orthogonal(&[4, 8, outputs], Activation::Tanh, &[1.0, 1.0], &mut weights).unwrap();
    let (actor, critic) = (network(2), network(1));
    let networks =
        DensePpo::new(actor, critic, 2, 8, PpoLossOptions::default(), AdamOptions::default()).unwrap();
    let gae = GaeOptions { gamma: 0.99, lambda: 0.95 };
    let options = PpoOptions {
        iterations: 6,
        rollout_steps: 8,
        minibatches: 2,
        epochs: 2,
        learning_rate: 1e-3,
        gae,
        trace: true,
        ..PpoOptions::default()
    };
    Box::new(Ppo::new(environments, networks, options, 1).unwrap())
}

fn sac() -> Box<dyn Training> {
    let options = SacOptions {
        steps: 400,
        learning_starts: 10,
        buffer_capacity: 500,
        batch: 4,
        policy_frequency: 2,
        trace: true,
    };
    let mut weights = Stream::Weights.of(1);
    let actor = Mlp::new(&[3, 8, 8, 2], &mut weights).unwrap();
    let critics = [0, 1].map(|_| Mlp::new(&[4, 8, 8, 1], &mut weights).unwrap());
    let networks = SacNetworks { actor, targets: critics.clone(), critics, log_alpha: 0.0 };
    let range = ActionRange { bias: vec![0.0], scale: vec![2.0] };
    let networks = DenseSac::new(networks, range, options.batch, SacLossOptions::default()).unwrap();
    Box::new(Sac::new(TimeLimit::new(Pendulum::new(), 25), networks, options, 1).unwrap())
}

const TRAININGS: [fn() -> Box<dyn Training>; 3] = [dqn, ppo, sac];

fn whole(make: fn() -> Box<dyn Training>) -> Vec<u8> {
    let mut training = make();
    training.go_on();
    Archive::save("words".into(), &mut *training).unwrap()
}

/// A file that is refused leaves the training as it was.
fn load(bytes: Vec<u8>, training: &mut dyn Training) -> Result<(), String> {
    let saved = |training: &mut dyn Training| Archive::save("words".into(), training).unwrap();
    let before = saved(training);
    let loaded = Archive::load(Box::new(Cursor::new(bytes)), |_| Ok(()), training);
    assert!(loaded.is_ok() || saved(training) == before);
    loaded
}

#[test]
fn what_was_saved_is_loaded_and_saved_again_as_the_same_bytes() {
    for make in TRAININGS {
        let bytes = whole(make);
        let mut training = make();
        load(bytes.clone(), &mut *training).unwrap();
        assert!(Archive::save("words".into(), &mut *training).unwrap() == bytes);
    }
}

#[test]
fn a_file_that_was_cut_anywhere_or_lengthened_is_refused() {
    for make in TRAININGS {
        let bytes = whole(make);
        let mut training = make();
        for len in (0..bytes.len()).step_by(37).chain(bytes.len() - 9..bytes.len()) {
            assert!(load(bytes[..len].to_vec(), &mut *training).is_err(), "cut to {len} of {}", bytes.len());
        }
        assert!(load([&bytes[..], &[0]].concat(), &mut *training).is_err());
    }
}

#[test]
fn another_trainings_state_is_refused() {
    for (index, make) in TRAININGS.into_iter().enumerate() {
        let bytes = whole(make);
        for other in [1, 2].map(|ahead| TRAININGS[(index + ahead) % 3]) {
            assert!(load(bytes.clone(), &mut *other()).is_err());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_file_of_which_one_bit_was_altered_is_refused(which in 0..3_usize, place: prop::sample::Index, bit in 0..8) {
        let mut bytes = whole(TRAININGS[which]);
        let place = place.index(bytes.len());
        bytes[place] ^= 1_u8 << bit;
        prop_assert!(load(bytes, &mut *TRAININGS[which]()).is_err(), "byte {place}");
    }

    /// Whoever wants to mislead can make the checksum too: it is not looked at here.
    #[test]
    fn whatever_numbers_a_file_holds_nothing_panics_or_hangs(
        which in 0..3_usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(vec![0_u8, 1, 0x7f, 0x80, 0xff])), 1..12),
        run in 1..9_usize,
    ) {
        let mut bytes = whole(TRAININGS[which]);
        let header = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        for (place, value) in changes {
            let place = header + place.index(bytes.len() - header);
            let end = bytes.len().min(place + run);
            bytes[place..end].fill(value);
        }
        let mut training = TRAININGS[which]();
        if Archive::read(Box::new(Cursor::new(bytes)), |_| Ok(()), &mut *training).is_ok() {
            training.go_on();
        }
    }

    #[test]
    fn whatever_a_header_says_nothing_panics(which in 0..3_usize, place: prop::sample::Index, value: u8) {
        let mut bytes = whole(TRAININGS[which]);
        let header = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        bytes[place.index(header)] = value;
        let mut training = TRAININGS[which]();
        let _ = Archive::read(Box::new(Cursor::new(bytes)), |_| Ok(()), &mut *training);
    }

    #[test]
    fn bytes_of_any_kind_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(load(bytes, &mut *dqn()).is_err());
    }
}
