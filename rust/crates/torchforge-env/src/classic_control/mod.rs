//! Gymnasium's `classic_control`, one environment a file.
//!
//! The order of operations is Gymnasium's everywhere: any other rounds differently. So are the widths: where
//! NumPy 2 computes in `f32` because an operand is one, this does.

mod acrobot;
mod cart_pole;
mod episode;
mod mountain_car;
mod mountain_car_continuous;
mod numpy;
mod pendulum;

pub use acrobot::{Acrobot, AcrobotParameters};
pub use cart_pole::{CartPole, CartPoleParameters};
pub use mountain_car::{MountainCar, MountainCarParameters};
pub use mountain_car_continuous::{MountainCarContinuous, MountainCarContinuousParameters};
pub use pendulum::{Pendulum, PendulumParameters};
