//! Generalised advantage estimation (Schulman et al., 2016, equations 11 to 16).
//!
//! `delta_t = r_t + gamma V_{t+1} (1 - d_t) - V_t`, `A_t = delta_t + gamma lambda (1 - d_t) A_{t+1}`;
//! `V_T` is the last value and `A_T` is 0; the return is `A_t + V_t`.
//!
//! Read backwards the advantage is a chain of dependent multiplications and additions: a plain loop waits
//! for each. So it is computed in blocks. Each step is the map `x -> delta + c x`; the map of a whole block is
//! composed ahead of the chain, which then waits for one multiplication and one addition a block. The steps
//! inside are filled in beside it. The order of operations depends on the length alone: the bytes are the same
//! on every machine, and a row of a batch has the bytes that it has alone. They differ from the plain loop's
//! in the last bits.
//!
//! Measured on one core of a shared AMD EPYC (baseline x86-64, 128 to 32,768 steps): the plain loop took 1.5
//! to 1.8 ns a step, blocks of four 1.2 to 1.7, always less beside it. Blocks of eight gained less; maps
//! composed by doubling, and segments scanned in lanes and corrected, were slower than the plain loop.

/// Steps composed at a time.
const BLOCK: usize = 4;

/// Arrays that do not fit together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{what} has {found} values and must have {expected}")]
#[non_exhaustive]
pub struct GaeError {
    /// The array's name.
    pub what: &'static str,
    /// Values needed: those of the rewards, or rows times length.
    pub expected: usize,
    /// Values given.
    pub found: usize,
}

/// The two discounts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GaeOptions {
    /// Discount of a step, usually 0.99.
    pub gamma: f64,
    /// Weight of longer estimates, usually 0.95.
    pub lambda: f64,
}

/// What was collected: (length) for [`gae`], (batch, length) row after row for [`gae_batched`].
#[derive(Debug, Clone, Copy)]
pub struct Trajectory<'a> {
    /// The reward of each step.
    pub rewards: &'a [f64],
    /// The estimated value of the state before each step.
    pub values: &'a [f64],
    /// 1 where the episode ended with this step, otherwise 0.
    pub dones: &'a [f64],
}

impl<'a> Trajectory<'a> {
    fn row(&self, from: usize, length: usize) -> Self {
        let row = |all: &'a [f64]| &all[from..from + length];
        Self { rewards: row(self.rewards), values: row(self.values), dones: row(self.dones) }
    }
}

/// Computes the advantages and returns of one trajectory; all slices have one length.
///
/// `last_value` is the estimated value of the state after the last step. Allocates nothing.
///
/// ```
/// use torchforge_rl::{GaeOptions, Trajectory, gae};
///
/// let trajectory = Trajectory { rewards: &[1.0, 1.0], values: &[0.5, 0.25], dones: &[0.0, 1.0] };
/// let (mut advantages, mut returns) = ([0.0; 2], [0.0; 2]);
/// gae(trajectory, 9.0, GaeOptions { gamma: 0.5, lambda: 1.0 }, &mut advantages, &mut returns)?;
/// assert_eq!(advantages, [1.0, 0.75]); // the episode ended: the last value does not count
/// assert_eq!(returns, [1.5, 1.0]);
/// # Ok::<(), torchforge_rl::GaeError>(())
/// ```
///
/// # Errors
///
/// [`GaeError`] where a slice has another length than the rewards.
pub fn gae(
    trajectory: Trajectory<'_>,
    last_value: f64,
    options: GaeOptions,
    advantages: &mut [f64],
    returns: &mut [f64],
) -> Result<(), GaeError> {
    gae_batched(trajectory, &[last_value], options, advantages, returns)
}

/// Computes the advantages and returns of several trajectories of one length, stored row after row.
///
/// `last_values` has one value a row. Each row's bytes are those that [`gae`] gives for it alone.
///
/// # Errors
///
/// [`GaeError`] where a slice has another length than the rewards, or those make no whole rows.
pub fn gae_batched(
    trajectories: Trajectory<'_>,
    last_values: &[f64],
    options: GaeOptions,
    advantages: &mut [f64],
    returns: &mut [f64],
) -> Result<(), GaeError> {
    let expected = trajectories.rewards.len();
    let lengths = [
        ("values", trajectories.values.len()),
        ("dones", trajectories.dones.len()),
        ("advantages", advantages.len()),
        ("returns", returns.len()),
    ];
    for (what, found) in lengths {
        if found != expected {
            return Err(GaeError { what, expected, found });
        }
    }
    if last_values.is_empty() {
        return if expected == 0 {
            Ok(())
        } else {
            Err(GaeError { what: "last values", expected: 1, found: 0 })
        };
    }
    let length = expected / last_values.len();
    if length * last_values.len() != expected {
        let expected = (length + 1) * last_values.len();
        return Err(GaeError { what: "rewards", expected, found: trajectories.rewards.len() });
    }
    for (row, &last_value) in last_values.iter().enumerate() {
        let out = row * length..(row + 1) * length;
        let trajectory = trajectories.row(out.start, length);
        scan(trajectory, last_value, options, &mut advantages[out.clone()], &mut returns[out]);
    }
    Ok(())
}

fn scan(
    trajectory: Trajectory<'_>,
    last_value: f64,
    GaeOptions { gamma, lambda }: GaeOptions,
    advantages: &mut [f64],
    returns: &mut [f64],
) {
    let Trajectory { rewards, values, dones } = trajectory;
    let decay = gamma * lambda;
    let length = rewards.len();
    // The last step, whose next value lies outside the array, never belongs to a block.
    let blocks = length.saturating_sub(1) / BLOCK * BLOCK;

    let (mut carry, mut next_value) = (0.0, last_value);
    for t in (blocks..length).rev() {
        let alive = 1.0 - dones[t];
        carry = rewards[t] + gamma * next_value * alive - values[t] + decay * alive * carry;
        next_value = values[t];
        advantages[t] = carry;
        returns[t] = carry + values[t];
    }
    for t in (0..blocks).step_by(BLOCK).rev() {
        let steps = t..t + BLOCK;
        let rewards: &[f64; BLOCK] = block(&rewards[steps.clone()]);
        let dones: &[f64; BLOCK] = block(&dones[steps.clone()]);
        let next_values: &[f64; BLOCK] = block(&values[t + 1..=t + BLOCK]);
        let values: &[f64; BLOCK] = block(&values[steps.clone()]);

        let alive: [f64; BLOCK] = std::array::from_fn(|i| 1.0 - dones[i]);
        let delta: [f64; BLOCK] =
            std::array::from_fn(|i| rewards[i] + gamma * next_values[i] * alive[i] - values[i]);
        let factor: [f64; BLOCK] = std::array::from_fn(|i| decay * alive[i]);

        let (mut block_delta, mut block_factor) = (delta[BLOCK - 1], factor[BLOCK - 1]);
        for i in (0..BLOCK - 1).rev() {
            block_delta = delta[i] + factor[i] * block_delta;
            block_factor *= factor[i];
        }
        let mut block_advantages = [block_delta + block_factor * carry; BLOCK];
        for i in (1..BLOCK).rev() {
            carry = delta[i] + factor[i] * carry;
            block_advantages[i] = carry;
        }
        carry = block_advantages[0];

        advantages[steps.clone()].copy_from_slice(&block_advantages);
        let block_returns: [f64; BLOCK] = std::array::from_fn(|i| block_advantages[i] + values[i]);
        returns[steps].copy_from_slice(&block_returns);
    }
}

#[inline(always)]
fn block(slice: &[f64]) -> &[f64; BLOCK] {
    slice.try_into().expect("a slice of one block")
}
