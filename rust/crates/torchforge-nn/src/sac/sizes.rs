//! What SAC's networks, minibatches and noise have to agree on, whichever library computes.

use super::{ActionRange, PolicyNoise, SacMinibatch, SacNetworks, Temperature};
use crate::Error;
use crate::error::{check_alike, check_len, check_rows};

#[derive(Debug, Clone, Copy)]
pub(crate) struct SacSizes {
    /// Values in an observation.
    pub(crate) observation: usize,
    /// Values in an action.
    pub(crate) action: usize,
    /// Rows of a minibatch.
    pub(crate) batch: usize,
}

impl SacSizes {
    /// Those of `networks`, if they fit each other and the range of the actions.
    pub(crate) fn of(networks: &SacNetworks, range: &ActionRange, batch: usize) -> Result<Self, Error> {
        let SacNetworks { actor, critics, targets, .. } = networks;
        let (observation, action) = (actor.inputs(), actor.outputs() / 2);
        check_rows("a minibatch", 1, batch)?;
        // A mean and a deviation for each value of an action.
        check_len("the actor's output", actor.outputs().next_multiple_of(2), actor.outputs())?;
        check_len("the action's range", action, range.scale.len())?;
        check_len("the action's range", action, range.bias.len())?;
        for critic in critics.iter().chain(targets) {
            check_len("the critic's input", observation + action, critic.inputs())?;
            check_len("the critic's output", 1, critic.outputs())?;
            check_alike("a critic", &critics[0], critic)?;
        }
        Ok(Self { observation, action, batch })
    }

    pub(crate) fn check_row(&self, observation: &[f32], noise: &[f32], action: &[f32]) -> Result<(), Error> {
        check_len("the observation", self.observation, observation.len())?;
        check_len("the noise", self.action, noise.len())?;
        check_len("the action", self.action, action.len())
    }

    pub(crate) fn check_minibatch(&self, minibatch: &SacMinibatch<'_>, noise: &[f32]) -> Result<(), Error> {
        let (observations, actions) = (self.batch * self.observation, self.round());
        check_len("observations", observations, minibatch.observations.len())?;
        check_len("next observations", observations, minibatch.next_observations.len())?;
        check_len("actions", actions, minibatch.actions.len())?;
        check_len("rewards", self.batch, minibatch.rewards.len())?;
        check_len("terminations", self.batch, minibatch.terminations.len())?;
        check_len("noise", actions, noise.len())
    }

    pub(crate) fn check_rounds(
        &self,
        observations: &[f32],
        noise: PolicyNoise<'_>,
        temperature: Temperature,
    ) -> Result<(), Error> {
        check_len("observations", self.batch * self.observation, observations.len())?;
        let whole = noise.policy.len().max(self.round()).next_multiple_of(self.round());
        check_len("the policy's noise", whole, noise.policy.len())?;
        let of_temperature = if temperature == Temperature::Learnt { whole } else { 0 };
        check_len("the temperature's noise", of_temperature, noise.temperature.len())
    }

    /// The noise of the policy, and of a temperature that is learnt, round by round.
    pub(crate) fn rounds<'a>(
        &self,
        noise: PolicyNoise<'a>,
    ) -> impl Iterator<Item = (&'a [f32], Option<&'a [f32]>)> + use<'a> {
        let of_temperature = noise.temperature.chunks(self.round()).map(Some).chain(std::iter::repeat(None));
        noise.policy.chunks(self.round()).zip(of_temperature)
    }

    /// Values of noise in a round.
    fn round(&self) -> usize {
        self.batch * self.action
    }
}
