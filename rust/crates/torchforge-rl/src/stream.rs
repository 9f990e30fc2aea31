//! One independent stream of random numbers for each purpose.

use rand_core::Rng;
use torchforge_env::{Pcg64, SeedSequence};

/// What an agent needs random numbers for. The environment is no part of it: it is seeded with the seed
/// itself, as Gymnasium's are.
///
/// The streams are NumPy's `default_rng(SeedSequence(seed, spawn_key=(k,)))` with k = 0, 1, ... in the order
/// below, so that one more draw for one purpose changes nothing for the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Initial weights.
    Weights,
    /// Whether to explore, and which action then; the policy's own choice where it is random itself.
    Exploration,
    /// Which transitions to learn from, or in which order.
    Replay,
    /// The noise of actions that are drawn to learn from.
    Noise,
}

impl Stream {
    /// The generator of this stream for an agent's seed.
    pub fn of(self, seed: u64) -> Pcg64 {
        Pcg64::from_sequence(SeedSequence::child(seed, self as u32))
    }
}

/// A uniform whole number below `count`. The bias of a product of 64 bits is below 2^-32 for any count.
pub(crate) fn below(rng: &mut Pcg64, count: u32) -> u32 {
    ((u128::from(rng.next_u64()) * u128::from(count)) >> 64) as u32
}
