//! On candle's tensors.

mod adam;
mod dqn;
mod network;
mod ppo;
mod sac;

pub use dqn::CandleDqn;
pub use ppo::CandlePpo;
pub use sac::CandleSac;

use candle_core::{Device, Tensor};

use crate::Error;

impl From<candle_core::Error> for Error {
    fn from(error: candle_core::Error) -> Self {
        Self::Backend { library: "candle", reason: error.to_string() }
    }
}

/// Rows of so many columns.
fn rows(values: &[f32], columns: usize) -> candle_core::Result<Tensor> {
    Tensor::from_slice(values, (values.len() / columns, columns), &Device::Cpu)
}
