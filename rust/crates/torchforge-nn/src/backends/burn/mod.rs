//! On burn's tensors, with its backend for processors, Flex.

mod adam;
mod dqn;
mod network;
mod ppo;
mod sac;

pub use dqn::BurnDqn;
pub use ppo::BurnPpo;
pub use sac::BurnSac;

use burn::tensor::{Device, Int, Tensor, TensorData};

/// Rows of so many columns.
fn rows(values: &[f32], columns: usize, device: &Device) -> Tensor<2> {
    Tensor::from_data(TensorData::new(values.to_vec(), [values.len() / columns, columns]), device)
}

/// The index of the action in each row; (rows, 1).
fn indices(actions: &[u32], device: &Device) -> Tensor<2, Int> {
    let actions: Vec<i64> = actions.iter().copied().map(i64::from).collect();
    let shape = [actions.len(), 1];
    Tensor::from_data(TensorData::new(actions, shape), device)
}

fn values<const D: usize>(tensor: &Tensor<D>) -> Vec<f32> {
    tensor.to_data().try_to_vec().expect("tensors of f32 are made here, and no others")
}
