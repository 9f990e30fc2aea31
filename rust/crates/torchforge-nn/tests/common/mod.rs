//! What several tests need, and not each of them all of it.

#![allow(dead_code)]

use std::convert::Infallible;

use rand_core::{Rng, TryRng};
use torchforge_nn::Minibatch;

/// SplitMix64: enough of a generator for a test.
pub struct SplitMix(pub u64);

impl TryRng for SplitMix {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok((self.try_next_u64()? >> 32) as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Ok(z ^ (z >> 31))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        bytes.fill(0);
        Ok(())
    }
}

/// A minibatch's fields.
pub struct Data {
    pub observations: Vec<f32>,
    pub next_observations: Vec<f32>,
    pub actions: Vec<u32>,
    pub rewards: Vec<f32>,
    pub terminations: Vec<f32>,
}

impl Data {
    /// A minibatch in the ranges of CartPole.
    pub fn new(sizes: &[usize], batch: usize, rng: &mut SplitMix) -> Self {
        let actions = sizes[sizes.len() - 1] as u32;
        let mut draw = |len| (0..len).map(|_| (rng.next_u64() >> 40) as f32 / 8_388_608.0 - 1.0).collect();
        Self {
            observations: draw(batch * sizes[0]),
            next_observations: draw(batch * sizes[0]),
            actions: (0..batch as u32).map(|row| row % actions).collect(),
            rewards: draw(batch),
            terminations: (0..batch).map(|row| f32::from(u8::from(row == 4))).collect(),
        }
    }

    /// All of it, borrowed.
    pub fn minibatch(&self) -> Minibatch<'_> {
        Minibatch {
            observations: &self.observations,
            next_observations: &self.next_observations,
            actions: &self.actions,
            rewards: &self.rewards,
            terminations: &self.terminations,
        }
    }
}
