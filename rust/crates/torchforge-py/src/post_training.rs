//! Advantages within groups, and divergences of tokens.

use numpy::{Element, PyArray1, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use torchforge_nn::Error;

use crate::DETACH_VALUES;
use crate::arrays::{cast, check_shape, read, write};

/// Advantages within groups of answers (GRPO: Shao et al., 2024).
///
/// Args:
///     rewards: the reward of each answer, (groups, size).
///     epsilon: what is added to a group's standard deviation, which divides by the group's size.
///     out: an array to write the advantages into, (groups, size).
///
/// Each reward less its group's mean, over the deviation plus `epsilon`; 0 where that is 0. No array is copied. The bytes
/// of the result are the same on every machine.
///
/// Raises:
///     ValueError: an array has another type, layout or shape, or `out` is `rewards`.
#[pyfunction]
#[pyo3(signature = (rewards, epsilon=1e-8, *, out=None))]
pub(crate) fn group_advantages<'py>(
    py: Python<'py>,
    rewards: &Bound<'py, PyAny>,
    epsilon: f64,
    out: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
    let rewards = read::<f64>("rewards", rewards)?;
    let &[_, size] = rewards.shape() else {
        return Err(PyValueError::new_err(format!(
            "rewards has {} dimension(s) and must have 2: (groups, size)",
            rewards.ndim()
        )));
    };
    let advantages = match out {
        Some(out) => cast("out", out)?,
        None => PyArrayDyn::zeros(py, rewards.shape(), false),
    };
    if rewards.is_empty() {
        check_shape("out", &advantages, rewards.shape())?;
        return Ok(advantages);
    }
    {
        let mut written = write("out", &advantages, rewards.shape())?;
        let (rewards, written) = (rewards.as_slice()?, written.as_slice_mut()?);
        let compute = || torchforge_nn::group_advantages(rewards, size, epsilon, written);
        in_peace(py, rewards.len(), compute)?;
    }
    Ok(advantages)
}

/// The sum over tokens of p (ln p - ln q).
///
/// Args:
///     policy: ln p of each token, (tokens,) or (batch, tokens), float64.
///     reference: ln q of each token, in the same shape.
///
/// Returns a number for (tokens,), and an array (batch,) for several sequences. The bytes are the same on every machine.
///
/// Raises:
///     ValueError: an array has another type, layout or shape.
#[pyfunction]
pub(crate) fn token_kl<'py>(
    py: Python<'py>,
    policy: &Bound<'py, PyAny>,
    reference: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    summed(py, policy, reference, |policy, reference, sums: &mut [f64]| {
        let tokens = policy.len() / sums.len();
        let pairs = policy.chunks_exact(tokens).zip(reference.chunks_exact(tokens));
        for (sum, (policy, reference)) in sums.iter_mut().zip(pairs) {
            *sum = torchforge_nn::token_kl(policy, reference)?;
        }
        Ok(())
    })
}

/// The sum over tokens of Schulman's estimator k3, q/p - 1 - ln(q/p) ("Approximating KL Divergence", 2020).
///
/// Arguments, results and errors are those of `token_kl`, in float32.
#[pyfunction]
pub(crate) fn token_kl_k3<'py>(
    py: Python<'py>,
    policy: &Bound<'py, PyAny>,
    reference: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    summed(py, policy, reference, torchforge_nn::token_kl_k3)
}

/// One value for each sequence: a number of one, an array of several.
fn summed<'py, T>(
    py: Python<'py>,
    policy: &Bound<'py, PyAny>,
    reference: &Bound<'py, PyAny>,
    compute: impl Fn(&[T], &[T], &mut [T]) -> Result<(), Error> + Sync,
) -> PyResult<Bound<'py, PyAny>>
where
    T: Element + Copy + Default + IntoPyObject<'py> + Send + Sync,
{
    let policy: PyReadonlyArrayDyn<'py, T> = read("policy", policy)?;
    let reference = read("reference", reference)?;
    check_shape("reference", &reference, policy.shape())?;
    let (policy_values, reference_values) = (policy.as_slice()?, reference.as_slice()?);
    match *policy.shape() {
        [_] => {
            let mut sum = [T::default()];
            if !policy_values.is_empty() {
                in_peace(py, policy_values.len(), || compute(policy_values, reference_values, &mut sum))?;
            }
            sum[0].into_bound_py_any(py)
        }
        [batch, _] => {
            let sums = PyArray1::<T>::zeros(py, batch, false);
            if !policy_values.is_empty() {
                let mut written = sums.readwrite();
                let written = written.as_slice_mut()?;
                in_peace(py, policy_values.len(), || compute(policy_values, reference_values, written))?;
            }
            Ok(sums.into_any())
        }
        _ => Err(PyValueError::new_err(format!(
            "policy has {} dimension(s) and must have 1 or 2: (tokens,) or (batch, tokens)",
            policy.ndim()
        ))),
    }
}

/// Computes; another Python thread may run meanwhile where it takes long.
fn in_peace(
    py: Python<'_>,
    values: usize,
    compute: impl FnOnce() -> Result<(), Error> + Send,
) -> PyResult<()> {
    let done = if values < DETACH_VALUES { compute() } else { py.detach(compute) };
    done.map_err(|error| PyValueError::new_err(error.to_string()))
}
