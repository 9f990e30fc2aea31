//! What an update is made of, written once over [`Simd`](crate::simd::Simd).
//!
//! Activations lie as PyTorch's, (rows of the batch, features), with rows padded to whole vectors by zeros. A network's
//! outputs, of which there are few, lie across: (outputs, rows of the batch), so that a loss has a vector of sixteen
//! transitions.

mod adam;
mod dots;
mod elementary;
mod mean;
mod multiply;
mod normal;
mod sparse;
mod strip;
mod sums;
mod transpose;
mod vector;

pub use adam::{Adam, AdamOptions};
pub(crate) use dots::dots;
pub(crate) use elementary::{EXP_INSIDE, exp, exp_inside, is_whole, ln, tanh};
pub(crate) use mean::{horizontal_sum, row_weights};
pub(crate) use multiply::{
    ByColumns, ByRows, Epilogue, Plain, Relu, Tanh, TanhDerivative, WherePositive, multiply,
};
pub use normal::fill_standard_normal;
pub(crate) use sparse::multiply_sparse;
pub(crate) use sums::{sums_of_columns, sums_over_lanes};
pub(crate) use transpose::transpose;
pub(crate) use vector::{approach, scale, sum_of_squares};
