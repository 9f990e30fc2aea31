//! What the actor's outputs mean: a family of distributions.

use crate::Error;
use crate::simd::Simd;
use crate::state::Visit;

/// A family of distributions, with what it learns beside the actor's network.
pub(crate) trait Head: Send {
    /// What actions consist of.
    type Value: Copy + Sync;
    /// What sixteen rows of outputs say of the actions taken, kept from the loss to its gradient.
    type Rows<S: Simd>: Copy;
    /// What the names of the actor's tensors begin with.
    const ACTOR: &'static str;

    /// Values of an action.
    fn action_len(&self) -> usize;

    /// Whether each action is one.
    fn check_actions(&self, actions: &[Self::Value]) -> Result<(), Error>;

    /// Takes up a minibatch's actions, before its [`rows`](Self::rows).
    fn take<S: Simd>(&mut self, simd: S, actions: &[Self::Value]);

    /// What these rows of the minibatch say.
    fn rows<S: Simd>(&self, simd: S, strip: Strip<'_>) -> Self::Rows<S>;

    /// The logarithm of the probability, or density, of the actions taken, and the entropy.
    fn logarithm_and_entropy<S: Simd>(rows: Self::Rows<S>) -> (S::Vector, S::Vector);

    /// Writes the gradient with respect to the outputs of these rows.
    fn write_errors<S: Simd>(
        &mut self,
        simd: S,
        rows: Self::Rows<S>,
        weights: Weights<S>,
        strip: Strip<'_>,
        errors: &mut [f32],
    );

    /// After the errors of all rows.
    fn end_errors<S: Simd>(&mut self, _simd: S) {}

    /// Evaluates so many rows for those who act.
    fn evaluate<S: Simd>(&mut self, simd: S, outputs: &[f32], width: usize, rows: usize);

    /// The sum of the squares of its own gradients.
    fn squares<S: Simd>(&self, _simd: S) -> f64 {
        0.0
    }

    /// A step with its own gradients, made shorter first.
    fn step_shrunk<S: Simd>(&mut self, _simd: S, _shrink: f32, _learning_rate: f64) {}

    /// Shows its own parameters and moments.
    fn visit_state(&mut self, _visit: &mut Visit<'_>) {}

    /// The name of its own parameters where one of them is not finite.
    fn first_not_finite(&self) -> Option<String> {
        None
    }
}

/// Sixteen rows of outputs, which lie across: output `j` of row `i` is at `j * width + i`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Strip<'a> {
    pub(super) outputs: &'a [f32],
    pub(super) width: usize,
    /// The first of the rows.
    pub(super) first: usize,
}

impl Strip<'_> {
    /// An output of these rows.
    #[inline(always)]
    pub(super) fn output<S: Simd>(self, simd: S, number: usize) -> S::Vector {
        simd.load(&self.outputs[number * self.width + self.first..])
    }
}

/// What sixteen rows' errors are made of, each times the row's share of the batch.
#[derive(Clone, Copy)]
pub(crate) struct Weights<S: Simd> {
    /// The loss's derivative by the logarithm of the action's probability.
    pub(super) slope: S::Vector,
    /// The weight of the entropy.
    pub(super) entropy: S::Vector,
}
