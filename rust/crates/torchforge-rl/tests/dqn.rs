//! What a DQN training promises.

use torchforge_env::{CartPole, TimeLimit};
use torchforge_nn::{AdamOptions, DenseDqn, DqnUpdate, Error, Minibatch};
use torchforge_rl::{Dqn, DqnOptions, Episode, Stream, TrainingError};

const OPTIONS: DqnOptions = DqnOptions {
    steps: 3_000,
    learning_starts: 1_000,
    train_frequency: 10,
    target_frequency: 500,
    tau: 1.0,
    buffer_capacity: 2_000,
    batch: 32,
    start_epsilon: 1.0,
    end_epsilon: 0.05,
    exploration_fraction: 0.5,
    n_step: 1,
    priorities: None,
    trace: true,
};

fn cart_pole() -> TimeLimit<CartPole> {
    TimeLimit::new(CartPole::new(), 500)
}

fn train(seed: u64) -> (Vec<Episode>, Vec<u32>, u64) {
    let mut weights = Stream::Weights.of(seed);
    let sizes = [4, 16, 16, 2];
    let network = DenseDqn::new(&sizes, OPTIONS.batch, 0.99, AdamOptions::default(), &mut weights).unwrap();
    let mut agent = Dqn::new(cart_pole(), network, OPTIONS, seed).unwrap();
    let mut episodes = Vec::new();
    while agent.environment_steps() < OPTIONS.steps {
        episodes.extend(agent.step().unwrap());
    }
    let bits = agent.network().online().parameters().iter().map(|value| value.to_bits()).collect();
    (episodes, bits, agent.gradient_steps())
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    let first = train(1);
    assert_eq!(first, train(1));
    assert_ne!(first.1, train(2).1);
    assert_eq!(first.2, 199, "steps 1010, 1020, ..., 2990");
}

#[test]
fn episodes_follow_each_other_without_a_gap() {
    let mut next_step = 0;
    for episode in train(1).0 {
        assert_eq!(episode.step + 1, next_step + episode.length);
        assert_eq!(episode.total_reward, episode.length as f64);
        next_step += episode.length;
    }
}

/// A network that only counts what the agent asks of it.
#[derive(Default)]
struct Recorder {
    acts: u64,
    updates: u64,
    copies: u64,
}

impl DqnUpdate for Recorder {
    fn batch(&self) -> usize {
        OPTIONS.batch
    }

    fn q_values(&mut self, _: &[f32]) -> Result<&[f32], Error> {
        self.acts += 1;
        Ok(&[0.0, 1.0])
    }

    fn mean_value(&mut self, _: Minibatch<'_>) -> Result<f32, Error> {
        Ok(0.5)
    }

    fn update(&mut self, minibatch: Minibatch<'_>) -> Result<f32, Error> {
        // The transition at an episode's end has its real last state: outside the limits if it terminated.
        let next = minibatch.next_observations.chunks_exact(4).zip(minibatch.terminations);
        for (next, &terminated) in next {
            let outside = next[0].abs() > 2.4 || next[2].abs() > 0.209_439_5;
            assert_eq!(outside, terminated == 1.0);
        }
        self.updates += 1;
        Ok(0.0)
    }

    fn update_target(&mut self, _: f64) {
        self.copies += 1;
    }

    fn largest_target_difference(&self) -> f32 {
        0.25
    }
}

#[test]
fn updates_and_copies_come_at_cleanrls_steps() {
    let mut agent = Dqn::new(cart_pole(), Recorder::default(), OPTIONS, 1).unwrap();
    while agent.environment_steps() < OPTIONS.steps {
        agent.step().unwrap();
    }
    // One update for every tenth step strictly after the thousandth; the thousandth itself copies nothing.
    assert_eq!(agent.network().updates, 199);
    assert_eq!(agent.network().copies, 3);
    // Exploration falls to 0.05 after half of the steps: 1,425 + 712.5 greedy steps are expected.
    let greedy = agent.network().acts - 1;
    assert!((2_020..2_260).contains(&greedy), "{greedy} greedy steps");

    let trace = agent.trace();
    assert_eq!(trace.update_steps, (1_010..3_000).step_by(10).collect::<Vec<u64>>());
    assert_eq!(trace.copy_steps, [1_500, 2_000, 2_500]);
    assert_eq!(trace.copy_remainders, [0.25; 3]);
    assert_eq!((trace.buffer_rows[0], trace.buffer_rows[198]), (1_011, 2_000));
    assert_eq!(trace.batch_rows, [32; 199]);
    assert!((trace.epsilons[0] - (1.0 - 0.95 * 1_010.0 / 1_500.0)).abs() < 1e-12);
    assert_eq!(trace.epsilons[198], 0.05);
}

#[test]
fn a_target_that_moves_by_a_share_trails_the_online_network() {
    let options = DqnOptions { tau: 0.5, target_frequency: 10, ..OPTIONS };
    let mut agent = Dqn::cleanrl_with(cart_pole(), options, 1).unwrap();
    while agent.environment_steps() < 1_100 {
        agent.step().unwrap();
    }
    let remainders = &agent.trace().copy_remainders;
    assert_eq!(remainders.len(), 9, "steps 1010, 1020, ..., 1090");
    assert!(remainders.iter().all(|&remainder| remainder > 0.0), "{remainders:?}");
}

#[test]
fn options_that_cannot_work_are_errors() {
    let options = DqnOptions { train_frequency: 0, ..OPTIONS };
    let error = Dqn::new(cart_pole(), Recorder::default(), options, 1).err();
    assert_eq!(error, Some(TrainingError::Zero { what: "train frequency" }));
}
