//! PPO on this crate's kernels, whichever distribution the actions have.

use std::fmt;

use super::head::{Head, Strip, Weights};
use super::surrogate::Surrogate;
use super::{Categorical, PolicyShift, PpoLoss, PpoLossOptions, PpoMinibatch, PpoSizes};
use super::{clip_coefficient, shift};
use crate::error::check_len;
use crate::kernels::{exp, horizontal_sum, row_weights, sum_of_squares};
use crate::learner::Learner;
use crate::mlp::Activations;
use crate::processor::Processor;
use crate::simd::{LANES, Simd, SimdPath, Work, dispatch};
use crate::state::{NetworkState, Visit};
use crate::thread_pool::ThreadPool;
use crate::{AdamOptions, Error, Mlp};

/// [`PpoUpdate`](crate::PpoUpdate) on two [`Mlp`]s with [`Adam`](crate::Adam). After it is made, it allocates nothing.
///
/// The actor's outputs are logits of actions, or with [`Normal`](super::Normal) the means of an action's numbers.
pub struct DensePpo<H = Categorical> {
    pub(super) actor: Learner,
    critic: Learner,
    row_activations: [Activations; 2],
    pub(super) options: PpoLossOptions,
    pub(super) sizes: PpoSizes,
    pub(super) head: H,
    pub(super) values: Vec<f32>,
    path: SimdPath,
    pub(super) pool: Option<ThreadPool>,
}

impl<H> fmt::Debug for DensePpo<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DensePpo").field("sizes", &self.sizes).finish_non_exhaustive()
    }
}

impl<H> DensePpo<H> {
    /// Networks of these sizes, with fresh moments; the head is made once there is memory for so many rows.
    pub(super) fn with_head(
        [actor, critic]: [Mlp; 2],
        sizes: PpoSizes,
        head: impl FnOnce() -> H,
        options: PpoLossOptions,
        adam: AdamOptions,
    ) -> Result<Self, Error> {
        options.check()?;
        adam.check()?;
        let PpoSizes { rows, batch, .. } = sizes;
        for network in [&actor, &critic] {
            network.check_memory(batch.max(rows))?;
        }
        Ok(Self {
            values: vec![0.0; rows],
            row_activations: [actor.activations(rows), critic.activations(rows)],
            actor: Learner::new(actor, adam, batch),
            critic: Learner::new(critic, adam, batch),
            options,
            sizes,
            head: head(),
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

    /// The network of the policy: logits of the actions, or means of their numbers.
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
}

#[expect(private_bounds, reason = "kernels are no interface: the distributions are this crate's own")]
impl<H: Head> DensePpo<H> {
    /// Losses and gradients of a minibatch, and with a learning rate the step.
    pub(super) fn learn(
        &mut self,
        minibatch: &PpoMinibatch<'_, H::Value>,
        learning_rate: Option<f64>,
    ) -> Result<PpoLoss, Error> {
        self.check_minibatch(minibatch)?;
        Ok(dispatch(self.path, Update { ppo: self, minibatch, learning_rate }))
    }

    fn check_minibatch(&self, minibatch: &PpoMinibatch<'_, H::Value>) -> Result<(), Error> {
        self.sizes.check_minibatch(minibatch, self.head.action_len())?;
        self.head.check_actions(minibatch.actions)
    }

    /// How far the policy is from the one that acted.
    pub(super) fn measure_shift(
        &mut self,
        minibatch: &PpoMinibatch<'_, H::Value>,
    ) -> Result<PolicyShift, Error> {
        self.check_minibatch(minibatch)?;
        Ok(dispatch(self.path, shift::MeasureShift { ppo: self, minibatch }))
    }

    /// The name of the first tensor that is not finite.
    pub(super) fn find_not_finite(&self) -> Option<String> {
        let networks = [(self.actor(), H::ACTOR), (self.critic(), "critic.")];
        let network = networks.into_iter().find_map(|(network, name)| network.first_not_finite(name));
        network.or_else(|| self.head.first_not_finite())
    }

    /// A step with gradients of actor and critic that are given, and the head's own; returns their length before it was cut.
    pub(super) fn apply(&mut self, actor: &[f32], critic: &[f32], learning_rate: f64) -> Result<f32, Error> {
        for (learner, gradients) in [(&self.actor, actor), (&self.critic, critic)] {
            check_len("gradients", learner.gradients.len(), gradients.len())?;
        }
        self.actor.gradients.copy_from_slice(actor);
        self.critic.gradients.copy_from_slice(critic);
        Ok(dispatch(self.path, Step { ppo: self, learning_rate }))
    }

    /// Has the networks, or the critic alone, judge these observations; returns how many rows they are.
    pub(super) fn judge(&mut self, observations: &[f32], acting: bool) -> Result<usize, Error> {
        let rows = self.sizes.check_rows(observations)?;
        dispatch(self.path, Evaluate { ppo: self, observations, rows, acting });
        Ok(rows)
    }

    #[inline(always)]
    fn evaluate_with<S: Simd>(&mut self, simd: S, observations: &[f32], rows: usize, acting: bool) {
        let [policy, critic] = &mut self.row_activations;
        policy.set_rows(rows);
        critic.set_rows(rows);
        let processor = Processor::new(simd, self.pool.as_ref());
        if acting {
            self.actor.network.forward(processor, observations, policy);
        }
        self.critic.network.forward(processor, observations, critic);
        self.values[..rows].copy_from_slice(&critic.output()[..rows]);
        if acting {
            self.head.evaluate(simd, policy.output(), policy.width(), rows);
        }
    }

    #[inline(always)]
    fn update_with<S: Simd>(
        &mut self,
        simd: S,
        minibatch: &PpoMinibatch<'_, H::Value>,
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

    /// The length of all gradients together.
    #[inline(always)]
    fn gradient_norm<S: Simd>(&self, simd: S) -> f64 {
        let squares =
            sum_of_squares(simd, &self.actor.gradients) + sum_of_squares(simd, &self.critic.gradients);
        (squares + self.head.squares(simd)).sqrt()
    }

    /// A step with gradients of this length, which are cut first.
    #[inline(always)]
    fn step_cut<S: Simd>(&mut self, simd: S, gradient_norm: f64, learning_rate: f64) {
        let shrink = clip_coefficient(self.options.largest_gradient_norm, gradient_norm) as f32;
        for learner in [&mut self.actor, &mut self.critic] {
            learner.step_shrunk(simd, shrink, learning_rate);
        }
        self.head.step_shrunk(simd, shrink, learning_rate);
    }

    /// Writes the gradient with respect to the actor's outputs; returns the policy's loss and its entropy.
    #[inline(always)]
    fn policy_loss<S: Simd>(&mut self, simd: S, minibatch: &PpoMinibatch<'_, H::Value>) -> (f64, f64) {
        let width = self.actor.activations.width();
        let entropy_weight = simd.splat(self.options.entropy_weight as f32);
        let surrogate = Surrogate::new(simd, &self.options, minibatch.advantages);
        let outputs = self.actor.activations.output();
        let errors = self.actor.errors.output_mut();
        let head = &mut self.head;
        head.take(simd, minibatch.actions);
        let (mut loss_sum, mut entropy_sum) = (simd.splat(0.0), simd.splat(0.0));
        for first in (0..self.sizes.batch).step_by(LANES) {
            let weight = simd.load(&row_weights(first, self.sizes.batch));
            let rows = head.rows(simd, Strip { outputs, width, first });
            let (logarithm, entropy) = H::logarithm_and_entropy(rows);
            let old = simd.load_up_to(&minibatch.log_probabilities[first..]);
            let ratio = exp(simd, simd.sub(logarithm, old));
            let (loss, slope) = surrogate.of(simd, ratio, simd.load_up_to(&minibatch.advantages[first..]));
            loss_sum = simd.mul_add(loss, weight, loss_sum);
            entropy_sum = simd.mul_add(entropy, weight, entropy_sum);
            let weights =
                Weights { slope: simd.mul(slope, weight), entropy: simd.mul(weight, entropy_weight) };
            head.write_errors(simd, rows, weights, Strip { outputs, width, first }, errors);
        }
        head.end_errors(simd);
        (horizontal_sum(simd, loss_sum), horizontal_sum(simd, entropy_sum))
    }

    /// Writes the gradient with respect to the critic's outputs; returns the critic's loss.
    #[inline(always)]
    fn value_loss<S: Simd>(&mut self, simd: S, minibatch: &PpoMinibatch<'_, H::Value>) -> f64 {
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

/// [`PpoUpdate`] with a distribution. For each in words of its own, so that this crate compiles the kernels once, and not
/// each crate that uses them.
macro_rules! ppo_update {
    ($head:ty, $value:ty) => {
        impl DensePpo<$head> {
            /// The first half of an [update](crate::PpoUpdate::update): returns the losses and leaves their gradients, uncut.
            ///
            /// # Errors
            ///
            /// As of an update.
            pub fn compute_gradients(
                &mut self,
                minibatch: crate::PpoMinibatch<'_, $value>,
            ) -> Result<crate::PpoLoss, Error> {
                self.learn(&minibatch, None)
            }
        }

        impl crate::PpoUpdate for DensePpo<$head> {
            type Value = $value;

            fn batch(&self) -> usize {
                self.sizes.batch
            }

            fn first_not_finite(&self) -> Option<String> {
                self.find_not_finite()
            }

            fn policy_shift(
                &mut self,
                minibatch: crate::PpoMinibatch<'_, $value>,
            ) -> Result<crate::PolicyShift, Error> {
                self.measure_shift(&minibatch)
            }

            fn update(
                &mut self,
                minibatch: crate::PpoMinibatch<'_, $value>,
                learning_rate: f64,
            ) -> Result<crate::PpoLoss, Error> {
                self.learn(&minibatch, Some(learning_rate))
            }
        }
    };
}

pub(super) use ppo_update;

impl<H: Head> NetworkState for DensePpo<H> {
    fn visit_state(&mut self, visit: &mut Visit<'_>) -> Result<(), Error> {
        self.actor.visit_state("actor", visit);
        self.critic.visit_state("critic", visit);
        self.head.visit_state(visit);
        Ok(())
    }
}

struct Evaluate<'a, H> {
    ppo: &'a mut DensePpo<H>,
    observations: &'a [f32],
    rows: usize,
    acting: bool,
}

impl<H: Head> Work for Evaluate<'_, H> {
    type Done = ();

    #[inline(always)]
    fn with<S: Simd>(self, simd: S) {
        self.ppo.evaluate_with(simd, self.observations, self.rows, self.acting);
    }
}

struct Update<'a, H: Head> {
    ppo: &'a mut DensePpo<H>,
    minibatch: &'a PpoMinibatch<'a, H::Value>,
    /// Of the step; without one there is none.
    learning_rate: Option<f64>,
}

impl<H: Head> Work for Update<'_, H> {
    type Done = PpoLoss;

    #[inline(always)]
    fn with<S: Simd>(self, simd: S) -> PpoLoss {
        self.ppo.update_with(simd, self.minibatch, self.learning_rate)
    }
}

struct Step<'a, H> {
    ppo: &'a mut DensePpo<H>,
    learning_rate: f64,
}

impl<H: Head> Work for Step<'_, H> {
    type Done = f32;

    #[inline(always)]
    fn with<S: Simd>(self, simd: S) -> f32 {
        let gradient_norm = self.ppo.gradient_norm(simd);
        self.ppo.step_cut(simd, gradient_norm, self.learning_rate);
        gradient_norm as f32
    }
}
