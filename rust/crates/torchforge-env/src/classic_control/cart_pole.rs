//! CartPole, after Gymnasium's `gymnasium/envs/classic_control/cartpole.py`.

use super::episode::Episode;
use crate::environment::check_len;
use crate::{Discrete, Environment, Error, Step};

const GRAVITY: f64 = 9.8;
const CART_MASS: f64 = 1.0;
const POLE_MASS: f64 = 0.1;
const TOTAL_MASS: f64 = POLE_MASS + CART_MASS;
/// Half the pole's length, in metres.
const LENGTH: f64 = 0.5;
const POLE_MASS_LENGTH: f64 = POLE_MASS * LENGTH;
/// Newtons.
const FORCE: f64 = 10.0;
/// Seconds between two states.
const TAU: f64 = 0.02;
/// Metres from the centre at which an episode ends.
const POSITION_LIMIT: f64 = 2.4;
/// Radians from upright at which an episode ends: 12 degrees.
const ANGLE_LIMIT: f64 = 12.0 * 2.0 * std::f64::consts::PI / 360.0;
/// Left and right.
const ACTIONS: Discrete = Discrete { count: 2 };
/// The first state is uniform between minus and plus this.
const START: f64 = 0.05;

/// A pole on a cart that is pushed left (action 0) or right (action 1); every step earns 1.
///
/// The observation is the state rounded to `f32`: position, velocity, angle, angular velocity
/// (metres, radians, seconds). Episodes have no limit of their own: see [`TimeLimit`](crate::TimeLimit).
#[derive(Debug, Clone, Default)]
pub struct CartPole {
    episode: Episode,
    state: [f64; 4],
}

impl CartPole {
    /// A cart without a random state: its first reset needs a seed.
    pub fn new() -> Self {
        Self::default()
    }

    /// Position, velocity, angle and angular velocity, unrounded.
    pub fn state(&self) -> [f64; 4] {
        self.state
    }
}

impl Environment for CartPole {
    type Action = u32;
    type ActionSpace = Discrete;

    fn observation_len(&self) -> usize {
        4
    }

    fn action_space(&self) -> &Discrete {
        &ACTIONS
    }

    fn reset(&mut self, seed: Option<u64>, observation: &mut [f32]) -> Result<(), Error> {
        check_len("the observation", 4, observation.len())?;
        let rng = self.episode.begin(seed)?;
        self.state = std::array::from_fn(|_| rng.uniform(-START, START));
        write(&self.state, observation);
        Ok(())
    }

    #[inline]
    fn step(&mut self, &action: &u32, observation: &mut [f32]) -> Result<Step, Error> {
        check_len("the observation", 4, observation.len())?;
        if action >= ACTIONS.count {
            return Err(Error::Action { action, count: ACTIONS.count });
        }
        self.episode.check()?;
        self.state = next_state(self.state, if action == 1 { FORCE } else { -FORCE });
        let [x, _, theta, _] = self.state;
        let terminated = !(-POSITION_LIMIT..=POSITION_LIMIT).contains(&x)
            || !(-ANGLE_LIMIT..=ANGLE_LIMIT).contains(&theta);
        self.episode.set_terminated(terminated);
        write(&self.state, observation);
        Ok(Step { reward: 1.0, terminated, truncated: false })
    }

    fn snapshot(&self) -> Option<Vec<u64>> {
        Some(self.episode.snapshot(&self.state))
    }

    fn restore(&mut self, snapshot: &[u64]) -> Result<(), Error> {
        (self.episode, self.state) = Episode::restored(snapshot)?;
        Ok(())
    }
}

/// One explicit Euler step. Gymnasium's order of operations: any other rounds differently.
#[inline]
fn next_state([x, x_dot, theta, theta_dot]: [f64; 4], force: f64) -> [f64; 4] {
    let (sin, cos) = (theta.sin(), theta.cos());
    let temp = (force + POLE_MASS_LENGTH * (theta_dot * theta_dot) * sin) / TOTAL_MASS;
    let theta_acc =
        (GRAVITY * sin - cos * temp) / (LENGTH * (4.0 / 3.0 - POLE_MASS * (cos * cos) / TOTAL_MASS));
    let x_acc = temp - POLE_MASS_LENGTH * theta_acc * cos / TOTAL_MASS;
    [x + TAU * x_dot, x_dot + TAU * x_acc, theta + TAU * theta_dot, theta_dot + TAU * theta_acc]
}

fn write(state: &[f64; 4], observation: &mut [f32]) {
    for (value, &exact) in observation.iter_mut().zip(state) {
        *value = exact as f32;
    }
}
