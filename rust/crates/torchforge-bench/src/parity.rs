//! One update from given weights and a given minibatch, for comparison with another implementation.

use std::path::Path;

use torchforge_nn::{AdamOptions, DenseDqn, Minibatch, Mlp, QNetwork, SimdPath, TensorReader, TensorWriter};

use crate::{Failure, files};

/// Reads `parity.safetensors`, makes one [`QNetwork::update`] from fresh moments and returns the file with its
/// loss, gradients and updated parameters, in PyTorch's names and layout.
pub(crate) fn update(
    path: &Path,
    sizes: &[usize],
    gamma: f64,
    adam: AdamOptions,
    simd: SimdPath,
) -> Result<Vec<u8>, Failure> {
    let bytes = files::read(path)?;
    compute(&bytes, sizes, gamma, adam, simd)
        .map_err(|error| Failure::Input { path: path.to_owned(), reason: error.to_string() })
}

fn compute(
    bytes: &[u8],
    sizes: &[usize],
    gamma: f64,
    adam: AdamOptions,
    simd: SimdPath,
) -> Result<Vec<u8>, torchforge_nn::Error> {
    let tensors = TensorReader::new(bytes)?;
    let online = Mlp::read(sizes, "online.", &tensors)?;
    let target = Mlp::read(sizes, "target.", &tensors)?;
    let batch = tensors.shape("actions")?.iter().product();
    let observations = tensors.f32("observations", &[batch, sizes[0]])?;
    let next_observations = tensors.f32("next_observations", &[batch, sizes[0]])?;
    let rewards = tensors.f32("rewards", &[batch])?;
    let terminations = tensors.f32("terminations", &[batch])?;
    // An action beyond the range of u32 becomes one that the update refuses.
    let actions: Vec<u32> = tensors
        .i64("actions", &[batch])?
        .into_iter()
        .map(|action| u32::try_from(action).unwrap_or(u32::MAX))
        .collect();

    let mut network = DenseDqn::from_networks(online, target, batch, gamma, adam)?.on_path(simd)?;
    let loss = network.update(Minibatch {
        observations: &observations,
        next_observations: &next_observations,
        actions: &actions,
        rewards: &rewards,
        terminations: &terminations,
    })?;

    let mut writer = TensorWriter::new();
    writer.push("loss".into(), vec![1], [loss]);
    network.online().write("gradient.", network.gradients(), &mut writer);
    network.online().write("parameter.", network.online().parameters(), &mut writer);
    Ok(writer.into_bytes())
}
