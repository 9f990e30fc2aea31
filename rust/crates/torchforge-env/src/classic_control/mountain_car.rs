//! MountainCar, after Gymnasium's `gymnasium/envs/classic_control/mountain_car.py`.

use super::episode::Episode;
use crate::environment::{check_finite, check_len};
use crate::{Discrete, Environment, Error, Step};

const MIN_POSITION: f64 = -1.2;
const MAX_POSITION: f64 = 0.6;
const GOAL_POSITION: f64 = 0.5;
const MAX_SPEED: f64 = 0.07;
/// The first position is uniform between these; the first velocity is 0.
const START: [f64; 2] = [-0.6, -0.4];
/// Left, nothing and right.
const ACTIONS: Discrete = Discrete { count: 3 };

/// The attributes of Gymnasium's MountainCar that its equation of motion and its goal have; the defaults are Gymnasium's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MountainCarParameters {
    /// `force`: what a push adds to the velocity.
    pub force: f64,
    /// `gravity`: what the steepest slope adds to it.
    pub gravity: f64,
    /// `goal_velocity`: the least velocity at the goal that ends an episode.
    pub goal_velocity: f64,
}

impl Default for MountainCarParameters {
    fn default() -> Self {
        Self { force: 0.001, gravity: 0.0025, goal_velocity: 0.0 }
    }
}

/// A car in a valley that must gather momentum to get out of it; every step costs 1.
///
/// The observation is the state rounded to `f32`: position and velocity, without units. Episodes have no limit of
/// their own: see [`TimeLimit`](crate::TimeLimit).
#[derive(Debug, Clone, Default)]
pub struct MountainCar {
    parameters: MountainCarParameters,
    episode: Episode,
    state: [f64; 2],
}

impl MountainCar {
    /// A car without a random state: its first reset needs a seed.
    pub fn new() -> Self {
        Self::default()
    }

    /// A car and a valley with these attributes.
    ///
    /// # Errors
    ///
    /// [`Error::Parameter`] where a number is not finite.
    pub fn with_parameters(parameters: MountainCarParameters) -> Result<Self, Error> {
        let MountainCarParameters { force, gravity, goal_velocity } = parameters;
        check_finite([
            ("the force", force),
            ("the gravity", gravity),
            ("the goal's velocity", goal_velocity),
        ])?;
        Ok(Self { parameters, ..Self::default() })
    }

    /// Position and velocity, unrounded.
    pub fn state(&self) -> [f64; 2] {
        self.state
    }
}

impl Environment for MountainCar {
    type Action = u32;
    type ActionSpace = Discrete;

    fn observation_len(&self) -> usize {
        2
    }

    fn action_space(&self) -> &Discrete {
        &ACTIONS
    }

    fn reset(&mut self, seed: Option<u64>, observation: &mut [f32]) -> Result<(), Error> {
        check_len("the observation", 2, observation.len())?;
        let [low, high] = START;
        self.state = [self.episode.begin(seed)?.uniform(low, high), 0.0];
        observation.copy_from_slice(&self.state.map(|value| value as f32));
        Ok(())
    }

    fn step(&mut self, &action: &u32, observation: &mut [f32]) -> Result<Step, Error> {
        check_len("the observation", 2, observation.len())?;
        if action >= ACTIONS.count {
            return Err(Error::Action { action, count: ACTIONS.count });
        }
        self.episode.check()?;
        let [position, velocity] = self.state;
        let MountainCarParameters { force, gravity, goal_velocity } = self.parameters;
        let push = f64::from(action) - 1.0;
        let mut velocity = velocity + (push * force + (3.0 * position).cos() * -gravity);
        velocity = velocity.clamp(-MAX_SPEED, MAX_SPEED);
        let position = (position + velocity).clamp(MIN_POSITION, MAX_POSITION);
        if position == MIN_POSITION && velocity < 0.0 {
            velocity = 0.0;
        }
        self.state = [position, velocity];
        let terminated = position >= GOAL_POSITION && velocity >= goal_velocity;
        self.episode.set_terminated(terminated);
        observation.copy_from_slice(&self.state.map(|value| value as f32));
        Ok(Step { reward: -1.0, terminated, truncated: false })
    }

    fn snapshot(&self) -> Option<Vec<u64>> {
        Some(self.episode.snapshot(&self.state))
    }

    fn restore(&mut self, snapshot: &[u64]) -> Result<(), Error> {
        (self.episode, self.state) = Episode::restored(snapshot)?;
        Ok(())
    }
}
