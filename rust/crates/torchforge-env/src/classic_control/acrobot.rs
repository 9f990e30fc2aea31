//! Acrobot, after Gymnasium's `gymnasium/envs/classic_control/acrobot.py` with the book's dynamics.

use std::array::from_fn;
use std::f64::consts::{FRAC_PI_2, PI};

use super::episode::Episode;
use super::numpy::{sin_cos_f32, square};
use crate::environment::{check_len, check_positive};
use crate::{Discrete, Environment, Error, Step};

/// Seconds between two states.
const DT: f64 = 0.2;
/// Metres per square second.
const GRAVITY: f64 = 9.8;
/// Radians per second.
const MAX_SPEED: [f64; 2] = [4.0 * PI, 9.0 * PI];
/// The first state is uniform between minus and plus this.
const START: f64 = 0.1;
/// Radians. A step turns a link by fewer than ten with Gymnasium's attributes.
const LARGEST_TURN: f64 = 1e6;
/// A torque of -1, 0 or 1 N m.
const ACTIONS: Discrete = Discrete { count: 3 };

/// The attributes of Gymnasium's Acrobot that its equations of motion have; the defaults are Gymnasium's.
///
/// The second link's length is none of them: only pictures show it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AcrobotParameters {
    /// `LINK_LENGTH_1`: the length of the first link, in metres.
    pub link_length: f64,
    /// `LINK_MASS_1` and `LINK_MASS_2`, in kilograms.
    pub link_masses: [f64; 2],
    /// `LINK_COM_POS_1` and `LINK_COM_POS_2`: where the links' centres of mass are, in metres from their upper ends.
    pub link_centres: [f64; 2],
    /// `LINK_MOI`: the moment of inertia of either link, in kilograms times square metres.
    pub moment_of_inertia: f64,
}

impl Default for AcrobotParameters {
    fn default() -> Self {
        Self { link_length: 1.0, link_masses: [1.0; 2], link_centres: [0.5; 2], moment_of_inertia: 1.0 }
    }
}

/// What the equations of motion have of the links, computed in Gymnasium's order. Factors of two change no rounding.
#[derive(Debug, Clone, Copy)]
struct Links {
    /// m1 lc1^2.
    first_inertia: f64,
    /// l1^2 + lc2^2.
    squares: f64,
    /// l1 lc2.
    lengths: f64,
    /// lc2^2.
    second_square: f64,
    second_mass: f64,
    /// m2 l1 lc2.
    coupling: f64,
    /// (m1 lc1 + m2 l1) g.
    first_weight: f64,
    /// m2 lc2 g.
    second_weight: f64,
    moment: f64,
}

impl From<AcrobotParameters> for Links {
    fn from(parameters: AcrobotParameters) -> Self {
        let AcrobotParameters { link_length, link_masses, link_centres, moment_of_inertia } = parameters;
        let ([first_mass, second_mass], [first_centre, second_centre]) = (link_masses, link_centres);
        Self {
            first_inertia: first_mass * square(first_centre),
            squares: square(link_length) + square(second_centre),
            lengths: link_length * second_centre,
            second_square: square(second_centre),
            second_mass,
            coupling: second_mass * link_length * second_centre,
            first_weight: (first_mass * first_centre + second_mass * link_length) * GRAVITY,
            second_weight: second_mass * second_centre * GRAVITY,
            moment: moment_of_inertia,
        }
    }
}

impl Links {
    /// One step of the classic fourth-order method.
    fn runge_kutta(&self, state: [f64; 4], torque: f64) -> [f64; 4] {
        let moved = |slope: [f64; 4], time: f64| from_fn(|i| state[i] + time * slope[i]);
        let k1 = self.slope(state, torque);
        let k2 = self.slope(moved(k1, DT / 2.0), torque);
        let k3 = self.slope(moved(k2, DT / 2.0), torque);
        let k4 = self.slope(moved(k3, DT), torque);
        moved(from_fn(|i| k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]), DT / 6.0)
    }

    /// The state's derivative.
    fn slope(&self, [angle1, angle2, speed1, speed2]: [f64; 4], torque: f64) -> [f64; 4] {
        let Self { second_mass, coupling, moment, .. } = *self;
        let (sin2, cos2) = (angle2.sin(), angle2.cos());
        let d1 =
            self.first_inertia + second_mass * (self.squares + 2.0 * self.lengths * cos2) + moment + moment;
        let d2 = second_mass * (self.second_square + self.lengths * cos2) + moment;
        let phi2 = self.second_weight * (angle1 + angle2 - FRAC_PI_2).cos();
        let phi1 = -coupling * square(speed2) * sin2 - 2.0 * coupling * speed2 * speed1 * sin2
            + self.first_weight * (angle1 - FRAC_PI_2).cos()
            + phi2;
        let acceleration2 = (torque + d2 / d1 * phi1 - coupling * square(speed1) * sin2 - phi2)
            / (second_mass * self.second_square + moment - square(d2) / d1);
        let acceleration1 = -(d2 * acceleration2 + phi1) / d1;
        [speed1, speed2, acceleration1, acceleration2]
    }
}

/// Two links, of which the second is pushed at the joint between them; every step before the tip is high costs 1.
///
/// The observation is the cosine and sine of both angles and their velocities in rad/s. Episodes have no limit
/// of their own: see [`TimeLimit`](crate::TimeLimit).
#[derive(Debug, Clone)]
pub struct Acrobot {
    links: Links,
    episode: Episode,
    state: [f64; 4],
}

impl Default for Acrobot {
    fn default() -> Self {
        Self { links: AcrobotParameters::default().into(), episode: Episode::default(), state: [0.0; 4] }
    }
}

impl Acrobot {
    /// An acrobot without a random state: its first reset needs a seed.
    pub fn new() -> Self {
        Self::default()
    }

    /// An acrobot with these attributes.
    ///
    /// # Errors
    ///
    /// [`Error::Parameter`] where a number is not positive.
    pub fn with_parameters(parameters: AcrobotParameters) -> Result<Self, Error> {
        let AcrobotParameters { link_length, link_masses, link_centres, moment_of_inertia } = parameters;
        check_positive([
            ("the first link's length", link_length),
            ("the first link's mass", link_masses[0]),
            ("the second link's mass", link_masses[1]),
            ("the first link's centre", link_centres[0]),
            ("the second link's centre", link_centres[1]),
            ("the moment of inertia", moment_of_inertia),
        ])?;
        Ok(Self { links: parameters.into(), ..Self::default() })
    }

    /// Both angles and both angular velocities, unrounded.
    pub fn state(&self) -> [f64; 4] {
        self.state
    }
}

impl Environment for Acrobot {
    type Action = u32;
    type ActionSpace = Discrete;

    fn observation_len(&self) -> usize {
        6
    }

    fn action_space(&self) -> &Discrete {
        &ACTIONS
    }

    /// The first state is rounded to `f32`, and its sines and cosines are NumPy's for `f32`.
    fn reset(&mut self, seed: Option<u64>, observation: &mut [f32]) -> Result<(), Error> {
        check_len("the observation", 6, observation.len())?;
        let rng = self.episode.begin(seed)?;
        let state: [f32; 4] = from_fn(|_| rng.uniform(-START, START) as f32);
        self.state = state.map(f64::from);
        let ((sin1, cos1), (sin2, cos2)) = (sin_cos_f32(state[0]), sin_cos_f32(state[1]));
        observation.copy_from_slice(&[cos1, sin1, cos2, sin2, state[2], state[3]]);
        Ok(())
    }

    fn step(&mut self, &action: &u32, observation: &mut [f32]) -> Result<Step, Error> {
        check_len("the observation", 6, observation.len())?;
        if action >= ACTIONS.count {
            return Err(Error::Action { action, count: ACTIONS.count });
        }
        self.episode.check()?;
        let torque = f64::from(action) - 1.0;
        let [angle1, angle2, speed1, speed2] = self.links.runge_kutta(self.state, torque);
        // To turn back a larger angle would take long, and an infinite one for ever.
        if !(angle1.abs() <= LARGEST_TURN && angle2.abs() <= LARGEST_TURN) {
            return Err(Error::Parameter {
                what: "the links' masses and lengths",
                expected: "such that a step turns no link thousands of times",
            });
        }
        self.state = [
            wrap(angle1),
            wrap(angle2),
            speed1.clamp(-MAX_SPEED[0], MAX_SPEED[0]),
            speed2.clamp(-MAX_SPEED[1], MAX_SPEED[1]),
        ];
        let [angle1, angle2, speed1, speed2] = self.state;
        let (cos1, cos2) = (angle1.cos(), angle2.cos());
        let terminated = -cos1 - (angle2 + angle1).cos() > 1.0;
        self.episode.set_terminated(terminated);
        let seen = [cos1, angle1.sin(), cos2, angle2.sin(), speed1, speed2];
        observation.copy_from_slice(&seen.map(|value| value as f32));
        Ok(Step { reward: if terminated { 0.0 } else { -1.0 }, terminated, truncated: false })
    }

    fn snapshot(&self) -> Option<Vec<u64>> {
        Some(self.episode.snapshot(&self.state))
    }

    /// Only states that steps lead to: turning an angle of any size back takes any number of turns.
    fn restore(&mut self, snapshot: &[u64]) -> Result<(), Error> {
        let (episode, state) = Episode::restored(snapshot)?;
        let largest = [PI, PI, MAX_SPEED[0], MAX_SPEED[1]];
        if state.iter().zip(largest).any(|(value, largest)| value.abs() > largest) {
            return Err(Error::Snapshot);
        }
        (self.episode, self.state) = (episode, state);
        Ok(())
    }
}

/// The angle between -pi and pi, by whole turns.
fn wrap(mut angle: f64) -> f64 {
    while angle > PI {
        angle -= 2.0 * PI;
    }
    while angle < -PI {
        angle += 2.0 * PI;
    }
    angle
}
