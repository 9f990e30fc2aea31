#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

/// Replay buffers.
pub use torchforge_data as data;
/// Environments: Gymnasium's classic control, bit for bit.
pub use torchforge_env as env;
/// Networks, and the updates that algorithms are made of.
pub use torchforge_nn as nn;
/// All of the algorithms' crate; what is used most stands beside it.
pub use torchforge_rl as rl;

pub use torchforge_rl::{
    Dqn, DqnOptions, DqnPolicy, Episode, Policy, Ppo, PpoOptions, PpoPolicy, Returns, Sac, SacOptions,
    SacPolicy, TrainingError, evaluate, gae, gae_batched, load_checkpoint, save_checkpoint,
};
