//! Small dense networks that give the same bytes on every machine.
//!
//! ```
//! use torchforge_env::Pcg64; // or any other generator of rand_core
//! use torchforge_nn::{AdamOptions, DenseDqn, DqnUpdate, Minibatch};
//!
//! let mut rng = Pcg64::new(1);
//! // Two inputs, eight hidden units, three actions; minibatches of one transition.
//! let mut network = DenseDqn::new(&[2, 8, 3], 1, 0.99, AdamOptions::default(), &mut rng)?;
//! let minibatch = Minibatch {
//!     observations: &[0.1, 0.2],
//!     next_observations: &[0.2, 0.3],
//!     actions: &[2],
//!     rewards: &[1.0],
//!     terminations: &[0.0],
//! };
//! let before = network.update(minibatch)?; // the loss, and one Adam step
//! let after = network.update(minibatch)?;
//! assert!(after < before);
//! # Ok::<(), torchforge_nn::Error>(())
//! ```
//!
//! # The same bytes everywhere
//!
//! The kernels are written once over vectors of sixteen `f32` and compiled for AVX-512, AVX2, NEON and no
//! instruction set at all; [`SimdPath`] is chosen when the program runs. Every output of a matrix product is one
//! chain of fused multiply-adds in a fixed order, every sum over lanes one fixed tree; the rest are additions,
//! products, quotients and square roots, which IEEE 754 rounds exactly. No libm, no minimum or maximum
//! instructions, no estimates. e^x, ln x, tanh, sine and cosine are our own, with errors that are stated and tested.
//! Denormals are set to zero by comparison in [`Adam`], never by a mode of the processor.
//! Threads, where there are several, share out networks and rows of products, never a sum.
//!
//! # The seams
//!
//! [`DqnUpdate`], [`PpoUpdate`] and [`SacUpdate`] are whole updates. An implementation with faster kernels, or one on
//! another library, takes the place of [`DenseDqn`], [`DensePpo`] or [`DenseSac`] behind them:
//! [`DqnBackend`], [`PpoBackend`] and [`SacBackend`] are what the features `candle` and `burn` add such ones of.
//!
//! # What may grow
//!
//! [`Error`] may get more cases. Options are plain structs, made as `AdamOptions { learning_rate, ..Default::default() }`: that
//! goes on working when they get more fields, and a literal that names every field does not.

mod advantages;
mod backends;
mod buffer;
mod debug;
mod dqn;
mod error;
mod kernels;
mod learner;
mod mlp;
mod post_training;
mod ppo;
mod processor;
mod sac;
mod simd;
mod state;
mod tensors;
mod thread_pool;

#[doc(hidden)]
pub use advantages::AdvantageRows;
#[cfg(feature = "burn")]
pub use backends::burn::{BurnDqn, BurnPpo, BurnSac};
#[cfg(feature = "candle")]
pub use backends::candle::{CandleDqn, CandlePpo, CandleSac};
pub use backends::{DqnBackend, PpoBackend, SacBackend};
pub use dqn::{DenseDqn, DqnUpdate, Minibatch, WindowedDqnUpdate, Windows};
pub use error::Error;
pub use kernels::{Adam, AdamOptions, fill_standard_normal};
pub use mlp::{Activation, Mlp};
pub use post_training::{LogProbability, group_advantages, token_kl, token_kl_k1, token_kl_k2, token_kl_k3};
pub use ppo::{
    Categorical, CategoricalPolicy, DensePpo, Evaluation, Normal, NormalNetworks, NormalPolicy, NormalPpo,
    PolicyShift, PpoLoss, PpoLossOptions, PpoMinibatch, PpoUpdate,
};
pub use sac::{
    ActionRange, CriticLoss, DenseSac, PolicyLoss, PolicyNoise, SacLossOptions, SacMinibatch, SacNetworks,
    SacUpdate, Temperature,
};
pub use simd::SimdPath;
pub use state::{NetworkState, Numbers, Visit};
pub use tensors::{Element, TensorFile, TensorReader, TensorWriter};
pub use thread_pool::MOST_THREADS;
