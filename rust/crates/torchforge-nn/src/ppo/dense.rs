//! PPO on this crate's kernels, whichever distribution the actions have.

use std::fmt;

use super::gradients::{PolicyGradients, ValueGradients};
use super::head::Head;
use super::{Categorical, PolicyShift, PpoLoss, PpoLossOptions, PpoMinibatch, PpoSizes};
use super::{clip_coefficient, shift};
use crate::error::check_len;
use crate::learner::{Learner, ShrunkStep};
use crate::mlp::Activations;
use crate::processor::Processor;
use crate::simd::{Simd, SimdPath, Work, dispatch};
use crate::state::{NetworkState, Visit};
use crate::thread_pool::ThreadPool;
use crate::{AdamOptions, Error, Mlp};

/// [`PpoUpdate`](crate::PpoUpdate) on two [`Mlp`]s with [`Adam`](crate::Adam). After it is made, it allocates nothing.
///
/// The actor's outputs are logits of actions, or with [`Normal`](super::Normal) the means of an action's numbers.
pub struct DensePpo<H = Categorical> {
    pub(super) actor: Learner,
    critic: Learner,
    /// The actor's, of the rows after which it acts.
    acting: Activations,
    pub(super) options: PpoLossOptions,
    pub(super) sizes: PpoSizes,
    pub(super) head: H,
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
        [actor, mut critic]: [Mlp; 2],
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
        critic.reserve_evaluation()?;
        Ok(Self {
            acting: actor.activations(rows),
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
    /// Two of them compute actor and critic at the same time. Give no more threads than there are idle processors.
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

    /// Has the actor say what it would do after these observations; returns how many rows they are.
    pub(super) fn evaluate_policy(&mut self, observations: &[f32]) -> Result<usize, Error> {
        let rows = self.sizes.check_rows(observations)?;
        dispatch(self.path, Evaluate { ppo: self, observations, rows });
        Ok(rows)
    }

    /// The critic's values of any number of rows.
    pub(super) fn judge(&mut self, observations: &[f32], values: &mut [f32]) -> Result<(), Error> {
        self.sizes.check_values(observations, values)?;
        self.critic.network.evaluate_on(self.path, observations, values)
    }

    #[inline(always)]
    fn evaluate_with<S: Simd>(&mut self, simd: S, observations: &[f32], rows: usize) {
        let Self { actor, acting, head, pool, .. } = self;
        acting.set_rows(rows);
        actor.network.forward(Processor::new(simd, pool.as_ref()), observations, acting);
        head.evaluate(simd, acting.output(), acting.width(), rows);
    }

    #[inline(always)]
    fn update_with<S: Simd>(
        &mut self,
        simd: S,
        minibatch: &PpoMinibatch<'_, H::Value>,
        learning_rate: Option<f64>,
    ) -> PpoLoss {
        let Self { actor, critic, head, options, pool, .. } = self;
        let processor = Processor::new(simd, pool.as_ref());
        let (policy, value) = processor.join(
            PolicyGradients { learner: actor, head, options, minibatch },
            ValueGradients { learner: critic, options, minibatch },
        );
        let gradient_norm = self.gradient_norm(simd, policy.squares + value.squares);
        if let Some(learning_rate) = learning_rate {
            self.step_cut(simd, gradient_norm, learning_rate);
        }
        let PpoLossOptions { entropy_weight, value_weight, .. } = self.options;
        PpoLoss {
            total: (policy.loss - entropy_weight * policy.entropy + value_weight * value.loss) as f32,
            policy: policy.loss as f32,
            value: value.loss as f32,
            entropy: policy.entropy as f32,
            gradient_norm: gradient_norm as f32,
        }
    }

    /// The length of all gradients together, from the sum of the networks' squares.
    #[inline(always)]
    fn gradient_norm<S: Simd>(&self, simd: S, squares: f64) -> f64 {
        (squares + self.head.squares(simd)).sqrt()
    }

    /// A step with gradients of this length, which are cut first.
    #[inline(always)]
    fn step_cut<S: Simd>(&mut self, simd: S, gradient_norm: f64, learning_rate: f64) {
        let shrink = clip_coefficient(self.options.largest_gradient_norm, gradient_norm) as f32;
        let Self { actor, critic, head, pool, .. } = self;
        let step = |learner| ShrunkStep { learner, shrink, learning_rate };
        Processor::new(simd, pool.as_ref()).join(step(actor), step(critic));
        head.step_shrunk(simd, shrink, learning_rate);
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

            fn values(&mut self, observations: &[f32], values: &mut [f32]) -> Result<(), Error> {
                self.judge(observations, values)
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
}

impl<H: Head> Work for Evaluate<'_, H> {
    type Done = ();

    #[inline(always)]
    fn with<S: Simd>(self, simd: S) {
        self.ppo.evaluate_with(simd, self.observations, self.rows);
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
        let squares = self.ppo.actor.squares(simd) + self.ppo.critic.squares(simd);
        let gradient_norm = self.ppo.gradient_norm(simd, squares);
        self.ppo.step_cut(simd, gradient_norm, self.learning_rate);
        gradient_norm as f32
    }
}
