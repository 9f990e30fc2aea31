//! Updates of SAC in two halves: gradients out, and a step with gradients that are given.
//!
//! Where each half follows the other at once, the bytes are those of [`SacUpdate`](super::SacUpdate)'s updates: of the
//! critics, and of a round of policy and temperature, in this order.

use super::dense::{DenseSac, PolicyRound, TemperatureLoss, TemperatureStep, UpdateCritics};
use super::{CriticLoss, PolicyNoise, SacMinibatch, SacUpdate, Temperature};
use crate::Error;
use crate::error::check_len;
use crate::simd::dispatch;

impl DenseSac {
    /// The first half of an update of the critics: what [`update_critics`](SacUpdate::update_critics) finds.
    ///
    /// # Errors
    ///
    /// As of an update.
    pub fn compute_critic_gradients(
        &mut self,
        minibatch: SacMinibatch<'_>,
        noise: &[f32],
    ) -> Result<CriticLoss, Error> {
        self.sizes.check_minibatch(&minibatch, noise)?;
        Ok(dispatch(self.path, UpdateCritics { sac: self, minibatch: &minibatch, noise, step: false }))
    }

    /// The critics' gradients of their last update, or of its first half, each laid out as
    /// [`Mlp::parameters`](crate::Mlp::parameters).
    pub fn critic_gradients(&self) -> [&[f32]; 2] {
        self.critics.each_ref().map(|critic| &critic.learner.gradients[..])
    }

    /// The second half: one step of each critic with these gradients.
    ///
    /// # Errors
    ///
    /// [`Error::Len`] where they are not as many as the parameters.
    pub fn apply_critic_gradients(&mut self, gradients: [&[f32]; 2]) -> Result<(), Error> {
        for (critic, gradients) in self.critics.iter().zip(gradients) {
            check_len("gradients", critic.learner.gradients.len(), gradients.len())?;
        }
        self.critics.iter_mut().zip(gradients).try_for_each(|(critic, each)| critic.learner.apply(each))
    }

    /// The first half of a round's update of the policy: its loss. `noise` is (batch, action length).
    ///
    /// # Errors
    ///
    /// As of an update.
    pub fn compute_policy_gradients(&mut self, observations: &[f32], noise: &[f32]) -> Result<f32, Error> {
        self.check_half(observations, noise)?;
        let round = PolicyRound { sac: self, observations, noise, fresh: false, step: false };
        Ok(dispatch(round.sac.path, round))
    }

    /// The actor's gradients of the policy's last update, or of its first half, laid out as
    /// [`Mlp::parameters`](crate::Mlp::parameters).
    pub fn policy_gradients(&self) -> &[f32] {
        &self.actor.gradients
    }

    /// The second half: one step of the actor with these gradients.
    ///
    /// # Errors
    ///
    /// [`Error::Len`] where they are not as many as the parameters.
    pub fn apply_policy_gradients(&mut self, gradients: &[f32]) -> Result<(), Error> {
        self.actor.apply(gradients)
    }

    /// The first half of a round's update of the temperature: the gradient of its loss by its logarithm, which is the loss
    /// too. `noise` is (batch, action length).
    ///
    /// # Errors
    ///
    /// As of an update.
    pub fn compute_temperature_gradient(
        &mut self,
        observations: &[f32],
        noise: &[f32],
    ) -> Result<f32, Error> {
        self.check_half(observations, noise)?;
        let loss = TemperatureLoss { sac: self, observations, noise };
        Ok(dispatch(loss.sac.path, loss))
    }

    /// The second half: one step of a temperature that is learnt; a fixed one stays.
    pub fn apply_temperature_gradient(&mut self, gradient: f32) {
        if self.learns_temperature() {
            dispatch(self.path, TemperatureStep { sac: self, gradient });
        }
    }

    fn check_half(&self, observations: &[f32], noise: &[f32]) -> Result<(), Error> {
        check_len("the noise", self.sizes.batch * self.sizes.action, noise.len())?;
        let noise = PolicyNoise { policy: noise, temperature: &[] };
        self.sizes.check_rounds(observations, noise, Temperature::Fixed(0.0))
    }
}
