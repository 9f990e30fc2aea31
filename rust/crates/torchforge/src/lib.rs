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
    Dqn, DqnOptions, DqnPolicy, Episode, NormalPpoPolicy, Policy, Ppo, PpoOptions, PpoPolicy, Returns, Sac,
    SacOptions, SacPolicy, TrainingError, evaluate, gae, gae_batched, load_checkpoint, save_checkpoint,
};

/// What the READMEs and this crate's example show, compiled and run as documentation tests.
#[cfg(doctest)]
mod shown {
    #[doc = include_str!("../../torchforge-data/README.md")]
    struct Data;

    #[doc = include_str!("../../torchforge-env/README.md")]
    struct Environments;

    #[doc = include_str!("../../torchforge-nn/README.md")]
    struct Networks;

    #[doc = include_str!("../../torchforge-referee/README.md")]
    struct Referee;

    #[doc = include_str!("../../torchforge-rl/README.md")]
    struct Algorithms;

    #[doc = concat!("```\n", include_str!("../examples/dqn.rs"), "```")]
    struct Dqn;
}
