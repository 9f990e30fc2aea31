//! The ring that is drawn as sequences of consecutive steps.

use numpy::PyArrayDescr;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use torchforge_data::SequenceReplayBuffer as Ring;
use torchforge_env::Pcg64;

use super::observations::{ObservationType, Typed, typed};
use super::{Minibatch, Pushed, Several, Widths, count, filled, refused, seed_of};
use crate::arguments::whole;

/// A ring of the latest transitions of one environment, drawn as sequences of steps.
///
/// All values are float32; observations can be uint8.
///
/// The steps of a sequence are consecutive and of one episode. Sequences are drawn uniformly with replacement. All memory
/// is taken when the ring is made. Draws with the same seed are the same on every machine.
#[pyclass(module = "torchforge")]
pub(crate) struct SequenceReplayBuffer {
    ring: Typed<Ring<f32>, Ring<f32, u8>>,
    generator: Pcg64,
    widths: Widths,
}

#[pymethods]
impl SequenceReplayBuffer {
    #[new]
    #[pyo3(
        signature = (capacity, observation_len, action_len=None, *, length, observation_dtype=None, seed=None),
        text_signature = "(capacity, observation_len, action_len=1, *, length, observation_dtype='float32', seed=0)"
    )]
    fn new(
        capacity: &Bound<'_, PyAny>,
        observation_len: &Bound<'_, PyAny>,
        action_len: Option<&Bound<'_, PyAny>>,
        length: &Bound<'_, PyAny>,
        observation_dtype: Option<&Bound<'_, PyAny>>,
        seed: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let capacity = count("capacity", capacity)?;
        let observation = count("observation_len", observation_len)?;
        let action = action_len.map_or(Ok(1), |value| count("action_len", value))?;
        let length = whole("length", length, 1..=capacity)?;
        let generator = Pcg64::new(seed.map_or(Ok(0), seed_of)?);
        let of = ObservationType::of(observation_dtype)?;
        let ring = Typed::made(
            of,
            || Ring::new(capacity, observation, action, length),
            || Ring::new(capacity, observation, action, length),
        );
        Ok(Self { ring: ring.map_err(refused)?, generator, widths: Widths { observation, action, of } })
    }

    /// Keep the next step of the environment, in place of the oldest where the ring is full.
    ///
    /// The arguments are those of `ReplayBuffer.push`. An episode goes on until a step is terminated or truncated.
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

    /// Keep several steps of the environment, one after another, as `push` keeps each.
    ///
    /// The arguments are those of `ReplayBuffer.extend`.
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

    /// Draw sequences; into `out`, if it is given, without taking memory.
    ///
    /// `batch_size` counts transitions, so it is a multiple of `length`. Sequences follow one another, each with its
    /// steps in turn: `minibatch.observations.reshape(-1, length, observation_len)` is a view with one sequence a row.
    /// Only the last step of a sequence can end an episode.
    ///
    /// Raises:
    ///     MemoryError: there is no memory for so many.
    ///     ValueError: `batch_size` is no multiple of `length`, no episode has so many steps yet, or `out` is of other
    ///         sizes.
    #[pyo3(signature = (batch_size, *, out=None))]
    fn sample<'py>(
        &mut self,
        py: Python<'py>,
        batch_size: &Bound<'py, PyAny>,
        out: Option<Bound<'py, Minibatch>>,
    ) -> PyResult<Bound<'py, Minibatch>> {
        let (size, length, widths) = (count("batch_size", batch_size)?, self.length(), self.widths);
        if !size.is_multiple_of(length) {
            return Err(PyValueError::new_err(format!(
                "batch_size is {size} and must be a multiple of length, which is {length}"
            )));
        }
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

    /// Steps of a sequence.
    #[getter]
    fn length(&self) -> usize {
        typed!(&self.ring, ring => ring.length())
    }

    /// Sequences that can be drawn now.
    #[getter]
    fn sequences(&self) -> usize {
        typed!(&self.ring, ring => ring.sequences())
    }

    fn __len__(&self) -> usize {
        typed!(&self.ring, ring => ring.len())
    }
}
