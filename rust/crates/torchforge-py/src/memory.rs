//! Memory of NumPy's arrays without a copy, a table of borrowed arrays or zeros: what short calls have no time for.

use std::ops::Deref;

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

/// An array that a call reads while it keeps the interpreter lock.
pub(crate) struct Seen<'py, T: Element>(Bound<'py, PyArrayDyn<T>>);

impl<'py, T: Element> Seen<'py, T> {
    /// Of an array whose type and layout were checked, since when no Python code has run. No call may let go of the lock, or
    /// run Python code, as long as it has the values.
    pub(crate) fn new(array: &Bound<'py, PyArrayDyn<T>>) -> Self {
        Self(array.clone())
    }
}

impl<T: Element> Deref for Seen<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the interpreter lock is kept, so no Python code writes the array meanwhile. A long call of another thread
        // writes its `out` without the lock. To read that array meanwhile is the caller's race, and README.md forbids it.
        unsafe { self.0.as_slice() }.expect("its layout was checked")
    }
}
