//! Memory of NumPy's arrays without a copy, a table of borrowed arrays or zeros: what short calls have no time for.

use std::ops::{Deref, Range};
use std::ptr::null_mut;

use numpy::ndarray::Axis;
use numpy::npyffi::{_PyArray_GET_ITEM_DATA, NPY_ARRAY_WRITEABLE, NpyTypes, get_type_object};
use numpy::{
    Element, IxDyn, PY_ARRAY_API, PyArrayDescrMethods, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods,
    ToNpyDims,
};
use pyo3::prelude::*;

/// A new array, of which all is to be written; NumPy's own error where there is no memory for it.
///
/// Zeros took 5 us for 256 KiB, a third of what computes so many. What lies in NumPy's memory before is a number of this
/// type; flags are written as bytes. The crate's own function panics where there is no memory.
pub(crate) fn fresh<'py, T: Element>(
    py: Python<'py>,
    shape: &[usize],
) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
    let mut lengths = IxDyn(shape);
    // SAFETY: as many lengths are given as dimensions, and NumPy refuses those that are no length; the type is `T`'s, whose
    // reference NumPy takes even where it fails. All of the memory is written before anybody reads it.
    unsafe {
        let made = PY_ARRAY_API.PyArray_NewFromDescr(
            py,
            get_type_object(py, NpyTypes::PyArray_Type),
            T::get_dtype(py).into_dtype_ptr(),
            lengths.ndim_cint(),
            lengths.as_dims_ptr(),
            null_mut(),
            null_mut(),
            0,
            null_mut(),
        );
        Ok(Bound::from_owned_ptr_or_err(py, made)?.cast_into_unchecked())
    }
}

/// The two halves of a new array of (2, ...): arrays that keep its memory.
pub(crate) fn halves<'py, T: Element>(
    py: Python<'py>,
    shape: &[usize],
) -> PyResult<[Bound<'py, PyArrayDyn<T>>; 2]> {
    let both = fresh::<T>(py, &[&[2], shape].concat())?;
    // SAFETY: the views lie in the array that each half keeps, and nobody else has it.
    Ok([0, 1].map(|half| unsafe {
        PyArrayDyn::borrow_from_array(&both.as_array().index_axis(Axis(0), half), both.clone().into_any())
    }))
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

/// Where the values of an array lie whose layout was checked.
pub(crate) fn place<T: Element>(array: &Bound<'_, PyArrayDyn<T>>) -> Range<usize> {
    let start = array.data().addr();
    start..start + array.len() * size_of::<T>()
}

/// Why an array is not to be written that is not apart.
pub(crate) const SHARED: &str = "the given array shares memory with another argument";

/// Whether one place shares no byte with the others.
pub(crate) fn is_apart(place: &Range<usize>, others: &[Range<usize>]) -> bool {
    let shares = |other: &Range<usize>| place.start.max(other.start) < place.end.min(other.end);
    !others.iter().any(shares)
}

/// An array that a call writes while it keeps the interpreter lock.
pub(crate) struct Written<'py, T: Element>(Bound<'py, PyArrayDyn<T>>);

impl<'py, T: Element> Written<'py, T> {
    /// Of an array whose type and layout were checked. `beside` is where the call's other values lie. No Python code may run
    /// before the array is written.
    ///
    /// # Errors
    ///
    /// Why it is not to be written: it is read-only, or shares memory with what lies beside.
    pub(crate) fn new(
        array: &Bound<'py, PyArrayDyn<T>>,
        beside: &[Range<usize>],
    ) -> Result<Self, &'static str> {
        // SAFETY: NumPy gives the fields of an array that is alive.
        if unsafe { (*_PyArray_GET_ITEM_DATA(array.as_array_ptr())).flags } & NPY_ARRAY_WRITEABLE == 0 {
            return Err("the given array is not writeable");
        }
        is_apart(&place(array), beside).then(|| Self(array.clone())).ok_or(SHARED)
    }

    /// Its values.
    pub(crate) fn values(&mut self) -> &mut [T] {
        // SAFETY: the interpreter lock is kept, so no Python code has the array meanwhile, and no other slice of this call
        // lies in its memory. A long call of another thread may have it without the lock: README.md forbids that.
        unsafe { self.0.as_slice_mut() }.expect("its layout was checked")
    }
}
