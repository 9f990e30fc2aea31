//! The ring of transitions, and minibatches out of it.

mod prioritised;

use numpy::{PyArray1, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyReadwriteArrayDyn};
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PySlice, PyTuple};
use torchforge_data::{Error, Rows, Transition};
use torchforge_env::Pcg64;

use crate::DETACH_VALUES;
use crate::arguments::{flag, single, whole};
use crate::arrays::{check_numbers, check_shape, read, zeros};
pub(crate) use prioritised::{PrioritisedMinibatch, PrioritisedReplayBuffer};

/// A ring of the latest transitions, all float32, drawn uniformly with replacement.
///
/// All memory is taken when it is made. Draws with the same seed are the same on every machine.
#[pyclass(module = "torchforge")]
pub(crate) struct ReplayBuffer {
    ring: torchforge_data::ReplayBuffer<f32>,
    generator: Pcg64,
    widths: Widths,
}

/// Values in an observation and in an action.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Widths {
    observation: usize,
    action: usize,
}

impl Widths {
    /// Values of a transition in all its fields: two observations, an action, a reward and two flags.
    fn of_transition(self) -> usize {
        2 * self.observation + self.action + 3
    }
}

#[pymethods]
impl ReplayBuffer {
    #[new]
    #[pyo3(
        signature = (capacity, observation_len, action_len=None, *, seed=None),
        text_signature = "(capacity, observation_len, action_len=1, *, seed=0)"
    )]
    fn new(
        capacity: &Bound<'_, PyAny>,
        observation_len: &Bound<'_, PyAny>,
        action_len: Option<&Bound<'_, PyAny>>,
        seed: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let capacity = count("capacity", capacity)?;
        let observation = count("observation_len", observation_len)?;
        let action = action_len.map_or(Ok(1), |value| count("action_len", value))?;
        let ring = torchforge_data::ReplayBuffer::new(capacity, observation, action).map_err(refused)?;
        let generator = Pcg64::new(seed.map_or(Ok(0), seed_of)?);
        Ok(Self { ring, generator, widths: Widths { observation, action } })
    }

    /// Keep one transition, in place of the oldest where the ring is full.
    ///
    /// Args:
    ///     observation: what was seen before the action, (observation_len,).
    ///     next_observation: what was really seen after it, (observation_len,): at an episode's end the last observation.
    ///     action: (action_len,), or a number where action_len is 1.
    ///     reward: the reward received.
    ///     terminated: the task itself ended.
    ///     truncated: the episode was cut off.
    ///
    /// Raises:
    ///     TypeError: a number or a flag is none.
    ///     ValueError: an array has another type, layout or shape, the action holds NaN, or a number is not finite;
    ///         nothing was kept. Observations are not searched for NaN, which takes long for images.
    fn push(
        &mut self,
        observation: &Bound<'_, PyAny>,
        next_observation: &Bound<'_, PyAny>,
        action: &Bound<'_, PyAny>,
        reward: &Bound<'_, PyAny>,
        terminated: &Bound<'_, PyAny>,
        truncated: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let given = [observation, next_observation, action, reward, terminated, truncated];
        self.ring.push(Pushed::new(given, self.widths)?.transition()?).map_err(refused)
    }

    /// Draw transitions; into `out`, if it is given, without taking memory.
    ///
    /// Raises:
    ///     MemoryError: there is no memory for so many.
    ///     ValueError: nothing was pushed yet, or `out` is of other sizes.
    #[pyo3(signature = (batch_size, *, out=None))]
    fn sample<'py>(
        &mut self,
        py: Python<'py>,
        batch_size: &Bound<'py, PyAny>,
        out: Option<Bound<'py, Minibatch>>,
    ) -> PyResult<Bound<'py, Minibatch>> {
        let size = count("batch_size", batch_size)?;
        let batch = match out {
            Some(out) => {
                out.get().check(size, self.widths)?;
                out
            }
            None => Bound::new(py, Minibatch::new(py, size, self.widths)?)?,
        };
        let minibatch = batch.get();
        let mut values = writeable(minibatch.values.bind(py))?;
        let rows = minibatch.rows(values.as_slice_mut()?);
        let (ring, generator) = (&self.ring, &mut self.generator);
        let sample = || ring.sample_into(generator, rows);
        let few = size.saturating_mul(self.widths.of_transition()) < DETACH_VALUES;
        if few { sample() } else { py.detach(sample) }.map_err(refused)?;
        Ok(batch)
    }

    /// Begin the draws that follow anew.
    fn seed(&mut self, seed: &Bound<'_, PyAny>) -> PyResult<()> {
        self.generator = Pcg64::new(seed_of(seed)?);
        Ok(())
    }

    /// Copies of the rows of memory from start to before stop, a field each, in the order of `push`.
    fn rows<'py>(
        &mut self,
        py: Python<'py>,
        start: &Bound<'py, PyAny>,
        stop: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let start = whole("start", start, 0..=self.ring.len())?;
        let stop = whole("stop", stop, start..=self.ring.len())?;
        let (Widths { observation, action }, rows) = (self.widths, self.ring.rows_mut());
        let matrix = |values: &[f32], width: usize| {
            PyArray1::from_slice(py, &values[start * width..stop * width]).reshape([stop - start, width])
        };
        let vector = |values: &[f32]| PyArray1::from_slice(py, &values[start..stop]);
        PyTuple::new(
            py,
            [
                matrix(rows.observations, observation)?.into_any(),
                matrix(rows.next_observations, observation)?.into_any(),
                matrix(rows.actions, action)?.into_any(),
                vector(rows.rewards).into_any(),
                vector(rows.terminations).into_any(),
                vector(rows.truncations).into_any(),
            ],
        )
    }

    /// Transitions held at most.
    #[getter]
    fn capacity(&self) -> usize {
        self.ring.capacity()
    }

    fn __len__(&self) -> usize {
        self.ring.len()
    }
}

/// The arguments of `push`.
struct Pushed<'py> {
    observation: PyReadonlyArrayDyn<'py, f32>,
    next_observation: PyReadonlyArrayDyn<'py, f32>,
    action: Action<'py>,
    reward: f32,
    terminated: bool,
    truncated: bool,
}

impl<'py> Pushed<'py> {
    /// In the order of `push`.
    fn new(given: [&Bound<'py, PyAny>; 6], widths: Widths) -> PyResult<Self> {
        let [observation, next_observation, action, reward, terminated, truncated] = given;
        Ok(Self {
            observation: row("observation", observation, widths.observation)?,
            next_observation: row("next_observation", next_observation, widths.observation)?,
            action: Action::new(action, widths.action)?,
            reward: single("reward", reward)?,
            terminated: flag("terminated", terminated)?,
            truncated: flag("truncated", truncated)?,
        })
    }

    fn transition(&self) -> PyResult<Transition<'_, f32>> {
        Ok(Transition {
            observation: self.observation.as_slice()?,
            next_observation: self.next_observation.as_slice()?,
            action: self.action.values()?,
            reward: self.reward,
            terminated: self.terminated,
            truncated: self.truncated,
        })
    }
}

/// An argument as so many values. Observations are not searched for NaN: for an image that takes a third of the copying.
fn row<'py>(name: &str, value: &Bound<'py, PyAny>, width: usize) -> PyResult<PyReadonlyArrayDyn<'py, f32>> {
    let array = read(name, value)?;
    check_shape(name, &array, &[width])?;
    Ok(array)
}

/// An action as it was given.
enum Action<'py> {
    Number([f32; 1]),
    Array(PyReadonlyArrayDyn<'py, f32>),
}

impl<'py> Action<'py> {
    fn new(value: &Bound<'py, PyAny>, width: usize) -> PyResult<Self> {
        if width == 1 && !value.is_instance_of::<PyArrayDyn<f32>>() && value.extract::<f64>().is_ok() {
            return Ok(Self::Number([single("action", value)?]));
        }
        let array = row("action", value, width)?;
        check_numbers("action", array.as_slice()?, &[width])?;
        Ok(Self::Array(array))
    }

    fn values(&self) -> PyResult<&[f32]> {
        match self {
            Self::Number(number) => Ok(number),
            Self::Array(array) => Ok(array.as_slice()?),
        }
    }
}

/// Transitions that were drawn: float32 arrays, which are views into one block of memory.
///
/// Row i of every field belongs to the same transition. `ReplayBuffer.sample` writes it anew where it is given as `out`.
/// PyTorch takes the arrays without a copy: `torch.from_numpy(minibatch.observations)`.
#[pyclass(module = "torchforge", frozen)]
pub(crate) struct Minibatch {
    /// Field after field.
    values: Py<PyArrayDyn<f32>>,
    size: usize,
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
    fn new(py: Python<'_>, size: usize, widths: Widths) -> PyResult<Self> {
        let lacking = || {
            PyMemoryError::new_err(format!("batch_size is {size}, for which there is no memory; use less"))
        };
        let values = size.checked_mul(widths.of_transition()).ok_or_else(lacking)?;
        let values = zeros(py, &[values]).map_err(|_| lacking())?;
        Ok(Self { values: values.unbind(), size, widths })
    }

    fn check(&self, size: usize, widths: Widths) -> PyResult<()> {
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
    fn rows<'a>(&self, values: &'a mut [f32]) -> Rows<'a, f32> {
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
fn writeable<'py>(array: &Bound<'py, PyArrayDyn<f32>>) -> PyResult<PyReadwriteArrayDyn<'py, f32>> {
    array.try_readwrite().map_err(|error| PyValueError::new_err(format!("out cannot be written: {error}")))
}

/// A number of things, at least one.
fn count(name: &str, value: &Bound<'_, PyAny>) -> PyResult<usize> {
    whole(name, value, 1..=isize::MAX as usize)
}

fn seed_of(value: &Bound<'_, PyAny>) -> PyResult<u64> {
    whole("seed", value, 0..=u64::MAX)
}

fn refused(error: Error) -> PyErr {
    PyValueError::new_err(error.to_string())
}
