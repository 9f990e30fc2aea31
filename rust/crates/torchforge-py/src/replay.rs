//! Rings of transitions, and minibatches out of them.

mod disk;
mod minibatch;
mod prioritised;
mod pushed;
mod sequences;

use numpy::{PyArray1, PyArrayMethods};
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
pub(crate) use prioritised::{PrioritisedMinibatch, PrioritisedReplayBuffer};
use pushed::{Pushed, Several};
pub(crate) use sequences::SequenceReplayBuffer;

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

    /// Whether so many transitions take long enough to let other Python threads run.
    fn are_many(self, transitions: usize) -> bool {
        transitions.saturating_mul(self.of_transition()) >= DETACH_VALUES
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
        let ring = &mut self.ring;
        Several::new(given, self.widths)?.push(rewards.py(), |transition| ring.push(transition))
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
        let (ring, generator) = (&self.ring, &mut self.generator);
        let draw = |rows: Rows<'_, f32>| ring.sample_into(generator, rows);
        filled(py, (size, widths), out, widths.are_many(size), draw)
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
