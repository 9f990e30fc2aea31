//! What is drawn from a ring.

use numpy::{PyArrayDyn, PyArrayMethods, PyReadwriteArrayDyn};
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PySlice;
use torchforge_data::{Error, Rows};

use super::{Widths, refused};
use crate::arrays::zeros;

/// Transitions that were drawn: float32 arrays, which are views into one block of memory.
///
/// Row i of every field belongs to the same transition. A buffer's `sample` writes it anew where it is given as `out`.
/// PyTorch takes the arrays without a copy: `torch.from_numpy(minibatch.observations)`.
#[pyclass(module = "torchforge", frozen)]
pub(crate) struct Minibatch {
    /// Field after field.
    pub(super) values: Py<PyArrayDyn<f32>>,
    pub(super) size: usize,
    widths: Widths,
}

#[pymethods]
impl Minibatch {
    /// (batch_size, observation_len).
    #[getter]
    fn observations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.matrix(py, 0, self.widths.observation)
    }

    /// (batch_size, observation_len).
    #[getter]
    fn next_observations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.matrix(py, self.widths.observation, self.widths.observation)
    }

    /// (batch_size, action_len).
    #[getter]
    fn actions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.matrix(py, 2 * self.widths.observation, self.widths.action)
    }

    /// (batch_size,).
    #[getter]
    fn rewards<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.vector(py, 0)
    }

    /// 1 where the task ended with the step, otherwise 0; (batch_size,).
    #[getter]
    fn terminated<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.vector(py, 1)
    }

    /// 1 where the episode was cut off at the step, otherwise 0; (batch_size,).
    #[getter]
    fn truncated<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.vector(py, 2)
    }

    /// All fields one after another, as their names stand here: one array to copy to another device.
    ///
    /// The other arrays are views of it.
    #[getter]
    fn values<'py>(&self, py: Python<'py>) -> Bound<'py, PyArrayDyn<f32>> {
        self.values.bind(py).clone()
    }

    fn __len__(&self) -> usize {
        self.size
    }
}

impl Minibatch {
    pub(super) fn new(py: Python<'_>, size: usize, widths: Widths) -> PyResult<Self> {
        let lacking = || {
            PyMemoryError::new_err(format!("batch_size is {size}, for which there is no memory; use less"))
        };
        let values = size.checked_mul(widths.of_transition()).ok_or_else(lacking)?;
        let values = zeros(py, &[values]).map_err(|_| lacking())?;
        Ok(Self { values: values.unbind(), size, widths })
    }

    pub(super) fn check(&self, size: usize, widths: Widths) -> PyResult<()> {
        if (self.size, self.widths) == (size, widths) {
            return Ok(());
        }
        Err(PyValueError::new_err(format!(
            "out is a minibatch of {} transitions of {} + {} values and must be of {size} of {} + {}; give one of an \
             earlier sample({size})",
            self.size, self.widths.observation, self.widths.action, widths.observation, widths.action
        )))
    }

    /// The block, divided into its fields.
    pub(super) fn rows<'a>(&self, values: &'a mut [f32]) -> Rows<'a, f32> {
        let Widths { observation, action } = self.widths;
        let (observations, rest) = values.split_at_mut(self.size * observation);
        let (next_observations, rest) = rest.split_at_mut(self.size * observation);
        let (actions, rest) = rest.split_at_mut(self.size * action);
        let (rewards, rest) = rest.split_at_mut(self.size);
        let (terminations, truncations) = rest.split_at_mut(self.size);
        Rows { observations, next_observations, actions, rewards, terminations, truncations }
    }

    /// The field that follows `before` values of each transition.
    fn matrix<'py>(&self, py: Python<'py>, before: usize, width: usize) -> PyResult<Bound<'py, PyAny>> {
        self.field(py, before, width)?.call_method1("reshape", (self.size, width))
    }

    fn vector<'py>(&self, py: Python<'py>, after: usize) -> PyResult<Bound<'py, PyAny>> {
        self.field(py, 2 * self.widths.observation + self.widths.action + after, 1)
    }

    fn field<'py>(&self, py: Python<'py>, before: usize, width: usize) -> PyResult<Bound<'py, PyAny>> {
        let (start, stop) = (before * self.size, (before + width) * self.size);
        self.values.bind(py).get_item(PySlice::new(py, start as isize, stop as isize, 1))
    }
}

/// An array of a minibatch to be drawn into.
pub(super) fn writeable<'py>(array: &Bound<'py, PyArrayDyn<f32>>) -> PyResult<PyReadwriteArrayDyn<'py, f32>> {
    array.try_readwrite().map_err(|error| PyValueError::new_err(format!("out cannot be written: {error}")))
}

/// The minibatch of so many transitions that `draw` fills: `out`, or one of its own. Other Python threads run meanwhile
/// where it `detaches`.
pub(super) fn filled<'py>(
    py: Python<'py>,
    (size, widths): (usize, Widths),
    out: Option<Bound<'py, Minibatch>>,
    detaches: bool,
    draw: impl FnOnce(Rows<'_, f32>) -> Result<(), Error> + Send,
) -> PyResult<Bound<'py, Minibatch>> {
    let batch = match out {
        Some(out) => {
            out.get().check(size, widths)?;
            out
        }
        None => Bound::new(py, Minibatch::new(py, size, widths)?)?,
    };
    let minibatch = batch.get();
    let mut values = writeable(minibatch.values.bind(py))?;
    let rows = minibatch.rows(values.as_slice_mut()?);
    let draw = || draw(rows);
    if detaches { py.detach(draw) } else { draw() }.map_err(refused)?;
    Ok(batch)
}
