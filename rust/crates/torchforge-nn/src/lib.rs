//! Small dense networks that give the same bytes on every machine.
//!
//! ```
//! use torchforge_nn::{AdamOptions, DenseDqn, Minibatch, QNetwork};
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
//! // Two inputs, eight hidden units, three actions; minibatches of one transition.
//! let mut network = DenseDqn::new(&[2, 8, 3], 1, 0.99, AdamOptions::default(), &mut rng)?;
//! let minibatch = Minibatch {
//!     observations: &[0.1, 0.2],
//!     next_observations: &[0.2, 0.3],
//!     actions: &[2],
//!     rewards: &[1.0],
//!     terminations: &[0.0],
//! };
//! let before = network.update(minibatch)?; // the loss, and one Adam step
//! let after = network.update(minibatch)?;
//! assert!(after < before);
//! # Ok::<(), torchforge_nn::Error>(())
//! ```
//!
//! # The same bytes everywhere
//!
//! Every sum is one chain of additions in a fixed order; only additions, multiplications, divisions and
//! square roots are used, which IEEE 754 rounds exactly; no libm; no fused multiply-adds. The compiler
//! vectorises over outputs, never over a sum. Denormals are set to zero by comparison in [`Adam`],
//! never by a mode of the processor.
//!
//! # The seam
//!
//! [`QNetwork`] is a whole update. An implementation with faster kernels, or one on another library,
//! takes the place of [`DenseDqn`] behind it.

#![forbid(unsafe_code)]

mod adam;
mod dqn;
mod error;
mod matrix;
mod mlp;
mod tensors;

pub use adam::{Adam, AdamOptions};
pub use dqn::{DenseDqn, Minibatch, QNetwork};
pub use error::Error;
pub use mlp::Mlp;
pub use tensors::{TensorReader, TensorWriter};
