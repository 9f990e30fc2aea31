//! Calls that do no work, which forge-bench's benchmark `calls` times: what they take is the crossing from Python and back.
//!
//! They take arrays as `compute_gae` takes few values. The package's `__init__` exports none of them, for no program needs them.

use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;

use crate::arguments::whole;
use crate::arrays::input;

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

fn place(index: &Bound<'_, PyAny>) -> PyResult<usize> {
    whole("index", index, 0..=isize::MAX as usize)
}

fn element(name: &str, array: &Bound<'_, PyAny>, index: usize) -> PyResult<f64> {
    let values = input::<f64>(name, array)?.to_vec()?;
    values.get(index).copied().ok_or_else(|| {
        PyIndexError::new_err(format!("index is {index} and {name} has {} value(s)", values.len()))
    })
}
