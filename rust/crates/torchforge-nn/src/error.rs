//! What can go wrong, and why.

use crate::Mlp;

/// A network or a file of tensors that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A network needs an input size, a hidden layer and an output size, all at least 1.
    #[error("layer sizes {sizes:?} make no network: give three or more sizes, all at least 1")]
    Sizes {
        /// The layer sizes given.
        sizes: Vec<usize>,
    },
    /// Of so few rows nothing can be computed, and for so many there is no memory.
    #[error("{what} has {found} rows and must have {least} to {MOST_ROWS}")]
    Rows {
        /// What the rows are of.
        what: &'static str,
        /// Rows needed.
        least: usize,
        /// Rows given.
        found: usize,
    },
    /// Two networks that are to be alike are not.
    #[error("{what} has layers of {found:?} and must have {expected:?}")]
    Unlike {
        /// The network's name.
        what: &'static str,
        /// The other's layer sizes.
        expected: Vec<usize>,
        /// Its layer sizes.
        found: Vec<usize>,
    },
    /// A field of a minibatch has the wrong number of values.
    #[error("{what} has {found} values and must have {expected}")]
    Len {
        /// The field's name.
        what: &'static str,
        /// Values needed.
        expected: usize,
        /// Values given.
        found: usize,
    },
    /// A constant of an update has a value with which nothing is learnt, or something else than what was meant.
    #[error("{what} is {value} and must be {expected}")]
    Constant {
        /// The constant's name.
        what: &'static str,
        /// As given.
        value: String,
        /// What it must be.
        expected: &'static str,
    },
    /// There is no path of this name.
    #[error("there is no SIMD path {text:?}; the paths are avx512, avx2, neon and portable")]
    UnknownPath {
        /// The name given.
        text: String,
    },
    /// This processor lacks the path's instructions.
    #[error("this processor cannot take the SIMD path {path}: choose another, or none for the fastest")]
    NoSuchPath {
        /// The path given.
        path: crate::SimdPath,
    },
    /// There is no such number of threads.
    #[error("{threads} threads cannot be used: {reason}")]
    Threads {
        /// The number given.
        threads: usize,
        /// Why.
        reason: String,
    },
    /// A minibatch holds an action that the network has no output for.
    #[error("action {action} does not exist: the network has {count} outputs")]
    Action {
        /// The action given.
        action: u32,
        /// The network's outputs.
        count: usize,
    },
    /// A parameter is infinite or not a number: the training that it comes from diverged.
    #[error(
        "tensor {name:?} holds a value that is infinite or not a number: what it was learnt with diverged"
    )]
    NotFinite {
        /// The tensor's name.
        name: String,
    },
    /// No memory holds so much.
    #[error("{what} needs {values} values, for which there is no memory: use less")]
    NoMemory {
        /// What needs them.
        what: &'static str,
        /// How many `f32` values, or the largest number where they cannot be counted.
        values: usize,
    },
    /// A backend's library refused.
    #[error("{library} cannot do this: {reason}; use another backend")]
    Backend {
        /// The library's name.
        library: &'static str,
        /// What it said.
        reason: String,
    },
    /// The bytes are no safetensors file.
    #[error("not a safetensors file ({reason}): write it with safetensors' own library")]
    NotSafetensors {
        /// What the parser said.
        reason: String,
    },
    /// The file lacks a tensor.
    #[error("tensor {name:?} is missing from the file")]
    MissingTensor {
        /// The tensor's name.
        name: String,
    },
    /// A tensor has another shape or type than needed.
    #[error("tensor {name:?} is {found} and must be {expected}")]
    TensorKind {
        /// The tensor's name.
        name: String,
        /// Type and shape needed.
        expected: String,
        /// Type and shape found.
        found: String,
    },
}

/// Whether a field has the values that it must have.
pub(crate) fn check_len(what: &'static str, expected: usize, found: usize) -> Result<(), Error> {
    if found == expected { Ok(()) } else { Err(Error::Len { what, expected, found }) }
}

/// Whether a constant is within its range, and a number at all.
pub(crate) fn check_constant(
    what: &'static str,
    value: f64,
    range: impl std::ops::RangeBounds<f64>,
    expected: &'static str,
) -> Result<(), Error> {
    if range.contains(&value) && value.is_finite() {
        return Ok(());
    }
    Err(Error::Constant { what, value: value.to_string(), expected })
}

/// Whether a network has the sizes of another.
pub(crate) fn check_alike(what: &'static str, expected: &Mlp, found: &Mlp) -> Result<(), Error> {
    let (expected, found) = (expected.sizes(), found.sizes());
    if found == expected { Ok(()) } else { Err(Error::Unlike { what, expected, found }) }
}

/// Rows are counted in `f32` too, exactly up to here; and no product of sizes is larger than a number can be.
const MOST_ROWS: usize = 1 << 24;

/// Whether rows are so many as are needed at least, and no more than there can be.
pub(crate) fn check_rows(what: &'static str, least: usize, found: usize) -> Result<(), Error> {
    if (least..=MOST_ROWS).contains(&found) { Ok(()) } else { Err(Error::Rows { what, least, found }) }
}

/// Whether the network has an output for every action.
pub(crate) fn check_actions(actions: &[u32], count: usize) -> Result<(), Error> {
    match actions.iter().find(|&&action| action as usize >= count) {
        Some(&action) => Err(Error::Action { action, count }),
        None => Ok(()),
    }
}

/// Whether memory can be had for so many values, which are the product of these factors.
pub(crate) fn check_memory(what: &'static str, factors: &[usize]) -> Result<(), Error> {
    let values = factors.iter().try_fold(1_usize, |product, &factor| product.checked_mul(factor));
    let fits = |&values: &usize| Vec::<f32>::new().try_reserve_exact(values).is_ok();
    match values.filter(fits) {
        Some(_) => Ok(()),
        None => Err(Error::NoMemory { what, values: values.unwrap_or(usize::MAX) }),
    }
}
