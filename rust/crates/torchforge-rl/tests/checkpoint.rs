//! A training that was stopped and gone on with is the training that was not.

use std::fs;
use std::path::{Path, PathBuf};

use torchforge_env::{
    AutoresetMode, CartPole, Discrete, Environment, Error, MountainCarContinuous, Pendulum, Step, TimeLimit,
    VectorEnv,
};
use torchforge_nn::{
    ActionRange, Activation, AdamOptions, DenseDqn, DensePpo, DenseSac, Mlp, PpoLossOptions, SacLossOptions,
    SacNetworks, TensorWriter,
};
use torchforge_rl::{
    Archive, CheckpointError, Dqn, DqnOptions, DqnPriorities, DqnTrace, Episode, GaeOptions, Ppo, PpoOptions,
    PpoTrace, Sac, SacOptions, SacTrace, State, Stream, load_checkpoint, save_checkpoint,
};

fn file(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.safetensors"));
    let _ = fs::remove_file(&path);
    path
}

fn training(seed: u64) -> [(&'static str, String); 2] {
    [("algorithm", "dqn".into()), ("seed", seed.to_string())]
}

/// An agent and the episodes that it has played.
struct Run<A> {
    agent: A,
    episodes: Vec<Episode>,
}

impl<A> From<A> for Run<A> {
    fn from(agent: A) -> Self {
        Self { agent, episodes: Vec::new() }
    }
}

impl<A: State> State for Run<A> {
    fn visit(&mut self, archive: &mut Archive) {
        self.agent.visit(archive);
        archive.episodes(&mut self.episodes, 10_000);
    }
}

/// Stops at each of these places and goes on in a fresh agent; the end is always the same.
fn same_end<A: State, T: PartialEq>(
    name: &str,
    make: impl Fn() -> A,
    mut advance: impl FnMut(&mut Run<A>),
    end: u64,
    stops: &[u64],
    told: impl Fn(&Run<A>) -> T,
) {
    let path = file(name);
    let mut straight = Run::from(make());
    (0..end).for_each(|_| advance(&mut straight));
    let expected = told(&straight);
    for &stop in stops {
        let mut before = Run::from(make());
        (0..stop).for_each(|_| advance(&mut before));
        save_checkpoint(&path, &training(1), &mut before).unwrap();
        let mut after = Run::from(make());
        load_checkpoint(&path, &training(1), &mut after).unwrap();
        for (run, what) in [(&mut after, "gone on with"), (&mut before, "saved on the way")] {
            (stop..end).for_each(|_| advance(run));
            assert!(told(run) == expected, "{name} {what} at {stop}");
        }
    }
}

const DQN: DqnOptions = DqnOptions {
    steps: 1_500,
    learning_starts: 300,
    train_frequency: 3,
    target_frequency: 100,
    tau: 1.0,
    buffer_capacity: 700,
    batch: 16,
    start_epsilon: 1.0,
    end_epsilon: 0.05,
    exploration_fraction: 0.5,
    n_step: 1,
    priorities: None,
    trace: true,
};

fn dqn<E: Environment<Action = u32, ActionSpace = Discrete>>(environment: E) -> Dqn<E, DenseDqn> {
    dqn_with(environment, DQN)
}

fn dqn_with<E: Environment<Action = u32, ActionSpace = Discrete>>(
    environment: E,
    options: DqnOptions,
) -> Dqn<E, DenseDqn> {
    let mut weights = Stream::Weights.of(1);
    let adam = AdamOptions::default();
    let network = DenseDqn::new(&[4, 16, 2], options.batch, 0.99, adam, &mut weights).unwrap();
    Dqn::new(environment, network, options, 1).unwrap()
}

fn cart_pole() -> TimeLimit<CartPole> {
    TimeLimit::new(CartPole::new(), 40)
}

#[test]
fn dqn_goes_on_before_learning_within_an_episode_and_with_a_full_buffer() {
    dqn_goes_on("dqn", DQN);
}

#[test]
fn dqn_goes_on_with_the_priorities_that_it_had() {
    let priorities = Some(DqnPriorities::default());
    dqn_goes_on("dqn_prioritised", DqnOptions { n_step: 3, priorities, ..DQN });
}

fn dqn_goes_on(name: &str, options: DqnOptions) {
    let told = |run: &Run<Dqn<TimeLimit<CartPole>, DenseDqn>>| {
        let DqnTrace { update_steps, epsilons, buffer_rows, batch_rows, copy_steps, copy_remainders, .. } =
            run.agent.trace().clone();
        let bits: Vec<u32> = run.agent.network().online().parameters().iter().map(|p| p.to_bits()).collect();
        let counts = (run.agent.environment_steps(), run.agent.gradient_steps(), run.agent.truncations());
        let trace = (update_steps, epsilons, buffer_rows, batch_rows, copy_steps, copy_remainders);
        (bits, counts, trace, run.episodes.clone())
    };
    let advance = |run: &mut Run<Dqn<_, _>>| run.episodes.extend(run.agent.step().unwrap());
    let stops = &[0, 1, 299, 301, 650, 701, 1_203, 1_499];
    same_end(name, || dqn_with(cart_pole(), options), advance, options.steps, stops, told);
}

#[test]
fn ppo_goes_on_after_any_iteration() {
    let options = PpoOptions {
        iterations: 8,
        rollout_steps: 33,
        minibatches: 3,
        epochs: 2,
        learning_rate: 1e-3,
        gae: GaeOptions { gamma: 0.99, lambda: 0.95 },
        trace: true,
        ..PpoOptions::default()
    };
    let make = || {
        let environments = (0..3).map(|_| cart_pole()).collect();
        let environments = VectorEnv::new(environments, AutoresetMode::SameStep).unwrap();
        let mut weights = Stream::Weights.of(1);
        let mut network = |outputs| {
            Mlp::orthogonal(&[4, 16, outputs], Activation::Tanh, &[1.0, 0.1], &mut weights).unwrap()
        };
        let (actor, critic) = (network(2), network(1));
        let networks =
            DensePpo::new(actor, critic, 3, 33, PpoLossOptions::default(), AdamOptions::default()).unwrap();
        Ppo::new(environments, networks, options, 1).unwrap()
    };
    let told = |run: &Run<Ppo<TimeLimit<CartPole>, DensePpo>>| {
        let PpoTrace { learning_rates, update_steps, batch_rows, wrong_flags, .. } =
            run.agent.trace().clone();
        let networks = run.agent.networks();
        let parameters = networks.actor().parameters().iter().chain(networks.critic().parameters());
        let bits: Vec<u32> = parameters.map(|p| p.to_bits()).collect();
        let counts = (run.agent.environment_steps(), run.agent.gradient_steps());
        (bits, counts, (learning_rates, update_steps, batch_rows, wrong_flags), run.episodes.clone())
    };
    let advance = |run: &mut Run<Ppo<_, _>>| run.agent.iterate(&mut run.episodes).unwrap();
    same_end("ppo", make, advance, options.iterations, &[0, 1, 4, 7], told);
}

#[test]
fn sac_goes_on_before_and_between_updates_in_both_environments() {
    let options = SacOptions {
        steps: 260,
        learning_starts: 100,
        buffer_capacity: 180,
        batch: 16,
        policy_frequency: 2,
        trace: true,
    };
    fn made<E>(environment: E, options: SacOptions) -> Sac<E, DenseSac>
    where
        E: Environment<Action = [f32], ActionSpace = torchforge_env::Continuous>,
    {
        let inputs = environment.observation_len();
        let mut weights = Stream::Weights.of(1);
        let actor = Mlp::new(&[inputs, 16, 16, 2], &mut weights).unwrap();
        let critics = [0, 1].map(|_| Mlp::new(&[inputs + 1, 16, 16, 1], &mut weights).unwrap());
        let networks = SacNetworks { actor, targets: critics.clone(), critics, log_alpha: 0.0 };
        let range = ActionRange { bias: vec![0.0], scale: environment.action_space().high.clone() };
        let networks = DenseSac::new(networks, range, options.batch, SacLossOptions::default()).unwrap();
        Sac::new(environment, networks, options, 1).unwrap()
    }
    fn told<E>(run: &Run<Sac<E, DenseSac>>) -> (Vec<u8>, [Vec<u64>; 5], Vec<Episode>, u64)
    where
        E: Environment<Action = [f32], ActionSpace = torchforge_env::Continuous>,
    {
        let SacTrace { update_steps, policy_steps, target_steps, buffer_rows, batch_rows, .. } =
            run.agent.trace().clone();
        let mut tensors = TensorWriter::new();
        run.agent.networks().write("", &mut tensors);
        let trace = [update_steps, policy_steps, target_steps, buffer_rows, batch_rows];
        (tensors.into_bytes(), trace, run.episodes.clone(), run.agent.gradient_steps())
    }
    let stops = [0, 99, 101, 150, 201, 259];
    let pendulum = || made(TimeLimit::new(Pendulum::new(), 70), options);
    let advance = |run: &mut Run<Sac<_, _>>| run.episodes.extend(run.agent.step().unwrap());
    same_end("sac", pendulum, advance, options.steps, &stops, told);
    let mountain_car = || made(TimeLimit::new(MountainCarContinuous::new(), 50), options);
    let advance = |run: &mut Run<Sac<_, _>>| run.episodes.extend(run.agent.step().unwrap());
    same_end("sac-car", mountain_car, advance, options.steps, &[150, 151], told);
}

fn refusal(path: &Path, training: &[(&str, String)]) -> String {
    let error = load_checkpoint(path, training, &mut dqn(cart_pole())).unwrap_err();
    let text = error.to_string();
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.contains(&path.display().to_string()), "{text}");
    text
}

#[test]
fn what_is_no_checkpoint_of_this_training_is_refused_by_name() {
    let path = file("refused");
    assert!(refusal(&path, &training(1)).contains("No such file"));
    save_checkpoint(&path, &training(1), &mut dqn(cart_pole())).unwrap();
    assert!(refusal(&path, &training(2)).contains("its seed is 1 and must be 2"));
    let others = [("algorithm", "sac".to_owned()), ("seed", "1".to_owned())];
    assert!(refusal(&path, &others).contains("its algorithm is dqn and must be sac"));
    let more = [&training(1)[..], &[("environment", "CartPole-v1".to_owned())]].concat();
    assert!(refusal(&path, &more).contains("it does not say its environment"));
    assert!(refusal(&path, &training(1)[..1]).contains("more of itself"));

    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    assert!(refusal(&path, &training(1)).contains("its header is of"));
    fs::write(&path, &bytes[..100]).unwrap();
    assert!(refusal(&path, &training(1)).contains("it ends within its header"));
    let mut altered = bytes.clone();
    let last = altered.len() - 1;
    altered[last] ^= 1;
    fs::write(&path, altered).unwrap();
    assert!(refusal(&path, &training(1)).contains("its checksum is wrong"));

    let mut tensors = TensorWriter::new();
    tensors.push("0.weight".into(), vec![1], [1.0]);
    fs::write(&path, tensors.into_bytes()).unwrap();
    assert!(refusal(&path, &training(1)).contains("it is no checkpoint of torchforge"));
    fs::write(&path, "a text").unwrap();
    assert!(refusal(&path, &training(1)).contains("it ends within its header"));
    assert!(refusal(path.parent().unwrap(), &training(1)).contains("it is no ordinary file"));
}

#[test]
fn words_that_would_not_be_read_back_are_refused_before_a_file_is_written() {
    let path = file("words");
    for training in [[("note", "two\nlines".to_owned())], [("a: b", "c".to_owned())]] {
        let refused = save_checkpoint(&path, &training, &mut dqn(cart_pole())).unwrap_err();
        assert!(refused.to_string().contains("would not be read back"), "{refused}");
        assert!(!path.exists());
    }
    let with_colon = [("note", "a: b".to_owned())];
    save_checkpoint(&path, &with_colon, &mut dqn(cart_pole())).unwrap();
    load_checkpoint(&path, &with_colon, &mut dqn(cart_pole())).unwrap();
}

#[test]
fn a_file_is_replaced_whole_and_readable_by_its_owner_alone() {
    let path = file("replaced");
    let part = path.with_file_name("replaced.safetensors.part");
    fs::write(&part, "left by a process that was killed").unwrap();
    let mut agent = dqn(cart_pole());
    save_checkpoint(&path, &training(1), &mut agent).unwrap();
    let first = fs::read(&path).unwrap();
    assert!(!part.exists());
    agent.step().unwrap();
    save_checkpoint(&path, &training(1), &mut agent).unwrap();
    assert_ne!(fs::read(&path).unwrap(), first);
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&path).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
    }

    let nowhere = path.with_file_name("no-such-folder").join("file");
    let error = save_checkpoint(&nowhere, &training(1), &mut agent).unwrap_err();
    assert!(error.to_string().contains("check that its folder exists"), "{error}");
}

/// An environment of somewhere else.
struct Foreign(TimeLimit<CartPole>);

impl Environment for Foreign {
    type Action = u32;
    type ActionSpace = Discrete;

    fn observation_len(&self) -> usize {
        self.0.observation_len()
    }

    fn action_space(&self) -> &Discrete {
        self.0.action_space()
    }

    fn reset(&mut self, seed: Option<u64>, observation: &mut [f32]) -> Result<(), Error> {
        self.0.reset(seed, observation)
    }

    fn step(&mut self, action: &u32, observation: &mut [f32]) -> Result<Step, Error> {
        self.0.step(action, observation)
    }
}

#[test]
fn an_environment_that_cannot_take_down_its_state_has_no_checkpoint() {
    let path = file("foreign");
    let error = save_checkpoint(&path, &training(1), &mut dqn(Foreign(cart_pole()))).unwrap_err();
    assert!(matches!(error, CheckpointError::Unable { .. }), "{error}");
    assert!(!path.exists());
}
