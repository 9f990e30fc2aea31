//! The compiled half of the Python package `torchforge`: NumPy arrays in, NumPy arrays out.
//!
//! Large arrays are never copied, except actions. An environment's observations are, so that each step's is the caller's own.
//!
//! `python/torchforge` holds the other half, and the stub `_torchforge.pyi` that says shapes and errors.

#![deny(unsafe_code)]
#![allow(missing_debug_implementations, reason = "Python shows its objects itself")]

mod arguments;
mod arrays;
mod calls;
mod dataset;
mod environment;
mod gae;
mod gymnasium;
#[expect(unsafe_code, reason = "each has the reason beside it")]
mod memory;
mod post_training;
mod replay;
mod trainer;
mod vector;

use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;

/// From this many values on a call takes some tens of microseconds, and another Python thread may run meanwhile;
/// below it, giving up the interpreter lock and taking it back would be a cost that shows.
pub(crate) const DETACH_VALUES: usize = 1 << 15;

/// Does some work; other Python threads run meanwhile where it `is_long`.
pub(crate) fn worked<T: Send>(py: Python<'_>, is_long: bool, work: impl FnOnce() -> T + Send) -> T {
    if is_long { py.detach(work) } else { work() }
}

/// Fast, exactly reproducible reinforcement learning.
// Short calls read arrays under the interpreter lock, so a free-threaded Python has to take it.
#[pymodule(gil_used = true)]
mod _torchforge {
    use super::*;

    #[pymodule_export]
    use crate::calls::{
        call_returning_an_array, call_with_an_array, call_with_five_arrays, call_without_arrays,
        steps_from_rust,
    };
    #[pymodule_export]
    use crate::dataset::{MappedFiles, RowBatches, RowLoader, write_rows};
    #[pymodule_export]
    use crate::environment::{Environment, make};
    #[pymodule_export]
    use crate::gae::{compute_gae, compute_gae_batched};
    #[pymodule_export]
    use crate::gymnasium::train_in;
    #[pymodule_export]
    use crate::post_training::{group_advantages, token_kl, token_kl_k1, token_kl_k2, token_kl_k3};
    #[pymodule_export]
    use crate::replay::{
        DiskReplayBuffer, Minibatch, PrioritisedMinibatch, PrioritisedReplayBuffer, ReplayBuffer,
        SequenceReplayBuffer,
    };
    #[pymodule_export]
    use crate::trainer::{Policy, Trainer};
    #[pymodule_export]
    use crate::vector::{VectorEnvironment, make_vec};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        torchforge_bench::cap_instructions().map_err(|error| PyImportError::new_err(error.to_string()))?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
