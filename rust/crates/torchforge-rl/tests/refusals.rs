//! What would be learnt wrongly, or not at all, is refused with its reason before it costs anything.

use torchforge_data::PriorityOptions;
use torchforge_env::{AutoresetMode, CartPole, Environment, Pendulum, TimeLimit, VectorEnv};
use torchforge_nn::{
    Activation, AdamOptions, DenseDqn, DensePpo, DenseSac, DqnUpdate, Mlp, NetworkState, NormalPpo, Numbers,
    PpoLossOptions, SacLossOptions, TensorReader, TensorWriter,
};
use torchforge_rl::{
    Dqn, DqnOptions, DqnPolicy, DqnPriorities, GaeOptions, NormalPpoPolicy, Policy, Ppo, PpoOptions,
    PpoPolicy, Sac, SacOptions, SacPolicy, Stream, TrainingError, cleanrl, evaluate,
};

fn cart_pole() -> TimeLimit<CartPole> {
    TimeLimit::new(CartPole::new(), 500)
}

fn cart_poles(mode: AutoresetMode) -> VectorEnv<TimeLimit<CartPole>> {
    VectorEnv::new((0..4).map(|_| cart_pole()).collect(), mode).unwrap()
}

fn dqn_error(options: DqnOptions) -> String {
    Dqn::cleanrl_with(cart_pole(), options, 1).err().map_or("accepted".into(), |error| error.to_string())
}

#[test]
fn an_option_of_dqn_that_is_out_of_its_range_is_named_with_what_it_must_be() {
    let of = DqnOptions::default();
    let priorities = DqnPriorities::default();
    let of_errors = PriorityOptions { alpha: -1.0, ..priorities.of_errors };
    for (options, told) in [
        (DqnOptions { steps: 0, ..of }, "steps is 0: give at least 1"),
        (
            DqnOptions { start_epsilon: f64::NAN, ..of },
            "start_epsilon is NaN and must be a number from 0 to 1",
        ),
        (DqnOptions { start_epsilon: 1.5, ..of }, "start_epsilon is 1.5 and must be a number from 0 to 1"),
        (DqnOptions { tau: 0.0, ..of }, "tau is 0 and must be more than 0 and at most 1"),
        (DqnOptions { tau: 1.5, ..of }, "tau is 1.5 and must be more than 0 and at most 1"),
        (DqnOptions { end_epsilon: -0.1, ..of }, "end_epsilon is -0.1 and must be a number from 0 to 1"),
        (DqnOptions { start_epsilon: 0.0, ..of }, "end_epsilon is 0.05 and must be at most start_epsilon"),
        (DqnOptions { n_step: 0, ..of }, "n-step is 0: give at least 1"),
        (
            DqnOptions { priorities: Some(DqnPriorities { first_beta: 1.5, ..priorities }), ..of },
            "beta is 1.5 and must be a number from 0 to 1",
        ),
        (
            DqnOptions { priorities: Some(DqnPriorities { of_errors, ..priorities }), ..of },
            "alpha is -1: give 0 to 1",
        ),
        (
            DqnOptions { exploration_fraction: f64::INFINITY, ..of },
            "the exploration fraction is inf and must be a number from 0 to 1",
        ),
    ] {
        assert_eq!(dqn_error(options), told);
    }
}

#[test]
fn an_exploration_fraction_of_zero_explores_as_at_the_end_from_the_first_step_on() {
    let options = DqnOptions {
        exploration_fraction: 0.0,
        end_epsilon: 0.0,
        learning_starts: 10,
        steps: 200,
        trace: true,
        ..DqnOptions::default()
    };
    let mut agent = Dqn::cleanrl_with(cart_pole(), options, 1).unwrap();
    while agent.environment_steps() < options.steps {
        agent.step().unwrap();
    }
    assert!(!agent.trace().epsilons.is_empty());
    assert!(agent.trace().epsilons.iter().all(|&epsilon| epsilon == 0.0));
}

#[test]
fn a_network_for_other_minibatches_is_refused_when_the_agent_is_made() {
    let network = DenseDqn::new(&[4, 8, 2], 64, 0.99, AdamOptions::default(), &mut Stream::Weights.of(1));
    let error = Dqn::new(cart_pole(), network.unwrap(), DqnOptions::default(), 1).err();
    assert_eq!(error, Some(TrainingError::Batch { network: 64, agent: 128 }));
}

#[test]
fn networks_of_ppo_and_sac_for_other_minibatches_are_refused_too() {
    let options = PpoOptions::default();
    let [actor, critic] = cleanrl::ppo_networks(4, 2, 1).unwrap();
    let loss = PpoLossOptions::default();
    let networks = DensePpo::new(actor, critic, 4, 64, loss, AdamOptions::default()).unwrap();
    let error = Ppo::new(cart_poles(AutoresetMode::SameStep), networks, options, 1).err();
    assert_eq!(error, Some(TrainingError::Batch { network: 64, agent: 128 }));

    let pendulum = TimeLimit::new(Pendulum::new(), 200);
    let networks = cleanrl::sac_networks(3, 1, 1).unwrap();
    let range = cleanrl::action_range(pendulum.action_space());
    let networks = DenseSac::new(networks, range, 64, SacLossOptions::default()).unwrap();
    let error = Sac::new(pendulum, networks, SacOptions::default(), 1).err();
    assert_eq!(error, Some(TrainingError::Batch { network: 64, agent: SacOptions::default().batch }));
}

#[test]
fn ppo_refuses_environments_that_reset_in_the_next_step() {
    let error = Ppo::cleanrl(cart_poles(AutoresetMode::NextStep), 1).err();
    assert_eq!(error, Some(TrainingError::Autoreset { mode: AutoresetMode::NextStep }));
}

#[test]
fn ppo_refuses_networks_that_take_an_observation_for_several() {
    let options = PpoOptions::default();
    let [actor, critic] = cleanrl::ppo_networks(2, 2, 1).unwrap();
    let loss = PpoLossOptions::default();
    let networks = DensePpo::new(actor, critic, 8, 128, loss, AdamOptions::default()).unwrap();
    let error = Ppo::new(cart_poles(AutoresetMode::SameStep), networks, options, 1).err().unwrap();
    assert_eq!(error.to_string(), "observations has 16 values and must have 8");
}

#[test]
fn ppo_stops_where_its_learning_rate_would_turn_negative() {
    let options = PpoOptions { iterations: 2, ..PpoOptions::default() };
    let mut agent = Ppo::cleanrl_with(cart_poles(AutoresetMode::SameStep), options, 1).unwrap();
    let mut episodes = Vec::new();
    for _ in 0..2 {
        agent.iterate(&mut episodes).unwrap();
    }
    let before = (agent.environment_steps(), agent.networks().actor().parameters().to_vec());
    assert_eq!(agent.iterate(&mut episodes), Err(TrainingError::Finished { iterations: 2 }));
    assert_eq!(before, (agent.environment_steps(), agent.networks().actor().parameters().to_vec()));
}

#[test]
fn an_option_of_ppo_that_is_out_of_its_range_is_named() {
    for (options, what) in [
        (PpoOptions { learning_rate: 0.0, ..PpoOptions::default() }, "the learning rate"),
        (PpoOptions { learning_rate: f64::NAN, ..PpoOptions::default() }, "the learning rate"),
        (PpoOptions { target_kl: Some(0.0), ..PpoOptions::default() }, "the target KL"),
        (PpoOptions { target_kl: Some(f64::NAN), ..PpoOptions::default() }, "the target KL"),
        (PpoOptions { gae: GaeOptions { gamma: 1.1, lambda: 0.95 }, ..PpoOptions::default() }, "gamma"),
        (PpoOptions { gae: GaeOptions { gamma: 0.99, lambda: -1.0 }, ..PpoOptions::default() }, "lambda"),
    ] {
        let error = Ppo::cleanrl_with(cart_poles(AutoresetMode::SameStep), options, 1).err().unwrap();
        assert!(error.to_string().starts_with(what), "{error}");
    }
}

#[test]
fn a_diverged_training_stops_with_the_name_of_the_tensor() {
    // A rate at which no network stays finite.
    let adam = AdamOptions { learning_rate: 1e30, ..AdamOptions::default() };
    let options = DqnOptions { learning_starts: 200, ..DqnOptions::default() };
    let network = cleanrl::dqn_network(4, 2, 1).unwrap();
    let network = DenseDqn::from_networks(network.clone(), network, options.batch, 0.99, adam).unwrap();
    let mut agent = Dqn::new(cart_pole(), network, options, 1).unwrap();
    let error = loop {
        if let Err(error) = agent.step() {
            break error;
        }
        assert!(agent.environment_steps() < 5_000, "it was never noticed");
    };
    let TrainingError::Diverged { gradient_steps, .. } = &error else { panic!("{error}") };
    assert!((1..100).contains(gradient_steps), "{error}");
}

#[test]
fn diverged_trainings_of_ppo_and_sac_stop_too() {
    let options = PpoOptions { learning_rate: 1e30, ..PpoOptions::default() };
    let mut ppo = Ppo::cleanrl_with(cart_poles(AutoresetMode::SameStep), options, 1).unwrap();
    let error = (0..10).find_map(|_| ppo.iterate(&mut Vec::new()).err()).expect("it is noticed");
    assert!(matches!(error, TrainingError::Diverged { .. }), "{error}");
    assert!(ppo.gradient_steps() < 100, "{error}");

    let adam = AdamOptions { learning_rate: 1e30, ..AdamOptions::default() };
    let loss = SacLossOptions { policy_adam: adam, critic_adam: adam, ..SacLossOptions::default() };
    let options = SacOptions { learning_starts: 300, ..SacOptions::default() };
    let pendulum = TimeLimit::new(Pendulum::new(), 200);
    let mut sac = Sac::cleanrl_with_loss(pendulum, options, loss, 1).unwrap();
    let error = (0..500).find_map(|_| sac.step().err()).expect("it is noticed");
    assert!(matches!(error, TrainingError::Diverged { .. }), "{error}");
}

/// Weights of a network, one of which is no number.
fn spoilt(name: &str) -> Vec<u8> {
    let mut network = TensorWriter::new();
    let sizes = [(8, 4), (2, 8)];
    for (layer, (outputs, inputs)) in sizes.into_iter().enumerate() {
        for (kind, shape) in [("weight", vec![outputs, inputs]), ("bias", vec![outputs])] {
            let tensor = format!("{}.{kind}", 2 * layer);
            let len: usize = shape.iter().product();
            let odd = if tensor == name { f32::NAN } else { 0.5 };
            network.push(tensor, shape, (0..len).map(|index| if index == len / 2 { odd } else { 0.5 }));
        }
    }
    network.into_bytes()
}

#[test]
fn weights_that_are_no_numbers_are_refused_on_reading_by_the_tensors_name() {
    for name in ["0.weight", "0.bias", "2.weight", "2.bias"] {
        let bytes = spoilt(name);
        let read = Mlp::read(&[4, 8, 2], Activation::Relu, "", &TensorReader::new(&bytes).unwrap());
        let told = read.unwrap_err().to_string();
        assert!(told.contains(&format!("{name:?}")) && told.contains("diverged"), "{told}");
    }
    let whole = spoilt("none");
    assert!(Mlp::read(&[4, 8, 2], Activation::Relu, "", &TensorReader::new(&whole).unwrap()).is_ok());
}

#[test]
fn a_network_of_many_layers_is_written_and_read_again() {
    let sizes = [3, 4, 5, 4, 5, 4, 5, 4, 5, 2];
    let network = Mlp::new(&sizes, &mut Stream::Weights.of(1)).unwrap().with_activation(Activation::Tanh);
    let mut tensors = TensorWriter::new();
    network.write("deep.", network.parameters(), &mut tensors);
    let bytes = tensors.into_bytes();
    let read = Mlp::read(&sizes, Activation::Tanh, "deep.", &TensorReader::new(&bytes).unwrap()).unwrap();
    assert_eq!(read.parameters(), network.parameters());
}

#[test]
fn an_actor_of_ppo_that_is_read_back_says_what_the_trained_one_says() {
    let options = PpoOptions { iterations: 2, ..PpoOptions::default() };
    let mut agent = Ppo::cleanrl_with(cart_poles(AutoresetMode::SameStep), options, 1).unwrap();
    agent.iterate(&mut Vec::new()).unwrap();
    let mut trained = agent.networks().actor().clone();
    let mut tensors = TensorWriter::new();
    trained.write("actor.", trained.parameters(), &mut tensors);
    let bytes = tensors.into_bytes();
    let logits = |network: &mut Mlp| {
        let mut logits = [0.0; 2];
        network.evaluate(&[0.1, -0.4, 0.05, 0.8], &mut logits).unwrap();
        logits
    };
    let read = |activation| {
        Mlp::read(&trained.sizes(), activation, "actor.", &TensorReader::new(&bytes).unwrap()).unwrap()
    };
    let (mut tanh, mut relu) = (read(Activation::Tanh), read(Activation::Relu));
    assert_eq!(logits(&mut tanh), logits(&mut trained));
    // A file does not say what lies between its layers: with no default, nobody takes this by mistake.
    assert_ne!(logits(&mut relu), logits(&mut trained));
}

#[test]
fn sizes_that_no_memory_holds_are_errors() {
    let options = SacOptions { policy_frequency: 1 << 40, ..SacOptions::default() };
    let error = Sac::cleanrl_with(TimeLimit::new(Pendulum::new(), 200), options, 1).err().unwrap();
    assert!(error.to_string().contains("no room in memory"), "{error}");
    let options = DqnOptions { buffer_capacity: 1 << 44, ..DqnOptions::default() };
    assert!(dqn_error(options).contains("there is no memory for"), "{}", dqn_error(options));
    let options = DqnOptions { batch: 1 << 24, ..DqnOptions::default() };
    let told = dqn_error(DqnOptions { batch: 1 << 25, ..options });
    assert!(told.contains("rows"), "{told}");
    let error = Mlp::new(&[1 << 40, 1 << 20, 2], &mut Stream::Weights.of(1)).unwrap_err();
    assert!(error.to_string().contains("there is no memory"), "{error}");
    let error = Mlp::new(&[usize::MAX, usize::MAX, 2], &mut Stream::Weights.of(1)).unwrap_err();
    assert!(error.to_string().contains("there is no memory"), "{error}");
}

/// Keeps the pole upright for ever, in an environment without a limit.
struct Balance(u32);

impl Policy for Balance {
    type Action = u32;

    fn act(&mut self, observation: &[f32]) -> Result<&u32, TrainingError> {
        let [position, speed, angle, turning] = observation else { unreachable!() };
        self.0 = u32::from(angle + 0.4 * turning + 0.02 * position + 0.05 * speed > 0.0);
        Ok(&self.0)
    }
}

#[test]
fn an_episode_without_an_end_is_an_error_and_not_a_wait() {
    let error = evaluate(&mut CartPole::new(), &mut Balance(0), 1, 1).unwrap_err();
    assert!(matches!(error, TrainingError::Endless { .. }), "{error}");
    assert!(error.to_string().contains("TimeLimit"));
}

#[test]
fn a_limit_of_no_steps_is_an_error_when_an_episode_would_begin() {
    let error = TimeLimit::new(CartPole::new(), 0).reset(Some(1), &mut [0.0; 4]).unwrap_err();
    assert!(error.to_string().contains("give TimeLimit at least 1"), "{error}");
}

#[test]
fn a_policy_refuses_an_epsilon_that_is_no_probability_and_networks_that_give_no_numbers() {
    let network = || {
        let network = cleanrl::dqn_network(4, 2, 1).unwrap();
        DenseDqn::from_networks(network.clone(), network, 1, 0.99, AdamOptions::default()).unwrap()
    };
    for epsilon in [f64::NAN, -0.1, 1.1] {
        assert!(matches!(DqnPolicy::new(network(), epsilon, 1).err(), Some(TrainingError::Option { .. })));
    }
    let mut policy = DqnPolicy::new(network(), 0.0, 1).unwrap();
    let error = policy.act(&[f32::NAN; 4]).unwrap_err();
    assert_eq!(error, TrainingError::NotFinite { what: "a value".into() });
}

/// Networks one of whose parameters is no number, which stands in the first layer and so behind a ReLU.
fn spoil(networks: &mut impl NetworkState) {
    let mut spoilt = false;
    let spoil_first = &mut |_: &str, numbers: Numbers<'_>| {
        if let (false, Numbers::F32(values)) = (spoilt, numbers) {
            values[0] = f32::NAN;
            spoilt = true;
        }
    };
    networks.visit_state(spoil_first).unwrap();
}

#[test]
fn networks_that_diverged_play_no_episode_and_name_the_tensor() {
    let told = |error: Option<TrainingError>| error.map_or("accepted".into(), |error| error.to_string());
    let diverged = |name| {
        format!(
            "tensor {name} of the networks is infinite or not a number: what they were learnt with diverged"
        )
    };
    let (adam, loss) = (AdamOptions::default(), PpoLossOptions::default());

    let network = cleanrl::dqn_network(4, 2, 1).unwrap();
    let mut dqn = DenseDqn::from_networks(network.clone(), network, 1, 0.99, adam).unwrap();
    spoil(&mut dqn);
    assert_eq!(told(DqnPolicy::new(dqn, 0.0, 1).err()), diverged("0.weight"));

    let [actor, critic] = cleanrl::ppo_networks(4, 2, 1).unwrap();
    let mut ppo = DensePpo::new(actor, critic, 1, 2, loss, adam).unwrap();
    spoil(&mut ppo);
    assert_eq!(told(PpoPolicy::deterministic(ppo).err()), diverged("actor.0.weight"));

    let actions = Pendulum::new().action_space().clone();
    let [actor, critic] = cleanrl::ppo_networks(3, 1, 1).unwrap();
    let mut ppo = NormalPpo::with_log_deviations(actor, &[0.0], critic, 1, 2, loss, adam).unwrap();
    spoil(&mut ppo);
    let policy = NormalPpoPolicy::deterministic(ppo, actions.clone(), None);
    assert_eq!(told(policy.err()), diverged("actor_mean.0.weight"));

    let networks = cleanrl::sac_networks(3, 1, 1).unwrap();
    let range = cleanrl::action_range(&actions);
    let mut sac = DenseSac::new(networks, range, 1, SacLossOptions::default()).unwrap();
    spoil(&mut sac);
    assert_eq!(told(SacPolicy::deterministic(sac).err()), diverged("actor.fc1.weight"));
}

#[test]
fn a_constant_of_an_update_that_is_out_of_its_range_is_named_when_the_network_is_made() {
    let of = AdamOptions::default();
    let dqn = |gamma, adam| {
        let network = cleanrl::dqn_network(4, 2, 1).unwrap();
        DenseDqn::from_networks(network.clone(), network, 1, gamma, adam).err().unwrap().to_string()
    };
    for gamma in [1.5, -0.1, f64::NAN] {
        assert_eq!(dqn(gamma, of), format!("gamma is {gamma} and must be a number from 0 to 1"));
    }
    let rate = AdamOptions { learning_rate: -1e-3, ..of };
    for (adam, told) in [
        (rate, "the learning rate is -0.001 and must be zero or a positive number"),
        (
            AdamOptions { learning_rate: f64::NAN, ..of },
            "the learning rate is NaN and must be zero or a positive number",
        ),
        (AdamOptions { beta1: 1.0, ..of }, "beta1 is 1 and must be a number from 0 to less than 1"),
        (AdamOptions { beta2: -0.5, ..of }, "beta2 is -0.5 and must be a number from 0 to less than 1"),
        (
            AdamOptions { epsilon: 0.0, ..of },
            "Adam's epsilon is 0 and must be a positive number of single precision",
        ),
        (
            AdamOptions { epsilon: 1e-40, ..of },
            "Adam's epsilon is 0.0000000000000000000000000000000000000001 and must be a positive number of single precision",
        ),
    ] {
        assert_eq!(dqn(0.99, adam), told);
    }

    let networks = || cleanrl::sac_networks(3, 1, 1).unwrap();
    let range = || cleanrl::action_range(Pendulum::new().action_space());
    let sac = SacLossOptions::default();
    for loss in [SacLossOptions { policy_adam: rate, ..sac }, SacLossOptions { critic_adam: rate, ..sac }] {
        let error = DenseSac::new(networks(), range(), 1, loss).err().unwrap();
        assert!(error.to_string().starts_with("the learning rate is -0.001"), "{error}");
    }

    let loss = PpoLossOptions::default();
    for (loss, adam, what) in [
        (loss, rate, "the learning rate is -0.001"),
        (PpoLossOptions { clip: 0.0, ..loss }, of, "the clip is 0"),
        (PpoLossOptions { entropy_weight: f64::NAN, ..loss }, of, "the entropy's weight is NaN"),
        (PpoLossOptions { value_weight: -0.5, ..loss }, of, "the value's weight is -0.5"),
        (PpoLossOptions { largest_gradient_norm: 0.0, ..loss }, of, "the largest gradient norm is 0"),
    ] {
        let [actor, critic] = cleanrl::ppo_networks(4, 2, 1).unwrap();
        let error = DensePpo::new(actor, critic, 1, 2, loss, adam).err().unwrap();
        assert!(error.to_string().starts_with(what), "{error}");
    }
}

#[test]
fn a_training_takes_nothing_down_unless_it_is_asked_to() {
    let options = DqnOptions { learning_starts: 20, steps: u64::MAX, ..DqnOptions::default() };
    let mut agent = Dqn::cleanrl_with(cart_pole(), options, 1).unwrap();
    for _ in 0..200 {
        agent.step().unwrap();
    }
    assert!(agent.gradient_steps() > 0 && agent.trace().update_steps.is_empty());
    assert_eq!(agent.network().batch(), options.batch);
}
