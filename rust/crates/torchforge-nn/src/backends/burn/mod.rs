//! On burn's tensors, with its backend for processors, Flex.

mod dqn;
mod parameter;

pub use dqn::BurnDqn;

use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor, TensorData};
use parameter::Parameter;

use crate::Mlp;

/// A linear layer: its weight, (outputs, inputs), and its bias.
struct Layer {
    weight: Parameter<2>,
    bias: Parameter<1>,
}

/// What a layer computes with, once: bare, or so that its gradients are recorded.
#[derive(Clone)]
struct Linear {
    weight: Tensor<2>,
    bias: Tensor<1>,
}

fn layers(network: &Mlp, device: &Device) -> Vec<Layer> {
    let mut rest = network.parameters();
    let mut take = |len: usize| {
        let (values, more) = rest.split_at(len);
        rest = more;
        values.to_vec()
    };
    let mut layers = Vec::new();
    for (outputs, inputs) in super::shapes(network) {
        let weight = TensorData::new(take(outputs * inputs), [outputs, inputs]);
        let bias = TensorData::new(take(outputs), [outputs]);
        layers.push(Layer {
            weight: Parameter::new(Tensor::from_data(weight, device)),
            bias: Parameter::new(Tensor::from_data(bias, device)),
        });
    }
    layers
}

/// Linear layers with ReLU between them; `rows`: (rows, inputs).
fn forward(layers: &[Linear], mut rows: Tensor<2>) -> Tensor<2> {
    for (number, layer) in layers.iter().enumerate() {
        if number > 0 {
            rows = relu(rows);
        }
        rows = rows.matmul(layer.weight.clone().transpose()) + layer.bias.clone().unsqueeze();
    }
    rows
}

fn values<const D: usize>(tensor: &Tensor<D>) -> Vec<f32> {
    tensor.to_data().try_to_vec().expect("tensors of f32 are made here, and no others")
}
