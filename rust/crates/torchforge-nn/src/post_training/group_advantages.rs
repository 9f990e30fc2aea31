//! Advantages relative to a group of answers (GRPO: Shao et al., 2024, section 4.1.2).

use super::lanes::{LANES, total};
use crate::simd::{Quads, Simd, Work, dispatch};
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
    if !rewards.is_empty() {
        dispatch(SimdPath::detect(), Groups { rewards, group_size, epsilon, advantages });
    }
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
    fn with<S: Simd>(mut self, simd: S) {
        // The usual sizes have loops without a remainder. The order of sums is the same.
        match self.group_size {
            4 => self.normalise(simd, 4),
            8 => self.normalise(simd, 8),
            16 => self.normalise(simd, 16),
            32 => self.normalise(simd, 32),
            size => self.normalise(simd, size),
        }
    }
}

impl Groups<'_> {
    #[inline(always)]
    fn normalise<S: Simd>(&mut self, simd: S, size: usize) {
        let fours =
            if S::IN_A_REGISTER && size.is_multiple_of(4) { self.rewards.len() / (4 * size) } else { 0 };
        let (fours, rest) = self.rewards.split_at(4 * size * fours);
        let (four_advantages, rest_advantages) = self.advantages.split_at_mut(fours.len());
        let outputs = four_advantages.chunks_exact_mut(4 * size);
        for (rewards, advantages) in fours.chunks_exact(4 * size).zip(outputs) {
            if !four_groups(simd, rewards, self.epsilon, advantages) {
                each_group(size, rewards, self.epsilon, advantages);
            }
        }
        each_group(size, rest, self.epsilon, rest_advantages);
    }
}

/// Four groups of a multiple of four rewards, with the operations of each in the order of `normalise`. Means, deviations and
/// scales of the four are computed together, a lane each. By hand the largest case took 12.4 us instead of 22.
///
/// Returns false, and computes nothing, where the inverse of a deviation is infinite, or rewards may be equal.
#[inline(always)]
fn four_groups<S: Quads>(simd: S, rewards: &[f64], epsilon: f64, advantages: &mut [f64]) -> bool {
    let size = rewards.len() / 4;
    let ((rewards, _), (advantages, _)) = (rewards.as_chunks::<4>(), advantages.as_chunks_mut::<4>());
    let (zero, divisor) = (simd.quad(0.0), simd.quad(size as f64));

    let mean = simd.div_quads(sums(simd, rewards, [zero; 4], false), divisor);
    let means = splat(simd, mean);
    let variance = simd.div_quads(sums(simd, rewards, means, true), divisor);
    let root = simd.sqrt_quad(variance);
    let deviation = simd.add_quads(root, simd.quad(epsilon));
    let scale = simd.div_quads(simd.quad(1.0), deviation);
    let (roots, mean) = (values(simd, root), values(simd, mean));
    if values(simd, scale).contains(&f64::INFINITY)
        || (0..4).any(|group| is_rounding(roots[group], mean[group]))
    {
        return false;
    }
    let scales = splat(simd, scale);
    for group in 0..4 {
        let places = group * size / 4..(group + 1) * size / 4;
        for (rewards, advantages) in rewards[places.clone()].iter().zip(&mut advantages[places]) {
            let centred = simd.sub_quads(simd.load_quad(rewards), means[group]);
            simd.store_quad(simd.mul_quads(centred, scales[group]), advantages);
        }
    }
    true
}

/// `sum` of four groups, a lane each: of their rewards, or of the squares of what these are beyond the means.
///
/// No closure takes a vector, because only what is inlined is compiled for the instruction set.
#[inline(always)]
fn sums<S: Quads>(simd: S, rewards: &[[f64; 4]], means: [S::Quad; 4], squared: bool) -> S::Quad {
    let quads = rewards.len() / 4;
    let mut of_groups = [simd.quad(0.0); 4];
    for group in 0..4 {
        let mut halves = [simd.quad(0.0); 2];
        for (place, reward) in rewards[group * quads..(group + 1) * quads].iter().enumerate() {
            let mut term = simd.load_quad(reward);
            if squared {
                let centred = simd.sub_quads(term, means[group]);
                term = simd.mul_quads(centred, centred);
            }
            halves[place % 2] = simd.add_quads(halves[place % 2], term);
        }
        of_groups[group] = simd.add_quads(halves[0], halves[1]);
    }
    // `total`, whose second step adds lanes 2 and 3 to lanes 0 and 1.
    let [first, second, third, fourth] = simd.transpose_quads(of_groups);
    simd.add_quads(simd.add_quads(first, third), simd.add_quads(second, fourth))
}

#[inline(always)]
fn values<S: Quads>(simd: S, quad: S::Quad) -> [f64; 4] {
    let mut values = [0.0; 4];
    simd.store_quad(quad, &mut values);
    values
}

/// Each lane four times.
#[inline(always)]
fn splat<S: Quads>(simd: S, quad: S::Quad) -> [S::Quad; 4] {
    let [first, second, third, fourth] = values(simd, quad);
    [simd.quad(first), simd.quad(second), simd.quad(third), simd.quad(fourth)]
}

#[inline(always)]
fn each_group(size: usize, rewards: &[f64], epsilon: f64, advantages: &mut [f64]) {
    for (rewards, advantages) in rewards.chunks_exact(size).zip(advantages.chunks_exact_mut(size)) {
        normalise(rewards, epsilon, advantages);
    }
}

/// Whether so small a deviation may come from the rounding of the mean alone, of rewards that are equal.
#[inline(always)]
fn is_rounding(deviation: f64, mean: f64) -> bool {
    deviation <= mean.abs() * 1e-14
}

#[inline(always)]
fn normalise(rewards: &[f64], epsilon: f64, advantages: &mut [f64]) {
    let size = rewards.len() as f64;
    let mean = sum(rewards, |reward| reward) / size;
    let variance = sum(rewards, |reward| (reward - mean) * (reward - mean)) / size;
    let root = variance.sqrt();
    if is_rounding(root, mean) && rewards.iter().all(|&reward| reward == rewards[0]) {
        advantages.fill(0.0);
        return;
    }
    let deviation = root + epsilon;
    // Multiplications take a fifth of the time of as many divisions.
    let scale = 1.0 / deviation;
    if scale == f64::INFINITY {
        // Equal rewards have no deviation: 0 over 0 is no number where epsilon is 0.
        let advantage = |reward: f64| if deviation == 0.0 { 0.0 } else { (reward - mean) / deviation };
        advantages.iter_mut().zip(rewards).for_each(|(to, &reward)| *to = advantage(reward));
        return;
    }
    for (to, &reward) in advantages.iter_mut().zip(rewards) {
        *to = (reward - mean) * scale;
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
