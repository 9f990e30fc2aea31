//! Calls that forge-bench times alone, because what they take is the crossing between Python and Rust.
//!
//! The benchmark `calls` has those that do no work and take arrays as `compute_gae` takes few values. `ffi-from-rust` has the
//! one that goes the other way. The package's `__init__` exports none of them, for no program needs them.

use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use torchforge_env::{Discrete, Environment};

use crate::arguments::whole;
use crate::arrays::input;
use crate::gymnasium::{Gymnasium, Raised};

/// The value itself.
///
/// For measurements: no call of this module takes less.
#[pyfunction]
pub(crate) fn call_without_arrays<'py>(value: &Bound<'py, PyAny>) -> Bound<'py, PyAny> {
    value.clone()
}

/// The value of an array, (values,) of float64, at an index from 0 on.
///
/// For measurements: the array is copied, as `compute_gae` copies up to 512 values.
///
/// Raises:
///     IndexError: the array has no such value.
///     TypeError, ValueError: the array has another type or layout, or the index is no whole number from 0 on.
#[pyfunction]
pub(crate) fn call_with_an_array(array: &Bound<'_, PyAny>, index: &Bound<'_, PyAny>) -> PyResult<f64> {
    element("array", array, place(index)?)
}

/// The sum of the values of five arrays at an index, from left to right.
///
/// For measurements; all else is as of `call_with_an_array`.
#[pyfunction]
pub(crate) fn call_with_five_arrays(
    first: &Bound<'_, PyAny>,
    second: &Bound<'_, PyAny>,
    third: &Bound<'_, PyAny>,
    fourth: &Bound<'_, PyAny>,
    fifth: &Bound<'_, PyAny>,
    index: &Bound<'_, PyAny>,
) -> PyResult<f64> {
    let index = place(index)?;
    Ok(element("first", first, index)?
        + element("second", second, index)?
        + element("third", third, index)?
        + element("fourth", fourth, index)?
        + element("fifth", fifth, index)?)
}

/// A new array with the values of an array, (values,) of float64.
///
/// For measurements; the array is taken as by `call_with_an_array`.
///
/// Raises:
///     ValueError: the array has another type or layout.
#[pyfunction]
pub(crate) fn call_returning_an_array<'py>(
    py: Python<'py>,
    array: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    Ok(PyArray1::from_slice(py, &input::<f64>("array", array)?.to_vec()?))
}

/// Steps of an environment of Gymnasium that Rust calls, as a training in it does, with a reset where an episode ends.
///
/// For measurements.
///
/// Args:
///     environment: discrete actions, and observations of float32 with one axis. An episode has begun.
///     actions: whole numbers that count from the first action, one for each step.
///
/// Returns:
///     The last observation, (values,) of float32.
///
/// Raises:
///     ValueError: the environment has other spaces, an action is none of its own, or there is none.
///     Exception: what the environment raises.
#[pyfunction]
pub(crate) fn steps_from_rust<'py>(
    environment: &Bound<'py, PyAny>,
    actions: Vec<u32>,
) -> PyResult<Bound<'py, PyArray1<f32>>> {
    if actions.is_empty() {
        return Err(PyValueError::new_err("actions is empty; give at least one"));
    }
    let raised = Raised::default();
    let mut stepped = Gymnasium::<Discrete>::new(environment, &raised)?;
    let mut observation = vec![0.0; stepped.observation_len()];
    // A reset's observation is no step's.
    let mut first = observation.clone();
    let explained = |error: torchforge_env::Error| {
        raised.take().unwrap_or_else(|| PyValueError::new_err(error.to_string()))
    };
    for action in actions {
        let step = stepped.step(&action, &mut observation).map_err(explained)?;
        if step.terminated || step.truncated {
            stepped.reset(None, &mut first).map_err(explained)?;
        }
    }
    Ok(PyArray1::from_slice(environment.py(), &observation))
}

fn place(index: &Bound<'_, PyAny>) -> PyResult<usize> {
    whole("index", index, 0..=isize::MAX as usize)
}

fn element(name: &str, array: &Bound<'_, PyAny>, index: usize) -> PyResult<f64> {
    let values = input::<f64>(name, array)?.to_vec()?;
    values.get(index).copied().ok_or_else(|| {
        PyIndexError::new_err(format!("index is {index} and {name} has {} value(s)", values.len()))
    })
}
