//! One update of proximal policy optimisation on candle.

use candle_core::{Device, Result, Tensor};

use super::network::Learner;
use super::rows;
use crate::backends::{PpoBackend, no_state};
use crate::debug::debug_sizes;
use crate::ppo::{PpoSizes, clip_coefficient};
use crate::{
    Activation, AdamOptions, CategoricalPolicy, Error, Evaluation, Mlp, NetworkState, PolicyShift, PpoLoss,
    PpoLossOptions, PpoMinibatch, PpoUpdate, Visit,
};

/// [`PpoUpdate`] on candle's tensors and its automatic differentiation.
pub struct CandlePpo {
    actor: Learner,
    critic: Learner,
    options: PpoLossOptions,
    sizes: PpoSizes,
    layouts: [Mlp; 2],
    log_probabilities: Vec<f32>,
    probabilities: Vec<f32>,
}

debug_sizes!(CandlePpo, sizes);

impl CandlePpo {
    fn evaluate_policy(&mut self, observations: &[f32]) -> Result<()> {
        let observations = rows(observations, self.sizes.observation)?;
        let log_probabilities = log_softmax(&self.actor.network.compute(&observations)?)?;
        self.probabilities = log_probabilities.exp()?.flatten_all()?.to_vec1()?;
        self.log_probabilities = log_probabilities.flatten_all()?.to_vec1()?;
        Ok(())
    }

    fn judge(&self, observations: &[f32]) -> Result<Vec<f32>> {
        self.critic.network.compute(&rows(observations, self.sizes.observation)?)?.flatten_all()?.to_vec1()
    }

    fn shift(&self, minibatch: &PpoMinibatch<'_>) -> Result<PolicyShift> {
        let observations = rows(minibatch.observations, self.sizes.observation)?;
        let log_probabilities = log_softmax(&self.actor.network.compute(&observations)?)?;
        let actions = Tensor::from_slice(minibatch.actions, (self.sizes.batch, 1), &Device::Cpu)?;
        let taken: Vec<f32> = log_probabilities.gather(&actions, 1)?.flatten_all()?.to_vec1()?;
        Ok(PolicyShift::of(&taken, minibatch.log_probabilities, self.options.clip))
    }

    fn learn(&mut self, minibatch: &PpoMinibatch<'_>, learning_rate: f64) -> Result<PpoLoss> {
        let PpoLossOptions { clip, entropy_weight, value_weight, largest_gradient_norm, .. } = self.options;
        let observations = rows(minibatch.observations, self.sizes.observation)?;

        let log_probabilities = log_softmax(&self.actor.network.record(&observations)?)?;
        let entropies = (log_probabilities.exp()? * &log_probabilities)?.sum_keepdim(1)?;
        let entropy = entropies.mean_all()?.neg()?;
        let actions = Tensor::from_slice(minibatch.actions, (self.sizes.batch, 1), &Device::Cpu)?;
        let taken = log_probabilities.gather(&actions, 1)?;
        let ratio = (taken - rows(minibatch.log_probabilities, 1)?)?.exp()?;
        let advantage = rows(minibatch.advantages, 1)?;
        let advantage = if self.options.normalise_advantages { normalised(&advantage)? } else { advantage };
        let clipped = (ratio.clamp(1.0 - clip, 1.0 + clip)? * &advantage)?;
        let policy = (ratio * advantage)?.minimum(&clipped)?.mean_all()?.neg()?;

        let values = self.critic.network.record(&observations)?;
        let (old, wanted) = (rows(minibatch.values, 1)?, rows(minibatch.returns, 1)?);
        let clipped = (&old + (&values - &old)?.clamp(-clip, clip)?)?;
        let mut squares = (values - &wanted)?.sqr()?;
        if self.options.clip_values {
            squares = squares.maximum(&(clipped - &wanted)?.sqr()?)?;
        }
        let value = squares.mean_all()?.affine(0.5, 0.0)?;

        let total = ((&policy - entropy.affine(entropy_weight, 0.0)?)? + value.affine(value_weight, 0.0)?)?;
        let mut found = total.backward()?;
        self.actor.take(&mut found)?;
        self.critic.take(&mut found)?;
        let gradient_norm = (self.actor.squares()? + self.critic.squares()?).sqrt();
        for learner in [&mut self.actor, &mut self.critic] {
            learner.shrink(clip_coefficient(largest_gradient_norm, gradient_norm))?;
            learner.set_learning_rate(learning_rate);
            learner.step()?;
        }
        Ok(PpoLoss {
            total: total.to_scalar()?,
            policy: policy.to_scalar()?,
            value: value.to_scalar()?,
            entropy: entropy.to_scalar()?,
            gradient_norm: gradient_norm as f32,
        })
    }
}

impl PpoBackend for CandlePpo {
    fn from_networks(
        actor: &Mlp,
        critic: &Mlp,
        activation: Activation,
        rows: usize,
        batch: usize,
        options: PpoLossOptions,
        adam: AdamOptions,
    ) -> std::result::Result<Self, Error> {
        options.check()?;
        adam.check()?;
        Ok(Self {
            sizes: PpoSizes::of(actor, critic, rows, batch)?,
            layouts: [actor.clone(), critic.clone()],
            actor: Learner::new(actor, activation, adam)?,
            critic: Learner::new(critic, activation, adam)?,
            options,
            log_probabilities: Vec::new(),
            probabilities: Vec::new(),
        })
    }

    fn layouts(&self) -> [&Mlp; 2] {
        self.layouts.each_ref()
    }

    fn parameters(&self) -> std::result::Result<[Vec<f32>; 2], Error> {
        Ok([self.actor.network.parameters()?, self.critic.network.parameters()?])
    }

    fn gradients(&self) -> std::result::Result<[Vec<f32>; 2], Error> {
        Ok([self.actor.gradients()?, self.critic.gradients()?])
    }
}

impl PpoUpdate for CandlePpo {
    type Value = u32;

    fn batch(&self) -> usize {
        self.sizes.batch
    }

    fn values(&mut self, observations: &[f32], values: &mut [f32]) -> std::result::Result<(), Error> {
        self.sizes.check_values(observations, values)?;
        values.copy_from_slice(&self.judge(observations)?);
        Ok(())
    }

    fn policy_shift(&mut self, minibatch: PpoMinibatch<'_>) -> std::result::Result<PolicyShift, Error> {
        self.sizes.check_choices(&minibatch)?;
        Ok(self.shift(&minibatch)?)
    }

    fn update(
        &mut self,
        minibatch: PpoMinibatch<'_>,
        learning_rate: f64,
    ) -> std::result::Result<PpoLoss, Error> {
        self.sizes.check_choices(&minibatch)?;
        Ok(self.learn(&minibatch, learning_rate)?)
    }
}

impl CategoricalPolicy for CandlePpo {
    fn action_count(&self) -> usize {
        self.sizes.outputs
    }

    fn evaluate(&mut self, observations: &[f32]) -> std::result::Result<Evaluation<'_>, Error> {
        self.sizes.check_rows(observations)?;
        self.evaluate_policy(observations)?;
        Ok(Evaluation { probabilities: &self.probabilities, log_probabilities: &self.log_probabilities })
    }
}

/// Logarithms of the probabilities that logits, (rows, actions), stand for.
fn log_softmax(logits: &Tensor) -> Result<Tensor> {
    let shifted = logits.broadcast_sub(&logits.max_keepdim(1)?.detach())?;
    shifted.broadcast_sub(&shifted.exp()?.sum_keepdim(1)?.log()?)
}

/// Less their mean, in units of the sample's deviation.
fn normalised(advantages: &Tensor) -> Result<Tensor> {
    let centred = advantages.broadcast_sub(&advantages.mean_all()?)?;
    let variance = centred.sqr()?.sum_all()?.affine(1.0 / (advantages.elem_count() as f64 - 1.0), 0.0)?;
    centred.broadcast_div(&variance.sqrt()?.affine(1.0, 1e-8)?)
}

impl NetworkState for CandlePpo {
    fn visit_state(&mut self, _: &mut Visit<'_>) -> std::result::Result<(), Error> {
        Err(no_state("candle"))
    }
}
