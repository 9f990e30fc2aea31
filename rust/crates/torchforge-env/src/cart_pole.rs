//! CartPole, after Gymnasium's `gymnasium/envs/classic_control/cartpole.py`.

use crate::{Environment, Error, Pcg64, Step};

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
/// The first state is uniform between minus and plus this.
const START: f64 = 0.05;

/// A pole on a cart that is pushed left (action 0) or right (action 1); every step earns 1.
///
/// The observation is the state rounded to `f32`: position, velocity, angle, angular velocity
/// (metres, radians, seconds). Episodes have no limit of their own: see [`TimeLimit`](crate::TimeLimit).
#[derive(Debug, Clone, Default)]
pub struct CartPole {
    rng: Option<Pcg64>,
    state: [f64; 4],
    under_way: bool,
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
    fn observation_len(&self) -> usize {
        4
    }

    fn action_count(&self) -> u32 {
        2
    }

    fn reset(&mut self, seed: Option<u64>, observation: &mut [f32]) -> Result<(), Error> {
        check_len(observation)?;
        if let Some(seed) = seed {
            self.rng = Some(Pcg64::new(seed));
        }
        let rng = self.rng.as_mut().ok_or(Error::Unseeded)?;
        self.state = std::array::from_fn(|_| rng.uniform(-START, START));
        self.under_way = true;
        write(&self.state, observation);
        Ok(())
    }

    #[inline]
    fn step(&mut self, action: u32, observation: &mut [f32]) -> Result<Step, Error> {
        check_len(observation)?;
        if action >= self.action_count() {
            return Err(Error::Action { action, count: self.action_count() });
        }
        if !self.under_way {
            return Err(Error::NoEpisode);
        }
        self.state = next_state(self.state, if action == 1 { FORCE } else { -FORCE });
        let [x, _, theta, _] = self.state;
        let terminated = !(-POSITION_LIMIT..=POSITION_LIMIT).contains(&x)
            || !(-ANGLE_LIMIT..=ANGLE_LIMIT).contains(&theta);
        self.under_way = !terminated;
        write(&self.state, observation);
        Ok(Step { reward: 1.0, terminated, truncated: false })
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

fn check_len(observation: &[f32]) -> Result<(), Error> {
    match observation.len() {
        4 => Ok(()),
        found => Err(Error::ObservationLen { expected: 4, found }),
    }
}

fn write(state: &[f64; 4], observation: &mut [f32]) {
    for (value, &exact) in observation.iter_mut().zip(state) {
        *value = exact as f32;
    }
}
