//! Replay buffers that allocate once, when they are made.
//!
//! ```
//! use torchforge_data::{Batch, ReplayBuffer, Transition};
//! # use std::convert::Infallible;
//! # use rand_core::TryRng;
//! # struct Counter(u64);
//! # impl TryRng for Counter {
//! #     type Error = Infallible;
//! #     fn try_next_u32(&mut self) -> Result<u32, Infallible> { Ok(self.try_next_u64()? as u32) }
//! #     fn try_next_u64(&mut self) -> Result<u64, Infallible> { self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15); Ok(self.0) }
//! #     fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> { bytes.fill(0); Ok(()) }
//! # }
//! # let mut rng = Counter(0);
//! let mut buffer = ReplayBuffer::new(10_000, 4, 1)?; // 10,000 transitions: observations of 4 values, actions of 1
//! buffer.push(Transition {
//!     observation: &[0.0, 0.1, 0.2, 0.3],
//!     next_observation: &[0.1, 0.2, 0.3, 0.4],
//!     action: &[1_u32],
//!     reward: 1.0,
//!     terminated: false,
//!     truncated: false,
//! })?;
//!
//! let mut batch = Batch::new(32, 4, 1)?; // made once, filled again and again
//! buffer.sample(&mut rng, &mut batch)?;
//! assert_eq!(batch.observations().len(), 32 * 4);
//! assert_eq!(batch.actions()[0], 1);
//! # Ok::<(), torchforge_data::Error>(())
//! ```
//!
//! # Experience stays where it was made
//!
//! Gradients and weights may leave a device, experience may not. So no type of this crate can be
//! serialised: [`Transition`], [`ReplayBuffer`] and [`Batch`] implement no serialisation trait, and
//! this crate depends on no serialisation library. Keep it so. A run that is to go on after a stop keeps its rows on
//! the same device: [`ReplayBuffer::rows_mut`] lends them to the agent's checkpoint, which is no message to anybody.

#![forbid(unsafe_code)]
#![allow(clippy::missing_errors_doc)]

mod replay;

pub use replay::{
    Batch, Error, NStep, NStepBatch, PrioritizedBatch, PrioritizedReplayBuffer, PriorityOptions,
    ReplayBuffer, Rows, SequenceReplayBuffer, Stamp, Transition,
};
