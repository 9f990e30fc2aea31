//! Generalised advantage estimation: arrays in, arrays out.

use std::fmt::Display;

use numpy::{PyArrayDyn, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use torchforge_rl::{GaeOptions, Trajectory, gae_batched};

use crate::arguments::number;
use crate::arrays::{Target, cast, check_numbers, check_shape, held, lent, read, several, target};
use crate::memory::{fresh, halves, place, unshared};
use crate::{DETACH_VALUES, worked};

/// From this many values on both outputs are one array's halves. Freed one after the other, two arrays of that size are
/// more than an allocator keeps (glibc's: 128 KiB, or twice the largest block that was freed): every call would have the
/// system map new pages, which takes several times as long as the computation.
const TOGETHER_VALUES: usize = 1 << 13;

type Array<'py> = Bound<'py, PyArrayDyn<f64>>;

/// Advantages and returns of one trajectory (Schulman et al., 2016).
///
/// Args:
///     rewards: the reward of each step, (length,).
///     values: the estimated value of the state before each step, (length,).
///     dones: 1 where the episode ended with this step, otherwise 0, (length,).
///     last_value: the estimated value of the state after the last step.
///     gamma: the discount of a step.
///     lam: the weight of longer estimates.
///     out: arrays to write the advantages and returns into, (length,) each.
///
/// All arrays are float64 and C-contiguous. What is read may also be a tensor on the CPU of any library with DLPack. The
/// bytes of the result are the same on every machine. Long results are the two halves of one array, so that either keeps
/// the other's memory.
///
/// Raises:
///     TypeError: a number is none, or `out` is no tuple of two.
///     ValueError: an array has another type, layout or shape, or holds NaN; a number is not finite; a tensor lies on
///         another device or needs a gradient; or `out` shares memory with another argument. Nothing was written.
#[pyfunction]
#[pyo3(signature = (rewards, values, dones, last_value, gamma, lam, *, out=None))]
#[expect(clippy::too_many_arguments, reason = "the Python signature")]
pub(crate) fn compute_gae<'py>(
    py: Python<'py>,
    rewards: &Bound<'py, PyAny>,
    values: &Bound<'py, PyAny>,
    dones: &Bound<'py, PyAny>,
    last_value: &Bound<'py, PyAny>,
    gamma: &Bound<'py, PyAny>,
    lam: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Array<'py>, Array<'py>)> {
    let (last_value, options) = (number("last_value", last_value)?, options(gamma, lam)?);
    Inputs::new(rewards, values, dones, 1)?.compute(py, &[last_value], options, out)
}

/// Advantages and returns of several trajectories: `compute_gae` for every row of (batch, length) arrays.
///
/// `last_values` has shape (batch,); `out` holds arrays of shape (batch, length).
#[pyfunction]
#[pyo3(signature = (rewards, values, dones, last_values, gamma, lam, *, out=None))]
#[expect(clippy::too_many_arguments, reason = "the Python signature")]
pub(crate) fn compute_gae_batched<'py>(
    py: Python<'py>,
    rewards: &Bound<'py, PyAny>,
    values: &Bound<'py, PyAny>,
    dones: &Bound<'py, PyAny>,
    last_values: &Bound<'py, PyAny>,
    gamma: &Bound<'py, PyAny>,
    lam: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Array<'py>, Array<'py>)> {
    let (options, last_values) = (options(gamma, lam)?, read("last_values", last_values)?);
    let inputs = Inputs::new(rewards, values, dones, 2)?;
    check_shape("last_values", &last_values, &inputs.rewards.shape()[..1])?;
    check_numbers("last_values", last_values.as_slice()?, last_values.shape())?;
    inputs.compute(py, last_values.as_slice()?, options, out)
}

fn options(gamma: &Bound<'_, PyAny>, lam: &Bound<'_, PyAny>) -> PyResult<GaeOptions> {
    Ok(GaeOptions { gamma: number("gamma", gamma)?, lambda: number("lam", lam)? })
}

/// Arrays of equal shape.
struct Inputs<'py> {
    rewards: Array<'py>,
    values: Array<'py>,
    dones: Array<'py>,
}

impl<'py> Inputs<'py> {
    fn new(
        rewards: &Bound<'py, PyAny>,
        values: &Bound<'py, PyAny>,
        dones: &Bound<'py, PyAny>,
        dimensions: usize,
    ) -> PyResult<Self> {
        // A tensor's own code runs before the first array is looked at.
        let (rewards, values, dones) =
            (lent("rewards", rewards)?, lent("values", values)?, lent("dones", dones)?);
        let rewards = cast("rewards", &rewards)?;
        if rewards.ndim() != dimensions {
            return Err(PyValueError::new_err(format!(
                "rewards has {} dimension(s) and must have {dimensions}; compute_gae takes (length,), \
                 compute_gae_batched takes (batch, length)",
                rewards.ndim()
            )));
        }
        let values = cast("values", &values)?;
        check_shape("values", &values, rewards.shape())?;
        let dones = cast("dones", &dones)?;
        check_shape("dones", &dones, rewards.shape())?;
        Ok(Self { rewards, values, dones })
    }

    fn compute(
        &self,
        py: Python<'py>,
        last_values: &[f64],
        options: GaeOptions,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Array<'py>, Array<'py>)> {
        let shape = self.rewards.shape();
        let (mut advantages, mut returns) = match out {
            None => new(py, shape)?,
            Some(out) => {
                let [advantages, returns] = several("out", out)?;
                (cast("out[0]", &advantages)?, cast("out[1]", &returns)?)
            }
        };
        let given = match out {
            None => None,
            Some(_) => Some(self.given(&advantages, &returns, last_values)?),
        };
        let rewards = held("rewards", &self.rewards)?;
        let values = held("values", &self.values)?;
        let dones = held("dones", &self.dones)?;
        let trajectories = Trajectory { rewards: &rewards, values: &values, dones: &dones };
        let is_long = trajectories.rewards.len() >= DETACH_VALUES;
        let work = |advantages: &mut [f64], returns: &mut [f64]| {
            let done = worked(py, is_long, || {
                gae_batched(trajectories, last_values, options, &mut *advantages, returns)
            });
            done.map_err(refused)?;
            check_begins(advantages, last_values.len(), trajectories, shape)
        };
        match given {
            None => work(unshared(&mut advantages)?, unshared(&mut returns)?)?,
            Some([mut advantages, mut returns]) => {
                check_all(trajectories, shape)?;
                work(advantages.values(), returns.values())?;
            }
        }
        Ok((advantages, returns))
    }

    /// The caller's arrays to write into.
    fn given(
        &self,
        advantages: &Array<'py>,
        returns: &Array<'py>,
        last_values: &[f64],
    ) -> PyResult<[Target<'py, f64>; 2]> {
        let (shape, is_long) = (self.rewards.shape(), self.rewards.len() >= DETACH_VALUES);
        let last_values = last_values.as_ptr_range();
        let beside = [
            place(advantages),
            place(&self.rewards),
            place(&self.values),
            place(&self.dones),
            last_values.start.addr()..last_values.end.addr(),
        ];
        Ok([
            target("out[0]", advantages, shape, is_long, &beside[1..])?,
            target("out[1]", returns, shape, is_long, &beside)?,
        ])
    }
}

/// An error where an input holds what is no number: it spreads to the beginning of its row, whatever `dones` says. So the
/// beginnings tell, at a small part of the cost of looking at all inputs.
fn check_begins(
    advantages: &[f64],
    rows: usize,
    trajectories: Trajectory<'_>,
    shape: &[usize],
) -> PyResult<()> {
    let length = advantages.len() / rows.max(1);
    match advantages.iter().step_by(length.max(1)).any(|advantage| advantage.is_nan()) {
        true => check_all(trajectories, shape),
        false => Ok(()),
    }
}

fn check_all(trajectories: Trajectory<'_>, shape: &[usize]) -> PyResult<()> {
    check_numbers("rewards", trajectories.rewards, shape)?;
    check_numbers("values", trajectories.values, shape)?;
    check_numbers("dones", trajectories.dones, shape)
}

/// Arrays for the results.
fn new<'py>(py: Python<'py>, shape: &[usize]) -> PyResult<(Array<'py>, Array<'py>)> {
    if shape.iter().product::<usize>() < TOGETHER_VALUES {
        return Ok((fresh(py, shape)?, fresh(py, shape)?));
    }
    halves(py, shape).map(Into::into)
}

fn refused(error: impl Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}
