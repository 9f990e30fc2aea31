//! An implementation's side of forge-bench's referee, who holds the clock (`docs/protocol.md`).
//!
//! An implementation hands over an [`Operation`] for each case and calls [`serve`]. A repetition has the same shape for
//! all: inputs are taken from numbers that nobody knew before, its calls are timed together, and a [`Digest`] of its
//! outputs is made. What is no repetition of calls, such as a training, is a [`Work`] of its own in the same conversation.
//! `examples/scramble.rs` is a whole program.
//!
//! ```
//! use std::path::Path;
//! use torchforge_referee::{Digest, Error, Operation, serve};
//!
//! struct Square {
//!     inputs: Vec<f64>,
//!     outputs: Vec<f64>,
//! }
//!
//! impl Operation for Square {
//!     fn calls(&self) -> usize {
//!         2
//!     }
//!     fn prepare(&mut self, numbers: &[u64]) -> Result<(), Error> {
//!         self.inputs = numbers.iter().map(|&number| (number % 100) as f64).collect();
//!         Ok(())
//!     }
//!     fn run(&mut self) -> Result<(), Error> {
//!         self.outputs = self.inputs.iter().map(|x| x * x).collect();
//!         Ok(())
//!     }
//!     fn digest(&self, digest: &mut Digest) -> Result<(), Error> {
//!         for output in &self.outputs {
//!             digest.f64s(&[*output]);
//!         }
//!         Ok(())
//!     }
//!     fn counts(&self) -> Vec<(&'static str, u64)> {
//!         vec![("elements", 1)]
//!     }
//!     fn write(&mut self, _folder: &Path) -> Result<(), Error> {
//!         Ok(())
//!     }
//! }
//!
//! let orders = br#"{"event": "go", "case": "one", "nonce": "00000000000000aa", "first": 5, "repetitions": 3}"#;
//! let mut answers = Vec::new();
//! let square = Square { inputs: vec![], outputs: vec![] };
//! serve(vec![("one".into(), Box::new(square))], &orders[..], &mut answers, None)?;
//! let lines: Vec<&str> = std::str::from_utf8(&answers).unwrap().lines().collect();
//! assert_eq!(lines[0], r#"{"event":"ready"}"#);
//! assert!(lines[1].starts_with(r#"{"event":"done","case":"one""#));
//! # Ok::<(), Error>(())
//! ```

#![forbid(unsafe_code)]

mod answer;
mod digest;
mod error;
mod memory;
mod number;
mod operation;
mod order;
mod serve;
mod work;

pub use digest::Digest;
pub use error::Error;
pub use memory::Memory;
pub use number::{number, numbers};
pub use operation::{Operation, repeat};
pub use serve::serve;
pub use work::{Figure, Round, Window, Work};
