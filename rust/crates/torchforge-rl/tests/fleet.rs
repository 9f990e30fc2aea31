//! A member of a federated fleet trains with updates whose gradients leave it, and come back.

use torchforge_env::{CartPole, TimeLimit};
use torchforge_nn::{AdamOptions, DenseDqn, DqnUpdate, Error, Minibatch};
use torchforge_rl::{Dqn, DqnOptions, cleanrl};

/// A network whose gradients pass through somebody else's hands between the two halves of an update.
struct Member<X> {
    network: DenseDqn,
    exchange: X,
}

impl<X: FnMut(&[f32]) -> Vec<f32>> DqnUpdate for Member<X> {
    fn batch(&self) -> usize {
        self.network.batch()
    }

    fn q_values(&mut self, observation: &[f32]) -> Result<&[f32], Error> {
        self.network.q_values(observation)
    }

    fn mean_value(&mut self, minibatch: Minibatch<'_>) -> Result<f32, Error> {
        self.network.mean_value(minibatch)
    }

    fn update(&mut self, minibatch: Minibatch<'_>) -> Result<f32, Error> {
        let loss = self.network.compute_gradients(minibatch)?;
        let gradients = (self.exchange)(self.network.gradients());
        self.network.apply_gradients(&gradients)?;
        Ok(loss)
    }

    fn update_target(&mut self, tau: f64) {
        self.network.update_target(tau);
    }

    fn largest_target_difference(&self) -> f32 {
        self.network.largest_target_difference()
    }
}

const STEPS: u64 = 700;

fn options() -> DqnOptions {
    DqnOptions { learning_starts: 200, target_frequency: 100, batch: 16, ..DqnOptions::default() }
}

fn environment() -> TimeLimit<CartPole> {
    TimeLimit::new(CartPole::new(), 500)
}

/// The parameters after a training whose gradients were exchanged.
fn trained(exchange: impl FnMut(&[f32]) -> Vec<f32>) -> Vec<f32> {
    let network = cleanrl::dqn_network(4, 2, 1).unwrap();
    let adam = AdamOptions::default();
    let network =
        DenseDqn::from_networks(network.clone(), network, options().batch, cleanrl::DQN_GAMMA, adam).unwrap();
    let mut agent = Dqn::new(environment(), Member { network, exchange }, options(), 1).unwrap();
    while agent.environment_steps() < STEPS {
        agent.step().unwrap();
    }
    agent.network().network.online().parameters().to_vec()
}

#[test]
fn a_member_alone_has_the_bytes_of_a_training_that_exchanges_nothing() {
    let mut agent = Dqn::cleanrl_with(environment(), options(), 1).unwrap();
    while agent.environment_steps() < STEPS {
        agent.step().unwrap();
    }
    let alone = trained(<[f32]>::to_vec);
    assert_eq!(alone, agent.network().online().parameters());
    // What comes back is what is learnt from.
    assert_ne!(alone, trained(|gradients| gradients.iter().map(|value| -value).collect()));
}
