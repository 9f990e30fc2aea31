//! New arrays for results. What lies in their memory before is not zeroed, and each is written before it is handed out.

use numpy::{Element, PyArrayDyn, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// A new array, of which all is to be written; NumPy's own error where there is no memory for it.
///
/// Zeros took 5 us for 256 KiB, a third of what computes so many. What lies in NumPy's memory before is a number of this
/// type; flags are written as bytes.
pub(crate) fn fresh<'py, T: Element>(
    py: Python<'py>,
    shape: &[usize],
) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
    /// Up to this many values memory cannot lack. The crate's function panics where it gets none, and takes less time than
    /// a call of NumPy's.
    const FEW: usize = 1 << 13;
    static EMPTY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let values = shape.iter().try_fold(1_usize, |values, &len| values.checked_mul(len));
    if values.is_some_and(|values| values <= FEW) {
        // SAFETY: all of it is written before anybody reads it.
        return Ok(unsafe { PyArrayDyn::new(py, shape, false) });
    }
    let empty = EMPTY.import(py, "numpy", "empty")?.call1((shape.to_vec(), T::get_dtype(py)))?;
    Ok(empty.cast_into()?)
}

/// The values of an array that `fresh` made, to be written.
pub(crate) fn unshared<'a, T: Element>(array: &'a mut Bound<'_, PyArrayDyn<T>>) -> PyResult<&'a mut [T]> {
    // SAFETY: nobody else has the array before the call returns it.
    Ok(unsafe { array.as_slice_mut() }?)
}
