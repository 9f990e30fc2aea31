//! What an update is made of, written once over [`Simd`](crate::simd::Simd).
//!
//! Batches lie across: a matrix of activations is (features, rows of the batch), padded to whole vectors, so that a
//! vector holds one feature of sixteen transitions, whatever the layer's size. Weights lie as PyTorch's.

mod adam;
mod elementary;
mod mean;
mod multiply;
mod normal;
mod row;
mod sums;
mod transpose;
mod vector;

pub use adam::{Adam, AdamOptions};
pub(crate) use elementary::{exp, is_whole, ln, tanh};
pub(crate) use mean::{row_weights, total};
pub(crate) use multiply::{
    ByColumns, ByRows, Finish, Plain, Relu, Tanh, TanhDerivative, WherePositive, multiply,
};
pub use normal::fill_standard_normal;
pub(crate) use row::multiply_row;
pub(crate) use sums::{products_over_lanes, sums_over_lanes};
pub(crate) use transpose::transpose;
pub(crate) use vector::{approach, scale, sum_of_squares};
