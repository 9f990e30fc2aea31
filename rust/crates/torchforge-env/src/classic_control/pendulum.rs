//! Pendulum, after Gymnasium's `gymnasium/envs/classic_control/pendulum.py`.

use std::f64::consts::PI;

use super::episode::Episode;
use super::numpy;
use crate::environment::{check_finite, check_len, check_positive};
use crate::{Continuous, Environment, Error, Step};

/// Radians per second.
const MAX_SPEED: f64 = 8.0;
/// Newton metres.
const MAX_TORQUE: f32 = 2.0;
/// Seconds between two states.
const DT: f64 = 0.05;

/// The attributes of Gymnasium's Pendulum that its equation of motion has; the defaults are Gymnasium's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PendulumParameters {
    /// `g`, in metres per square second.
    pub gravity: f64,
    /// `m`, in kilograms.
    pub mass: f64,
    /// `l`: the rod's length, in metres.
    pub length: f64,
}

impl Default for PendulumParameters {
    fn default() -> Self {
        Self { gravity: 10.0, mass: 1.0, length: 1.0 }
    }
}

/// What a pendulum's acceleration is made of.
#[derive(Debug, Clone, Copy)]
struct Factors {
    /// 3 g / (2 l).
    gravity: f64,
    /// 3 / (m l^2); an `f32`, because the torque is one.
    torque: f32,
}

impl From<PendulumParameters> for Factors {
    fn from(PendulumParameters { gravity, mass, length }: PendulumParameters) -> Self {
        Self {
            gravity: 3.0 * gravity / (2.0 * length),
            torque: (3.0 / (mass * numpy::square(length))) as f32,
        }
    }
}

/// A pendulum that a torque, clipped to ±2 N m, swings up; a step costs up to about 16.3 and no episode terminates.
///
/// The observation is the cosine and sine of the angle from upright and its velocity in rad/s. Episodes have no
/// limit of their own: see [`TimeLimit`](crate::TimeLimit).
#[derive(Debug, Clone)]
pub struct Pendulum {
    factors: Factors,
    episode: Episode,
    /// Angle and its velocity.
    state: [f64; 2],
    actions: Continuous,
}

impl Default for Pendulum {
    fn default() -> Self {
        let actions = Continuous { low: vec![-MAX_TORQUE], high: vec![MAX_TORQUE] };
        let factors = PendulumParameters::default().into();
        Self { factors, episode: Episode::default(), state: [0.0; 2], actions }
    }
}

impl Pendulum {
    /// A pendulum without a random state: its first reset needs a seed.
    pub fn new() -> Self {
        Self::default()
    }

    /// A pendulum with these attributes.
    ///
    /// # Errors
    ///
    /// [`Error::Parameter`] where the gravity is not finite, or mass or length is not positive.
    pub fn with_parameters(parameters: PendulumParameters) -> Result<Self, Error> {
        check_finite([("the gravity", parameters.gravity)])?;
        check_positive([("the mass", parameters.mass), ("the length", parameters.length)])?;
        Ok(Self { factors: parameters.into(), ..Self::default() })
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

        let Factors { gravity, torque: of_torque } = self.factors;
        let acceleration = gravity * angle.sin() + f64::from(of_torque * torque);
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
