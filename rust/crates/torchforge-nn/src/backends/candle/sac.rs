//! One update of the soft actor-critic on candle.

use candle_core::{Device, Result, Tensor, Var};

use super::adam::Adam;
use super::network::{Learner, Network};
use super::rows;
use crate::backends::sac::Layout;
use crate::backends::{SacBackend, no_state};
use crate::debug::debug_sizes;
use crate::sac::{HALF_LOG_TWO_PI, LOG_DEVIATION, SQUASH_EPSILON};
use crate::{
    ActionRange, Activation, CriticLoss, Error, NetworkState, PolicyLoss, PolicyNoise, SacLossOptions,
    SacMinibatch, SacNetworks, SacUpdate, Temperature, TensorWriter, Visit,
};

/// [`SacUpdate`] on candle's tensors and its automatic differentiation.
pub struct CandleSac {
    actor: Learner,
    critics: [Learner; 2],
    targets: [Network; 2],
    log_alpha: Var,
    alpha_adam: Adam,
    options: SacLossOptions,
    /// (1, action length).
    scale: Tensor,
    bias: Tensor,
    layout: Layout,
}

debug_sizes!(CandleSac, layout.sizes);

/// What a policy draws: actions, (rows, action length), and the logarithms of their densities, (rows, 1).
struct Drawn {
    actions: Tensor,
    log_probabilities: Tensor,
}

impl CandleSac {
    fn new(
        networks: &SacNetworks,
        range: &ActionRange,
        options: SacLossOptions,
        layout: Layout,
    ) -> Result<Self> {
        let critic = |network| Learner::new(network, Activation::Relu, options.critic_adam);
        let target = |network| Network::new(network, Activation::Relu);
        let ([one, other], [one_target, other_target]) = (&networks.critics, &networks.targets);
        let log_alpha = options.temperature.log_alpha(networks.log_alpha);
        let log_alpha = Var::from_slice(&[log_alpha], 1, &Device::Cpu)?;
        Ok(Self {
            actor: Learner::new(&networks.actor, Activation::Relu, options.policy_adam)?,
            critics: [critic(one)?, critic(other)?],
            targets: [target(one_target)?, target(other_target)?],
            alpha_adam: Adam::new(options.critic_adam, std::slice::from_ref(&log_alpha))?,
            log_alpha,
            options,
            scale: rows(&range.scale, range.scale.len())?,
            bias: rows(&range.bias, range.bias.len())?,
            layout,
        })
    }

    fn alpha(&self) -> Result<f32> {
        if let Temperature::Fixed(alpha) = self.options.temperature {
            return Ok(alpha as f32);
        }
        self.log_alpha.as_detached_tensor().exp()?.squeeze(0)?.to_scalar()
    }

    /// Actions of the actor's outputs, (rows, means then raw log deviations), with `noise`, (rows, action length).
    fn draw(&self, outputs: &Tensor, noise: &[f32]) -> Result<Drawn> {
        let actions = self.layout.sizes.action;
        let noise = rows(noise, actions)?;
        let (lowest, highest) = LOG_DEVIATION;
        let half = 0.5 * (highest - lowest);
        let log_deviation = outputs.narrow(1, actions, actions)?.tanh()?.affine(half, lowest + half)?;
        let spread = (log_deviation.exp()? * &noise)?;
        let squashed = (outputs.narrow(1, 0, actions)? + spread)?.tanh()?;
        let slope = squashed.sqr()?.affine(-1.0, 1.0)?.broadcast_mul(&self.scale)?;
        let normal = (noise.sqr()?.affine(-0.5, -HALF_LOG_TWO_PI)? - log_deviation)?;
        let log_probabilities = (normal - slope.affine(1.0, SQUASH_EPSILON)?.log()?)?.sum_keepdim(1)?;
        let actions = squashed.broadcast_mul(&self.scale)?.broadcast_add(&self.bias)?;
        Ok(Drawn { actions, log_probabilities })
    }

    fn choose(&self, observation: &[f32], noise: &[f32]) -> Result<Vec<f32>> {
        let outputs = self.actor.network.compute(&rows(observation, self.layout.sizes.observation)?)?;
        self.draw(&outputs, noise)?.actions.flatten_all()?.to_vec1()
    }

    fn learn_critics(&mut self, minibatch: &SacMinibatch<'_>, noise: &[f32]) -> Result<CriticLoss> {
        let inputs = self.layout.sizes.observation;
        let next = rows(minibatch.next_observations, inputs)?;
        let drawn = self.draw(&self.actor.network.compute(&next)?, noise)?;
        let next = Tensor::cat(&[&next, &drawn.actions], 1)?;
        let [one, other] = &self.targets;
        let smaller = one.compute(&next)?.minimum(&other.compute(&next)?)?;
        let soft = (smaller - drawn.log_probabilities.affine(self.alpha()?.into(), 0.0)?)?;
        let follows = rows(minibatch.terminations, 1)?.affine(-self.options.gamma, self.options.gamma)?;
        let wanted = (rows(minibatch.rewards, 1)? + (follows * soft)?)?;

        let taken = rows(minibatch.actions, self.layout.sizes.action)?;
        let seen = Tensor::cat(&[&rows(minibatch.observations, inputs)?, &taken], 1)?;
        let loss = |critic: &Learner| {
            let values = critic.network.record(&seen)?;
            Ok::<_, candle_core::Error>(((&values - &wanted)?.sqr()?.mean_all()?, values.mean_all()?))
        };
        let [one, other] = &self.critics;
        let ((one, one_value), (other, other_value)) = (loss(one)?, loss(other)?);
        let sum = (&one + &other)?;
        let mut found = sum.backward()?;
        for critic in &mut self.critics {
            critic.take(&mut found)?;
            critic.step()?;
        }
        Ok(CriticLoss {
            sum: sum.to_scalar()?,
            each: [one.to_scalar()?, other.to_scalar()?],
            values: [one_value.to_scalar()?, other_value.to_scalar()?],
        })
    }

    fn learn_policy(&mut self, observations: &[f32], noise: PolicyNoise<'_>) -> Result<PolicyLoss> {
        let observations = rows(observations, self.layout.sizes.observation)?;
        let mut outputs = self.actor.network.record(&observations)?;
        let (mut first, mut rounds) = (None, 0);
        for (policy_noise, temperature_noise) in self.layout.sizes.rounds(noise) {
            let drawn = self.draw(&outputs, policy_noise)?;
            let seen = Tensor::cat(&[&observations, &drawn.actions], 1)?;
            let [one, other] = &self.critics;
            let smaller = one.network.compute(&seen)?.minimum(&other.network.compute(&seen)?)?;
            let loss = (drawn.log_probabilities.affine(self.alpha()?.into(), 0.0)? - smaller)?.mean_all()?;
            self.actor.take(&mut loss.backward()?)?;
            self.actor.step()?;

            // Nothing moves the actor between a temperature's step and the next round: its outputs stay.
            outputs = self.actor.network.record(&observations)?;
            let [temperature, temperature_gradient] = match temperature_noise {
                Some(noise) => self.learn_temperature(&outputs.detach(), noise)?,
                None => [0.0; 2],
            };
            let (policy, alpha) = (loss.to_scalar()?, self.alpha()?);
            rounds += 1;
            first.get_or_insert(PolicyLoss { rounds, policy, temperature, alpha, temperature_gradient });
        }
        Ok(PolicyLoss { rounds, ..first.expect("checked: at least one round") })
    }

    /// Loss and gradient.
    fn learn_temperature(&mut self, outputs: &Tensor, noise: &[f32]) -> Result<[f32; 2]> {
        let log_probabilities = self.draw(outputs, noise)?.log_probabilities;
        let excess = log_probabilities.affine(1.0, -(self.layout.sizes.action as f64))?.mean_all()?;
        let loss = (self.log_alpha.exp()?.squeeze(0)?.neg()? * excess)?;
        let found = loss.backward()?.remove(&self.log_alpha);
        let gradient = found.map_or_else(|| self.log_alpha.zeros_like(), Ok)?.detach();
        self.alpha_adam.step(std::slice::from_ref(&self.log_alpha), std::slice::from_ref(&gradient))?;
        Ok([loss.to_scalar()?, gradient.squeeze(0)?.to_scalar()?])
    }
}

impl SacBackend for CandleSac {
    fn from_networks(
        networks: &SacNetworks,
        range: &ActionRange,
        batch: usize,
        options: SacLossOptions,
    ) -> std::result::Result<Self, Error> {
        options.check()?;
        let layout = Layout::new(networks, range, batch)?;
        Ok(Self::new(networks, range, options, layout)?)
    }

    fn write(&self, prefix: &str, tensors: &mut TensorWriter) -> std::result::Result<(), Error> {
        let [one, other] = &self.critics;
        let [one_target, other_target] = &self.targets;
        self.layout.write_actor(prefix, &self.actor.network.parameters()?, tensors);
        let critics = [one.network.parameters()?, other.network.parameters()?];
        self.layout.write_critics(prefix, "", &critics, tensors);
        let targets = [one_target.parameters()?, other_target.parameters()?];
        self.layout.write_critics(prefix, "_target", &targets, tensors);
        let log_alpha = self.log_alpha.as_detached_tensor().to_vec1::<f32>()?;
        tensors.push(format!("{prefix}log_alpha"), vec![1], log_alpha);
        Ok(())
    }

    fn write_actor_gradients(
        &self,
        prefix: &str,
        tensors: &mut TensorWriter,
    ) -> std::result::Result<(), Error> {
        self.layout.write_actor(prefix, &self.actor.gradients()?, tensors);
        Ok(())
    }

    fn write_critic_gradients(
        &self,
        prefix: &str,
        tensors: &mut TensorWriter,
    ) -> std::result::Result<(), Error> {
        let [one, other] = &self.critics;
        self.layout.write_critics(prefix, "", &[one.gradients()?, other.gradients()?], tensors);
        Ok(())
    }
}

impl SacUpdate for CandleSac {
    fn batch(&self) -> usize {
        self.layout.sizes.batch
    }

    fn action_len(&self) -> usize {
        self.layout.sizes.action
    }

    fn learns_temperature(&self) -> bool {
        self.options.temperature == Temperature::Learnt
    }

    fn act(
        &mut self,
        observation: &[f32],
        noise: &[f32],
        action: &mut [f32],
    ) -> std::result::Result<(), Error> {
        self.layout.sizes.check_row(observation, noise, action)?;
        action.copy_from_slice(&self.choose(observation, noise)?);
        Ok(())
    }

    fn update_critics(
        &mut self,
        minibatch: SacMinibatch<'_>,
        noise: &[f32],
    ) -> std::result::Result<CriticLoss, Error> {
        self.layout.sizes.check_minibatch(&minibatch, noise)?;
        Ok(self.learn_critics(&minibatch, noise)?)
    }

    fn update_policy(
        &mut self,
        observations: &[f32],
        noise: PolicyNoise<'_>,
    ) -> std::result::Result<PolicyLoss, Error> {
        self.layout.sizes.check_rounds(observations, noise, self.options.temperature)?;
        Ok(self.learn_policy(observations, noise)?)
    }

    fn update_targets(&mut self) {
        for (target, critic) in self.targets.iter().zip(&self.critics) {
            let moved = target.approach(&critic.network, self.options.tau);
            moved.expect("networks of equal sizes were checked when they were given");
        }
    }
}

impl NetworkState for CandleSac {
    fn visit_state(&mut self, _: &mut Visit<'_>) -> std::result::Result<(), Error> {
        Err(no_state("candle"))
    }
}
