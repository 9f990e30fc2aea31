//! One of several actions: the actor's outputs are logits.

use super::dense::ppo_update;
use super::head::{Head, Strip, Weights};
use super::{CategoricalPolicy, DensePpo, Evaluation, PpoLossOptions, PpoSizes};
use crate::error::check_actions;
use crate::kernels::{exp, is_whole, ln};
use crate::simd::{LANES, Simd};
use crate::{AdamOptions, Error, Mlp};

/// The distribution of one of several actions: the softmax of the actor's outputs.
#[derive(Debug)]
pub struct Categorical {
    count: usize,
    /// A minibatch's actions, as the numbers that kernels compare with.
    actions: Vec<f32>,
    log_probabilities: Vec<f32>,
    probabilities: Vec<f32>,
}

impl DensePpo {
    /// Given networks, with fresh moments: up to `rows` observations are evaluated at once, minibatches have `batch` rows.
    ///
    /// # Errors
    ///
    /// [`Error::Len`] where actor and critic do not fit each other, [`Error::Rows`] for minibatches of fewer than two rows or
    /// evaluations of none, [`Error::Constant`] for an option out of its range, and [`Error::NoMemory`].
    pub fn new(
        actor: Mlp,
        critic: Mlp,
        rows: usize,
        batch: usize,
        options: PpoLossOptions,
        adam: AdamOptions,
    ) -> Result<Self, Error> {
        let sizes = PpoSizes::of(&actor, &critic, rows, batch)?;
        let head = || Categorical {
            count: sizes.outputs,
            actions: vec![0.0; batch],
            log_probabilities: vec![0.0; rows * sizes.outputs],
            probabilities: vec![0.0; rows * sizes.outputs],
        };
        Self::with_head([actor, critic], sizes, head, options, adam)
    }

    /// The second half of an update: cuts these gradients of actor and critic together, each laid out as
    /// [`Mlp::parameters`], and takes one step with them. Returns their length before it was cut.
    ///
    /// # Errors
    ///
    /// [`Error::Len`] where they are not as many as the parameters.
    pub fn apply_gradients(
        &mut self,
        actor: &[f32],
        critic: &[f32],
        learning_rate: f64,
    ) -> Result<f32, Error> {
        self.apply(actor, critic, learning_rate)
    }
}

impl CategoricalPolicy for DensePpo {
    fn action_count(&self) -> usize {
        self.head.count
    }

    fn evaluate(&mut self, observations: &[f32]) -> Result<Evaluation<'_>, Error> {
        let rows = self.evaluate_policy(observations)?;
        let policy = ..rows * self.head.count;
        Ok(Evaluation {
            probabilities: &self.head.probabilities[policy],
            log_probabilities: &self.head.log_probabilities[policy],
        })
    }
}

ppo_update!(Categorical, u32);

impl Head for Categorical {
    type Value = u32;
    type Rows<S: Simd> = Rows<S>;
    const ACTOR: &'static str = "actor.";

    fn action_len(&self) -> usize {
        1
    }

    fn check_actions(&self, actions: &[u32]) -> Result<(), Error> {
        check_actions(actions, self.count)
    }

    #[inline(always)]
    fn take<S: Simd>(&mut self, _simd: S, actions: &[u32]) {
        for (number, &action) in self.actions.iter_mut().zip(actions) {
            *number = action as f32;
        }
    }

    #[inline(always)]
    fn rows<S: Simd>(&self, simd: S, strip: Strip<'_>) -> Rows<S> {
        let taken = simd.load_up_to(&self.actions[strip.first..]);
        let softmax = Softmax::new(simd, strip, self.count);
        let (mut entropy, mut logarithm_taken) = (simd.splat(0.0), simd.splat(0.0));
        for action in 0..self.count {
            let (probability, logarithm) = softmax.action(simd, strip, action);
            entropy = simd.sub(entropy, simd.mul(probability, logarithm));
            let chosen = is_whole(simd, taken, action as f32);
            logarithm_taken = simd.select(chosen, logarithm, logarithm_taken);
        }
        Rows { softmax, taken, logarithm_taken, entropy }
    }

    #[inline(always)]
    fn logarithm_and_entropy<S: Simd>(rows: Rows<S>) -> (S::Vector, S::Vector) {
        (rows.logarithm_taken, rows.entropy)
    }

    #[inline(always)]
    fn write_errors<S: Simd>(
        &mut self,
        simd: S,
        rows: Rows<S>,
        weights: Weights<S>,
        strip: Strip<'_>,
        errors: &mut [f32],
    ) {
        let (zero, one) = (simd.splat(0.0), simd.splat(1.0));
        for action in 0..self.count {
            let (probability, logarithm) = rows.softmax.action(simd, strip, action);
            let chosen = simd.select(is_whole(simd, rows.taken, action as f32), one, zero);
            let surrogate = simd.mul(weights.slope, simd.sub(chosen, probability));
            let spread = simd.mul(probability, simd.add(logarithm, rows.entropy));
            let error = simd.mul_add(weights.entropy, spread, surrogate);
            simd.store(error, &mut errors[action * strip.width + strip.first..]);
        }
    }

    #[inline(always)]
    fn evaluate<S: Simd>(&mut self, simd: S, logits: &[f32], width: usize, rows: usize) {
        let actions = self.count;
        for first in (0..rows).step_by(LANES) {
            let strip = Strip { outputs: logits, width, first };
            let softmax = Softmax::new(simd, strip, actions);
            let last = rows.min(first + LANES);
            for action in 0..actions {
                let (probability, logarithm) = softmax.action(simd, strip, action);
                let mut lanes = [[0.0; LANES]; 2];
                simd.store(probability, &mut lanes[0]);
                simd.store(logarithm, &mut lanes[1]);
                for (lane, row) in (first..last).enumerate() {
                    self.probabilities[row * actions + action] = lanes[0][lane];
                    self.log_probabilities[row * actions + action] = lanes[1][lane];
                }
            }
        }
    }
}

/// What sixteen rows of logits say.
#[derive(Clone, Copy)]
pub(crate) struct Rows<S: Simd> {
    softmax: Softmax<S>,
    taken: S::Vector,
    logarithm_taken: S::Vector,
    entropy: S::Vector,
}

/// The normalisation of sixteen rows of logits.
#[derive(Clone, Copy)]
struct Softmax<S: Simd> {
    largest: S::Vector,
    sum: S::Vector,
    logarithm: S::Vector,
}

impl<S: Simd> Softmax<S> {
    #[inline(always)]
    fn new(simd: S, strip: Strip<'_>, actions: usize) -> Self {
        let mut largest = strip.output(simd, 0);
        for action in 1..actions {
            let logit = strip.output(simd, action);
            largest = simd.select(simd.less(largest, logit), logit, largest);
        }
        let mut sum = simd.splat(0.0);
        for action in 0..actions {
            sum = simd.add(sum, exp(simd, simd.sub(strip.output(simd, action), largest)));
        }
        Self { largest, sum, logarithm: ln(simd, sum) }
    }

    /// The probability of an action, and its logarithm.
    #[inline(always)]
    fn action(self, simd: S, strip: Strip<'_>, action: usize) -> (S::Vector, S::Vector) {
        let shifted = simd.sub(strip.output(simd, action), self.largest);
        (simd.div(exp(simd, shifted), self.sum), simd.sub(shifted, self.logarithm))
    }
}
