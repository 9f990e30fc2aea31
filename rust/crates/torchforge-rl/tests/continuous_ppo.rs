//! PPO learns where actions are numbers.

use torchforge_env::{
    AutoresetMode, Continuous, Environment, Error, Pcg64, Pendulum, Step, TimeLimit, VectorEnv,
};
use torchforge_nn::{AdamOptions, NormalPpo, PpoLossOptions};
use torchforge_rl::{Episode, NormalPpoPolicy, Ppo, PpoOptions, Returns, TrainingError, cleanrl, evaluate};

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
