//! One update of the soft actor-critic on burn.

use burn::tensor::{Device, Tensor, TensorData};

use super::adam::{Clock, Moments};
use super::network::{Learner, Network};
use super::{rows, values};
use crate::backends::sac::Layout;
use crate::backends::{SacBackend, no_state};
use crate::debug::debug_sizes;
use crate::sac::{HALF_LOG_TWO_PI, LOG_DEVIATION, SQUASH_EPSILON};
use crate::{
    ActionRange, Activation, CriticLoss, Error, NetworkState, PolicyLoss, PolicyNoise, SacLossOptions,
    SacMinibatch, SacNetworks, SacUpdate, Temperature, TensorWriter, Visit,
};

/// [`SacUpdate`] on burn's tensors and its automatic differentiation.
pub struct BurnSac {
    device: Device,
    actor: Learner,
    critics: [Learner; 2],
    targets: [Network; 2],
    log_alpha: Tensor<1>,
    alpha_moments: Moments<1>,
    alpha_clock: Clock,
    options: SacLossOptions,
    /// (1, action length).
    scale: Tensor<2>,
    bias: Tensor<2>,
    layout: Layout,
}

debug_sizes!(BurnSac, layout.sizes);

/// What a policy draws: actions, (rows, action length), and the logarithms of their densities, (rows, 1).
struct Drawn {
    actions: Tensor<2>,
    log_probabilities: Tensor<2>,
}

impl BurnSac {
    fn alpha(&self) -> f32 {
        match self.options.temperature {
            Temperature::Learnt => self.log_alpha.clone().exp().into_scalar(),
            Temperature::Fixed(alpha) => alpha as f32,
        }
    }

    fn rows(&self, values: &[f32], columns: usize) -> Tensor<2> {
        rows(values, columns, &self.device)
    }

    /// Actions of the actor's outputs, (rows, means then raw log deviations), with `noise`, (rows, action length).
    fn draw(&self, outputs: Tensor<2>, noise: &[f32]) -> Drawn {
        let actions = self.layout.sizes.action;
        let beside = |tensor: Tensor<2>| if outputs.is_autodiff() { tensor.autodiff() } else { tensor };
        let noise = beside(self.rows(noise, actions));
        let (scale, bias) = (beside(self.scale.clone()), beside(self.bias.clone()));
        let (lowest, highest) = LOG_DEVIATION;
        let half = 0.5 * (highest - lowest);
        let raw = outputs.clone().narrow(1, actions, actions).tanh();
        let log_deviation = raw.mul_scalar(half).add_scalar(lowest + half);
        let spread = log_deviation.clone().exp() * noise.clone();
        let squashed = (outputs.narrow(1, 0, actions) + spread).tanh();
        let slope = squashed.clone().square().mul_scalar(-1.0).add_scalar(1.0) * scale.clone();
        let normal = noise.square().mul_scalar(-0.5).sub_scalar(HALF_LOG_TWO_PI) - log_deviation;
        let log_probabilities = (normal - slope.add_scalar(SQUASH_EPSILON).log()).sum_dim(1);
        Drawn { actions: squashed * scale + bias, log_probabilities }
    }

    /// One step of the temperature; loss and gradient.
    fn learn_temperature(&mut self, outputs: Tensor<2>, noise: &[f32]) -> [f32; 2] {
        let log_probabilities = self.draw(outputs, noise).log_probabilities;
        let excess = log_probabilities.sub_scalar(self.layout.sizes.action as f64).mean();
        let leaf = self.log_alpha.clone().autodiff().require_grad();
        let loss = leaf.clone().exp().mul_scalar(-1.0) * excess.autodiff();
        let gradient = leaf.grad_remove(&mut loss.backward());
        let gradient = gradient.unwrap_or_else(|| self.log_alpha.zeros_like());
        let step = self.alpha_clock.tick();
        (self.alpha_moments, self.log_alpha) =
            self.alpha_moments.clone().step(self.log_alpha.clone(), gradient.clone(), step);
        [loss.into_scalar(), gradient.into_scalar()]
    }
}

impl SacBackend for BurnSac {
    fn from_networks(
        networks: &SacNetworks,
        range: &ActionRange,
        batch: usize,
        options: SacLossOptions,
    ) -> Result<Self, Error> {
        options.check()?;
        let layout = Layout::new(networks, range, batch)?;
        let device = Device::flex();
        let learner = |network, adam| Learner::new(network, Activation::Relu, adam, &device);
        let log_alpha = options.temperature.log_alpha(networks.log_alpha);
        let log_alpha = Tensor::from_data(TensorData::new(vec![log_alpha], [1]), &device);
        Ok(Self {
            actor: learner(&networks.actor, options.policy_adam),
            critics: networks.critics.each_ref().map(|critic| learner(critic, options.critic_adam)),
            targets: networks.targets.each_ref().map(|each| Network::new(each, Activation::Relu, &device)),
            alpha_moments: Moments::new(&log_alpha),
            alpha_clock: Clock::new(options.critic_adam),
            log_alpha,
            options,
            scale: rows(&range.scale, range.scale.len(), &device),
            bias: rows(&range.bias, range.bias.len(), &device),
            layout,
            device,
        })
    }

    fn write(&self, prefix: &str, tensors: &mut TensorWriter) -> Result<(), Error> {
        self.layout.write_actor(prefix, &self.actor.network.parameters(), tensors);
        let critics = self.critics.each_ref().map(|critic| critic.network.parameters());
        self.layout.write_critics(prefix, "", &critics, tensors);
        self.layout.write_critics(
            prefix,
            "_target",
            &self.targets.each_ref().map(Network::parameters),
            tensors,
        );
        tensors.push(format!("{prefix}log_alpha"), vec![1], values(&self.log_alpha));
        Ok(())
    }

    fn write_actor_gradients(&self, prefix: &str, tensors: &mut TensorWriter) -> Result<(), Error> {
        self.layout.write_actor(prefix, &self.actor.gradients(), tensors);
        Ok(())
    }

    fn write_critic_gradients(&self, prefix: &str, tensors: &mut TensorWriter) -> Result<(), Error> {
        self.layout.write_critics(prefix, "", &self.critics.each_ref().map(Learner::gradients), tensors);
        Ok(())
    }
}

impl SacUpdate for BurnSac {
    fn batch(&self) -> usize {
        self.layout.sizes.batch
    }

    fn action_len(&self) -> usize {
        self.layout.sizes.action
    }

    fn learns_temperature(&self) -> bool {
        self.options.temperature == Temperature::Learnt
    }

    fn act(&mut self, observation: &[f32], noise: &[f32], action: &mut [f32]) -> Result<(), Error> {
        self.layout.sizes.check_row(observation, noise, action)?;
        let outputs = self.actor.network.compute(self.rows(observation, self.layout.sizes.observation));
        action.copy_from_slice(&values(&self.draw(outputs, noise).actions));
        Ok(())
    }

    fn update_critics(&mut self, minibatch: SacMinibatch<'_>, noise: &[f32]) -> Result<CriticLoss, Error> {
        self.layout.sizes.check_minibatch(&minibatch, noise)?;
        let inputs = self.layout.sizes.observation;
        let next = self.rows(minibatch.next_observations, inputs);
        let drawn = self.draw(self.actor.network.compute(next.clone()), noise);
        let next = Tensor::cat(vec![next, drawn.actions], 1);
        let [one, other] = self.targets.each_ref().map(|target| target.compute(next.clone()));
        let soft = one.min_pair(other) - drawn.log_probabilities.mul_scalar(self.alpha());
        let gamma = self.options.gamma;
        let follows = self.rows(minibatch.terminations, 1).mul_scalar(-gamma).add_scalar(gamma);
        let wanted = (self.rows(minibatch.rewards, 1) + follows * soft).autodiff();

        let taken = self.rows(minibatch.actions, self.layout.sizes.action);
        let seen = Tensor::cat(vec![self.rows(minibatch.observations, inputs), taken], 1).autodiff();
        let recording = self.critics.each_ref().map(|critic| critic.network.recording());
        let values = recording.each_ref().map(|critic| critic.compute(seen.clone()));
        let each = values.each_ref().map(|values| (values.clone() - wanted.clone()).square().mean());
        let [one, other] = each.clone();
        let sum = one + other;
        let mut found = sum.backward();
        for (critic, recording) in self.critics.iter_mut().zip(&recording) {
            critic.take(recording, &mut found);
            critic.step();
        }
        Ok(CriticLoss {
            sum: sum.into_scalar(),
            each: each.map(|loss| loss.into_scalar()),
            values: values.map(|values| values.mean().into_scalar()),
        })
    }

    fn update_policy(&mut self, observations: &[f32], noise: PolicyNoise<'_>) -> Result<PolicyLoss, Error> {
        self.layout.sizes.check_rounds(observations, noise, self.options.temperature)?;
        let observations = self.rows(observations, self.layout.sizes.observation).autodiff();
        let critics = self.critics.each_ref().map(|critic| critic.network.constant());
        let mut recording = self.actor.network.recording();
        let mut outputs = recording.compute(observations.clone());
        let (mut first, mut rounds) = (None, 0);
        for (policy_noise, temperature_noise) in self.layout.sizes.rounds(noise) {
            let drawn = self.draw(outputs, policy_noise);
            let seen = Tensor::cat(vec![observations.clone(), drawn.actions], 1);
            let [one, other] = critics.each_ref().map(|critic| critic.compute(seen.clone()));
            let weighted = drawn.log_probabilities.mul_scalar(self.alpha());
            let loss = (weighted - one.min_pair(other)).mean();
            self.actor.take(&recording, &mut loss.backward());
            self.actor.step();

            // Nothing moves the actor between a temperature's step and the next round: its outputs stay.
            recording = self.actor.network.recording();
            outputs = recording.compute(observations.clone());
            let [temperature, temperature_gradient] = temperature_noise
                .map_or([0.0; 2], |noise| self.learn_temperature(outputs.clone().inner(), noise));
            let (policy, alpha) = (loss.into_scalar(), self.alpha());
            rounds += 1;
            first.get_or_insert(PolicyLoss { rounds, policy, temperature, alpha, temperature_gradient });
        }
        Ok(PolicyLoss { rounds, ..first.expect("checked: at least one round") })
    }

    fn update_targets(&mut self) {
        for (target, critic) in self.targets.iter_mut().zip(&self.critics) {
            target.approach(&critic.network, self.options.tau);
        }
    }
}

impl NetworkState for BurnSac {
    fn visit_state(&mut self, _: &mut Visit<'_>) -> Result<(), Error> {
        Err(no_state("burn"))
    }
}
