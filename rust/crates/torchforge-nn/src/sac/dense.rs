//! The update of the soft actor-critic on our own kernels.

use super::critic::{Critic, CriticTask, with_both};
use super::policy_sample::{PolicySample, deviation, join};
use super::{
    ActionRange, CriticLoss, LOG_DEVIATION, PolicyLoss, PolicyNoise, SQUASH_EPSILON, SacLossOptions,
    SacMinibatch, SacNetworks, SacSizes, SacUpdate, Temperature,
};
use crate::debug::debug_sizes;
use crate::kernels::{exp, horizontal_sum, row_weights, tanh};
use crate::learner::Learner;
use crate::mlp::{Activations, LayerNames, RowActivations};
use crate::processor::Processor;
use crate::simd::{LANES, Simd, SimdPath, Work, dispatch};
use crate::state::{NetworkState, Numbers, Visit};
use crate::thread_pool::ThreadPool;
use crate::{Adam, Error, TensorWriter};

/// [`SacUpdate`] on [`Mlp`](crate::Mlp)s with [`Adam`]. After it is made, it allocates nothing.
pub struct DenseSac {
    pub(super) actor: Learner,
    pub(super) critics: [Critic; 2],
    log_alpha: [f32; 1],
    alpha: f32,
    alpha_adam: Adam,
    options: SacLossOptions,
    range: ActionRange,
    pub(super) sizes: SacSizes,
    /// Observations, each with its action behind it: what critics see.
    critic_inputs: Vec<f32>,
    /// Next observations, each with the action that follows.
    next_inputs: Vec<f32>,
    policy: PolicySample,
    row_activations: RowActivations,
    actor_activations: Activations,
    pub(super) path: SimdPath,
    pool: Option<ThreadPool>,
}

debug_sizes!(DenseSac, sizes);

impl DenseSac {
    /// Given networks, with fresh moments; minibatches have `batch` rows.
    ///
    /// # Errors
    ///
    /// [`Error::Len`] or [`Error::Unlike`] where networks and range do not fit each other, [`Error::Rows`] where minibatches
    /// have no row, [`Error::Constant`] for an option out of its range, and [`Error::NoMemory`].
    pub fn new(
        networks: SacNetworks,
        range: ActionRange,
        batch: usize,
        options: SacLossOptions,
    ) -> Result<Self, Error> {
        options.check()?;
        let sizes = SacSizes::of(&networks, &range, batch)?;
        for network in [&networks.actor, &networks.critics[0]] {
            network.check_memory(batch)?;
        }
        let SacNetworks { actor, critics, targets, log_alpha } = networks;
        let inputs = (sizes.observation + sizes.action) * batch;
        let [first, second] = critics;
        let [first_target, second_target] = targets;
        let critic = |online, target| Critic::new(online, target, options.critic_adam, batch, sizes.action);
        let alpha = match options.temperature {
            Temperature::Learnt => dispatch(SimdPath::detect(), Exponential(log_alpha)),
            Temperature::Fixed(alpha) => alpha as f32,
        };
        let log_alpha = options.temperature.log_alpha(log_alpha);
        Ok(Self {
            row_activations: actor.row_activations(),
            actor_activations: actor.activations(batch),
            actor: Learner::new(actor, options.policy_adam, batch),
            critics: [critic(first, first_target), critic(second, second_target)],
            log_alpha: [log_alpha],
            alpha,
            alpha_adam: Adam::new(options.critic_adam, 1),
            options,
            range,
            sizes,
            critic_inputs: vec![0.0; inputs],
            next_inputs: vec![0.0; inputs],
            policy: PolicySample::new(sizes.action, batch.next_multiple_of(LANES)),
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

    /// The temperature.
    pub fn alpha(&self) -> f32 {
        self.alpha
    }

    /// Writes all parameters under CleanRL's names, after `prefix`: of the actor, the critics, their targets, and the
    /// logarithm of the temperature.
    pub fn write(&self, prefix: &str, tensors: &mut TensorWriter) {
        let name = |network: &str| format!("{prefix}{network}.");
        let actor = &self.actor.network;
        actor.write_as(&name("actor"), LayerNames::Actor, actor.parameters(), tensors);
        for (number, critic) in (1..).zip(&self.critics) {
            let (online, target) = (&critic.learner.network, &critic.target);
            online.write_as(&name(&format!("qf{number}")), LayerNames::Critic, online.parameters(), tensors);
            target.write_as(
                &name(&format!("qf{number}_target")),
                LayerNames::Critic,
                target.parameters(),
                tensors,
            );
        }
        tensors.push(format!("{prefix}log_alpha"), vec![1], self.log_alpha);
    }

    /// Writes how far the weights of actor and critics reach: see [`Mlp::write_bounds`](crate::Mlp::write_bounds).
    pub fn write_bounds(&self, prefix: &str, tensors: &mut TensorWriter) {
        self.actor.network.write_bounds_as(&format!("{prefix}actor."), LayerNames::Actor, tensors);
        for (number, critic) in (1..).zip(&self.critics) {
            critic.learner.network.write_bounds_as(
                &format!("{prefix}qf{number}."),
                LayerNames::Critic,
                tensors,
            );
        }
    }

    /// Writes the gradients of the last update of the actor, under CleanRL's names, after `prefix`.
    pub fn write_actor_gradients(&self, prefix: &str, tensors: &mut TensorWriter) {
        let name = format!("{prefix}actor.");
        self.actor.network.write_as(&name, LayerNames::Actor, &self.actor.gradients, tensors);
    }

    /// Writes the gradients of the last update of the critics, under CleanRL's names, after `prefix`.
    pub fn write_critic_gradients(&self, prefix: &str, tensors: &mut TensorWriter) {
        for (number, critic) in (1..).zip(&self.critics) {
            let name = format!("{prefix}qf{number}.");
            critic.learner.network.write_as(&name, LayerNames::Critic, &critic.learner.gradients, tensors);
        }
    }

    fn width(&self) -> usize {
        self.actor.activations.width()
    }

    #[inline(always)]
    fn act_with<S: Simd>(&mut self, simd: S, observation: &[f32], noise: &[f32], action: &mut [f32]) {
        self.actor.network.forward_row(simd, observation, &mut self.row_activations);
        let (means, raw) = self.row_activations.output().split_at(action.len());
        for first in (0..action.len()).step_by(LANES) {
            let (_, deviation) = deviation(simd, simd.load_up_to(&raw[first..]));
            let (mean, noise) = (simd.load_up_to(&means[first..]), simd.load_up_to(&noise[first..]));
            let squashed = tanh(simd, simd.mul_add(deviation, noise, mean));
            let (scale, bias) = (&self.range.scale[first..], &self.range.bias[first..]);
            let scaled = simd.mul_add(squashed, simd.load_up_to(scale), simd.load_up_to(bias));
            simd.store_up_to(scaled, &mut action[first..]);
        }
    }

    #[inline(always)]
    fn update_critics_with<S: Simd>(
        &mut self,
        simd: S,
        minibatch: &SacMinibatch<'_>,
        noise: &[f32],
        step: bool,
    ) -> CriticLoss {
        let processor = Processor::new(simd, self.pool.as_ref());
        self.actor.network.forward(processor, minibatch.next_observations, &mut self.actor_activations);
        self.policy.draw(simd, self.actor_activations.output(), noise, &self.range);
        self.policy.join(minibatch.next_observations, self.sizes.observation, &mut self.next_inputs);
        let (len, taken) = (self.sizes.action, minibatch.actions);
        join(minibatch.observations, self.sizes.observation, &mut self.critic_inputs, |row, action| {
            taken[row * len + action]
        });
        let compare = CriticTask::Compare { inputs: &self.critic_inputs, next_inputs: &self.next_inputs };
        with_both(processor, &mut self.critics, compare);
        let loss = self.critic_loss(simd, minibatch);
        let processor = Processor::new(simd, self.pool.as_ref());
        let learn = CriticTask::Learn { inputs: &self.critic_inputs, step };
        with_both(processor, &mut self.critics, learn);
        loss
    }

    /// Writes the gradients with respect to both critics' outputs and returns their losses.
    #[inline(always)]
    fn critic_loss<S: Simd>(&mut self, simd: S, minibatch: &SacMinibatch<'_>) -> CriticLoss {
        let [first_critic, second_critic] = &mut self.critics;
        let (gamma, alpha) = (simd.splat(self.options.gamma as f32), simd.splat(self.alpha));
        let (one, two) = (simd.splat(1.0), simd.splat(2.0));
        let (mut sums, mut value_sums) = ([simd.splat(0.0); 2], [simd.splat(0.0); 2]);
        for first in (0..self.sizes.batch).step_by(LANES) {
            let weight = simd.load(&row_weights(first, self.sizes.batch));
            let next = simd.load(&first_critic.target_activations.output()[first..]);
            let other_next = simd.load(&second_critic.target_activations.output()[first..]);
            let smaller = simd.select(simd.less(other_next, next), other_next, next);
            let log_probability = simd.load(&self.policy.log_probabilities[first..]);
            let soft = simd.sub(smaller, simd.mul(alpha, log_probability));
            let alive = simd.sub(one, simd.load_up_to(&minibatch.terminations[first..]));
            let reward = simd.load_up_to(&minibatch.rewards[first..]);
            let wanted = simd.mul_add(simd.mul(alive, gamma), soft, reward);
            let critics = [&mut *first_critic, &mut *second_critic].into_iter();
            for (critic, (sum, value_sum)) in critics.zip(sums.iter_mut().zip(&mut value_sums)) {
                let value = simd.load(&critic.learner.activations.output()[first..]);
                *value_sum = simd.mul_add(value, weight, *value_sum);
                let difference = simd.sub(value, wanted);
                *sum = simd.mul_add(simd.mul(difference, difference), weight, *sum);
                let error = simd.mul(simd.mul(difference, weight), two);
                simd.store(error, &mut critic.learner.errors.output_mut()[first..]);
            }
        }
        let (one, other) = (horizontal_sum(simd, sums[0]), horizontal_sum(simd, sums[1]));
        CriticLoss {
            sum: (one + other) as f32,
            each: [one as f32, other as f32],
            values: [horizontal_sum(simd, value_sums[0]) as f32, horizontal_sum(simd, value_sums[1]) as f32],
        }
    }

    /// One round. `fresh` says that the actor's activations are those of its parameters and these observations.
    #[inline(always)]
    fn update_policy_with<S: Simd>(
        &mut self,
        simd: S,
        observations: &[f32],
        noise: &[f32],
        fresh: bool,
        step: bool,
    ) -> f32 {
        let (width, actions) = (self.width(), self.sizes.action);
        let processor = Processor::new(simd, self.pool.as_ref());
        if !fresh {
            self.actor.forward(processor, observations);
        }
        self.policy.draw(simd, self.actor.activations.output(), noise, &self.range);
        self.policy.join(observations, self.sizes.observation, &mut self.critic_inputs);
        with_both(processor, &mut self.critics, CriticTask::Judge { inputs: &self.critic_inputs });
        let loss = self.policy_loss(simd);
        let pass_back = CriticTask::PassBack { observation_len: self.sizes.observation };
        with_both(Processor::new(simd, self.pool.as_ref()), &mut self.critics, pass_back);
        let errors = self.actor.errors.output_mut();
        errors.fill(0.0);
        for critic in &self.critics {
            add_in_place(simd, &mut errors[..actions * width], &critic.action_errors);
        }
        self.pass_to_actor(simd);
        let processor = Processor::new(simd, self.pool.as_ref());
        self.actor.backward(processor, observations);
        if step {
            self.actor.step(simd);
        }
        loss
    }

    /// Writes the gradients with respect to both critics' outputs, of which the smaller counts; returns the loss.
    #[inline(always)]
    fn policy_loss<S: Simd>(&mut self, simd: S) -> f32 {
        let [first_critic, second_critic] = &mut self.critics;
        let (zero, half, alpha) = (simd.splat(0.0), simd.splat(0.5), simd.splat(self.alpha));
        let mut sum = zero;
        for first in (0..self.sizes.batch).step_by(LANES) {
            let weight = simd.load(&row_weights(first, self.sizes.batch));
            let value = simd.load(&first_critic.learner.activations.output()[first..]);
            let other_value = simd.load(&second_critic.learner.activations.output()[first..]);
            let smaller = simd.select(simd.less(other_value, value), other_value, value);
            let log_probability = simd.load(&self.policy.log_probabilities[first..]);
            let loss = simd.sub(simd.mul(alpha, log_probability), smaller);
            sum = simd.mul_add(loss, weight, sum);
            let minus = simd.sub(zero, weight);
            let both = simd.mul(minus, half);
            // Where both are equal each has half, as PyTorch's minimum.
            let (less, more) = (simd.less(value, other_value), simd.less(other_value, value));
            let error = simd.select(less, minus, simd.select(more, zero, both));
            let other_error = simd.select(more, minus, simd.select(less, zero, both));
            simd.store(error, &mut first_critic.learner.errors.output_mut()[first..]);
            simd.store(other_error, &mut second_critic.learner.errors.output_mut()[first..]);
        }
        horizontal_sum(simd, sum) as f32
    }

    /// The gradients with respect to the actions, in the place of those by the means, become those with respect to
    /// the actor's outputs.
    #[inline(always)]
    fn pass_to_actor<S: Simd>(&mut self, simd: S) {
        let (width, actions) = (self.width(), self.sizes.action);
        let (lowest, highest) = LOG_DEVIATION;
        let (zero, one, two) = (simd.splat(0.0), simd.splat(1.0), simd.splat(2.0));
        let half_range = simd.splat((0.5 * (highest - lowest)) as f32);
        let (alpha, epsilon) = (simd.splat(self.alpha), simd.splat(SQUASH_EPSILON as f32));
        let (means, raws) = self.actor.errors.output_mut().split_at_mut(actions * width);
        for action in 0..actions {
            let scale = simd.splat(self.range.scale[action]);
            for first in (0..width).step_by(LANES) {
                let place = action * width + first;
                // Of the padding there is no loss.
                let weight = simd.load(&row_weights(first, self.sizes.batch));
                let temperature = simd.mul(alpha, weight);
                let squashed = simd.load(&self.policy.squashed[place..]);
                let slope = simd.mul_add(simd.sub(zero, squashed), squashed, one);
                let scaled = simd.mul(scale, slope);
                // d log pi / dx of the squashing: 2 y (1 - y^2) scale / (scale (1 - y^2) + epsilon).
                let logarithm =
                    simd.div(simd.mul(simd.mul(two, squashed), scaled), simd.add(scaled, epsilon));
                let by_value = simd.mul(simd.load(&means[place..]), scaled);
                let by_mean = simd.mul_add(temperature, logarithm, by_value);
                let by_log_deviation =
                    simd.sub(simd.mul(by_mean, simd.load(&self.policy.deviation[place..])), temperature);
                let raw = simd.load(&self.policy.raw[place..]);
                let by_raw = simd.mul(by_log_deviation, half_range);
                let by_raw = simd.mul(by_raw, simd.mul_add(simd.sub(zero, raw), raw, one));
                simd.store(by_mean, &mut means[place..]);
                simd.store(by_raw, &mut raws[place..]);
            }
        }
    }

    /// The temperature's loss, which is its gradient too. The actor's activations are then those of its parameters.
    #[inline(always)]
    fn temperature_loss<S: Simd>(&mut self, simd: S, observations: &[f32], noise: &[f32]) -> f32 {
        self.actor.forward(Processor::new(simd, self.pool.as_ref()), observations);
        self.policy.draw(simd, self.actor.activations.output(), noise, &self.range);
        let target_entropy = simd.splat(-(self.sizes.action as f32));
        let mut sum = simd.splat(0.0);
        for first in (0..self.sizes.batch).step_by(LANES) {
            let weight = simd.load(&row_weights(first, self.sizes.batch));
            let excess = simd.add(simd.load(&self.policy.log_probabilities[first..]), target_entropy);
            sum = simd.mul_add(excess, weight, sum);
        }
        (-f64::from(self.alpha) * horizontal_sum(simd, sum)) as f32
    }

    /// The temperature's step, with the gradient of its loss by its logarithm.
    #[inline(always)]
    fn step_temperature<S: Simd>(&mut self, simd: S, gradient: f32) {
        self.alpha_adam.step_with(simd, &mut self.log_alpha, &[gradient]);
        self.alpha = exponential(simd, self.log_alpha[0]);
    }

    #[inline(always)]
    fn rounds_with<S: Simd>(&mut self, simd: S, observations: &[f32], noise: PolicyNoise<'_>) -> PolicyLoss {
        let (mut found, mut rounds, mut fresh) = (None, 0, false);
        for (policy_noise, temperature_noise) in self.sizes.rounds(noise) {
            let policy =
                simd.run(PolicyRound { sac: self, observations, noise: policy_noise, fresh, step: true });
            // Nothing moves the actor between a temperature's update and the next round: its activations stay.
            fresh = temperature_noise.is_some();
            let mut temperature = 0.0;
            if let Some(noise) = temperature_noise {
                temperature = simd.run(TemperatureLoss { sac: self, observations, noise });
                self.step_temperature(simd, temperature);
            }
            let alpha = self.alpha;
            rounds += 1;
            found.get_or_insert(PolicyLoss {
                rounds,
                policy,
                temperature,
                alpha,
                temperature_gradient: temperature,
            });
        }
        PolicyLoss { rounds, ..found.expect("checked: at least one round") }
    }
}

impl SacUpdate for DenseSac {
    fn batch(&self) -> usize {
        self.sizes.batch
    }

    fn first_not_finite(&self) -> Option<String> {
        let critic = |(number, critic): (usize, &Critic)| {
            critic.learner.network.first_not_finite_as(&format!("qf{number}."), LayerNames::Critic)
        };
        self.actor
            .network
            .first_not_finite_as("actor.", LayerNames::Actor)
            .or_else(|| (1..).zip(&self.critics).find_map(critic))
            .or_else(|| {
                (self.learns_temperature() && !self.log_alpha[0].is_finite()).then(|| "log_alpha".into())
            })
    }

    fn action_len(&self) -> usize {
        self.sizes.action
    }

    fn learns_temperature(&self) -> bool {
        self.options.temperature == Temperature::Learnt
    }

    fn act(&mut self, observation: &[f32], noise: &[f32], action: &mut [f32]) -> Result<(), Error> {
        self.sizes.check_row(observation, noise, action)?;
        dispatch(self.path, Act { sac: self, observation, noise, action });
        Ok(())
    }

    fn update_critics(&mut self, minibatch: SacMinibatch<'_>, noise: &[f32]) -> Result<CriticLoss, Error> {
        self.sizes.check_minibatch(&minibatch, noise)?;
        Ok(dispatch(self.path, UpdateCritics { sac: self, minibatch: &minibatch, noise, step: true }))
    }

    fn update_policy(&mut self, observations: &[f32], noise: PolicyNoise<'_>) -> Result<PolicyLoss, Error> {
        self.sizes.check_rounds(observations, noise, self.options.temperature)?;
        Ok(dispatch(self.path, UpdatePolicy { sac: self, observations, noise }))
    }

    fn update_targets(&mut self) {
        dispatch(self.path, UpdateTargets { sac: self });
    }
}

impl NetworkState for DenseSac {
    fn visit_state(&mut self, visit: &mut Visit<'_>) -> Result<(), Error> {
        self.actor.visit_state("actor", visit);
        for (number, critic) in (1..).zip(&mut self.critics) {
            critic.learner.visit_state(&format!("qf{number}"), visit);
            visit(&format!("qf{number}_target"), Numbers::F32(critic.target.parameters_mut()));
        }
        visit("log_alpha", Numbers::F32(&mut self.log_alpha));
        self.alpha_adam.visit_state("log_alpha", visit);
        if self.learns_temperature() {
            self.alpha = dispatch(self.path, Exponential(self.log_alpha[0]));
        }
        Ok(())
    }
}

struct Act<'a> {
    sac: &'a mut DenseSac,
    observation: &'a [f32],
    noise: &'a [f32],
    action: &'a mut [f32],
}

impl Work for Act<'_> {
    type Done = ();

    #[inline(always)]
    fn with<S: Simd>(self, simd: S) {
        self.sac.act_with(simd, self.observation, self.noise, self.action);
    }
}

pub(super) struct UpdateCritics<'a> {
    pub(super) sac: &'a mut DenseSac,
    pub(super) minibatch: &'a SacMinibatch<'a>,
    pub(super) noise: &'a [f32],
    /// Whether the gradients are followed by a step.
    pub(super) step: bool,
}

impl Work for UpdateCritics<'_> {
    type Done = CriticLoss;

    #[inline(always)]
    fn with<S: Simd>(self, simd: S) -> CriticLoss {
        self.sac.update_critics_with(simd, self.minibatch, self.noise, self.step)
    }
}

pub(super) struct PolicyRound<'a> {
    pub(super) sac: &'a mut DenseSac,
    pub(super) observations: &'a [f32],
    pub(super) noise: &'a [f32],
    pub(super) fresh: bool,
    pub(super) step: bool,
}

impl Work for PolicyRound<'_> {
    type Done = f32;

    #[inline(always)]
    fn with<S: Simd>(self, simd: S) -> f32 {
        let Self { sac, observations, noise, fresh, step } = self;
        sac.update_policy_with(simd, observations, noise, fresh, step)
    }
}

pub(super) struct TemperatureLoss<'a> {
    pub(super) sac: &'a mut DenseSac,
    pub(super) observations: &'a [f32],
    pub(super) noise: &'a [f32],
}

impl Work for TemperatureLoss<'_> {
    type Done = f32;

    #[inline(always)]
    fn with<S: Simd>(self, simd: S) -> f32 {
        self.sac.temperature_loss(simd, self.observations, self.noise)
    }
}

pub(super) struct TemperatureStep<'a> {
    pub(super) sac: &'a mut DenseSac,
    pub(super) gradient: f32,
}

impl Work for TemperatureStep<'_> {
    type Done = ();

    #[inline(always)]
    fn with<S: Simd>(self, simd: S) {
        self.sac.step_temperature(simd, self.gradient);
    }
}

struct UpdatePolicy<'a> {
    sac: &'a mut DenseSac,
    observations: &'a [f32],
    noise: PolicyNoise<'a>,
}

impl Work for UpdatePolicy<'_> {
    type Done = PolicyLoss;

    #[inline(always)]
    fn with<S: Simd>(self, simd: S) -> PolicyLoss {
        self.sac.rounds_with(simd, self.observations, self.noise)
    }
}

struct UpdateTargets<'a> {
    sac: &'a mut DenseSac,
}

impl Work for UpdateTargets<'_> {
    type Done = ();

    #[inline(always)]
    fn with<S: Simd>(self, simd: S) {
        let DenseSac { critics, pool, options, .. } = self.sac;
        let move_target = CriticTask::MoveTarget { tau: options.tau as f32 };
        with_both(Processor::new(simd, pool.as_ref()), critics, move_target);
    }
}

#[inline(always)]
fn add_in_place<S: Simd>(simd: S, sums: &mut [f32], values: &[f32]) {
    for (sums, values) in sums.chunks_exact_mut(LANES).zip(values.chunks_exact(LANES)) {
        simd.store(simd.add(simd.load(sums), simd.load(values)), sums);
    }
}

/// e^x of one number, as the kernels compute it.
#[inline(always)]
fn exponential<S: Simd>(simd: S, x: f32) -> f32 {
    let mut lanes = [0.0; LANES];
    simd.store(exp(simd, simd.splat(x)), &mut lanes);
    lanes[0]
}

struct Exponential(f32);

impl Work for Exponential {
    type Done = f32;

    #[inline(always)]
    fn with<S: Simd>(self, simd: S) -> f32 {
        exponential(simd, self.0)
    }
}
