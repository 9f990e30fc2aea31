//! One update of the soft actor-critic, the seam between algorithm and kernels.

mod critic;
mod dense;
mod halves;
mod policy_sample;
mod sizes;

pub use dense::DenseSac;
pub(crate) use sizes::SacSizes;

use crate::error::check_constant;
use crate::mlp::LayerNames;
use crate::{Activation, AdamOptions, Error, Mlp, TensorReader};

/// Transitions to learn from, borrowed. Row `i` of every field belongs to the same transition.
#[derive(Debug, Clone, Copy)]
pub struct SacMinibatch<'a> {
    /// (batch, observation length).
    pub observations: &'a [f32],
    /// (batch, observation length).
    pub next_observations: &'a [f32],
    /// As taken, within the environment's bounds; (batch, action length).
    pub actions: &'a [f32],
    /// (batch).
    pub rewards: &'a [f32],
    /// 1 where the task ended, so that nothing follows, otherwise 0; (batch).
    pub terminations: &'a [f32],
}

/// Standard normal numbers for rounds of policy updates, borrowed; each (rounds, batch, action length).
#[derive(Debug, Clone, Copy)]
pub struct PolicyNoise<'a> {
    /// For the actions that the policy learns from.
    pub policy: &'a [f32],
    /// For the actions that the temperature learns from; empty where the temperature is fixed.
    pub temperature: &'a [f32],
}

/// The weight of the policy's entropy, alpha.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Temperature {
    /// Learnt from [`SacNetworks::log_alpha`] on, so that the entropy stays near minus the action's length.
    Learnt,
    /// Always this number.
    Fixed(f64),
}

impl Temperature {
    /// The logarithm to write to files, where `learnt` is that of a temperature that is learnt. Nothing is computed with a
    /// fixed one's, so a libm may say it.
    pub(crate) fn log_alpha(self, learnt: f32) -> f32 {
        match self {
            Self::Learnt => learnt,
            Self::Fixed(alpha) => alpha.ln() as f32,
        }
    }
}

/// The constants of an update; the defaults are CleanRL's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SacLossOptions {
    /// Discount of a step.
    pub gamma: f64,
    /// Share of the online critics that the targets take over in a step.
    pub tau: f64,
    /// The policy's Adam.
    pub policy_adam: AdamOptions,
    /// The critics' Adam, and the temperature's.
    pub critic_adam: AdamOptions,
    /// The weight of the policy's entropy.
    pub temperature: Temperature,
}

impl SacLossOptions {
    pub(crate) fn check(&self) -> Result<(), Error> {
        check_constant("gamma", self.gamma, 0.0..=1.0, "a number from 0 to 1")?;
        check_constant("tau", self.tau, f64::MIN_POSITIVE..=1.0, "more than 0 and at most 1")?;
        self.policy_adam.check()?;
        self.critic_adam.check()?;
        match self.temperature {
            Temperature::Learnt => Ok(()),
            Temperature::Fixed(alpha) => {
                check_constant("alpha", alpha, 0.0..=f64::from(f32::MAX), "zero or a positive number")
            }
        }
    }
}

impl Default for SacLossOptions {
    fn default() -> Self {
        let adam = AdamOptions::default();
        Self {
            gamma: 0.99,
            tau: 0.005,
            policy_adam: AdamOptions { learning_rate: 3e-4, ..adam },
            critic_adam: AdamOptions { learning_rate: 1e-3, ..adam },
            temperature: Temperature::Learnt,
        }
    }
}

/// What an update of the critics found before its step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CriticLoss {
    /// The sum of both critics' losses.
    pub sum: f32,
    /// Each critic's mean squared error.
    pub each: [f32; 2],
    /// The mean of each critic's values of the minibatch.
    pub values: [f32; 2],
}

/// What the first round of a policy update found, and how many rounds there were.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PolicyLoss {
    /// Rounds made, counted where they are made.
    pub rounds: u64,
    /// The mean of `alpha log pi(a|s) - min Q(s, a)` before the step.
    pub policy: f32,
    /// The mean of `-alpha (log pi(a|s) + target entropy)` before the temperature's step; zero where it is fixed.
    pub temperature: f32,
    /// The temperature alpha after its step.
    pub alpha: f32,
    /// The gradient of the temperature's loss by its logarithm; zero where it is fixed.
    pub temperature_gradient: f32,
}

/// A policy, two critics, their targets and a temperature that learn by whole updates (Haarnoja et al., 2018).
#[auto_impl::auto_impl(Box)]
pub trait SacUpdate {
    /// Values in an action.
    fn action_len(&self) -> usize;

    /// Rows of the minibatches that it was made for.
    fn batch(&self) -> usize;

    /// Whether the temperature is learnt, so that [`update_policy`](Self::update_policy) takes noise for it.
    fn learns_temperature(&self) -> bool {
        true
    }

    /// The name of the first tensor that is not finite, of the actor (`actor.`) or of a critic (`qf1.`, `qf2.`), or
    /// `log_alpha`. None where all are, and for a library that keeps its parameters to itself.
    fn first_not_finite(&self) -> Option<String> {
        None
    }

    /// Writes the action that the policy takes: `noise` are standard normal numbers, zeros give the policy's middle.
    ///
    /// # Errors
    ///
    /// [`Error::Len`] where observation, noise or action has another length than the policy's.
    fn act(&mut self, observation: &[f32], noise: &[f32], action: &mut [f32]) -> Result<(), Error>;

    /// One gradient step of both critics; returns what it found before. `noise`, (batch, action length), is for the
    /// actions that follow.
    ///
    /// # Errors
    ///
    /// [`Error::Len`] where a field or the noise has not one row for each of the [`batch`](Self::batch).
    fn update_critics(&mut self, minibatch: SacMinibatch<'_>, noise: &[f32]) -> Result<CriticLoss, Error>;

    /// One gradient step of policy, and of a temperature that is learnt, a round, on one minibatch of observations;
    /// returns what the first round found.
    ///
    /// # Errors
    ///
    /// [`Error::Len`] where there is not one observation for each of the [`batch`](Self::batch), or the noise is not of one
    /// round or more.
    fn update_policy(&mut self, observations: &[f32], noise: PolicyNoise<'_>) -> Result<PolicyLoss, Error>;

    /// Moves the target critics towards the online ones.
    fn update_targets(&mut self);
}

/// The smallest and the largest logarithm of the policy's standard deviation.
pub(crate) const LOG_DEVIATION: (f64, f64) = (-5.0, 2.0);
/// Half the logarithm of 2 pi.
pub(crate) const HALF_LOG_TWO_PI: f64 = 0.918_938_533_204_672_8;
/// Keeps the logarithm of the squashing's derivative finite.
pub(crate) const SQUASH_EPSILON: f64 = 1e-6;

/// What the networks begin with.
#[derive(Debug, Clone)]
pub struct SacNetworks {
    /// Observations to the means, then the raw log deviations, of the actions.
    pub actor: Mlp,
    /// Observations and actions to a value.
    pub critics: [Mlp; 2],
    /// Of the critics' sizes.
    pub targets: [Mlp; 2],
    /// The logarithm of the temperature, where it is learnt.
    pub log_alpha: f32,
}

impl SacNetworks {
    /// Reads `actor.fc1.weight`, ..., `qf1.`, `qf2.`, `qf1_target.`, `qf2_target.` and `log_alpha`, as CleanRL names
    /// them.
    ///
    /// # Errors
    ///
    /// [`Error::MissingTensor`], [`Error::TensorKind`] or [`Error::NotFinite`] with the tensor's name, and [`Error::Sizes`].
    pub fn read(actor: &[usize], critic: &[usize], tensors: &TensorReader<'_>) -> Result<Self, Error> {
        let read = |sizes, name: &str, names| Mlp::read_as(sizes, Activation::Relu, name, names, tensors);
        let critic = |name: &str| read(critic, name, LayerNames::Critic);
        Ok(Self {
            actor: read(actor, "actor.", LayerNames::Actor)?,
            critics: [critic("qf1.")?, critic("qf2.")?],
            targets: [critic("qf1_target.")?, critic("qf2_target.")?],
            log_alpha: tensors.finite_f32("log_alpha", &[1])?[0],
        })
    }
}

/// An action's middle and half its range, each (action length).
#[derive(Debug, Clone, PartialEq)]
pub struct ActionRange {
    /// (high + low) / 2.
    pub bias: Vec<f32>,
    /// (high - low) / 2.
    pub scale: Vec<f32>,
}
