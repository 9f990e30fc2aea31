//! The types that an observation's values have: a ring is of one of them.

use numpy::{Element, PyArrayDescr, PyArrayDescrMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arguments::shown;

/// A type of an observation's values.
pub(super) trait Observation: Element + torchforge_data::Observation {
    /// The two fields of observations, each of so many values, and what follows them.
    ///
    /// A minibatch has them in front of its other values where all are float32, and in a block of their own otherwise.
    fn fields<'a>(
        values: &'a mut [f32],
        frames: &'a mut [u8],
        len: usize,
    ) -> (&'a mut [Self], &'a mut [Self], &'a mut [f32]);
}

impl Observation for f32 {
    fn fields<'a>(
        values: &'a mut [f32],
        _: &'a mut [u8],
        len: usize,
    ) -> (&'a mut [Self], &'a mut [Self], &'a mut [f32]) {
        let (observations, rest) = values.split_at_mut(len);
        let (next_observations, rest) = rest.split_at_mut(len);
        (observations, next_observations, rest)
    }
}

impl Observation for u8 {
    fn fields<'a>(
        values: &'a mut [f32],
        frames: &'a mut [u8],
        len: usize,
    ) -> (&'a mut [Self], &'a mut [Self], &'a mut [f32]) {
        let (observations, next_observations) = frames.split_at_mut(len);
        (observations, next_observations, values)
    }
}

/// The types.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ObservationType {
    Float32,
    Uint8,
}

impl ObservationType {
    /// The argument `observation_dtype`: whatever NumPy makes a dtype of. None is float32.
    pub(super) fn of(value: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let Some(value) = value else { return Ok(Self::Float32) };
        let py = value.py();
        if let Ok(found) = PyArrayDescr::new(py, value) {
            for each in [Self::Float32, Self::Uint8] {
                if found.is_equiv_to(&each.dtype(py)) {
                    return Ok(each);
                }
            }
        }
        Err(PyValueError::new_err(format!(
            "observation_dtype is {} and must be \"float32\" or \"uint8\"",
            shown(value)
        )))
    }

    pub(super) fn dtype(self, py: Python<'_>) -> Bound<'_, PyArrayDescr> {
        match self {
            Self::Float32 => f32::get_dtype(py),
            Self::Uint8 => u8::get_dtype(py),
        }
    }
}

/// A ring, by the type of its observations' values.
pub(super) enum Typed<F, U> {
    Float32(F),
    Uint8(U),
}

impl<F, U> Typed<F, U> {
    /// Which type it is.
    pub(super) fn of(&self) -> ObservationType {
        match self {
            Self::Float32(_) => ObservationType::Float32,
            Self::Uint8(_) => ObservationType::Uint8,
        }
    }

    /// What one of two functions makes.
    pub(super) fn made<E>(
        of: ObservationType,
        float32: impl FnOnce() -> Result<F, E>,
        uint8: impl FnOnce() -> Result<U, E>,
    ) -> Result<Self, E> {
        match of {
            ObservationType::Float32 => float32().map(Self::Float32),
            ObservationType::Uint8 => uint8().map(Self::Uint8),
        }
    }
}

/// An expression over the ring, whichever type it is of.
macro_rules! typed {
    ($rings:expr, $ring:ident => $value:expr) => {
        match $rings {
            $crate::replay::observations::Typed::Float32($ring) => $value,
            $crate::replay::observations::Typed::Uint8($ring) => $value,
        }
    };
}
pub(super) use typed;
