//! What the post-training of language models computes beside its networks: advantages within a group of answers, and
//! how far a policy has moved from its reference.
//!
//! The arithmetic is plain Rust in blocks of a fixed size, compiled once for each instruction set. Sums have a fixed
//! number of lanes and one tree, so every path gives the same bytes.

mod estimators;
mod exp;
mod group_advantages;
mod lanes;
mod sums;
mod token_kl;

pub use estimators::{LogProbability, token_kl_k1, token_kl_k2, token_kl_k3};
pub use group_advantages::group_advantages;
pub use token_kl::token_kl;
