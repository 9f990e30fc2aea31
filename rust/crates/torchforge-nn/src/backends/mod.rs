//! The seams on other libraries' tensors, each behind a cargo feature of its own.
//!
//! An [`Mlp`](crate::Mlp) is the common form: a backend takes its parameters from one and gives them back in its layout, so
//! that initialisation, files and comparisons are the same code for all.

#[cfg(feature = "burn")]
pub mod burn;
#[cfg(feature = "candle")]
pub mod candle;

mod dqn;
mod ppo;
mod sac;

pub use dqn::DqnBackend;
pub use ppo::PpoBackend;
pub use sac::SacBackend;

/// What a library says that keeps its optimiser's state to itself.
#[cfg(any(feature = "burn", feature = "candle"))]
fn no_state(library: &'static str) -> crate::Error {
    crate::Error::Backend { library, reason: "it does not give out its optimiser's state".into() }
}

/// The shape of each layer's weight, (outputs, inputs), in the order in which [`Mlp::parameters`](crate::Mlp::parameters) lays them out.
#[cfg(any(feature = "burn", feature = "candle"))]
fn shapes(network: &crate::Mlp) -> Vec<(usize, usize)> {
    network.sizes().windows(2).map(|pair| (pair[1], pair[0])).collect()
}
