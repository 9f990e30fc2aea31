//! MountainCarContinuous, after Gymnasium's `gymnasium/envs/classic_control/continuous_mountain_car.py`.

use super::episode::Episode;
use crate::environment::{check_finite, check_len};
use crate::{Continuous, Environment, Error, Step};

const MIN_POSITION: f32 = -1.2;
const MAX_POSITION: f32 = 0.6;
const GOAL_POSITION: f32 = 0.45;
const MAX_SPEED: f32 = 0.07;
/// The same in the first step, which Gymnasium takes in `f64`.
const START_MAX_SPEED: f64 = 0.07;
const MAX_FORCE: f32 = 1.0;
const GRAVITY: f64 = 0.0025;
/// The first position is uniform between these; the first velocity is 0.
const START: [f64; 2] = [-0.6, -0.4];

/// The attributes of Gymnasium's MountainCarContinuous that its equation of motion and its goal have; the defaults are
/// Gymnasium's. The gravity is no attribute there, but a number in the code.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MountainCarContinuousParameters {
    /// `power`: what a force of one adds to the velocity.
    pub power: f64,
    /// `goal_velocity`: the least velocity at the goal that ends an episode.
    pub goal_velocity: f64,
}

impl Default for MountainCarContinuousParameters {
    fn default() -> Self {
        Self { power: 0.0015, goal_velocity: 0.0 }
    }
}

/// A car in a valley that must gather momentum to get out of it, pushed with a force clipped to ±1.
///
/// A step costs a tenth of the square of the force asked for; reaching the goal earns 100. The observation is
/// position and velocity, without units. Episodes have no limit of their own: see [`TimeLimit`](crate::TimeLimit).
#[derive(Debug, Clone)]
pub struct MountainCarContinuous {
    parameters: MountainCarContinuousParameters,
    episode: Episode,
    state: State,
    actions: Continuous,
}

/// Gymnasium draws the first position in `f64` and keeps every later state in `f32`.
#[derive(Debug, Clone, Copy)]
enum State {
    Start { position: f64 },
    UnderWay { position: f32, velocity: f32 },
}

impl Default for MountainCarContinuous {
    fn default() -> Self {
        let actions = Continuous { low: vec![-MAX_FORCE], high: vec![MAX_FORCE] };
        let parameters = MountainCarContinuousParameters::default();
        Self { parameters, episode: Episode::default(), state: State::Start { position: 0.0 }, actions }
    }
}

impl MountainCarContinuous {
    /// A car without a random state: its first reset needs a seed.
    pub fn new() -> Self {
        Self::default()
    }

    /// A car with these attributes.
    ///
    /// # Errors
    ///
    /// [`Error::Parameter`] where a number is not finite.
    pub fn with_parameters(parameters: MountainCarContinuousParameters) -> Result<Self, Error> {
        let MountainCarContinuousParameters { power, goal_velocity } = parameters;
        check_finite([("the power", power), ("the goal's velocity", goal_velocity)])?;
        Ok(Self { parameters, ..Self::default() })
    }

    /// Position and velocity; after a reset the position is not rounded to `f32`.
    pub fn state(&self) -> [f64; 2] {
        match self.state {
            State::Start { position } => [position, 0.0],
            State::UnderWay { position, velocity } => [position, velocity].map(f64::from),
        }
    }
}

impl Environment for MountainCarContinuous {
    type Action = [f32];
    type ActionSpace = Continuous;

    fn observation_len(&self) -> usize {
        2
    }

    fn action_space(&self) -> &Continuous {
        &self.actions
    }

    fn reset(&mut self, seed: Option<u64>, observation: &mut [f32]) -> Result<(), Error> {
        check_len("the observation", 2, observation.len())?;
        let [low, high] = START;
        let position = self.episode.begin(seed)?.uniform(low, high);
        self.state = State::Start { position };
        observation.copy_from_slice(&[position as f32, 0.0]);
        Ok(())
    }

    fn step(&mut self, action: &[f32], observation: &mut [f32]) -> Result<Step, Error> {
        check_len("the observation", 2, observation.len())?;
        check_len("the action", 1, action.len())?;
        self.episode.check()?;
        let (action, MountainCarContinuousParameters { power, goal_velocity }) = (action[0], self.parameters);
        let (mut position, mut velocity) = match self.state {
            State::Start { position } => {
                // In f64 up to the state's rounding. One step from a start cannot reach a limit of the position.
                let velocity = acceleration(action, power, 3.0 * position);
                let velocity = velocity.clamp(-START_MAX_SPEED, START_MAX_SPEED);
                ((position + velocity) as f32, velocity as f32)
            }
            State::UnderWay { position, velocity } => {
                let velocity = velocity + acceleration(action, power, f64::from(3.0 * position)) as f32;
                let velocity = velocity.clamp(-MAX_SPEED, MAX_SPEED);
                (position + velocity, velocity)
            }
        };
        position = position.clamp(MIN_POSITION, MAX_POSITION);
        if position == MIN_POSITION && velocity < 0.0 {
            velocity = 0.0;
        }
        self.state = State::UnderWay { position, velocity };
        let terminated = position >= GOAL_POSITION && velocity >= goal_velocity as f32;
        self.episode.set_terminated(terminated);
        observation.copy_from_slice(&[position, velocity]);
        let exact = f64::from(action);
        let reward = if terminated { 100.0 } else { 0.0 } - exact * exact * 0.1;
        Ok(Step { reward, terminated, truncated: false })
    }

    /// The numbers are whether a step was taken, position and velocity.
    fn snapshot(&self) -> Option<Vec<u64>> {
        let stepped = matches!(self.state, State::UnderWay { .. });
        let [position, velocity] = self.state();
        Some(self.episode.snapshot(&[f64::from(u8::from(stepped)), position, velocity]))
    }

    fn restore(&mut self, snapshot: &[u64]) -> Result<(), Error> {
        let (episode, [stepped, position, velocity]) = Episode::restored(snapshot)?;
        self.state = if stepped == 0.0 {
            State::Start { position }
        } else {
            State::UnderWay { position: position as f32, velocity: velocity as f32 }
        };
        self.episode = episode;
        Ok(())
    }
}

/// What a step adds to the velocity.
///
/// A force within its bounds stays NumPy's `f32`, and so does all that is computed with it. A clipped one is
/// Python's own float.
fn acceleration(force: f32, power: f64, angle: f64) -> f64 {
    let gravity = GRAVITY * angle.cos();
    if force < -MAX_FORCE {
        -power - gravity
    } else if force > MAX_FORCE {
        power - gravity
    } else {
        f64::from(force * power as f32 - gravity as f32)
    }
}
