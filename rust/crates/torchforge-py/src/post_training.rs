//! Advantages within groups, and divergences of tokens.

use numpy::{Element, PyArrayDyn, PyUntypedArrayMethods};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use torchforge_nn::Error;

use crate::arguments::number;
use crate::arrays::{cast, check_numbers, check_shape, first_nan, held, input, kind, lent, target};
use crate::memory::{fresh, place, unshared};
use crate::{DETACH_VALUES, worked};

/// Advantages within groups of answers (GRPO: Shao et al., 2024).
///
/// Args:
///     rewards: the reward of each answer, (groups, size).
///     epsilon: what is added to a group's standard deviation, which divides by the group's size; 0 or more.
///     out: an array to write the advantages into, (groups, size).
///
/// Each reward less its group's mean, over the deviation plus `epsilon`; 0 where that is 0. All arrays are float64 and
/// C-contiguous, and none is copied; `rewards` may also be a tensor on the CPU of any library that has DLPack. The bytes
/// of the result are the same on every machine.
///
/// Raises:
///     TypeError: `epsilon` is no number.
///     ValueError: an array has another type, layout or shape, or holds NaN; `epsilon` is out of its range; a tensor lies
///         on another device or needs a gradient; or `out` shares memory with `rewards`. Nothing was written.
#[pyfunction]
#[pyo3(signature = (rewards, epsilon=None, *, out=None), text_signature = "(rewards, epsilon=1e-08, *, out=None)")]
pub(crate) fn group_advantages<'py>(
    py: Python<'py>,
    rewards: &Bound<'py, PyAny>,
    epsilon: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
    const EPSILON: f64 = 1e-8;
    let epsilon = epsilon.map_or(Ok(EPSILON), |epsilon| number("epsilon", epsilon))?;
    let rewards = input::<f64>("rewards", rewards)?;
    let shape = rewards.shape();
    let &[groups, size] = shape else {
        return Err(PyValueError::new_err(format!(
            "rewards has {} dimension(s) and must have 2: (groups, size)",
            rewards.ndim()
        )));
    };
    if epsilon < 0.0 {
        return Err(PyValueError::new_err(format!("epsilon is {epsilon} and must be 0 or more")));
    }
    let compute = |rewards: &[f64], advantages: &mut [f64]| -> PyResult<()> {
        if rewards.is_empty() {
            return Ok(());
        }
        in_peace(py, rewards.len(), || {
            torchforge_nn::group_advantages(rewards, size, epsilon, &mut *advantages)
        })?;
        // What is no number spreads over its group, so that the first of each tells.
        match (0..groups).any(|group| advantages[group * size].is_nan()) {
            true => check_numbers("rewards", rewards, shape),
            false => Ok(()),
        }
    };
    let Some(out) = out else {
        let mut advantages = fresh(py, shape)?;
        compute(&held("rewards", &rewards)?, unshared(&mut advantages)?)?;
        return Ok(advantages);
    };
    let advantages = cast("out", out)?;
    {
        let is_long = rewards.len() >= DETACH_VALUES;
        let mut written = target("out", &advantages, shape, is_long, &[place(&rewards)])?;
        let rewards = held("rewards", &rewards)?;
        check_numbers("rewards", &rewards, shape)?;
        compute(&rewards, written.values())?;
    }
    Ok(advantages)
}

/// The sum over tokens of p (ln p - ln q).
///
/// Args:
///     policy: ln p of each token, (tokens,) or (batch, tokens), float64.
///     reference: ln q of each token, in the same shape.
///     out: an array to write the sums of several sequences into, (batch,).
///
/// Returns a number in nats for (tokens,), and an array (batch,) for several sequences. Arguments are C-contiguous NumPy
/// arrays, or tensors on the CPU of any library with DLPack, and none is copied. The bytes of the result are the same on
/// every machine.
///
/// Raises:
///     ValueError: an array has another type, layout or shape, or holds NaN; a tensor lies on another device or needs a
///         gradient; or `out` is given for one sequence, or shares memory with another argument. Nothing was written.
#[pyfunction]
#[pyo3(signature = (policy, reference, *, out=None))]
pub(crate) fn token_kl<'py>(
    py: Python<'py>,
    policy: &Bound<'py, PyAny>,
    reference: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    summed(py, policy, reference, out, |policy, reference, sums: &mut [f64]| {
        let tokens = policy.len() / sums.len();
        let pairs = policy.chunks_exact(tokens).zip(reference.chunks_exact(tokens));
        for (sum, (policy, reference)) in sums.iter_mut().zip(pairs) {
            *sum = torchforge_nn::token_kl(policy, reference)?;
        }
        Ok(())
    })
}

/// The sum over tokens of Schulman's estimator k1, ln(p/q) ("Approximating KL Divergence", 2020).
///
/// The tokens are those that the policy chose. The estimator is unbiased, of the highest variance, and negative for many
/// a token. Arguments are float32 or float64, all of one type. Terms and sums are computed in float64, and each sum is
/// rounded to the type of the arguments. All else is as of `token_kl`.
#[pyfunction]
#[pyo3(signature = (policy, reference, *, out=None))]
pub(crate) fn token_kl_k1<'py>(
    py: Python<'py>,
    policy: &Bound<'py, PyAny>,
    reference: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    estimated(py, policy, reference, out, torchforge_nn::token_kl_k1, torchforge_nn::token_kl_k1)
}

/// The sum over tokens of Schulman's estimator k2, ln(p/q)^2 / 2 ("Approximating KL Divergence", 2020).
///
/// The estimator is biased, of a low variance, and never negative. All else is as of `token_kl_k1`.
#[pyfunction]
#[pyo3(signature = (policy, reference, *, out=None))]
pub(crate) fn token_kl_k2<'py>(
    py: Python<'py>,
    policy: &Bound<'py, PyAny>,
    reference: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    estimated(py, policy, reference, out, torchforge_nn::token_kl_k2, torchforge_nn::token_kl_k2)
}

/// The sum over tokens of Schulman's estimator k3, q/p - 1 - ln(q/p) ("Approximating KL Divergence", 2020).
///
/// The estimator is unbiased, of a low variance, and never negative. The terms of float32 are computed in float32: one
/// below 1e-7 is lost in rounding, and may come out below zero. The terms of float64 keep their digits however small they
/// are. All else is as of `token_kl_k1`.
#[pyfunction]
#[pyo3(signature = (policy, reference, *, out=None))]
pub(crate) fn token_kl_k3<'py>(
    py: Python<'py>,
    policy: &Bound<'py, PyAny>,
    reference: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    estimated(py, policy, reference, out, torchforge_nn::token_kl_k3, torchforge_nn::token_kl_k3)
}

/// A policy's and a reference's log-probabilities, and the sum of each sequence.
type Estimator<T> = fn(&[T], &[T], &mut [T]) -> Result<(), Error>;

/// The sums in the type of the policy.
fn estimated<'py>(
    py: Python<'py>,
    policy: &Bound<'py, PyAny>,
    reference: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
    single: Estimator<f32>,
    double: Estimator<f64>,
) -> PyResult<Bound<'py, PyAny>> {
    let policy = &lent("policy", policy)?;
    if policy.is_instance_of::<PyArrayDyn<f32>>() {
        summed(py, policy, reference, out, single)
    } else if policy.is_instance_of::<PyArrayDyn<f64>>() {
        summed(py, policy, reference, out, double)
    } else {
        Err(PyValueError::new_err(format!(
            "policy is not a NumPy array of float32 or float64 but {}, and none is converted unasked, for that changes \
             values; give numpy.asarray(policy, dtype=\"float32\")",
            kind(policy)
        )))
    }
}

/// One value for each sequence: a number of one, an array of several.
fn summed<'py, T>(
    py: Python<'py>,
    policy: &Bound<'py, PyAny>,
    reference: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
    compute: impl Fn(&[T], &[T], &mut [T]) -> Result<(), Error> + Sync,
) -> PyResult<Bound<'py, PyAny>>
where
    T: Element + Copy + Default + PartialEq + IntoPyObject<'py> + Send + Sync,
{
    // A tensor's own code runs before the first array is looked at.
    let (policy, reference) = (lent("policy", policy)?, lent("reference", reference)?);
    let (policy, reference) = (cast::<T>("policy", &policy)?, cast::<T>("reference", &reference)?);
    let shape = policy.shape();
    check_shape("reference", &reference, shape)?;
    let mut sums = match (shape, out) {
        (&[_], None) => None,
        (&[_], Some(_)) => {
            return Err(PyValueError::new_err(
                "out is given, and the sum of one sequence is a number; give policy and reference as (batch, tokens)",
            ));
        }
        (&[batch, _], None) => Some(fresh(py, &[batch])?),
        (&[_, _], Some(out)) => Some(cast("out", out)?),
        _ => {
            return Err(PyValueError::new_err(format!(
                "policy has {} dimension(s) and must have 1 or 2: (tokens,) or (batch, tokens)",
                policy.ndim()
            )));
        }
    };
    let given = match (&sums, out) {
        (Some(sums), Some(_)) => {
            let beside = [place(&policy), place(&reference)];
            Some(target("out", sums, &shape[..1], policy.len() >= DETACH_VALUES, &beside)?)
        }
        _ => None,
    };
    let (policy_values, reference_values) = (&*held("policy", &policy)?, &*held("reference", &reference)?);
    let compute = |sums: &mut [T]| -> PyResult<()> {
        if policy_values.is_empty() {
            sums.fill(T::default());
        } else {
            in_peace(py, policy_values.len(), || compute(policy_values, reference_values, sums))?;
        }
        // What is no number makes its sum none.
        if first_nan(sums).is_some() {
            check_numbers("policy", policy_values, shape)?;
            check_numbers("reference", reference_values, shape)?;
        }
        Ok(())
    };
    if let Some(mut given) = given {
        check_numbers("policy", policy_values, shape)?;
        check_numbers("reference", reference_values, shape)?;
        compute(given.values())?;
    } else if let Some(made) = &mut sums {
        compute(unshared(made)?)?;
    }
    if let Some(sums) = sums {
        return Ok(sums.into_any());
    }
    let mut sum = [T::default()];
    compute(&mut sum)?;
    sum[0].into_bound_py_any(py)
}

/// Computes; another Python thread may run meanwhile where it takes long.
fn in_peace(
    py: Python<'_>,
    values: usize,
    compute: impl FnOnce() -> Result<(), Error> + Send,
) -> PyResult<()> {
    let done = worked(py, values >= DETACH_VALUES, compute);
    done.map_err(|error| PyValueError::new_err(error.to_string()))
}
