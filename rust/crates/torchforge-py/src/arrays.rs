//! NumPy arrays as slices: their type, layout and shape are checked, and none is copied.

use numpy::{
    Element, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyReadwriteArrayDyn, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// An argument as an array of this type whose rows lie one after the other: its values are a slice.
pub(crate) fn cast<'py, T: Element>(
    name: &str,
    value: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
    let array = value.cast::<PyArrayDyn<T>>().map_err(|_| {
        let wanted = T::get_dtype(value.py());
        PyValueError::new_err(format!(
            "{name} is not a NumPy array of {wanted}, and none is converted unasked, for that changes values; give \
             numpy.asarray({name}, dtype=\"{wanted}\")"
        ))
    })?;
    if !array.is_c_contiguous() {
        return Err(PyValueError::new_err(format!(
            "{name} is not C-contiguous; copy it with numpy.ascontiguousarray({name})"
        )));
    }
    if !array.is_aligned() {
        return Err(PyValueError::new_err(format!(
            "{name} lies at an address where no such number may; copy it with numpy.array({name})"
        )));
    }
    Ok(array.clone())
}

/// An argument that is read: its type and layout are checked, its shape is the caller's to check.
pub(crate) fn read<'py, T: Element>(
    name: &str,
    value: &Bound<'py, PyAny>,
) -> PyResult<PyReadonlyArrayDyn<'py, T>> {
    cast(name, value)?.try_readonly().map_err(|error| PyValueError::new_err(format!("{name}: {error}")))
}

/// An array that is written, of this shape.
pub(crate) fn write<'py, T: Element>(
    name: &str,
    array: &Bound<'py, PyArrayDyn<T>>,
    shape: &[usize],
) -> PyResult<PyReadwriteArrayDyn<'py, T>> {
    let array = array.try_readwrite().map_err(|error| {
        PyValueError::new_err(format!(
            "{name} cannot be written ({error}); give a writeable array that is no other argument"
        ))
    })?;
    check_shape(name, &array, shape)?;
    Ok(array)
}

/// An error where an array has another shape.
pub(crate) fn check_shape<T: Element>(
    name: &str,
    array: &Bound<'_, PyArrayDyn<T>>,
    shape: &[usize],
) -> PyResult<()> {
    if array.shape() == shape {
        return Ok(());
    }
    Err(PyValueError::new_err(format!("{name} has shape {:?} and must have {shape:?}", array.shape())))
}
