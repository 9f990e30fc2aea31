//! An implementation's side of forge-bench's referee, who holds the clock (`docs/protocol.md`).
//!
//! An implementation hands over an [`Operation`] for each case and calls [`serve`]. A repetition has the same shape for
//! all: inputs are taken from numbers that nobody knew before, its calls are timed together, and a digest of its outputs
//! is made.
//!
//! ```
//! use std::path::Path;
//! use torchforge_referee::{Error, Operation, serve};
//!
//! struct Square {
//!     inputs: Vec<f64>,
//!     outputs: Vec<[f64; 1]>,
//! }
//!
//! impl Operation for Square {
//!     fn calls(&self) -> usize {
//!         2
//!     }
//!     fn prepare(&mut self, numbers: &[u64]) {
//!         self.inputs = numbers.iter().map(|&number| (number % 100) as f64).collect();
//!     }
//!     fn run(&mut self) {
//!         self.outputs = self.inputs.iter().map(|x| [x * x]).collect();
//!     }
//!     fn outputs(&self, call: usize) -> Vec<&[f64]> {
//!         vec![&self.outputs[call]]
//!     }
//!     fn counts(&self) -> Vec<(&'static str, u64)> {
//!         vec![("elements", 1)]
//!     }
//!     fn write(&self, _folder: &Path) -> Result<(), Error> {
//!         Ok(())
//!     }
//! }
//!
//! let orders = br#"{"event": "go", "case": "one", "nonce": "00000000000000aa", "repetitions": 3}"#;
//! let mut answers = Vec::new();
//! let square = Square { inputs: vec![], outputs: vec![] };
//! serve(vec![("one".into(), Box::new(square))], &orders[..], &mut answers, None)?;
//! let lines: Vec<&str> = std::str::from_utf8(&answers).unwrap().lines().collect();
//! assert_eq!(lines[0], r#"{"event":"ready"}"#);
//! assert!(lines[1].starts_with(r#"{"event":"done","case":"one""#));
//! # Ok::<(), Error>(())
//! ```

#![deny(missing_docs)]
#![forbid(unsafe_code)]

mod digest;
mod error;
mod memory;
mod number;
mod operation;
mod order;
mod serve;

pub use error::Error;
pub use memory::Memory;
pub use number::number;
pub use operation::Operation;
pub use serve::serve;
