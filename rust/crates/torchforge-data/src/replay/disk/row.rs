//! One transition in a file: its fields side by side, so that it is read from as few pages as possible.

use std::ops::Range;

use super::super::Transition;
use super::super::rows::Row;
use crate::Value;

/// The step is the last of its task.
const TERMINATED: u32 = 1;
/// The episode was cut off after the step.
const TRUNCATED: u32 = 2;

/// Where in a row each field lies.
#[derive(Debug, Clone)]
pub struct RowLayout {
    action: Range<usize>,
    observation: Range<usize>,
    next_observation: Range<usize>,
    reward: usize,
    flags: usize,
    /// Bytes of a row: a multiple of 8, so that values of any type are aligned.
    pub stride: usize,
}

impl RowLayout {
    /// None where a row would have 2 GiB. Sizes are the bytes of a value.
    pub fn new(
        (observation_len, observation_size): (usize, usize),
        (action_len, action_size): (usize, usize),
    ) -> Option<Self> {
        let bytes = |len: usize, size: usize| len.checked_mul(size).filter(|&bytes| bytes < 1 << 30);
        let (action, observation) =
            (bytes(action_len, action_size)?, bytes(observation_len, observation_size)?);
        let start = action.next_multiple_of(observation_size);
        let next = start + observation;
        let reward = next + observation;
        let stride = (reward + 8).next_multiple_of(8);
        (stride < 1 << 31).then_some(Self {
            action: 0..action,
            observation: start..next,
            next_observation: next..reward,
            reward,
            flags: reward + 4,
            stride,
        })
    }

    pub fn write<A: Value, O: Value>(&self, row: &mut [u8], transition: Transition<'_, A, O>) {
        let flags = if transition.terminated { TERMINATED } else { 0 }
            | if transition.truncated { TRUNCATED } else { 0 };
        row[self.action.clone()].copy_from_slice(bytemuck::cast_slice(transition.action));
        row[self.observation.clone()].copy_from_slice(bytemuck::cast_slice(transition.observation));
        row[self.next_observation.clone()].copy_from_slice(bytemuck::cast_slice(transition.next_observation));
        row[self.reward..self.flags].copy_from_slice(&transition.reward.to_le_bytes());
        row[self.flags..self.flags + 4].copy_from_slice(&flags.to_le_bytes());
    }

    pub fn read<A: Value, O: Value>(&self, row: &[u8], into: Row<'_, A, O>) {
        into.action.copy_from_slice(bytemuck::cast_slice(&row[self.action.clone()]));
        into.observation.copy_from_slice(bytemuck::cast_slice(&row[self.observation.clone()]));
        into.next_observation.copy_from_slice(bytemuck::cast_slice(&row[self.next_observation.clone()]));
        let word = |start: usize| row[start..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        let flag = |flag| f32::from(u8::from(word(self.flags) & flag != 0));
        *into.reward = f32::from_bits(word(self.reward));
        *into.terminated = flag(TERMINATED);
        *into.truncated = flag(TRUNCATED);
    }
}
