//! The compiled half of the Python package `torchforge`: NumPy arrays in, NumPy arrays out.
//!
//! Large arrays are never copied; an environment's observations are, so that each step's is the caller's own.
//!
//! `python/torchforge` holds the other half, and the stub `_torchforge.pyi` that says shapes and errors.

#![forbid(unsafe_code)]
#![allow(missing_debug_implementations, reason = "Python shows its objects itself")]

mod arguments;
mod arrays;
mod dataset;
mod environment;
mod gymnasium;
mod post_training;
mod replay;
mod trainer;
mod vector;

use numpy::{PyArrayDyn, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::exceptions::{PyImportError, PyValueError};
use pyo3::prelude::*;
use torchforge_rl::{GaeOptions, Trajectory, gae_batched};

use crate::arrays::{cast, check_shape, read, write};

/// From this many values on a call takes some tens of microseconds, and another Python thread may run meanwhile;
/// below it, giving up the interpreter lock and taking it back would be a cost that shows.
pub(crate) const DETACH_VALUES: usize = 1 << 15;

/// From this many values on both outputs are one array's halves. Freed one after the other, two arrays of that size are
/// more than an allocator keeps (glibc's: 128 KiB, or twice the largest block that was freed): every call would have the
/// system map new pages, which takes several times as long as the computation.
const TOGETHER_VALUES: usize = 1 << 13;

type Array<'py> = Bound<'py, PyArrayDyn<f64>>;
type Pair<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

/// Fast, exactly reproducible reinforcement learning.
#[pymodule]
mod _torchforge {
    use super::*;

    #[pymodule_export]
    use crate::dataset::{MappedFiles, RowBatches, RowLoader, write_rows};
    #[pymodule_export]
    use crate::environment::{Environment, make};
    #[pymodule_export]
    use crate::gymnasium::dqn_in;
    #[pymodule_export]
    use crate::post_training::{group_advantages, token_kl, token_kl_k3};
    #[pymodule_export]
    use crate::replay::{Minibatch, PrioritisedMinibatch, PrioritisedReplayBuffer, ReplayBuffer};
    #[pymodule_export]
    use crate::trainer::{Policy, Trainer};
    #[pymodule_export]
    use crate::vector::{VectorEnvironment, make_vec};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        torchforge_bench::cap_instructions().map_err(|error| PyImportError::new_err(error.to_string()))?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }

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
    /// All arrays are float64 and C-contiguous, and none is copied. The bytes of the result are the same on every machine.
    /// Long results are the two halves of one array, so that either keeps the other's memory.
    ///
    /// Raises:
    ///     ValueError: an array has another type, layout or shape, or `out` shares memory with another argument.
    #[pyfunction]
    #[pyo3(signature = (rewards, values, dones, last_value, gamma, lam, *, out=None))]
    #[expect(clippy::too_many_arguments, reason = "the Python signature")]
    fn compute_gae<'py>(
        py: Python<'py>,
        rewards: &Bound<'py, PyAny>,
        values: &Bound<'py, PyAny>,
        dones: &Bound<'py, PyAny>,
        last_value: f64,
        gamma: f64,
        lam: f64,
        out: Option<Pair<'py>>,
    ) -> PyResult<(Array<'py>, Array<'py>)> {
        let inputs = Inputs::new(rewards, values, dones, 1)?;
        inputs.compute(py, &[last_value], GaeOptions { gamma, lambda: lam }, out)
    }

    /// Advantages and returns of several trajectories: `compute_gae` for every row of (batch, length) arrays.
    ///
    /// `last_values` has shape (batch,); `out` holds arrays of shape (batch, length).
    #[pyfunction]
    #[pyo3(signature = (rewards, values, dones, last_values, gamma, lam, *, out=None))]
    #[expect(clippy::too_many_arguments, reason = "the Python signature")]
    fn compute_gae_batched<'py>(
        py: Python<'py>,
        rewards: &Bound<'py, PyAny>,
        values: &Bound<'py, PyAny>,
        dones: &Bound<'py, PyAny>,
        last_values: &Bound<'py, PyAny>,
        gamma: f64,
        lam: f64,
        out: Option<Pair<'py>>,
    ) -> PyResult<(Array<'py>, Array<'py>)> {
        let inputs = Inputs::new(rewards, values, dones, 2)?;
        let last_values = read("last_values", last_values)?;
        check_shape("last_values", &last_values, &inputs.rewards.shape()[..1])?;
        inputs.compute(py, last_values.as_slice()?, GaeOptions { gamma, lambda: lam }, out)
    }
}

/// Arrays of equal shape, borrowed so that nobody writes them through NumPy's Rust side meanwhile.
struct Inputs<'py> {
    rewards: PyReadonlyArrayDyn<'py, f64>,
    values: PyReadonlyArrayDyn<'py, f64>,
    dones: PyReadonlyArrayDyn<'py, f64>,
}

impl<'py> Inputs<'py> {
    fn new(
        rewards: &Bound<'py, PyAny>,
        values: &Bound<'py, PyAny>,
        dones: &Bound<'py, PyAny>,
        dimensions: usize,
    ) -> PyResult<Self> {
        let rewards = read("rewards", rewards)?;
        if rewards.ndim() != dimensions {
            return Err(PyValueError::new_err(format!(
                "rewards has {} dimension(s) and must have {dimensions}; compute_gae takes (length,), \
                 compute_gae_batched takes (batch, length)",
                rewards.ndim()
            )));
        }
        let values = read("values", values)?;
        check_shape("values", &values, rewards.shape())?;
        let dones = read("dones", dones)?;
        check_shape("dones", &dones, rewards.shape())?;
        Ok(Self { rewards, values, dones })
    }

    fn compute(
        &self,
        py: Python<'py>,
        last_values: &[f64],
        options: GaeOptions,
        out: Option<Pair<'py>>,
    ) -> PyResult<(Array<'py>, Array<'py>)> {
        let shape = self.rewards.shape();
        let (advantages, returns) = match &out {
            Some((advantages, returns)) => (cast("out[0]", advantages)?, cast("out[1]", returns)?),
            None if self.rewards.len() < TOGETHER_VALUES => {
                (PyArrayDyn::zeros(py, shape, false), PyArrayDyn::zeros(py, shape, false))
            }
            None => {
                let both = PyArrayDyn::<f64>::zeros(py, [&[2], shape].concat(), false);
                (both.get_item(0)?.cast_into()?, both.get_item(1)?.cast_into()?)
            }
        };
        {
            let mut write_advantages = write("out[0]", &advantages, shape)?;
            let mut write_returns = write("out[1]", &returns, shape)?;
            let trajectories = Trajectory {
                rewards: self.rewards.as_slice()?,
                values: self.values.as_slice()?,
                dones: self.dones.as_slice()?,
            };
            let advantages = write_advantages.as_slice_mut()?;
            let returns = write_returns.as_slice_mut()?;
            let mut compute = || gae_batched(trajectories, last_values, options, advantages, returns);
            let done =
                if trajectories.rewards.len() < DETACH_VALUES { compute() } else { py.detach(compute) };
            done.map_err(|error| PyValueError::new_err(error.to_string()))?;
        }
        Ok((advantages, returns))
    }
}
