//! One update of proximal policy optimisation, the seam between algorithm and kernels.

mod shift;
mod sizes;

pub use shift::PolicyShift;
pub(crate) use sizes::PpoSizes;

use crate::debug::debug_sizes;
use crate::error::check_len;
use crate::kernels::{exp, horizontal_sum, is_whole, ln, row_weights, sum_of_squares};
use crate::learner::Learner;
use crate::mlp::Activations;
use crate::processor::Processor;
use crate::simd::{LANES, Simd, SimdPath, Work, dispatch};
use crate::state::{NetworkState, Visit};
use crate::thread_pool::ThreadPool;
use crate::{AdamOptions, Error, Mlp};
use shift::MeasureShift;

/// Steps to learn from, borrowed. Row `i` of every field belongs to the same step.
#[derive(Debug, Clone, Copy)]
pub struct PpoMinibatch<'a> {
    /// (batch, observation length).
    pub observations: &'a [f32],
    /// (batch).
    pub actions: &'a [u32],
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

/// What the networks say of some observations, borrowed.
#[derive(Debug, Clone, Copy)]
pub struct Evaluation<'a> {
    /// (rows, actions).
    pub probabilities: &'a [f32],
    /// Their logarithms; (rows, actions).
    pub log_probabilities: &'a [f32],
    /// (rows).
    pub values: &'a [f32],
}

/// An actor and a critic that learn by whole updates.
pub trait PpoUpdate {
    /// Actions that the policy chooses among.
    fn action_count(&self) -> usize;

    /// Rows of the minibatches that it was made for.
    fn batch(&self) -> usize;

    /// The name of the first tensor that is not finite, of the actor (`actor.`) or of the critic (`critic.`). None where
    /// all are, and for a library that keeps its parameters to itself.
    fn first_not_finite(&self) -> Option<String> {
        None
    }

    /// Policy and values of (rows, observation length), for one row to as many as it was made for.
    ///
    /// # Errors
    ///
    /// [`Error::Len`] where there are no whole rows, none, or more.
    fn evaluate(&mut self, observations: &[f32]) -> Result<Evaluation<'_>, Error>;

    /// How far the policy has moved from the one that took a minibatch's actions; nothing is learnt.
    ///
    /// # Errors
    ///
    /// Those of [`update`](Self::update).
    fn policy_shift(&mut self, minibatch: PpoMinibatch<'_>) -> Result<PolicyShift, Error>;

    /// One gradient step of both networks with this learning rate (Schulman et al., 2017), after CleanRL: advantages
    /// normalised in the minibatch (sample standard deviation plus 1e-8), clipped value loss, gradient norm cut. The
    /// [options](PpoLossOptions) can turn the first two off.
    ///
    /// # Errors
    ///
    /// [`Error::Len`] where a field has not one row for each of the [`batch`](Self::batch), and [`Error::Action`] where the
    /// policy has no such action.
    fn update(&mut self, minibatch: PpoMinibatch<'_>, learning_rate: f64) -> Result<PpoLoss, Error>;
}

/// [`PpoUpdate`] on two [`Mlp`]s with [`Adam`](crate::Adam). After it is made, it allocates nothing.
pub struct DensePpo {
    actor: Learner,
    critic: Learner,
    row_activations: [Activations; 2],
    options: PpoLossOptions,
    sizes: PpoSizes,
    actions: Vec<f32>,
    log_probabilities: Vec<f32>,
    probabilities: Vec<f32>,
    values: Vec<f32>,
    path: SimdPath,
    pool: Option<ThreadPool>,
}

debug_sizes!(DensePpo, sizes);

impl DensePpo {
    /// Given networks, with fresh moments: up to `rows` observations are evaluated at once, minibatches have `batch` rows.
    ///
    /// # Errors
    ///
    /// [`Error::Len`] where actor and critic do not fit each other, [`Error::Rows`] for minibatches of fewer than two rows or
    /// evaluations of none, and [`Error::NoMemory`].
    pub fn new(
        actor: Mlp,
        critic: Mlp,
        rows: usize,
        batch: usize,
        options: PpoLossOptions,
        adam: AdamOptions,
    ) -> Result<Self, Error> {
        let sizes = PpoSizes::of(&actor, &critic, rows, batch)?;
        for network in [&actor, &critic] {
            network.check_memory(batch.max(rows))?;
        }
        Ok(Self {
            actions: vec![0.0; batch],
            log_probabilities: vec![0.0; rows * sizes.actions],
            probabilities: vec![0.0; rows * sizes.actions],
            values: vec![0.0; rows],
            row_activations: [actor.activations(rows), critic.activations(rows)],
            actor: Learner::new(actor, adam, batch),
            critic: Learner::new(critic, adam, batch),
            options,
            sizes,
            path: SimdPath::detect(),
            pool: None,
        })
    }

    /// The same networks on this path instead of the fastest; the bytes stay the same.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchPath`] where this processor lacks its instructions.
    pub fn on_path(self, path: SimdPath) -> Result<Self, Error> {
        Ok(Self { path: path.require()?, ..self })
    }

    /// The same networks on so many threads ([`MOST_THREADS`](crate::MOST_THREADS) at most), the caller's among them; the bytes stay the same.
    ///
    /// # Errors
    ///
    /// [`Error::Threads`] for no thread, or where the system starts none.
    pub fn on_threads(self, threads: usize) -> Result<Self, Error> {
        Ok(Self { pool: ThreadPool::new(threads)?, ..self })
    }

    /// The network of the policy: logits of the actions.
    pub fn actor(&self) -> &Mlp {
        &self.actor.network
    }

    /// The network of the values.
    pub fn critic(&self) -> &Mlp {
        &self.critic.network
    }

    /// The actor's gradients of the last update, cut, or of its first half, uncut; laid out as [`Mlp::parameters`].
    pub fn actor_gradients(&self) -> &[f32] {
        &self.actor.gradients
    }

    /// The critic's gradients of the last update, cut, or of its first half, uncut; laid out as [`Mlp::parameters`].
    pub fn critic_gradients(&self) -> &[f32] {
        &self.critic.gradients
    }

    /// The first half of an [update](PpoUpdate::update): returns the losses and leaves their gradients, uncut.
    ///
    /// # Errors
    ///
    /// As of an update.
    pub fn compute_gradients(&mut self, minibatch: PpoMinibatch<'_>) -> Result<PpoLoss, Error> {
        self.sizes.check_minibatch(&minibatch)?;
        Ok(dispatch(self.path, Update { ppo: self, minibatch: &minibatch, learning_rate: None }))
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
        for (learner, gradients) in [(&self.actor, actor), (&self.critic, critic)] {
            check_len("gradients", learner.gradients.len(), gradients.len())?;
        }
        self.actor.gradients.copy_from_slice(actor);
        self.critic.gradients.copy_from_slice(critic);
        Ok(dispatch(self.path, Step { ppo: self, learning_rate }))
    }

    #[inline(always)]
    fn evaluate_with<S: Simd>(&mut self, simd: S, observations: &[f32], rows: usize) {
        let [policy, critic] = &mut self.row_activations;
        policy.set_rows(rows);
        critic.set_rows(rows);
        let width = policy.width();
        let processor = Processor::new(simd, self.pool.as_ref());
        self.actor.network.forward(processor, observations, policy);
        self.critic.network.forward(processor, observations, critic);
        let actions = self.sizes.actions;
        let logits = policy.output();
        self.values[..rows].copy_from_slice(&critic.output()[..rows]);
        for first in (0..rows).step_by(LANES) {
            let softmax = Softmax::new(simd, &logits[first..], actions, width);
            let last = rows.min(first + LANES);
            for action in 0..actions {
                let (probability, logarithm) = softmax.action(simd, &logits[first..], action, width);
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

    #[inline(always)]
    fn update_with<S: Simd>(
        &mut self,
        simd: S,
        minibatch: &PpoMinibatch<'_>,
        learning_rate: Option<f64>,
    ) -> PpoLoss {
        // One network after the other: what one has computed on its way forward is near when it goes back.
        self.actor.forward(Processor::new(simd, self.pool.as_ref()), minibatch.observations);
        let (policy, entropy) = self.policy_loss(simd, minibatch);
        self.actor.backward(Processor::new(simd, self.pool.as_ref()), minibatch.observations);
        self.critic.forward(Processor::new(simd, self.pool.as_ref()), minibatch.observations);
        let value = self.value_loss(simd, minibatch);
        self.critic.backward(Processor::new(simd, self.pool.as_ref()), minibatch.observations);
        let gradient_norm = self.gradient_norm(simd);
        if let Some(learning_rate) = learning_rate {
            self.step_cut(simd, gradient_norm, learning_rate);
        }
        let PpoLossOptions { entropy_weight, value_weight, .. } = self.options;
        PpoLoss {
            total: (policy - entropy_weight * entropy + value_weight * value) as f32,
            policy: policy as f32,
            value: value as f32,
            entropy: entropy as f32,
            gradient_norm: gradient_norm as f32,
        }
    }

    /// The length of both networks' gradients together.
    #[inline(always)]
    fn gradient_norm<S: Simd>(&self, simd: S) -> f64 {
        let squares =
            sum_of_squares(simd, &self.actor.gradients) + sum_of_squares(simd, &self.critic.gradients);
        squares.sqrt()
    }

    /// A step with gradients of this length, which are cut first.
    #[inline(always)]
    fn step_cut<S: Simd>(&mut self, simd: S, gradient_norm: f64, learning_rate: f64) {
        let shrink = clip_coefficient(self.options.largest_gradient_norm, gradient_norm) as f32;
        for learner in [&mut self.actor, &mut self.critic] {
            learner.step_shrunk(simd, shrink, learning_rate);
        }
    }

    /// Actions as the numbers that kernels compare with.
    fn number_actions(&mut self, actions: &[u32]) {
        for (number, &action) in self.actions.iter_mut().zip(actions) {
            *number = action as f32;
        }
    }

    /// What is taken from advantages, and what they are then divided by.
    fn advantage_scale(&self, advantages: &[f32]) -> (f64, f64) {
        if !self.options.normalise_advantages {
            return (0.0, 1.0);
        }
        let (mean, deviation) = mean_and_deviation(advantages);
        (mean, deviation + 1e-8)
    }

    /// Writes the gradient with respect to the logits; returns the policy's loss and its entropy.
    #[inline(always)]
    fn policy_loss<S: Simd>(&mut self, simd: S, minibatch: &PpoMinibatch<'_>) -> (f64, f64) {
        let (actions, width) = (self.sizes.actions, self.actor.activations.width());
        self.number_actions(minibatch.actions);
        let (mean, deviation) = self.advantage_scale(minibatch.advantages);
        let (mean, deviation) = (simd.splat(mean as f32), simd.splat(deviation as f32));
        let clip = self.options.clip;
        let (lowest, highest) = (simd.splat((1.0 - clip) as f32), simd.splat((1.0 + clip) as f32));
        let (zero, one) = (simd.splat(0.0), simd.splat(1.0));
        let logits = self.actor.activations.output();
        let errors = self.actor.errors.output_mut();
        let (mut loss_sum, mut entropy_sum) = (zero, zero);
        for first in (0..self.sizes.batch).step_by(LANES) {
            let weight = simd.load(&row_weights(first, self.sizes.batch));
            let entropy_weight = simd.mul(weight, simd.splat(self.options.entropy_weight as f32));
            let taken = simd.load_up_to(&self.actions[first..]);
            let softmax = Softmax::new(simd, &logits[first..], actions, width);
            let (mut entropy, mut logarithm_taken) = (zero, zero);
            for action in 0..actions {
                let (probability, logarithm) = softmax.action(simd, &logits[first..], action, width);
                entropy = simd.sub(entropy, simd.mul(probability, logarithm));
                let chosen = is_whole(simd, taken, action as f32);
                logarithm_taken = simd.select(chosen, logarithm, logarithm_taken);
            }
            let old = simd.load_up_to(&minibatch.log_probabilities[first..]);
            let ratio = exp(simd, simd.sub(logarithm_taken, old));
            let advantage =
                simd.div(simd.sub(simd.load_up_to(&minibatch.advantages[first..]), mean), deviation);
            let minus_advantage = simd.sub(zero, advantage);
            let (low, high) = (simd.less(ratio, lowest), simd.less(highest, ratio));
            let clipped_ratio = simd.select(low, lowest, simd.select(high, highest, ratio));
            let free = simd.mul(minus_advantage, ratio);
            let clipped = simd.mul(minus_advantage, clipped_ratio);
            let free_is_larger = simd.less(clipped, free);
            let loss = simd.select(free_is_larger, free, clipped);
            // The ratio's derivative by its logarithm is itself; clipped, nothing depends on it.
            let outside = simd.select(free_is_larger, free, zero);
            let slope = simd.select(low, outside, simd.select(high, outside, free));
            let slope = simd.mul(slope, weight);
            loss_sum = simd.mul_add(loss, weight, loss_sum);
            entropy_sum = simd.mul_add(entropy, weight, entropy_sum);
            for action in 0..actions {
                let (probability, logarithm) = softmax.action(simd, &logits[first..], action, width);
                let chosen = simd.select(is_whole(simd, taken, action as f32), one, zero);
                let surrogate = simd.mul(slope, simd.sub(chosen, probability));
                let spread = simd.mul(probability, simd.add(logarithm, entropy));
                let error = simd.mul_add(entropy_weight, spread, surrogate);
                simd.store(error, &mut errors[action * width + first..]);
            }
        }
        (horizontal_sum(simd, loss_sum), horizontal_sum(simd, entropy_sum))
    }

    /// Writes the gradient with respect to the critic's outputs; returns the critic's loss.
    #[inline(always)]
    fn value_loss<S: Simd>(&mut self, simd: S, minibatch: &PpoMinibatch<'_>) -> f64 {
        let clip = self.options.clip as f32;
        let (lowest, highest, half) = (simd.splat(-clip), simd.splat(clip), simd.splat(0.5));
        let (zero, clip_values) = (simd.splat(0.0), self.options.clip_values);
        let values = self.critic.activations.output();
        let errors = self.critic.errors.output_mut();
        let mut sum = zero;
        for first in (0..self.sizes.batch).step_by(LANES) {
            let weight = simd.load(&row_weights(first, self.sizes.batch));
            let value = simd.load(&values[first..]);
            let old = simd.load_up_to(&minibatch.values[first..]);
            let wanted = simd.load_up_to(&minibatch.returns[first..]);
            let change = simd.sub(value, old);
            let (low, high) = (simd.less(change, lowest), simd.less(highest, change));
            let clipped = simd.select(low, lowest, simd.select(high, highest, change));
            let free_error = simd.sub(value, wanted);
            let clipped_error = simd.sub(simd.add(old, clipped), wanted);
            let free_square = simd.mul(free_error, free_error);
            let clipped_square = simd.mul(clipped_error, clipped_error);
            let clipped_slope = simd.select(low, zero, simd.select(high, zero, clipped_error));
            // Where both are equal each has half, as PyTorch's maximum.
            let slope = simd.mul(half, simd.add(free_error, clipped_slope));
            let slope = simd.select(simd.less(clipped_square, free_square), free_error, slope);
            let slope = simd.select(simd.less(free_square, clipped_square), clipped_slope, slope);
            let larger = simd.select(simd.less(clipped_square, free_square), free_square, clipped_square);
            let (square, slope) = if clip_values { (larger, slope) } else { (free_square, free_error) };
            sum = simd.mul_add(square, weight, sum);
            let share = simd.mul(weight, simd.splat(self.options.value_weight as f32));
            simd.store(simd.mul(slope, share), &mut errors[first..]);
        }
        0.5 * horizontal_sum(simd, sum)
    }
}

impl PpoUpdate for DensePpo {
    fn batch(&self) -> usize {
        self.sizes.batch
    }

    fn first_not_finite(&self) -> Option<String> {
        let critic = || self.critic().first_not_finite("critic.");
        self.actor().first_not_finite("actor.").or_else(critic)
    }

    fn action_count(&self) -> usize {
        self.sizes.actions
    }

    fn evaluate(&mut self, observations: &[f32]) -> Result<Evaluation<'_>, Error> {
        let rows = self.sizes.check_rows(observations)?;
        dispatch(self.path, Evaluate { ppo: self, observations, rows });
        let policy = ..rows * self.sizes.actions;
        Ok(Evaluation {
            probabilities: &self.probabilities[policy],
            log_probabilities: &self.log_probabilities[policy],
            values: &self.values[..rows],
        })
    }

    fn policy_shift(&mut self, minibatch: PpoMinibatch<'_>) -> Result<PolicyShift, Error> {
        self.sizes.check_minibatch(&minibatch)?;
        Ok(dispatch(self.path, MeasureShift { ppo: self, minibatch: &minibatch }))
    }

    fn update(&mut self, minibatch: PpoMinibatch<'_>, learning_rate: f64) -> Result<PpoLoss, Error> {
        self.sizes.check_minibatch(&minibatch)?;
        let learning_rate = Some(learning_rate);
        Ok(dispatch(self.path, Update { ppo: self, minibatch: &minibatch, learning_rate }))
    }
}

impl NetworkState for DensePpo {
    fn visit_state(&mut self, visit: &mut Visit<'_>) -> Result<(), Error> {
        self.actor.visit_state("actor", visit);
        self.critic.visit_state("critic", visit);
        Ok(())
    }
}

struct Evaluate<'a> {
    ppo: &'a mut DensePpo,
    observations: &'a [f32],
    rows: usize,
}

impl Work for Evaluate<'_> {
    type Done = ();

    #[inline(always)]
    fn with<S: Simd>(self, simd: S) {
        self.ppo.evaluate_with(simd, self.observations, self.rows);
    }
}

struct Update<'a> {
    ppo: &'a mut DensePpo,
    minibatch: &'a PpoMinibatch<'a>,
    /// Of the step; without one there is none.
    learning_rate: Option<f64>,
}

impl Work for Update<'_> {
    type Done = PpoLoss;

    #[inline(always)]
    fn with<S: Simd>(self, simd: S) -> PpoLoss {
        self.ppo.update_with(simd, self.minibatch, self.learning_rate)
    }
}

struct Step<'a> {
    ppo: &'a mut DensePpo,
    learning_rate: f64,
}

impl Work for Step<'_> {
    type Done = f32;

    #[inline(always)]
    fn with<S: Simd>(self, simd: S) -> f32 {
        let gradient_norm = self.ppo.gradient_norm(simd);
        self.ppo.step_cut(simd, gradient_norm, self.learning_rate);
        gradient_norm as f32
    }
}

/// The normalisation of sixteen rows of logits, of which action `j`'s begin at `j * width`.
#[derive(Clone, Copy)]
struct Softmax<S: Simd> {
    largest: S::Vector,
    sum: S::Vector,
    logarithm: S::Vector,
}

impl<S: Simd> Softmax<S> {
    #[inline(always)]
    fn new(simd: S, logits: &[f32], actions: usize, width: usize) -> Self {
        let mut largest = simd.load(logits);
        for action in 1..actions {
            let logit = simd.load(&logits[action * width..]);
            largest = simd.select(simd.less(largest, logit), logit, largest);
        }
        let mut sum = simd.splat(0.0);
        for action in 0..actions {
            sum = simd.add(sum, exp(simd, simd.sub(simd.load(&logits[action * width..]), largest)));
        }
        Self { largest, sum, logarithm: ln(simd, sum) }
    }

    /// The probability of an action, and its logarithm.
    #[inline(always)]
    fn action(self, simd: S, logits: &[f32], action: usize, width: usize) -> (S::Vector, S::Vector) {
        let shifted = simd.sub(simd.load(&logits[action * width..]), self.largest);
        (simd.div(exp(simd, shifted), self.sum), simd.sub(shifted, self.logarithm))
    }
}

/// What gradients of this length are multiplied by, so that they are no longer than `largest`: as
/// `torch.nn.utils.clip_grad_norm_` has it.
#[inline(always)]
pub(crate) fn clip_coefficient(largest: f64, length: f64) -> f64 {
    let share = largest / (length + 1e-6);
    if share < 1.0 { share } else { 1.0 }
}

/// The mean, and the standard deviation of a sample.
fn mean_and_deviation(values: &[f32]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().copied().map(f64::from).sum::<f64>() / count;
    let squares: f64 =
        values.iter().map(|&value| (f64::from(value) - mean) * (f64::from(value) - mean)).sum();
    (mean, (squares / (count - 1.0)).sqrt())
}
