//! PPO learns where actions are numbers.

use torchforge_env::{
    AutoresetMode, Continuous, Environment, Error, Pcg64, Pendulum, Step, TimeLimit, VectorEnv,
};
use torchforge_nn::{AdamOptions, NormalNetworks, NormalPpo, PpoLossOptions, TensorReader, TensorWriter};
use torchforge_rl::{
    Episode, NormalPpoPolicy, ObservationStatistics, Ppo, PpoOptions, Returns, TrainingError, cleanrl,
    evaluate,
};

/// Each step shows a number from 0 to 20. The action that is a tenth of it, less one, costs nothing.
struct Follow {
    random: Pcg64,
    shown: f32,
    actions: Continuous,
}

impl Follow {
    fn vector(count: usize) -> VectorEnv<TimeLimit<Self>> {
        let actions = Continuous { low: vec![-2.0], high: vec![2.0] };
        let one = |_| Self { random: Pcg64::new(0), shown: 0.0, actions: actions.clone() };
        let limited = (0..count).map(one).map(|one| TimeLimit::new(one, 16)).collect();
        VectorEnv::new(limited, AutoresetMode::SameStep).unwrap()
    }

    fn show(&mut self, observation: &mut [f32]) {
        self.shown = self.random.uniform(0.0, 20.0) as f32;
        observation[0] = self.shown;
    }
}

impl Environment for Follow {
    type Action = [f32];
    type ActionSpace = Continuous;

    fn observation_len(&self) -> usize {
        1
    }

    fn action_space(&self) -> &Continuous {
        &self.actions
    }

    fn reset(&mut self, seed: Option<u64>, observation: &mut [f32]) -> Result<(), Error> {
        self.random = seed.map_or(self.random.clone(), Pcg64::new);
        self.show(observation);
        Ok(())
    }

    fn step(&mut self, action: &[f32], observation: &mut [f32]) -> Result<Step, Error> {
        assert!(action[0].abs() <= 2.0, "actions are brought within their bounds");
        let distance = f64::from(action[0] - (self.shown / 10.0 - 1.0));
        self.show(observation);
        Ok(Step { reward: -distance * distance, terminated: false, truncated: false })
    }
}

#[test]
fn it_learns_what_each_observation_asks_for() {
    let options = PpoOptions {
        iterations: 24,
        rollout_steps: 128,
        minibatches: 4,
        learning_rate: 3e-3,
        ..PpoOptions::continuous()
    };
    let loss = cleanrl::ppo_continuous_loss();
    let mut agent = Ppo::cleanrl_continuous_with(Follow::vector(2), options, loss, 1).unwrap();
    let mut episodes = Vec::new();
    for _ in 0..options.iterations {
        agent.iterate(&mut episodes).unwrap();
    }
    let mean = |episodes: &[Episode]| Returns::of(episodes).mean;
    let (first, last) = (mean(&episodes[..16]), mean(&episodes[episodes.len() - 16..]));
    // At first an action of deviation 1 around 0, of which the wanted one is on average 1/3 away in squares.
    assert!((-30.0..-10.0).contains(&first), "{first}");
    assert!(last > first / 4.0, "{first} {last}");
    assert!(agent.networks().log_deviations()[0] < -0.3);

    let networks = agent.networks();
    let (actor, critic) = (networks.actor().clone(), networks.critic().clone());
    let (loss, adam) = (PpoLossOptions::default(), AdamOptions::default());
    let alone = NormalPpo::with_log_deviations(actor, networks.log_deviations(), critic, 1, 2, loss, adam);
    let statistics = agent.observation_statistics().next().cloned();
    let statistics = statistics.expect("observations are normalised");
    assert!((5.0..15.0).contains(&statistics.mean()[0]) && (20.0..50.0).contains(&statistics.variance()[0]));
    let actions = Continuous { low: vec![-2.0], high: vec![2.0] };
    let mut policy =
        NormalPpoPolicy::deterministic(alone.unwrap(), actions.clone(), Some(statistics)).unwrap();
    let mut environment = TimeLimit::new(Follow { random: Pcg64::new(0), shown: 0.0, actions }, 16);
    let means = mean(&evaluate(&mut environment, &mut policy, 20, 9).unwrap());
    let drawn = mean(&evaluate(&mut environment, &mut policy.stochastic(5), 20, 9).unwrap());
    assert!(means > -2.0 && means > drawn, "{means} {drawn}");
}

#[test]
fn networks_of_other_actions_are_refused() {
    let environments = VectorEnv::new(vec![TimeLimit::new(Pendulum::new(), 200)], AutoresetMode::SameStep);
    let [actor, critic] = cleanrl::ppo_networks(3, 2, 1).unwrap();
    let (loss, adam) = (PpoLossOptions::default(), AdamOptions::default());
    let networks = NormalPpo::with_log_deviations(actor, &[0.0; 2], critic, 1, 64, loss, adam).unwrap();
    let refused = Ppo::new(environments.unwrap(), networks, PpoOptions::continuous(), 1).map(drop);
    assert_eq!(refused, Err(TrainingError::Outputs { outputs: 2, actions: 1 }));
}

#[test]
fn a_file_gives_back_networks_and_statistics_and_a_training_begins_with_them() {
    let options = PpoOptions { iterations: 1, rollout_steps: 32, minibatches: 4, ..PpoOptions::continuous() };
    let loss = cleanrl::ppo_continuous_loss();
    let mut agent = Ppo::cleanrl_continuous_with(Follow::vector(2), options, loss, 1).unwrap();
    agent.iterate(&mut Vec::new()).unwrap();
    let statistics = agent.observation_statistics().next().unwrap();
    let mut tensors = TensorWriter::new();
    agent.networks().write(&mut tensors);
    statistics.write(&mut tensors);
    let bytes = tensors.into_bytes();

    let given = TensorReader::new(&bytes).unwrap();
    let [actor, critic] = cleanrl::ppo_sizes(1, 1);
    let read = NormalNetworks::read(&actor, &critic, &given).unwrap();
    assert_eq!(read.actor.parameters(), agent.networks().actor().parameters());
    assert_eq!(read.critic.parameters(), agent.networks().critic().parameters());
    assert_eq!(read.log_deviations, agent.networks().log_deviations());
    let kept = ObservationStatistics::read(&given, 1).unwrap().unwrap();
    assert_eq!(&kept, statistics);
    assert!(ObservationStatistics::read(&given, 2).is_err());
    let mut without = TensorWriter::new();
    agent.networks().write(&mut without);
    let without = without.into_bytes();
    assert_eq!(ObservationStatistics::read(&TensorReader::new(&without).unwrap(), 1).unwrap(), None);

    let networks = || {
        let NormalNetworks { actor, log_deviations, critic } = read.clone();
        NormalPpo::with_log_deviations(actor, &log_deviations, critic, 2, 16, loss, cleanrl::ppo_adam())
            .unwrap()
    };
    let again = Ppo::with_statistics(Follow::vector(2), networks(), options, 3, Some(&kept)).unwrap();
    // With the first observation of each environment.
    for begun in again.observation_statistics() {
        assert!((begun.mean()[0] - kept.mean()[0]).abs() < 1.0 && *begun != kept);
    }
    let other = ObservationStatistics::from_moments(vec![0.0; 2], vec![1.0; 2], 1.0);
    let refused = Ppo::with_statistics(Follow::vector(2), networks(), options, 3, other.as_ref()).map(drop);
    let error = torchforge_nn::Error::Len { what: "observation statistics", expected: 1, found: 2 };
    assert_eq!(refused, Err(error.into()));
}
