//! One update of proximal policy optimisation on burn.

use burn::tensor::activation::log_softmax;
use burn::tensor::{Device, Tensor};

use super::network::Learner;
use super::{indices, rows, values};
use crate::backends::{PpoBackend, no_state};
use crate::debug::debug_sizes;
use crate::ppo::{PpoSizes, clip_coefficient};
use crate::{
    Activation, AdamOptions, CategoricalPolicy, Error, Evaluation, Mlp, NetworkState, PolicyShift, PpoLoss,
    PpoLossOptions, PpoMinibatch, PpoUpdate, Visit,
};

/// [`PpoUpdate`] on burn's tensors and its automatic differentiation.
pub struct BurnPpo {
    device: Device,
    actor: Learner,
    critic: Learner,
    options: PpoLossOptions,
    sizes: PpoSizes,
    layouts: [Mlp; 2],
    log_probabilities: Vec<f32>,
    probabilities: Vec<f32>,
}

debug_sizes!(BurnPpo, sizes);

impl PpoBackend for BurnPpo {
    fn from_networks(
        actor: &Mlp,
        critic: &Mlp,
        activation: Activation,
        rows: usize,
        batch: usize,
        options: PpoLossOptions,
        adam: AdamOptions,
    ) -> Result<Self, Error> {
        options.check()?;
        adam.check()?;
        let device = Device::flex();
        Ok(Self {
            sizes: PpoSizes::of(actor, critic, rows, batch)?,
            layouts: [actor.clone(), critic.clone()],
            actor: Learner::new(actor, activation, adam, &device),
            critic: Learner::new(critic, activation, adam, &device),
            device,
            options,
            log_probabilities: Vec::new(),
            probabilities: Vec::new(),
        })
    }

    fn layouts(&self) -> [&Mlp; 2] {
        self.layouts.each_ref()
    }

    fn parameters(&self) -> Result<[Vec<f32>; 2], Error> {
        Ok([self.actor.network.parameters(), self.critic.network.parameters()])
    }

    fn gradients(&self) -> Result<[Vec<f32>; 2], Error> {
        Ok([self.actor.gradients(), self.critic.gradients()])
    }
}

impl PpoUpdate for BurnPpo {
    type Value = u32;

    fn batch(&self) -> usize {
        self.sizes.batch
    }

    fn values(&mut self, observations: &[f32], found: &mut [f32]) -> Result<(), Error> {
        self.sizes.check_values(observations, found)?;
        let observations = rows(observations, self.sizes.observation, &self.device);
        found.copy_from_slice(&values(&self.critic.network.compute(observations)));
        Ok(())
    }

    fn policy_shift(&mut self, minibatch: PpoMinibatch<'_>) -> Result<PolicyShift, Error> {
        self.sizes.check_choices(&minibatch)?;
        let observations = rows(minibatch.observations, self.sizes.observation, &self.device);
        let log_probabilities = log_softmax(self.actor.network.compute(observations), 1);
        let taken = values(&log_probabilities.gather(1, indices(minibatch.actions, &self.device)));
        Ok(PolicyShift::of(&taken, minibatch.log_probabilities, self.options.clip))
    }

    fn update(&mut self, minibatch: PpoMinibatch<'_>, learning_rate: f64) -> Result<PpoLoss, Error> {
        self.sizes.check_choices(&minibatch)?;
        let PpoLossOptions { clip, entropy_weight, value_weight, largest_gradient_norm, .. } = self.options;
        let column = |values| rows(values, 1, &self.device);
        let (actor, critic) = (self.actor.network.recording(), self.critic.network.recording());
        let observations = rows(minibatch.observations, self.sizes.observation, &self.device).autodiff();

        let log_probabilities = log_softmax(actor.compute(observations.clone()), 1);
        let entropies = (log_probabilities.clone().exp() * log_probabilities.clone()).sum_dim(1);
        let entropy = entropies.mean().mul_scalar(-1.0);
        let taken = log_probabilities.gather(1, indices(minibatch.actions, &self.device).autodiff());
        let ratio = (taken - column(minibatch.log_probabilities).autodiff()).exp();
        let advantage = column(minibatch.advantages);
        let advantage = if self.options.normalise_advantages { normalised(advantage) } else { advantage };
        let advantage = advantage.autodiff();
        let clipped = ratio.clone().clamp(1.0 - clip, 1.0 + clip) * advantage.clone();
        let policy = (ratio * advantage).min_pair(clipped).mean().mul_scalar(-1.0);

        let found = critic.compute(observations);
        let old = column(minibatch.values).autodiff();
        let wanted = column(minibatch.returns).autodiff();
        let clipped = old.clone() + (found.clone() - old).clamp(-clip, clip);
        let mut squares = (found - wanted.clone()).square();
        if self.options.clip_values {
            squares = squares.max_pair((clipped - wanted).square());
        }
        let value = squares.mean().mul_scalar(0.5);

        let total = policy.clone() - entropy.clone().mul_scalar(entropy_weight)
            + value.clone().mul_scalar(value_weight);
        let mut gradients = total.backward();
        self.actor.take(&actor, &mut gradients);
        self.critic.take(&critic, &mut gradients);
        let gradient_norm = (self.actor.squares() + self.critic.squares()).sqrt();
        for learner in [&mut self.actor, &mut self.critic] {
            learner.shrink(clip_coefficient(largest_gradient_norm, gradient_norm));
            learner.set_learning_rate(learning_rate);
            learner.step();
        }
        Ok(PpoLoss {
            total: total.into_scalar(),
            policy: policy.into_scalar(),
            value: value.into_scalar(),
            entropy: entropy.into_scalar(),
            gradient_norm: gradient_norm as f32,
        })
    }
}

impl CategoricalPolicy for BurnPpo {
    fn action_count(&self) -> usize {
        self.sizes.outputs
    }

    fn evaluate(&mut self, observations: &[f32]) -> Result<Evaluation<'_>, Error> {
        self.sizes.check_rows(observations)?;
        let observations = rows(observations, self.sizes.observation, &self.device);
        let log_probabilities = log_softmax(self.actor.network.compute(observations), 1);
        self.log_probabilities = values(&log_probabilities);
        self.probabilities = values(&log_probabilities.exp());
        Ok(Evaluation { probabilities: &self.probabilities, log_probabilities: &self.log_probabilities })
    }
}

/// Less their mean, in units of the sample's deviation; (rows, 1).
fn normalised(advantages: Tensor<2>) -> Tensor<2> {
    let centred = advantages.clone() - advantages.clone().mean_dim(0);
    centred / advantages.var(0).sqrt().add_scalar(1e-8)
}

impl NetworkState for BurnPpo {
    fn visit_state(&mut self, _: &mut Visit<'_>) -> Result<(), Error> {
        Err(no_state("burn"))
    }
}
