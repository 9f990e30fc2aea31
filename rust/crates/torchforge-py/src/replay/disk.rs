//! The ring that lies in a file.

use std::path::PathBuf;

use numpy::PyArrayDescr;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use torchforge_data::{DatasetError, DiskReplayBuffer as Ring, ElementType};
use torchforge_env::Pcg64;

use super::observations::{ObservationType, Typed, typed};
use super::{Minibatch, Pushed, Several, Widths, count, filled, refused, seed_of};
use crate::dataset;

/// A ring of the latest transitions in a file, drawn uniformly with replacement.
///
/// All values are float32; observations can be uint8.
///
/// It outlives its process; made by `create` and `open`. Transitions are written in blocks, each of which is sealed when
/// it is full. A process that is killed loses at most the block that was not sealed. A machine that loses its power may
/// lose more: `flush` where that matters. Close the ring, or use it in a `with` statement, which seals what was pushed.
///
/// One ring at a time has the file open. The file must not be made shorter meanwhile: that would end the process. Draws
/// with the same seed are the same on every machine.
#[pyclass(module = "torchforge")]
pub(crate) struct DiskReplayBuffer {
    /// None once it is closed.
    ring: Option<Rings>,
    generator: Pcg64,
    widths: Widths,
}

type Rings = Typed<Ring<f32>, Ring<f32, u8>>;

#[pymethods]
impl DiskReplayBuffer {
    /// Make a file for at least the latest `capacity` transitions, and open it. A file of that name is replaced.
    ///
    /// All of the disk's room is taken at once. Other threads of Python run meanwhile.
    ///
    /// Args:
    ///     path: of the file.
    ///     capacity: transitions that it holds at least. Up to two blocks more may be held.
    ///     observation_len: values in an observation.
    ///     action_len: values in an action.
    ///     observation_dtype: of an observation's values, float32 or uint8.
    ///     seed: begins the generator that draws.
    ///
    /// Raises:
    ///     OSError: the file cannot be made, as where the disk is full.
    ///     ValueError: a number is out of its range, or no file could hold so much.
    #[staticmethod]
    #[pyo3(
        signature = (path, capacity, observation_len, action_len=None, *, observation_dtype=None, seed=None),
        text_signature = "(path, capacity, observation_len, action_len=1, *, observation_dtype='float32', seed=0)"
    )]
    fn create(
        path: PathBuf,
        capacity: &Bound<'_, PyAny>,
        observation_len: &Bound<'_, PyAny>,
        action_len: Option<&Bound<'_, PyAny>>,
        observation_dtype: Option<&Bound<'_, PyAny>>,
        seed: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let py = capacity.py();
        let capacity = count("capacity", capacity)?;
        let observation = count("observation_len", observation_len)?;
        let action = action_len.map_or(Ok(1), |value| count("action_len", value))?;
        let seed = seed.map_or(Ok(0), seed_of)?;
        let of = ObservationType::of(observation_dtype)?;
        let ring = py.detach(|| {
            Typed::made(
                of,
                || Ring::create(&path, capacity, observation, action),
                || Ring::create(&path, capacity, observation, action),
            )
        });
        Ok(Self::of(ring.map_err(dataset::refused)?, seed))
    }

    /// Open a file that `create` made, with all transitions that were sealed. None of them is read.
    ///
    /// Raises:
    ///     OSError: the file cannot be opened, or another ring has it open.
    ///     ValueError: it is no whole file of such a ring; the message names the offset and what was expected there.
    #[staticmethod]
    #[pyo3(signature = (path, *, seed=None), text_signature = "(path, *, seed=0)")]
    fn open(py: Python<'_>, path: PathBuf, seed: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let seed = seed.map_or(Ok(0), seed_of)?;
        let opened = py.detach(|| match Ring::open(&path).map(Typed::Float32) {
            // The file says which type it holds.
            Err(DatasetError::Element { expected: ElementType::U8, .. }) => {
                Ring::open(&path).map(Typed::Uint8)
            }
            opened => opened,
        });
        Ok(Self::of(opened.map_err(dataset::refused)?, seed))
    }

    /// Keep one transition. The first of a block replaces the oldest block where the ring is full.
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
        let ring = self.ring.as_mut().ok_or_else(closed)?;
        typed!(ring, ring => ring.push(Pushed::new(given, self.widths)?.transition())).map_err(refused)
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
        let (py, widths, ring) = (rewards.py(), self.widths, self.ring.as_mut().ok_or_else(closed)?);
        typed!(ring, ring => Several::new(given, widths)?.push(py, |transition| ring.push(transition)))
    }

    /// Draw transitions; into `out`, if it is given, without taking memory.
    ///
    /// Other threads of Python run meanwhile, because rows may have to come from the disk.
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
        let (ring, generator) = (self.ring.as_ref().ok_or_else(closed)?, &mut self.generator);
        typed!(ring, ring => {
            filled(py, (size, self.widths), out, true, |rows| ring.sample_into(generator, rows))
        })
    }

    /// Begin the draws that follow anew.
    fn seed(&mut self, seed: &Bound<'_, PyAny>) -> PyResult<()> {
        self.generator = Pcg64::new(seed_of(seed)?);
        Ok(())
    }

    /// Seal what was pushed, so that a killed process does not lose it.
    fn seal(&mut self) -> PyResult<()> {
        typed!(self.ring.as_mut().ok_or_else(closed)?, ring => ring.seal());
        Ok(())
    }

    /// Seal what was pushed, and wait until all is on the disk.
    ///
    /// Raises:
    ///     OSError: the disk fails.
    fn flush(&mut self, py: Python<'_>) -> PyResult<()> {
        let ring = self.ring.as_mut().ok_or_else(closed)?;
        py.detach(|| typed!(ring, ring => ring.flush())).map_err(dataset::refused)
    }

    /// Read all sealed transitions, and compare each block with its checksum.
    ///
    /// Raises:
    ///     ValueError: a block differs from its checksum.
    fn verify(&self, py: Python<'_>) -> PyResult<()> {
        let ring = self.ring.as_ref().ok_or_else(closed)?;
        py.detach(|| typed!(ring, ring => ring.verify())).map_err(dataset::refused)
    }

    /// Seal what was pushed, and let another ring open the file. This one holds nothing any more.
    fn close(&mut self) {
        self.ring = None;
    }

    /// The type of an observation's values.
    #[getter]
    fn observation_dtype<'py>(&self, py: Python<'py>) -> Bound<'py, PyArrayDescr> {
        self.widths.of.dtype(py)
    }

    /// Transitions that are held at least, once so many were pushed. Up to two blocks more may be.
    #[getter]
    fn capacity(&self) -> PyResult<usize> {
        Ok(typed!(self.ring.as_ref().ok_or_else(closed)?, ring => ring.capacity()))
    }

    /// Transitions of a block: the last so many may be lost with the process.
    #[getter]
    fn block_rows(&self) -> PyResult<usize> {
        Ok(typed!(self.ring.as_ref().ok_or_else(closed)?, ring => ring.block_rows()))
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(typed!(self.ring.as_ref().ok_or_else(closed)?, ring => ring.len()))
    }

    fn __enter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __exit__(
        &mut self,
        _kind: &Bound<'_, PyAny>,
        _error: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) {
        self.close();
    }
}

impl DiskReplayBuffer {
    fn of(ring: Rings, seed: u64) -> Self {
        let (observation, action) = typed!(&ring, ring => (ring.observation_len(), ring.action_len()));
        let widths = Widths { observation, action, of: ring.of() };
        Self { ring: Some(ring), generator: Pcg64::new(seed), widths }
    }
}

fn closed() -> PyErr {
    PyValueError::new_err("the ring is closed; open its file again")
}
