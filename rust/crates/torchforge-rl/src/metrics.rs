//! What trainings tell whoever asks: see [`Dqn::step_observed`](crate::Dqn::step_observed) and its like.
//!
//! Nothing here is measured, and no time is spent on it, where nobody asks. What is learnt is the same to the byte.

use torchforge_nn::{CriticLoss, PolicyLoss, PolicyShift, PpoLoss};

/// What a gradient step of DQN found before it.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct DqnMetrics {
    /// The environment step that the gradient step belongs to, counted from 0.
    pub environment_step: u64,
    /// Gradient steps taken, this one among them.
    pub gradient_steps: u64,
    /// The probability of a random action in that step.
    pub epsilon: f64,
    /// The mean squared error of the minibatch's values.
    pub loss: f32,
    /// The mean value of the minibatch's actions.
    pub mean_value: f32,
}

/// What an iteration of PPO found.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct PpoMetrics {
    /// Iterations made, this one among them.
    pub iterations: u64,
    /// Environment steps taken, of all environments.
    pub environment_steps: u64,
    /// Gradient steps taken.
    pub gradient_steps: u64,
    /// The learning rate of the iteration.
    pub learning_rate: f64,
    /// Losses, entropy and the gradient's length of the last gradient step.
    pub loss: PpoLoss,
    /// How far the policy had moved before the last gradient step; the clip fraction is the mean over all of the iteration.
    pub shift: PolicyShift,
    /// `1 - var(returns - values) / var(returns)` of the rollout, with the values that its actions were taken by; no number
    /// where all returns are alike.
    pub explained_variance: f32,
}

/// What an update of SAC's critics found before it, and what the policy's last update did.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct SacMetrics {
    /// The environment step that the update belongs to, counted from 0.
    pub environment_step: u64,
    /// Updates of the critics, this one among them.
    pub gradient_steps: u64,
    /// The critics' losses and mean values.
    pub critics: CriticLoss,
    /// The policy's loss, the temperature and its loss: of the policy's last update in this process, none before the first.
    pub policy: Option<PolicyLoss>,
}

/// Who is told, if anybody.
pub(crate) type Observer<'a, M> = Option<&'a mut dyn FnMut(M)>;

/// How far a policy moved in the gradient steps of an iteration.
#[derive(Debug, Default)]
pub(crate) struct Shifts {
    last: Option<PolicyShift>,
    clip_fractions: f64,
    count: u64,
}

impl Shifts {
    pub(crate) fn add(&mut self, shift: PolicyShift) {
        self.last = Some(shift);
        self.clip_fractions += f64::from(shift.clip_fraction);
        self.count += 1;
    }

    /// Whether the last shift is beyond a target.
    pub(crate) fn beyond(&self, target_kl: f64) -> bool {
        self.last.is_some_and(|shift| f64::from(shift.approx_kl) > target_kl)
    }

    /// The last, with the mean clip fraction; none where nothing was added.
    pub(crate) fn summary(&self) -> Option<PolicyShift> {
        let clip_fraction = (self.clip_fractions / self.count as f64) as f32;
        self.last.map(|last| PolicyShift { clip_fraction, ..last })
    }
}

/// Share of the returns' variance that the values explain.
pub(crate) fn explained_variance(values: &[f32], returns: &[f32]) -> f32 {
    let variance = |numbers: &dyn Fn(usize) -> f64| {
        let mean = (0..returns.len()).map(numbers).sum::<f64>() / returns.len() as f64;
        (0..returns.len()).map(|row| (numbers(row) - mean) * (numbers(row) - mean)).sum::<f64>()
    };
    let of_returns = variance(&|row| f64::from(returns[row]));
    let of_errors = variance(&|row| f64::from(returns[row]) - f64::from(values[row]));
    if of_returns == 0.0 { f32::NAN } else { (1.0 - of_errors / of_returns) as f32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_are_the_returns_explain_all_and_their_mean_nothing() {
        let returns = [1.0, 2.0, 6.0];
        assert_eq!(explained_variance(&returns, &returns), 1.0);
        assert_eq!(explained_variance(&[3.0; 3], &returns), 0.0);
        assert!(explained_variance(&[6.0, 2.0, 1.0], &returns) < 0.0);
        assert!(explained_variance(&returns, &[4.0; 3]).is_nan());
    }

    #[test]
    fn shifts_keep_the_last_and_the_mean_clip_fraction() {
        let shift = |approx_kl, clip_fraction| PolicyShift { old_approx_kl: 0.0, approx_kl, clip_fraction };
        let mut shifts = Shifts::default();
        assert!(shifts.summary().is_none() && !shifts.beyond(0.0));
        shifts.add(shift(0.3, 0.0));
        shifts.add(shift(0.1, 0.5));
        assert_eq!(shifts.summary(), Some(shift(0.1, 0.25)));
        assert!(shifts.beyond(0.09) && !shifts.beyond(0.2));
    }
}
