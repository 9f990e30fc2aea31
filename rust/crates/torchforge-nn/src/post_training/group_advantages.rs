//! Advantages relative to a group of answers (GRPO: Shao et al., 2024, section 4.1.2).

use super::lanes::{LANES, total};
use crate::simd::{Simd, Work, dispatch};
use crate::{Error, SimdPath};

/// Each reward less its group's mean, over the group's standard deviation plus `epsilon`.
///
/// The deviation is that of the population: the sum of squares is divided by the group's size.
///
/// # Arguments
///
/// * `rewards`: (groups, `group_size`), group after group.
/// * `epsilon`: what keeps equal rewards from a division by zero; their advantages are then 0.
/// * `advantages`: as many values as there are rewards. All are written.
///
/// # Errors
///
/// [`Error::Rows`] for a group of 0, [`Error::Len`] where the rewards fill no whole number of groups or `advantages` has
/// another length.
///
/// ```
/// let mut advantages = [0.0; 4];
/// torchforge_nn::group_advantages(&[1.0, 3.0, 2.0, 6.0], 2, 0.0, &mut advantages)?;
/// assert_eq!(advantages, [-1.0, 1.0, -1.0, 1.0]);
/// # Ok::<(), torchforge_nn::Error>(())
/// ```
pub fn group_advantages(
    rewards: &[f64],
    group_size: usize,
    epsilon: f64,
    advantages: &mut [f64],
) -> Result<(), Error> {
    if group_size == 0 {
        return Err(Error::Rows { what: "a group", least: 1, found: 0 });
    }
    if !rewards.len().is_multiple_of(group_size) {
        let expected = (rewards.len() / group_size + 1) * group_size;
        return Err(Error::Len { what: "rewards", expected, found: rewards.len() });
    }
    if advantages.len() != rewards.len() {
        return Err(Error::Len { what: "advantages", expected: rewards.len(), found: advantages.len() });
    }
    dispatch(SimdPath::detect(), Groups { rewards, group_size, epsilon, advantages });
    Ok(())
}

struct Groups<'a> {
    rewards: &'a [f64],
    group_size: usize,
    epsilon: f64,
    advantages: &'a mut [f64],
}

impl Work for Groups<'_> {
    type Done = ();

    #[inline(always)]
    fn with<S: Simd>(self, _: S) {
        let groups = self.rewards.chunks_exact(self.group_size);
        let outputs = self.advantages.chunks_exact_mut(self.group_size);
        for (rewards, advantages) in groups.zip(outputs) {
            // The usual sizes have loops without a remainder. The order of sums is the same.
            match self.group_size {
                4 => fixed::<4, 4>(rewards, self.epsilon, advantages),
                8 => fixed::<8, LANES>(rewards, self.epsilon, advantages),
                16 => fixed::<16, LANES>(rewards, self.epsilon, advantages),
                32 => fixed::<32, LANES>(rewards, self.epsilon, advantages),
                _ => normalise::<LANES>(rewards, self.epsilon, advantages),
            }
        }
    }
}

#[inline(always)]
fn fixed<const SIZE: usize, const DIVIDED: usize>(rewards: &[f64], epsilon: f64, advantages: &mut [f64]) {
    let rewards: &[f64; SIZE] = rewards.try_into().expect("a group of this size");
    let advantages: &mut [f64; SIZE] = advantages.try_into().expect("a group of this size");
    normalise::<DIVIDED>(rewards, epsilon, advantages);
}

/// `DIVIDED` rewards are divided together, as a vector. Written one by one, the divisions of unrolled loops stayed single.
#[inline(always)]
fn normalise<const DIVIDED: usize>(rewards: &[f64], epsilon: f64, advantages: &mut [f64]) {
    let size = rewards.len() as f64;
    let mean = sum(rewards, |reward| reward) / size;
    let variance = sum(rewards, |reward| (reward - mean) * (reward - mean)) / size;
    let deviation = variance.sqrt() + epsilon;
    // Equal rewards have no deviation: 0 over 0 is no number where epsilon is 0.
    let advantage = |reward: f64| if deviation == 0.0 { 0.0 } else { (reward - mean) / deviation };
    let (blocks, rest) = rewards.as_chunks::<DIVIDED>();
    let (block_advantages, rest_advantages) = advantages.as_chunks_mut::<DIVIDED>();
    for (advantages, rewards) in block_advantages.iter_mut().zip(blocks) {
        *advantages = rewards.map(advantage);
    }
    for (to, &reward) in rest_advantages.iter_mut().zip(rest) {
        *to = advantage(reward);
    }
}

#[inline(always)]
fn sum(values: &[f64], of: impl Fn(f64) -> f64) -> f64 {
    let mut lanes = [0.0; LANES];
    let (blocks, rest) = values.as_chunks::<LANES>();
    for block in blocks {
        for (lane, &value) in lanes.iter_mut().zip(block) {
            *lane += of(value);
        }
    }
    for (lane, &value) in lanes.iter_mut().zip(rest) {
        *lane += of(value);
    }
    total(lanes)
}
