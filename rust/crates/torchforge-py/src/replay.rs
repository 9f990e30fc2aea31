//! Rings of transitions, and minibatches out of them.

mod disk;
mod minibatch;
mod observations;
mod prioritised;
mod pushed;
mod sequences;

use std::fmt;
use std::ops::Range;

use numpy::{Element, PyArray1, PyArrayDescr, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use torchforge_data::{Error, Rows};
use torchforge_env::Pcg64;

use crate::DETACH_VALUES;
use crate::arguments::whole;
pub(crate) use disk::DiskReplayBuffer;
pub(crate) use minibatch::Minibatch;
use minibatch::filled;
use observations::{Observation, ObservationType, Typed, typed};
pub(crate) use prioritised::{PrioritisedMinibatch, PrioritisedReplayBuffer};
use pushed::{Pushed, Several};
pub(crate) use sequences::SequenceReplayBuffer;

/// A ring of the latest transitions, drawn uniformly with replacement.
///
/// All values are float32; observations can be uint8. All memory is taken when it is made. Draws with the same seed are
/// the same on every machine.
#[pyclass(module = "torchforge")]
pub(crate) struct ReplayBuffer {
    ring: Typed<torchforge_data::ReplayBuffer<f32>, torchforge_data::ReplayBuffer<f32, u8>>,
    generator: Pcg64,
    widths: Widths,
}

/// Values in an observation and in an action.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Widths {
    observation: usize,
    action: usize,
    /// The type of an observation's values.
    of: ObservationType,
}

impl Widths {
    /// Values that lie before a transition's action in a minibatch's block of float32.
    fn before_actions(self) -> usize {
        match self.of {
            ObservationType::Float32 => 2 * self.observation,
            ObservationType::Uint8 => 0,
        }
    }

    /// Values of a transition in all its fields: two observations, an action, a reward and two flags.
    fn of_transition(self) -> usize {
        2 * self.observation + self.action + 3
    }

    /// Whether so many transitions take long enough to let other Python threads run.
    fn are_many(self, transitions: usize) -> bool {
        transitions.saturating_mul(self.of_transition()) >= DETACH_VALUES
    }
}

impl fmt::Display for Widths {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = if self.of == ObservationType::Uint8 { " (uint8)" } else { "" };
        write!(formatter, "{}{bytes} + {} values", self.observation, self.action)
    }
}

#[pymethods]
impl ReplayBuffer {
    #[new]
    #[pyo3(
        signature = (capacity, observation_len, action_len=None, *, observation_dtype=None, seed=None),
        text_signature = "(capacity, observation_len, action_len=1, *, observation_dtype='float32', seed=0)"
    )]
    fn new(
        capacity: &Bound<'_, PyAny>,
        observation_len: &Bound<'_, PyAny>,
        action_len: Option<&Bound<'_, PyAny>>,
        observation_dtype: Option<&Bound<'_, PyAny>>,
        seed: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let capacity = count("capacity", capacity)?;
        let observation = count("observation_len", observation_len)?;
        let action = action_len.map_or(Ok(1), |value| count("action_len", value))?;
        let of = ObservationType::of(observation_dtype)?;
        let generator = Pcg64::new(seed.map_or(Ok(0), seed_of)?);
        let ring = Typed::made(
            of,
            || torchforge_data::ReplayBuffer::new(capacity, observation, action),
            || torchforge_data::ReplayBuffer::new(capacity, observation, action),
        );
        Ok(Self { ring: ring.map_err(refused)?, generator, widths: Widths { observation, action, of } })
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
        typed!(&mut self.ring, ring => ring.push(Pushed::new(given, self.widths)?.transition()))
            .map_err(refused)
    }

    /// Keep several transitions, one after another, as `push` keeps each.
    ///
    /// Args:
    ///     observations: (n, observation_len).
    ///     next_observations: (n, observation_len).
    ///     actions: (n, action_len).
    ///     rewards: (n,).
    ///     terminated: booleans, (n,).
    ///     truncated: booleans, (n,).
    ///
    /// Other threads of Python run while many are kept, and may not change the arrays.
    ///
    /// Raises:
    ///     ValueError: an array has another type, layout or shape, the actions hold NaN, or a reward is not finite;
    ///         nothing was kept.
    fn extend(
        &mut self,
        observations: &Bound<'_, PyAny>,
        next_observations: &Bound<'_, PyAny>,
        actions: &Bound<'_, PyAny>,
        rewards: &Bound<'_, PyAny>,
        terminated: &Bound<'_, PyAny>,
        truncated: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let given = [observations, next_observations, actions, rewards, terminated, truncated];
        let (py, widths) = (rewards.py(), self.widths);
        typed!(&mut self.ring, ring => Several::new(given, widths)?.push(py, |transition| ring.push(transition)))
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
        let (size, widths) = (count("batch_size", batch_size)?, self.widths);
        let generator = &mut self.generator;
        typed!(&self.ring, ring => {
            filled(py, (size, widths), out, widths.are_many(size), |rows| ring.sample_into(generator, rows))
        })
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
        let start = whole("start", start, 0..=self.__len__())?;
        let stop = whole("stop", stop, start..=self.__len__())?;
        let widths = self.widths;
        typed!(&mut self.ring, ring => copies(py, ring.rows_mut(), widths, start..stop))
    }

    /// The type of an observation's values.
    #[getter]
    fn observation_dtype<'py>(&self, py: Python<'py>) -> Bound<'py, PyArrayDescr> {
        self.widths.of.dtype(py)
    }

    /// Transitions held at most.
    #[getter]
    fn capacity(&self) -> usize {
        typed!(&self.ring, ring => ring.capacity())
    }

    fn __len__(&self) -> usize {
        typed!(&self.ring, ring => ring.len())
    }
}

/// Copies of some rows, a field each.
fn copies<'py, O: Observation>(
    py: Python<'py>,
    rows: Rows<'_, f32, O>,
    widths: Widths,
    range: Range<usize>,
) -> PyResult<Bound<'py, PyTuple>> {
    let vector = |values: &[f32]| PyArray1::from_slice(py, &values[range.clone()]);
    PyTuple::new(
        py,
        [
            matrix(py, rows.observations, widths.observation, &range)?,
            matrix(py, rows.next_observations, widths.observation, &range)?,
            matrix(py, rows.actions, widths.action, &range)?,
            vector(rows.rewards).into_any(),
            vector(rows.terminations).into_any(),
            vector(rows.truncations).into_any(),
        ],
    )
}

/// A copy of some rows, each of so many values.
fn matrix<'py, T: Element + Copy>(
    py: Python<'py>,
    values: &[T],
    width: usize,
    range: &Range<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let values = PyArray1::from_slice(py, &values[range.start * width..range.end * width]);
    Ok(values.reshape([range.len(), width])?.into_any())
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
