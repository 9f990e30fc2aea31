//! The ring whose transitions are drawn by priority, over one or several steps.

use std::sync::{Mutex, MutexGuard, PoisonError};

use numpy::{PyArrayDescr, PyArrayDyn};
use pyo3::prelude::*;
use torchforge_data::{
    Batch, Error, NStep, PrioritizedBatch, PrioritizedReplayBuffer, PriorityOptions, Rows, Stamp,
};
use torchforge_env::Pcg64;

use super::minibatch::{Writing, writeable};
use super::observations::{Observation, ObservationType, Typed, typed};
use super::{Minibatch, Pushed, Several, Widths, count, refused, seed_of};
use crate::arguments::number;
use crate::arrays::values;
use crate::memory::fresh;
use crate::worked;

/// A ring of the latest transitions, drawn in proportion to their priorities (Schaul et al., 2016).
///
/// All values are float32; observations can be uint8.
///
/// A priority is `(|error| + epsilon) ** alpha`, of the error that was given last. A new transition gets the highest
/// priority that any had so far, at first 1. With several steps a drawn transition spans that many, or those up to the
/// end of its episode or the newest transition. All memory is taken when the ring is made. Draws with the same seed are
/// the same on every machine.
#[pyclass(module = "torchforge")]
pub(crate) struct PrioritisedReplayBuffer {
    ring: Typed<Ring<f32>, Ring<u8>>,
    generator: Pcg64,
    widths: Widths,
}

/// A ring of one type of observations, and what the last draw was written into: its size is mostly that of the next one.
struct Ring<O> {
    transitions: PrioritizedReplayBuffer<f32, O>,
    drawn: Option<PrioritizedBatch<f32, O>>,
}

#[pymethods]
impl PrioritisedReplayBuffer {
    #[new]
    #[pyo3(
        signature = (
            capacity, observation_len, action_len=None, *, alpha=None, epsilon=None, steps=None, gamma=None,
            observation_dtype=None, seed=None
        ),
        text_signature = "(capacity, observation_len, action_len=1, *, alpha=0.6, epsilon=1e-6, steps=1, gamma=0.99, \
                          observation_dtype='float32', seed=0)"
    )]
    #[expect(clippy::too_many_arguments, reason = "the Python signature")]
    fn new(
        capacity: &Bound<'_, PyAny>,
        observation_len: &Bound<'_, PyAny>,
        action_len: Option<&Bound<'_, PyAny>>,
        alpha: Option<&Bound<'_, PyAny>>,
        epsilon: Option<&Bound<'_, PyAny>>,
        steps: Option<&Bound<'_, PyAny>>,
        gamma: Option<&Bound<'_, PyAny>>,
        observation_dtype: Option<&Bound<'_, PyAny>>,
        seed: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let capacity = count("capacity", capacity)?;
        let observation = count("observation_len", observation_len)?;
        let action = action_len.map_or(Ok(1), |value| count("action_len", value))?;
        let steps = steps.map_or(Ok(1), |value| count("steps", value))?;
        let gamma = gamma.map_or(Ok(0.99), |value| number("gamma", value))?;
        let windows = NStep::new(steps, gamma).map_err(refused)?;
        let options = PriorityOptions {
            alpha: alpha.map_or(Ok(0.6), |value| number("alpha", value))?,
            epsilon: epsilon.map_or(Ok(1e-6), |value| number("epsilon", value))?,
        };
        let of = ObservationType::of(observation_dtype)?;
        let generator = Pcg64::new(seed.map_or(Ok(0), seed_of)?);
        let widths = Widths { observation, action, of };
        let ring = Typed::made(
            of,
            || Ring::new(widths, capacity, options, windows),
            || Ring::new(widths, capacity, options, windows),
        );
        Ok(Self { ring: ring.map_err(refused)?, generator, widths })
    }

    /// Keep one transition, in place of the oldest where the ring is full.
    ///
    /// The arguments are those of `ReplayBuffer.push`.
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
        typed!(&mut self.ring, ring => ring.transitions.push(Pushed::new(given, self.widths)?.transition()))
            .map_err(refused)
    }

    /// Keep several transitions, one after another, as `push` keeps each.
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
        typed!(&mut self.ring, ring => {
            Several::new(given, widths)?.push(py, |transition| ring.transitions.push(transition))
        })
    }

    /// Draw transitions, one from each of `batch_size` equal parts of the sum of all priorities.
    ///
    /// With an alpha of 0 each is drawn by itself.
    ///
    /// Args:
    ///     batch_size: transitions to draw.
    ///     beta: how far the weights correct the draws, 0 to 1.
    ///     out: a minibatch to draw into, of as many transitions; what it held is gone.
    ///
    /// Raises:
    ///     MemoryError: there is no memory for so many.
    ///     ValueError: nothing was pushed yet, every priority is 0, `beta` is out of its range, or `out` is of other
    ///         sizes or cannot be written. Nothing was drawn.
    #[pyo3(
        signature = (batch_size, *, beta=None, out=None),
        text_signature = "($self, batch_size, *, beta=0.4, out=None)"
    )]
    fn sample<'py>(
        &mut self,
        py: Python<'py>,
        batch_size: &Bound<'py, PyAny>,
        beta: Option<&Bound<'py, PyAny>>,
        out: Option<Bound<'py, PrioritisedMinibatch>>,
    ) -> PyResult<Bound<'py, PrioritisedMinibatch>> {
        let size = count("batch_size", batch_size)?;
        let beta = beta.map_or(Ok(0.4), |value| number("beta", value))?;
        let batch = match out {
            Some(out) => {
                out.get().transitions.get().check(size, self.widths)?;
                out
            }
            None => Bound::new(py, PrioritisedMinibatch::new(py, size, self.widths)?)?,
        };
        let of = batch.get();
        // Borrowed before the draw: whatever cannot be written is refused while nothing has changed.
        let mut transitions = Writing::of(py, of.transitions.get())?;
        let mut discounts = writeable(of.discounts.bind(py))?;
        let mut weights = writeable(of.weights.bind(py))?;
        let (widths, generator) = (self.widths, &mut self.generator);
        typed!(&mut self.ring, ring => {
            let drawn = ring.draw(py, (size, widths), beta, generator)?;
            copy(drawn.transitions(), transitions.rows()?);
            discounts.as_slice_mut()?.copy_from_slice(drawn.discounts());
            weights.as_slice_mut()?.copy_from_slice(drawn.weights());
            of.stamps().copy_from_slice(drawn.stamps());
        });
        drop(transitions);
        Ok(batch)
    }

    /// Give the transitions of a minibatch the priorities of their new temporal-difference errors, (batch_size,).
    ///
    /// Returns how many of them were replaced since they were drawn. The errors of these change nothing.
    ///
    /// Raises:
    ///     ValueError: an error is no finite number, or the array has another type, layout or shape; no priority changed.
    fn update_priorities(
        &mut self,
        minibatch: &PrioritisedMinibatch,
        errors: &Bound<'_, PyAny>,
    ) -> PyResult<usize> {
        let errors = values("errors", errors, &[minibatch.size()])?;
        let stamps = minibatch.stamps();
        typed!(&mut self.ring, ring => ring.transitions.update_priorities(&stamps, &errors)).map_err(refused)
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
        typed!(&self.ring, ring => ring.transitions.capacity())
    }

    fn __len__(&self) -> usize {
        typed!(&self.ring, ring => ring.transitions.len())
    }
}

impl<O: Observation> Ring<O> {
    fn new(widths: Widths, capacity: usize, options: PriorityOptions, windows: NStep) -> Result<Self, Error> {
        let Widths { observation, action, .. } = widths;
        let transitions = PrioritizedReplayBuffer::new(capacity, observation, action, options, windows)?;
        Ok(Self { transitions, drawn: None })
    }

    /// Draws into memory of the ring's own, which mostly has the size of the last draw.
    fn draw(
        &mut self,
        py: Python<'_>,
        (size, widths): (usize, Widths),
        beta: f64,
        generator: &mut Pcg64,
    ) -> PyResult<&PrioritizedBatch<f32, O>> {
        let Widths { observation, action, .. } = widths;
        let drawn = match self.drawn.take() {
            Some(drawn) if drawn.stamps().len() == size => drawn,
            _ => PrioritizedBatch::new(size, observation, action).map_err(refused)?,
        };
        let drawn = self.drawn.insert(drawn);
        let ring = &self.transitions;
        worked(py, widths.are_many(size), || ring.sample(generator, beta, drawn)).map_err(refused)?;
        Ok(drawn)
    }
}

/// Transitions that were drawn by priority; `PrioritisedReplayBuffer.update_priorities` takes it.
///
/// `PrioritisedReplayBuffer.sample` writes it anew where it is given as `out`.
#[pyclass(module = "torchforge", frozen)]
pub(crate) struct PrioritisedMinibatch {
    transitions: Py<Minibatch>,
    discounts: Py<PyArrayDyn<f32>>,
    weights: Py<PyArrayDyn<f32>>,
    /// A draw into the minibatch changes them, as it does the arrays.
    stamps: Mutex<Vec<Stamp>>,
}

#[pymethods]
impl PrioritisedMinibatch {
    /// The transitions. Over several steps rewards are returns; next observations and flags are the last step's.
    #[getter]
    fn transitions(&self, py: Python<'_>) -> Py<Minibatch> {
        self.transitions.clone_ref(py)
    }

    /// Gamma to the power of the steps, (batch_size,): by it the next observation's value counts.
    #[getter]
    fn discounts(&self, py: Python<'_>) -> Py<PyArrayDyn<f32>> {
        self.discounts.clone_ref(py)
    }

    /// Importance weights in 0 to 1, by which each transition's gradient counts, (batch_size,).
    #[getter]
    fn weights(&self, py: Python<'_>) -> Py<PyArrayDyn<f32>> {
        self.weights.clone_ref(py)
    }

    fn __len__(&self) -> usize {
        self.size()
    }
}

impl PrioritisedMinibatch {
    fn new(py: Python<'_>, size: usize, widths: Widths) -> PyResult<Self> {
        Ok(Self {
            // The largest comes first, and says where there is no memory.
            transitions: Py::new(py, Minibatch::new(py, size, widths)?)?,
            discounts: fresh(py, &[size])?.unbind(),
            weights: fresh(py, &[size])?.unbind(),
            stamps: Mutex::new(vec![Stamp::default(); size]),
        })
    }

    fn size(&self) -> usize {
        self.transitions.get().size
    }

    fn stamps(&self) -> MutexGuard<'_, Vec<Stamp>> {
        self.stamps.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn copy<O: Observation>(from: &Batch<f32, O>, to: Rows<'_, f32, O>) {
    to.observations.copy_from_slice(from.observations());
    to.next_observations.copy_from_slice(from.next_observations());
    to.actions.copy_from_slice(from.actions());
    to.rewards.copy_from_slice(from.rewards());
    to.terminations.copy_from_slice(from.terminations());
    to.truncations.copy_from_slice(from.truncations());
}
