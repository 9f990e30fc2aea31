//! Reinforcement learning algorithms.
//!
//! ```
//! use torchforge_env::{CartPole, TimeLimit};
//! use torchforge_nn::{AdamOptions, DenseDqn};
//! use torchforge_rl::{Dqn, DqnOptions, Stream};
//!
//! let options = DqnOptions { learning_starts: 200, ..DqnOptions::default() };
//! let mut weights = Stream::Weights.of(1);
//! let network = DenseDqn::new(&[4, 120, 84, 2], options.batch, options.gamma, AdamOptions::default(), &mut weights)?;
//! let mut agent = Dqn::new(TimeLimit::new(CartPole::new(), 500), network, options, 1)?;
//! while agent.environment_steps() < 400 {
//!     if let Some(episode) = agent.step()? {
//!         println!("step {}: {} steps, return {}", episode.step, episode.length, episode.total_reward);
//!     }
//! }
//! assert_eq!(agent.gradient_steps(), 19); // every tenth step after the 200th
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A training can be stopped, and gone on with to the same bytes: [`save_checkpoint`], [`load_checkpoint`]. [`evaluate`]
//! plays episodes with what was learnt.
//!
//! [`gae`] and [`gae_batched`] compute generalised advantages into the caller's memory.

#![forbid(unsafe_code)]

mod advantage;
mod checkpoint;
mod dqn;
mod evaluation;
mod experience;
mod ppo;
mod sac;
mod stream;
mod training;

pub use advantage::{GaeError, GaeOptions, Trajectory, gae, gae_batched};
pub use checkpoint::{Archive, CheckpointError, State, load_checkpoint, save_checkpoint};
pub use dqn::{Dqn, DqnOptions, DqnTrace};
pub use evaluation::{DqnPolicy, Policy, PpoPolicy, Returns, SacPolicy, evaluate};
pub use ppo::{Ppo, PpoOptions, PpoTrace, Rollout, advantages_and_returns};
pub use sac::{Sac, SacOptions, SacTrace};
pub use stream::Stream;
pub use training::{Episode, TrainingError, TruncationTrace};
