//! What PPO's networks and minibatches have to agree on, whichever library computes.

use super::PpoMinibatch;
use crate::error::{check_len, check_rows};
use crate::{Error, Mlp};

#[derive(Debug, Clone, Copy)]
pub(crate) struct PpoSizes {
    /// Values in an observation.
    pub(crate) observation: usize,
    /// The actor's outputs: actions to choose among, or numbers of an action.
    pub(crate) outputs: usize,
    /// Observations that are evaluated at once, at most.
    pub(crate) rows: usize,
    /// Rows of a minibatch.
    pub(crate) batch: usize,
}

impl PpoSizes {
    /// Those of two networks, if they fit each other.
    pub(crate) fn of(actor: &Mlp, critic: &Mlp, rows: usize, batch: usize) -> Result<Self, Error> {
        let (observation, outputs) = (actor.inputs(), actor.outputs());
        // Of one row there is no standard deviation.
        check_rows("a minibatch", 2, batch)?;
        check_rows("an evaluation", 1, rows)?;
        check_len("the critic's observation", observation, critic.inputs())?;
        check_len("the critic's output", 1, critic.outputs())?;
        Ok(Self { observation, outputs, rows, batch })
    }

    /// The rows of these observations, if they are whole, and as many as can be evaluated at once.
    pub(crate) fn check_rows(&self, observations: &[f32]) -> Result<usize, Error> {
        let rows = observations.len().div_ceil(self.observation).clamp(1, self.rows);
        check_len("observations", rows * self.observation, observations.len())?;
        Ok(rows)
    }

    /// An error where the observations are not one for each value.
    pub(crate) fn check_values(&self, observations: &[f32], values: &[f32]) -> Result<(), Error> {
        check_len("observations", values.len() * self.observation, observations.len())
    }

    /// An error where the minibatch has not as many values as it must have; those of an action are so many.
    pub(crate) fn check_minibatch<V>(
        &self,
        minibatch: &PpoMinibatch<'_, V>,
        action_len: usize,
    ) -> Result<(), Error> {
        check_len("observations", self.batch * self.observation, minibatch.observations.len())?;
        check_len("actions", self.batch * action_len, minibatch.actions.len())?;
        check_len("log probabilities", self.batch, minibatch.log_probabilities.len())?;
        check_len("advantages", self.batch, minibatch.advantages.len())?;
        check_len("returns", self.batch, minibatch.returns.len())?;
        check_len("values", self.batch, minibatch.values.len())
    }

    /// An error where that is so, or where there is no such action to choose.
    #[cfg(any(feature = "burn", feature = "candle"))]
    pub(crate) fn check_choices(&self, minibatch: &PpoMinibatch<'_>) -> Result<(), Error> {
        self.check_minibatch(minibatch, 1)?;
        crate::error::check_actions(minibatch.actions, self.outputs)
    }
}
