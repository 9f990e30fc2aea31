//! The seams on other libraries' tensors, each behind a cargo feature of its own.
//!
//! An [`Mlp`] is the common form: a backend takes its parameters from one and gives them back in its layout, so
//! that initialisation, files and comparisons are the same code for all.

#[cfg(feature = "burn")]
pub mod burn;
#[cfg(feature = "candle")]
pub mod candle;

use crate::{AdamOptions, DenseDqn, DqnUpdate, Error, Mlp};

/// A [`DqnUpdate`] that is made of given networks, and gives out what it has learnt.
pub trait DqnBackend: DqnUpdate + Sized {
    /// Networks of equal sizes, with fresh moments; minibatches have `batch` rows.
    fn from_networks(
        online: &Mlp,
        target: &Mlp,
        batch: usize,
        gamma: f64,
        adam: AdamOptions,
    ) -> Result<Self, Error>;

    /// The online network's parameters, laid out as [`Mlp::parameters`].
    fn parameters(&self) -> Result<Vec<f32>, Error>;

    /// The gradients of the last update, laid out the same; empty before the first.
    fn gradients(&self) -> Result<Vec<f32>, Error>;
}

impl DqnBackend for DenseDqn {
    fn from_networks(
        online: &Mlp,
        target: &Mlp,
        batch: usize,
        gamma: f64,
        adam: AdamOptions,
    ) -> Result<Self, Error> {
        Self::from_networks(online.clone(), target.clone(), batch, gamma, adam)
    }

    fn parameters(&self) -> Result<Vec<f32>, Error> {
        Ok(self.online().parameters().to_vec())
    }

    fn gradients(&self) -> Result<Vec<f32>, Error> {
        Ok(self.gradients().to_vec())
    }
}

/// The shape of each layer's weight, (outputs, inputs), in the order in which [`Mlp::parameters`] lays them out.
#[cfg(any(feature = "burn", feature = "candle"))]
fn shapes(network: &Mlp) -> Vec<(usize, usize)> {
    network.sizes().windows(2).map(|pair| (pair[1], pair[0])).collect()
}
