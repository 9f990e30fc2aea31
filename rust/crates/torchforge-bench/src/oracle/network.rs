//! A dense network whose every step is a loop over its rows.

use torchforge_nn::{AdamOptions, Error, TensorReader, TensorWriter};

use super::unfit;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Activation {
    Relu,
    Tanh,
}

impl Activation {
    fn of(self, x: f64) -> f64 {
        match self {
            Self::Relu => x.max(0.0),
            Self::Tanh => x.tanh(),
        }
    }

    /// The derivative, given the value.
    fn slope(self, y: f64) -> f64 {
        match self {
            Self::Relu => f64::from(u8::from(y > 0.0)),
            Self::Tanh => 1.0 - y * y,
        }
    }
}

/// Numbers that learn by Adam (Kingma and Ba, 2015), as one tensor.
#[derive(Clone)]
pub(super) struct Parameter {
    pub(super) values: Vec<f64>,
    pub(super) gradient: Vec<f64>,
    moments: Vec<[f64; 2]>,
    steps: i32,
    name: String,
    shape: Vec<usize>,
}

impl Parameter {
    pub(super) fn read(given: &TensorReader<'_>, name: String) -> Result<Self, Error> {
        let (values, shape) = (super::all(given, &name)?, given.shape(&name)?);
        let (gradient, moments) = (vec![0.0; values.len()], vec![[0.0; 2]; values.len()]);
        Ok(Self { values, gradient, moments, steps: 0, name, shape })
    }

    pub(super) fn step(&mut self, adam: AdamOptions) {
        self.steps += 1;
        let unbias = |beta: f64| 1.0 - beta.powi(self.steps);
        let learning = self.values.iter_mut().zip(&self.gradient).zip(&mut self.moments);
        for ((value, &gradient), [first, second]) in learning {
            *first = adam.beta1 * *first + (1.0 - adam.beta1) * gradient;
            *second = adam.beta2 * *second + (1.0 - adam.beta2) * gradient * gradient;
            let deviation = (*second / unbias(adam.beta2)).sqrt();
            *value -= adam.learning_rate * (*first / unbias(adam.beta1)) / (deviation + adam.epsilon);
        }
    }

    pub(super) fn write(&self, prefix: &str, values: &[f64], tensors: &mut TensorWriter) {
        // DQN's update is of one network, which has no name then.
        let name = self.name.strip_prefix("online.").unwrap_or(&self.name);
        tensors.push_all(format!("{prefix}.{name}"), self.shape.clone(), values);
    }
}

/// `y = W x + b`, row by row.
#[derive(Clone)]
struct Linear {
    weight: Parameter,
    bias: Parameter,
}

impl Linear {
    fn inputs(&self) -> usize {
        self.weight.shape[1]
    }

    fn outputs(&self) -> usize {
        self.bias.values.len()
    }

    fn forward(&self, rows: &[f64]) -> Vec<f64> {
        let output = |row: &[f64], (weights, bias): (&[f64], &f64)| {
            bias + weights.iter().zip(row).map(|(weight, x)| weight * x).sum::<f64>()
        };
        let neurons = || self.weight.values.chunks(self.inputs()).zip(&self.bias.values);
        rows.chunks(self.inputs()).flat_map(|row| neurons().map(move |neuron| output(row, neuron))).collect()
    }

    /// Adds to the gradients; returns the errors of `rows`, given those of what they led to.
    fn backward(&mut self, rows: &[f64], errors: &[f64]) -> Vec<f64> {
        let (inputs, outputs) = (self.inputs(), self.outputs());
        let mut back = vec![0.0; rows.len()];
        let pairs = rows.chunks(inputs).zip(errors.chunks(outputs));
        for ((row, errors), back) in pairs.zip(back.chunks_mut(inputs)) {
            for (output, error) in errors.iter().enumerate() {
                self.bias.gradient[output] += error;
                for input in 0..inputs {
                    self.weight.gradient[output * inputs + input] += error * row[input];
                    back[input] += error * self.weight.values[output * inputs + input];
                }
            }
        }
        back
    }
}

/// Hidden layers, and heads that all see the last of them; their outputs stand beside one another in a row.
#[derive(Clone)]
pub(super) struct Network {
    hidden: Vec<Linear>,
    heads: Vec<Linear>,
    activation: Activation,
}

/// What a network computed of some rows.
pub(super) struct Pass {
    /// The inputs, then what each hidden layer made of them.
    layers: Vec<Vec<f64>>,
    /// (rows, outputs).
    pub(super) outputs: Vec<f64>,
}

impl Network {
    pub(super) fn read(
        given: &TensorReader<'_>,
        prefix: &str,
        (hidden, heads): (&[&str], &[&str]),
        activation: Activation,
    ) -> Result<Self, Error> {
        let layer = |name: &&str, inputs: Option<usize>| {
            let tensor = |part| Parameter::read(given, format!("{prefix}{name}.{part}"));
            let (weight, bias) = (tensor("weight")?, tensor("bias")?);
            match weight.shape[..] {
                [outputs @ (1..), width @ (1..)]
                    if outputs == bias.values.len() && width == inputs.unwrap_or(width) =>
                {
                    Ok(Linear { weight, bias })
                }
                _ => Err(unfit(&weight.name, "(outputs, inputs) of its layer".into(), &weight.shape)),
            }
        };
        let mut layers: Vec<Linear> = Vec::new();
        for name in hidden {
            layers.push(layer(name, layers.last().map(Linear::outputs))?);
        }
        let last = layers.last().map(Linear::outputs);
        let heads = heads.iter().map(|name| layer(name, last)).collect::<Result<_, Error>>()?;
        Ok(Self { hidden: layers, heads, activation })
    }

    /// Whether it takes and gives so many values.
    pub(super) fn check(&self, name: &str, inputs: usize, outputs: usize) -> Result<(), Error> {
        if (self.inputs(), self.outputs()) == (inputs, outputs) {
            return Ok(());
        }
        Err(unfit(
            name,
            format!("of {inputs} inputs and {outputs} outputs"),
            &[self.inputs(), self.outputs()],
        ))
    }

    pub(super) fn inputs(&self) -> usize {
        self.hidden[0].inputs()
    }

    pub(super) fn outputs(&self) -> usize {
        self.heads.iter().map(Linear::outputs).sum()
    }

    pub(super) fn forward(&self, rows: &[f64]) -> Pass {
        let mut layers = vec![rows.to_vec()];
        for layer in &self.hidden {
            let outputs = layer.forward(&layers[layers.len() - 1]);
            layers.push(outputs.into_iter().map(|x| self.activation.of(x)).collect());
        }
        let last = &layers[layers.len() - 1];
        let heads: Vec<_> = self.heads.iter().map(|head| (head.forward(last), head.outputs())).collect();
        let count = heads[0].0.len() / heads[0].1;
        let row = |row| heads.iter().flat_map(move |(values, width)| &values[row * width..][..*width]);
        let outputs = (0..count).flat_map(row).copied().collect();
        Pass { layers, outputs }
    }

    /// Sets the gradients, given the errors of a pass's outputs; returns those of its inputs.
    pub(super) fn backward(&mut self, pass: &Pass, errors: &[f64]) -> Vec<f64> {
        for parameter in self.parameters_mut() {
            parameter.gradient.fill(0.0);
        }
        let width = self.outputs();
        let last = &pass.layers[self.hidden.len()];
        let mut back = vec![0.0; last.len()];
        let mut begin = 0;
        for head in &mut self.heads {
            let end = begin + head.outputs();
            let own: Vec<f64> = errors.chunks(width).flat_map(|row| &row[begin..end]).copied().collect();
            for (sum, error) in back.iter_mut().zip(head.backward(last, &own)) {
                *sum += error;
            }
            begin = end;
        }
        for (number, layer) in self.hidden.iter_mut().enumerate().rev() {
            for (error, &y) in back.iter_mut().zip(&pass.layers[number + 1]) {
                *error *= self.activation.slope(y);
            }
            back = layer.backward(&pass.layers[number], &back);
        }
        back
    }

    pub(super) fn parameters(&self) -> impl Iterator<Item = &Parameter> {
        self.hidden.iter().chain(&self.heads).flat_map(|layer| [&layer.weight, &layer.bias])
    }

    pub(super) fn parameters_mut(&mut self) -> impl Iterator<Item = &mut Parameter> {
        self.hidden.iter_mut().chain(&mut self.heads).flat_map(|layer| [&mut layer.weight, &mut layer.bias])
    }

    pub(super) fn step(&mut self, adam: AdamOptions) {
        self.parameters_mut().for_each(|parameter| parameter.step(adam));
    }

    pub(super) fn write_gradients(&self, tensors: &mut TensorWriter) {
        self.parameters().for_each(|each| each.write("gradient", &each.gradient, tensors));
    }

    pub(super) fn write_parameters(&self, tensors: &mut TensorWriter) {
        self.parameters().for_each(|each| each.write("parameter", &each.values, tensors));
    }
}
