//! One update of proximal policy optimisation, the seam between algorithm and kernels.

mod categorical;
mod dense;
mod gradients;
mod head;
mod normal;
mod shift;
mod sizes;
mod surrogate;

pub use categorical::Categorical;
pub use dense::DensePpo;
pub use normal::{Normal, NormalNetworks, NormalPpo};
pub use shift::PolicyShift;
pub(crate) use sizes::PpoSizes;
pub(crate) use surrogate::clip_coefficient;

use crate::Error;
use crate::error::check_constant;

/// Steps to learn from, borrowed. Row `i` of every field belongs to the same step. Actions consist of `V`s.
#[derive(Debug, Clone, Copy)]
pub struct PpoMinibatch<'a, V = u32> {
    /// (batch, observation length).
    pub observations: &'a [f32],
    /// (batch), or (batch, action length) where an action has several values.
    pub actions: &'a [V],
    /// Logarithms of the probabilities with which the actions were taken; (batch).
    pub log_probabilities: &'a [f32],
    /// As estimated, not normalised; (batch).
    pub advantages: &'a [f32],
    /// Advantage plus value; (batch).
    pub returns: &'a [f32],
    /// What the critic said when the step was taken; (batch).
    pub values: &'a [f32],
}

/// The constants of an update; the defaults are CleanRL's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PpoLossOptions {
    /// How far the ratio of probabilities may leave one, and the value its old one.
    pub clip: f64,
    /// Weight of the entropy, which is to be large.
    pub entropy_weight: f64,
    /// Weight of the critic's loss, which has a half of its own.
    pub value_weight: f64,
    /// Length to which a longer gradient, of both networks together, is cut.
    pub largest_gradient_norm: f64,
    /// Whether advantages are normalised in each minibatch.
    pub normalise_advantages: bool,
    /// Whether the value is kept near its old one, within `clip`.
    pub clip_values: bool,
}

impl Default for PpoLossOptions {
    fn default() -> Self {
        Self {
            clip: 0.2,
            entropy_weight: 0.01,
            value_weight: 0.5,
            largest_gradient_norm: 0.5,
            normalise_advantages: true,
            clip_values: true,
        }
    }
}

impl PpoLossOptions {
    pub(crate) fn check(&self) -> Result<(), Error> {
        const POSITIVE: &str = "a positive number";
        let (least, most) = (f64::MIN_POSITIVE, f64::from(f32::MAX));
        check_constant("the clip", self.clip, least..=most, POSITIVE)?;
        check_constant("the entropy's weight", self.entropy_weight, -most..=most, "a number")?;
        check_constant("the value's weight", self.value_weight, 0.0..=most, "zero or a positive number")?;
        check_constant("the largest gradient norm", self.largest_gradient_norm, least..=most, POSITIVE)
    }
}

/// What an update found before its step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PpoLoss {
    /// `policy - entropy_weight * entropy + value_weight * value`.
    pub total: f32,
    /// The clipped surrogate objective, negated (Schulman et al., 2017, equation 7).
    pub policy: f32,
    /// Half the mean of the larger of the squared errors with and without clipping; without alone where values are not
    /// clipped.
    pub value: f32,
    /// The policy's entropy, in nats.
    pub entropy: f32,
    /// The gradient's length before it was cut.
    pub gradient_norm: f32,
}

/// What the policy says of some observations, borrowed.
#[derive(Debug, Clone, Copy)]
pub struct Evaluation<'a> {
    /// (rows, actions).
    pub probabilities: &'a [f32],
    /// Their logarithms; (rows, actions).
    pub log_probabilities: &'a [f32],
}

/// An actor and a critic that learn by whole updates. [`CategoricalPolicy`] and [`NormalPolicy`] add how they act.
#[auto_impl::auto_impl(Box)]
pub trait PpoUpdate {
    /// What actions consist of: `u32` where one of several is taken, `f32` where they are numbers.
    type Value;

    /// Rows of the minibatches that it was made for.
    fn batch(&self) -> usize;

    /// The name of the first tensor that is not finite, of the actor (`actor.`) or of the critic (`critic.`). None where
    /// all are, and for a library that keeps its parameters to itself.
    fn first_not_finite(&self) -> Option<String> {
        None
    }

    /// Writes the critic's values of observations, (rows, observation length), of which there may be any number, to
    /// `values`, (rows). A whole rollout takes less time at once than step by step.
    ///
    /// # Errors
    ///
    /// [`Error::Len`] where the observations are not one for each value.
    fn values(&mut self, observations: &[f32], values: &mut [f32]) -> Result<(), Error>;

    /// How far the policy has moved from the one that took a minibatch's actions; nothing is learnt.
    ///
    /// # Errors
    ///
    /// Those of [`update`](Self::update).
    fn policy_shift(&mut self, minibatch: PpoMinibatch<'_, Self::Value>) -> Result<PolicyShift, Error>;

    /// One gradient step of both networks with this learning rate (Schulman et al., 2017), after CleanRL: advantages
    /// normalised in the minibatch (sample standard deviation plus 1e-8), clipped value loss, gradient norm cut. The
    /// [options](PpoLossOptions) can turn the first two off.
    ///
    /// # Errors
    ///
    /// [`Error::Len`] where a field has not one row for each of the [`batch`](Self::batch), and [`Error::Action`] where the
    /// policy has no such action.
    fn update(
        &mut self,
        minibatch: PpoMinibatch<'_, Self::Value>,
        learning_rate: f64,
    ) -> Result<PpoLoss, Error>;
}

/// A policy that chooses one of several actions.
#[auto_impl::auto_impl(Box)]
pub trait CategoricalPolicy: PpoUpdate<Value = u32> {
    /// Actions that the policy chooses among.
    fn action_count(&self) -> usize;

    /// The policy's probabilities after (rows, observation length), for one row to as many as it was made for.
    ///
    /// # Errors
    ///
    /// [`Error::Len`] where there are no whole rows, none, or more.
    fn evaluate(&mut self, observations: &[f32]) -> Result<Evaluation<'_>, Error>;
}

/// A policy whose actions are numbers, each normally distributed for itself.
#[auto_impl::auto_impl(Box)]
pub trait NormalPolicy: PpoUpdate<Value = f32> {
    /// Numbers of an action.
    fn action_len(&self) -> usize;

    /// Acts after (rows, observation length), for one row to as many as it was made for: `actions`, (rows, action length),
    /// come as standard normal noise and leave as actions, each the mean plus the standard deviation times its noise. So
    /// zeros leave as means. Actions have no bounds. Writes the logarithms of their densities, (rows).
    ///
    /// # Errors
    ///
    /// [`Error::Len`] where a length is not that of whole rows, one to as many as there can be.
    fn act(
        &mut self,
        observations: &[f32],
        actions: &mut [f32],
        log_probabilities: &mut [f32],
    ) -> Result<(), Error>;
}
