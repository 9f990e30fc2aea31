//! Generalised advantage estimation (Schulman et al., 2016, equations 11 to 16).
//!
//! `delta_t = r_t + gamma V_{t+1} (1 - d_t) - V_t`, `A_t = delta_t + gamma lambda (1 - d_t) A_{t+1}`;
//! `V_T` is the last value and `A_T` is 0; the return is `A_t + V_t`.
//!
//! `torchforge_nn` has the kernel. The bytes are the same on every machine, and a row of a batch has the bytes that it has
//! alone. They differ from the plain loop's in the last bits.

use torchforge_nn::{AdvantageRows, SimdPath};

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
    let Trajectory { rewards, values, dones } = trajectories;
    let GaeOptions { gamma, lambda } = options;
    AdvantageRows { rewards, values, dones, last_values, gamma, lambda, advantages, returns }
        .compute(SimdPath::detect());
    Ok(())
}
