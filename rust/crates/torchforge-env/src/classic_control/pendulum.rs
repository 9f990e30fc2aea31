//! Pendulum, after Gymnasium's `gymnasium/envs/classic_control/pendulum.py`.

use std::f64::consts::PI;

use super::episode::Episode;
use super::numpy;
use crate::environment::check_len;
use crate::{Continuous, Environment, Error, Step};

/// Radians per second.
const MAX_SPEED: f64 = 8.0;
/// Newton metres.
const MAX_TORQUE: f32 = 2.0;
/// Seconds between two states.
const DT: f64 = 0.05;
/// 3 g / (2 l) with g = 10 m/s^2 and a rod of l = 1 m.
const GRAVITY_FACTOR: f64 = 3.0 * 10.0 / (2.0 * 1.0);
/// 3 / (m l^2) with a mass of 1 kg; an `f32`, because the torque is one.
const TORQUE_FACTOR: f32 = 3.0;

/// A pendulum that a torque, clipped to ±2 N m, swings up; a step costs up to about 16.3 and no episode terminates.
///
/// The observation is the cosine and sine of the angle from upright and its velocity in rad/s. Episodes have no
/// limit of their own: see [`TimeLimit`](crate::TimeLimit).
#[derive(Debug, Clone)]
pub struct Pendulum {
    episode: Episode,
    /// Angle and its velocity.
    state: [f64; 2],
    actions: Continuous,
}

impl Default for Pendulum {
    fn default() -> Self {
        let actions = Continuous { low: vec![-MAX_TORQUE], high: vec![MAX_TORQUE] };
        Self { episode: Episode::default(), state: [0.0; 2], actions }
    }
}

impl Pendulum {
    /// A pendulum without a random state: its first reset needs a seed.
    pub fn new() -> Self {
        Self::default()
    }

    /// Angle and angular velocity, unrounded.
    pub fn state(&self) -> [f64; 2] {
        self.state
    }

    fn write(&self, observation: &mut [f32]) {
        let [angle, speed] = self.state;
        observation.copy_from_slice(&[angle.cos() as f32, angle.sin() as f32, speed as f32]);
    }
}

impl Environment for Pendulum {
    type Action = [f32];
    type ActionSpace = Continuous;

    fn observation_len(&self) -> usize {
        3
    }

    fn action_space(&self) -> &Continuous {
        &self.actions
    }

    fn reset(&mut self, seed: Option<u64>, observation: &mut [f32]) -> Result<(), Error> {
        check_len("the observation", 3, observation.len())?;
        let rng = self.episode.begin(seed)?;
        self.state = [PI, 1.0].map(|high| rng.uniform(-high, high));
        self.write(observation);
        Ok(())
    }

    fn step(&mut self, action: &[f32], observation: &mut [f32]) -> Result<Step, Error> {
        check_len("the observation", 3, observation.len())?;
        check_len("the action", 1, action.len())?;
        self.episode.check()?;
        let [angle, speed] = self.state;
        let torque = action[0].clamp(-MAX_TORQUE, MAX_TORQUE);

        let normalised = numpy::modulo(angle + PI, 2.0 * PI) - PI;
        let effort = 0.001 * numpy::square_f32(torque);
        let cost = numpy::square(normalised) + 0.1 * numpy::square(speed) + f64::from(effort);

        let acceleration = GRAVITY_FACTOR * angle.sin() + f64::from(TORQUE_FACTOR * torque);
        let speed = (speed + acceleration * DT).clamp(-MAX_SPEED, MAX_SPEED);
        self.state = [angle + speed * DT, speed];
        self.write(observation);
        Ok(Step { reward: -cost, terminated: false, truncated: false })
    }

    fn snapshot(&self) -> Option<Vec<u64>> {
        Some(self.episode.snapshot(&self.state))
    }

    fn restore(&mut self, snapshot: &[u64]) -> Result<(), Error> {
        (self.episode, self.state) = Episode::restored(snapshot)?;
        Ok(())
    }
}
