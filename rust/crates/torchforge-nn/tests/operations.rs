//! The automatic differentiation of every library that is compiled in, operation by operation: the gradient of each that
//! an update is made of, beside differences of the same formula in `f64`.
#![cfg(any(feature = "burn", feature = "candle"))]

/// Of the operand; rows of it are minibatches.
const SHAPE: [usize; 2] = [2, 3];
/// No number lies where an operation has no gradient.
const OPERAND: [f32; 6] = [0.31, -0.72, 1.4, -0.05, 0.9, 0.44];
/// What is beside the operand, where there is something.
const OTHER: [f32; 6] = [0.5, -0.3, 0.8, -1.1, 0.2, 0.6];
/// Of each output: without weights a gradient that is spread over a sum would look like one that is not.
const WEIGHTS: [f64; 6] = [0.7, -1.3, 0.4, 1.9, -0.6, 1.1];
const CLAMP: (f64, f64) = (-0.6, 0.8);
const CHOSEN: [usize; 2] = [2, 0];

const STEP: f64 = 1e-6;
/// Of the largest gradient.
const TOLERANCE: f64 = 1e-5;

/// What an operation makes of the operand, (2, 3), row by row; the outputs count as many rows.
type Formula = fn(&[f64; 6]) -> Vec<f64>;

fn each(x: &[f64; 6], of: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    x.iter().zip(OTHER).map(|(x, other)| of(*x, f64::from(other))).collect()
}

fn rows(x: &[f64; 6], of: impl Fn(&[f64]) -> Vec<f64>) -> Vec<f64> {
    x.chunks(SHAPE[1]).flat_map(of).collect()
}

/// Every operation by its name. The libraries' lists have the same ones.
const FORMULAS: [(&str, Formula); 19] = [
    ("add", |x| each(x, |x, other| x + other)),
    ("subtract", |x| each(x, |x, other| other - x)),
    ("multiply", |x| each(x, |x, other| x * other)),
    ("divide", |x| each(x, |x, other| other / (x + 3.0))),
    ("scale and shift", |x| each(x, |x, _| -1.7 * x + 0.3)),
    ("square", |x| each(x, |x, _| x * x)),
    ("exp", |x| each(x, |x, _| x.exp())),
    ("log", |x| each(x, |x, _| (x + 3.0).ln())),
    ("tanh", |x| each(x, |x, _| x.tanh())),
    ("relu", |x| each(x, |x, _| x.max(0.0))),
    ("clamp", |x| each(x, |x, _| x.clamp(CLAMP.0, CLAMP.1))),
    ("minimum", |x| each(x, f64::min)),
    ("maximum", |x| each(x, f64::max)),
    // By (3, 2), transposed as weights are.
    ("product", |x| {
        rows(x, |row| {
            OTHER.chunks(3).map(|other| row.iter().zip(other).map(|(x, o)| x * f64::from(*o)).sum()).collect()
        })
    }),
    ("sum of rows", |x| rows(x, |row| vec![row.iter().sum()])),
    ("mean", |x| vec![x.iter().sum::<f64>() / 6.0]),
    ("gather", |x| x.chunks(3).zip(CHOSEN).map(|(row, place)| row[place]).collect()),
    ("narrow and concatenate", |x| rows(x, |row| vec![row[1] * row[1], row[2] * row[2], row[0]])),
    ("log of softmax", |x| {
        rows(x, |row| {
            let sum: f64 = row.iter().map(|x| x.exp()).sum();
            row.iter().map(|x| x - sum.ln()).collect()
        })
    }),
];

/// The gradient of the weighed sum of an operation's outputs.
fn expected(formula: Formula) -> Vec<f64> {
    let loss = |x: &[f64; 6]| formula(x).iter().zip(WEIGHTS).map(|(y, weight)| y * weight).sum::<f64>();
    (0..OPERAND.len())
        .map(|place| {
            let moved = |step: f64| {
                let mut moved = OPERAND.map(f64::from);
                moved[place] += step;
                loss(&moved)
            };
            (moved(STEP) - moved(-STEP)) / (2.0 * STEP)
        })
        .collect()
}

fn check(library: &str, gradient: impl Fn(&str) -> Vec<f32>) {
    for (name, formula) in FORMULAS {
        let (found, expected) = (gradient(name), expected(formula));
        let largest = expected.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        assert_eq!(found.len(), expected.len());
        assert!(
            found.iter().zip(&expected).all(|(f, e)| (f64::from(*f) - e).abs() <= TOLERANCE * largest),
            "{name} of {library}: {found:?}, not {expected:?}"
        );
    }
}

fn weights(len: usize) -> Vec<f32> {
    WEIGHTS[..len].iter().map(|weight| *weight as f32).collect()
}

#[cfg(feature = "candle")]
mod candle {
    use candle_core::{D, Device, Result, Tensor, Var};

    use super::{CHOSEN, CLAMP, OPERAND, OTHER, SHAPE, check, weights};

    fn operation(name: &str, x: &Tensor) -> Result<Tensor> {
        let other = Tensor::from_slice(&OTHER, &SHAPE[..], &Device::Cpu)?;
        match name {
            "add" => x + other,
            "subtract" => other - x,
            "multiply" => x * other,
            "divide" => other / x.affine(1.0, 3.0)?,
            "scale and shift" => x.affine(-1.7, 0.3),
            "square" => x.sqr(),
            "exp" => x.exp(),
            "log" => x.affine(1.0, 3.0)?.log(),
            "tanh" => x.tanh(),
            "relu" => x.relu(),
            "clamp" => x.clamp(CLAMP.0, CLAMP.1),
            "minimum" => x.minimum(&other),
            "maximum" => x.maximum(&other),
            "product" => x.matmul(&other.t()?),
            "sum of rows" => x.sum_keepdim(1),
            "mean" => x.mean_all(),
            "gather" => x.gather(&Tensor::new(&CHOSEN.map(|place| [place as u32]), &Device::Cpu)?, 1),
            "narrow and concatenate" => Tensor::cat(&[x.narrow(1, 1, 2)?.sqr()?, x.narrow(1, 0, 1)?], 1),
            // As `CandlePpo` composes it.
            "log of softmax" => {
                let shifted = x.broadcast_sub(&x.max_keepdim(D::Minus1)?.detach())?;
                shifted.broadcast_sub(&shifted.exp()?.sum_keepdim(1)?.log()?)
            }
            _ => unreachable!("{name}"),
        }
    }

    fn gradient(name: &str) -> Result<Vec<f32>> {
        let x = Var::from_slice(&OPERAND, &SHAPE[..], &Device::Cpu)?;
        let found = operation(name, x.as_tensor())?.flatten_all()?;
        let weights = weights(found.elem_count());
        let loss = (&found * Tensor::from_slice(&weights, weights.len(), &Device::Cpu)?)?.sum_all()?;
        let gradients = loss.backward()?;
        gradients.get(&x).expect("it depends on the operand").flatten_all()?.to_vec1()
    }

    #[test]
    fn every_operation_has_the_gradient_of_its_formula() {
        check("candle", |name| gradient(name).unwrap());
    }
}

#[cfg(feature = "burn")]
mod burn {
    use burn::tensor::activation::{log_softmax, relu};
    use burn::tensor::{Device, Int, Tensor, TensorData};

    use super::{CHOSEN, CLAMP, OPERAND, OTHER, SHAPE, check, weights};

    fn tensor(values: &[f32], shape: [usize; 2]) -> Tensor<2> {
        Tensor::from_data(TensorData::new(values.to_vec(), shape), &Device::flex())
    }

    fn operation(name: &str, x: Tensor<2>) -> Tensor<2> {
        let other = tensor(&OTHER, SHAPE).autodiff();
        match name {
            "add" => x + other,
            "subtract" => other - x,
            "multiply" => x * other,
            "divide" => other / x.add_scalar(3.0),
            "scale and shift" => x.mul_scalar(-1.7).add_scalar(0.3),
            "square" => x.square(),
            "exp" => x.exp(),
            "log" => x.add_scalar(3.0).log(),
            "tanh" => x.tanh(),
            "relu" => relu(x),
            "clamp" => x.clamp(CLAMP.0, CLAMP.1),
            "minimum" => x.min_pair(other),
            "maximum" => x.max_pair(other),
            "product" => x.matmul(other.transpose()),
            "sum of rows" => x.sum_dim(1),
            "mean" => x.mean().unsqueeze(),
            "gather" => {
                let chosen = CHOSEN.map(|place| place as i64).to_vec();
                let chosen: Tensor<2, Int> =
                    Tensor::from_data(TensorData::new(chosen, [2, 1]), &Device::flex());
                x.gather(1, chosen.autodiff())
            }
            "narrow and concatenate" => {
                Tensor::cat(vec![x.clone().narrow(1, 1, 2).square(), x.narrow(1, 0, 1)], 1)
            }
            "log of softmax" => log_softmax(x, 1),
            _ => unreachable!("{name}"),
        }
    }

    fn gradient(name: &str) -> Vec<f32> {
        let x = tensor(&OPERAND, SHAPE).autodiff().require_grad();
        let found = operation(name, x.clone());
        let [rows, columns] = found.dims();
        let loss = (found * tensor(&weights(rows * columns), [rows, columns]).autodiff()).sum();
        let gradient = x.grad_remove(&mut loss.backward()).expect("it depends on the operand");
        gradient.to_data().try_to_vec().expect("a tensor of f32")
    }

    #[test]
    fn every_operation_has_the_gradient_of_its_formula() {
        check("burn", gradient);
    }
}
