//! Numbers that Python gives: each is checked before anything happens, and an error names the argument and its value.

use std::fmt::Display;
use std::ops::RangeInclusive;

use numpy::PyUntypedArray;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt};

/// A whole number within a range. NumPy's whole numbers are some, floating-point numbers and flags are none.
pub(crate) fn whole<T>(name: &str, value: &Bound<'_, PyAny>, range: RangeInclusive<T>) -> PyResult<T>
where
    T: for<'a, 'py> FromPyObject<'a, 'py> + PartialOrd + Display,
{
    let none = || PyTypeError::new_err(format!("{name} is {} and must be a whole number", shown(value)));
    if value.is_instance_of::<PyBool>() {
        return Err(none());
    }
    // Python's own needs no `__index__`: to look that up takes longer than the rest of a short call.
    let number = match value.is_exact_instance_of::<PyInt>() {
        true => value.clone(),
        false => value.call_method0("__index__").map_err(|_| none())?,
    };
    match number.extract::<T>().ok().filter(|number| range.contains(number)) {
        Some(number) => Ok(number),
        None => Err(PyValueError::new_err(format!(
            "{name} is {} and must be a whole number from {} to {}",
            shown(value),
            range.start(),
            range.end()
        ))),
    }
}

/// A finite number.
pub(crate) fn number(name: &str, value: &Bound<'_, PyAny>) -> PyResult<f64> {
    let number = match value.extract::<f64>() {
        Ok(number) => number,
        Err(error) if error.is_instance_of::<PyOverflowError>(value.py()) => f64::INFINITY,
        Err(_) => {
            return Err(PyTypeError::new_err(format!("{name} is {} and must be a number", shown(value))));
        }
    };
    if number.is_finite() { Ok(number) } else { Err(infinite(name, value)) }
}

/// A finite number in single precision.
pub(crate) fn single(name: &str, value: &Bound<'_, PyAny>) -> PyResult<f32> {
    let number = number(name, value)? as f32;
    if number.is_finite() { Ok(number) } else { Err(infinite(name, value)) }
}

fn infinite(name: &str, value: &Bound<'_, PyAny>) -> PyErr {
    PyValueError::new_err(format!("{name} is {} and must be a finite number", shown(value)))
}

/// True or False, NumPy's too.
pub(crate) fn flag(name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    value
        .extract()
        .map_err(|_| PyTypeError::new_err(format!("{name} is {} and must be True or False", shown(value))))
}

/// A name.
pub(crate) fn words(name: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    value.extract().map_err(|_| PyTypeError::new_err(format!("{name} is {} and must be a str", shown(value))))
}

/// The seeds of `n` environments: those that are listed, or one and its successors.
pub(crate) fn seeds(seed: Option<&Bound<'_, PyAny>>, n: usize) -> PyResult<Vec<Option<u64>>> {
    let Some(seed) = seed else { return Ok(vec![None; n]) };
    // An array of NumPy's has `__index__` and a length.
    if seed.is_instance_of::<PyInt>() || (seed.hasattr("__index__")? && seed.len().is_err()) {
        let first = whole("seed", seed, 0..=u64::MAX - (n as u64 - 1))?;
        return Ok((0..n as u64).map(|i| Some(first + i)).collect());
    }
    let listed = match seed.is_instance_of::<PyUntypedArray>() {
        true => seed.try_iter().and_then(Iterator::collect),
        false => seed.extract::<Vec<Bound<'_, PyAny>>>(),
    };
    let listed = listed.map_err(|_| {
        PyTypeError::new_err(format!("seed is {} and must be a whole number or a list of them", shown(seed)))
    })?;
    if listed.len() != n {
        return Err(PyValueError::new_err(format!(
            "seed lists {} seeds and must list {n}, one for each environment",
            listed.len()
        )));
    }
    let each = |(i, seed): (usize, &Bound<'_, PyAny>)| match seed.is_none() {
        true => Ok(None),
        false => whole(&format!("seed[{i}]"), seed, 0..=u64::MAX).map(Some),
    };
    listed.iter().enumerate().map(each).collect()
}

/// A value as its `repr` has it, cut where it is long.
pub(crate) fn shown(value: &Bound<'_, PyAny>) -> String {
    const MOST: usize = 80;
    let text = value.repr().map_or_else(|_| "an object without a repr".into(), |text| text.to_string());
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}
