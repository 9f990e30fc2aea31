//! Environments that agree with [Gymnasium](https://gymnasium.farama.org) 1.x to the bit.
//!
//! ```
//! use torchforge_env::{CartPole, Environment, TimeLimit};
//!
//! let mut environment = TimeLimit::new(CartPole::new(), 500); // what Gymnasium calls CartPole-v1
//! let mut observation = [0.0_f32; 4];
//! environment.reset(Some(42), &mut observation)?;
//! assert_eq!(observation[0], 0.027395604855596334_f64 as f32);
//!
//! let step = environment.step(&0, &mut observation)?;
//! assert_eq!(step.reward, 1.0);
//! assert!(!step.terminated && !step.truncated);
//! # Ok::<(), torchforge_env::Error>(())
//! ```
//!
//! Bit-equality covers the random numbers ([`Pcg64`] is NumPy's `default_rng`), the states, the observations,
//! the rewards and the flags. Sines, cosines and squares come from the platform's libm, as Gymnasium's do through
//! NumPy; they are the same bits on amd64 and arm64 for one version of glibc on processors with FMA. Where NumPy
//! has code of its own, the sines and cosines of `f32`, that is followed.

#![forbid(unsafe_code)]

mod classic_control;
mod environment;
mod random;
mod registry;
mod space;
mod time_limit;
mod vector;

pub use classic_control::{
    Acrobot, AcrobotParameters, CartPole, CartPoleParameters, MountainCar, MountainCarContinuous,
    MountainCarContinuousParameters, MountainCarParameters, Pendulum, PendulumParameters,
};
pub use environment::{Environment, Error, Step};
pub use random::{Pcg64, SeedSequence};
pub use registry::{AnyEnvironment, ContinuousEnvironment, DiscreteEnvironment, ids, make, make_with_limit};
pub use space::{ActionSpace, Continuous, Discrete};
pub use time_limit::TimeLimit;
pub use vector::{AutoresetMode, StepBatch, VectorEnv};
