//! CartPole, after Gymnasium's `gymnasium/envs/classic_control/cartpole.py`.

use super::episode::Episode;
use crate::environment::{check_finite, check_len, check_positive};
use crate::{Discrete, Environment, Error, Step};

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

/// The attributes of Gymnasium's CartPole that its equations of motion have; the defaults are Gymnasium's.
///
/// As there, the last two are numbers of their own: another mass or length does not change them.
/// [`derived`](Self::derived) computes them as Gymnasium's constructor does.
///
/// ```
/// use torchforge_env::{CartPole, CartPoleParameters};
///
/// let long = CartPoleParameters { half_length: 1.0, pole_mass: 0.2, ..CartPoleParameters::default() };
/// assert_eq!((long.total_mass, long.derived().total_mass), (1.1, 1.2));
/// let environment = CartPole::with_parameters(long.derived())?;
/// # Ok::<(), torchforge_env::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CartPoleParameters {
    /// `gravity`, in metres per square second.
    pub gravity: f64,
    /// `masscart`, in kilograms.
    pub cart_mass: f64,
    /// `masspole`, in kilograms.
    pub pole_mass: f64,
    /// `length`: half the pole's length, in metres.
    pub half_length: f64,
    /// `force_mag`, in newtons.
    pub force: f64,
    /// `total_mass`, in kilograms.
    pub total_mass: f64,
    /// `polemass_length`: the pole's mass times half its length.
    pub pole_mass_length: f64,
}

impl Default for CartPoleParameters {
    fn default() -> Self {
        let [cart_mass, pole_mass, half_length] = [1.0, 0.1, 0.5];
        let primary = Self {
            gravity: 9.8,
            cart_mass,
            pole_mass,
            half_length,
            force: 10.0,
            total_mass: 0.0,
            pole_mass_length: 0.0,
        };
        primary.derived()
    }
}

impl CartPoleParameters {
    /// The same with the total mass and the pole's mass times length that follow from the others.
    #[must_use = "it returns the parameters and changes nothing"]
    pub fn derived(self) -> Self {
        Self {
            total_mass: self.pole_mass + self.cart_mass,
            pole_mass_length: self.pole_mass * self.half_length,
            ..self
        }
    }

    fn check(&self) -> Result<(), Error> {
        check_finite([("the gravity", self.gravity), ("the force", self.force)])?;
        check_positive([
            ("the cart's mass", self.cart_mass),
            ("the pole's mass", self.pole_mass),
            ("half the pole's length", self.half_length),
            ("the total mass", self.total_mass),
            ("the pole's mass times length", self.pole_mass_length),
        ])
    }

    /// One explicit Euler step. Gymnasium's order of operations: any other rounds differently.
    #[inline]
    fn next_state(&self, [x, x_dot, theta, theta_dot]: [f64; 4], force: f64) -> [f64; 4] {
        let Self { gravity, pole_mass, half_length, total_mass, pole_mass_length, .. } = *self;
        let (sin, cos) = (theta.sin(), theta.cos());
        let temp = (force + pole_mass_length * (theta_dot * theta_dot) * sin) / total_mass;
        let theta_acc =
            (gravity * sin - cos * temp) / (half_length * (4.0 / 3.0 - pole_mass * (cos * cos) / total_mass));
        let x_acc = temp - pole_mass_length * theta_acc * cos / total_mass;
        [x + TAU * x_dot, x_dot + TAU * x_acc, theta + TAU * theta_dot, theta_dot + TAU * theta_acc]
    }
}

/// A pole on a cart that is pushed left (action 0) or right (action 1); every step earns 1.
///
/// The observation is the state rounded to `f32`: position, velocity, angle, angular velocity
/// (metres, radians, seconds). Episodes have no limit of their own: see [`TimeLimit`](crate::TimeLimit).
#[derive(Debug, Clone, Default)]
pub struct CartPole {
    parameters: CartPoleParameters,
    episode: Episode,
    state: [f64; 4],
}

impl CartPole {
    /// A cart without a random state: its first reset needs a seed.
    pub fn new() -> Self {
        Self::default()
    }

    /// A cart and a pole with these attributes.
    ///
    /// # Errors
    ///
    /// [`Error::Parameter`] where a number is not finite, or a mass or length is not positive.
    pub fn with_parameters(parameters: CartPoleParameters) -> Result<Self, Error> {
        parameters.check()?;
        Ok(Self { parameters, ..Self::default() })
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
        let force = self.parameters.force;
        self.state = self.parameters.next_state(self.state, if action == 1 { force } else { -force });
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

fn write(state: &[f64; 4], observation: &mut [f32]) {
    for (value, &exact) in observation.iter_mut().zip(state) {
        *value = exact as f32;
    }
}
