//! What is drawn from a ring.

use numpy::{Element, PyArray1, PyArrayDyn, PyArrayMethods, PyReadwriteArrayDyn, PyUntypedArrayMethods};
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PySlice;
use torchforge_data::{Error, Rows};

use super::observations::{Observation, ObservationType};
use super::{Widths, refused};
use crate::memory::fresh;
use crate::worked;

/// Transitions that were drawn: float32 arrays, which are views into one block of memory.
///
/// Observations of bytes are uint8, and lie in a block of their own. Row i of every field belongs to the same transition.
/// A buffer's `sample` writes it anew where it is given as `out`.
/// PyTorch takes the arrays without a copy: `torch.from_numpy(minibatch.observations)`.
#[pyclass(module = "torchforge", frozen)]
pub(crate) struct Minibatch {
    /// Field after field: as many rows as a transition has values, each of `size` values. So numbers of rows, which are
    /// small, name the fields, and Python makes no new numbers for them.
    pub(super) values: Py<PyArrayDyn<f32>>,
    /// The observations, and after them the next ones, where they are bytes: in the same shape.
    pub(super) frames: Option<Py<PyArrayDyn<u8>>>,
    pub(super) size: usize,
    widths: Widths,
}

#[pymethods]
impl Minibatch {
    /// (batch_size, observation_len).
    #[getter]
    fn observations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.observed(py, 0)
    }

    /// (batch_size, observation_len).
    #[getter]
    fn next_observations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.observed(py, 1)
    }

    /// (batch_size, action_len).
    #[getter]
    fn actions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.matrix(self.values.bind(py), self.widths.before_actions(), self.widths.action)
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
    /// The other arrays are views of it; observations of bytes are not in it.
    #[getter]
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f32>>> {
        let values = self.values.bind(py);
        values.reshape([values.len()])
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
        let values = [widths.before_actions() + widths.action + 3, size];
        let values = fresh(py, &values).map_err(|_| lacking())?.unbind();
        let frames = match widths.of {
            ObservationType::Float32 => None,
            ObservationType::Uint8 => {
                Some(fresh(py, &[2 * widths.observation, size]).map_err(|_| lacking())?.unbind())
            }
        };
        Ok(Self { values, frames, size, widths })
    }

    pub(super) fn check(&self, size: usize, widths: Widths) -> PyResult<()> {
        if (self.size, self.widths) == (size, widths) {
            return Ok(());
        }
        Err(PyValueError::new_err(format!(
            "out is a minibatch of {} transitions of {} and must be of {size} of {}; give one of an earlier \
             sample({size})",
            self.size, self.widths, widths
        )))
    }

    /// The blocks, divided into their fields.
    fn rows<'a, O: Observation>(&self, values: &'a mut [f32], frames: &'a mut [u8]) -> Rows<'a, f32, O> {
        let Widths { observation, action, .. } = self.widths;
        let (observations, next_observations, rest) = O::fields(values, frames, self.size * observation);
        let (actions, rest) = rest.split_at_mut(self.size * action);
        let (rewards, rest) = rest.split_at_mut(self.size);
        let (terminations, truncations) = rest.split_at_mut(self.size);
        Rows { observations, next_observations, actions, rewards, terminations, truncations }
    }

    /// The first or the second field of observations.
    fn observed<'py>(&self, py: Python<'py>, place: usize) -> PyResult<Bound<'py, PyAny>> {
        let width = self.widths.observation;
        match &self.frames {
            Some(frames) => self.matrix(frames.bind(py), place * width, width),
            None => self.matrix(self.values.bind(py), place * width, width),
        }
    }

    /// The field of rows of `width` values that follows `before` values of each transition.
    fn matrix<'py, T: Element>(
        &self,
        block: &Bound<'py, PyArrayDyn<T>>,
        before: usize,
        width: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let field =
            block.get_item(PySlice::new(block.py(), before as isize, (before + width) as isize, 1))?;
        // Not the array's own method: to find and to call it takes as long as the view.
        Ok(field.cast_into::<PyArrayDyn<T>>()?.reshape([self.size, width])?.into_any())
    }

    /// The field of one value that is so many values after the action.
    fn vector<'py>(&self, py: Python<'py>, after: usize) -> PyResult<Bound<'py, PyAny>> {
        self.values.bind(py).get_item(self.widths.before_actions() + self.widths.action + after)
    }
}

/// An array of a minibatch to be drawn into.
pub(super) fn writeable<'py, T: Element>(
    array: &Bound<'py, PyArrayDyn<T>>,
) -> PyResult<PyReadwriteArrayDyn<'py, T>> {
    array.try_readwrite().map_err(|error| PyValueError::new_err(format!("out cannot be written: {error}")))
}

/// The minibatch of so many transitions that `draw` fills: `out`, or one of its own. Other Python threads run meanwhile
/// where it `detaches`.
pub(super) fn filled<'py, O: Observation>(
    py: Python<'py>,
    (size, widths): (usize, Widths),
    out: Option<Bound<'py, Minibatch>>,
    detaches: bool,
    draw: impl FnOnce(Rows<'_, f32, O>) -> Result<(), Error> + Send,
) -> PyResult<Bound<'py, Minibatch>> {
    let batch = match out {
        Some(out) => {
            out.get().check(size, widths)?;
            out
        }
        None => Bound::new(py, Minibatch::new(py, size, widths)?)?,
    };
    let mut writing = Writing::of(py, batch.get())?;
    let rows = writing.rows()?;
    worked(py, detaches, || draw(rows)).map_err(refused)?;
    drop(writing);
    Ok(batch)
}

/// A minibatch whose arrays are borrowed, to be written.
pub(super) struct Writing<'a, 'py> {
    minibatch: &'a Minibatch,
    values: PyReadwriteArrayDyn<'py, f32>,
    frames: Option<PyReadwriteArrayDyn<'py, u8>>,
}

impl<'a, 'py> Writing<'a, 'py> {
    pub(super) fn of(py: Python<'py>, minibatch: &'a Minibatch) -> PyResult<Self> {
        let values = writeable(minibatch.values.bind(py))?;
        let frames = minibatch.frames.as_ref().map(|frames| writeable(frames.bind(py))).transpose()?;
        Ok(Self { minibatch, values, frames })
    }

    /// Its fields. Its observations are of type `O`, as its widths say.
    pub(super) fn rows<O: Observation>(&mut self) -> PyResult<Rows<'_, f32, O>> {
        let frames = match &mut self.frames {
            Some(frames) => frames.as_slice_mut()?,
            None => &mut [],
        };
        Ok(self.minibatch.rows(self.values.as_slice_mut()?, frames))
    }
}
