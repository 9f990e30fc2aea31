//! On candle's tensors.

mod adam;
mod dqn;

pub use dqn::CandleDqn;

use candle_core::{Device, Tensor, Var};

use crate::{Error, Mlp};

impl From<candle_core::Error> for Error {
    fn from(error: candle_core::Error) -> Self {
        Self::Backend { library: "candle", reason: error.to_string() }
    }
}

/// The parameters of `network` as variables: each layer's weight, (outputs, inputs), and bias.
fn variables(network: &Mlp) -> candle_core::Result<Vec<Var>> {
    let mut rest = network.parameters();
    let mut variables = Vec::new();
    for (outputs, inputs) in super::shapes(network) {
        for shape in [vec![outputs, inputs], vec![outputs]] {
            let (values, more) = rest.split_at(shape.iter().product());
            variables.push(Var::from_slice(values, shape, &Device::Cpu)?);
            rest = more;
        }
    }
    Ok(variables)
}

/// Linear layers with ReLU between them. `parameters`: each layer's weight and bias; `input`: (rows, inputs).
fn forward(parameters: &[Tensor], input: &Tensor) -> candle_core::Result<Tensor> {
    let mut rows = input.clone();
    for (layer, pair) in parameters.chunks(2).enumerate() {
        if layer > 0 {
            rows = rows.relu()?;
        }
        rows = rows.matmul(&pair[0].t()?)?.broadcast_add(&pair[1])?;
    }
    Ok(rows)
}

/// The values of tensors, one after another.
fn flat(tensors: &[Tensor]) -> candle_core::Result<Vec<f32>> {
    let mut values = Vec::new();
    for tensor in tensors {
        values.extend(tensor.flatten_all()?.to_vec1::<f32>()?);
    }
    Ok(values)
}
