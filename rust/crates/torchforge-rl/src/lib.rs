//! Reinforcement learning algorithms.
//!
//! ```
//! use torchforge_env::{CartPole, TimeLimit};
//! use torchforge_rl::{Dqn, DqnOptions};
//!
//! let environment = TimeLimit::new(CartPole::new(), 500);
//! let options = DqnOptions { learning_starts: 200, ..DqnOptions::default() };
//! let mut agent = Dqn::cleanrl_with(environment, options, 1)?; // Dqn::cleanrl has CleanRL's options too
//! while agent.environment_steps() < 400 {
//!     if let Some(episode) = agent.step()? {
//!         println!("step {}: {} steps, return {}", episode.step, episode.length, episode.total_reward);
//!     }
//! }
//! assert_eq!(agent.gradient_steps(), 19); // every tenth step after the 200th
//! # Ok::<(), torchforge_rl::TrainingError>(())
//! ```
//!
//! Other networks, or the same on another library, go through [`Dqn::new`], [`Ppo::new`] and [`Sac::new`]; what CleanRL's
//! are made of is in [`cleanrl`].
//!
//! What would be learnt wrongly is an error when the agent is made: options out of their ranges, networks of other sizes. A
//! training whose numbers are no numbers any more stops with the name of the tensor ([`TrainingError::Diverged`]).
//!
//! What a gradient step found reaches the caller through [`Dqn::step_observed`], [`Ppo::iterate_observed`] and
//! [`Sac::step_observed`]: losses, values, divergences. Nothing is measured where nobody asks.
//!
//! A training can be stopped, and gone on with to the same bytes: [`save_checkpoint`], [`load_checkpoint`]. [`evaluate`]
//! plays episodes with what was learnt.
//!
//! [`gae`] and [`gae_batched`] compute generalised advantages into the caller's memory.
//!
//! # What may grow
//!
//! Errors and metrics may get more cases and fields. Options are plain structs, made as
//! `DqnOptions { steps: 100_000, ..DqnOptions::default() }`: that goes on working when they get more fields.

#![forbid(unsafe_code)]

mod advantage;
mod checkpoint;
pub mod cleanrl;
mod dqn;
mod evaluation;
mod experience;
mod metrics;
mod ppo;
mod sac;
mod stream;
mod trace;
mod training;

pub use advantage::{GaeError, GaeOptions, Trajectory, gae, gae_batched};
pub use checkpoint::{Archive, CheckpointError, State, load_checkpoint, save_checkpoint};
pub use dqn::{Dqn, DqnOptions, DqnPriorities};
pub use evaluation::{DqnPolicy, NormalPpoPolicy, Policy, PpoPolicy, Returns, SacPolicy, evaluate};
pub use metrics::{DqnMetrics, PpoMetrics, SacMetrics};
pub use ppo::{Drawn, ObservationStatistics, Ppo, PpoActor, PpoOptions, Rollout, advantages_and_returns};
pub use sac::{Sac, SacOptions};
pub use stream::Stream;
pub use trace::{DqnTrace, PpoTrace, SacTrace};
pub use training::{Episode, TrainingError, TruncationTrace};
