//! One independent stream of random numbers for each purpose.

use torchforge_env::{Pcg64, SeedSequence};

/// What an agent needs random numbers for. The environment is no part of it: it is seeded with the seed
/// itself, as Gymnasium's are.
///
/// The streams are NumPy's `default_rng(SeedSequence(seed, spawn_key=(k,)))` with k = 0, 1, 2 in the order
/// below, so that one more draw for one purpose changes nothing for the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Initial weights.
    Weights,
    /// Whether to explore, and which action then.
    Exploration,
    /// Which transitions to learn from.
    Replay,
}

impl Stream {
    /// The generator of this stream for an agent's seed.
    pub fn of(self, seed: u64) -> Pcg64 {
        Pcg64::from_sequence(SeedSequence::child(seed, self as u32))
    }
}
