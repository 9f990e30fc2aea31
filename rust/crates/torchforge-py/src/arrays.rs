//! NumPy arrays as slices: their type, layout and shape are checked, and none is copied.

use std::array;
use std::fmt::Display;
use std::ops::{Deref, Range};

use numpy::{
    Element, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyReadwriteArrayDyn, PyUntypedArray,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;

use crate::DETACH_VALUES;
use crate::arguments::shown;
use crate::memory::{SHARED, Seen, Written, is_apart};

/// DLPack's number for the memory that the CPU reads.
const CPU: i32 = 1;

/// Up to this many values a call takes well below a microsecond, and half of that would be spent on borrowing arrays:
/// entries of a table that are made and removed again. Copies of so few values take less time.
const COPIED_VALUES: usize = 512;

/// An argument as an array of this type whose rows lie one after the other: its values are a slice.
pub(crate) fn cast<'py, T: Element>(
    name: &str,
    value: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
    let array = value.cast::<PyArrayDyn<T>>().map_err(|_| {
        let wanted = T::get_dtype(value.py());
        PyValueError::new_err(format!(
            "{name} is not a NumPy array of {wanted} but {}, and none is converted unasked, for that changes values; give \
             numpy.asarray({name}, dtype=\"{wanted}\")",
            kind(value)
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

/// What was given where another array was wanted.
pub(crate) fn kind(value: &Bound<'_, PyAny>) -> String {
    match value.cast::<PyUntypedArray>() {
        Ok(array) => format!("one of {}", array.dtype()),
        Err(_) => shown(value),
    }
}

/// An argument that is read: an array, or a tensor of another library over whose memory NumPy has one.
///
/// Its type and layout are checked, its shape is the caller's to check.
pub(crate) fn input<'py, T: Element>(
    name: &str,
    value: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
    if value.is_instance_of::<PyUntypedArray>() { cast(name, value) } else { cast(name, &lent(name, value)?) }
}

/// The array that shares a tensor's memory (DLPack); anything else as it is.
pub(crate) fn lent<'py>(name: &str, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    static FROM_DLPACK: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    if value.is_instance_of::<PyUntypedArray>() || !value.hasattr("__dlpack__")? {
        return Ok(value.clone());
    }
    let py = value.py();
    let refused = |error: PyErr| {
        let refused = PyValueError::new_err(format!(
            "{name} is {} whose memory cannot be shared ({}); give a tensor of a type that NumPy has, on the CPU and \
             without a gradient, such as {name}.detach().cpu()",
            shown(value),
            error.value(py)
        ));
        refused.set_cause(py, Some(error));
        refused
    };
    let device = value.call_method0("__dlpack_device__").map_err(refused)?;
    let (memory, _) = device.extract::<(i32, i32)>().map_err(refused)?;
    if memory != CPU {
        return Err(refused(PyValueError::new_err(format!("it lies on DLPack's device {}", shown(&device)))));
    }
    FROM_DLPACK.import(py, "numpy", "from_dlpack")?.call1((value,)).map_err(refused)
}

/// An argument that is read, as `input`, and borrowed: nobody writes it through NumPy's Rust side meanwhile.
pub(crate) fn read<'py, T: Element>(
    name: &str,
    value: &Bound<'py, PyAny>,
) -> PyResult<PyReadonlyArrayDyn<'py, T>> {
    borrow(name, &input(name, value)?)
}

/// The values of an argument that is read.
pub(crate) enum Values<'py, T: Element> {
    One([T; 1]),
    Few(Vec<T>),
    Seen(Seen<'py, T>),
    Many(PyReadonlyArrayDyn<'py, T>),
}

impl<T: Element> Deref for Values<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Self::One(value) => value,
            Self::Few(values) => values,
            Self::Seen(values) => values,
            Self::Many(array) => array.as_slice().expect("its layout was checked"),
        }
    }
}

/// An argument of this shape that is read, as `input`: few values are copied, many are borrowed.
pub(crate) fn values<'py, T: Element + Copy>(
    name: &str,
    value: &Bound<'py, PyAny>,
    shape: &[usize],
) -> PyResult<Values<'py, T>> {
    let array = input(name, value)?;
    check_shape(name, &array, shape)?;
    Ok(match array.len() {
        // One value lies on the stack: memory from the allocator takes longer than the rest.
        1 if shape.len() == 1 => Values::One([array.get_owned([0].as_slice()).expect("it has one value")]),
        len if len <= COPIED_VALUES => Values::Few(array.to_vec()?),
        _ => Values::Many(borrow(name, &array)?),
    })
}

/// The values of an array that a call reads. It may let go of the interpreter lock where there are `DETACH_VALUES`, and only
/// so many are borrowed.
pub(crate) fn held<'py, T: Element>(
    name: &str,
    array: &Bound<'py, PyArrayDyn<T>>,
) -> PyResult<Values<'py, T>> {
    Ok(if array.len() < DETACH_VALUES {
        Values::Seen(Seen::new(array))
    } else {
        Values::Many(borrow(name, array)?)
    })
}

/// An array that is read.
pub(crate) fn borrow<'py, T: Element>(
    name: &str,
    array: &Bound<'py, PyArrayDyn<T>>,
) -> PyResult<PyReadonlyArrayDyn<'py, T>> {
    array.try_readonly().map_err(|error| PyValueError::new_err(format!("{name}: {error}")))
}

/// An array that is written, of this shape.
pub(crate) fn write<'py, T: Element>(
    name: &str,
    array: &Bound<'py, PyArrayDyn<T>>,
    shape: &[usize],
) -> PyResult<PyReadwriteArrayDyn<'py, T>> {
    let array = array.try_readwrite().map_err(|error| not_to_be_written(name, error))?;
    check_shape(name, &array, shape)?;
    Ok(array)
}

/// What a call writes its results into.
pub(crate) enum Target<'py, T: Element> {
    Written(Written<'py, T>),
    Many(PyReadwriteArrayDyn<'py, T>),
}

impl<T: Element> Target<'_, T> {
    /// Its values.
    pub(crate) fn values(&mut self) -> &mut [T] {
        match self {
            Self::Written(array) => array.values(),
            Self::Many(array) => array.as_slice_mut().expect("its layout was checked"),
        }
    }
}

/// An array that a call writes, as `write`. The places in `beside` show whether it shares memory with what else the call has:
/// two arrays over a tensor's memory may have nothing else in common. A call that `is_long` lets go of the interpreter lock,
/// so that it borrows the array too.
pub(crate) fn target<'py, T: Element>(
    name: &str,
    array: &Bound<'py, PyArrayDyn<T>>,
    shape: &[usize],
    is_long: bool,
    beside: &[Range<usize>],
) -> PyResult<Target<'py, T>> {
    let written = Written::new(array, beside).map_err(|reason| not_to_be_written(name, reason))?;
    if is_long {
        return write(name, array, shape).map(Target::Many);
    }
    check_shape(name, array, shape)?;
    Ok(Target::Written(written))
}

/// An error where arrays of a tuple to be written share memory.
pub(crate) fn check_apart(name: &str, places: &[Range<usize>]) -> PyResult<()> {
    match (0..places.len()).find(|&index| !is_apart(&places[index], &places[..index])) {
        Some(index) => Err(not_to_be_written(&format!("{name}[{index}]"), SHARED)),
        None => Ok(()),
    }
}

fn not_to_be_written(name: &str, reason: impl Display) -> PyErr {
    PyValueError::new_err(format!(
        "{name} cannot be written ({reason}); give a writeable array that shares no memory with another \
         argument"
    ))
}

/// So many objects out of a tuple, to write results into.
pub(crate) fn several<'py, const N: usize>(
    name: &str,
    value: &Bound<'py, PyAny>,
) -> PyResult<[Bound<'py, PyAny>; N]> {
    let tuple = value.cast::<PyTuple>().ok().filter(|tuple| tuple.len() == N);
    let tuple = tuple.ok_or_else(|| {
        PyTypeError::new_err(format!("{name} is {} and must be a tuple of {N} arrays", shown(value)))
    })?;
    Ok(array::from_fn(|place| tuple.get_item(place).expect("as many as were counted")))
}

/// The same memory as bytes. To NumPy any byte but 0 is true, and one may come from a view; a `bool` is 0 or 1.
pub(crate) fn as_bytes<'py>(flags: &Bound<'py, PyArrayDyn<bool>>) -> PyResult<Bound<'py, PyArrayDyn<u8>>> {
    Ok(flags.call_method1("view", ("uint8",))?.cast_into()?)
}

/// A copy of `n` flags.
pub(crate) fn flags(name: &str, value: &Bound<'_, PyAny>, n: usize) -> PyResult<Vec<bool>> {
    let bytes = as_bytes(&input::<bool>(name, value)?)?;
    let bytes = read::<u8>(name, bytes.as_any())?;
    check_shape(name, &bytes, &[n])?;
    Ok(bytes.as_slice()?.iter().map(|&byte| byte != 0).collect())
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

/// An error where an array holds what is no number; it names the place.
pub(crate) fn check_numbers<T: Copy + PartialEq>(name: &str, values: &[T], shape: &[usize]) -> PyResult<()> {
    match first_nan(values) {
        Some(place) => {
            Err(PyValueError::new_err(format!("{name}{} is nan and must be a number", index(place, shape))))
        }
        None => Ok(()),
    }
}

/// Where the first NaN is.
pub(crate) fn first_nan<T: Copy + PartialEq>(values: &[T]) -> Option<usize> {
    /// Values looked at together: without a way out between them they are compared as vectors.
    const BLOCK: usize = 64;
    #[expect(clippy::eq_op, reason = "only NaN differs from itself")]
    let is_nan = |value: &T| value != value;
    // One comparison tells of two values whether either is NaN.
    let holds_one = |block: &[T]| {
        let (halves, last) = block.split_at(block.len() / 2 * 2);
        let (front, back) = halves.split_at(halves.len() / 2);
        let pairs = front.iter().zip(back).fold(false, |found, (a, b)| found | is_nan(a) | is_nan(b));
        pairs | last.iter().any(is_nan)
    };
    let block = values.chunks(BLOCK).position(holds_one)?;
    values[block * BLOCK..].iter().position(is_nan).map(|place| block * BLOCK + place)
}

/// A place in an array, as Python writes it.
pub(crate) fn index(place: usize, shape: &[usize]) -> String {
    let mut strides = 1;
    let mut index: Vec<_> = Vec::new();
    for &len in shape.iter().rev() {
        index.push(place / strides % len);
        strides *= len;
    }
    index.reverse();
    format!("{index:?}")
}
